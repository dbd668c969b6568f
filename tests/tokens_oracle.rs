//! The exact counter against `tiktoken-rs`: ids as well as counts, no difference allowed.
//!
//! `cargo test --features tiktoken --test tokens_oracle`
#![cfg(feature = "tiktoken")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod tokens_texts;

use proptest::prelude::*;
use std::rc::Rc;
use std::sync::OnceLock;
use throughline::Code;
use throughline::tokens::{BytePairEncoder, Encoding, TiktokenCounter, TokenCounter, vocabulary_asset};
use tokens_texts::{Random, adversarial, chat_message, random_code_points, scripts_next_to_each_other};

fn counters(encoding: Encoding) -> (BytePairEncoder, TiktokenCounter) {
    static ASSETS: [OnceLock<Vec<u8>>; 2] = [OnceLock::new(), OnceLock::new()];
    let asset = ASSETS[encoding as usize].get_or_init(|| vocabulary_asset(encoding, "tiktoken-rs").unwrap());
    (BytePairEncoder::from_asset(asset).unwrap(), TiktokenCounter::new(encoding))
}

fn assert_equal(own: &BytePairEncoder, truth: &TiktokenCounter, text: &str) {
    let expected = truth.encode(text);
    let ids = own.encode(text);
    assert!(ids == expected, "{}: {text:?}\n own {ids:?}\nthem {expected:?}", own.id());
    // Twice: the second answer comes out of the memo.
    for _ in 0..2 {
        assert_eq!(own.count(text) as usize, expected.len(), "{}: {text:?}", own.id());
    }
}

fn fuzz(encoding: Encoding) {
    let (own, truth) = counters(encoding);
    let mut random = Random::new(0x5eed);
    for _ in 0..12_000 {
        assert_equal(&own, &truth, &adversarial(&mut random));
    }
    for _ in 0..3_000 {
        assert_equal(&own, &truth, &random_code_points(&mut random));
    }
    for _ in 0..8_000 {
        assert_equal(&own, &truth, &scripts_next_to_each_other(&mut random));
    }
    for _ in 0..1_500 {
        assert_equal(&own, &truth, &chat_message(&mut random));
    }
}

#[test]
fn o200k_has_no_difference_in_24500_strings() {
    fuzz(Encoding::O200kBase);
}

#[test]
fn cl100k_has_no_difference_in_24500_strings() {
    fuzz(Encoding::Cl100kBase);
}

#[test]
fn every_token_has_the_bytes_of_its_rank_and_is_itself() {
    for encoding in Encoding::ALL {
        let (own, truth) = counters(encoding);
        for id in 0..encoding.vocabulary_size() {
            let bytes = truth.token_bytes(id).unwrap();
            assert_eq!(own.token_bytes(id), Some(bytes.as_slice()));
            if let Ok(text) = std::str::from_utf8(&bytes) {
                assert_equal(&own, &truth, text);
            }
        }
        assert_eq!(own.token_bytes(encoding.vocabulary_size()), None);
    }
}

#[test]
fn every_character_alone_and_between_letters() {
    for encoding in Encoding::ALL {
        let (own, truth) = counters(encoding);
        let characters: Vec<char> = (0..0x3_2000).filter_map(char::from_u32).collect();
        for block in characters.chunks(64) {
            let text: String = block.iter().flat_map(|&character| [character, 'a', character, ' ', '\n']).collect();
            assert_equal(&own, &truth, &text);
        }
    }
}

#[test]
fn every_run_of_white_space_alone_in_the_middle_and_at_the_end() {
    let mut runs = vec![String::new()];
    for length in 0..5 {
        let longest: Vec<String> = runs.iter().filter(|run| run.chars().count() == length).cloned().collect();
        runs.extend(
            longest.iter().flat_map(|run| [' ', '\n', '\r', '\t', '\u{3000}'].map(|space| format!("{run}{space}"))),
        );
    }
    for encoding in Encoding::ALL {
        let (own, truth) = counters(encoding);
        for run in &runs {
            for text in [run.clone(), format!("a{run}"), format!("a{run}b"), format!("!{run}"), format!("!{run}/")] {
                assert_equal(&own, &truth, &text);
            }
        }
    }
}

/// Pieces that are merged in several windows. The truth is `tiktoken-rs`, which merges them whole.
#[test]
fn long_pieces_are_merged_in_windows_without_a_difference() {
    for encoding in Encoding::ALL {
        let (own, truth) = counters(encoding);
        for unit in
            ["a", "A", " ", "\n", "中", "=", "-", "é", "ab", "abc", "aab", "ꙮ", "the", "了的", "\u{301}", "!?", "ha"]
        {
            for length in [127, 128, 129, 255, 256, 257, 1_023, 1_024, 1_025, 5_000, 40_000] {
                assert_equal(&own, &truth, &unit.repeat(length / unit.len()));
                assert_equal(&own, &truth, &format!("{}x", unit.repeat(length / unit.len())));
            }
        }
        let mut random = Random::new(7);
        for alphabet in
            ["ab", "abcdefghijklmnopqrstuvwxyz", "中国人的一是在不了", "ееаоинтсрвл", "!=-/*#_", "가나다라마", "éèüößñ"]
        {
            let alphabet: Vec<char> = alphabet.chars().collect();
            for length in [300, 1_500, 3_000, 20_000] {
                let text: String = (0..length).map(|_| random.pick(&alphabet)).collect();
                assert_equal(&own, &truth, &text);
            }
        }
    }
}

