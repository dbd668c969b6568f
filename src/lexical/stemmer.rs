//! The English stemmer: Porter2 (Martin Porter's "English" stemmer) over lower-case ASCII words.
//!
//! Written here because the crates for it link every language they know into the module; this is about 3 KB. A table of
//! irregular forms comes first ("went" is indexed as "go"), because no suffix rule can reach them and people ask "when
//! did I go" about a message that says "went".

use super::irregular::IRREGULAR;
use super::word_list::WordList;

/// Words that the suffix rules would get wrong, with what they become.
const EXCEPTIONS: WordList = WordList(
    "andes:andes atlas:atlas bias:bias cosmos:cosmos dying:die early:earli gently:gentl howe:howe idly:idl lying:lie \
    news:news only:onli singly:singl skies:sky skis:ski sky:sky tying:tie ugly:ugli",
);

/// Words that are finished after the plural step.
const FINISHED_AFTER_PLURAL: &[&str] =
    &["inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed"];

const STEP_2: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("fulness", "ful"),
    ("iveness", "ive"),
    ("ization", "ize"),
    ("ousness", "ous"),
    ("biliti", "ble"),
    ("lessli", "less"),
    ("tional", "tion"),
    ("alism", "al"),
    ("aliti", "al"),
    ("ation", "ate"),
    ("entli", "ent"),
    ("fulli", "ful"),
    ("iviti", "ive"),
    ("ousli", "ous"),
    ("abli", "able"),
    ("alli", "al"),
    ("anci", "ance"),
    ("ator", "ate"),
    ("enci", "ence"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("ogi", "og"),
    ("li", ""),
];

const STEP_3: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("tional", "tion"),
    ("alize", "al"),
    ("ative", ""),
    ("icate", "ic"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
];

const STEP_4: &[&str] = &[
    "ement", "able", "ance", "ence", "ible", "ment", "ant", "ate", "ent", "ion", "ism", "iti", "ive", "ize", "ous",
    "al", "er", "ic",
];

/// Puts the stem of `word` into `out`, replacing what is there. Anything but two or more lower-case ASCII letters comes
/// back as it is.
pub fn stem_into(word: &str, out: &mut String) {
    out.clear();
    if word.len() < 3 || word.len() > 40 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        out.push_str(word);
        return;
    }
    let word = irregular_base(word).unwrap_or(word);
    if let Some(stem) = EXCEPTIONS.value(word) {
        out.push_str(stem);
        return;
    }
    let mut stem = Stem::new(word);
    stem.plural();
    if !FINISHED_AFTER_PLURAL.iter().any(|finished| finished.as_bytes() == stem.bytes.as_slice()) {
        stem.past_and_gerund();
        stem.final_y();
        stem.step_2();
        stem.step_3();
        stem.step_4();
        stem.step_5();
    }
    out.extend(stem.bytes.iter().map(|byte| char::from(byte.to_ascii_lowercase())));
}

/// The base of an irregular form ("bought" gives "buy"), where `word` is one.
fn irregular_base(word: &str) -> Option<&'static str> {
    IRREGULAR.value(word)
}

/// A word being cut, with the two regions that Porter2's rules are bound to. `Y` marks a y that is a consonant.
struct Stem {
    bytes: Vec<u8>,
    region_1: usize,
    region_2: usize,
}

