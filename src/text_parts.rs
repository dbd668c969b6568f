//! A text in parts that an embedding model reads whole.
//!
//! Models read a few hundred tokens and drop the rest without a word. Their tokenizers differ, so tokens are estimated,
//! rather too many than too few; an eighth of the limit is kept free beside. A cut is made at the end of a paragraph,
//! else of a line or sentence, else between words, in the second half of a part; a tenth of a part is said again at the
//! beginning of the next, so that what stands across a cut is in one of them.

/// Most parts of one text: about 13,000 tokens where a model reads 256. What is behind is found by its words only.
pub const MAX_PARTS: usize = 64;

/// What a token costs; characters cost shares of it.
const TOKEN: usize = 12;

/// The text's parts, in order, each of at most `max_tokens` tokens by estimate; one part where it fits. None is blank.
#[must_use]
pub fn parts_of(text: &str, max_tokens: usize) -> Vec<&str> {
    // Two tokens more are the model's own marks of beginning and end.
    let room = max_tokens.saturating_sub(max_tokens / 8).saturating_sub(2).max(1).saturating_mul(TOKEN);
    let mut parts = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() && parts.len() < MAX_PARTS {
        let Cut { end, next } = cut(rest, room);
        parts.push(rest.get(..end).unwrap_or_default().trim_end());
        rest = rest.get(next..).unwrap_or_default();
    }
    parts
}

/// Where a part ends, and where the next one begins.
struct Cut {
    end: usize,
    next: usize,
}

/// A place where a text may be cut: in front of which byte, what stands before it costs, and how good it is.
struct Gap {
    at: usize,
    cost: usize,
    rank: u8,
}

fn cut(text: &str, room: usize) -> Cut {
    let mut gaps: Vec<Gap> = Vec::new();
    let mut reader = Reader::default();
    let mut cost = 0;
    for (at, character) in text.char_indices() {
        let rank = reader.rank_before(character);
        if rank > 0 {
            gaps.push(Gap { at, cost, rank });
        }
        let before = cost;
        cost += reader.read(character);
        if cost > room && at > 0 {
            let in_second_half = gaps.iter().filter(|gap| gap.cost * 2 >= room);
            let best = in_second_half.max_by_key(|gap| (gap.rank, gap.at));
            let (end, end_cost) = best.map_or((at, before), |gap| (gap.at, gap.cost));
            let again = gaps.iter().find(|gap| gap.at < end && gap.cost + room / 10 >= end_cost && gap.cost > 0);
            return Cut { end, next: again.map_or(end, |gap| gap.at) };
        }
    }
    Cut { end: text.len(), next: text.len() }
}

/// Reads characters and knows what stood before.
#[derive(Default)]
struct Reader {
    previous: Option<char>,
    /// Letters of the word so far.
    letters: usize,
    line_ends: usize,
    is_after_sentence: bool,
}

impl Reader {
    /// How well the text may be cut in front of the character that comes: 3 a paragraph, 2 a line or sentence, 1 a word;
    /// 0 not.
    fn rank_before(&self, character: char) -> u8 {
        let Some(previous) = self.previous.filter(|_| !character.is_whitespace()) else { return 0 };
        let is_between = previous.is_whitespace() || is_written_without_spaces(previous);
        match (self.line_ends, self.is_after_sentence) {
            _ if !is_between && !is_full_stop(previous) => 0,
            (2.., _) => 3,
            (1, _) | (_, true) => 2,
            _ => 1,
        }
    }

