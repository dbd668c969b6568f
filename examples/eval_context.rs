//! What a user feels: how much of a question's evidence stands in the context that `build_context` makes.
//!
//! `cargo run --release --features tiktoken --example eval_context -- --data DIR [--skipped] [--json]`
//!
//! Each LoCoMo conversation is appended to an engine of its own over a simulated host, message by message with its
//! speaker and time. Every question is then asked with just so much window that, beside the recent messages and the
//! question itself, 1,000 or 3,000 tokens are left for retrieved history, markers included. A turn of the evidence counts
//! where its whole text stands in the messages. With MiniLM vectors, and by words alone.
//!
//! Beside the share it prints where the rest went: skipped by the gate, below the floor, without room, shown in part, or
//! not among the hits and their neighbours at all.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

#[path = "eval/data.rs"]
mod data;
#[path = "../tests/host/mod.rs"]
mod host;

use data::{CATEGORIES, MINILM_DIMENSIONS, text};
use futures_executor::block_on;
use futures_util::future::FutureExt;
use host::{LocalLocks, ManualClock, append, ask, conversation};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use throughline::config::Policy;
use throughline::context::Context;
use throughline::engine::{ContextRequest, Engine, Host, Options};
use throughline::ports::{Embedder, Pending};
use throughline::retrieval::RetrievalChoice;
use throughline::store::memory::MemoryStore;

type Failure = Box<dyn std::error::Error>;

const ROOMS: [u32; 2] = [1_000, 3_000];
/// Without the feature `tiktoken` tokens are estimated.
const TOKENIZER: &str = if cfg!(feature = "tiktoken") { "o200k_base" } else { "estimate" };
/// Messages of the recent window: the end of the conversation, which no question is about more than another.
const RECENT_MESSAGES: u32 = 6;

/// Vectors made before, found by their text.
struct KnownVectors(HashMap<String, Vec<f32>>);

impl Embedder for KnownVectors {
    fn id(&self) -> &str {
        "minilm"
    }

    fn dimensions(&self) -> usize {
        MINILM_DIMENSIONS
    }

    fn max_batch_size(&self) -> usize {
        512
    }

    fn max_input_tokens(&self) -> usize {
        usize::MAX
    }

    fn embed<'a>(&'a self, texts: Vec<String>) -> Pending<'a, Vec<Vec<f32>>> {
        let vector = |text: &String| self.0.get(text).cloned().unwrap_or_else(|| vec![0.01; MINILM_DIMENSIONS]);
        std::future::ready(Ok(texts.iter().map(vector).collect())).boxed_local()
    }
}

struct Conversation {
    id: String,
    /// Text and JSON of each turn.
    turns: Vec<(String, String)>,
    /// Text, category and places of the evidence of each question.
    questions: Vec<(String, usize, BTreeSet<usize>)>,
    vectors: HashMap<String, Vec<f32>>,
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
    let mut as_json = false;
    let mut names_skipped = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--data" => data = arguments.next().map(PathBuf::from),
            "--json" => as_json = true,
            "--skipped" => names_skipped = true,
            other => return Err(format!("{other} is no option; give --data DIR, --skipped or --json").into()),
        }
    }
    let data = data.filter(|data| data.join("locomo/conversations.json").is_file());
    let data = data.ok_or("Pass --data DIR, the folder that holds locomo/conversations.json.")?;
    let conversations = read(&data)?;
    let mut report = serde_json::Map::new();
    for has_vectors in [false, true] {
        let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
        for one in &conversations {
            block_on(measure(one, has_vectors, names_skipped, &mut tallies))?;
        }
        let name = if has_vectors { "with MiniLM vectors" } else { "words only" };
        report.insert(name.into(), tallies.iter().map(|(name, tally)| (name.clone(), tally.means())).collect());
    }
    if as_json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        report.iter().for_each(|(name, tallies)| print(name, tallies));
    }
    Ok(())
}

