//! The same chat in five languages, asked the same questions: words alone must find as much in each.
//!
//! `languages/messages.json` holds rows of role, English, Korean, Japanese, Chinese and Thai; `languages/questions.json`
//! the numbers of the messages that answer (from 1), and the question in the same order of languages.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(clippy::print_stdout, reason = "a test that says its figures")]

use serde_json::Value;
use throughline::config::RetrievalPolicy;
use throughline::lexical::Analyzer;
use throughline::message::Role;
use throughline::retrieval::{Document, MessageIndex, SearchRequest};

const LANGUAGES: [&str; 5] = ["English", "Korean", "Japanese", "Chinese", "Thai"];
const DAY_MS: f64 = 86_400_000.0;

fn rows(text: &str) -> Vec<Vec<Value>> {
    serde_json::from_str(text).unwrap()
}

/// The chat in one language: eight messages a day.
fn add_chat(index: &mut MessageIndex, conversation: u32, language: usize) {
    for (row, seq) in rows(include_str!("languages/messages.json")).iter().zip(1_u32..) {
        let role = if row[0] == "u" { Role::User } else { Role::Assistant };
        let created_at_ms = 1.7e12 + f64::from((seq - 1) / 8) * DAY_MS + f64::from(seq) * 60_000.0;
        let text = row[1 + language].as_str().unwrap();
        index.add(&Document { conversation, seq, role, speaker: None, created_at_ms, text });
    }
}

/// Recall at 1, 5 and 10, in percent, of the questions in this language.
fn recalls(index: &MessageIndex, language: usize) -> [f64; 3] {
    let questions = rows(include_str!("languages/questions.json"));
    let mut sums = [0.0; 3];
    for question in &questions {
        let text = question[1 + language].as_str().unwrap();
        let wanted: Vec<u64> = question[0].as_array().unwrap().iter().map(|seq| seq.as_u64().unwrap()).collect();
        let hits = index
            .search(&SearchRequest {
                text,
                vector: None,
                conversation: None,
                current_conversation: None,
                admits: None,
                top_k: 10,
                min_score: 0.0,
                now_ms: 1.7e12 + 30.0 * DAY_MS,
                policy: &RetrievalPolicy::default(),
            })
            .unwrap()
            .hits;
        let places: Vec<usize> = wanted
            .iter()
            .map(|seq| {
                let is_it = |hit: &throughline::retrieval::Hit| {
                    u64::from(hit.seq) == *seq && hit.conversation == language as u32
                };
                hits.iter().position(is_it).unwrap_or(usize::MAX)
            })
            .collect();
        for (sum, cut) in sums.iter_mut().zip([1, 5, 10]) {
            let found = places.iter().filter(|place| **place < cut).count();
            *sum += found as f64 / wanted.len().min(cut) as f64;
        }
    }
    sums.map(|sum| 100.0 * sum / questions.len() as f64)
}

/// How far a language may be below English, in points, at rank 1, 5 and 10. The goal is 5 points of recall at 10; at 1
/// mostly the message that asks stands before the one that answers.
const MARGINS: [f64; 3] = [10.0, 5.0, 5.0];

#[test]
fn each_language_finds_as_much_as_english() {
    let mut together = MessageIndex::new(Analyzer::default(), None);
    for language in 0..LANGUAGES.len() {
        add_chat(&mut together, language as u32, language);
    }
    let mut english = None;
    for (language, name) in LANGUAGES.iter().enumerate() {
        let mut index = MessageIndex::new(Analyzer::default(), None);
        add_chat(&mut index, language as u32, language);
        let (alone, among) = (recalls(&index, language), recalls(&together, language));
        println!("{name:9} R@1, 5, 10 alone {alone:.1?}, in one store with the others {among:.1?}");
        let (english_alone, english_among) = *english.get_or_insert((alone, among));
        for cut in 0..MARGINS.len() {
            assert!(alone[cut] >= english_alone[cut] - MARGINS[cut], "{name} {alone:?}");
            assert!(among[cut] >= english_among[cut] - MARGINS[cut], "{name} {among:?}");
        }
    }
}
