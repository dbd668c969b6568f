//! Vectors of messages: long ones in parts, and what becomes of them when the message or the model changes.
#![allow(clippy::unwrap_used)] // test code outside of test functions

mod host;

use futures_executor::block_on;
use host::{WordEmbedder, World, append, conversation, message, message_with_id};
use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;
use throughline::config::{Policy, VectorIndexChoice};
use throughline::engine::{
    EditRequest, Engine, EraseRequest, Host, LeafRequest, Options, RecallRequest, RecalledGroup, RemoveRequest,
};
use throughline::key;
use throughline::ports::{Clock, Commit, Embedder, Query, Store};
use throughline::store::Storage;
use throughline::store::memory::MemoryStore;

/// A model that knows that a feline is a cat; the words of a text do not.
fn knowing() -> WordEmbedder {
    WordEmbedder { dimensions: 512, synonyms: vec![("feline", "cat"), ("called", "named")], ..WordEmbedder::default() }
}

fn world() -> World {
    World { embedder: Some(Rc::new(knowing())), ..World::default() }
}

/// So many words that say nothing of cats.
fn filler(words: usize) -> String {
    let word = |at: usize| format!("filler{}{}", at % 97, if at % 12 == 11 { "." } else { "" });
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

/// 5,000 words with one sentence about a cat in their middle.
fn story(name: &str) -> String {
    format!("{}. My cat is named {name}. {}", filler(2_500), filler(2_500))
}

async fn recall(engine: &Engine, query: &str) -> Vec<RecalledGroup> {
    let request: RecallRequest =
        serde_json::from_value(serde_json::json!({ "query": query, "before": 0, "after": 0 })).unwrap();
    engine.recall(request).await.unwrap()
}

/// The nearest message to a question that shares no word with it: its id and its closeness.
async fn nearest(engine: &Engine) -> Option<(String, f32)> {
    let found = recall(engine, "feline called?").await;
    let hits = found.iter().flat_map(|group| &group.hits);
    let near = hits.filter_map(|hit| Some((hit.id.clone(), hit.scores.cosine?)));
    near.max_by(|one, other| one.1.total_cmp(&other.1))
}

async fn cosine(engine: &Engine) -> Option<f32> {
    nearest(engine).await.map(|(_, cosine)| cosine)
}

async fn embedded(world: &World) -> Engine {
    let engine = world.open().await;
    conversation(&engine, "c").await;
    let messages = vec![
        message_with_id("a", "user", "Tell me of your pets."),
        message_with_id("b", "assistant", &story("Minka")),
        message_with_id("d", "user", "And what do you cook?"),
    ];
    engine.append(append("c", messages)).await.unwrap();
    engine.settled().await.unwrap();
    engine
}

#[test]
fn a_fact_in_the_middle_of_a_long_message_is_found_by_its_meaning_alone() {
    block_on(async {
        let world = world();
        let engine = embedded(&world).await;
        let found = recall(&engine, "feline called?").await;
        let (id, near) = nearest(&engine).await.unwrap();
        assert!(id == "b" && found[0].messages.concat().contains("Minka"));
        let mut hits = found.iter().flat_map(|group| &group.hits);
        assert!(hits.all(|hit| hit.scores.keyword.abs() < f32::EPSILON), "no word of the question stands there");
        // The same after loading from storage.
        engine.close();
        let engine = world.open().await;
        assert_eq!(cosine(&engine).await, Some(near));
        // Without parts the model reads the first 256 words.
        let vector = |text: &str| knowing().vector(text);
        let whole: f32 = vector(&story("Minka")).iter().zip(vector("feline called?")).map(|(a, b)| a * b).sum();
        assert!(near > 2.0 * whole.max(0.01), "{near} {whole}");
    });
}

#[test]
fn no_call_has_more_texts_than_a_batch_and_none_is_longer_than_the_model_reads() {
    block_on(async {
        for batch in [1, 4, 100] {
            let mut world = world();
            world.embedder = Some(Rc::new(WordEmbedder { batch, ..knowing() }));
            let engine = embedded(&world).await;
            let embedder = world.embedder.clone().unwrap();
            assert!(embedder.calls.borrow().iter().all(|texts| *texts <= batch));
            let texts = embedder.texts.borrow().clone();
            assert!(texts.len() > 20 && texts.iter().all(|text| text.split_whitespace().count() <= 256));
            assert_eq!(engine.stats().await.unwrap().vectors, texts.len() as u64);
        }
    });
}

#[test]
fn a_text_of_a_hundred_thousand_words_has_a_bounded_number_of_parts() {
    block_on(async {
        let world = world();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", vec![message("user", &filler(100_000))])).await.unwrap();
        engine.settled().await.unwrap();
        assert_eq!(engine.stats().await.unwrap().vectors, 64);
    });
}

#[test]
fn all_parts_leave_with_their_message_and_come_back_with_it() {
    block_on(async {
        let world = world();
        let engine = embedded(&world).await;
        let near = cosine(&engine).await.unwrap();
        let vectors = engine.stats().await.unwrap().vectors;
        let other = message_with_id("b2", "assistant", "I have none.");
        let edit = EditRequest {
            conversation_id: "c".into(),
            message_id: "b".into(),
            message: other,
            ..serde_json::from_value(serde_json::json!({ "conversationId": "c", "messageId": "b", "message": "" }))
                .unwrap()
        };
        engine.edit(edit).await.unwrap();
        engine.settled().await.unwrap();
        assert!(cosine(&engine).await.unwrap_or(0.0) < near / 2.0, "the long message is on another branch");
        let back = LeafRequest { conversation_id: "c".into(), message_id: "d".into(), descend: false };
        engine.set_active_leaf(back.clone()).await.unwrap();
        assert_eq!(cosine(&engine).await, Some(near));
        assert_eq!(engine.stats().await.unwrap().vectors, vectors + 1);
        // The other tab, which read the other branch, turns too.
        let tab = world.open().await;
        assert_eq!(cosine(&tab).await, Some(near));
        let request = RemoveRequest { conversation_id: "c".into(), message_id: "b".into(), descendants: false };
        engine.remove(request).await.unwrap();
        engine.settled().await.unwrap();
        for tab in [&engine, &tab] {
            assert!(cosine(tab).await.unwrap_or(0.0) < near / 2.0);
        }
        assert_eq!(engine.stats().await.unwrap().vectors, 3, "a, b2 and d");
    });
}

#[test]
fn erasing_takes_every_part() {
    block_on(async {
        for request in [
            serde_json::json!({ "conversationId": "c", "messageId": "b" }),
            serde_json::json!({ "conversationId": "c" }),
        ] {
            let world = world();
            let engine = embedded(&world).await;
            let whole = request.get("messageId").is_none();
            engine.erase(serde_json::from_value::<EraseRequest>(request).unwrap()).await.unwrap();
            engine.settled().await.unwrap();
            assert_eq!(engine.stats().await.unwrap().vectors, if whole { 0 } else { 2 });
            assert!(
                recall(&engine, "feline called?").await.iter().all(|group| !group.messages.concat().contains("Minka"))
            );
        }
    });
}

/// A store whose vectors can be looked at, and a world on it.
fn watched() -> (MemoryStore, World) {
    let store = MemoryStore::default();
    let shared = store.clone();
    (store, World { storage: Rc::new(move || Rc::new(shared.clone())), ..world() })
}

async fn models(store: &MemoryStore) -> Vec<String> {
    let records = store.scan(Query::prefix(Store::Embeddings, key![])).await.unwrap();
    let model =
        |body: &str| serde_json::from_str::<serde_json::Value>(body).unwrap()["model"].as_str().unwrap().to_owned();
    records.iter().map(|(_, record)| model(&record.body)).collect()
}

#[test]
fn records_of_before_there_were_parts_stay_valid() {
    block_on(async {
        let (store, mut world) = watched();
        world.embedder = Some(Rc::new(WordEmbedder { max_input_tokens: 1_000_000, ..knowing() }));
        let engine = embedded(&world).await;
        let near = recall(&engine, "My cat is named").await[0].scores.cosine;
        engine.close();
        let mut commit = Commit::default();
        for (key, mut record) in store.scan(Query::prefix(Store::Embeddings, key![])).await.unwrap() {
            record.body = serde_json::json!({ "model": "words/512" }).to_string();
            commit.puts.push((Store::Embeddings, key, record));
        }
        assert_eq!(commit.puts.len(), 3);
        store.commit(commit).await.unwrap();
        let engine = world.open().await;
        assert!(near.is_some() && recall(&engine, "My cat is named").await[0].scores.cosine == near);
        let calls = world.embedder.as_ref().unwrap().calls.borrow().len();
        engine.settled().await.unwrap();
        assert!(world.embedder.as_ref().unwrap().calls.borrow().len() == calls, "nothing is embedded again");
    });
}

#[test]
fn a_text_that_the_model_refuses_goes_without_and_all_others_do_not() {
    block_on(async {
        for batch in [1, 4, 64] {
            let refusing = WordEmbedder { batch, refuses: Some("basalt"), ..knowing() };
            let world = World { embedder: Some(Rc::new(refusing)), ..World::default() };
            let engine = world.open().await;
            conversation(&engine, "c").await;
            let text = |at: usize| format!("{} {at}", if at == 7 || at == 20 { "basalt" } else { "gravel" });
            let messages = (0..30).map(|at| message("user", &text(at))).collect();
            engine.append(append("c", messages)).await.unwrap();
            for _ in 0..20 {
                engine.settled().await.unwrap();
                world.clock.advance(3_600_000.0);
            }
            let stats = engine.stats().await.unwrap();
            assert_eq!((stats.vectors, stats.waiting_for_vectors), (28, 0), "batches of {batch}");
            assert_eq!(engine.next_retry_at(), None);
        }
        // A model that fails is not taken for texts that are refused.
        let failing = WordEmbedder { refuses: Some("gravel"), ..knowing() };
        let world = World { embedder: Some(Rc::new(failing)), ..World::default() };
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", (0..9).map(|at| message("user", &format!("gravel {at}"))).collect())).await.unwrap();
        for _ in 0..20 {
            engine.settled().await.unwrap();
            world.clock.advance(3_600_000.0);
        }
        let stats = engine.stats().await.unwrap();
        assert_eq!((stats.vectors, stats.waiting_for_vectors), (0, 9));
    });
}

#[test]
fn a_damaged_vector_is_one_that_is_not_there() {
    block_on(async {
        for blob in [vec![1, 2, 3, 4, 5, 6, 7], f32::NAN.to_le_bytes().repeat(512), Vec::new()] {
            let (store, world) = watched();
            let engine = embedded(&world).await;
            let records = store.scan(Query::prefix(Store::Embeddings, key![])).await.unwrap();
            let (key, record) = records.into_iter().next().unwrap();
            let damaged = throughline::ports::Record { blob: Some(blob), ..record };
            let commit = Commit { puts: vec![(Store::Embeddings, key, damaged)], ..Commit::default() };
            assert!(store.commit(commit).await.unwrap());
            engine.close();
            let engine = world.open().await;
            assert!(!recall(&engine, "cat named").await.is_empty());
        }
    });
}

fn chat(count: usize) -> Vec<String> {
    (0..count).map(|n| message("user", &format!("Note {n}: item{n} stands on shelf{}.", n * 7))).collect()
}

/// Another model, and one that fails for good after so many calls: a page that is closed half-way.
fn other(calls: usize) -> WordEmbedder {
    let embedder = WordEmbedder { id: "other".into(), dimensions: 2_039, batch: 8, ..knowing() };
    let faults = (0..calls).map(|_| host::EmbedFault::Late(0)).chain((0..20).map(|_| host::EmbedFault::Hang));
    embedder.script.borrow_mut().extend(faults);
    embedder
}

#[test]
fn another_model_begins_by_itself_goes_on_after_a_reload_and_embeds_nothing_twice() {
    block_on(async {
        let (store, mut world) = watched();
        let engine = world.open().await;
        for id in ["c", "d"] {
            conversation(&engine, id).await;
            engine.append(append(id, chat(60))).await.unwrap();
        }
        engine.append(append("d", vec![message("user", &story("Minka"))])).await.unwrap();
        engine.settled().await.unwrap();
        engine.close();
        let former = models(&store).await.len();
        assert!(former > 140);

        // The page is closed in the middle of the fifth call.
        world.embedder = Some(Rc::new(other(4)));
        let engine = world.open().await;
        assert_eq!(engine.stats().await.unwrap().waiting_for_vectors, 121);
        let working = engine.work();
        let waited = futures_util::future::select(
            Box::pin(working),
            Box::pin(std::future::poll_fn(|context| {
                if world.embedder.as_ref().unwrap().calls.borrow().len() >= 5 {
                    return std::task::Poll::Ready(());
                }
                context.waker().wake_by_ref();
                std::task::Poll::Pending
            })),
        );
        drop(waited.await);
        assert_eq!(engine.stats().await.unwrap().waiting_for_vectors, 121 - 32);
        let first: Vec<String> = world.embedder.as_ref().unwrap().texts.borrow().clone();
        engine.close();

        // Meanwhile: what has a vector of the new model is found by meaning and words, the rest by words.
        world.locks = host::LocalLocks::default();
        world.embedder = Some(Rc::new(WordEmbedder { script: Default::default(), ..other(0) }));
        let engine = world.open().await;
        for (id, item, has_vector) in [("c", "item3", true), ("d", "item55", false)] {
            let request = serde_json::json!({ "query": item, "conversationId": id, "before": 0, "after": 0 });
            let found = engine.recall(serde_json::from_value(request).unwrap()).await.unwrap();
            assert!(found[0].messages.concat().contains(&format!("{item} ")));
            assert_eq!(found[0].scores.cosine.is_some(), has_vector);
        }
        world.embedder.as_ref().unwrap().texts.borrow_mut().clear();

        engine.settled().await.unwrap();
        let second: Vec<String> = world.embedder.as_ref().unwrap().texts.borrow().clone();
        let all: std::collections::BTreeSet<(usize, String)> =
            (0..).zip(first.iter().take(32).chain(&second).cloned()).collect();
        assert_eq!(all.len(), former, "each text once: the 32 before the reload, the others after");
        let times = |text: &str| first.iter().take(32).chain(&second).filter(|other| other.contains(text)).count();
        assert!((0..60).all(|n| times(&format!("item{n} ")) == 2), "once for each conversation");
        assert!(models(&store).await.iter().all(|model| model == "other/2039"));
        assert_eq!((models(&store).await.len(), engine.stats().await.unwrap().waiting_for_vectors), (former, 0));
        let found = recall(&engine, "feline called?").await;
        assert!(found.iter().any(|group| group.messages.concat().contains("Minka")));
    });
}

#[test]
fn parts_that_the_next_model_does_not_need_are_gone() {
    block_on(async {
        let (store, mut world) = watched();
        embedded(&world).await.close();
        assert!(models(&store).await.len() > 20);
        world.embedder = Some(Rc::new(WordEmbedder { id: "wide".into(), max_input_tokens: 1_000_000, ..knowing() }));
        let engine = world.open().await;
        engine.settled().await.unwrap();
        assert_eq!(models(&store).await, ["wide/512"; 3]);
        // And back to a model that reads less.
        engine.close();
        world.embedder = Some(Rc::new(knowing()));
        let engine = world.open().await;
        engine.settled().await.unwrap();
        assert!(models(&store).await.len() > 20 && models(&store).await.iter().all(|model| model == "words/512"));
        assert!(cosine(&engine).await.is_some());
    });
}

/// A clock that moves by half a millisecond whenever it is looked at, and notes how long it ran between two rests.
#[derive(Default)]
struct TickingClock {
    now_ms: Cell<f64>,
    rested_ms: Cell<f64>,
    stretches: RefCell<Vec<f64>>,
}

impl Clock for TickingClock {
    fn now_ms(&self) -> f64 {
        self.now_ms.set(self.now_ms.get() + 0.5);
        self.now_ms.get()
    }

    fn sleep<'a>(&'a self, ms: f64) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
        if ms > 1_000.0 {
            return Box::pin(std::future::pending());
        }
        self.stretches.borrow_mut().push(self.now_ms.get() - self.rested_ms.get());
        self.rested_ms.set(self.now_ms.get());
        Box::pin(std::future::ready(()))
    }
}