fn read(data: &Path) -> Result<Vec<Conversation>, Failure> {
    let locomo = data::read_locomo(data)?;
    let rows = data::read_minilm(data)?;
    let mut conversations = Vec::new();
    for (found, number) in locomo.conversations.into_iter().zip(0..) {
        let mut vectors = HashMap::new();
        let mut turns = Vec::new();
        for (turn, place) in found.turns.into_iter().zip(0_usize..) {
            let role = if turn.is_first { "user" } else { "assistant" };
            let message = json!({ "id": format!("m{}", place + 1), "role": role, "name": turn.speaker, "content": turn.text, "createdAt": turn.time_ms });
            vectors.extend(rows.turn(found.turn_row + place).map(|vector| (turn.text.clone(), vector.to_vec())));
            turns.push((turn.text, message.to_string()));
        }
        let mut questions = Vec::new();
        for question in locomo.questions.iter().filter(|question| question.conversation == number) {
            vectors.extend(rows.question(question.row).map(|vector| (question.text.clone(), vector.to_vec())));
            questions.push((question.text.clone(), question.category, question.evidence.clone()));
        }
        conversations.push(Conversation { id: found.id, turns, questions, vectors });
    }
    Ok(conversations)
}

async fn open(one: &Conversation, has_vectors: bool) -> Result<Engine, Failure> {
    let embedder: Option<Rc<dyn Embedder>> =
        if has_vectors { Some(Rc::new(KnownVectors(one.vectors.clone()))) } else { None };
    let mut policy = Policy::default();
    policy.recent.max_messages = Some(RECENT_MESSAGES);
    policy.compaction.automatic = false;
    // The window alone limits it: a question for an exact detail doubles this.
    policy.budget.retrieved_tokens = 3_000;
    // Nor may the window move the recent messages: they have most of what is divided.
    policy.budget.recent_tokens = 50_000;
    (policy.budget.memory_tokens, policy.budget.summary_tokens) = (0, 0);
    let host = Host {
        storage: Rc::new(MemoryStore::default()),
        embedder,
        model: None,
        clock: Rc::new(ManualClock::at(1_704_067_200_000.0)),
        locks: Rc::new(LocalLocks::default()),
        on_event: Rc::new(|_| {}),
        normalize: |text| unicode_normalization::UnicodeNormalization::nfkc(text).collect(),
    };
    let options = Options { user_id: "alex".into(), tokenizer: TOKENIZER.into(), policy };
    let engine = Engine::open(host, options).await?;
    #[cfg(feature = "tiktoken")]
    engine.set_counter(Rc::new(throughline::tokens::TiktokenCounter::new(throughline::tokens::Encoding::O200kBase)));
    conversation(&engine, &one.id).await;
    for turns in one.turns.chunks(200) {
        engine.append(append(&one.id, turns.iter().map(|turn| turn.1.clone()).collect())).await?;
    }
    engine.settled().await?;
    Ok(engine)
}

/// Sums over questions.
#[derive(Default)]
struct Tally {
    questions: f64,
    sums: BTreeMap<String, f64>,
}

impl Tally {
    fn add(&mut self, name: String, value: f64) {
        *self.sums.entry(name).or_default() += value;
    }

    fn means(&self) -> Value {
        let rounded = |sum: &f64| json!((1_000.0 * sum / self.questions.max(1.0)).round() / 10.0);
        let mut means: serde_json::Map<String, Value> =
            self.sums.iter().map(|(name, sum)| (name.clone(), rounded(sum))).collect();
        means.insert("questions".into(), json!(self.questions));
        Value::Object(means)
    }
}

