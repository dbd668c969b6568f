//! LoCoMo and Cranfield as they are on disk.
#![allow(dead_code, reason = "each example uses its share")]

use crate::Failure;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Categories of LoCoMo's questions, by their number less one.
pub const CATEGORIES: [&str; 5] = ["multi-hop", "temporal", "open-domain", "single-hop", "adversarial"];
pub const MINILM_DIMENSIONS: usize = 384;

pub struct Turn {
    pub id: String,
    pub session: u64,
    /// Said by the first of the two who speak.
    pub is_first: bool,
    pub speaker: String,
    pub text: String,
    pub time_ms: f64,
    pub tokens: u64,
}

pub struct Question {
    /// Conversation and number in it.
    pub id: String,
    pub conversation: usize,
    pub text: String,
    pub category: usize,
    pub evidence: BTreeSet<usize>,
    pub row: usize,
}

pub struct Conversation {
    pub id: String,
    pub turns: Vec<Turn>,
    pub turn_row: usize,
}

pub struct Locomo {
    pub conversations: Vec<Conversation>,
    pub questions: Vec<Question>,
    pub question_rows: usize,
}

pub struct Vectors {
    pub dimensions: usize,
    pub turns: Vec<f32>,
    pub questions: Vec<f32>,
}

impl Vectors {
    pub fn turn(&self, row: usize) -> Option<&[f32]> {
        self.turns.chunks_exact(self.dimensions).nth(row)
    }

    pub fn question(&self, row: usize) -> Option<&[f32]> {
        self.questions.chunks_exact(self.dimensions).nth(row)
    }
}

