//! What outlives a lost answer, a stolen lock and another version: calls with names, the lease of background work, data
//! that a newer version wrote.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use futures_util::future::join;
use host::kept::Kept;
use host::{LocalLocks, ScriptedModel, World, append, conversation, message, message_with_id};
use serde_json::json;
use std::cell::Cell;
use std::rc::Rc;
use throughline::engine::{AppendRequest, CatchUp, EditRequest, Engine, NewFact, RecallRequest};
use throughline::error::Code;
use throughline::key;
use throughline::ports::{Commit, Key, Query, Record, Storage, Store};
use throughline::store::faulty::{Fault, FaultyStore};
use throughline::store::memory::MemoryStore;

fn world() -> (World, FaultyStore<MemoryStore>) {
    let store = FaultyStore::new(MemoryStore::new());
    let mut world = World::default();
    let opened = store.clone();
    world.storage = Rc::new(move || Rc::new(Kept::of(Rc::new(opened.clone()))));
    (world, store)
}

fn named(call: &str, messages: Vec<String>) -> AppendRequest {
    AppendRequest { call: Some(call.to_owned()), ..append("c", messages) }
}

async fn texts(engine: &Engine) -> Vec<String> {
    let messages = engine.history("c", None, None, None).await.unwrap();
    let content = |raw: &String| serde_json::from_str::<serde_json::Value>(raw).unwrap()["content"].clone();
    messages.iter().map(|raw| content(raw).as_str().unwrap().to_owned()).collect()
}

/// The write went through and its answer was lost: carried out again, by this engine or the next, it answers where the
/// messages are and stores nothing.
#[test]
fn a_named_call_whose_answer_was_lost_is_not_carried_out_twice() {
    block_on(async {
        let (world, store) = world();
        let mut engine = world.open().await;
        conversation(&engine, "c").await;
        let before = engine.append(named("first", vec![message("user", "zero")])).await.unwrap();
        assert_eq!(before[0].seq, 1);
        let messages = [message("user", "one"), message_with_id("own", "assistant", "two"), message("user", "three")];
        for (call, replaced) in [("lost", false), ("replaced", true)] {
            store.script_commits([Fault::FailAfter(Code::StorageUnavailable)]);
            let messages: Vec<String> = messages.iter().map(|text| text.replace("own", call)).collect();
            let failed = engine.append(named(call, messages.clone())).await.unwrap_err();
            assert_eq!(failed.code, Code::StorageUnavailable);
            // Another tab writes in between.
            engine_of(&world).await.append(append("c", vec![message("user", "another tab")])).await.unwrap();
            if replaced {
                engine.close();
                engine = world.open().await;
            }
            let answer = engine.append(named(call, messages.clone())).await.unwrap();
            let first = if replaced { 6 } else { 2 };
            let places: Vec<(String, u32)> = answer.into_iter().map(|one| (one.id, one.seq)).collect();
            let third = format!("seq:{}", first + 2);
            assert_eq!(places, [(format!("seq:{first}"), first), (call.to_owned(), first + 1), (third, first + 2)]);
        }
        let told = texts(&engine).await;
        assert_eq!(told, ["zero", "one", "two", "three", "another tab", "one", "two", "three", "another tab"]);
        // The next call is one of its own, and takes the note of the last one with it.
        engine.append(named("next", vec![message("user", "one")])).await.unwrap();
        engine.append(named("last", vec![message("user", "one")])).await.unwrap();
        assert_eq!(texts(&engine).await.len(), 11);
        let notes = store.scan(Query::between(Store::MessageIds, key!["c"], "call:", "call;")).await.unwrap();
        let notes: Vec<Key> = notes.into_iter().map(|(key, _)| key).collect();
        assert_eq!(notes, [key!["c", "call:last"]]);
    });
}

async fn engine_of(world: &World) -> Engine {
    world.open().await
}

