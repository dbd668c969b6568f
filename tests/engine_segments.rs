//! Sealed segments of the search index: a reload answers the same, damage is repaired, what is erased is in no segment.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use futures_util::future::{FutureExt, join};
use host::{World, append, ask, conversation, handle_on, message};
use proptest::prelude::*;
use std::cell::Cell;
use std::rc::Rc;
use throughline::engine::{
    EditRequest, Engine, EraseRequest, LeafRequest, RecallRequest, RecalledGroup, RemoveRequest,
};
use throughline::error::{Code, Result};
use throughline::key;
use throughline::ports::Pending;
use throughline::store::faulty::{Fault, FaultyStore};
use throughline::store::memory::MemoryStore;
use throughline::store::{Commit, Key, Query, Record, Storage, StorageUsage, Store};

/// Records that outlive the engine, and how many messages and vectors were read of them.
#[derive(Clone)]
struct Disk {
    store: Rc<dyn Storage>,
    read: Rc<Cell<usize>>,
}

impl Default for Disk {
    fn default() -> Self {
        Self { store: handle_on(&MemoryStore::new()), read: Rc::default() }
    }
}

impl Storage for Disk {
    fn get<'a>(&'a self, keys: Vec<(Store, Key)>) -> Pending<'a, Vec<Option<Record>>> {
        self.store.get(keys)
    }

    fn scan<'a>(&'a self, query: Query) -> Pending<'a, Vec<(Key, Record)>> {
        let counts = matches!(query.store, Store::Messages | Store::Embeddings);
        let found = self.store.scan(query);
        Box::pin(async move {
            let found = found.await?;
            self.read.set(self.read.get() + if counts { found.len() } else { 0 });
            Ok(found)
        })
    }

    fn count<'a>(&'a self, store: Store, prefix: Key) -> Pending<'a, u64> {
        self.store.count(store, prefix)
    }

    fn commit<'a>(&'a self, commit: Commit) -> Pending<'a, bool> {
        self.store.commit(commit)
    }

    fn usage<'a>(&'a self) -> Pending<'a, StorageUsage> {
        self.store.usage()
    }

    fn destroy<'a>(&'a self) -> Pending<'a, ()> {
        self.store.destroy()
    }

    fn close(&self) {}

    fn is_durable(&self) -> bool {
        true
    }
}

/// What a store in memory answers at once.
fn now<T>(answer: Pending<'_, T>) -> Result<T> {
    answer.now_or_never().expect("is there at once")
}

impl Disk {
    fn world(&self) -> World {
        let disk = self.clone();
        World { storage: Rc::new(move || Rc::new(disk.clone())), ..World::default() }
    }

    fn records(&self, store: Store) -> Vec<(Key, Record)> {
        now(self.store.scan(Query::prefix(store, key![]))).unwrap()
    }

    fn write(&self, commit: Commit) {
        assert!(now(self.store.commit(commit)).unwrap());
    }

    /// The same records without segments, in a store that never has any.
    fn without_segments(&self) -> MemoryStore {
        let copy = MemoryStore::new();
        let kept = Store::ALL.into_iter().filter(|store| !matches!(store, Store::Segments | Store::SegmentChunks));
        let puts =
            kept.flat_map(|store| self.records(store).into_iter().map(move |(key, record)| (store, key, record)));
        assert!(now(copy.commit(Commit { puts: puts.collect(), ..Commit::default() })).unwrap());
        copy
    }

    /// Bytes of every chunk.
    fn chunks(&self) -> Vec<Vec<u8>> {
        self.records(Store::SegmentChunks).into_iter().filter_map(|(_, record)| record.blob).collect()
    }
}

const WORDS: [&str; 24] = [
    "port",
    "server",
    "database",
    "migration",
    "invoice",
    "garden",
    "tomato",
    "train",
    "Lisbon",
    "ticket",
    "budget",
    "kernel",
    "vector",
    "cache",
    "mirror",
    "piano",
    "concert",
    "deadline",
    "review",
    "branch",
    "parser",
    "token",
    "lamp",
    "kitchen",
];

/// A text of its own for each number, of words that others have too.
fn text(number: usize) -> String {
    let word = |step: usize| WORDS[(number * 7 + step * step * 5 + number / 11) % WORDS.len()];
    format!(
        "{} {} about the {} and item{number} {}",
        word(1),
        word(2),
        word(3),
        if number.is_multiple_of(3) { "?" } else { "." }
    )
}

