//! What every release has stored opens for ever: tests/releases has a small database of each (scripts/dump-release.mjs
//! writes it), and each of them is read, searched and gone on with.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use host::{WordEmbedder, World, append, ask, message};
use serde_json::{Value, json};
use std::fs;
use std::rc::Rc;
use throughline::engine::{Engine, FactFilter, RecallRequest};
use throughline::key;
use throughline::ports::{Commit, Key, KeyPart, Query, Record, Storage, Store};
use throughline::store::memory::MemoryStore;

fn releases() -> Vec<Value> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/releases");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()).collect()
}

/// Bytes of base64 with its padding.
fn bytes_of(text: &str) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let values: Vec<u32> =
        text.bytes().filter_map(|byte| digits.iter().position(|digit| *digit == byte)).map(|at| at as u32).collect();
    let mut bytes = Vec::new();
    for four in values.chunks(4) {
        let bits = four.iter().fold(0, |bits, value| bits << 6 | value) << (6 * (4 - four.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}

fn key_of(parts: &Value) -> Key {
    let part =
        |part: &Value| part.as_u64().map_or_else(|| KeyPart::Text(part.as_str().unwrap().into()), KeyPart::Number);
    Key(parts.as_array().unwrap().iter().map(part).collect())
}

async fn stored(release: &Value) -> MemoryStore {
    let store = MemoryStore::default();
    let mut commit = Commit::default();
    for (name, records) in release["stores"].as_object().unwrap() {
        let place = Store::ALL.into_iter().find(|store| store.name() == name).unwrap();
        for record in records.as_array().unwrap() {
            let body = record[1].as_str().unwrap().to_owned();
            let blob = record.get(2).map(|blob| bytes_of(blob.as_str().unwrap()));
            commit.puts.push((place, key_of(&record[0]), Record { body, blob }));
        }
    }
    assert_eq!(store.commit(commit).await, Ok(true));
    store
}

fn world(store: &MemoryStore) -> World {
    let opened = store.clone();
    World {
        storage: Rc::new(move || Rc::new(opened.clone())),
        embedder: Some(Rc::new(WordEmbedder { id: "eight".into(), dimensions: 8, ..WordEmbedder::default() })),
        ..World::default()
    }
}

async fn found(engine: &Engine, query: &str) -> Vec<String> {
    let request: RecallRequest = serde_json::from_value(json!({ "query": query })).unwrap();
    let groups = engine.recall(request).await.unwrap();
    groups.into_iter().flat_map(|group| group.messages).collect()
}

#[test]
fn every_release_is_there() {
    let names: Vec<String> = releases().iter().map(|release| release["name"].as_str().unwrap().to_owned()).collect();
    assert!(names.starts_with(&["issue-2".into(), "issue-3".into()]), "{names:?}");
    assert!(releases().iter().all(|release| release["version"].as_u64().is_some_and(|version| version / 100 == 1)));
}

#[test]
fn what_every_release_stored_is_read_searched_and_gone_on_with() {
    block_on(async {
        for release in releases() {
            let name = release["name"].as_str().unwrap();
            let store = stored(&release).await;
            let world = world(&store);
            let engine = world.open().await;
            // Every message that was not removed, to the letter.
            let records = store.scan(Query::prefix(Store::Messages, key!["work"])).await.unwrap();
            let bodies = records.iter().map(|(_, record)| serde_json::from_str::<Value>(&record.body).unwrap());
            let raw: Vec<String> = bodies
                .filter(|body| body["removed"] != json!(true))
                .map(|body| body["raw"].as_str().unwrap().to_owned())
                .collect();
            assert!(raw.len() >= 30, "{name}");
            let all = engine.history_of_all_branches("work", None, None, None).await.unwrap();
            assert_eq!(all.iter().map(|entry| entry.message.clone()).collect::<Vec<_>>(), raw, "{name}");
            let path = engine.history("work", None, None, None).await.unwrap();
            assert!(path.len() >= 29 && path.iter().all(|message| raw.contains(message)), "{name}");
            // Titles, summary, facts.
            let chats = engine.list_conversations(None, None).await.unwrap().items;
            assert!(chats.len() >= 2 && chats.iter().any(|chat| chat.title == "Ports"), "{name}");
            let summary = engine.summary("work").await.unwrap();
            assert!(summary.version >= 1 && summary.summarized_until_seq > 1, "{name}");
            let facts = engine.list_facts(FactFilter::default()).await.unwrap();
            assert_eq!(facts.iter().map(|fact| fact.fact.as_str()).collect::<Vec<_>>(), ["I prefer water to tea."]);
            // Search by words and by meaning, without embedding anything again.
            assert!(found(&engine, "harbour of Valparaíso").await[0].contains("Valparaíso"), "{name}");
            assert!(found(&engine, "포트는 몇 번").await.iter().any(|text| text.contains("스테이징")), "{name}");
            assert!(!found(&engine, "Nobody should find this").await.iter().any(|text| text.contains("Nobody")));
            engine.settled().await.unwrap();
            let embedded = world.embedder.as_ref().unwrap().texts.borrow().clone();
            assert!(!embedded.iter().any(|text| text.contains("Step 3 of")), "{name}: embedded again");
            // It goes on.
            let last_seq = records.len() as u32;
            let appended =
                engine.append(append("work", vec![message("user", "And a new lighthouse in Reykjavik")])).await;
            assert_eq!(appended.unwrap()[0].seq, last_seq + 1, "{name}");
            engine.build_context(ask("work", "Which port did the staging server have?")).await.unwrap();
            engine.settled().await.unwrap();
            let again = world.open().await;
            assert!(found(&again, "Reykjavik").await.iter().any(|text| text.contains("Reykjavik")), "{name}");
        }
    });
}
