//! How the words begin that introduce secrets: most words of a text begin otherwise, and need no comparison with each of them.

use super::Shown;
use std::sync::OnceLock;

/// Bits of a character that count; beginnings that only look equal cost a comparison.
const BITS: u32 = 5;

/// A bit for each beginning of three characters.
pub(super) struct Beginnings(OnceLock<Box<[u64]>>);

impl Beginnings {
    pub(super) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Whether one of the words of these lists, in small letters, can stand at a place. The lists are those of the first call.
    pub(super) fn may_stand(&self, shown: &Shown<'_>, at: usize, lists: &[&str]) -> bool {
        let bits = self.0.get_or_init(|| table(lists));
        let place = place_of([shown.lower(at), shown.lower(at + 1), shown.lower(at + 2)]);
        bits.get(place / 64).is_some_and(|word| (word >> (place % 64)) & 1 == 1)
    }
}

fn table(lists: &[&str]) -> Box<[u64]> {
    let mut bits = vec![0_u64; (1 << (3 * BITS)) / 64].into_boxed_slice();
    for word in lists.iter().flat_map(|list| list.split('|')) {
        let mut characters = word.chars();
        let (Some(first), Some(second)) = (characters.next(), characters.next()) else { continue };
        let thirds = characters.next().map_or('\0'..='\u{1F}', |third| third..=third);
        for third in thirds {
            let place = place_of([first, second, third]);
            if let Some(word) = bits.get_mut(place / 64) {
                *word |= 1 << (place % 64);
            }
        }
    }
    bits
}

fn place_of(characters: [char; 3]) -> usize {
    characters.iter().fold(0, |place, c| (place << BITS) | (u32::from(*c) & ((1 << BITS) - 1)) as usize)
}