fn texts(range: std::ops::Range<usize>) -> Vec<String> {
    let role = |number: usize| if number.is_multiple_of(2) { "user" } else { "assistant" };
    range.map(|number| message(role(number), &text(number))).collect()
}

/// Conversations a and b, of so many messages together.
async fn filled(engine: &Engine, count: usize) {
    conversation(engine, "a").await;
    conversation(engine, "b").await;
    engine.append(append("a", texts(0..count * 2 / 3))).await.unwrap();
    engine.append(append("b", texts(count * 2 / 3..count))).await.unwrap();
}

fn recall(query: &str) -> RecallRequest {
    RecallRequest {
        query: query.into(),
        conversation_id: None,
        top_k: Some(8.0),
        threshold: None,
        before: None,
        after: None,
        filter: Default::default(),
    }
}

const QUERIES: [&str; 6] = [
    "which port has the server?",
    "tomato garden",
    "the concert in Lisbon, item40",
    "item7 deadline review",
    "what did the assistant say about the kitchen?",
    "who wrote \"about the concert and item40\"",
];

async fn answers(engine: &Engine) -> Vec<Vec<RecalledGroup>> {
    let mut answers = Vec::new();
    for query in QUERIES {
        answers.push(engine.recall(recall(query)).await.unwrap());
    }
    answers
}

/// Query, conversation, position, and all figures of a hit.
type Found = (usize, String, u32, f64, throughline::retrieval::Scores);

fn found(answers: &[Vec<RecalledGroup>]) -> Vec<Found> {
    let groups = answers.iter().enumerate().flat_map(|(query, groups)| groups.iter().map(move |group| (query, group)));
    let hits = groups.flat_map(|(query, group)| {
        group.hits.iter().map(move |hit| (query, group.conversation_id.clone(), hit.seq, hit.score, hit.scores))
    });
    hits.collect()
}

/// Panics with the first difference of two lists of answers.
fn assert_same(left: &[Vec<RecalledGroup>], right: &[Vec<RecalledGroup>], when: &str) {
    assert_same_hits(left, right, when);
    assert!(left == right, "{when}");
}

/// The same hits with the same figures. Equals may come in another order, by the numbers that conversations have, and of
/// equals at the end of a list some may be left out.
fn assert_same_hits(left: &[Vec<RecalledGroup>], right: &[Vec<RecalledGroup>], when: &str) {
    let sorted = |answers: &[Vec<RecalledGroup>]| -> Vec<Found> {
        let mut hits = found(answers);
        let lowest = |query: usize| hits.iter().filter(|hit| hit.0 == query).map(|hit| hit.3).fold(1.0, f64::min);
        let lowest: Vec<f64> = (0..answers.len()).map(lowest).collect();
        hits.retain(|hit| hit.3 > lowest[hit.0]);
        hits.sort_by(|a, b| a.0.cmp(&b.0).then(b.3.total_cmp(&a.3)).then((&a.1, a.2).cmp(&(&b.1, b.2))));
        hits
    };
    let (left, right) = (sorted(left), sorted(right));
    for (one, other) in left.iter().zip(&right) {
        assert_eq!(one, other, "{when}");
    }
    assert_eq!(left.len(), right.len(), "{when}");
}

/// What an engine answers that reads every message of the disk.
async fn truth(disk: &Disk, world: &World) -> Vec<Vec<RecalledGroup>> {
    let copy = disk.without_segments();
    let plain =
        World { storage: Rc::new(move || Rc::new(copy.clone())), embedder: world.embedder.clone(), ..World::default() };
    answers(&plain.open().await).await
}

#[test]
fn a_reload_answers_the_same_and_reads_only_what_no_segment_has() {
    block_on(async {
        let disk = Disk::default();
        let world = disk.world().with_embedder();
        let engine = world.open().await;
        filled(&engine, 900).await;
        engine.settled().await.unwrap();
        let before = answers(&engine).await;
        assert!(before.iter().all(|groups| !groups.is_empty()));
        assert_eq!(disk.records(Store::Segments).len(), 2, "one of messages, one of vectors");
        engine.append(append("b", texts(900..950))).await.unwrap();
        engine.settled().await.unwrap();
        let grown = answers(&engine).await;
        engine.close();

        disk.read.set(0);
        let again = world.open().await;
        assert_same(&answers(&again).await, &grown, "after a reload");
        assert_eq!(disk.read.get(), 50 + 50, "messages and vectors that no segment has");
        assert_same(&truth(&disk, &world).await, &grown, "without segments");
        let context = again.build_context(ask("a", "which port has the server?")).await.unwrap();
        assert!(context.tokens > 0);
        let stats = again.stats().await.unwrap();
        assert_eq!((stats.segments.count, stats.segments.messages, stats.segments.vectors), (2, 900, 900));
        assert_eq!(stats.segments.bytes, disk.chunks().iter().map(|chunk| chunk.len() as u64).sum::<u64>());
    });
}

