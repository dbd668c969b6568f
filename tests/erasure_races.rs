//! Erasing at any moment of whatever else is under way, in two tabs whose storage and models answer when they like: what is
//! erased does not come back. `ERASURE_SEEDS` says how many interleavings, `ERASURE_SEED` which one alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;
mod markers;

use futures_executor::block_on;
use futures_util::future::{FutureExt, LocalBoxFuture, join};
use futures_util::task::{ArcWake, waker};
use host::{World, append, ask, conversation, message_with_id};
use markers::{Disk, echo, marker, markers_in};
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use throughline::engine::{
    AppendRequest, CatchUp, Engine, EraseRequest, Host, NewConversation, Options, RecallRequest, StreamUpdate,
};
use throughline::error::Code;
use throughline::ports::{Clock, Embedder, LanguageModel, ModelRequest, Pending};
use throughline::records::MessageStatus;
use throughline::store::memory::MemoryStore;
use throughline::store::{Commit, Key, Query, Record, Storage, StorageUsage, Store};

/// The marker that is erased.
const ERASED: usize = 1;

/// Decides who goes on, and who waits how long (xorshift64*).
struct Dice(Cell<u64>);

impl Dice {
    fn new(seed: u64) -> Rc<Self> {
        Rc::new(Self(Cell::new((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)))
    }

    fn below(&self, most: usize) -> usize {
        let mut state = self.0.get();
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        self.0.set(state);
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % most.max(1)
    }

    /// Lets others go on, up to so many times.
    async fn pause(&self, most: usize) {
        let mut left = self.below(most + 1);
        poll_fn(move |_| {
            if left == 0 {
                Poll::Ready(())
            } else {
                left -= 1;
                Poll::Pending
            }
        })
        .await;
    }
}

/// A storage that carries out what it is asked some time later, and tells it later still.
struct Slow(MemoryStore, Rc<Dice>);

impl Slow {
    fn later<'a, T: 'a>(&'a self, carry_out: impl FnOnce() -> Pending<'a, T> + 'a) -> Pending<'a, T> {
        async move {
            self.1.pause(2).await;
            let answer = carry_out().await;
            self.1.pause(2).await;
            answer
        }
        .boxed_local()
    }
}

impl Storage for Slow {
    fn get<'a>(&'a self, keys: Vec<(Store, Key)>) -> Pending<'a, Vec<Option<Record>>> {
        self.later(|| self.0.get(keys))
    }
    fn scan<'a>(&'a self, query: Query) -> Pending<'a, Vec<(Key, Record)>> {
        self.later(|| self.0.scan(query))
    }
    fn count<'a>(&'a self, store: Store, prefix: Key) -> Pending<'a, u64> {
        self.later(move || self.0.count(store, prefix))
    }
    fn commit<'a>(&'a self, commit: Commit) -> Pending<'a, bool> {
        self.later(|| self.0.commit(commit))
    }
    fn usage<'a>(&'a self) -> Pending<'a, StorageUsage> {
        self.0.usage()
    }
    fn destroy<'a>(&'a self) -> Pending<'a, ()> {
        self.0.destroy()
    }
    fn close(&self) {}
    fn is_durable(&self) -> bool {
        true
    }
}

/// Models that take their time.
struct Late {
    words: host::WordEmbedder,
    dice: Rc<Dice>,
}

impl Embedder for Late {
    fn id(&self) -> &str {
        "late"
    }
    fn dimensions(&self) -> usize {
        self.words.dimensions
    }
    fn max_batch_size(&self) -> usize {
        4
    }
    fn max_input_tokens(&self) -> usize {
        256
    }
    fn embed<'a>(&'a self, texts: Vec<String>) -> Pending<'a, Vec<Vec<f32>>> {
        async move {
            self.dice.pause(12).await;
            Ok(texts.iter().map(|text| self.words.vector(text)).collect())
        }
        .boxed_local()
    }
}

impl LanguageModel for Late {
    fn context_window_tokens(&self) -> u32 {
        32_000
    }
    fn generate<'a>(&'a self, request: ModelRequest) -> Pending<'a, String> {
        async move {
            self.dice.pause(20).await;
            Ok(echo(&request))
        }
        .boxed_local()
    }
}

/// Time passes when somebody waits, and others go on meanwhile. No callback here is so late that it is given up.
struct Ticking(Rc<host::ManualClock>, Rc<Dice>);

