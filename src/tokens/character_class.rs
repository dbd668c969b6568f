//! What the splitter needs to know about a character, from a table as small as its runs.
//!
//! The runs are generated from the `regex` crate that the reference counter splits with, so that both mean the same
//! by "letter" (`tests/tokens_character_classes.rs` proves that they are fresh). Expanded, they are two levels of
//! 128-character blocks, about 40 KB.

use super::character_class_runs::CHARACTER_CLASS_RUNS;
use std::sync::OnceLock;

/// The classes that the patterns of both encodings tell apart. They do not overlap and cover every character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CharacterClass {
    /// None of the below: punctuation, symbols, controls, unassigned.
    Other,
    /// `\s` other than CR and LF.
    Whitespace,
    /// CR or LF.
    Newline,
    /// `\p{N}`.
    Number,
    /// `\p{Lu}` or `\p{Lt}`.
    Upper,
    /// `\p{Ll}`.
    Lower,
    /// `\p{Lm}` or `\p{Lo}`: letters that count as upper and as lower case.
    Caseless,
    /// `\p{M}`: in the letter runs of o200k, but not a letter.
    Mark,
}

impl CharacterClass {
    const ALL: [Self; 8] = [
        Self::Other,
        Self::Whitespace,
        Self::Newline,
        Self::Number,
        Self::Upper,
        Self::Lower,
        Self::Caseless,
        Self::Mark,
    ];

    /// `\p{L}`.
    #[must_use]
    pub fn is_letter(self) -> bool {
        matches!(self, Self::Upper | Self::Lower | Self::Caseless)
    }

    /// `\s`.
    #[must_use]
    pub fn is_whitespace(self) -> bool {
        matches!(self, Self::Whitespace | Self::Newline)
    }
}

const BLOCK_SIZE: usize = 128;
const CODE_POINTS: usize = 0x11_0000;

/// The expanded table. There is one for the whole process.
pub struct CharacterClasses {
    ascii: [CharacterClass; 128],
    /// For each block of 128 code points, the number of its row in `rows`.
    blocks: Vec<u16>,
    rows: Vec<[CharacterClass; BLOCK_SIZE]>,
}

impl CharacterClasses {
    /// The table, expanded at the first call.
    pub fn get() -> &'static Self {
        static TABLE: OnceLock<CharacterClasses> = OnceLock::new();
        TABLE.get_or_init(|| Self::expand(CHARACTER_CLASS_RUNS))
    }

    /// Each run is a LEB128 number: the class in the low 3 bits, the length in code points above them.
    fn expand(runs: &[u8]) -> Self {
        let mut table = Self { ascii: [CharacterClass::Other; 128], blocks: Vec::new(), rows: Vec::new() };
        let mut row = [CharacterClass::Other; BLOCK_SIZE];
        let mut filled = 0;
        let mut value = 0_u32;
        let mut shift = 0;
        for &byte in runs {
            value |= u32::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 != 0 {
                continue;
            }
            let class = CharacterClass::ALL[(value & 7) as usize];
            let mut length = (value >> 3) as usize;
            (value, shift) = (0, 0);
            while length > 0 {
                let taken = length.min(BLOCK_SIZE - filled);
                row[filled..filled + taken].fill(class);
                filled += taken;
                length -= taken;
                if filled == BLOCK_SIZE {
                    table.push_block(&row);
                    filled = 0;
                }
            }
        }
        if let Some(first) = table.rows.first() {
            table.ascii = *first;
        }
        table
    }

    /// Most blocks equal the one before, and few are distinct, so the searches are few and short.
    fn push_block(&mut self, row: &[CharacterClass; BLOCK_SIZE]) {
        if let Some(&last) = self.blocks.last()
            && self.rows.get(last as usize) == Some(row)
        {
            self.blocks.push(last);
            return;
        }
        let number = self.rows.iter().rposition(|known| known == row).unwrap_or_else(|| {
            self.rows.push(*row);
            self.rows.len() - 1
        });
        // At most CODE_POINTS / BLOCK_SIZE = 8,704 rows, so the number fits.
        self.blocks.push(number as u16);
    }

    /// The class of a code point.
    #[inline]
    #[must_use]
    pub fn of(&self, character: u32) -> CharacterClass {
        let character = (character as usize).min(CODE_POINTS - 1);
        let number = self.blocks.get(character / BLOCK_SIZE).copied().unwrap_or(0);
        self.rows.get(number as usize).map_or(CharacterClass::Other, |row| row[character % BLOCK_SIZE])
    }

    /// The class of the character that begins at byte `at` of `text`, and where the next one begins. `None` at the end.
    /// `text` is valid UTF-8 and `at` a character boundary; on anything else the answer is a class, not a panic.
    #[inline]
    #[must_use]
    pub fn at(&self, text: &[u8], at: usize) -> Option<(CharacterClass, usize)> {
        let first = *text.get(at)?;
        if first < 0x80 {
            return Some((self.ascii[first as usize], at + 1));
        }
        let (character, next) = decode(text, at, first);
        Some((self.of(character), next))
    }
}

/// The multi-byte character at `at`, whose first byte is `first`, and the offset behind it.
#[inline]
pub fn decode(text: &[u8], at: usize, first: u8) -> (u32, usize) {
    let low = |offset: usize| u32::from(text.get(at + offset).copied().unwrap_or(0x80) & 0x3f);
    let first = u32::from(first);
    let (character, length) = if first < 0xe0 {
        ((first & 0x1f) << 6 | low(1), 2)
    } else if first < 0xf0 {
        ((first & 0x0f) << 12 | low(1) << 6 | low(2), 3)
    } else {
        ((first & 0x07) << 18 | low(1) << 12 | low(2) << 6 | low(3), 4)
    };
    (character, (at + length).min(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_character_has_its_class() {
        let classes = CharacterClasses::get();
        for (character, class) in [
            ('!', CharacterClass::Other),
            ('\u{feff}', CharacterClass::Other),
            (' ', CharacterClass::Whitespace),
            ('\u{85}', CharacterClass::Whitespace),
            ('\u{3000}', CharacterClass::Whitespace),
            ('\n', CharacterClass::Newline),
            ('\r', CharacterClass::Newline),
            ('7', CharacterClass::Number),
            ('Ⅷ', CharacterClass::Number),
            ('A', CharacterClass::Upper),
            ('ǅ', CharacterClass::Upper),
            ('z', CharacterClass::Lower),
            ('ſ', CharacterClass::Lower),
            ('中', CharacterClass::Caseless),
            ('ー', CharacterClass::Caseless),
            ('\u{301}', CharacterClass::Mark),
            ('\u{10ffff}', CharacterClass::Other),
        ] {
            assert_eq!(classes.of(u32::from(character)), class, "{:?}", character.escape_unicode().to_string());
            let mut buffer = [0; 4];
            let text = character.encode_utf8(&mut buffer);
            assert_eq!(classes.at(text.as_bytes(), 0), Some((class, text.len())));
        }
        assert_eq!(classes.blocks.len(), CODE_POINTS / BLOCK_SIZE);
    }

    #[test]
    fn broken_utf8_is_no_panic() {
        for broken in [&[0xff_u8][..], &[0xe4, 0xb8], &[0x80], &[0xf0, 0x9f]] {
            assert!(CharacterClasses::get().at(broken, 0).is_some());
        }
    }
}