    /// What a character costs.
    fn read(&mut self, character: char) -> usize {
        let previous = self.previous.replace(character);
        if character.is_whitespace() {
            self.letters = 0;
            self.line_ends += usize::from(character == '\n');
            return 0;
        }
        self.line_ends = 0;
        self.is_after_sentence = matches!(character, '.' | '!' | '?' | '…') || is_full_stop(character);
        let begins_word = character.is_uppercase() && previous.is_some_and(char::is_lowercase);
        self.letters = if !character.is_alphabetic() || begins_word { 0 } else { self.letters };
        if is_written_without_spaces(character) {
            return TOKEN;
        }
        match character {
            _ if character.is_numeric() => 5,
            _ if !character.is_alphabetic() => TOKEN,
            _ => {
                self.letters += 1;
                match self.letters {
                    1 => TOKEN,
                    _ if !character.is_ascii() => TOKEN / 2,
                    2..=4 => 0,
                    5..=16 => 2,
                    // What is longer is no word.
                    _ => 5,
                }
            }
        }
    }
}

/// Thai and its neighbours, Han, kana, Hangul: about a token each.
fn is_written_without_spaces(character: char) -> bool {
    matches!(character, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}' | '\u{2e80}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{ff01}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}

/// Ends a sentence with or without a space behind.
fn is_full_stop(character: char) -> bool {
    matches!(character, '。' | '！' | '？')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_that_fits_is_one_part_and_a_blank_one_none() {
        assert_eq!(parts_of("  The port is 8443.\n", 256), ["The port is 8443."]);
        assert!(parts_of(" \n\t", 256).is_empty());
        assert_eq!(parts_of("a b", 0), ["a", "b"]);
    }

    #[test]
    fn cuts_are_made_at_paragraphs_then_sentences_then_words() {
        let words = |count: usize| vec!["word"; count].join(" ");
        let paragraphs = format!("{}. {}\n\n{}", words(20), words(10), words(30));
        assert_eq!(parts_of(&paragraphs, 50)[0], format!("{}. {}", words(20), words(10)));
        let sentences = format!("{}. {}", words(30), words(30));
        assert_eq!(parts_of(&sentences, 50)[0], format!("{}.", words(30)));
        let parts = parts_of(&sentences, 50);
        assert_eq!(parts[1], format!("{}. {}", words(3), words(30)), "a tenth again");
        assert!(
            parts_of(&words(100), 50).iter().all(|part| !part.is_empty() && part.split(' ').all(|one| one == "word"))
        );
    }

    #[test]
    fn texts_without_spaces_are_cut_behind_sentences() {
        let sentence = "데이터베이스를어디에둘까요？";
        let parts = parts_of(&sentence.repeat(20), 60).into_iter().map(str::to_owned).collect::<Vec<_>>();
        assert!(parts.len() > 4 && parts.iter().all(|part| part.ends_with('？')), "{parts:?}");
        assert_eq!(parts_of(&"x".repeat(2_000), 100).concat().len(), 2_000);
    }

    #[test]
    fn no_more_than_the_most_parts() {
        let text = "and then something else happened. ".repeat(20_000);
        assert_eq!(parts_of(&text, 256).len(), MAX_PARTS);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Every part is a piece of the text, within the limit, and nothing but space is lost between them.
        #[test]
        fn parts_cover_the_text(
            pieces in prop::collection::vec("[a-zA-Z]{1,12}|[0-9]{1,6}|[가-힣]{1,5}|[.!?,。]|\n\n|\n| ", 0..200),
            max_tokens in 0usize..80,
        ) {
            let text = pieces.concat();
            let parts = parts_of(&text, max_tokens);
            let mut covered = 0;
            for part in &parts {
                let start = part.as_ptr() as usize - text.as_ptr() as usize;
                prop_assert!(!part.trim().is_empty());
                prop_assert!(start >= covered || start + part.len() > covered);
                if start > covered {
                    prop_assert!(text[covered..start].trim().is_empty());
                }
                covered = start + part.len();
                let mut reader = Reader::default();
                let cost: usize = part.chars().map(|character| reader.read(character)).sum();
                prop_assert!(cost <= max_tokens.max(1) * TOKEN, "{cost}");
            }
            prop_assert!(parts.len() == MAX_PARTS || text[covered..].trim().is_empty());
        }
    }
}
