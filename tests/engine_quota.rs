//! A full disk: nothing is half written, memory says what storage says, and making room always works.

#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use host::{ScriptedModel, World, append, conversation, message};
use std::cell::Cell;
use std::rc::Rc;
use throughline::engine::{AppendRequest, Engine, EraseRequest, RemoveRequest};
use throughline::error::{Code, Error, Result};
use throughline::key;
use throughline::ports::{Commit, Key, ModelRequest, Pending, Purpose, Query, Record, Storage, Store};
use throughline::store::StorageUsage;
use throughline::store::memory::MemoryStore;
use throughline::store::reserve::Reserve;

/// Refuses as a browser does: a commit that puts anything where there is no room for it, whatever it removes beside.
#[derive(Clone, Default)]
struct Full {
    inner: MemoryStore,
    quota_bytes: Rc<Cell<usize>>,
}

impl Full {
    async fn used(&self) -> usize {
        let mut used = 0;
        for store in Store::ALL {
            used += bytes(&self.inner.scan(Query::prefix(store, key![])).await.expect("reads"));
        }
        used
    }

    /// From now on there is room for so many bytes more.
    async fn leave(&self, bytes: usize) {
        self.quota_bytes.set(self.used().await + bytes);
    }
}

fn bytes(records: &[(Key, Record)]) -> usize {
    records.iter().map(|(_, record)| record.body.len() + record.blob.as_ref().map_or(0, Vec::len)).sum()
}

impl Storage for Full {
    fn get<'a>(&'a self, keys: Vec<(Store, Key)>) -> Pending<'a, Vec<Option<Record>>> {
        self.inner.get(keys)
    }

    fn scan<'a>(&'a self, query: Query) -> Pending<'a, Vec<(Key, Record)>> {
        self.inner.scan(query)
    }

    fn count<'a>(&'a self, store: Store, prefix: Key) -> Pending<'a, u64> {
        self.inner.count(store, prefix)
    }

    fn commit<'a>(&'a self, commit: Commit) -> Pending<'a, bool> {
        Box::pin(async move {
            let put: usize = commit.puts.iter().map(|(_, key, record)| bytes(&[(key.clone(), record.clone())])).sum();
            // A browser has to write something to carry a barrier out.
            let is_barrier = commit == Commit { strict: true, ..Commit::default() };
            let put = put + usize::from(is_barrier);
            if put > 0 && self.used().await + put > self.quota_bytes.get() {
                return Err(Error::new(Code::StorageQuotaExceeded, "full"));
            }
            self.inner.commit(commit).await
        })
    }

    fn usage<'a>(&'a self) -> Pending<'a, StorageUsage> {
        self.inner.usage()
    }

    fn destroy<'a>(&'a self) -> Pending<'a, ()> {
        self.inner.destroy()
    }

    fn close(&self) {
        self.inner.close();
    }

    fn is_durable(&self) -> bool {
        true
    }
}

fn world(full: &Full) -> World {
    full.quota_bytes.set(usize::MAX);
    let full = full.clone();
    let summarizing = ScriptedModel::answering(|request: &ModelRequest| {
        (request.purpose == Purpose::Summarize).then(|| host::SUMMARY.to_owned())
    });
    let mut world = World {
        storage: Rc::new(move || Rc::new(Reserve::new(Rc::new(full.clone())))),
        ..World::default().with_model(summarizing)
    };
    world.policy.compaction.automatic = false;
    world.policy.facts.extract = false;
    world
}

async fn say(engine: &Engine, id: &str, count: usize) -> Result<()> {
    for number in 0..count {
        let text = format!("message {number} {}", "words and more words ".repeat(20));
        engine.append(append(id, vec![message("user", &text)])).await?;
    }
    Ok(())
}

