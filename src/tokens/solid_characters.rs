//! Which characters may be taken as merged from the start.
//!
//! A character of two or three bytes is *solid* in a vocabulary when its bytes merge to one token before any of them
//! can merge with a neighbour of its kind. Merging then may begin with the character instead of its bytes, which spares two thirds
//! of the work on Chinese, Japanese and Korean, and gives the same tokens:
//!
//! Let `R` be the rank of the character's token. Its own merges have rank `R` at most, and while it is incomplete one
//! of them is possible, so the lowest pair has at most rank `R`. The condition is that every token which has a part of
//! the character's bytes and something else has a rank above `R`. A token of the whole character and something else
//! has that anyway: it is the merge of two lower ones, which are the character itself, or cut through it. So up to its
//! completion every merge is one of its own or one that does not touch it, and those are the same, in the same order,
//! as when it had been complete from the start. The text has to be valid UTF-8, possibly cut through a character at
//! either end.
//!
//! "Of its kind" makes most characters of running text solid: tokens of a space and the first byte of a character, and
//! of the last byte of one script's characters and the first of another's, are left out of the condition, and the
//! characters that stand next to such neighbours are merged from their bytes ([`is_near`]).

use super::vocabulary::NO_RANK;

/// Code points that are looked at: those of two and three bytes below the surrogates.
const END: usize = 0xd800;

/// One bit for each code point below [`END`]: 7 KB.
pub(super) struct SolidCharacters {
    bits: Vec<u64>,
}

impl SolidCharacters {
    /// No character is solid.
    pub fn none() -> Self {
        Self { bits: vec![0; END / 64] }
    }

    /// Finds the solid characters of a vocabulary, whose tokens are given in rank order.
    pub fn find<'v>(tokens: impl Iterator<Item = &'v [u8]> + Clone) -> Self {
        let cuts = Cuts::of(tokens.clone());
        let mut solid = Self::none();
        for (rank, token) in (0..).zip(tokens) {
            if let Some((character, length)) = character_at(token, 0)
                && length == token.len()
                && rank < cuts.lowest(token)
            {
                solid.bits[character / 64] |= 1 << (character % 64);
            }
        }
        solid
    }

    /// Bytes of the part that merging may begin with at `at`: those of a solid character among its kind, or one.
    #[inline]
    pub fn part_bytes(&self, piece: &[u8], at: usize) -> usize {
        let Some((character, length)) = character_at(piece, at) else { return 1 };
        let follows_space = at > 0 && piece.get(at - 1) == Some(&b' ');
        let is_among_its_kind = !follows_space && piece.get(at + length).is_none_or(|&next| is_near(length, next));
        if is_among_its_kind && self.bits[character / 64] >> (character % 64) & 1 == 1 { length } else { 1 }
    }
}

/// Whether a character that begins with `next` is a usual neighbour of one of `length` bytes: ASCII, or of the scripts
/// that have as many bytes (three: from U+2000 on).
#[inline]
fn is_near(length: usize, next: u8) -> bool {
    if length == 2 { next < 0xe0 } else { !(0x80..0xe2).contains(&next) }
}

/// The lowest ranks of the tokens that have a part of a character and something else.
struct Cuts {
    /// Of tokens that end within a character and have no space before it, by its bytes so far: one, or two.
    prefixes: Vec<u32>,
    /// Of tokens that begin within a character, by the last one or two bytes of it: for characters of two bytes and
    /// near neighbours, and of three.
    suffixes: [Vec<u32>; 2],
}

/// Index of one or two bytes.
fn key(bytes: &[u8]) -> usize {
    bytes.iter().take(2).fold(0, |key, &byte| key << 8 | usize::from(byte))
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

impl Cuts {
    fn of<'v>(tokens: impl Iterator<Item = &'v [u8]>) -> Self {
        let none = || vec![NO_RANK; 1 << 16];
        let mut cuts = Self { prefixes: none(), suffixes: [none(), none()] };
        for (rank, token) in (0..).zip(tokens) {
            if token.last().is_none_or(u8::is_ascii) && token.first().is_none_or(|&byte| !is_continuation(byte)) {
                continue;
            }
            // In rank order, so the first token that sets an entry is the lowest.
            let set = |entry: &mut u32| *entry = rank.min(*entry);
            let before = token.iter().take_while(|&&byte| is_continuation(byte)).count();
            if let (1..=2, Some(&next)) = (before, token.get(before)) {
                for (length, suffixes) in (2..).zip(&mut cuts.suffixes) {
                    if is_near(length, next) {
                        set(&mut suffixes[key(&token[..before])]);
                    }
                }
            }
            let lead = token.iter().rposition(|&byte| !is_continuation(byte)).unwrap_or(0);
            let is_whole = character_at(token, lead).is_some_and(|(_, length)| lead + length == token.len());
            if lead > 0 && token[lead - 1] != b' ' && token.len() - lead <= 2 && !is_whole {
                set(&mut cuts.prefixes[key(&token[lead..])]);
            }
        }
        cuts
    }

    fn lowest(&self, character: &[u8]) -> u32 {
        let suffixes = &self.suffixes[character.len() - 2];
        let ranks = (1..character.len()).map(|cut| {
            let (prefix, suffix) = character.split_at(cut);
            self.prefixes[key(prefix)].min(suffixes[key(suffix)])
        });
        ranks.min().unwrap_or(NO_RANK)
    }
}

/// The character of two or three bytes at `at`, and its length. `None` for ASCII, for four bytes and for anything that
/// is no whole character.
#[inline]
fn character_at(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let low = |offset: usize| {
        bytes.get(at + offset).filter(|&&byte| is_continuation(byte)).map(|&byte| usize::from(byte & 0x3f))
    };
    let lead = usize::from(*bytes.get(at)?);
    let (character, length) = match lead {
        0xc2..=0xdf => ((lead & 0x1f) << 6 | low(1)?, 2),
        0xe0..=0xed => ((lead & 0x0f) << 12 | low(1)? << 6 | low(2)?, 3),
        _ => return None,
    };
    (character < END).then_some((character, length))
}
