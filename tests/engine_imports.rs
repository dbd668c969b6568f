//! The engine's side of an import: trees as they were, times as they were, nothing sent to a language model by itself,
//! and a cost that grows with what is imported and not with what is there.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use host::{ScriptedModel, World, append, conversation, message};
use serde_json::json;
use std::rc::Rc;
use throughline::engine::{AppendRequest, ConversationUpdate, Engine, LeafRequest, NewConversation, RecallRequest};
use throughline::error::Code;
use throughline::ports::{ModelRequest, Purpose};
use throughline::store::Store;
use throughline::store::faulty::FaultyStore;
use throughline::store::memory::MemoryStore;

fn new_conversation(value: serde_json::Value) -> NewConversation {
    serde_json::from_value(value).unwrap()
}

fn dated(id: &str, role: &str, text: &str, seconds: f64) -> String {
    json!({ "id": id, "role": role, "content": text, "created_at": seconds }).to_string()
}

fn imported(messages: Vec<String>, parents: &[Option<&str>], activate: bool) -> AppendRequest {
    AppendRequest {
        parent_ids: Some(parents.iter().map(|parent| parent.map(str::to_owned)).collect()),
        activate: Some(activate),
        imported: true,
        ..append("c", messages)
    }
}

fn model() -> ScriptedModel {
    ScriptedModel::answering(|request: &ModelRequest| match request.purpose {
        Purpose::Summarize => Some(host::SUMMARY.to_owned()),
        Purpose::Extract => Some(r#"{"facts":[]}"#.to_owned()),
        _ => None,
    })
}

async fn finds(engine: &Engine, word: &str) -> bool {
    let request: RecallRequest = serde_json::from_value(json!({ "query": word })).unwrap();
    engine.recall(request).await.unwrap().iter().any(|group| group.messages.concat().contains(word))
}

#[test]
fn a_tree_comes_in_with_its_branches_and_its_times() {
    block_on(async {
        let world = World::default().with_embedder();
        let engine = world.open().await;
        let new = json!({ "id": "c", "createdAt": 1_600_000_000_000.0, "source": "chatgpt", "importHash": "h" });
        let view = engine.create_conversation(new_conversation(new)).await.unwrap();
        assert_eq!((view.created_at, view.updated_at), (1_600_000_000_000.0, 1_600_000_000_000.0));
        let messages = vec![
            dated("a", "user", "Which colour has the kingfisher?", 1_600_000_100.0),
            dated("b", "assistant", "Turquoise.", 1_600_000_200.0),
            dated("b2", "assistant", "Bluish.", 1_600_000_300.0),
        ];
        let appended = engine.append(imported(messages.clone(), &[None, Some("a"), Some("a")], false)).await.unwrap();
        assert_eq!(appended.iter().map(|one| one.seq).collect::<Vec<_>>(), [1, 2, 3]);
        // Not activated: stored, and on no path.
        assert_eq!(engine.history("c", None, None, None).await.unwrap(), Vec::<String>::new());
        assert!(!finds(&engine, "Turquoise").await);
        let leaf = LeafRequest { conversation_id: "c".into(), message_id: "b".into(), descend: false };
        engine.set_active_leaf(leaf).await.unwrap();
        assert_eq!(engine.history("c", None, None, None).await.unwrap(), messages[..2]);
        assert!(finds(&engine, "Turquoise").await && !finds(&engine, "Bluish").await);
        let view = engine.get_conversation("c").await.unwrap();
        assert_eq!((view.updated_at, view.message_count), (1_600_000_300_000.0, 3));
        assert_eq!(view.title, "Which colour has the kingfisher?");
        assert_eq!((view.source.as_deref(), view.import_hash.as_deref()), (Some("chatgpt"), Some("h")));
        // Again, with one more: only that one is new. A parent may be stored or earlier in the call.
        let more = [messages, vec![dated("c", "user", "And the heron?", 1_600_000_400.0)]].concat();
        let again = engine.append(imported(more, &[None, Some("a"), Some("a"), Some("b2")], false)).await.unwrap();
        assert_eq!(again.iter().map(|one| one.seq).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(engine.get_conversation("c").await.unwrap().message_count, 4);
        let tree = engine.tree("c").await.unwrap();
        assert_eq!(tree[3].parent_id.as_deref(), Some("b2"));
        assert_eq!(tree[0].children, ["b", "b2"]);
        // All of them have vectors, of every branch.
        engine.settled().await.unwrap();
        assert_eq!(engine.stats().await.unwrap().vectors, 4);
        let update =
            ConversationUpdate { id: "c".into(), import_hash: Some("i".into()), ..ConversationUpdate::default() };
        assert_eq!(engine.update_conversation(update).await.unwrap().updated_at, 1_600_000_400_000.0);
    });
}

#[test]
fn a_wrong_tree_is_refused_whole() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let two = || vec![dated("a", "user", "one", 1.0), dated("b", "user", "two", 2.0)];
        // A parent that comes later is not there yet.
        let later = engine.append(imported(two(), &[Some("b"), None], true)).await.unwrap_err();
        assert_eq!(later.code, Code::NotFound);
        let short = engine.append(imported(two(), &[None], true)).await.unwrap_err();
        assert_eq!(short.code, Code::InvalidArgument);
        let both = AppendRequest { parent_id: Some(None), ..imported(two(), &[None, None], true) };
        assert_eq!(engine.append(both).await.unwrap_err().code, Code::InvalidArgument);
        assert_eq!(engine.get_conversation("c").await.unwrap().message_count, 0);
    });
}

