//! What storage costs in a real browser. Prints figures; asserts only that they are of a sane size.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(all(target_arch = "wasm32", feature = "wasm"))]

use js_sys::Reflect;
use throughline::key;
use throughline::ports::{Check, Commit, Query, Record, Storage, Store};
use throughline::store::indexed_db::IndexedDbStore;
use wasm_bindgen::JsCast;
use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_dedicated_worker);

fn now_ms() -> f64 {
    let performance = Reflect::get(&js_sys::global(), &"performance".into()).unwrap();
    let now: js_sys::Function = Reflect::get(&performance, &"now".into()).unwrap().unchecked_into();
    now.call0(&performance).unwrap().as_f64().unwrap()
}

fn record(body: String) -> Record {
    Record { body, blob: None }
}

async fn fresh(name: &str) -> IndexedDbStore {
    IndexedDbStore::open(name).await.unwrap().destroy().await.unwrap();
    IndexedDbStore::open(name).await.unwrap()
}

/// An append: the conversation is checked and moved on, a message and its id are written.
fn append(seq: u32, text: &str) -> Commit {
    let conversation = |last: u32| format!("{{\"id\":\"c\",\"lastSeq\":{last}}}");
    Commit {
        checks: vec![Check {
            store: Store::Conversations,
            key: key!["c"],
            body: (seq > 1).then(|| conversation(seq - 1)),
        }],
        puts: vec![
            (Store::Conversations, key!["c"], record(conversation(seq))),
            (Store::Messages, key!["c", seq], record(format!("{{\"seq\":{seq},\"text\":\"{text}\"}}"))),
            (Store::MessageIds, key!["c", format!("m{seq}").as_str()], record(seq.to_string())),
        ],
        ..Commit::default()
    }
}

#[wasm_bindgen_test]
async fn costs_of_commits() {
    let text = "Words of a message. ".repeat(20);
    for strict in [false, true] {
        let store = fresh("costs-commit").await;
        let mut times = Vec::new();
        for seq in 1..=300_u32 {
            let commit = Commit { strict, ..append(seq, &text) };
            let started = now_ms();
            assert_eq!(store.commit(commit).await, Ok(true));
            times.push(now_ms() - started);
        }
        times.sort_by(f64::total_cmp);
        console_log!("append, strict {strict}: p50 {:.2} ms, p95 {:.2} ms", times[150], times[285]);
        assert!(times[150] < 250.0);
        store.destroy().await.unwrap();
    }
}

#[wasm_bindgen_test]
async fn costs_of_reading() {
    let store = fresh("costs-read").await;
    let text = "Words of a message. ".repeat(20);
    let started = now_ms();
    for batch in 0..20_u32 {
        let puts = (0..500).map(|number| {
            let seq = batch * 500 + number + 1;
            (Store::Messages, key!["c", seq], record(format!("{{\"seq\":{seq},\"text\":\"{text}\"}}")))
        });
        store.commit(Commit { puts: puts.collect(), ..Commit::default() }).await.unwrap();
    }
    console_log!("writing 10,000 records by 500: {:.0} ms", now_ms() - started);
    for _ in 0..3 {
        let started = now_ms();
        assert_eq!(store.scan(Query::prefix(Store::Messages, key!["c"])).await.unwrap().len(), 10_000);
        console_log!("scanning 10,000 records: {:.0} ms", now_ms() - started);
    }
    let queries = [
        ("last 50 of 10,000", Query { reverse: true, limit: Some(50), ..Query::prefix(Store::Messages, key!["c"]) }),
        ("50 in the middle", Query::between(Store::Messages, key!["c"], 5_000, 5_049)),
    ];
    for (what, query) in queries {
        let started = now_ms();
        for _ in 0..50 {
            assert_eq!(store.scan(query.clone()).await.unwrap().len(), 50);
        }
        console_log!("{what}: {:.2} ms", (now_ms() - started) / 50.0);
    }
    let keys: Vec<_> = (0..30_u32).map(|number| (Store::Messages, key!["c", number * 300 + 1])).collect();
    let started = now_ms();
    for _ in 0..50 {
        assert!(store.get(keys.clone()).await.unwrap().iter().all(Option::is_some));
    }
    console_log!("30 scattered records by get: {:.2} ms", (now_ms() - started) / 50.0);
    let started = now_ms();
    assert_eq!(store.count(Store::Messages, key!["c"]).await, Ok(10_000));
    console_log!("counting 10,000: {:.1} ms", now_ms() - started);
    store.destroy().await.unwrap();
}