fn is_vowel(byte: u8) -> bool {
    matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

fn region_after(bytes: &[u8], from: usize) -> usize {
    let mut position = from;
    while position < bytes.len() && !is_vowel(bytes[position]) {
        position += 1;
    }
    while position < bytes.len() && is_vowel(bytes[position]) {
        position += 1;
    }
    (position + 1).min(bytes.len())
}

impl Stem {
    fn new(word: &str) -> Self {
        let mut bytes = word.as_bytes().to_vec();
        for position in 0..bytes.len() {
            if bytes[position] == b'y' && (position == 0 || is_vowel(bytes[position - 1])) {
                bytes[position] = b'Y';
            }
        }
        let region_1 = ["gener", "commun", "arsen"]
            .iter()
            .find(|prefix| word.starts_with(**prefix))
            .map_or_else(|| region_after(&bytes, 0), |prefix| prefix.len());
        let region_2 = region_after(&bytes, region_1);
        Self { bytes, region_1, region_2 }
    }

    fn ends_with(&self, suffix: &str) -> bool {
        self.bytes.ends_with(suffix.as_bytes())
    }

    fn has_vowel_before(&self, end: usize) -> bool {
        self.bytes[..end].iter().any(|byte| is_vowel(*byte))
    }

    fn replace(&mut self, suffix: &str, with: &str) {
        self.bytes.truncate(self.bytes.len() - suffix.len());
        self.bytes.extend_from_slice(with.as_bytes());
    }

    /// Whether the part before `end` closes with a short syllable.
    fn is_short_syllable(&self, end: usize) -> bool {
        let bytes = &self.bytes;
        match end {
            0 | 1 => false,
            2 => is_vowel(bytes[0]) && !is_vowel(bytes[1]),
            _ => {
                !is_vowel(bytes[end - 3])
                    && is_vowel(bytes[end - 2])
                    && !is_vowel(bytes[end - 1])
                    && !matches!(bytes[end - 1], b'w' | b'x' | b'Y')
            }
        }
    }

    fn plural(&mut self) {
        let length = self.bytes.len();
        if self.ends_with("sses") {
            self.replace("es", "");
        } else if self.ends_with("ied") || self.ends_with("ies") {
            self.bytes.truncate(if length > 4 { length - 2 } else { length - 1 });
        } else if self.ends_with("us") || self.ends_with("ss") {
        } else if self.ends_with("s") && length > 2 && self.has_vowel_before(length - 2) {
            self.bytes.truncate(length - 1);
        }
    }

    fn past_and_gerund(&mut self) {
        for suffix in ["eedly", "eed"] {
            if self.ends_with(suffix) {
                if self.bytes.len() - suffix.len() >= self.region_1 {
                    self.replace(suffix, "ee");
                }
                return;
            }
        }
        let Some(suffix) = ["ingly", "edly", "ing", "ed"].into_iter().find(|suffix| self.ends_with(suffix)) else {
            return;
        };
        let end = self.bytes.len() - suffix.len();
        if !self.has_vowel_before(end) {
            return;
        }
        self.bytes.truncate(end);
        if self.ends_with("at") || self.ends_with("bl") || self.ends_with("iz") {
            self.bytes.push(b'e');
        } else if self.ends_in_double() {
            self.bytes.truncate(end - 1);
        } else if self.region_1 >= self.bytes.len() && self.is_short_syllable(self.bytes.len()) {
            self.bytes.push(b'e');
        }
    }

    fn ends_in_double(&self) -> bool {
        let length = self.bytes.len();
        length >= 2
            && self.bytes[length - 1] == self.bytes[length - 2]
            && matches!(self.bytes[length - 1], b'b' | b'd' | b'f' | b'g' | b'm' | b'n' | b'p' | b'r' | b't')
    }

    fn final_y(&mut self) {
        let length = self.bytes.len();
        if length > 2 && matches!(self.bytes[length - 1], b'y' | b'Y') && !is_vowel(self.bytes[length - 2]) {
            self.bytes[length - 1] = b'i';
        }
    }

    fn step_2(&mut self) {
        let Some((suffix, with)) = STEP_2.iter().find(|(suffix, _)| self.ends_with(suffix)) else { return };
        let end = self.bytes.len() - suffix.len();
        let before = end.checked_sub(1).map_or(0, |position| self.bytes[position]);
        let allowed = match *suffix {
            "ogi" => before == b'l',
            "li" => matches!(before, b'c' | b'd' | b'e' | b'g' | b'h' | b'k' | b'm' | b'n' | b'r' | b't'),
            _ => true,
        };
        if end >= self.region_1 && allowed {
            self.replace(suffix, with);
        }
    }

    fn step_3(&mut self) {
        let Some((suffix, with)) = STEP_3.iter().find(|(suffix, _)| self.ends_with(suffix)) else { return };
        let end = self.bytes.len() - suffix.len();
        let region = if *suffix == "ative" { self.region_2 } else { self.region_1 };
        if end >= region {
            self.replace(suffix, with);
        }
    }

    fn step_4(&mut self) {
        let Some(suffix) = STEP_4.iter().find(|suffix| self.ends_with(suffix)) else { return };
        let end = self.bytes.len() - suffix.len();
        let before = end.checked_sub(1).map_or(0, |position| self.bytes[position]);
        if end >= self.region_2 && (*suffix != "ion" || matches!(before, b's' | b't')) {
            self.bytes.truncate(end);
        }
    }

    fn step_5(&mut self) {
        let end = self.bytes.len().saturating_sub(1);
        match self.bytes.last() {
            Some(b'e') if end >= self.region_2 || (end >= self.region_1 && !self.is_short_syllable(end)) => {
                self.bytes.truncate(end);
            }
            Some(b'l') if end >= self.region_2 && end > 0 && self.bytes[end - 1] == b'l' => self.bytes.truncate(end),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word_list::tests::is_in_order;

    fn stem(word: &str) -> String {
        let mut out = String::new();
        stem_into(word, &mut out);
        out
    }

    #[test]
    fn known_stems() {
        for (word, expected) in [
            ("caresses", "caress"),
            ("flies", "fli"),
            ("ties", "tie"),
            ("gaps", "gap"),
            ("gas", "gas"),
            ("kiwis", "kiwi"),
            ("agreed", "agre"),
            ("hopping", "hop"),
            ("hoping", "hope"),
            ("luxuriated", "luxuri"),
            ("relational", "relat"),
            ("consistency", "consist"),
            ("consigned", "consign"),
            ("generous", "generous"),
            ("generate", "generat"),
            ("communism", "communism"),
            ("knightly", "knight"),
            ("adoption", "adopt"),
            ("counseling", "counsel"),
            ("happiness", "happi"),
            ("happy", "happi"),
            ("cry", "cri"),
            ("by", "by"),
            ("say", "say"),
            ("controlling", "control"),
            ("running", "run"),
        ] {
            assert_eq!(stem(word), expected, "{word}");
        }
    }

    #[test]
    fn irregular_forms_meet_their_base() {
        for (form, base) in [("went", "go"), ("bought", "buy"), ("children", "child"), ("ran", "running")] {
            assert_eq!(stem(form), stem(base), "{form}");
        }
        assert_eq!(stem("tention"), stem("tention"));
        assert_eq!(stem("ent"), "ent");
    }

    #[test]
    fn irregular_forms_are_sorted() {
        assert!(is_in_order(IRREGULAR) && is_in_order(EXCEPTIONS));
    }

    #[test]
    fn what_is_no_english_word_stays() {
        for word in ["", "a", "über", "42", "s3", "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"] {
            assert_eq!(stem(word), word);
        }
    }
}
