//! What estimates promise: they never panic, cut to what they count, and stay near the reference.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod tokens_texts;

use proptest::prelude::*;
use std::rc::Rc;
use throughline::tokens::{
    BytePairEncoder, ClassHistogram, Estimator, ModelCounter, ScriptClass, TokenCounter, resolve,
};
use tokens_texts::{Random, adversarial, chat_message};

const MODELS: [&str; 4] = ["claude-sonnet-5", "gemini-2.5-pro", "mistral-large", "estimate"];

fn model_counter(model: &str) -> ModelCounter {
    ModelCounter::new(Rc::new(Estimator::new()), resolve(model).unwrap())
}

fn check_cut(counter: &dyn TokenCounter, text: &str, max_tokens: u32) -> Result<(), TestCaseError> {
    let prefix = counter.truncate(text, max_tokens);
    prop_assert!(text.starts_with(prefix));
    prop_assert!(counter.count(prefix) <= max_tokens, "{}", counter.id());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cuts_never_count_to_more(seed in any::<u64>(), max_tokens in 0_u32..300, any_text in r"(?s)(.|\s|\PC){0,80}") {
        let mut random = Random::new(seed);
        for text in [adversarial(&mut random), chat_message(&mut random), any_text] {
            check_cut(&Estimator::new(), &text, max_tokens)?;
            for model in MODELS {
                check_cut(&model_counter(model), &text, max_tokens)?;
            }
        }
    }

    #[test]
    fn a_histogram_adds_up_to_the_count(seed in any::<u64>()) {
        let text = adversarial(&mut Random::new(seed));
        let histogram = Estimator::new().histogram(&text);
        let sum: f64 = ScriptClass::ALL.into_iter().map(|class| histogram.tokens(class)).sum();
        prop_assert_eq!(sum.ceil() as u32, Estimator::new().count(&text));
        prop_assert_eq!(histogram.total_tokens(), Estimator::new().count(&text));
        prop_assert!(text.is_empty() == (histogram.total_tokens() == 0));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        prop_assert!(BytePairEncoder::from_asset(&bytes).is_err());
        let mut with_magic = b"TLBP\x01\0\0\0".to_vec();
        with_magic.extend(bytes);
        prop_assert!(BytePairEncoder::from_asset(&with_magic).is_err());
    }
}

#[test]
fn an_empty_text_is_no_tokens() {
    let estimator = Estimator::new();
    assert_eq!(estimator.count(""), 0);
    assert_eq!(estimator.histogram(""), ClassHistogram::default());
    assert_eq!(estimator.truncate("", 0), "");
    assert_eq!(estimator.truncate("text", 0), "");
}

#[test]
fn estimates_say_that_they_are() {
    assert!(!Estimator::new().is_exact());
    assert_eq!(Estimator::new().id(), "estimate/1");
    let counter = model_counter("claude-3-opus");
    assert!(!counter.is_exact());
    assert_eq!(counter.id(), "estimate/1*claude-3");
    assert!(!model_counter("gpt-4o").is_exact());
}

#[test]
fn classes_are_told_apart() {
    let share = |text: &str, class: ScriptClass| {
        let histogram = Estimator::new().histogram(text);
        histogram.tokens(class) / ScriptClass::ALL.into_iter().map(|class| histogram.tokens(class)).sum::<f64>()
    };
    assert!(share("We keep the raw messages, because nobody knows.", ScriptClass::Latin) > 0.99);
    assert!(share("Die Größenänderung der Übersicht wäre prüfbar.", ScriptClass::LatinAccented) > 0.99);
    assert!(share("원본 메시지는 그대로 보관합니다.", ScriptClass::Hangul) > 0.9);
    assert!(share("元のメッセージはそのまま保存します。", ScriptClass::Kana) > 0.99);
    assert!(share("我们保留原始消息,因为今天没有人知道。", ScriptClass::Han) > 0.9);
    assert!(share("Мы сохраняем исходные сообщения.", ScriptClass::Cyrillic) > 0.99);
    assert!(share("Look:\n```js\nlet answer = count + one;\n```\n", ScriptClass::Code) > 0.5);
    assert!(share("{\"id\": 48213, \"ok\": [0.8731, 0.1204, 17]}", ScriptClass::Digits) > 0.3);
    assert!(share("🎉🎉🎉", ScriptClass::Emoji) > 0.99);
}

#[test]
fn a_megabyte_is_estimated_in_no_time() {
    for unit in ["a", " ", "中", "\n", "```\n", "'", "🎉"] {
        let text = unit.repeat(1_000_000 / unit.len());
        assert!(Estimator::new().count(&text) > 0);
        assert!(Estimator::new().truncate(&text, 100).len() < 30_000);
    }
}

#[cfg(feature = "tiktoken")]
mod against_the_reference {
    use super::*;
    use throughline::tokens::{Encoding, TiktokenCounter};
    use tokens_texts::SENTENCES;

    #[test]
    fn each_language_is_within_a_fifth_and_the_mean_error_is_a_tenth() {
        let truth = TiktokenCounter::new(Encoding::O200kBase);
        let mut sum = 0.0;
        for (name, sentences) in SENTENCES {
            let text = sentences.join("\n");
            let error = f64::from(Estimator::new().count(&text)) / f64::from(truth.count(&text)) - 1.0;
            assert!(error.abs() < 0.20 || *name == "emoji", "{name}: {error:+.3}");
            sum += error.abs();
        }
        assert!(sum / (SENTENCES.len() as f64) < 0.10);
    }
}
