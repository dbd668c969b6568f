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
fn recalls(index: &MessageIndex, conversation: Option<u32>, language: usize) -> [f64; 3] {
    let questions = rows(include_str!("languages/questions.json"));
    let mut sums = [0.0; 3];
    for question in &questions {
        let text = question[1 + language].as_str().unwrap();
        let wanted: Vec<u64> = question[0].as_array().unwrap().iter().map(|seq| seq.as_u64().unwrap()).collect();
        let hits = index
            .search(&SearchRequest {
                text,
                vector: None,
                conversation,
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
        if std::env::var_os("SHOW_MISSES").is_some() && places.iter().all(|place| *place >= 1) {
            let found: Vec<u32> = hits.iter().take(5).map(|hit| hit.seq).collect();
            println!("{:9} {places:?} {wanted:?} {found:?} {text}", LANGUAGES[language]);
        }
        for (sum, cut) in sums.iter_mut().zip([1, 5, 10]) {
            let found = places.iter().filter(|place| **place < cut).count();
            *sum += found as f64 / wanted.len().min(cut) as f64;
        }
    }
    sums.map(|sum| 100.0 * sum / questions.len() as f64)
}

#[test]
fn each_language_finds_as_much_as_english() {
    let mut together = MessageIndex::new(Analyzer::default(), None);
    for language in 0..LANGUAGES.len() {
        add_chat(&mut together, language as u32, language);
    }
    for (language, name) in LANGUAGES.iter().enumerate() {
        let mut index = MessageIndex::new(Analyzer::default(), None);
        add_chat(&mut index, language as u32, language);
        let [at_1, at_5, at_10] = recalls(&index, None, language);
        let [among_1, among_5, among_10] = recalls(&together, None, language);
        println!("{name:9} alone {at_1:.1} {at_5:.1} {at_10:.1}, in one store with the others {among_1:.1} {among_5:.1} {among_10:.1}");
    }
}