impl Clock for Ticking {
    fn now_ms(&self) -> f64 {
        self.0.now_ms()
    }
    fn sleep<'a>(&'a self, ms: f64) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
        async move {
            if ms > 1_000.0 {
                return std::future::pending().await;
            }
            self.1.pause(2).await;
            self.0.advance(ms);
            let mut is_over = false;
            poll_fn(|_| if std::mem::replace(&mut is_over, true) { Poll::Ready(()) } else { Poll::Pending }).await;
        }
        .boxed_local()
    }
}

struct Table {
    disk: Disk,
    dice: Rc<Dice>,
    world: World,
}

impl Table {
    async fn open(&self) -> Engine {
        let late = Rc::new(Late { words: host::WordEmbedder::default(), dice: Rc::clone(&self.dice) });
        let host = Host {
            storage: Rc::new(Slow(self.disk.0.clone(), Rc::clone(&self.dice))),
            embedder: Some(Rc::clone(&late) as Rc<dyn Embedder>),
            model: Some(late),
            clock: Rc::new(Ticking(Rc::clone(&self.world.clock), Rc::clone(&self.dice))),
            locks: Rc::new(self.world.locks.clone()),
            on_event: Rc::new(|_| {}),
            normalize: str::to_owned,
        };
        let options =
            Options { user_id: "alex".into(), tokenizer: "estimate".into(), policy: self.world.policy.clone() };
        Engine::open(host, options).await.unwrap()
    }
}

/// Polls one task after the other, as the dice say, until all are done.
fn run(dice: &Dice, mut tasks: Vec<LocalBoxFuture<'_, ()>>) {
    let mut context = Context::from_waker(Waker::noop());
    let mut steps = 0_u32;
    while !tasks.is_empty() {
        let at = dice.below(tasks.len());
        if tasks[at].poll_unpin(&mut context).is_ready() {
            drop(tasks.swap_remove(at));
        }
        steps += 1;
        assert!(steps < 2_000_000, "they wait for each other");
    }
}

fn alone<T>(dice: &Dice, task: impl Future<Output = T>) -> T {
    let answer = RefCell::new(None);
    let task = async {
        let value = task.await;
        answer.replace(Some(value));
    };
    run(dice, vec![task.boxed_local()]);
    answer.into_inner().unwrap()
}

/// What was there before: a conversation with the marker in it, and others; some of it sealed, embedded, learned.
fn template(long: bool) -> Disk {
    let table = Table { disk: Disk::default(), dice: Dice::new(0), world: world() };
    block_on(async {
        let mut world = world();
        world.storage = markers::opener(&table.disk);
        let engine = world.open().await;
        let new = NewConversation { id: "c".into(), source: Some("elsewhere".into()), ..NewConversation::default() };
        engine.create_conversation(new).await.unwrap();
        conversation(&engine, "d").await;
        let said = |n: usize, text: &str| {
            message_with_id(&format!("m{n}"), if n.is_multiple_of(2) { "user" } else { "assistant" }, text)
        };
        let mut messages: Vec<String> =
            (0..4).map(|n| said(n, &format!("Before that, number {n} was said at length."))).collect();
        messages.push(said(4, &format!("I like {} a lot", marker(ERASED))));
        let more = if long { 520 } else { 9 };
        messages.extend((5..more).map(|n| said(n, &format!("After that, number {n} was said at length."))));
        engine.append(append("c", messages)).await.unwrap();
        engine.append(append("d", vec![message_with_id("x", "user", "I like zqm002 as well")])).await.unwrap();
        let fact = json!({ "fact": "Prefers short answers" });
        engine.add_fact(serde_json::from_value(fact).unwrap()).await.unwrap();
    });
    table.disk
}

fn world() -> World {
    let mut world = World::default();
    world.policy.compaction.high_water_tokens = 40;
    world.policy.budget.recent_tokens = 40;
    world.policy.facts.batch_messages = 1;
    world
}

async fn settle(engine: &Engine) {
    engine.settled().await.unwrap();
}

