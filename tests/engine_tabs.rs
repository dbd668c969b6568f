//! Two engines on one store, as two tabs: what one writes the other finds at once, and where nothing was written neither
//! reads all conversations again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use host::{World, append, conversation, message};
use serde_json::json;
use std::cell::Cell;
use std::rc::Rc;
use throughline::engine::{CatchUp, ConversationUpdate, Engine, EraseRequest, RecallRequest};
use throughline::error::Code;
use throughline::key;
use throughline::ports::{Commit, Key, Pending, Query, Record, Storage, Store};
use throughline::store::StorageUsage;
use throughline::store::faulty::FaultyStore;
use throughline::store::memory::MemoryStore;

/// Counts how often all conversation records are read, and how often anything is.
struct Counting {
    inner: Rc<dyn Storage>,
    reads: Rc<Cell<u32>>,
    requests: Rc<Cell<u32>>,
}

impl Storage for Counting {
    fn get<'a>(&'a self, keys: Vec<(Store, Key)>) -> Pending<'a, Vec<Option<Record>>> {
        self.requests.set(self.requests.get() + 1);
        self.inner.get(keys)
    }
    fn scan<'a>(&'a self, query: Query) -> Pending<'a, Vec<(Key, Record)>> {
        self.requests.set(self.requests.get() + 1);
        self.reads.set(self.reads.get() + u32::from(query.store == Store::Conversations));
        self.inner.scan(query)
    }
    fn count<'a>(&'a self, store: Store, prefix: Key) -> Pending<'a, u64> {
        self.inner.count(store, prefix)
    }
    fn commit<'a>(&'a self, commit: Commit) -> Pending<'a, bool> {
        self.inner.commit(commit)
    }
    fn usage<'a>(&'a self) -> Pending<'a, StorageUsage> {
        self.inner.usage()
    }
    fn destroy<'a>(&'a self) -> Pending<'a, ()> {
        self.inner.destroy()
    }
    fn close(&self) {}
    fn is_durable(&self) -> bool {
        self.inner.is_durable()
    }
}

fn world() -> (World, Rc<Cell<u32>>) {
    let (world, reads, _) = counted_world();
    (world, reads)
}

fn counted_world() -> (World, Rc<Cell<u32>>, Rc<Cell<u32>>) {
    let mut world = World::default();
    let (reads, requests) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let (open, all, any) = (Rc::clone(&world.storage), Rc::clone(&reads), Rc::clone(&requests));
    world.storage =
        Rc::new(move || Rc::new(Counting { inner: open(), reads: Rc::clone(&all), requests: Rc::clone(&any) }));
    (world, reads, requests)
}

async fn found(engine: &Engine, query: &str) -> Vec<String> {
    let request: RecallRequest = serde_json::from_value(json!({ "query": query })).unwrap();
    let groups = engine.recall(request).await.unwrap();
    groups.into_iter().map(|group| group.conversation_id).collect()
}

async fn say(engine: &Engine, id: &str, text: &str) {
    engine.append(append(id, vec![message("user", text)])).await.unwrap();
}

#[test]
fn what_one_tab_writes_the_other_finds_at_once() {
    block_on(async {
        let (world, _) = world();
        let (one, other) = (world.open().await, world.open().await);
        for round in 0..3 {
            // Each in turn makes a conversation, adds to that of the other, and removes one.
            for (writer, reader) in [(&one, &other), (&other, &one)] {
                let id = format!("c{round}");
                conversation(writer, &id).await;
                say(writer, &id, "the harbour of Valparaiso").await;
                assert_eq!(found(reader, "Valparaiso").await, [id.as_str()]);
                say(reader, &id, "a lighthouse in Reykjavik").await;
                assert_eq!(found(writer, "Reykjavik").await, [id.as_str()]);
                let update = json!({ "id": id, "remember": false });
                let update: ConversationUpdate = serde_json::from_value(update).unwrap();
                writer.update_conversation(update).await.unwrap();
                assert!(found(reader, "Reykjavik").await.is_empty());
                let request: EraseRequest = serde_json::from_value(json!({ "conversationId": id })).unwrap();
                reader.erase(request).await.unwrap();
                assert!(writer.list_conversations(None, None).await.unwrap().items.is_empty());
            }
        }
    });
}