/// Row 38 of docs/reliability.md: 1,000 questions, by words and by vectors, before and after a reload.
#[test]
fn a_thousand_questions_are_answered_the_same_after_a_reload() {
    block_on(async {
        let disk = Disk::default();
        let world = disk.world().with_embedder();
        let engine = world.open().await;
        filled(&engine, 700).await;
        engine.settled().await.unwrap();
        let question = |number: usize| {
            let word = |step: usize| WORDS[(number * (step + 1) + number / 24 * step) % WORDS.len()];
            format!("{} {} {} item{}", word(0), word(1), word(2), number * 13 % 800)
        };
        let mut before = Vec::new();
        for number in 0..1_000 {
            before.push(engine.recall(recall(&question(number))).await.unwrap());
        }
        assert!(before.iter().filter(|groups| groups.len() > 1).count() > 900);
        engine.close();
        let again = world.open().await;
        for (number, before) in before.iter().enumerate() {
            let after = again.recall(recall(&question(number))).await.unwrap();
            let (before, after) = (found(std::slice::from_ref(before)), found(&[after]));
            let places = |hits: &[Found]| hits.iter().map(|hit| (hit.1.clone(), hit.2)).collect::<Vec<_>>();
            assert_eq!(places(&before), places(&after), "question {number}");
            assert!(before.iter().zip(&after).all(|(one, other)| (one.3 - other.3).abs() < 1e-6), "question {number}");
        }
        assert!(again.stats().await.unwrap().segments.messages >= 700, "they came from segments");
    });
}

/// Row 36: an index that has not the newest 500 messages catches up; one that has messages which are gone since (a shortened
/// store keeps its segments) gives none of them.
#[test]
fn an_index_that_is_500_behind_or_600_ahead_answers_as_the_messages_do() {
    block_on(async {
        let disk = Disk::default();
        let world = disk.world().with_embedder();
        let engine = world.open().await;
        filled(&engine, 600).await;
        engine.settled().await.unwrap();
        let shorter: Vec<_> = Store::ALL.into_iter().map(|store| (store, disk.records(store))).collect();
        engine.append(append("a", texts(600..1_100))).await.unwrap();
        // Not sealed: closed before any background work.
        engine.close();
        let sealed = disk.records(Store::Segments).len();
        let behind = world.open().await;
        let answered = answers(&behind).await;
        assert_same(&truth(&disk, &world).await, &answered, "500 behind");
        assert!(behind.recall(recall("item1090")).await.unwrap()[0].hits[0].seq > 400, "one of the newest is found");
        behind.append(append("a", texts(1_100..1_200))).await.unwrap();
        behind.settled().await.unwrap();
        assert!(disk.records(Store::Segments).len() > sealed, "the newest are sealed now");
        behind.close();

        let ahead = Disk::default();
        let kept = |store: Store| matches!(store, Store::Segments | Store::SegmentChunks);
        for (store, records) in shorter {
            let records = if kept(store) { disk.records(store) } else { records };
            let puts = records.into_iter().map(|(key, record)| (store, key, record)).collect();
            ahead.write(Commit { puts, ..Commit::default() });
        }
        let world = World { embedder: world.embedder.clone(), ..ahead.world() };
        let engine = world.open().await;
        assert_same(&truth(&ahead, &world).await, &answers(&engine).await, "600 ahead");
        let groups = engine.recall(recall("item1090")).await.unwrap();
        assert!(groups.iter().flat_map(|group| &group.hits).all(|hit| hit.seq <= 400), "nothing of what is gone");
    });
}

