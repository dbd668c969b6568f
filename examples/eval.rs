//! Retrieval quality on LoCoMo and Cranfield.
//!
//! `cargo run --release --example eval -- --data DIR [--json] [--static FILE.f32]`
//!
//! DIR holds `locomo/` and `cranfield/` as described in its README. FILE.f32 holds another model's vectors, f32
//! little-endian, a row per turn, then a row per question, in the order of `conversations.json`.
//!
//! # Protocol
//!
//! Written down before anything was tuned by it. Every figure for a fitted constant is quoted leave-one-conversation-out:
//! for each of the seven conversations the constants are fitted on the other six, from the same start and with the same
//! search, and scored on the one that was left out; the quoted mean is over all questions, each scored by constants that
//! never saw its conversation. Cranfield is a guard: its nDCG@10, by words and with vectors, is part of what is
//! maximised in every fit, and a change that lowers it is not kept. What ships is fitted on all seven the same way; its
//! own score on them is not quoted as quality. Questions without evidence are left out. Whether a signal is kept at all
//! is decided by the left-out figures too, so those are a little optimistic as to the choice of signals, not as to
//! weights.
//!
//! The constants now in the engine are older than that: they were fitted on the conversations of [`FITTED`] only, and
//! the rows "held out" are the honest ones for them.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use throughline::config::RetrievalPolicy;
use throughline::lexical::Analyzer;
use throughline::message::Role;
use throughline::retrieval::{
    Document, GateRequest, MessageFilter, MessageIndex, RetrievalChoice, SearchRequest, decide,
};
use throughline::vector::{TieredIndex, Tiers};

type Failure = Box<dyn std::error::Error>;

/// Conversations that constants were fitted on.
const FITTED: [&str; 3] = ["conv-26", "conv-30", "conv-42"];
const CUTS: [usize; 3] = [5, 10, 20];
const CATEGORIES: [&str; 5] = ["multi-hop", "temporal", "open-domain", "single-hop", "adversarial"];
const MINILM_DIMENSIONS: usize = 384;

struct Turn {
    id: String,
    session: u64,
    speaker: String,
    text: String,
    time_ms: f64,
    tokens: u64,
}

struct Question {
    conversation: usize,
    text: String,
    category: usize,
    evidence: BTreeSet<usize>,
    row: usize,
}

struct Conversation {
    id: String,
    turns: Vec<Turn>,
    turn_row: usize,
}

struct Locomo {
    conversations: Vec<Conversation>,
    questions: Vec<Question>,
    question_rows: usize,
}

struct Vectors {
    dimensions: usize,
    turns: Vec<f32>,
    questions: Vec<f32>,
}

impl Vectors {
    fn turn(&self, row: usize) -> Option<&[f32]> {
        self.turns.chunks_exact(self.dimensions).nth(row)
    }

    fn question(&self, row: usize) -> Option<&[f32]> {
        self.questions.chunks_exact(self.dimensions).nth(row)
    }
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Failure> {
    let mut data: Option<PathBuf> = None;
    let mut table: Option<PathBuf> = None;
    let mut as_json = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--data" => data = arguments.next().map(PathBuf::from),
            "--static" => table = arguments.next().map(PathBuf::from),
            "--json" => as_json = true,
            other => return Err(format!("{other} is no option; give --data DIR, --static FILE.f32 or --json").into()),
        }
    }
    let data = data.filter(|data| data.join("locomo/conversations.json").is_file());
    let data = data.ok_or("Pass --data DIR, the folder that holds locomo/conversations.json and cranfield/.")?;
    let locomo = read_locomo(&data)?;
    let turn_rows: usize = locomo.conversations.iter().map(|conversation| conversation.turns.len()).sum();
    let minilm = Vectors {
        dimensions: MINILM_DIMENSIONS,
        turns: read_f16(&data.join("locomo/turns.minilm384.f16"))?,
        questions: read_f16(&data.join("locomo/questions.minilm384.f16"))?,
    };
    let mut runs = vec![("lexical", None)];
    if let Some(path) = table {
        let mut values = read_f32(&path)?;
        let dimensions = values.len() / (turn_rows + locomo.question_rows).max(1);
        let questions = values.split_off(turn_rows * dimensions);
        runs.push(("static", Some(Vectors { dimensions, turns: values, questions })));
    }
    runs.push(("minilm", Some(minilm)));
    let mut report = Vec::new();
    for (name, vectors) in &runs {
        report.push(json!({ "data": "locomo", "run": name, "results": locomo_results(&locomo, vectors.as_ref())? }));
    }
    report.extend(cranfield(&data)?);
    if as_json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        report.iter().for_each(print_run);
    }
    Ok(())
}

