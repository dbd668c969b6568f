//! The fingerprint of a fact: what repetitions and tombstones are recognised by.

use crate::lexical::lowercase;
use crate::prompt_text::{is_hidden, narrow};

/// 64-bit FNV-1a over the UTF-8 of the normalised text, as 16 hexadecimal digits.
///
/// Normalised: small letters, full-width forms as ASCII, hidden characters removed, sentence punctuation and white space
/// folded to single spaces. `C++`, `C#` and `C`, `UTC+5` and `UTC 5`, `1.5` and `15` stay different. The form is stored,
/// so it must not change.
#[must_use]
pub fn fingerprint(text: &str) -> String {
    format!("{:016x}", crate::hash::fnv1a(normalized(text).bytes()))
}

/// What a tombstone keeps of a fingerprint: 32 bits of a hash under a key of its own, `<key>:<bits>`. It tells the same
/// text when that comes again; read by itself it fits one text in four thousand million, and equal facts of two people
/// have different ones.
pub(super) fn buried(fingerprint: &str, key: u64) -> String {
    let bytes = key.to_le_bytes().into_iter().chain(fingerprint.bytes());
    let hash = crate::hash::fnv1a(bytes);
    format!("{key:016x}:{:08x}", (hash ^ (hash >> 32)) as u32)
}

/// Whether a tombstone's fingerprint is of the form that [`fingerprint`] or [`buried`] gives it.
#[must_use]
pub fn is_tombstone_print(print: &str) -> bool {
    let is_hex = |text: &str, digits: usize| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match print.split_once(':') {
        Some((key, bits)) => is_hex(key, 16) && is_hex(bits, 8),
        None => is_hex(print, 16),
    }
}

/// Whether a tombstone is that of a fingerprint. Those of earlier versions keep it as it was.
#[must_use]
pub fn is_buried(tombstone: &str, fingerprint: &str) -> bool {
    match tombstone.split_once(':') {
        Some((key, _)) => u64::from_str_radix(key, 16).is_ok_and(|key| tombstone == buried(fingerprint, key)),
        None => tombstone == fingerprint,
    }
}

/// The normalised text that [`fingerprint`] hashes; its words are what similarity compares.
pub(super) fn normalized(text: &str) -> String {
    let shown: String = text.chars().filter(|c| !is_hidden(*c)).map(narrow).collect();
    let folded: Vec<char> = lowercase(&shown).chars().collect();
    let mut out = String::with_capacity(text.len());
    for (at, &character) in folded.iter().enumerate() {
        let is_digit = |at: Option<usize>| at.and_then(|at| folded.get(at)).is_some_and(char::is_ascii_digit);
        let is_decimal = matches!(character, '.' | ',') && is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
        if (character.is_whitespace() || is_sentence_punctuation(character)) && !is_decimal {
            if !out.is_empty() && !out.ends_with(' ') {
                out.push(' ');
            }
        } else {
            out.push(character);
        }
    }
    out.truncate(out.trim_end().len());
    out
}

fn is_sentence_punctuation(character: char) -> bool {
    matches!(character,
        '.' | ',' | ';' | ':' | '!' | '?' | '"' | '\'' | '`' | '(' | ')' | '[' | ']' | '{' | '}' | '-' | '\u{2010}'..='\u{2027}'
        | '\u{2030}'..='\u{205E}' | '\u{A1}' | '\u{AB}' | '\u{B7}' | '\u{BB}' | '\u{BF}' | '\u{3001}'..='\u{3003}'
        | '\u{3008}'..='\u{3011}' | '\u{2B9}'..='\u{2BC}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tombstone_knows_its_text_and_has_nothing_of_it() {
        let (one, other) = (fingerprint("User prefers pnpm"), fingerprint("User prefers npm"));
        for key in [0, 7, u64::MAX] {
            let tombstone = buried(&one, key);
            assert!(is_buried(&tombstone, &one) && !is_buried(&tombstone, &other));
            assert!(!tombstone.contains(&one) && tombstone.len() == 25);
        }
        assert_ne!(buried(&one, 1).split_once(':').unwrap().1, buried(&one, 2).split_once(':').unwrap().1);
        assert!(is_buried(&one, &one) && !is_buried(&one, &other), "of an earlier version");
        assert!(!is_buried("x:", &one) && !is_buried("", &one));
    }

    #[test]
    fn spelling_does_not_matter_and_meaning_does() {
        let same =
            ["User prefers pnpm.", "  user PREFERS\n`pnpm`!", "User prefers “pnpm”", "Ｕser prefers pn\u{200B}pm"];
        for text in same {
            assert_eq!(fingerprint(text), fingerprint(same[0]), "{text}");
        }
        for (one, other) in
            [("C++", "C"), ("C#", "C"), ("UTC+5", "UTC 5"), ("1.5", "15"), ("v1.2", "v1 2"), ("a b", "ab")]
        {
            assert_ne!(fingerprint(one), fingerprint(other), "{one} {other}");
        }
        // The stored form.
        assert_eq!(fingerprint(""), "cbf29ce484222325");
        assert_eq!(fingerprint("A"), "af63dc4c8601ec8c");
    }
}