#[test]
fn one_more_message_writes_no_segment_and_many_are_merged_into_few() {
    block_on(async {
        let disk = Disk::default();
        let world = disk.world();
        let engine = world.open().await;
        filled(&engine, 600).await;
        engine.settled().await.unwrap();
        let sealed = disk.records(Store::Segments);
        engine.append(append("a", texts(600..601))).await.unwrap();
        engine.settled().await.unwrap();
        assert_eq!(disk.records(Store::Segments), sealed);
        for start in (601..6_000).step_by(540) {
            engine.append(append("a", texts(start..start + 540))).await.unwrap();
            engine.settled().await.unwrap();
        }
        let segments = disk.records(Store::Segments);
        assert!(segments.len() <= 6, "{} segments of 11 sealings", segments.len());
        assert!(disk.chunks().iter().all(|chunk| chunk.len() <= 1 << 20));
        let before = answers(&engine).await;
        disk.read.set(0);
        assert_same(&answers(&world.open().await).await, &before, "after a reload");
        assert!(disk.read.get() < 512);
    });
}

#[test]
fn a_small_conversation_is_read_alone_and_a_store_in_memory_has_no_segments() {
    block_on(async {
        let disk = Disk::default();
        let world = disk.world();
        let engine = world.open().await;
        filled(&engine, 900).await;
        conversation(&engine, "small").await;
        engine.append(append("small", texts(900..930))).await.unwrap();
        engine.settled().await.unwrap();
        let again = world.open().await;
        disk.read.set(0);
        let alone = RecallRequest { conversation_id: Some("small".into()), ..recall("item905") };
        let found = again.recall(alone).await.unwrap();
        assert_eq!(found[0].conversation_id, "small");
        assert_eq!(disk.read.get(), 30);
        // What was read alone is not taken from a segment again.
        assert_same(&answers(&again).await, &truth(&disk, &world).await, "after a reload");

        let fleeting = World::default();
        let engine = fleeting.open().await;
        filled(&engine, 900).await;
        engine.settled().await.unwrap();
        let segments = (fleeting.storage)().count(Store::Segments, key![]).await.unwrap();
        assert_eq!(segments, 0);
    });
}

type Damage = fn(&Disk);

/// What is done to the segments of a disk.
fn damages() -> Vec<(&'static str, Damage)> {
    fn change(disk: &Disk, store: Store, change: &dyn Fn(&mut Record)) {
        let mut records = disk.records(store);
        records.iter_mut().for_each(|(_, record)| change(record));
        let puts = records.into_iter().map(|(key, record)| (store, key, record)).collect();
        disk.write(Commit { puts, ..Commit::default() });
    }
    fn replace(disk: &Disk, from: &str, to: &str) {
        change(disk, Store::Segments, &|record| {
            assert!(record.body.contains(from), "{}", record.body);
            record.body = host::changed(&record.body, from, to);
        });
    }
    vec![
        ("a flipped bit", |disk| change(disk, Store::SegmentChunks, &|record| record.blob.as_mut().unwrap()[9] ^= 4)),
        ("a chunk without bytes", |disk| change(disk, Store::SegmentChunks, &|record| record.blob = None)),
        ("chunks that are missing", |disk| {
            disk.write(Commit { delete_prefixes: vec![(Store::SegmentChunks, key![])], ..Commit::default() });
        }),
        ("another layout", |disk| replace(disk, "\"layout\":1", "\"layout\":999")),
        ("no JSON", |disk| change(disk, Store::Segments, &|record| record.body = "{".into())),
        ("another analyzer", |disk| {
            change(disk, Store::Segments, &|record| {
                record.body = host::changed(&record.body, "analyzer/", "analyzer/x");
            });
        }),
        ("another embedder", |disk| {
            change(disk, Store::Segments, &|record| record.body = host::changed(&record.body, "words/64", "other/64"));
        }),
        ("runs that are longer than what is there", |disk| replace(disk, "\"lastSeq\":600", "\"lastSeq\":601")),
        ("runs of another life", |disk| replace(disk, "\"born\":", "\"born\":7")),
        ("counters that are gone", |disk| {
            disk.write(Commit { deletes: vec![(Store::Meta, key!["segments"])], ..Commit::default() });
        }),
        ("a summary that cannot be read", |disk| {
            let record = Record { body: "?".into(), blob: None };
            disk.write(Commit { puts: vec![(Store::SummaryHeads, key!["a"], record)], ..Commit::default() });
        }),
        ("counters that cannot be read", |disk| {
            let record = Record { body: "[]".into(), blob: None };
            disk.write(Commit { puts: vec![(Store::Meta, key!["segments"], record)], ..Commit::default() });
        }),
    ]
}