/// One interleaving. What is erased: everything, the conversation, the message, or the fact that was learned from it.
fn interleave(seed: u64, template: &Disk) {
    let dice = Dice::new(seed);
    let table = Table { disk: template.copied(), dice: Rc::clone(&dice), world: world() };
    let (one, other) = alone(&dice, join(table.open(), table.open()));
    let kind = seed % 4;
    if kind == 3 {
        alone(&dice, settle(&one));
    } else {
        // Begun at some point, so that what is derived is there in part.
        let closed = alone(&dice, table.open());
        let mut begun = closed.work().boxed_local();
        for _ in 0..dice.below(400) {
            if begun.poll_unpin(&mut Context::from_waker(Waker::noop())).is_ready() {
                break;
            }
        }
    }
    let (one, other) = (&one, &other);
    let may_be_gone = |code: Code| matches!(code, Code::NotFound | Code::Conflict | Code::StorageConflict);
    let check = move |error: throughline::error::Error| assert!(may_be_gone(error.code), "{error:?}");
    let reopened = alone(&dice, table.open());
    let reopened = &reopened;
    let erased = Cell::new(false);
    let erase = async {
        dice.pause(160).await;
        let request = match kind {
            0 => json!({ "user": true }),
            1 => json!({ "conversationId": "c" }),
            2 => json!({ "messageId": "m4" }),
            _ => {
                let facts = one.list_facts(Default::default()).await.unwrap();
                let fact = facts.iter().find(|fact| fact.fact.contains(&marker(ERASED)));
                json!({ "factId": fact.unwrap().id })
            }
        };
        one.erase(serde_json::from_value::<EraseRequest>(request).unwrap()).await.unwrap();
        erased.set(true);
        other.catch_up(CatchUp { conversation_ids: vec!["c".into()], all: kind == 0 }).await.unwrap();
    };
    // What is streamed is of the marker only where all of it is erased.
    let streamed = if kind < 2 { format!("I like {} still", marker(ERASED)) } else { "Streamed at length.".to_owned() };
    let mut tasks: Vec<LocalBoxFuture<'_, ()>> = vec![
        erase.boxed_local(),
        reopened.work().boxed_local(),
        other.work().boxed_local(),
        async { drop(other.compact("c", true).await) }.boxed_local(),
    ];
    for (tab, engine) in [other, reopened].into_iter().enumerate() {
        tasks.push(
            async move {
                for n in 0..4 {
                    let id = format!("n{n}-{tab}");
                    let request = append("c", vec![message_with_id(&id, "user", "And this was said meanwhile.")]);
                    engine.append(request).await.map(drop).unwrap_or_else(check);
                }
            }
            .boxed_local(),
        );
        tasks.push(
            async move {
                let request: RecallRequest = serde_json::from_value(json!({ "query": marker(ERASED) })).unwrap();
                drop(engine.recall(request).await);
                drop(engine.build_context(ask("c", &format!("what about {}?", marker(ERASED)))).await);
            }
            .boxed_local(),
        );
    }
    tasks.push(
        async {
            let begun = AppendRequest { streaming: true, ..append("c", vec![message_with_id("s", "assistant", "")]) };
            let Ok(begun) = other.append(begun).await else { return };
            for status in [MessageStatus::Streaming, MessageStatus::Streaming, MessageStatus::Complete] {
                let update = StreamUpdate {
                    conversation_id: "c".into(),
                    id: "s".into(),
                    seq: begun[0].seq,
                    message: Some(message_with_id("s", "assistant", &streamed)),
                    status,
                };
                other.update_stream(update).await.map(drop).unwrap_or_else(check);
                dice.pause(10).await;
            }
        }
        .boxed_local(),
    );
    // An import of the same again: what was erased of it by itself does not come with it.
    if kind != 3 {
        tasks.push(
            async {
                for n in [3_usize, 4, 5] {
                    let said = [3, 4, 5].map(|n| {
                        if n == 4 {
                            format!("I like {} a lot", marker(ERASED))
                        } else {
                            format!("{} that, number {n} was said at length.", if n == 3 { "Before" } else { "After" })
                        }
                    });
                    let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
                    let request = AppendRequest {
                        imported: true,
                        parent_ids: Some(vec![Some(format!("m{}", n - 1))]),
                        ..append("c", vec![message_with_id(&format!("m{n}"), role, &said[n - 3])])
                    };
                    reopened.append(request).await.map(drop).unwrap_or_else(check);
                }
            }
            .boxed_local(),
        );
    }
    run(&dice, tasks);
    assert!(erased.get());
    let tabs = [one, other, reopened];
    for round in 0..2 {
        nothing_is_left(&table, kind, tabs, seed, round);
        run(&dice, tabs.map(|tab| settle(tab).boxed_local()).into());
    }
}