#[test]
fn tabs_that_write_at_the_same_time_see_each_other() {
    block_on(async {
        let (world, _) = world();
        let (one, other) = (world.open().await, world.open().await);
        for (engine, id) in [(&one, "mine"), (&other, "yours")] {
            conversation(engine, id).await;
        }
        // Neither has looked at what the other wrote since.
        for turn in 0..5 {
            say(&one, "mine", &format!("apple number {turn}")).await;
            say(&other, "yours", &format!("apple again {turn}")).await;
        }
        for engine in [&one, &other] {
            let mut found = found(engine, "apple").await;
            found.sort();
            found.dedup();
            assert_eq!(found, ["mine", "yours"]);
        }
    });
}

#[test]
fn all_conversations_are_read_again_only_where_something_was_written_elsewhere() {
    block_on(async {
        let (world, reads) = world();
        let (one, other) = (world.open().await, world.open().await);
        conversation(&one, "c").await;
        say(&one, "c", "the harbour of Valparaiso").await;
        let counted = async |engine: &Engine| {
            let before = reads.get();
            assert_eq!(found(engine, "Valparaiso").await, ["c"]);
            reads.get() - before
        };
        assert_eq!((counted(&other).await, counted(&other).await), (1, 0), "once for what the other tab wrote");
        say(&other, "c", "and a second thing").await;
        assert_eq!(counted(&other).await, 0, "one's own writing is known");
        assert_eq!((counted(&one).await, counted(&one).await), (1, 0));
    });
}

/// How many messages with this word are found by it.
async fn found_with(engine: &Engine, id: Option<&str>, word: &str) -> usize {
    let request = json!({ "query": word, "conversationId": id, "before": 0, "after": 0 });
    let groups = engine.recall(serde_json::from_value(request).unwrap()).await.unwrap();
    groups.iter().flat_map(|group| &group.messages).filter(|message| message.contains(word)).count()
}

#[test]
fn a_search_of_what_is_here_asks_storage_once_and_still_sees_what_another_tab_did() {
    block_on(async {
        let (world, _, requests) = counted_world();
        let world = world.with_embedder();
        let (one, other) = (world.open().await, world.open().await);
        for id in ["c", "d"] {
            conversation(&one, id).await;
            say(&one, id, "the harbour of Valparaiso").await;
        }
        one.settled().await.unwrap();
        let asked = async |engine: &Engine, only: Option<&str>| {
            let before = requests.get();
            (found_with(engine, only, "Valparaiso").await, requests.get() - before)
        };
        asked(&one, None).await;
        assert_eq!((asked(&one, None).await.1, asked(&one, Some("c")).await), (1, (1, 1)));
        // Another tab adds, embeds and removes: each is seen by the next search, of all and of one.
        say(&other, "c", "a lighthouse in Reykjavik").await;
        assert_eq!(found_with(&one, Some("c"), "lighthouse").await, 1);
        other.settled().await.unwrap();
        let request = json!({ "query": "lighthouse", "conversationId": "c" });
        let groups = one.recall(serde_json::from_value(request).unwrap()).await.unwrap();
        assert!(groups[0].hits[0].scores.cosine.is_some(), "the vector that the other tab made");
        say(&other, "d", "a lighthouse in Bergen").await;
        assert_eq!(found_with(&one, None, "lighthouse").await, 2);
        let request = json!({ "conversationId": "c", "messageId": "seq:2" });
        other.erase(serde_json::from_value(request).unwrap()).await.unwrap();
        assert_eq!(found_with(&one, Some("c"), "lighthouse").await, 0);
        assert_eq!(asked(&one, Some("c")).await, (1, 1), "and then it is here again");
        let request: EraseRequest = serde_json::from_value(json!({ "conversationId": "c" })).unwrap();
        other.erase(request).await.unwrap();
        let request = json!({ "query": "harbour", "conversationId": "c" });
        let error = one.recall(serde_json::from_value(request).unwrap()).await.unwrap_err();
        assert_eq!(error.code, Code::NotFound);
        assert_eq!(found_with(&one, None, "harbour").await, 1);
    });
}