/// A run of a million spaces makes `tiktoken-rs` panic, so the two are only compared below that.
#[test]
fn a_megabyte_of_one_character_is_counted() {
    for encoding in Encoding::ALL {
        let (own, truth) = counters(encoding);
        for unit in ["a", "A", "中", "="] {
            let text = unit.repeat(1_000_000 / unit.len());
            assert_eq!(own.count(&text), truth.count(&text), "{encoding:?} {unit:?}");
        }
        for text in [" ".repeat(1_100_000), "\n".repeat(1_000_000), format!("{}x", " ".repeat(1_000_100))] {
            assert!(own.count(&text) > 1_000);
            assert_eq!(own.encode(&text).len(), own.count(&text) as usize);
        }
        assert_eq!(own.count(&" ".repeat(900_000)), truth.count(&" ".repeat(900_000)));
    }
}

#[test]
fn special_tokens_are_ordinary_text() {
    for encoding in Encoding::ALL {
        let (own, truth) = counters(encoding);
        assert_eq!(own.count("<|endoftext|>"), 7);
        for text in
            ["<|endoftext|>", "<|im_start|>system", "[INST]", "<start_of_turn>", "</s>", "a<|endofprompt|>b", ""]
        {
            assert_equal(&own, &truth, text);
        }
    }
}

#[test]
fn a_changed_or_cut_vocabulary_file_is_refused() {
    let asset = vocabulary_asset(Encoding::Cl100kBase, "tiktoken-rs").unwrap();
    let mut random = Random::new(5);
    for length in [0, 1, 79, 80, 81, 336, asset.len() / 2, asset.len() - 1] {
        assert_eq!(BytePairEncoder::from_asset(&asset[..length]).err().unwrap().code, Code::InvalidArgument);
    }
    // Behind the hash of the source stands only a name for people to read.
    let header = (0..52).filter(|at| !(6..8).contains(at));
    let body: Vec<usize> = (0..100).map(|_| 80 + random.below(asset.len() as u32 - 80) as usize).collect();
    for at in header.chain(body) {
        let mut changed = asset.clone();
        changed[at] ^= 1 << random.below(8);
        assert_eq!(BytePairEncoder::from_asset(&changed).err().unwrap().code, Code::InvalidArgument, "byte {at}");
    }
    let longer = [asset.as_slice(), &[0]].concat();
    assert!(BytePairEncoder::from_asset(&longer).is_err());
    assert!(vocabulary_asset(Encoding::Cl100kBase, "a name that is longer than its field").is_err());
}

#[test]
fn truncation_never_counts_to_more() {
    for encoding in Encoding::ALL {
        let (own, truth) = counters(encoding);
        let mut random = Random::new(11);
        let (mut cuts, mut far_below) = (0, 0);
        for round in 0..3_000 {
            let text = if round % 3 == 0 { chat_message(&mut random) } else { adversarial(&mut random) };
            let tokens = own.count(&text);
            for max_tokens in [0, 1, random.below(tokens + 1), random.below(tokens + 1), tokens, tokens + 1] {
                let prefix = own.truncate(&text, max_tokens);
                assert!(text.starts_with(prefix));
                let counted = own.count(prefix);
                assert!(counted <= max_tokens, "{counted} > {max_tokens}: {text:?}");
                assert_eq!(counted, truth.count(prefix));
                assert!(max_tokens < tokens || prefix == text);
                cuts += 1;
                far_below += u32::from(max_tokens < tokens && counted + 4 < max_tokens);
            }
        }
        assert!(far_below * 200 < cuts, "{far_below} of {cuts} cuts are more than 4 tokens below what was allowed");
    }
}

thread_local! {
    static O200K: Rc<(BytePairEncoder, TiktokenCounter)> = Rc::new(counters(Encoding::O200kBase));
    static CL100K: Rc<(BytePairEncoder, TiktokenCounter)> = Rc::new(counters(Encoding::Cl100kBase));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_encoded_as_the_reference_does(text in r"(?s)(\PC|.|\s|[A-Za-z']|\p{M}|\p{N}|\p{Han}|\p{Hangul}){0,60}") {
        for pair in [O200K.with(Rc::clone), CL100K.with(Rc::clone)] {
            assert_equal(&pair.0, &pair.1, &text);
        }
    }
}
