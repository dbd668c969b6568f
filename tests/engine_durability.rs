//! What is acknowledged before it is on disk: what a power cut takes, and that it is told.

#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

mod host;

use futures_util::FutureExt;
use host::{World, append, conversation, message, message_with_id};
use proptest::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use throughline::config::{Durability, Policy};
use throughline::engine::{AppendRequest, EditRequest, Engine, EraseRequest, StreamUpdate};
use throughline::error::{Code, Result};
use throughline::key;
use throughline::message::Seq;
use throughline::ports::{Commit, Key, Pending, Query, Record, Storage, Store};
use throughline::records::MessageStatus;
use throughline::store::StorageUsage;
use throughline::store::faulty::{Fault, FaultyStore};
use throughline::store::memory::MemoryStore;

fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("everything answers at once")
}

/// Records in memory with a disk behind them: strict commits take all that was written before along.
#[derive(Clone, Default)]
struct Disk {
    memory: MemoryStore,
    on_disk: Rc<RefCell<Vec<(Store, Key, Record)>>>,
}

impl Disk {
    async fn records(&self) -> Vec<(Store, Key, Record)> {
        let mut all = Vec::new();
        for store in Store::ALL {
            let records = self.memory.scan(Query::prefix(store, key![])).await.expect("reads");
            all.extend(records.into_iter().map(|(key, record)| (store, key, record)));
        }
        all
    }

    /// The power goes, or the browser's storage process: what was not on disk is gone.
    async fn lose(&self) {
        let puts = self.on_disk.borrow().clone();
        let delete_prefixes = Store::ALL.map(|store| (store, key![])).into();
        self.memory.commit(Commit { puts, delete_prefixes, ..Commit::default() }).await.expect("writes");
    }
}

impl Storage for Disk {
    fn get<'a>(&'a self, keys: Vec<(Store, Key)>) -> Pending<'a, Vec<Option<Record>>> {
        self.memory.get(keys)
    }
    fn scan<'a>(&'a self, query: Query) -> Pending<'a, Vec<(Key, Record)>> {
        self.memory.scan(query)
    }
    fn count<'a>(&'a self, store: Store, prefix: Key) -> Pending<'a, u64> {
        self.memory.count(store, prefix)
    }
    fn commit<'a>(&'a self, commit: Commit) -> Pending<'a, bool> {
        Box::pin(async move {
            let is_strict = commit.strict;
            let done = self.memory.commit(commit).await?;
            if done && is_strict {
                let records = self.records().await;
                *self.on_disk.borrow_mut() = records;
            }
            Ok(done)
        })
    }
    fn usage<'a>(&'a self) -> Pending<'a, StorageUsage> {
        self.memory.usage()
    }
    fn destroy<'a>(&'a self) -> Pending<'a, ()> {
        self.memory.destroy()
    }
    fn close(&self) {}
    fn is_durable(&self) -> bool {
        true
    }
}

fn world(disk: &Disk) -> World {
    let disk = disk.clone();
    let policy = Policy { durability: Durability::Relaxed, ..Policy::default() };
    World { storage: Rc::new(move || Rc::new(disk.clone())), policy, ..World::default() }
}

async fn say(engine: &Engine, id: &str, text: &str) -> Result<Seq> {
    let appended = engine.append(append(id, vec![message("user", text)])).await?;
    assert!(!appended.iter().any(|one| one.durable));
    Ok(appended.last().map_or(0, |one| one.seq))
}

async fn texts(engine: &Engine, id: &str) -> Vec<String> {
    let raw = engine.history(id, None, None, None).await.expect("reads");
    let read = |raw: &String| serde_json::from_str::<serde_json::Value>(raw).expect("is JSON")["content"].to_string();
    raw.iter().map(|raw| read(raw).trim_matches('"').to_owned()).collect()
}

fn update(status: MessageStatus) -> StreamUpdate {
    let message = Some(message_with_id("s", "assistant", "whole"));
    StreamUpdate { conversation_id: "c".into(), id: "s".into(), seq: 3, message, status }
}

