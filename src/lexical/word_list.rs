//! A sorted list of words in one text.
//!
//! A list of `&str` brings eight bytes a word beside its letters, a place and a length, and those hardly pack: of the
//! stop words they were four fifths of what a visitor downloads.

use std::cmp::Ordering;

/// Sorted entries with a space between each two.
#[derive(Clone, Copy)]
pub(crate) struct WordList(pub(crate) &'static str);

impl WordList {
    /// The list from its first entry on that is not before `word`.
    #[inline(never)]
    pub(crate) fn from(self, word: &str) -> &'static str {
        let text = self.0.as_bytes();
        let (mut low, mut high) = (0, text.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let start = text[low..middle].iter().rposition(|byte| *byte == b' ').map_or(low, |space| low + space + 1);
            let end = text[middle..high].iter().position(|byte| *byte == b' ').map_or(high, |space| middle + space);
            if text[start..end].cmp(word.as_bytes()) == Ordering::Less {
                low = (end + 1).min(high);
            } else {
                high = start;
            }
        }
        self.0.get(low..).unwrap_or_default()
    }

    /// Whether `word`, which has no space in it, is an entry.
    pub(crate) fn contains(self, word: &str) -> bool {
        self.from(word).strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }

    /// What stands behind the colon of the entry `key:value`.
    pub(crate) fn value(self, key: &str) -> Option<&'static str> {
        // A colon is before every letter: the first entry that is not before the key alone is the key's own.
        let value = self.from(key).strip_prefix(key)?.strip_prefix(':')?;
        value.split(' ').next()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Sorted without doubles, one space between entries: what searching takes for granted.
    pub(crate) fn is_in_order(list: WordList) -> bool {
        let words: Vec<&str> = list.0.split(' ').collect();
        words.windows(2).all(|pair| pair[0] < pair[1]) && words.iter().all(|word| !word.is_empty())
    }

    #[test]
    fn what_is_in_a_list_is_found_and_nothing_else() {
        for list in [WordList("an"), WordList("a an and"), WordList("a an and be b가 가 가나 나")] {
            let words: Vec<&str> = list.0.split(' ').filter(|word| !word.is_empty()).collect();
            let asked = ["", "a", "aa", "an", "and", "ands", "b", "b가", "be", "bee", "가", "가나", "가다", "나", "다"];
            for word in asked {
                assert_eq!(list.contains(word), words.contains(&word), "{word} in {:?}", list.0);
                let rest: Vec<&str> = words.iter().copied().filter(|each| *each >= word).collect();
                assert_eq!(list.from(word), rest.join(" "), "from {word} in {:?}", list.0);
            }
        }
    }

    #[test]
    fn a_value_is_found_by_its_whole_key() {
        let list = WordList("bike:bicycle bikes:bicycle bit:bite bitten:bite won:win");
        assert!(is_in_order(list));
        for (key, value) in
            [("bike", "bicycle"), ("bikes", "bicycle"), ("bit", "bite"), ("bitten", "bite"), ("won", "win")]
        {
            assert_eq!(list.value(key), Some(value));
        }
        for key in ["", "b", "bi", "bitt", "bites", "bite", "wons", "zebra"] {
            assert_eq!(list.value(key), None, "{key}");
        }
    }
}
