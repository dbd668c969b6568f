//! Folding: what is the same word to a reader becomes the same bytes.

use super::lowercase::lower;

/// Zero-width and direction controls: they are no part of a word, so "pass\u{200B}word" is "password".
#[must_use]
pub fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
        | '\u{E0000}'..='\u{E007F}')
}

/// Marks that may be left out in writing without changing the word: combining accents, Hebrew points, Arabic vowel
/// signs and the Arabic stretching stroke.
fn is_optional_mark(character: char) -> bool {
    matches!(character,
        '\u{300}'..='\u{36F}' | '\u{483}'..='\u{487}' | '\u{591}'..='\u{5BD}' | '\u{5BF}' | '\u{5C1}' | '\u{5C2}'
        | '\u{5C4}' | '\u{5C5}' | '\u{5C7}' | '\u{610}'..='\u{61A}' | '\u{640}' | '\u{64B}'..='\u{65F}' | '\u{670}'
        | '\u{6D6}'..='\u{6DC}' | '\u{6DF}'..='\u{6E4}' | '\u{6E7}' | '\u{6E8}' | '\u{6EA}'..='\u{6ED}')
}

/// Marks that belong inside a word although they are no letters: the ones above, and the vowel killers and nuktas of
/// the Indic scripts.
#[must_use]
pub fn is_mark(character: char) -> bool {
    is_optional_mark(character)
        || matches!(u32::from(character),
            0x900..=0xDFF if matches!(u32::from(character) & 0x7F, 0x3C | 0x4D))
}

/// Base letters of U+00C0 to U+017F; `.` where the character has none of its own and is handled elsewhere.
const LATIN_BASE: &[u8; 192] = b"aaaaaa.ceeeeiiiidnooooo.ouuuuy..aaaaaa.ceeeeiiiidnooooo.ouuuuy.y\
aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii..jjkk.lllllll\
lllnnnnnn...oooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";

/// Appends the folded form of `text` (already in NFKC): lower case, accents of Latin letters and optional marks
/// dropped, `ß` as `ss`, every form of `i` as `i`, invisible characters and apostrophes dropped.
pub fn fold_into(text: &str, out: &mut String) {
    for character in text.chars() {
        if character.is_ascii() {
            if character != '\'' {
                out.push(character.to_ascii_lowercase());
            }
            continue;
        }
        match character {
            'ß' | 'ẞ' => out.push_str("ss"),
            'æ' | 'Æ' => out.push_str("ae"),
            'œ' | 'Œ' => out.push_str("oe"),
            'þ' | 'Þ' => out.push_str("th"),
            'ĸ' => out.push('k'),
            'Ŋ' | 'ŋ' => out.push('n'),
            '’' | 'ʼ' | '＇' => {}
            '\u{C0}'..='\u{17F}' => {
                let base = LATIN_BASE.get(u32::from(character) as usize - 0xC0).copied().unwrap_or(b'.');
                if base == b'.' { out.push(lower(character)) } else { out.push(char::from(base)) }
            }
            'ς' => out.push('σ'),
            'ё' | 'Ё' => out.push('е'),
            _ if is_optional_mark(character) || is_invisible(character) => {}
            _ => out.push(lower(character)),
        }
    }
}

/// 64-bit hash of a folded term: FNV-1a with a final mix, so that both ends of it are well spread. Two terms that
/// collide would be one term to the index; with a million terms the chance of any collision is about 3e-8.
#[must_use]
pub fn hash_term(term: &str) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for byte in term.as_bytes() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(text: &str) -> String {
        let mut out = String::new();
        fold_into(text, &mut out);
        out
    }

    #[test]
    fn the_table_covers_its_range() {
        for code in 0xC0..=0x17F_u32 {
            let character = char::from_u32(code).unwrap();
            let folded = fold(&character.to_string());
            let is_letter = !matches!(code, 0xD7 | 0xF7 | 0x132 | 0x133 | 0x149);
            assert!(!is_letter || folded.bytes().all(|byte| byte.is_ascii_lowercase()), "{character}: {folded}");
        }
        for (text, expected) in [
            ("Čapek", "capek"),
            ("Łódź", "lodz"),
            ("ŻÓŁĆ", "zolc"),
            ("Ğ", "g"),
            ("ĥ", "h"),
            ("ŵŷŸŹźž", "wyyzzz"),
            ("ŕŘşŠţŤ", "rrsstt"),
            ("ŨųŐœ", "uuooe"),
            ("ĵĶ", "jk"),
            ("ĹłŃňŌ", "llnno"),
        ] {
            assert_eq!(fold(text), expected);
        }
    }

    #[test]
    fn the_same_word_is_the_same_bytes() {
        for (left, right) in [
            ("STRASSE", "Straße"),
            ("İstanbul", "ISTANBUL"),
            ("ısı", "ISI"),
            ("café", "cafe\u{301}"),
            ("pass\u{200B}word", "password"),
            ("ΟΔΟΣ", "οδος"),
            ("don’t", "DON'T"),
            ("Ёлка", "елка"),
        ] {
            assert_eq!(fold(left), fold(right));
        }
    }
}