/// Which commits waited for the disk, and what was answered about it.
async fn writes(durability: Durability) -> (Vec<bool>, Vec<bool>) {
    let store = FaultyStore::new(Disk::default());
    let kept = store.clone();
    let policy = Policy { durability, ..Policy::default() };
    let world = World { storage: Rc::new(move || Rc::new(kept.clone())), policy, ..World::default() };
    let engine = world.open().await;
    conversation(&engine, "c").await;
    let before = store.commits().len();
    let mut answered = Vec::new();
    let first = || append("c", vec![message_with_id("a", "user", "one")]);
    answered.extend(engine.append(first()).await.expect("stores"));
    // Again: whoever stored it may not have waited.
    answered.extend(engine.append(first()).await.expect("is there"));
    let edit = serde_json::json!({ "conversationId": "c", "messageId": "a", "message": message("user", "two") });
    let edited = engine.edit(serde_json::from_value::<EditRequest>(edit).expect("reads")).await.expect("stores");
    let streaming = AppendRequest { streaming: true, ..append("c", vec![message_with_id("s", "assistant", "")]) };
    answered.extend(engine.append(streaming).await.expect("stores"));
    answered.push(engine.update_stream(update(MessageStatus::Streaming)).await.expect("stores"));
    answered.push(engine.update_stream(update(MessageStatus::Complete)).await.expect("stores"));
    let imported = AppendRequest { imported: true, ..append("c", vec![message("user", "old")]) };
    answered.extend(engine.append(imported).await.expect("stores"));
    engine.erase(EraseRequest { user: true, ..EraseRequest::default() }).await.expect("erases");
    let strict = store.commits()[before..].iter().map(|commit| commit.strict).collect();
    let mut durable: Vec<bool> = answered.iter().map(|one| one.durable).collect();
    durable.insert(2, edited.durable);
    (strict, durable)
}

#[test]
fn what_waits_for_the_disk_is_said_to_be_there() {
    now(async {
        let (strict, durable) = writes(Durability::Strict).await;
        assert_eq!(durable, [true, true, true, true, false, true, false]);
        assert_eq!(strict[..7], [true, true, true, true, false, true, false]);
        assert!(strict[7..].iter().any(|strict| *strict), "erasing always waits");
        let (strict, durable) = writes(Durability::Relaxed).await;
        assert_eq!(durable, [false; 7]);
        // The second call of the same message writes nothing.
        assert_eq!(strict[..6], [false; 6]);
        assert!(strict[6..].iter().any(|strict| *strict), "erasing always waits");
    });
}

#[test]
fn what_is_not_on_disk_is_counted_until_a_barrier_has_succeeded() {
    now(async {
        let store = FaultyStore::new(Disk::default());
        let kept = store.clone();
        let engine = World { storage: Rc::new(move || Rc::new(kept.clone())), ..world(&Disk::default()) }.open().await;
        conversation(&engine, "c").await;
        assert_eq!(engine.unsynced(), 0);
        say(&engine, "c", "one").await.expect("stores");
        engine.append(append("c", vec![message("user", "two"), message("user", "three")])).await.expect("stores");
        assert_eq!(engine.unsynced(), 3);
        store.script_commits([Fault::FailBefore(Code::StorageUnavailable)]);
        let failed = engine.flush().await.expect_err("fails");
        assert_eq!((failed.code, failed.lost, engine.unsynced()), (Code::StorageUnavailable, 0, 3));
        engine.flush().await.expect("writes");
        assert_eq!(engine.unsynced(), 0);

        let in_memory = World::default().open().await;
        conversation(&in_memory, "c").await;
        say(&in_memory, "c", "one").await.expect("stores");
        in_memory.flush().await.expect("does nothing");
        assert_eq!(in_memory.unsynced(), 1, "nothing makes it outlive the process");
    });
}