#[test]
fn whatever_is_damaged_or_foreign_is_read_from_the_messages_and_sealed_again() {
    for (name, damage) in damages() {
        block_on(async {
            let disk = Disk::default();
            let world = disk.world().with_embedder();
            let engine = world.open().await;
            filled(&engine, 900).await;
            engine.settled().await.unwrap();
            let before = answers(&engine).await;
            engine.close();
            damage(&disk);

            let again = world.open().await;
            assert_same(&answers(&again).await, &before, name);
            again.settled().await.unwrap();
            assert_same(&answers(&again).await, &before, name);
            assert!(world.events.borrow().iter().all(|event| event.name != "error"), "{name}");

            let third = world.open().await;
            disk.read.set(0);
            assert_same(&answers(&third).await, &before, name);
            assert_eq!(disk.read.get(), 0, "sealed again after {name}");
            assert_eq!(disk.records(Store::Segments).len(), 2, "{name}");
        });
    }
}

/// The bytes by which a message is in a segment: its id and the hash of its text in the table, terms in the postings.
fn holds(disk: &Disk, marker: &[u8]) -> bool {
    disk.chunks().iter().any(|chunk| chunk.windows(marker.len()).any(|bytes| bytes == marker))
}

#[test]
fn what_is_erased_is_in_no_segment_from_that_commit_on() {
    for whole in [true, false] {
        block_on(async {
            let disk = Disk::default();
            let world = disk.world().with_embedder();
            let engine = world.open().await;
            filled(&engine, 900).await;
            let secret = host::message_with_id("marked-message", "user", "the passphrase is xyzzyplugh");
            engine.append(append("b", vec![secret])).await.unwrap();
            engine.append(append("b", texts(900..1_500))).await.unwrap();
            engine.settled().await.unwrap();
            let analyzer = throughline::lexical::Analyzer::default();
            let mut hash = 0_u64;
            analyzer.terms("xyzzyplugh", throughline::lexical::Side::Document, &mut |term| hash = term.hash);
            assert!(holds(&disk, b"marked-message") && holds(&disk, &hash.to_le_bytes()), "the test sees its markers");
            let vectors = disk.records(Store::Embeddings).len();

            let message_id = (!whole).then(|| "marked-message".to_owned());
            let request = EraseRequest { conversation_id: Some("b".into()), message_id, ..EraseRequest::default() };
            let erased = engine.erase(request).await.unwrap();
            assert!(erased.erased.contains_key("segments"));
            assert!(!holds(&disk, b"marked-message") && !holds(&disk, &hash.to_le_bytes()));
            engine.settled().await.unwrap();
            assert!(!holds(&disk, b"marked-message") && !holds(&disk, &hash.to_le_bytes()));
            assert!(disk.records(Store::Embeddings).len() < vectors);
            let segments = disk.records(Store::Segments);
            assert!(segments.len() >= 2, "the others are sealed again");
            assert!(!whole || segments.iter().all(|(_, record)| !record.body.contains("\"b\"")));
            let again = world.open().await;
            assert_same(&answers(&again).await, &truth(&disk, &world).await, "after a reload");
            assert_same(&answers(&engine).await, &truth(&disk, &world).await, "after a reload");
            assert!(
                engine
                    .recall(recall("xyzzyplugh"))
                    .await
                    .unwrap()
                    .iter()
                    .all(|group| { group.messages.iter().all(|message| !message.contains("xyzzyplugh")) })
            );
        });
    }
}

