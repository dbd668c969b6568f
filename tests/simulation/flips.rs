//! R8: one bit on the disk changes. What it says then is not believed: answers are those of the whole store, at once or as
//! soon as what was damaged is made again; of a message, what cannot be mended is told. `SIMULATION_FLIPS` says how many bits (100 by
//! default in each test), `SIMULATION_FIRST` where they begin.

use super::host::kept::Kept;
use super::host::{ScriptedModel, World, append, ask, conversation, message, message_with_id};
use super::number;
use super::random::Random;
use super::running::{finish, recall};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use throughline::engine::{Engine, EpisodeFilter};
use throughline::error::{Code, Result};
use throughline::key;
use throughline::ports::{Commit, Key, Query, Record, Storage, Store};
use throughline::store::memory::MemoryStore;

/// Enough for segments, and some messages behind them.
const SEALED: usize = 560;
const MORE: usize = 30;
const DERIVED: [Store; 5] = [Store::Embeddings, Store::Segments, Store::SegmentChunks, Store::Jobs, Store::Meta];
const QUERIES: [&str; 4] =
    ["which port has the harbour?", "item41 in the garden", "the piano of item575", "lamp review"];
const WORDS: [&str; 12] = [
    "port", "harbour", "garden", "tomato", "train", "ticket", "piano", "concert", "lamp", "review", "parser", "kitchen",
];

fn text(number: usize) -> String {
    let word = |step: usize| WORDS[(number * 7 + step * step * 5 + number / 11) % WORDS.len()];
    format!("{} {} about the {} and item{number}", word(1), word(2), word(3))
}

fn world(store: &MemoryStore) -> World {
    let store = store.clone();
    World { storage: Rc::new(move || Rc::new(Kept::on(&store))), ..World::default() }.with_embedder()
}

async fn say(engine: &Engine, id: &str, range: std::ops::Range<usize>) {
    let role = |number: usize| if number.is_multiple_of(2) { "user" } else { "assistant" };
    let messages = range.map(|number| message(role(number), &text(number))).collect();
    engine.append(append(id, messages)).await.expect("appends");
    engine.settled().await.expect("works");
}

/// A store with sealed segments, vectors that are in none, and jobs.
async fn filled() -> MemoryStore {
    let store = MemoryStore::new();
    let engine = world(&store).open().await;
    for id in ["a", "b"] {
        conversation(&engine, id).await;
    }
    say(&engine, "a", 0..SEALED * 2 / 3).await;
    say(&engine, "b", SEALED * 2 / 3..SEALED).await;
    say(&engine, "b", SEALED..SEALED + MORE).await;
    engine.close();
    store
}

fn records(store: &MemoryStore, of: Store) -> Vec<(Key, Record)> {
    finish(store.scan(Query::prefix(of, key![]))).expect("ends").expect("reads")
}

/// A copy in which one bit of one of these stores is another, and where that is.
fn flipped(store: &MemoryStore, targets: &[Store], random: &mut Random) -> (MemoryStore, String) {
    let target = *random.pick(targets).expect("there are some");
    let mut puts = all_records(store);
    let of_target: Vec<usize> = (0..puts.len()).filter(|at| puts[*at].0 == target).collect();
    let at = *random.pick(&of_target).expect("every derived store has records");
    let (_, key, record) = &mut puts[at];
    let in_blob = record.blob.is_some() && random.happens(700);
    let (byte, place) = match &mut record.blob {
        Some(blob) if in_blob => {
            let byte = random.below(blob.len());
            blob[byte] ^= 1 << random.below(8);
            (byte, "bytes")
        }
        _ => {
            // Bodies are ASCII here, and stay text.
            let mut body = std::mem::take(&mut record.body).into_bytes();
            let byte = random.below(body.len());
            body[byte] ^= 1 << random.below(7);
            record.body = String::from_utf8(body).expect("is ASCII");
            (byte, "body")
        }
    };
    let place = format!("{} {key:?}, {place}, {byte}: {}", target.name(), record.body);
    (store_of(puts), place)
}

fn all_records(store: &MemoryStore) -> Vec<(Store, Key, Record)> {
    let of = |of: Store| records(store, of).into_iter().map(move |(key, record)| (of, key, record));
    Store::ALL.into_iter().flat_map(of).collect()
}

fn store_of(puts: Vec<(Store, Key, Record)>) -> MemoryStore {
    let store = MemoryStore::new();
    finish(store.commit(Commit { puts, ..Commit::default() })).expect("ends").expect("writes");
    store
}

/// What is answered: of each query the hits that are better than the last, and what a model is sent.
async fn answers(engine: &Engine) -> Result<Vec<Vec<String>>> {
    let mut answers = Vec::new();
    for query in QUERIES {
        let groups = engine.recall(recall(query, None)).await?;
        let hits: Vec<_> = groups.iter().flat_map(|group| group.hits.iter().map(move |hit| (group, hit))).collect();
        let lowest = hits.iter().map(|(_, hit)| hit.score).fold(1.0, f64::min);
        let better = hits.iter().filter(|(_, hit)| hit.score > lowest);
        let mut told: Vec<String> =
            better.map(|(group, hit)| format!("{} {} {}", group.conversation_id, hit.seq, hit.score)).collect();
        told.sort();
        answers.push(told);
    }
    for id in ["a", "b"] {
        answers.push(engine.history(id, None, None, None).await?);
        answers.push(engine.build_context(ask(id, QUERIES[0])).await?.messages);
    }
    Ok(answers)
}

