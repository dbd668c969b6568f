//! Vectors that are gone from storage, or damaged there: the messages are found by their words, the figures say how many
//! wait, and they are embedded again, once, in the background. And vectors without a direction, which give no score.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use futures_util::future::FutureExt;
use host::kept::Kept;
use host::{EmbedFault, WordEmbedder, World, append, conversation, message};
use std::collections::BTreeSet;
use std::rc::Rc;
use throughline::engine::{Engine, RecallRequest, RecalledGroup};
use throughline::key;
use throughline::ports::{Commit, Record, Storage, Store};
use throughline::records::EmbeddingRecord;
use throughline::store::memory::MemoryStore;

/// Records that outlive the engine, so that segments are made.
#[derive(Default, Clone)]
struct Disk(MemoryStore);

impl Disk {
    fn world(&self, embedder: WordEmbedder) -> World {
        let disk = self.clone();
        World {
            storage: Rc::new(move || Rc::new(Kept::on(&disk.0))),
            embedder: Some(Rc::new(embedder)),
            ..World::default()
        }
    }

    fn write(&self, commit: Commit) {
        assert!(self.0.commit(commit).now_or_never().unwrap().unwrap());
    }

    fn embedding(&self, seq: u32, part: u32) -> Record {
        let key = key!["c", seq, part];
        self.0.get(vec![(Store::Embeddings, key)]).now_or_never().unwrap().unwrap().pop().flatten().unwrap()
    }

    fn put(&self, seq: u32, record: Record) {
        let puts = vec![(Store::Embeddings, key!["c", seq, 0], record)];
        self.write(Commit { puts, ..Commit::default() });
    }

    fn lose(&self, seqs: &[u32]) {
        let deletes = seqs.iter().map(|seq| (Store::Embeddings, key!["c", *seq, 0])).collect();
        self.write(Commit { deletes, ..Commit::default() });
    }

    /// Every segment is gone: all is read from the records.
    fn lose_segments(&self) {
        let delete_prefixes = vec![(Store::Segments, key![]), (Store::SegmentChunks, key![])];
        self.write(Commit { delete_prefixes, ..Commit::default() });
    }
}

fn text(number: u32) -> String {
    format!("Note {number}: item{number} stands on shelf{}.", number * 7)
}

fn texts(count: u32) -> Vec<String> {
    (1..=count).map(|number| message("user", &text(number))).collect()
}

async fn filled(world: &World, count: u32) -> Engine {
    let engine = world.open().await;
    conversation(&engine, "c").await;
    engine.append(append("c", texts(count))).await.unwrap();
    engine.settled().await.unwrap();
    engine
}

async fn recall(engine: &Engine, query: &str) -> Vec<RecalledGroup> {
    let request = serde_json::json!({ "query": query, "conversationId": "c", "before": 0, "after": 0 });
    engine.recall(serde_json::from_value::<RecallRequest>(request).unwrap()).await.unwrap()
}

/// The cosine of a note, asked for by its own words.
async fn cosine(engine: &Engine, number: u32) -> Option<f32> {
    let found = recall(engine, &text(number)).await;
    let hits = found.iter().flat_map(|group| &group.hits);
    hits.filter(|hit| hit.seq == number).find_map(|hit| hit.scores.cosine)
}

/// The numbers of the notes that an embedder was given, questions of searches left out.
fn embedded(world: &World) -> BTreeSet<u32> {
    let texts = world.embedder.as_ref().unwrap().texts.borrow();
    texts.iter().filter_map(|text| text.strip_prefix("Note ")?.split(':').next()?.parse().ok()).collect()
}

async fn waiting(engine: &Engine) -> u64 {
    engine.stats().await.unwrap().waiting_for_vectors
}

#[test]
fn what_is_gone_or_damaged_is_told_and_embedded_again_once() {
    block_on(async {
        for count in [40, 1_300] {
            let disk = Disk::default();
            filled(&disk.world(WordEmbedder::default()), count).await.close();
            let whole = disk.embedding(1, 0);
            disk.lose(&[3, 4]);
            disk.put(9, Record { blob: Some(vec![1, 2, 3, 4, 5, 6, 7]), ..whole.clone() });
            disk.put(12, Record { blob: Some(f32::NAN.to_le_bytes().repeat(64)), ..whole.clone() });
            disk.put(15, Record { blob: None, ..whole.clone() });
            disk.put(20, Record { body: "{".into(), ..whole });
            disk.lose_segments();
            let world = disk.world(WordEmbedder::default());
            let engine = world.open().await;
            assert!(cosine(&engine, 3).await.is_none() && !recall(&engine, "item3").await.is_empty());
            assert_eq!(waiting(&engine).await, 6, "of {count}");
            world.embedder.as_ref().unwrap().texts.borrow_mut().clear();
            engine.settled().await.unwrap();
            assert_eq!(embedded(&world), BTreeSet::from([3, 4, 9, 12, 15, 20]));
            assert_eq!(waiting(&engine).await, 0);
            assert!(cosine(&engine, 3).await.is_some() && cosine(&engine, 20).await.is_some());
            engine.close();
            // And that is all: the next visit, which reads segments where there are some, finds nothing to do.
            let world = disk.world(WordEmbedder::default());
            let engine = world.open().await;
            for number in [3, 9, 20] {
                assert!(cosine(&engine, number).await.is_some());
            }
            world.embedder.as_ref().unwrap().texts.borrow_mut().clear();
            engine.settled().await.unwrap();
            assert!(embedded(&world).is_empty() && waiting(&engine).await == 0);
            assert_eq!(engine.stats().await.unwrap().vectors, u64::from(count));
        }
    });
}