#[test]
fn what_was_sealed_from_messages_that_were_erased_meanwhile_is_refused() {
    block_on(async {
        let disk = Disk::default();
        let world = disk.world();
        let engine = world.open().await;
        filled(&engine, 900).await;
        engine.append(append("b", vec![message("user", "the passphrase is xyzzyplugh")])).await.unwrap();
        engine.settled().await.unwrap();
        let sealed: Vec<_> = disk.records(Store::Segments);
        let chunks = disk.records(Store::SegmentChunks);
        let counters = disk.records(Store::Meta);
        let other = world.open().await;
        other.erase(EraseRequest { conversation_id: Some("b".into()), ..EraseRequest::default() }).await.unwrap();
        assert!(disk.records(Store::Segments).is_empty());
        // The commit that sealed them, as a tab would write it that had read the messages before.
        let (key, counters) = counters.into_iter().find(|(key, _)| *key == key!["segments"]).unwrap();
        let check = throughline::store::Check { store: Store::Meta, key, body: Some(counters.body) };
        let segments = sealed.into_iter().map(|(key, record)| (Store::Segments, key, record));
        let puts =
            segments.chain(chunks.into_iter().map(|(key, record)| (Store::SegmentChunks, key, record))).collect();
        assert!(!disk.store.commit(Commit { checks: vec![check], puts, ..Commit::default() }).await.unwrap());
        engine.settled().await.unwrap();
        assert_same(&answers(&engine).await, &truth(&disk, &world).await, "after a reload");
    });
}

#[test]
fn erasing_the_user_leaves_no_segment_and_numbers_are_not_used_again() {
    block_on(async {
        let disk = Disk::default();
        let world = disk.world();
        let engine = world.open().await;
        filled(&engine, 900).await;
        engine.settled().await.unwrap();
        let first = disk.records(Store::Segments)[0].0.clone();
        engine.erase(EraseRequest { user: true, ..EraseRequest::default() }).await.unwrap();
        assert!(disk.records(Store::Segments).is_empty() && disk.records(Store::SegmentChunks).is_empty());
        filled(&engine, 900).await;
        engine.settled().await.unwrap();
        assert!(disk.records(Store::Segments)[0].0 > first);
        assert_same(&answers(&world.open().await).await, &truth(&disk, &world).await, "after a reload");
    });
}

#[test]
fn a_crash_between_any_two_commits_loses_nothing() {
    block_on(async {
        // How many commits there are.
        let run = async |passed: Option<usize>| -> (Disk, usize) {
            let disk = Disk::default();
            let faulty = FaultyStore::new(disk.clone());
            let store = faulty.clone();
            let world = World { storage: Rc::new(move || Rc::new(store.clone())), ..World::default() };
            let engine = world.open().await;
            filled(&engine, 2_600).await;
            let before = faulty.commits().len();
            if let Some(passed) = passed {
                faulty.script_commits(std::iter::repeat_n(Fault::Pass, passed));
                faulty.fail_next_commits(1_000, Code::StorageUnavailable);
            }
            // It is told where not even the lease of the work can be written.
            let worked = engine.settled().await;
            assert!(worked.is_ok() || passed == Some(0), "{worked:?}");
            faulty.heal();
            for start in [2_600, 3_200, 3_800] {
                if passed.is_none() {
                    engine.append(append("a", texts(start..start + 600))).await.unwrap();
                    engine.settled().await.unwrap();
                }
            }
            let commits = faulty.commits().len() - before;
            (disk, commits)
        };
        let (_, commits) = run(None).await;
        assert!(commits > 5, "{commits}");
        for passed in 0..4 {
            let (disk, _) = run(Some(passed)).await;
            let world = disk.world();
            let again = world.open().await;
            assert_same(&answers(&again).await, &truth(&disk, &world).await, "after a reload");
            again.settled().await.unwrap();
            let third = world.open().await;
            disk.read.set(0);
            assert_same(&answers(&third).await, &truth(&disk, &world).await, "after a reload");
            assert_eq!(disk.read.get(), 0, "sealed after the crash");
        }
    });
}

#[test]
fn two_tabs_that_seal_and_append_at_once_agree() {
    block_on(async {
        let disk = Disk::default();
        let world = disk.world().with_embedder();
        let (one, two) = (world.open().await, world.open().await);
        filled(&one, 1_000).await;
        for round in 0..4 {
            let start = 1_000 + round * 500;
            let appends = join(
                one.append(append("a", texts(start..start + 250))),
                two.append(append("b", texts(start + 250..start + 500))),
            );
            let ((first, second), _) = join(appends, join(one.settled(), two.settled())).await;
            first.unwrap();
            second.unwrap();
        }
        one.settled().await.unwrap();
        two.settled().await.unwrap();
        let truth = truth(&disk, &world).await;
        for tab in [&one, &two] {
            // A tab learns of vectors that another one made when the conversation is used.
            tab.tree("a").await.unwrap();
            tab.tree("b").await.unwrap();
        }
        assert_same_hits(&answers(&one).await, &truth, "after a reload");
        assert_same_hits(&answers(&two).await, &truth, "after a reload");
        assert_same_hits(&answers(&world.open().await).await, &truth, "after a reload");
        assert!(!disk.records(Store::Segments).is_empty());
    });
}