async fn measure(
    one: &Conversation,
    has_vectors: bool,
    names_skipped: bool,
    tallies: &mut BTreeMap<String, Tally>,
) -> Result<(), Failure> {
    let engine = open(one, has_vectors).await?;
    for (question, category, evidence) in &one.questions {
        let request = |window: u32, retrieval: RetrievalChoice| ContextRequest {
            window: Some(f64::from(window)),
            reserve: Some(0.0),
            retrieval,
            ..ask(&one.id, question)
        };
        let mut figures: Vec<(String, f64)> = Vec::new();
        for room in ROOMS {
            let bare = engine.build_context(request(20_000, RetrievalChoice::Never)).await?.tokens;
            for (mode, choice) in [("", RetrievalChoice::Auto), (", always", RetrievalChoice::Always)] {
                let context = engine.build_context(request(bare + room, choice)).await?;
                if context.tokens > bare + room {
                    return Err(format!("{} tokens in a window of {}", context.tokens, bare + room).into());
                }
                let share =
                    |places: &BTreeSet<usize>| evidence.intersection(places).count() as f64 / evidence.len() as f64;
                let present = present(one, &context);
                figures.push((format!("evidence in {room} tokens{mode}"), share(&present)));
                if choice == RetrievalChoice::Auto {
                    let reached = Reached::new(&context);
                    figures.push((
                        format!("all of it in {room} tokens"),
                        f64::from(u8::from(evidence.is_subset(&present))),
                    ));
                    let retrieval = &context.receipt.retrieval;
                    let missing: BTreeSet<usize> = evidence.difference(&present).copied().collect();
                    let missed =
                        |places: &BTreeSet<usize>| missing.intersection(places).count() as f64 / evidence.len() as f64;
                    // Where each missing turn went: each is in one of these.
                    let is_skipped = retrieval.decision == "skip";
                    let skipped = if is_skipped { share(&missing) } else { 0.0 };
                    let (floor, no_room, in_part) =
                        (missed(&reached.below_floor), missed(&reached.no_room), missed(&reached.shown));
                    let rest = if is_skipped { 0.0 } else { share(&missing) - floor - no_room - in_part };
                    for (fate, lost) in [
                        ("skipped", skipped),
                        ("below the floor", floor),
                        ("without room", no_room),
                        ("in part", in_part),
                        ("not found", rest),
                    ] {
                        figures.push((format!("lost of {room}: {fate}"), lost));
                    }
                    figures.push((
                        format!("tokens used of {room}, / 10"),
                        (f64::from(context.tokens) - f64::from(bare)) / 1_000.0,
                    ));
                    if names_skipped && retrieval.decision == "skip" {
                        eprintln!("{:?} {question}", retrieval.reasons);
                    }
                    let has = |reason: &str| f64::from(u8::from(retrieval.reasons.iter().any(|one| one == reason)));
                    figures.push((format!("gate skips, {room}"), f64::from(u8::from(retrieval.decision == "skip"))));
                    for reason in [
                        "answered_by_recent",
                        "general_knowledge",
                        "self_contained",
                        "about_last_answer",
                        "nothing_found",
                    ] {
                        figures.push((format!("{reason}, {room}"), has(reason)));
                    }
                }
            }
        }
        for name in ["all", CATEGORIES[*category], one.id.as_str()] {
            let tally = tallies.entry(name.to_owned()).or_default();
            tally.questions += 1.0;
            figures.iter().for_each(|(name, value)| tally.add(name.clone(), *value));
        }
    }
    Ok(())
}

/// Turns whose whole text stands in the messages: by the receipt, and checked against the text.
fn present(one: &Conversation, context: &Context) -> BTreeSet<usize> {
    let sent: String = context
        .messages
        .iter()
        .filter_map(|message| serde_json::from_str::<Value>(message).ok())
        .map(|message| format!("{}\n", text(&message["content"])))
        .collect();
    let items = context.receipt.sections.iter().filter(|section| matches!(section.name, "recent" | "retrieved"));
    let ranges = items.flat_map(|section| &section.items).filter_map(|item| item.range.as_ref());
    let places = ranges.flat_map(|range| range.from as usize - 1..range.to as usize);
    places.filter(|place| one.turns.get(*place).is_some_and(|turn| sent.contains(&turn.0))).collect()
}

/// What became of turns that were found.
struct Reached {
    below_floor: BTreeSet<usize>,
    no_room: BTreeSet<usize>,
    /// These are there, but perhaps not whole.
    shown: BTreeSet<usize>,
}

impl Reached {
    fn new(context: &Context) -> Self {
        let dropped = |reason: &str| {
            let retrieved = context.receipt.sections.iter().filter(|section| section.name == "retrieved");
            let dropped = retrieved.flat_map(|section| &section.dropped).filter(|dropped| dropped.reason == reason);

            dropped
                .filter_map(|dropped| dropped.id.strip_prefix('m')?.parse::<usize>().ok())
                .map(|seq| seq - 1)
                .collect()
        };
        let shown = context.receipt.sections.iter().filter(|section| section.name == "retrieved");
        let shown = shown.flat_map(|section| &section.items).filter_map(|item| item.range.as_ref());
        let shown = shown.flat_map(|range| range.from as usize - 1..range.to as usize).collect();
        Self { below_floor: dropped("below_floor"), no_room: dropped("no_room"), shown }
    }
}

fn print(name: &str, tallies: &Value) {
    println!("\n{name}");
    let Some(tallies) = tallies.as_object() else { return };
    println!("{:34}{}", "", tallies.keys().map(|name| format!("{name:>13}")).collect::<String>());
    let rows = tallies.values().next().and_then(Value::as_object);
    for row in rows.into_iter().flat_map(serde_json::Map::keys) {
        let cells: String = tallies.values().map(|tally| format!("{:>13}", tally[row].to_string())).collect();
        println!("{row:34}{cells}");
    }
}
