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
use throughline::retrieval::{Document, MessageFilter, MessageIndex, SearchRequest};

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

/// Recall at 1, 5 and 10, in percent, of the questions in this language, asked as `dress` makes of them.
fn recalls(index: &MessageIndex, language: usize, dress: &dyn Fn(&str) -> String) -> [f64; 3] {
    let questions = rows(include_str!("languages/questions.json"));
    let mut sums = [0.0; 3];
    for question in &questions {
        let text = &dress(question[1 + language].as_str().unwrap());
        let wanted: Vec<u64> = question[0].as_array().unwrap().iter().map(|seq| seq.as_u64().unwrap()).collect();
        let hits = index
            .search(&SearchRequest {
                text,
                vector: None,
                conversation: None,
                current_conversation: None,
                filter: MessageFilter::default(),
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

/// How far a language may be below English, in points, at rank 1, 5 and 10: in a store of its own, and where the same chat
/// in four other languages competes.
const MARGINS: [[f64; 3]; 2] = [[5.0; 3], [12.0, 5.0, 5.0]];

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
        let (alone, among) = (recalls(&index, language, &str::to_owned), recalls(&together, language, &str::to_owned));
        println!("{name:9} R@1, 5, 10 alone {alone:.1?}, in one store with the others {among:.1?}");
        let (english_alone, english_among) = *english.get_or_insert((alone, among));
        for cut in 0..3 {
            assert!(alone[cut] >= english_alone[cut] - MARGINS[0][cut], "{name} {alone:?}");
            assert!(among[cut] >= english_among[cut] - MARGINS[1][cut], "{name} {among:?}");
        }
    }
}

/// Instructions as an app might send them before each question, with a question of their own in the middle.
const INSTRUCTIONS: [&str; 5] = [
    "You help people with their work and their family. Answer briefly and never invent a port, a price or a name. Do not \
     ask more than this: which message do you mean? Books, trips and contracts are explained in three sentences.",
    "당신은 사람들의 일과 가족을 돕습니다. 짧게 대답하고 포트나 가격, 이름을 지어내지 마세요. 이것 외에는 묻지 마세요. 어느 메시지를 말하나요? \
     책과 여행과 계약은 세 문장으로 설명하세요.",
    "あなたは人々の仕事と家族を助けます。短く答え、ポートや価格や名前を作らないでください。聞き返すのはこれだけです。どのメッセージのことですか？\
     本や旅行や契約は三つの文で説明してください。",
    "你帮助人们处理工作和家庭的事情。回答要简短，不要编造端口、价格或名字。只可以反问这一句：你指的是哪条消息？书、旅行和合同用三句话说明。",
    "คุณช่วยผู้คนเรื่องงานและครอบครัว ตอบสั้นๆ และอย่าแต่งพอร์ต ราคา หรือชื่อขึ้นมาเอง ถามกลับได้แค่ว่าหมายถึงข้อความไหน หนังสือ ทริป และสัญญาให้อธิบายสามประโยค",
];

#[test]
fn pasted_instructions_cost_at_most_two_points() {
    for (language, name) in LANGUAGES.iter().enumerate() {
        let mut index = MessageIndex::new(Analyzer::default(), None);
        add_chat(&mut index, language as u32, language);
        let [_, at_5, at_10] = recalls(&index, language, &str::to_owned);
        let pasted = format!("{}\n", INSTRUCTIONS[language]).repeat(8_000 / INSTRUCTIONS[language].len());
        let before = recalls(&index, language, &|question| format!("{pasted}\n{question}"));
        let behind = recalls(&index, language, &|question| format!("{question}\n\n{pasted}"));
        println!("{name:9} R@5, 10 alone {at_5:.1} {at_10:.1}, pasted before {before:.1?}, behind {behind:.1?}");
        for [_, pasted_5, pasted_10] in [before, behind] {
            assert!(pasted_5 >= at_5 - 2.0 && pasted_10 >= at_10 - 2.0, "{name}");
        }
    }
}
