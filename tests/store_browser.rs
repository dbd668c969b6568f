//! IndexedDB in a dedicated worker of a real browser: the conformance suite, a full disk, durability, memory.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(all(target_arch = "wasm32", feature = "wasm"))]

mod store_support;

use futures_util::FutureExt;
use store_support::{body, fresh, open, put, script, sleep_ms, uncaught_errors, watch_errors};
use throughline::Code;
use throughline::key;
use throughline::ports::{Check, Commit, Key, Query, Record, Storage, Store};
use throughline::store::indexed_db::IndexedDbStore;
use wasm_bindgen::JsCast;
use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_dedicated_worker);

#[wasm_bindgen_test]
async fn indexed_db_conforms_in_a_dedicated_worker() {
    watch_errors().await;
    store_support::conform().await;
    assert_eq!(uncaught_errors(), 0.0);
}

/// What is sealed and opened outside of transactions behaves as the store inside.
#[wasm_bindgen_test]
async fn an_encrypted_indexed_db_conforms_in_a_dedicated_worker() {
    watch_errors().await;
    store_support::conform_with(&store_support::open_sealed).await;
    assert_eq!(uncaught_errors(), 0.0);
}

/// Calls given up at every point, while others go on: whole or not at all, nothing uncaught, nothing left open.
#[wasm_bindgen_test]
async fn dropped_calls_leave_nothing_behind() {
    let store = fresh("fault-dropped").await;
    watch_errors().await;
    for turn in 0..30_u64 {
        let puts = (0..5_u32).map(|number| (Store::Messages, key!["c", number], Record::default())).collect();
        let mut commit = store.commit(Commit { puts, ..Commit::default() });
        let mut scan = store.scan(Query { reverse: true, limit: Some(2), ..Query::prefix(Store::Messages, key![]) });
        let _ = (commit.as_mut().now_or_never(), scan.as_mut().now_or_never());
        if turn % 3 == 0 {
            sleep_ms((turn / 3) as u32).await;
        }
        if turn % 2 == 0 {
            drop((commit, scan));
        } else {
            commit.await.unwrap();
            scan.await.unwrap();
        }
        let count = store.count(Store::Messages, key![]).await.unwrap();
        assert!(count == 0 || count == 5, "{count}");
        let clear = Commit { delete_prefixes: vec![(Store::Messages, Key(Vec::new()))], ..Commit::default() };
        assert_eq!(store.commit(clear).await, Ok(true));
    }
    let opening = IndexedDbStore::open("fault-dropped");
    assert!(opening.now_or_never().is_none());
    sleep_ms(100).await;
    store.close();
    let other = open("fault-dropped").await.unwrap();
    other.destroy().await.unwrap();
    assert_eq!(uncaught_errors(), 0.0);
}

/// A full disk, for real: the database is in a bucket with a quota of its own, where the browser has buckets.
#[wasm_bindgen_test]
async fn a_full_disk_is_told_and_leaves_everything_usable() {
    let bucket = script(
        "if (!navigator.storageBuckets) return false;
         await navigator.storageBuckets.delete('quota').catch(() => {});
         const bucket = await navigator.storageBuckets.open('quota', { quota: 4_000_000 });
         Object.defineProperty(globalThis, 'indexedDB', { value: bucket.indexedDB, configurable: true });
         return true;",
    )
    .await;
    if bucket != true {
        console_log!("this browser has no storage buckets: not tested");
        return;
    }
    let store = fresh("quota").await;
    let mut full = 0;
    let mut state = 2_463_534_242_u32;
    for number in 0..40_u32 {
        // Bytes that the browser cannot compress.
        let noise = (0..500_000).map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as u8
        });
        let record = Record { body: "{}".to_owned(), blob: Some(noise.collect()) };
        let mut commit = put(&format!("{{\"n\":{number}}}"));
        commit.puts.push((Store::SegmentChunks, key!["s", number], record));
        match store.commit(commit).await {
            Ok(done) => assert!(done),
            Err(failed) => {
                assert_eq!(failed.code, Code::StorageQuotaExceeded, "{failed}");
                full += 1;
            }
        }
        // Whatever happened, both records say the same.
        let chunks = store.count(Store::SegmentChunks, key![]).await.unwrap();
        if full > 0 {
            assert_eq!(body(&store).await, Some(format!("{{\"n\":{}}}", chunks - 1)));
        }
        if full == 3 {
            break;
        }
    }
    assert_eq!(full, 3, "the quota was never reached");
    // Deleting works, and then writing again.
    let clear = Commit { delete_prefixes: vec![(Store::SegmentChunks, key![])], strict: true, ..Commit::default() };
    assert_eq!(store.commit(clear).await, Ok(true));
    assert_eq!(store.commit(put("{\"after\":1}")).await, Ok(true));
    assert_eq!(body(&store).await.as_deref(), Some("{\"after\":1}"));
    store.destroy().await.unwrap();
    script("delete globalThis.indexedDB; await navigator.storageBuckets.delete('quota');").await;
}