fn read_locomo(data: &Path) -> Result<Locomo, Failure> {
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
                    speaker: text(&conversation[text(&turn["w"])]).to_owned(),
                    text: format!("{}{caption}", text(&turn["t"])),
                    time_ms: times.get(&session).copied().unwrap_or(f64::NAN) + position as f64 * 1_000.0,
                    tokens: whole(&turn["k"]),
                }
            })
            .collect();
        let places: BTreeMap<&str, usize> =
            turns.iter().zip(0..).map(|(turn, place)| (turn.id.as_str(), place)).collect();
        for question in list(&conversation["questions"]) {
            let row = locomo.question_rows;
            locomo.question_rows += 1;
            let evidence: BTreeSet<usize> =
                list(&question["ev"]).iter().filter_map(|id| places.get(text(id)).copied()).collect();
            if !evidence.is_empty() {
                let category = (whole(&question["cat"]) as usize).clamp(1, CATEGORIES.len()) - 1;
                let text = text(&question["q"]).to_owned();
                locomo.questions.push(Question { conversation: number, text, category, evidence, row });
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

fn text(value: &Value) -> &str {
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

fn vector_index(dimensions: usize) -> Box<TieredIndex> {
    Box::new(TieredIndex::new(dimensions, Tiers::AUTO))
}

fn locomo_index(locomo: &Locomo, vectors: Option<&Vectors>) -> Result<MessageIndex, Failure> {
    let mut index =
        MessageIndex::new(Analyzer::default(), vectors.map(|vectors| vector_index(vectors.dimensions) as _));
    for (conversation, number) in locomo.conversations.iter().zip(0_u32..) {
        for (turn, position) in conversation.turns.iter().zip(0_u32..) {
            let document = index.add(&Document {
                conversation: number,
                seq: position + 1,
                role: Role::User,
                speaker: Some(&turn.speaker),
                created_at_ms: turn.time_ms,
                text: &turn.text,
            });
            let row = vectors.and_then(|vectors| vectors.turn(conversation.turn_row + position as usize));
            if let (Some(document), Some(row)) = (document, row) {
                index.set_vector(document, row)?;
            }
        }
    }
    Ok(index)
}

/// Where a question is asked.
#[derive(Clone, Copy)]
struct Asking<'a> {
    index: &'a MessageIndex,
    vector: Option<&'a [f32]>,
    min_score: f64,
}

impl Asking<'_> {
    /// Conversation and place of turns, best first. `only`: in this conversation, else in all, from this one.
    fn ranked(&self, question: &Question, conversation: usize, only: bool) -> Result<Vec<(usize, usize)>, Failure> {
        let conversation = u32::try_from(conversation)?;
        let result = self.index.search(&SearchRequest {
            text: &question.text,
            vector: self.vector,
            conversation: Some(conversation).filter(|_| only),
            current_conversation: Some(conversation),
            filter: MessageFilter::default(),
            admits: None,
            top_k: 300,
            min_score: self.min_score as f32,
            now_ms: 1_704_067_200_000.0,
            policy: &RetrievalPolicy::default(),
        })?;
        Ok(result.hits.iter().map(|hit| (hit.conversation as usize, hit.seq as usize - 1)).collect())
    }

    /// Places of turns of one conversation, best first.
    fn places(&self, question: &Question, conversation: usize) -> Result<Vec<usize>, Failure> {
        Ok(self.ranked(question, conversation, true)?.into_iter().map(|(_, place)| place).collect())
    }
}

/// Sums over questions, by unit and cut.
#[derive(Default)]
struct Tally {
    questions: f64,
    sums: BTreeMap<String, f64>,
}

impl Tally {
    fn add(&mut self, name: String, value: f64) {
        *self.sums.entry(name).or_default() += value;
    }

    fn percent(&self) -> Value {
        let rounded = |sum: &f64| (1_000.0 * sum / self.questions.max(1.0)).round() / 10.0;
        let mut object: serde_json::Map<String, Value> =
            self.sums.iter().map(|(name, sum)| (name.clone(), json!(rounded(sum)))).collect();
        object.insert("questions".into(), json!(self.questions));
        Value::Object(object)
    }
}

fn locomo_results(locomo: &Locomo, vectors: Option<&Vectors>) -> Result<Value, Failure> {
    let index = locomo_index(locomo, vectors)?;
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let policy = RetrievalPolicy::default();
    for question in &locomo.questions {
        let conversation = &locomo.conversations[question.conversation];
        let vector = vectors.and_then(|vectors| vectors.question(question.row));
        let asking = Asking { index: &index, vector, min_score: 0.0 };
        let with_floor = Asking { min_score: policy.min_score, ..asking };
        let order = asking.places(question, question.conversation)?;
        let above_floor = with_floor.places(question, question.conversation)?;
        let noise = with_floor.places(question, (question.conversation + 1) % locomo.conversations.len())?;
        let among_all: Vec<usize> = asking
            .ranked(question, question.conversation, false)?
            .into_iter()
            .take(10)
            .filter_map(|(conversation, place)| (conversation == question.conversation).then_some(place))
            .collect();
        let split = if FITTED.contains(&conversation.id.as_str()) { "fitted" } else { "held out" };
        for name in ["all", split, CATEGORIES[question.category]] {
            let tally = tallies.entry(name.to_owned()).or_default();
            tally.questions += 1.0;
            tally_question(tally, question, conversation, &order);
            let share = |hits: &[usize]| {
                let found = question.evidence.iter().filter(|place| hits.iter().take(10).any(|hit| hit == *place));
                found.count() as f64 / question.evidence.len() as f64
            };
            tally.add("turn R@10 above the floor".into(), share(&above_floor));
            tally.add("turn R@10 among all conversations".into(), share(&among_all));
            tally.add("gate retrieves".into(), f64::from(u8::from(gate_retrieves(&index, conversation, question))));
            tally.add("nothing found elsewhere".into(), f64::from(u8::from(noise.is_empty())));
            tally.add("hits elsewhere (mean x 100, of 12)".into(), noise.len().min(12) as f64);
        }
    }
    Ok(tallies.iter().map(|(name, tally)| (name.clone(), tally.percent())).collect::<serde_json::Map<_, _>>().into())
}

/// What the gate says to the question when the recent window is the conversation's last 20 turns.
fn gate_retrieves(index: &MessageIndex, conversation: &Conversation, question: &Question) -> bool {
    let first = conversation.turns.len().saturating_sub(20);
    let seqs = first as u32 + 1..=conversation.turns.len() as u32;
    let recent: Vec<u32> = seqs.filter_map(|seq| index.find(question.conversation as u32, seq)).collect();
    let admits = |number: u32, seq: u32| number == question.conversation as u32 && seq as usize <= first;
    decide(&GateRequest {
        question: &question.text,
        choice: RetrievalChoice::Auto,
        recent: &recent,
        admits: &admits,
        messages_outside: conversation.turns.len() - recent.len(),
        index,
    })
    .retrieve
}

fn tally_question(tally: &mut Tally, question: &Question, conversation: &Conversation, order: &[usize]) {
    let session = |place: usize| conversation.turns[place].session as usize;
    let mut sessions: Vec<usize> = Vec::new();
    for place in order {
        if !sessions.contains(&session(*place)) {
            sessions.push(session(*place));
        }
    }
    let wanted_sessions: BTreeSet<usize> = question.evidence.iter().map(|place| session(*place)).collect();
    for cut in CUTS {
        let top = &order[..cut.min(order.len())];
        let near = |hit: usize, place: usize| hit.abs_diff(place) <= 2 && session(hit) == session(place);
        let turns = question.evidence.iter().filter(|place| top.contains(place)).count();
        let groups = question.evidence.iter().filter(|place| top.iter().any(|hit| near(*hit, **place))).count();
        let top_sessions = &sessions[..cut.min(sessions.len())];
        let in_sessions = wanted_sessions.iter().filter(|wanted| top_sessions.contains(wanted)).count();
        let units = [
            ("turn", turns, question.evidence.len()),
            ("group", groups, question.evidence.len()),
            ("session", in_sessions, wanted_sessions.len()),
        ];
        for (unit, found, wanted) in units {
            tally.add(format!("{unit} R@{cut}"), found as f64 / wanted as f64);
            tally.add(format!("{unit} any@{cut}"), f64::from(u8::from(found > 0)));
            tally.add(format!("{unit} all@{cut}"), f64::from(u8::from(found == wanted)));
        }
    }
    for budget in [1_000, 3_000] {
        for radius in [0, 2] {
            let block = block(conversation, order, radius, budget);
            let share = question.evidence.intersection(&block).count() as f64 / question.evidence.len() as f64;
            tally.add(format!("block {budget} tokens, groups of +-{radius}"), share);
        }
    }
}

/// Turns that are in a block of this many tokens, filled with hits and their neighbours, best first.
fn block(conversation: &Conversation, order: &[usize], radius: usize, budget: u64) -> BTreeSet<usize> {
    let mut block = BTreeSet::new();
    let mut left = budget;
    for hit in order {
        let session = conversation.turns[*hit].session;
        let range = hit.saturating_sub(radius)..=(hit + radius).min(conversation.turns.len() - 1);
        let fresh: Vec<usize> =
            range.filter(|place| conversation.turns[*place].session == session && !block.contains(place)).collect();
        let tokens: u64 = fresh.iter().map(|place| conversation.turns[*place].tokens).sum();
        if tokens <= left {
            left -= tokens;
            block.extend(fresh);
        }
    }
    block
}

fn cranfield(data: &Path) -> Result<Vec<Value>, Failure> {
    let root: Value = serde_json::from_str(&std::fs::read_to_string(data.join("cranfield/cranfield.json"))?)?;
    let documents = read_f16(&data.join("cranfield/docs.minilm384.f16"))?;
    let queries = read_f16(&data.join("cranfield/queries.minilm384.f16"))?;
    let mut index = MessageIndex::new(Analyzer::default(), Some(vector_index(MINILM_DIMENSIONS)));
    let mut ids = Vec::new();
    for ((document, vector), number) in
        list(&root["docs"]).iter().zip(documents.chunks_exact(MINILM_DIMENSIONS)).zip(0_u32..)
    {
        ids.push(whole(&document["id"]));
        let added = index.add(&Document {
            conversation: number,
            seq: 1,
            role: Role::User,
            speaker: None,
            created_at_ms: 0.0,
            text: text(&document["t"]),
        });
        if let Some(added) = added {
            index.set_vector(added, vector)?;
        }
    }
    let mut runs = Vec::new();
    for is_hybrid in [false, true] {
        let mut sum = 0.0;
        for (query, vector) in list(&root["queries"]).iter().zip(queries.chunks_exact(MINILM_DIMENSIONS)) {
            let relevant: BTreeSet<u64> =
                list(&query["rel"]).iter().filter_map(|pair| pair.get(0).and_then(Value::as_u64)).collect();
            let result = index.search(&SearchRequest {
                text: text(&query["q"]),
                vector: Some(vector).filter(|_| is_hybrid),
                conversation: None,
                current_conversation: None,
                filter: MessageFilter::default(),
                admits: None,
                top_k: 10,
                min_score: 0.0,
                now_ms: 0.0,
                policy: &RetrievalPolicy::default(),
            })?;
            let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
            let hits = result.hits.iter().enumerate();
            let found: f64 = hits
                .filter(|(_, hit)| relevant.contains(&ids[hit.conversation as usize]))
                .map(|(rank, _)| gain(rank))
                .sum();
            sum += found / (0..relevant.len().min(10)).map(gain).sum::<f64>().max(1e-9);
        }
        let percent = (1_000.0 * sum / list(&root["queries"]).len() as f64).round() / 10.0;
        let name = if is_hybrid { "minilm" } else { "lexical" };
        runs.push(json!({ "data": "cranfield", "run": name, "results": { "all": { "nDCG@10": percent } } }));
    }
    Ok(runs)
}

fn print_run(run: &Value) {
    println!("\n{} / {}", text(&run["data"]), text(&run["run"]));
    let Some(results) = run["results"].as_object() else { return };
    let names: Vec<&String> = results.keys().collect();
    println!("{:40}{}", "", names.iter().map(|name| format!("{name:>13}")).collect::<String>());
    let rows = results.values().next().and_then(Value::as_object);
    for row in rows.into_iter().flat_map(serde_json::Map::keys) {
        let cells: String = names.iter().map(|name| format!("{:>13}", results[*name][row].to_string())).collect();
        println!("{row:40}{cells}");
    }
}