#[test]
fn no_model_is_asked_about_what_was_imported_until_something_is_said() {
    block_on(async {
        let mut world = World::default().with_model(model()).with_embedder();
        world.policy.compaction.high_water_tokens = 300;
        world.policy.budget.recent_tokens = 300;
        let asked = world.model.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let old = |from: usize| -> Vec<String> {
            (from..from + 60)
                .map(|n| {
                    message(
                        if n % 2 == 0 { "user" } else { "assistant" },
                        &format!("Oldmark{n} says a few words about the matter."),
                    )
                })
                .collect()
        };
        for from in [0, 60] {
            let request = AppendRequest { imported: true, ..append("c", old(from)) };
            assert!(!engine.append(request).await.unwrap()[0].durable);
            engine.settled().await.unwrap();
        }
        assert!(asked.requests.borrow().is_empty());
        assert_eq!(engine.stats().await.unwrap().vectors, 120);
        // Not after a reload either.
        let engine = world.open().await;
        engine.settled().await.unwrap();
        engine.build_context(host::ask("c", "Which matter?")).await.unwrap();
        engine.settled().await.unwrap();
        assert!(asked.requests.borrow().is_empty());
        // Now something is said: it is read for facts, it alone, and the old messages are folded.
        engine.append(append("c", vec![message("user", "Newmark: I like short answers.")])).await.unwrap();
        engine.settled().await.unwrap();
        assert!(asked.calls(Purpose::Summarize) > 0);
        let requests = asked.requests.borrow();
        let extract: Vec<&ModelRequest> =
            requests.iter().filter(|request| request.purpose == Purpose::Extract).collect();
        assert_eq!(extract.len(), 1);
        assert!(extract[0].prompt.contains("Newmark") && !extract[0].prompt.contains("Oldmark"));
    });
}

#[test]
fn an_import_into_a_live_conversation_leaves_what_was_said_to_be_read() {
    block_on(async {
        let mut world = World::default().with_model(model());
        world.policy.facts.batch_messages = 2;
        let asked = world.model.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", vec![message("user", "Saidmark one.")])).await.unwrap();
        engine
            .append(AppendRequest { imported: true, ..append("c", vec![message("user", "Oldmark.")]) })
            .await
            .unwrap();
        engine.settled().await.unwrap();
        assert_eq!(asked.calls(Purpose::Extract), 0);
        engine.append(append("c", vec![message("user", "Saidmark two.")])).await.unwrap();
        engine.settled().await.unwrap();
        let requests = asked.requests.borrow();
        let prompt = &requests[0].prompt;
        assert!(prompt.contains("Saidmark one") && prompt.contains("Saidmark two") && !prompt.contains("Oldmark"));
        assert_eq!(requests.len(), 1);
    });
}

/// Reads of storage per batch, and bytes written: the same for the first batch as for the last, however long the
/// conversation and however many there are.
#[test]
fn a_batch_costs_the_same_at_the_end_as_at_the_beginning() {
    block_on(async {
        let store = FaultyStore::new(MemoryStore::default());
        let shared = store.clone();
        let world = World { storage: Rc::new(move || Rc::new(shared.clone())), ..World::default() };
        let engine = world.open().await;
        let mut batches = Vec::new();
        for chat in 0..30 {
            let id = format!("c{chat}");
            conversation(&engine, &id).await;
            for batch in 0..20 {
                let reads = store.reads();
                let messages = (0..32)
                    .map(|n| {
                        dated(
                            &format!("m{batch}-{n}"),
                            "user",
                            &format!("Line {n} of batch {batch:02}."),
                            1_600_000_000.0,
                        )
                    })
                    .collect();
                let request = AppendRequest { conversation_id: id.clone(), imported: true, ..append("", messages) };
                engine.append(request).await.unwrap();
                engine.work().await;
                batches.push(store.reads() - reads);
            }
        }
        let commits = store.commits();
        let written = commits.iter().filter(|commit| commit.puts.iter().any(|(store, ..)| *store == Store::Messages));
        let puts: Vec<usize> = written.map(|commit| commit.puts.len()).collect();
        assert_eq!(puts.len(), batches.len());
        let costs: std::collections::BTreeSet<(u64, usize)> = batches.into_iter().zip(puts).collect();
        assert_eq!(costs.len(), 1, "{costs:?}");
    });
}

/// What a conversation of many messages is turned to is put into the index in steps, with the storage asked in between.
#[test]
fn a_long_path_comes_into_the_index_in_steps() {
    block_on(async {
        let store = FaultyStore::new(MemoryStore::default());
        let shared = store.clone();
        let world = World { storage: Rc::new(move || Rc::new(shared.clone())), ..World::default() };
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let ids: Vec<String> = (0..500).map(|n| format!("m{n}")).collect();
        let messages = ids.iter().map(|id| dated(id, "user", &format!("This is line {id}."), 1.0)).collect();
        let parents: Vec<Option<&str>> =
            std::iter::once(None).chain(ids.iter().map(|id| Some(id.as_str()))).take(500).collect();
        engine.append(imported(messages, &parents, false)).await.unwrap();
        let reads = store.reads();
        let leaf = LeafRequest { conversation_id: "c".into(), message_id: "m0".into(), descend: true };
        engine.set_active_leaf(leaf).await.unwrap();
        assert!(store.reads() - reads >= 8, "{}", store.reads() - reads);
        assert_eq!(engine.history("c", None, None, None).await.unwrap().len(), 500);
        assert!(finds(&engine, "m499").await && finds(&engine, "m0").await);
    });
}