#[test]
fn a_stream_and_an_edit_begin_once_though_their_answers_are_lost() {
    block_on(async {
        let (world, store) = world();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let asked = engine.append(append("c", vec![message("user", "Why?")])).await.unwrap();
        for id in [None, Some("own")] {
            let begin = id.map_or_else(|| message("assistant", ""), |id| message_with_id(id, "assistant", ""));
            let request = AppendRequest { streaming: true, ..named(id.unwrap_or("stream"), vec![begin]) };
            store.script_commits([Fault::FailAfter(Code::StorageUnavailable)]);
            engine.append(request.clone()).await.unwrap_err();
            let begun = engine.append(request).await.unwrap();
            assert_eq!(begun[0].seq, if id.is_none() { 2 } else { 3 });
        }
        let edit = EditRequest {
            conversation_id: "c".into(),
            message_id: asked[0].id.clone(),
            message: message("user", "Why not?"),
            call: Some("edit".into()),
            ..EditRequest::default()
        };
        store.script_commits([Fault::FailAfter(Code::StorageUnavailable)]);
        engine.edit(edit.clone()).await.unwrap_err();
        assert_eq!(engine.edit(edit).await.unwrap().seq, 4);
        assert_eq!(engine.history_of_all_branches("c", None, None, None).await.unwrap().len(), 4);
    });
}

/// The epoch in a stored lease.
fn epoch(body: &str) -> u64 {
    serde_json::from_str::<serde_json::Value>(body).unwrap()["epoch"].as_u64().unwrap()
}

/// A tab whose lock was stolen while its model or its embedder was at work: what it commits then changes nothing, and the
/// thief's work stands.
#[test]
fn work_that_ends_after_its_lock_was_stolen_changes_nothing() {
    block_on(async {
        let (world, store) = world();
        let mut world = world.with_embedder();
        let late = world.open().await;
        conversation(&late, "c").await;
        for number in 0..3 {
            late.append(append("c", vec![message("user", &format!("number {number}"))])).await.unwrap();
        }
        // Other locks: as if the first tab's had been taken away.
        world.locks = LocalLocks::default();
        let thief = world.open().await;
        let lease = || async {
            store.get(vec![(Store::Meta, key!["work_lease"])]).await.unwrap().remove(0).map(|one| epoch(&one.body))
        };
        assert_eq!(lease().await, None);
        // The first tab's embedder is slow: the thief takes over, and works, meanwhile.
        let embedder = Rc::clone(world.embedder.as_ref().unwrap());
        embedder.script.borrow_mut().push_back(host::EmbedFault::Late(40));
        let commits = store.commits().len();
        join(late.settled(), async {
            pass_polls(5).await;
            thief.settled().await.unwrap();
        })
        .await
        .0
        .unwrap();
        assert_eq!(lease().await, Some(2), "taken, and stolen");
        let embedded: Vec<Commit> = store.commits().split_off(commits);
        let embedded = embedded.iter().filter(|one| one.puts.iter().any(|(store, ..)| *store == Store::Embeddings));
        let leases: Vec<u64> = embedded
            .flat_map(|one| one.checks.iter().filter(|check| check.key == key!["work_lease"]))
            .map(|check| epoch(check.body.as_deref().unwrap()))
            .collect();
        assert_eq!(leases, [2, 1], "the late commit came under the old lease");
        assert_eq!(store.count(Store::Embeddings, key![]).await, Ok(3));
    });
}