pub fn read_locomo(data: &Path) -> Result<Locomo, Failure> {
    let root: Value = serde_json::from_str(&std::fs::read_to_string(data.join("locomo/conversations.json"))?)?;
    let mut locomo = Locomo { conversations: Vec::new(), questions: Vec::new(), question_rows: 0 };
    for (number, conversation) in list(&root).iter().enumerate() {
        let times: BTreeMap<u64, f64> = list(&conversation["sessions"])
            .iter()
            .map(|session| (whole(&session["n"]), time_of(text(&session["date"]))))
            .collect();
        let turns: Vec<Turn> = list(&conversation["turns"])
            .iter()
            .enumerate()
            .map(|(position, turn)| {
                let session = whole(&turn["s"]);
                let caption = turn["c"].as_str().map(|caption| format!(" [shares {caption}]")).unwrap_or_default();
                Turn {
                    id: text(&turn["id"]).to_owned(),
                    session,
                    is_first: turn["w"] == "a",
                    speaker: text(&conversation[text(&turn["w"])]).to_owned(),
                    text: format!("{}{caption}", text(&turn["t"])),
                    time_ms: times.get(&session).copied().unwrap_or(f64::NAN) + position as f64 * 1_000.0,
                    tokens: whole(&turn["k"]),
                }
            })
            .collect();
        let places: BTreeMap<&str, usize> =
            turns.iter().zip(0..).map(|(turn, place)| (turn.id.as_str(), place)).collect();
        for (at, question) in list(&conversation["questions"]).iter().enumerate() {
            let row = locomo.question_rows;
            locomo.question_rows += 1;
            let evidence: BTreeSet<usize> =
                list(&question["ev"]).iter().filter_map(|id| places.get(text(id)).copied()).collect();
            if !evidence.is_empty() {
                let category = (whole(&question["cat"]) as usize).clamp(1, CATEGORIES.len()) - 1;
                let id = format!("{}/q{at}", text(&conversation["id"]));
                let text = text(&question["q"]).to_owned();
                locomo.questions.push(Question { id, conversation: number, text, category, evidence, row });
            }
        }
        let turn_row = whole(&conversation["turn_offset"]) as usize;
        locomo.conversations.push(Conversation { id: text(&conversation["id"]).to_owned(), turns, turn_row });
    }
    Ok(locomo)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

/// Milliseconds of "1:56 pm on 8 May, 2023".
fn time_of(date: &str) -> f64 {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let words: Vec<&str> = date.split([' ', ':', ',']).filter(|word| !word.is_empty()).collect();
    let [hour, minute, half, _, day, month, year] = words[..] else { return f64::NAN };
    let number = |word: &str| word.parse::<i64>().unwrap_or(0);
    let month = MONTHS.find(month.get(..3).unwrap_or("?")).map_or(0, |at| at as i64 / 3) + 1;
    let (month_from_march, year) = if month <= 2 { (month + 9, number(year) - 1) } else { (month - 3, number(year)) };
    let days =
        365 * year + year / 4 - year / 100 + year / 400 + (153 * month_from_march + 2) / 5 + number(day) - 719_469;
    let hours = number(hour) % 12 + if half == "pm" { 12 } else { 0 };
    ((days * 24 + hours) * 60 + number(minute)) as f64 * 60_000.0
}

fn read_f16(path: &Path) -> Result<Vec<f32>, Failure> {
    let half = |pair: &[u8]| {
        let bits = u32::from(u16::from_le_bytes([pair[0], pair[1]]));
        let magnitude = f32::from_bits((bits & 0x7FFF) << 13) * f32::from_bits(0x7780_0000);
        if bits & 0x8000 == 0 { magnitude } else { -magnitude }
    };
    Ok(std::fs::read(path)?.chunks_exact(2).map(half).collect())
}

fn read_f32(path: &Path) -> Result<Vec<f32>, Failure> {
    let value = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    Ok(std::fs::read(path)?.chunks_exact(4).map(value).collect())
}

/// MiniLM's vectors of LoCoMo.
pub fn read_minilm(data: &Path) -> Result<Vectors, Failure> {
    Ok(Vectors {
        dimensions: MINILM_DIMENSIONS,
        turns: read_f16(&data.join("locomo/turns.minilm384.f16"))?,
        questions: read_f16(&data.join("locomo/questions.minilm384.f16"))?,
    })
}

/// Another model's vectors of LoCoMo.
pub fn read_vectors(locomo: &Locomo, file: &Path) -> Result<Vectors, Failure> {
    let turn_rows: usize = locomo.conversations.iter().map(|conversation| conversation.turns.len()).sum();
    let mut turns = read_f32(file)?;
    let dimensions = turns.len() / (turn_rows + locomo.question_rows).max(1);
    let questions = turns.split_off(turn_rows * dimensions);
    Ok(Vectors { dimensions, turns, questions })
}

pub struct Cranfield {
    pub documents: Vec<String>,
    pub document_vectors: Vec<f32>,
    /// Text and the numbers of the relevant documents.
    pub queries: Vec<(String, BTreeSet<usize>)>,
    pub query_vectors: Vec<f32>,
}

pub fn read_cranfield(data: &Path) -> Result<Cranfield, Failure> {
    let root: Value = serde_json::from_str(&std::fs::read_to_string(data.join("cranfield/cranfield.json"))?)?;
    let documents = list(&root["docs"]);
    let numbers: BTreeMap<u64, usize> = documents.iter().map(|document| whole(&document["id"])).zip(0..).collect();
    let relevant = |query: &Value| {
        let ids = list(&query["rel"]).iter().filter_map(|pair| pair.get(0).and_then(Value::as_u64));
        ids.filter_map(|id| numbers.get(&id).copied()).collect()
    };
    Ok(Cranfield {
        documents: documents.iter().map(|document| text(&document["t"]).to_owned()).collect(),
        document_vectors: read_f16(&data.join("cranfield/docs.minilm384.f16"))?,
        queries: list(&root["queries"]).iter().map(|query| (text(&query["q"]).to_owned(), relevant(query))).collect(),
        query_vectors: read_f16(&data.join("cranfield/queries.minilm384.f16"))?,
    })
}