/// Opens the store, works until all is done, and answers.
async fn settled_answers(store: &MemoryStore) -> Result<Vec<Vec<String>>> {
    let engine = world(store).try_open().await?;
    // Whatever is answered before: words that were never said it cannot have.
    answers(&engine).await?;
    engine.settled().await?;
    let found = answers(&engine).await;
    engine.close();
    found
}

#[test]
fn a_changed_bit_of_what_was_derived_gives_no_wrong_answer() {
    let store = finish(Box::pin(filled())).expect("ends");
    assert!(DERIVED.iter().all(|of| !records(&store, *of).is_empty()));
    let expected = finish(Box::pin(settled_answers(&store))).expect("ends").expect("answers");
    assert!(expected.iter().all(|answer| !answer.is_empty()));
    let (mut told, mut wrong) = (0, Vec::new());
    for flip in 0..number("SIMULATION_FLIPS", 100) {
        let (copy, place) = flipped(&store, &DERIVED, &mut Random::part(number("SIMULATION_FIRST", 1), flip));
        match finish(Box::pin(settled_answers(&copy))).expect("ends") {
            Ok(found) => {
                let differs = found.iter().zip(&expected).find(|(found, expected)| found != expected);
                wrong.extend(differs.map(|(found, expected)| {
                    format!("flip {flip}, {place}\n  answers  {found:?}\n  expected {expected:?}")
                }));
            }
            Err(error) if error.code.as_str().starts_with("storage") || error.code == Code::SchemaTooNew => told += 1,
            Err(error) => wrong.push(format!("flip {flip}, {place}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} wrong answers\n{}", wrong.len(), wrong.join("\n"));
    assert!(told * 5 < number("SIMULATION_FLIPS", 100), "most of it is no reason to refuse the store");
}

#[test]
fn a_changed_bit_of_a_message_is_mended_or_told() {
    let store = finish(Box::pin(filled())).expect("ends");
    let expected = finish(Box::pin(settled_answers(&store))).expect("ends").expect("answers");
    let (mut mended, mut told, mut wrong) = (0, 0, Vec::new());
    for flip in 0..number("SIMULATION_FLIPS", 100) {
        let random = &mut Random::part(number("SIMULATION_FIRST", 1), flip);
        let (copy, place) = flipped(&store, &[Store::Messages], random);
        let looked = Box::pin(async {
            let engine = world(&copy).try_open().await?;
            let found = answers(&engine).await;
            let damage = engine.damage();
            engine.close();
            Ok::<_, throughline::error::Error>((found?, damage))
        });
        match finish(looked).expect("ends").expect("a message is no reason to refuse the store") {
            (_, Some(_)) => told += 1,
            (found, None) if found == expected => mended += 1,
            (found, None) => wrong.push(format!("flip {flip}, {place}\n  answers {found:?}")),
        }
    }
    assert!(wrong.is_empty(), "{} wrong answers of {mended} mended, {told} told\n{}", wrong.len(), wrong.join("\n"));
    assert!(mended > 0 && told > 0, "{mended} mended, {told} told");
}

/// What is made of ids: where messages that come again are, where one that follows another goes, what is refused.
async fn placed_by_ids(engine: &Engine, count: usize) -> Result<Vec<String>> {
    let again = |number: usize| message_with_id(&format!("m{number}"), "user", &text(number));
    let appended = engine.append(append("a", (0..count).map(again).collect())).await?;
    let mut told: Vec<String> = appended.iter().map(|one| format!("{} {}", one.id, one.seq)).collect();
    let other = engine.append(append("a", vec![message_with_id("m3", "user", "another text")])).await;
    told.push(other.map_or_else(|error| error.code.as_str().to_owned(), |_| "appended".into()));
    let mut behind = append("a", vec![message("assistant", "follows")]);
    behind.parent_id = Some(Some("m4".into()));
    engine.append(behind).await?;
    told.extend(engine.history("a", None, None, None).await?);
    Ok(told)
}

#[test]
fn a_changed_bit_of_a_message_id_leads_to_no_other_message() {
    const MESSAGES: usize = 8;
    let store = MemoryStore::new();
    let placed = |store: &MemoryStore, opens_first: bool| {
        finish(Box::pin(async {
            let engine = world(store).open().await;
            if opens_first {
                conversation(&engine, "a").await;
            }
            let placed = placed_by_ids(&engine, MESSAGES).await;
            engine.close();
            placed
        }))
        .expect("ends")
    };
    placed(&store, true).expect("appends");
    let expected = placed(&store_of(all_records(&store)), false).expect("appends");
    for flip in 0..number("SIMULATION_FLIPS", 100) {
        let random = &mut Random::part(number("SIMULATION_FIRST", 1), flip);
        let (copy, place) = flipped(&store, &[Store::MessageIds], random);
        assert_eq!(placed(&copy, false).expect("appends"), expected, "flip {flip}, {place}");
    }
}

/// What summaries are made of is remembered: `said` has every item that the model ever answered.
type Said = Rc<RefCell<BTreeSet<String>>>;

/// Summaries of some length, topics, and an episode of each session.
fn summarising(store: &MemoryStore, said: &Said) -> World {
    let said = Rc::clone(said);
    let model = ScriptedModel::answering(move |_| {
        let number = said.borrow().len();
        // Words of their own, so that chunks make several topics.
        let words: Vec<String> = (0..4).map(|word| format!("matter{}", number / 4 * 4 + word)).collect();
        let item = format!("Note {number} speaks of {}", words.join(" and "));
        said.borrow_mut().insert(item.clone());
        Some(serde_json::json!({ "goal": [], "confirmed": [item] }).to_string())
    });
    let mut world = World { embedder: None, ..world(store) }.with_model(model);
    world.policy.compaction.high_water_tokens = 300;
    world.policy.budget.recent_tokens = 100;
    world.policy.facts.extract = false;
    world
}

/// What is shown of the summaries of a conversation: every item, the ranges of its chunks, and of how many episodes.
#[derive(Debug)]
struct Shown {
    items: Vec<String>,
    covered: Vec<[u32; 2]>,
    until: u32,
    episodes: usize,
}

async fn shown(engine: &Engine) -> Result<Shown> {
    let summary = engine.summary("a").await?;
    let episodes = engine.list_episodes(EpisodeFilter::default()).await?;
    let nodes = summary.tree.iter().map(|node| &node.sections);
    let sections = nodes.chain([&summary.sections]).chain(episodes.iter().map(|episode| &episode.sections)).flatten();
    Ok(Shown {
        items: sections.flat_map(|section| section.items.clone()).collect(),
        covered: summary.tree.iter().filter(|node| node.level == "chunk").filter_map(|node| node.range).collect(),
        until: summary.summarized_until_seq,
        episodes: episodes.len(),
    })
}

/// What is wrong with it, if anything.
fn fault(shown: &Shown, said: &Said, whole: Option<&Shown>) -> Option<String> {
    if let Some(item) = shown.items.iter().find(|item| !said.borrow().contains(*item)) {
        return Some(format!("says {item:?}, which nobody said"));
    }
    let whole = whole?;
    let begins = shown.covered.iter().map(|[first, _]| *first);
    let ends = shown.covered.iter().map(|[_, last]| last + 1);
    let is_whole = begins.eq([1].into_iter().chain(ends).take(shown.covered.len()));
    let until = shown.covered.last().map(|[_, last]| *last);
    (!is_whole || until != Some(whole.until) || shown.until != whole.until || shown.episodes != whole.episodes)
        .then(|| format!("covers {:?} until {} with {} episodes", shown.covered, shown.until, shown.episodes))
}

#[test]
fn a_changed_bit_of_a_summary_is_noticed_and_the_summary_made_again() {
    const TARGETS: [Store; 4] = [Store::Summaries, Store::SummaryHeads, Store::Episodes, Store::Jobs];
    let (store, said) = (MemoryStore::new(), Said::default());
    let filled = Box::pin(async {
        let world = summarising(&store, &said);
        let engine = world.open().await;
        conversation(&engine, "a").await;
        for part in 0..3 {
            for start in (part * 80..part * 80 + 80).step_by(10) {
                say(&engine, "a", start..start + 10).await;
            }
            world.clock.advance(86_400_000.0);
            engine.settled().await.expect("works");
        }
        let shown = shown(&engine).await.expect("answers");
        engine.close();
        shown
    });
    let whole = finish(filled).expect("ends");
    assert!(TARGETS.iter().all(|of| !records(&store, *of).is_empty()));
    let problem = fault(&whole, &said, Some(&whole));
    assert!(problem.is_none() && whole.covered.len() > 6 && whole.episodes == 3, "{problem:?} {whole:?}");
    let mut wrong = Vec::new();
    for flip in 0..number("SIMULATION_FLIPS", 100) {
        let (copy, place) = flipped(&store, &TARGETS, &mut Random::part(number("SIMULATION_FIRST", 1), flip));
        let looked = Box::pin(async {
            let world = summarising(&copy, &said);
            world.clock.advance(3.0 * 86_400_000.0);
            let engine = world.try_open().await?;
            let at_once = shown(&engine).await?;
            engine.settled().await?;
            let later = shown(&engine).await?;
            engine.close();
            Ok::<_, throughline::error::Error>(fault(&at_once, &said, None).or(fault(&later, &said, Some(&whole))))
        });
        match finish(looked).expect("ends") {
            Ok(fault) => wrong.extend(fault.map(|fault| format!("flip {flip}, {place}: {fault}"))),
            Err(error) => wrong.push(format!("flip {flip}, {place}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} wrong summaries\n{}", wrong.len(), wrong.join("\n"));
}