/// What the browser was asked for, seen in its own transactions.
#[wasm_bindgen_test]
async fn durability_is_asked_for_as_the_commit_says() {
    let store = fresh("durability").await;
    script(
        "globalThis.originalTransaction = IDBDatabase.prototype.transaction;
         globalThis.begun = [];
         IDBDatabase.prototype.transaction = function (...given) {
             const transaction = globalThis.originalTransaction.apply(this, given);
             globalThis.begun.push(`${[...transaction.objectStoreNames]} ${transaction.mode} ${transaction.durability}`);
             return transaction;
         };",
    )
    .await;
    store.commit(put("{\"n\":1}")).await.unwrap();
    store.commit(Commit { strict: true, ..put("{\"n\":2}") }).await.unwrap();
    store.commit(Commit { strict: true, ..Commit::default() }).await.unwrap();
    store.commit(Commit::default()).await.unwrap();
    body(&store).await;
    store.get(vec![(Store::Facts, key!["a"]), (Store::Meta, key!["b"]), (Store::Facts, key!["c"])]).await.unwrap();
    let begun = script(
        "IDBDatabase.prototype.transaction = globalThis.originalTransaction;
         return globalThis.begun.join('; ');",
    )
    .await;
    assert_eq!(
        begun.as_string().unwrap(),
        "meta readwrite relaxed; meta readwrite strict; meta readwrite strict; meta readonly relaxed; \
         facts,meta readonly relaxed"
    );
    // The barrier's own record is gone.
    assert_eq!(store.count(Store::Meta, key![]).await, Ok(1));
}

/// Calls must not leave closures or values behind: the crate's own futures would.
#[wasm_bindgen_test]
async fn thousands_of_calls_do_not_grow_memory() {
    let store = fresh("leak").await;
    let memory_bytes = || {
        let memory: js_sys::WebAssembly::Memory = wasm_bindgen::memory().unchecked_into();
        memory.buffer().unchecked_into::<js_sys::ArrayBuffer>().byte_length()
    };
    let rounds = async |count: u32| {
        for number in 0..count {
            let check = Check { store: Store::Meta, key: key!["k"], body: Some("other".to_owned()) };
            let refused = Commit { checks: vec![check], ..put("{}") };
            assert_eq!(store.commit(refused).await, Ok(false));
            store.commit(put(&format!("{{\"n\":{number}}}"))).await.unwrap();
            body(&store).await;
            store.scan(Query { reverse: true, limit: Some(1), ..Query::prefix(Store::Meta, key![]) }).await.unwrap();
        }
    };
    rounds(100).await;
    let before = memory_bytes();
    rounds(1_500).await;
    assert_eq!(memory_bytes(), before);
}

/// Options cross as one JSON text, in less code than a reader of JavaScript values: they say what that reads.
#[wasm_bindgen_test]
fn options_as_text_are_what_serde_wasm_bindgen_reads() {
    let options = r#"{"userId":"a","tokenizer":"o200k_base","policy":{"budget":{"reserve":0.25,"recentTokens":6000},"facts":{"extract":false,"categories":["preference","\u00e9\ud83d\ude00"]},"none":null,"nested":[[1,2.5,-3],{}]}}"#;
    let given = js_sys::JSON::parse(options).expect("is JSON");
    let text = js_sys::JSON::stringify(&given).ok().and_then(|text| text.as_string()).expect("is plain data");
    let crossed: serde_json::Value = serde_json::from_str(&text).expect("is JSON");
    let read: serde_json::Value = serde_wasm_bindgen::from_value(given).expect("is plain data");
    let as_numbers =
        |value: &serde_json::Value| value.to_string().replace(".0,", ",").replace(".0}", "}").replace(".0]", "]");
    assert_eq!(as_numbers(&crossed), as_numbers(&read));
}