/// What one engine says is what another one reads from storage.
async fn memory_is_disk(world: &World, engine: &Engine) {
    let other = world.open().await;
    let (here, there) = (engine.stats().await.expect("reads"), other.stats().await.expect("reads"));
    assert_eq!((here.conversations, here.messages, here.tokens), (there.conversations, there.messages, there.tokens));
    for item in other.list_conversations(None, None).await.expect("reads").items {
        let history = engine.history(&item.id, None, None, None).await.expect("reads");
        assert_eq!(history, other.history(&item.id, None, None, None).await.expect("reads"));
        assert_eq!(history.len(), item.message_count as usize);
    }
}

async fn filled(full: &Full) -> (World, Engine) {
    let world = world(full);
    let engine = world.open().await;
    for id in ["a", "b", "c"] {
        conversation(&engine, id).await;
        say(&engine, id, 40).await.expect("there is room");
    }
    (world, engine)
}

fn code<T>(result: Result<T>) -> Option<Code> {
    result.err().map(|error| error.code)
}

#[test]
fn what_does_not_fit_is_refused_whole_and_goes_in_once_there_is_room() {
    block_on(async {
        let full = Full::default();
        let (world, engine) = filled(&full).await;
        full.leave(100).await;
        assert_eq!(code(say(&engine, "a", 1).await), Some(Code::StorageQuotaExceeded));
        let imported = AppendRequest { imported: true, ..append("a", vec![message("user", "older")]) };
        assert_eq!(code(engine.append(imported).await), Some(Code::StorageQuotaExceeded));
        let fact = serde_json::from_value(serde_json::json!({ "fact": "Likes tea" })).expect("is a fact");
        assert_eq!(code(engine.add_fact(fact).await), Some(Code::StorageQuotaExceeded));
        memory_is_disk(&world, &engine).await;
        assert_eq!(engine.history("a", None, None, None).await.expect("reads").len(), 40);

        engine.delete_conversation("b").await.expect("makes room");
        say(&engine, "a", 2).await.expect("there is room again");
        memory_is_disk(&world, &engine).await;
    });
}

#[test]
fn everything_that_makes_room_works_on_a_full_disk() {
    block_on(async {
        let full = Full::default();
        let (world, engine) = filled(&full).await;
        say(&engine, "c", 400).await.expect("there is room");
        full.leave(0).await;
        engine.flush().await.expect("puts on disk what is there");
        let summary = engine.compact("c", true).await.expect("summarises");
        assert!(summary.version > 0);
        for seq in [3, 7, 20] {
            let removal =
                RemoveRequest { conversation_id: "a".into(), message_id: format!("seq:{seq}"), descendants: false };
            engine.remove(removal).await.expect("removes");
        }
        engine.delete_conversation("b").await.expect("erases");
        memory_is_disk(&world, &engine).await;
        engine.erase(EraseRequest { user: true, ..EraseRequest::default() }).await.expect("erases everything");
        conversation(&engine, "new").await;
        say(&engine, "new", 3).await.expect("there is room again");
        memory_is_disk(&world, &engine).await;
    });
}

#[test]
fn nothing_else_takes_what_is_kept_free() {
    block_on(async {
        let full = Full::default();
        let (world, engine) = filled(&full).await;
        engine.append(append("a", vec![message("user", "short"), message("user", "brief")])).await.expect("stores");
        full.leave(0).await;
        // Uses the reserve, and frees next to nothing itself.
        for seq in [41, 42] {
            let message_id = format!("seq:{seq}");
            let removal = RemoveRequest { conversation_id: "a".into(), message_id, descendants: false };
            engine.remove(removal).await.expect("the room is still there");
            assert_eq!(code(say(&engine, "a", 1).await), Some(Code::StorageQuotaExceeded), "after message {seq}");
        }
        for id in ["b", "c"] {
            engine.delete_conversation(id).await.expect("erases");
        }
        engine
            .erase(EraseRequest { conversation_id: Some("a".into()), ..EraseRequest::default() })
            .await
            .expect("erases");
        conversation(&engine, "new").await;
        memory_is_disk(&world, &engine).await;
        assert!(full.count(Store::Meta, key!["reserve"]).await.expect("reads") > 0, "it is kept again");
    });
}

