//! An index that forgot is the same as one that never knew.

use proptest::prelude::*;
use throughline::lexical::{Analyzer, LexicalIndex};

const WORDS: [&str; 12] =
    ["alpha", "beta", "gamma", "delta", "the", "src/main.rs", "数据库", "서버를", "running", "runs", "Ünïcode", "42"];

/// What means something to other search engines.
#[rustfmt::skip] // signs in lines, not one to a line
const SIGNS: [&str; 20] = [
    "*", "~", "~2", " AND ", " OR ", " NOT ", "^", "\"", "(", ")", "[", "]}", " -", " +", "?", ".*", "\\", " || ", "; DROP --", "^3 ",
];

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(0..WORDS.len(), 0..8)
        .prop_map(|words| words.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn add_and_remove_equal_a_rebuilt_index(
        steps in prop::collection::vec((text(), any::<prop::sample::Index>(), prop::bool::weighted(0.4)), 1..60),
        question in text(),
    ) {
        let analyzer = Analyzer::default();
        let mut index = LexicalIndex::new();
        let mut live: Vec<(u32, String)> = Vec::new();
        for (text, which, removes) in steps {
            if removes && !live.is_empty() {
                let (document, _) = live.remove(which.index(live.len()));
                prop_assert!(index.remove(document));
                prop_assert!(!index.remove(document));
            } else {
                live.push((index.add(&analyzer, &text), text));
            }
        }
        let mut fresh = LexicalIndex::new();
        for (_, text) in &live {
            fresh.add(&analyzer, text);
        }
        let position = |document: u32| live.iter().position(|(other, _)| *other == document);
        let found: Vec<_> = index.search(&analyzer, &question, 100).iter()
            .map(|hit| (position(hit.document), hit.score)).collect();
        let expected: Vec<_> = fresh.search(&analyzer, &question, 100).iter()
            .map(|hit| (Some(hit.document as usize), hit.score)).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(index.len(), fresh.len());
    }

    #[test]
    fn any_text_can_be_indexed_and_asked(text in any::<String>(), question in any::<String>()) {
        let analyzer = Analyzer::default();
        let mut index = LexicalIndex::new();
        index.add(&analyzer, &text);
        prop_assert!(index.search(&analyzer, &question, 10).len() <= 1);
        prop_assert_eq!(analyzer.imprint(&text), analyzer.imprint(&format!(" {text}\u{200B}")));
    }

    #[test]
    fn a_question_has_no_syntax(
        texts in prop::collection::vec(text(), 1..12),
        words in prop::collection::vec(prop::sample::select(vec!["alpha", "beta", "gamma", "数据库", "서버를"]), 1..5),
        signs in prop::collection::vec(prop::sample::select(SIGNS.to_vec()), 6),
    ) {
        let analyzer = Analyzer::default();
        let mut index = LexicalIndex::new();
        for text in &texts {
            index.add(&analyzer, text);
        }
        let plain = words.join(" ");
        let mut dressed = signs[5].to_owned();
        for (word, sign) in words.iter().zip(&signs) {
            dressed.extend([" ", word, sign, " "]);
        }
        prop_assert_eq!(index.search(&analyzer, &plain, 100), index.search(&analyzer, &dressed, 100), "{}", dressed);
    }

    #[test]
    fn every_word_of_a_message_finds_it(text in "[a-zA-Z0-9_./:가-힣一-龥ぁ-んก-ฮа-яé' -]{1,40}") {
        let analyzer = Analyzer::default();
        let mut index = LexicalIndex::new();
        index.add(&analyzer, &text);
        for word in text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)) {
            prop_assert_eq!(index.search(&analyzer, word, 1).len(), 1, "{:?} in {:?}", word, text);
        }
    }
}