#[test]
fn what_another_tab_writes_while_a_question_is_embedded_is_found() {
    block_on(async {
        let world = World::default().with_embedder();
        let (one, other) = (world.open().await, world.open().await);
        conversation(&one, "c").await;
        say(&one, "c", "the harbour of Valparaiso").await;
        one.settled().await.unwrap();
        for (only, word) in [(None, "zeppelin"), (Some("c"), "biplane")] {
            assert_eq!((found_with(&one, only, "harbour").await, found_with(&one, only, word).await), (1, 0));
            world.embedder.as_ref().unwrap().script.borrow_mut().push_back(host::EmbedFault::Late(3));
            let searching = found_with(&one, only, word);
            let text = format!("the {word} has landed");
            let (count, ()) = futures_util::future::join(searching, say(&other, "c", &text)).await;
            assert_eq!(count, 1, "{only:?}");
        }
    });
}

#[test]
fn a_store_without_a_stamp_is_read_every_time() {
    block_on(async {
        let (world, reads) = world();
        let one = world.open().await;
        conversation(&one, "c").await;
        say(&one, "c", "the harbour of Valparaiso").await;
        let stamp = (Store::Meta, key!["conversation_stamp"]);
        let storage = (world.storage)();
        assert!(storage.get(vec![stamp.clone()]).await.unwrap()[0].is_some());
        storage.commit(Commit { deletes: vec![stamp], ..Commit::default() }).await.unwrap();
        let old = world.open().await;
        for _ in 0..2 {
            let before = reads.get();
            assert_eq!(found(&old, "Valparaiso").await, ["c"]);
            assert_eq!(reads.get() - before, 1);
        }
    });
}

#[test]
fn what_another_tab_erased_leaves_the_memory_of_one_that_is_told() {
    block_on(async {
        let (world, _) = world();
        let (one, other) = (world.open().await, world.open().await);
        for id in ["kept", "gone"] {
            conversation(&one, id).await;
            say(&one, id, &format!("the harbour of Valparaiso, {id}")).await;
        }
        assert_eq!(found(&other, "Valparaiso").await.len(), 2);
        let both = other.index_bytes();
        let erase = |what: serde_json::Value| one.erase(serde_json::from_value::<EraseRequest>(what).unwrap());
        erase(json!({ "conversationId": "gone" })).await.unwrap();
        let told = CatchUp { conversation_ids: vec!["gone".to_owned()], all: false };
        other.catch_up(told).await.unwrap();
        let left = other.index_bytes();
        assert!(left < both, "{both} -> {left}");
        erase(json!({ "user": true })).await.unwrap();
        other.catch_up(CatchUp { conversation_ids: Vec::new(), all: true }).await.unwrap();
        assert!(other.index_bytes() < left);
    });
}

#[test]
fn where_the_data_is_gone_nothing_of_it_stays_in_memory() {
    block_on(async {
        let store = FaultyStore::new(MemoryStore::new());
        let mut world = World::default();
        let opened = store.clone();
        world.storage = Rc::new(move || Rc::new(opened.clone()));
        let engine = world.open().await;
        conversation(&engine, "c").await;
        say(&engine, "c", "the harbour of Valparaiso").await;
        assert_eq!(found(&engine, "Valparaiso").await, ["c"]);
        let before = engine.index_bytes();
        store.fail_next_reads(1, Code::StorageUnavailable);
        let all = CatchUp { conversation_ids: Vec::new(), all: true };
        assert_eq!(engine.catch_up(all).await.unwrap_err().code, Code::StorageUnavailable);
        assert!(engine.index_bytes() < before);
        // What is still there after all is found again.
        assert_eq!(found(&engine, "Valparaiso").await, ["c"]);
    });
}