#[test]
fn what_is_lost_is_told_once_and_its_places_are_free_again() {
    now(async {
        for by_flush in [true, false] {
            let disk = Disk::default();
            let engine = world(&disk).open().await;
            for id in ["a", "b"] {
                conversation(&engine, id).await;
                say(&engine, id, "kept").await.expect("stores");
            }
            engine.flush().await.expect("writes");
            for text in ["gone", "gone too"] {
                say(&engine, "a", text).await.expect("stores");
            }
            say(&engine, "b", "gone as well").await.expect("stores");
            disk.lose().await;
            if by_flush {
                let told = engine.flush().await.expect_err("tells");
                assert_eq!((told.code, told.lost), (Code::StorageCorrupt, 3));
            } else {
                let told = say(&engine, "a", "new").await.expect_err("tells");
                assert_eq!((told.code, told.lost), (Code::StorageCorrupt, 2));
                let told = say(&engine, "b", "new").await.expect_err("tells");
                assert_eq!(told.lost, 1);
            }
            assert_eq!(texts(&engine, "a").await, ["kept"]);
            assert_eq!(say(&engine, "a", "new").await.expect("goes on"), 2);
            engine.flush().await.expect("is not told again");
            assert_eq!(engine.unsynced(), 0);
            disk.lose().await;
            let other = world(&disk).open().await;
            for engine in [&engine, &other] {
                assert_eq!(texts(engine, "a").await, ["kept", "new"]);
                assert_eq!(texts(engine, "b").await, ["kept"]);
            }
        }
    });
}

#[test]
fn what_others_did_to_a_conversation_is_no_loss() {
    now(async {
        let disk = Disk::default();
        let (engine, other) = (world(&disk).open().await, world(&disk).open().await);
        for id in ["longer", "deleted", "anew"] {
            conversation(&engine, id).await;
            say(&engine, id, "one").await.expect("stores");
            say(&engine, id, "two").await.expect("stores");
        }
        say(&other, "longer", "three").await.expect("stores");
        for id in ["deleted", "anew"] {
            other.delete_conversation(id).await.expect("deletes");
        }
        conversation(&other, "anew").await;
        engine.flush().await.expect("is no loss");
        assert_eq!(say(&engine, "longer", "four").await.expect("stores"), 4);
        assert_eq!(say(&engine, "anew", "one").await.expect("stores"), 1);
        assert_eq!(say(&engine, "deleted", "one").await.expect_err("is gone").code, Code::NotFound);
    });
}

proptest! {
    /// Appends, barriers, and losses in any order: what a barrier has covered is there, what is there is a prefix of what was
    /// said, and each loss is told with its number before anything takes its place.
    #[test]
    fn a_loss_is_what_came_after_the_last_barrier_and_is_told(
        steps in prop::collection::vec((0_usize..10, 0_usize..3), 1..60)
    ) {
        now(async {
            let disk = Disk::default();
            let engine = world(&disk).open().await;
            let ids = ["a", "b", "c"];
            for id in ids {
                conversation(&engine, id).await;
            }
            // What was said and not told as lost; how much of it storage has now, and how much is on disk.
            let mut said: [Vec<String>; 3] = Default::default();
            let (mut live, mut safe) = ([0_usize; 3], [0_usize; 3]);
            for (number, (step, at)) in steps.into_iter().enumerate() {
                match step {
                    0..7 => {
                        let text = format!("message {number}");
                        let missing = said[at].len() - live[at];
                        match say(&engine, ids[at], &text).await {
                            Ok(seq) => {
                                prop_assert_eq!(missing, 0, "nothing takes the place of what is lost");
                                said[at].push(text);
                                live[at] += 1;
                                prop_assert_eq!(seq as usize, live[at]);
                            }
                            Err(told) => {
                                prop_assert_eq!((told.code, told.lost as usize), (Code::StorageCorrupt, missing));
                                said[at].truncate(live[at]);
                            }
                        }
                    }
                    7..9 => {
                        let missing: usize = (0..3).map(|at| said[at].len() - live[at]).sum();
                        let told = engine.flush().await.err().map_or(0, |told| told.lost as usize);
                        prop_assert_eq!(told, missing);
                        safe = live;
                        (0..3).for_each(|at| said[at].truncate(live[at]));
                    }
                    _ => {
                        disk.lose().await;
                        live = safe;
                    }
                }
            }
            disk.lose().await;
            let reopened = world(&disk).open().await;
            for at in 0..3 {
                prop_assert_eq!(&texts(&reopened, ids[at]).await[..], &said[at][..safe[at]]);
            }
            Ok(())
        })?;
    }
}