/// In storage, in every tab, and in one that is opened now.
fn nothing_is_left(table: &Table, kind: u64, tabs: [&Engine; 3], seed: u64, round: usize) {
    let here = |what: &str| {
        format!(
            "seed {seed}, kind {kind}, round {round}: the marker is in {what}; replay: ERASURE_SEED={seed} cargo test --test erasure_races"
        )
    };
    if kind == 3 {
        let mut facts = BTreeSet::new();
        for (store, _, record) in table.disk.records() {
            if matches!(store, Store::Facts | Store::Audit | Store::FactSources) {
                markers_in(record.body.as_bytes(), &mut facts);
            }
        }
        assert!(!facts.contains(&ERASED), "{}", here("the facts"));
    } else {
        assert!(!table.disk.markers().contains(&ERASED), "{}", here("storage"));
    }
    let fresh = alone(&table.dice, table.open());
    for tab in tabs.into_iter().chain([&fresh]) {
        let facts = alone(&table.dice, tab.list_facts(Default::default())).unwrap();
        assert!(facts.iter().all(|fact| !fact.fact.contains(&marker(ERASED))), "{}", here("a tab's facts"));
        if kind == 3 {
            continue;
        }
        let request: RecallRequest = serde_json::from_value(json!({ "query": marker(ERASED), "topK": 50 })).unwrap();
        let found = alone(&table.dice, tab.recall(request)).unwrap();
        let said: String = found.into_iter().flat_map(|group| group.messages).collect();
        assert!(!said.contains(&marker(ERASED)), "{}", here("what is recalled"));
        if let Ok(summary) = alone(&table.dice, tab.summary("c")) {
            assert!(!summary.text.contains(&marker(ERASED)), "{}", here("a summary"));
        }
    }
}

#[test]
fn nothing_returns_in_any_interleaving() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let (short, long) = (template(false), template(true));
    let seeds = match number("ERASURE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("ERASURE_SEEDS").unwrap_or(160),
    };
    for seed in seeds {
        // Some with enough messages to be sealed.
        interleave(seed, if seed % 97 == 2 { &long } else { &short });
    }
}

/// Hangs for ever, and tells when it is given up.
struct Hanging(Rc<Cell<u32>>);

struct GivenUp(Rc<Cell<u32>>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

impl LanguageModel for Hanging {
    fn context_window_tokens(&self) -> u32 {
        32_000
    }
    fn generate<'a>(&'a self, _request: ModelRequest) -> Pending<'a, String> {
        let guard = GivenUp(Rc::clone(&self.0));
        async move {
            let _guard = guard;
            std::future::pending().await
        }
        .boxed_local()
    }
}

/// Whether somebody was told to go on.
#[derive(Default)]
struct Told(AtomicBool);

impl ArcWake for Told {
    fn wake_by_ref(told: &Arc<Self>) {
        told.0.store(true, Ordering::Relaxed);
    }
}

struct Standing;

impl Clock for Standing {
    fn now_ms(&self) -> f64 {
        1_750_000_000_000.0
    }
    fn sleep<'a>(&'a self, ms: f64) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
        if ms < 1_000.0 { std::future::ready(()).boxed_local() } else { std::future::pending().boxed_local() }
    }
}

#[test]
fn a_callback_about_what_is_erased_is_given_up_at_once() {
    block_on(async {
        for what in [json!({ "user": true }), json!({ "conversationId": "c" }), json!({ "factId": "f1" })] {
            let given_up = Rc::new(Cell::new(0));
            let host = Host {
                storage: Rc::new(host::kept::Kept::on(&MemoryStore::new())),
                embedder: None,
                model: Some(Rc::new(Hanging(Rc::clone(&given_up)))),
                clock: Rc::new(Standing),
                locks: Rc::new(host::LocalLocks::default()),
                on_event: Rc::new(|_| {}),
                normalize: str::to_owned,
            };
            let options = Options { user_id: "alex".into(), tokenizer: "estimate".into(), policy: world().policy };
            let engine = Engine::open(host, options).await.unwrap();
            conversation(&engine, "c").await;
            engine.add_fact(serde_json::from_value(json!({ "fact": "Prefers short answers" })).unwrap()).await.unwrap();
            engine.append(append("c", vec![message_with_id("m", "user", "I like tea a lot")])).await.unwrap();
            let mut work = engine.work().boxed_local();
            let told = Arc::new(Told::default());
            let waker = waker(Arc::clone(&told));
            assert!(work.poll_unpin(&mut Context::from_waker(&waker)).is_pending(), "the model is asked, and hangs");
            assert!(!told.0.load(Ordering::Relaxed));
            let request: EraseRequest = serde_json::from_value(what.clone()).unwrap();
            engine.erase(request).await.unwrap();
            assert!(told.0.load(Ordering::Relaxed) && given_up.get() == 0, "{what}");
            let _ = work.poll_unpin(&mut Context::from_waker(&waker));
            assert_eq!(given_up.get(), 1, "{what}");
        }
    });
}