/// What a person and their tabs do.
#[derive(Clone, Debug)]
enum Step {
    Append { to: usize, count: usize },
    Edit { of: usize, at: usize },
    Remove { of: usize, at: usize, descendants: bool },
    Turn { of: usize, at: usize },
    Delete { of: usize },
    Settle,
    Reload,
    Recall,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3_usize, 1..700_usize).prop_map(|(to, count)| Step::Append { to, count }),
        2 => (0..3_usize, 0..900_usize).prop_map(|(of, at)| Step::Edit { of, at }),
        1 => (0..3_usize, 0..900_usize, any::<bool>()).prop_map(|(of, at, descendants)| Step::Remove { of, at, descendants }),
        2 => (0..3_usize, 0..900_usize).prop_map(|(of, at)| Step::Turn { of, at }),
        1 => (0..3_usize).prop_map(|of| Step::Delete { of }),
        3 => Just(Step::Settle),
        3 => Just(Step::Reload),
        2 => Just(Step::Recall),
    ]
}

const NAMES: [&str; 3] = ["a", "b", "c"];

async fn carry_out(engine: &Engine, step: &Step, number: &mut usize) -> Result<()> {
    let message_id = |of: usize, at: usize| async move {
        let nodes = engine.tree(NAMES[of]).await.unwrap_or_default();
        nodes.get(at % nodes.len().max(1)).map(|node| node.id.clone())
    };
    match *step {
        Step::Append { to, count } => {
            let _ = engine
                .create_conversation(throughline::engine::NewConversation {
                    id: NAMES[to].into(),
                    ..Default::default()
                })
                .await;
            engine.append(append(NAMES[to], texts(*number..*number + count))).await?;
            *number += count;
        }
        Step::Edit { of, at } => {
            if let Some(message_id) = message_id(of, at).await {
                *number += 1;
                engine
                    .edit(EditRequest {
                        conversation_id: NAMES[of].into(),
                        message_id,
                        message: message("user", &text(*number)),
                        ..EditRequest::default()
                    })
                    .await?;
            }
        }
        Step::Remove { of, at, descendants } => {
            if let Some(message_id) = message_id(of, at).await {
                engine.remove(RemoveRequest { conversation_id: NAMES[of].into(), message_id, descendants }).await?;
            }
        }
        Step::Turn { of, at } => {
            if let Some(message_id) = message_id(of, at).await {
                engine
                    .set_active_leaf(LeafRequest { conversation_id: NAMES[of].into(), message_id, descend: true })
                    .await?;
            }
        }
        Step::Delete { of } => engine.delete_conversation(NAMES[of]).await?,
        Step::Settle => engine.settled().await?,
        Step::Recall => drop(answers(engine).await),
        Step::Reload => {}
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn no_answer_depends_on_segments(steps in prop::collection::vec(step(), 4..16)) {
        block_on(async {
            let disk = Disk::default();
            let world = disk.world().with_embedder();
            let mut engine = world.open().await;
            conversation(&engine, "a").await;
            engine.append(append("a", texts(0..600))).await.unwrap();
            let mut number = 600;
            for step in &steps {
                if matches!(step, Step::Reload) {
                    engine = world.open().await;
                }
                carry_out(&engine, step, &mut number).await.unwrap();
            }
            let reloaded = world.open().await;
            let truth = truth(&disk, &world).await;
            assert_same_hits(&answers(&reloaded).await, &truth, "after a reload");
            assert_same_hits(&answers(&engine).await, &truth, "without one");
            reloaded.settled().await.unwrap();
            let sealed = world.open().await;
            let truth = self::truth(&disk, &world).await;
            assert_same_hits(&answers(&sealed).await, &truth, "after sealing");
            assert_same_hits(&answers(&reloaded).await, &truth, "where it was sealed");
            for name in NAMES {
                let tree = sealed.tree(name).await.ok().map(|nodes| format!("{nodes:?}"));
                assert_eq!(tree, engine.tree(name).await.ok().map(|nodes| format!("{nodes:?}")));
            }
            assert!(world.events.borrow().iter().all(|event| event.name != "error"));
        });
    }
}