/// Segments that do not fit leave nothing behind, searches answer from the messages, and sealing goes on once there is room.
#[test]
fn sealing_that_does_not_fit_leaves_no_half_and_goes_on_later() {
    block_on(async {
        let full = Full::default();
        let (world, engine) = filled(&full).await;
        let more: Vec<String> =
            (0..600).map(|number| message("user", &format!("note {number} about tomatoes"))).collect();
        engine.append(append("a", more)).await.expect("there is room");
        let recall = || serde_json::from_value(serde_json::json!({ "query": "note 77" })).expect("is a request");
        let before = engine.recall(recall()).await.expect("searches");
        assert!(!before.is_empty());
        for room in [1_000, 20_000] {
            full.leave(room).await;
            let engine = world.open().await;
            world.events.borrow_mut().clear();
            engine.settled().await.expect("is no job that waits");
            let told = world.events.borrow().iter().any(|event| event.payload["code"] == "storage_quota_exceeded");
            assert!(told, "nobody was told that a segment does not fit into {room} bytes");
            for store in [Store::Segments, Store::SegmentChunks] {
                assert_eq!(full.count(store, key![]).await, Ok(0), "half a segment with {room} bytes");
            }
            assert_eq!(engine.recall(recall()).await.expect("searches"), before);
            memory_is_disk(&world, &engine).await;
        }
        full.quota_bytes.set(usize::MAX);
        let engine = world.open().await;
        engine.settled().await.expect("goes on");
        assert!(engine.stats().await.expect("reads").segments.count > 0);
        let reopened = world.open().await;
        assert_eq!(reopened.recall(recall()).await.expect("searches"), before);
    });
}

/// Who has no room left can take everything elsewhere. When the backup was made is noted once there is room for that.
#[test]
fn a_backup_of_a_full_disk_is_whole() {
    use throughline::engine::{BackupPart, BackupRequest};
    block_on(async {
        let full = Full::default();
        let (_world, engine) = filled(&full).await;
        let read = async |part, id: &str| {
            let conversation_id = Some(id.to_owned()).filter(|id| !id.is_empty());
            engine.backup(BackupRequest { part, conversation_id, from: 1, to: 40 }).await.expect("reads")
        };
        full.leave(0).await;
        let ids = read(BackupPart::Ids, "").await.conversation_ids;
        let mut lines = 0;
        for id in &ids {
            for part in [BackupPart::Conversation, BackupPart::Messages, BackupPart::Summaries] {
                lines += read(part, id).await.lines.len();
            }
        }
        lines += read(BackupPart::Facts, "").await.lines.len();
        assert_eq!(lines, 3 + 120);
        read(BackupPart::Done, "").await;
        assert_eq!(engine.stats().await.expect("reads").last_export_at, None);
        engine.delete_conversation("b").await.expect("makes room");
        full.leave(1_000_000).await;
        read(BackupPart::Done, "").await;
        assert!(engine.stats().await.expect("reads").last_export_at.is_some_and(|at| at > 1e12));
        engine.erase(EraseRequest { user: true, ..EraseRequest::default() }).await.expect("erases");
        assert_eq!(engine.stats().await.expect("reads").last_export_at, None);
    });
}

#[test]
fn background_work_that_does_not_fit_is_told_and_loses_nothing() {
    block_on(async {
        let full = Full::default();
        let (world, engine) = filled(&full).await;
        let world = world.with_embedder();
        engine.close();
        let engine = world.open().await;
        full.leave(1_000).await;
        drop(engine.settled().await);
        let told = world.events.borrow().iter().any(|event| event.name == "error");
        full.quota_bytes.set(usize::MAX);
        world.clock.advance(3_600_000.0);
        engine.settled().await.expect("goes on");
        assert_eq!(engine.stats().await.expect("reads").vectors, 120);
        assert!(told, "nobody was told that the disk is full");
        memory_is_disk(&world, &engine).await;
    });
}