#[test]
fn what_a_segment_was_made_without_is_found_missing_and_the_segment_made_anew() {
    block_on(async {
        let disk = Disk::default();
        filled(&disk.world(WordEmbedder::default()), 700).await.close();
        disk.lose(&[5, 600]);
        disk.lose_segments();
        // A visit whose model fails: segments are made all the same, and the tries end.
        let failing = WordEmbedder::default();
        failing.script.borrow_mut().extend((0..50).map(|_| EmbedFault::Fail));
        let world = disk.world(failing);
        let engine = world.open().await;
        engine.append(append("c", vec![message("system", "Be brief.")])).await.unwrap();
        for _ in 0..8 {
            engine.settled().await.unwrap();
            world.clock.advance(3_600_000.0);
        }
        let calls = world.embedder.as_ref().unwrap().calls.borrow().len();
        assert!((5..=7).contains(&calls), "bounded: {calls}");
        let stats = engine.stats().await.unwrap();
        assert!(stats.segments.vectors >= 690 && stats.waiting_for_vectors == 2, "{stats:?}");
        engine.close();
        let world = disk.world(WordEmbedder::default());
        let engine = world.open().await;
        engine.append(append("c", vec![message("user", &text(900))])).await.unwrap();
        engine.settled().await.unwrap();
        assert_eq!(embedded(&world), BTreeSet::from([5, 600, 900]), "what is new, and what was missing");
        assert!(waiting(&engine).await == 0 && cosine(&engine, 600).await.is_some());
        let sealed = engine.stats().await.unwrap().segments;
        assert!(sealed.vectors >= 700, "{sealed:?}");
        engine.close();
        let world = disk.world(WordEmbedder::default());
        let engine = world.open().await;
        assert!(cosine(&engine, 5).await.is_some() && waiting(&engine).await == 0);
    });
}

#[test]
fn a_part_that_is_gone_takes_its_message_along() {
    block_on(async {
        let disk = Disk::default();
        let world = disk.world(WordEmbedder::default());
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let long = (0..900).map(|word| format!("word{word}")).collect::<Vec<_>>().join(" ");
        engine.append(append("c", vec![message("user", &text(1)), message("user", &long)])).await.unwrap();
        engine.settled().await.unwrap();
        let vectors = engine.stats().await.unwrap().vectors;
        assert!(vectors > 4);
        engine.close();
        disk.write(Commit { deletes: vec![(Store::Embeddings, key!["c", 2, 2])], ..Commit::default() });
        let world = disk.world(WordEmbedder::default());
        let engine = world.open().await;
        recall(&engine, "word700").await;
        assert_eq!(waiting(&engine).await, 1);
        engine.settled().await.unwrap();
        assert_eq!((waiting(&engine).await, engine.stats().await.unwrap().vectors), (0, vectors));
    });
}

#[test]
fn what_the_embedder_refused_is_not_asked_for_at_every_visit() {
    block_on(async {
        let disk = Disk::default();
        let refusing = || WordEmbedder { refuses: Some("item7 "), ..WordEmbedder::default() };
        let world = disk.world(refusing());
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", texts(30))).await.unwrap();
        for _ in 0..20 {
            engine.settled().await.unwrap();
            world.clock.advance(3_600_000.0);
        }
        assert_eq!((waiting(&engine).await, engine.stats().await.unwrap().vectors), (0, 29));
        engine.close();
        let world = disk.world(refusing());
        let engine = world.open().await;
        recall(&engine, "item8").await;
        engine.settled().await.unwrap();
        assert!(embedded(&world).is_empty() && waiting(&engine).await == 0);
    });
}

#[test]
fn two_tabs_make_what_is_missing_once() {
    block_on(async {
        let disk = Disk::default();
        filled(&disk.world(WordEmbedder::default()), 60).await.close();
        disk.lose(&[8, 30, 31]);
        let world = disk.world(WordEmbedder::default());
        let (one, other) = (world.open().await, world.open().await);
        recall(&one, "item8").await;
        recall(&other, "item8").await;
        world.embedder.as_ref().unwrap().texts.borrow_mut().clear();
        one.settled().await.unwrap();
        other.settled().await.unwrap();
        assert_eq!(world.embedder.as_ref().unwrap().texts.borrow().len(), 3);
        for engine in [&one, &other] {
            assert!(waiting(engine).await == 0 && cosine(engine, 30).await.is_some());
        }
    });
}

#[test]
fn vectors_without_a_direction_give_no_score() {
    block_on(async {
        // A text without any word that the model knows has a vector of zeros, and so has such a question.
        let disk = Disk::default();
        let world = disk.world(WordEmbedder::default());
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", vec![message("user", "!!!"), message("user", &text(2))])).await.unwrap();
        engine.settled().await.unwrap();
        let zeros = vec![0; 256];
        let body = serde_json::to_string(&EmbeddingRecord::of("words/64", 1, &zeros)).unwrap();
        for seq in [1, 2] {
            disk.put(seq, Record { blob: Some(zeros.clone()), body: body.clone() });
        }
        engine.close();
        let world = disk.world(WordEmbedder::default());
        let engine = world.open().await;
        let found = recall(&engine, &text(2)).await;
        let hits: Vec<_> = found.iter().flat_map(|group| &group.hits).collect();
        assert!(!hits.is_empty() && hits.iter().all(|hit| hit.scores.cosine.is_none() && hit.score.is_finite()));
        assert_eq!(waiting(&engine).await, 0, "a vector of zeros is what the model says");
    });
}
