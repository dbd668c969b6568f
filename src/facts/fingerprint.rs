//! The fingerprint of a fact: what repetitions and tombstones are recognised by.

use crate::lexical::lowercase;
use crate::message::Seq;
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

/// Most messages that a tombstone remembers.
const MOST_PLACES: usize = 16;
/// Characters of a key, and of bits.
const KEY_CHARS: usize = 16;
const BITS_CHARS: usize = 8;

/// Whether two facts say the same but for what names the user and for the article, which models set or leave out at will.
/// Other words need a judge, who is asked.
pub(super) fn says_same(one: &str, other: &str) -> bool {
    let words = |text: &str| {
        let plain = format!(" {} ", normalized(text)).replace(" the ", " ");
        plain.trim().trim_start_matches("user ").to_owned()
    };
    words(one) == words(other)
}

/// What a tombstone keeps of a fingerprint: 32 bits of a hash under a key of its own, `<key>:<bits>`. It tells the same
/// text when that comes again; read by itself it fits one text in four thousand million, and equal facts of two people
/// have different ones.
pub(super) fn buried(fingerprint: &str, key: u64) -> String {
    format!("{key:016x}:{:08x}", keyed_bits(fingerprint, key))
}

/// Adds to a tombstone's fingerprint a message that told the fact, as `:<bits>` of the same kind. Of more than 16 the others
/// are not known.
pub fn bury_at(tombstone: &mut String, conversation_id: &str, seq: Seq) {
    let Some(key) = key_of(tombstone) else { return };
    let is_full = tombstone.len() >= KEY_CHARS + (BITS_CHARS + 1) * (MOST_PLACES + 1);
    if !is_full && !is_buried_at(tombstone, conversation_id, seq) {
        tombstone.push_str(&format!(":{:08x}", place_bits(conversation_id, seq, key)));
    }
}

/// Whether the fact that a tombstone is left of was told by this message.
#[must_use]
pub fn is_buried_at(tombstone: &str, conversation_id: &str, seq: Seq) -> bool {
    let mut places = tombstone.split(':').skip(2).peekable();
    if places.peek().is_none() {
        return false;
    }
    let bits = key_of(tombstone).map(|key| format!("{:08x}", place_bits(conversation_id, seq, key)));
    bits.is_some_and(|bits| places.any(|place| place == bits))
}

/// Whether a tombstone's fingerprint is of the form that [`fingerprint`], [`buried`] or [`bury_at`] gives it.
#[must_use]
pub fn is_tombstone_print(print: &str) -> bool {
    let is_hex = |text: &str, digits: usize| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut parts = print.split(':');
    parts.next().is_some_and(|key| is_hex(key, KEY_CHARS))
        && parts.clone().count() <= MOST_PLACES + 1
        && parts.all(|bits| is_hex(bits, BITS_CHARS))
}

/// Whether a tombstone is that of a fingerprint. Those of earlier versions keep it as it was.
#[must_use]
pub fn is_buried(tombstone: &str, fingerprint: &str) -> bool {
    match key_of(tombstone) {
        Some(key) => tombstone.split(':').nth(1) == Some(&format!("{:08x}", keyed_bits(fingerprint, key))),
        None => tombstone == fingerprint,
    }
}

fn key_of(tombstone: &str) -> Option<u64> {
    u64::from_str_radix(tombstone.split_once(':')?.0, 16).ok()
}

fn place_bits(conversation_id: &str, seq: Seq, key: u64) -> u32 {
    keyed_bits(&format!("{seq} {conversation_id}"), key)
}

fn keyed_bits(text: &str, key: u64) -> u32 {
    let hash = crate::hash::fnv1a(key.to_le_bytes().into_iter().chain(text.bytes()));
    (hash ^ (hash >> 32)) as u32
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
            let mut tombstone = buried(&one, key);
            assert_eq!(tombstone.len(), 25);
            for seq in 0..20 {
                assert!(!is_buried_at(&tombstone, "c", seq) && !is_buried_at(&tombstone, "d", seq));
                (0..2).for_each(|_| bury_at(&mut tombstone, "c", seq));
                assert!(is_buried(&tombstone, &one) && !is_buried(&tombstone, &other));
                assert!(!tombstone.contains(&one) && is_tombstone_print(&tombstone));
            }
            let known: Vec<u32> = (0..20).filter(|seq| is_buried_at(&tombstone, "c", *seq)).collect();
            assert_eq!(known, (0..16).collect::<Vec<_>>());
            assert!(!is_tombstone_print(&format!("{tombstone}:00000000")));
        }
        let bits = |key: u64| {
            let mut tombstone = buried(&one, key);
            bury_at(&mut tombstone, "c", 7);
            tombstone
        };
        assert!(bits(1).split(':').zip(bits(2).split(':')).all(|(one, other)| one != other));
        assert!(!is_buried_at("", "c", 7) && !is_buried_at(&one, "c", 7) && !is_buried_at("\u{e9}:1:2", "c", 7));
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