#[test]
fn the_graph_grows_in_short_slices_and_new_messages_are_found_before_they_are_in_it() {
    block_on(async {
        let clock = Rc::new(TickingClock::default());
        let world = world();
        let host = Host {
            storage: (world.storage)(),
            embedder: world.embedder.clone().map(|embedder| embedder as Rc<dyn Embedder>),
            model: None,
            clock: Rc::clone(&clock) as Rc<dyn Clock>,
            locks: Rc::new(world.locks.clone()),
            on_event: Rc::new(|_| {}),
            normalize: str::to_owned,
        };
        let policy = Policy { vector_index: VectorIndexChoice::Hnsw, ..Policy::default() };
        let options = Options { user_id: "alex".into(), tokenizer: "estimate".into(), policy };
        let engine = Engine::open(host, options).await.unwrap();
        conversation(&engine, "c").await;
        engine.append(append("c", chat(400))).await.unwrap();
        engine.settled().await.unwrap();
        let stretches = clock.stretches.borrow().clone();
        let slices: Vec<&f64> = stretches.iter().rev().take(10).collect();
        assert!(stretches.len() > 12 && slices.iter().all(|ms| **ms <= 8.0), "{stretches:?}");
        engine.append(append("c", vec![message("user", "My cat is named Minka.")])).await.unwrap();
        engine.settled().await.unwrap();
        assert_eq!(nearest(&engine).await.unwrap().0, "seq:401");
    });
}

#[test]
fn every_choice_of_index_gives_the_same_best_message() {
    block_on(async {
        let mut answers = Vec::new();
        for vector_index in [VectorIndexChoice::Auto, VectorIndexChoice::Exact, VectorIndexChoice::Hnsw] {
            let world = World { policy: Policy { vector_index, ..Policy::default() }, ..world() };
            let engine = embedded(&world).await;
            engine.append(append("c", chat(300))).await.unwrap();
            engine.settled().await.unwrap();
            answers.push(nearest(&engine).await.unwrap());
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    });
}