async fn pass_polls(mut polls: u32) {
    std::future::poll_fn(|context| {
        if polls == 0 {
            return std::task::Poll::Ready(());
        }
        polls -= 1;
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

/// One tab that goes on working does not write its lease again.
#[test]
fn the_lease_is_written_once_by_a_tab_that_works_alone() {
    block_on(async {
        let (world, store) = world();
        let world = world.with_embedder();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        for number in 0..4 {
            engine.append(append("c", vec![message("user", &format!("number {number}"))])).await.unwrap();
            engine.settled().await.unwrap();
        }
        let writes = store.commits();
        let writes = writes.iter().filter(|one| one.puts.iter().any(|(_, key, _)| *key == key!["work_lease"]));
        assert_eq!(writes.count(), 1);
    });
}

/// Written by a version of the next hundred: everything can be read and searched, and no byte changes.
#[test]
fn data_of_a_newer_version_can_be_read_and_not_written() {
    block_on(async {
        let (world, store) = world();
        let model = ScriptedModel::answering(|_| None);
        let world = world.with_embedder().with_model(model);
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", vec![message("user", "the harbour of Valparaiso")])).await.unwrap();
        let streaming = AppendRequest { streaming: true, ..append("c", vec![message("assistant", "It is")]) };
        engine.append(streaming).await.unwrap();
        engine.settled().await.unwrap();
        engine.close();
        let schema = Record { body: "{\"version\":200,\"something\":\"new\"}".to_owned(), blob: None };
        let raise = Commit { puts: vec![(Store::Meta, key!["schema"], schema)], ..Commit::default() };
        store.commit(raise).await.unwrap();

        world.clock.advance(600_000.0);
        let commits = store.commits().len();
        let old = world.open().await;
        assert_eq!(texts(&old).await, ["the harbour of Valparaiso", "It is"]);
        let request: RecallRequest = serde_json::from_value(json!({ "query": "Valparaiso" })).unwrap();
        assert_eq!(old.recall(request).await.unwrap().len(), 1);
        old.build_context(host::ask("c", "Which harbour?")).await.unwrap();
        old.catch_up(CatchUp { all: true, ..CatchUp::default() }).await.unwrap();
        old.work().await;
        old.settled().await.unwrap();
        old.flush().await.unwrap();
        assert!(old.stats().await.unwrap().read_only);
        let codes = [
            old.append(append("c", vec![message("user", "no")])).await.err(),
            old.create_conversation(serde_json::from_value(json!({ "id": "d" })).unwrap()).await.err(),
            old.delete_conversation("c").await.err(),
            old.add_fact(serde_json::from_value::<NewFact>(json!({ "fact": "I like ports." })).unwrap()).await.err(),
        ];
        for error in codes {
            let error = error.unwrap();
            assert_eq!(error.code, Code::SchemaTooNew);
            assert!(error.message.contains("reload"), "{error}");
        }
        assert_eq!(store.commits().len(), commits, "nothing reached the store");
    });
}

/// What cannot be read at all is told by that code, too.
#[test]
fn data_of_a_newer_version_that_cannot_be_read_is_told() {
    block_on(async {
        let (world, store) = world();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let record = |body: &str| Record { body: body.to_owned(), blob: None };
        let puts = vec![
            (Store::Meta, key!["schema"], record("{\"version\":1000}")),
            (Store::Conversations, key!["c"], record("{\"entirely\":\"other\"}")),
        ];
        store.commit(Commit { puts, ..Commit::default() }).await.unwrap();
        assert_eq!(world.try_open().await.err().unwrap().code, Code::SchemaTooNew);
    });
}

/// Within the hundred it is written to: a user can go back to an older build.
#[test]
fn data_of_a_later_version_of_this_hundred_is_written_to() {
    block_on(async {
        let (world, store) = world();
        conversation(&world.open().await, "c").await;
        let schema = Record { body: "{\"version\":199}".to_owned(), blob: None };
        store.commit(Commit { puts: vec![(Store::Meta, key!["schema"], schema)], ..Commit::default() }).await.unwrap();
        let older = world.open().await;
        older.append(append("c", vec![message("user", "still here")])).await.unwrap();
        assert!(!older.stats().await.unwrap().read_only);
        let kept = Cell::new(0);
        for (_, record) in store.scan(Query::prefix(Store::Meta, key!["schema"])).await.unwrap() {
            assert_eq!(record.body, "{\"version\":199}");
            kept.set(kept.get() + 1);
        }
        assert_eq!(kept.get(), 1);
    });
}
