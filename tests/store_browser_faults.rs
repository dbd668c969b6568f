//! IndexedDB in a dedicated worker of a real browser: what the browser, other tabs and foreign data do wrong.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(all(target_arch = "wasm32", feature = "wasm"))]

mod store_support;

use futures_util::future::{join, join_all, join4};
use std::cell::RefCell;
use std::rc::Rc;
use store_support::{body, fresh, put, script, sleep_ms, uncaught_errors, watch_errors};
use throughline::Code;
use throughline::key;
use throughline::ports::{Check, Commit, Query, Record, Storage, Store};
use throughline::store::indexed_db::{IndexedDbStore, Lifecycle, SCHEMA_VERSION};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_dedicated_worker);

/// A request that fails, as idb's own futures cannot take it: its error reaches us, nothing is written, and no handler
/// is called after its end.
#[wasm_bindgen_test]
async fn a_failing_request_undoes_the_commit_and_leaves_no_uncaught_error() {
    let store = fresh("fault-request").await;
    watch_errors().await;
    script(
        "const proto = IDBObjectStore.prototype;
         globalThis.originalPut = proto.put;
         proto.put = function (value, key) { return proto.add.call(this, value, key); };",
    )
    .await;
    let mut commit = put("{\"n\":2}");
    commit.puts.insert(0, (Store::Facts, key!["new"], Record::default()));
    let failed = store.commit(commit).await.unwrap_err();
    script("IDBObjectStore.prototype.put = globalThis.originalPut;").await;
    assert_eq!(failed.code, Code::StorageUnavailable);
    assert!(failed.message.contains("ConstraintError"), "{failed}");
    assert_eq!(body(&store).await.as_deref(), Some("{}"));
    assert_eq!(store.count(Store::Facts, key![]).await, Ok(0));
    sleep_ms(50).await;
    assert_eq!(uncaught_errors(), 0.0);
    assert_eq!(store.commit(put("{\"n\":3}")).await, Ok(true));
}

/// A put that throws half way: what was asked before it must not be committed by itself.
#[wasm_bindgen_test]
async fn a_throwing_request_undoes_the_commit() {
    let store = fresh("fault-throw").await;
    for (exception, code) in [
        ("QuotaExceededError", Code::StorageQuotaExceeded),
        ("DataCloneError", Code::InvalidArgument),
        ("ReadOnlyError", Code::StorageUnavailable),
    ] {
        script(&format!(
            "const proto = IDBObjectStore.prototype;
             globalThis.originalPut = proto.put;
             let calls = 0;
             proto.put = function (...given) {{
                 calls += 1;
                 if (calls === 2) throw new DOMException('secret text', '{exception}');
                 return globalThis.originalPut.apply(this, given);
             }};"
        ))
        .await;
        let mut commit = put("{\"n\":2}");
        commit.puts.push((Store::Facts, key!["new"], Record::default()));
        let failed = store.commit(commit).await.unwrap_err();
        script("IDBObjectStore.prototype.put = globalThis.originalPut;").await;
        assert_eq!(failed.code, code);
        assert!(failed.message.contains(exception) && !failed.message.contains("secret"), "{failed}");
        assert_eq!(body(&store).await.as_deref(), Some("{}"));
    }
}

/// A connection that the browser closed: the call opens another and is carried out once.
#[wasm_bindgen_test]
async fn a_lost_connection_is_opened_again_and_the_call_repeated_once() {
    let store = fresh("fault-lost").await;
    for name in ["InvalidStateError", "UnknownError", "AbortError"] {
        script(&format!(
            "const proto = IDBDatabase.prototype;
             globalThis.originalTransaction = proto.transaction;
             globalThis.calls = 0;
             proto.transaction = function (...given) {{
                 globalThis.calls += 1;
                 if (globalThis.calls === 1) throw new DOMException('', '{name}');
                 return globalThis.originalTransaction.apply(this, given);
             }};"
        ))
        .await;
        let body_text = format!("{{\"after\":\"{name}\"}}");
        let done = store.commit(put(&body_text)).await;
        let read = body(&store).await;
        script("IDBDatabase.prototype.transaction = globalThis.originalTransaction;").await;
        assert_eq!(done, Ok(true));
        assert_eq!(read, Some(body_text));
    }
    // When it goes on, the caller is told.
    script(
        "globalThis.originalTransaction = IDBDatabase.prototype.transaction;
         IDBDatabase.prototype.transaction = function () { throw new DOMException('', 'UnknownError'); };",
    )
    .await;
    let failed = store.commit(put("{}")).await.unwrap_err();
    script("IDBDatabase.prototype.transaction = globalThis.originalTransaction;").await;
    assert_eq!(failed.code, Code::StorageUnavailable);
    assert_eq!(store.commit(put("{}")).await, Ok(true));
}

/// Aborted by the browser in the middle, with the reason that a full disk gives.
#[wasm_bindgen_test]
async fn an_aborted_commit_is_repeated_and_never_acknowledged_by_itself() {
    let store = fresh("fault-abort").await;
    script(
        "const proto = IDBObjectStore.prototype;
         globalThis.originalPut = proto.put;
         proto.put = function (...given) {
             const request = globalThis.originalPut.apply(this, given);
             this.transaction.abort();
             return request;
         };",
    )
    .await;
    let failed = store.commit(put("{\"n\":2}")).await.unwrap_err();
    script("IDBObjectStore.prototype.put = globalThis.originalPut;").await;
    assert_eq!(failed.code, Code::StorageUnavailable);
    assert_eq!(body(&store).await.as_deref(), Some("{}"));
}

/// A commit that went through, but whose answer was lost: looked for, and neither doubled nor refused. Where another tab
/// has written since, too.
#[wasm_bindgen_test]
async fn a_commit_whose_answer_was_lost_is_carried_out_once() {
    let store = fresh("fault-answer").await;
    let step = |number: u32, before: Option<String>| {
        let mut commit = put(&format!("{{\"n\":{number}}}"));
        commit.puts.push((Store::Facts, key![number], Record::default()));
        commit.checks.push(Check { store: Store::Meta, key: key!["k"], body: before });
        commit
    };
    for number in 1..=2_u32 {
        let before = body(&store).await;
        // The second time another tab writes to the checked record before anybody looks.
        script(&format!(
            "const proto = IDBDatabase.prototype;
             globalThis.originalTransaction = proto.transaction;
             proto.transaction = function (...given) {{
                 const transaction = globalThis.originalTransaction.apply(this, given);
                 proto.transaction = globalThis.originalTransaction;
                 const overwrite = {number} === 2;
                 transaction.addEventListener('complete', event => {{
                     event.stopImmediatePropagation();
                     if (overwrite) this.transaction(['meta'], 'readwrite').objectStore('meta').put({{ body: 'theirs' }}, ['k']);
                     transaction.dispatchEvent(new Event('abort'));
                 }});
                 return transaction;
             }};"
        ))
        .await;
        assert_eq!(store.commit(step(number, before.clone())).await, Ok(true));
        assert_eq!(store.count(Store::Facts, key![]).await, Ok(u64::from(number)));
        // One that was not carried out before is refused as ever.
        assert_eq!(store.commit(step(number + 10, before)).await, Ok(false));
    }
    assert_eq!(body(&store).await.as_deref(), Some("theirs"));
}

/// What waits, waits for its time only. Together, because each takes seconds.
#[wasm_bindgen_test]
async fn everything_that_waits_is_told_in_time() {
    join4(
        an_open_that_hangs_is_tried_twice_and_told(),
        a_blocked_upgrade_and_a_blocked_deletion_are_told(),
        a_held_store_is_told_and_the_commit_not_carried_out_later(),
        a_commit_without_an_answer_is_looked_for(),
    )
    .await;
}

/// A database that never answers.
async fn an_open_that_hangs_is_tried_twice_and_told() {
    script(
        "globalThis.originalOpen = IDBFactory.prototype.open;
         globalThis.opened = 0;
         IDBFactory.prototype.open = function (name, ...given) {
             if (name !== 'fault-hang') return globalThis.originalOpen.call(this, name, ...given);
             globalThis.opened += 1;
             return new EventTarget();
         };",
    )
    .await;
    let started = js_sys::Date::now();
    let failed = IndexedDbStore::open("fault-hang").await.err().unwrap();
    let opened = script("IDBFactory.prototype.open = globalThis.originalOpen; return globalThis.opened;").await;
    assert_eq!(failed.code, Code::StorageUnavailable);
    assert_eq!(opened.as_f64(), Some(2.0));
    let waited = js_sys::Date::now() - started;
    assert!((5_900.0..9_000.0).contains(&waited), "{waited} ms");
}

/// The browser never says that it committed.
async fn a_commit_without_an_answer_is_looked_for() {
    let store = fresh("fault-silent").await;
    script(
        "const proto = IDBDatabase.prototype;
         const original = proto.transaction;
         proto.transaction = function (...given) {
             const transaction = original.apply(this, given);
             if (this.name === 'fault-silent') {
                 proto.transaction = original;
                 transaction.addEventListener('complete', event => event.stopImmediatePropagation());
             }
             return transaction;
         };",
    )
    .await;
    let checked = Commit {
        checks: vec![Check { store: Store::Meta, key: key!["k"], body: Some("{}".to_owned()) }],
        ..put("{\"n\":2}")
    };
    assert_eq!(store.commit(checked.clone()).await, Ok(true));
    assert_eq!(body(&store).await.as_deref(), Some("{\"n\":2}"));
    assert_eq!(store.commit(checked).await, Ok(false));
}

#[wasm_bindgen_test]
async fn without_indexed_db_the_error_says_so() {
    script("Object.defineProperty(globalThis, 'indexedDB', { value: undefined, configurable: true });").await;
    let failed = IndexedDbStore::open("fault-none").await.err().unwrap();
    script("delete globalThis.indexedDB;").await;
    assert_eq!(failed.code, Code::StorageUnavailable);
    assert!(failed.message.contains("memory storage"), "{failed}");
    fresh("fault-none").await;
}

/// A database of a later build of the same hundred can be used; one of the next hundred can be read, and is left alone.
#[wasm_bindgen_test]
async fn a_newer_layout_is_written_within_its_hundred_only() {
    let store = fresh("fault-version").await;
    store.close();
    let raise = |version: u32| {
        format!(
            "const request = indexedDB.open('fault-version', {version});
             await new Promise((resolve, reject) => {{ request.onsuccess = resolve; request.onerror = reject; }});
             request.result.close();"
        )
    };
    script(&raise(SCHEMA_VERSION + 1)).await;
    let newer = IndexedDbStore::open("fault-version").await.unwrap();
    assert_eq!(body(&newer).await.as_deref(), Some("{}"));
    newer.close();
    script(&raise(SCHEMA_VERSION + 100)).await;
    let newest = IndexedDbStore::open("fault-version").await.unwrap();
    assert_eq!(newest.commit(put("{\"n\":2}")).await.unwrap_err().code, Code::SchemaTooNew);
    assert_eq!(newest.commit(Commit { strict: true, ..Commit::default() }).await, Ok(true), "nothing to write");
    assert_eq!(body(&newest).await.as_deref(), Some("{}"));
    newest.close();
    script("await new Promise(done => { indexedDB.deleteDatabase('fault-version').onsuccess = done; });").await;
}

/// Another tab that does not let go: told after 3 seconds, and the request that was given up leaves nothing open.
async fn a_blocked_upgrade_and_a_blocked_deletion_are_told() {
    script(
        "await new Promise(done => { indexedDB.deleteDatabase('fault-blocked').onsuccess = done; });
         const request = indexedDB.open('fault-blocked', 1);
         await new Promise(resolve => { request.onsuccess = resolve; });
         globalThis.holder = request.result;",
    )
    .await;
    let events: Rc<RefCell<Vec<Lifecycle>>> = Rc::default();
    let told = Rc::clone(&events);
    let failed = IndexedDbStore::open_with("fault-blocked", move |event| told.borrow_mut().push(event)).await;
    assert_eq!(failed.err().unwrap().code, Code::StorageBlocked);
    assert_eq!(*events.borrow(), [Lifecycle::Blocked]);
    script("globalThis.holder.close();").await;
    sleep_ms(200).await;
    assert_eq!(events.borrow().len(), 2, "the upgrade went on when the other tab let go: {events:?}");
    // The connection of the request that was given up is closed: deleting is not blocked by it.
    fresh("fault-blocked").await.close();

    let store = fresh("fault-blocked").await;
    script(
        "const request = indexedDB.open('fault-blocked');
         await new Promise(resolve => { request.onsuccess = resolve; });
         globalThis.holder = request.result;",
    )
    .await;
    assert_eq!(store.destroy().await.unwrap_err().code, Code::StorageBlocked);
    script("globalThis.holder.close();").await;
    assert_eq!(store.destroy().await, Ok(()));
}

/// Another tab that upgrades gets the database at once; afterwards the old handle goes on.
#[wasm_bindgen_test]
async fn a_version_change_closes_the_connection_and_the_next_call_opens_it_again() {
    fresh("fault-change").await.close();
    let events: Rc<RefCell<Vec<Lifecycle>>> = Rc::default();
    let told = Rc::clone(&events);
    let store = IndexedDbStore::open_with("fault-change", move |event| told.borrow_mut().push(event)).await.unwrap();
    script(
        "const request = indexedDB.open('fault-change', 105);
         await new Promise((resolve, reject) => {
             request.onblocked = reject; request.onsuccess = resolve; request.onerror = reject;
         });
         request.result.close();",
    )
    .await;
    assert_eq!(*events.borrow(), [Lifecycle::Blocking { deleting: false }]);
    assert_eq!(body(&store).await.as_deref(), Some("{}"));
    assert_eq!(store.commit(put("{\"n\":2}")).await, Ok(true));
}

/// The browser closes the connection, as Safari does in the background: many calls at once meet it, all are carried out,
/// and no connection is left behind.
#[wasm_bindgen_test]
async fn a_terminated_connection_is_opened_again_by_calls_at_once() {
    fresh("fault-terminated").await.close();
    let events: Rc<RefCell<Vec<Lifecycle>>> = Rc::default();
    let told = Rc::clone(&events);
    let store =
        IndexedDbStore::open_with("fault-terminated", move |event| told.borrow_mut().push(event)).await.unwrap();
    script(
        "globalThis.originalTransaction = IDBDatabase.prototype.transaction;
         IDBDatabase.prototype.transaction = function (...given) {
             globalThis.connection = this;
             return globalThis.originalTransaction.apply(this, given);
         };",
    )
    .await;
    assert_eq!(body(&store).await.as_deref(), Some("{}"));
    script(
        "IDBDatabase.prototype.transaction = globalThis.originalTransaction;
         globalThis.connection.close();
         globalThis.connection.dispatchEvent(new Event('close'));",
    )
    .await;
    assert_eq!(*events.borrow(), [Lifecycle::Terminated]);
    let puts = (0..20_u32).map(|number| Commit {
        puts: vec![(Store::Messages, key!["c", number], Record::default())],
        ..Commit::default()
    });
    let done = join_all(puts.map(|commit| store.commit(commit))).await;
    assert!(done.iter().all(|done| *done == Ok(true)), "{done:?}");
    assert_eq!(store.count(Store::Messages, key![]).await, Ok(20));
    assert_eq!(store.destroy().await, Ok(()));
}

/// Deleted under an open handle: nothing is acknowledged any more, and no empty database takes its place.
#[wasm_bindgen_test]
async fn a_deleted_database_is_not_made_anew() {
    let store = fresh("fault-deleted").await;
    script("await new Promise(done => { indexedDB.deleteDatabase('fault-deleted').onsuccess = done; });").await;
    for _ in 0..2 {
        assert_eq!(store.commit(put("{}")).await.unwrap_err().code, Code::StorageUnavailable);
        assert_eq!(store.count(Store::Meta, key![]).await.unwrap_err().code, Code::StorageUnavailable);
    }
    // A connection that was lost before, so that it did not hear of the deletion.
    let lost = fresh("fault-deleted").await;
    script(
        "const request = indexedDB.open('fault-deleted', 106);
         await new Promise(resolve => { request.onsuccess = resolve; });
         request.result.close();
         await new Promise(done => { indexedDB.deleteDatabase('fault-deleted').onsuccess = done; });",
    )
    .await;
    for _ in 0..2 {
        let failed = lost.commit(put("{}")).await.unwrap_err();
        assert_eq!(failed.code, Code::StorageUnavailable);
        assert!(failed.message.contains("deleted"), "{failed}");
    }
    let names = script("return JSON.stringify((await indexedDB.databases()).map(one => one.name));").await;
    assert!(!names.as_string().unwrap().contains("fault-deleted"));
}

/// A transaction that another tab keeps open: told within 5 seconds, the next one soon after, and none carried out later.
async fn a_held_store_is_told_and_the_commit_not_carried_out_later() {
    let store = fresh("fault-held").await;
    script(
        "const request = indexedDB.open('fault-held');
         await new Promise(resolve => { request.onsuccess = resolve; });
         globalThis.holding = true;
         const store = request.result.transaction(['meta'], 'readwrite').objectStore('meta');
         const spin = () => { if (globalThis.holding) store.get([]).onsuccess = spin; else request.result.close(); };
         spin();",
    )
    .await;
    let started = js_sys::Date::now();
    let checked = Commit {
        checks: vec![Check { store: Store::Meta, key: key!["k"], body: Some("{}".to_owned()) }],
        ..put("{\"n\":2}")
    };
    let (unchecked, checked) = join(store.commit(put("{\"n\":3}")), store.commit(checked)).await;
    let waited = js_sys::Date::now() - started;
    assert_eq!(unchecked.unwrap_err().code, Code::StorageBlocked);
    assert_eq!(checked.unwrap_err().code, Code::StorageBlocked);
    assert!((4_200.0..5_500.0).contains(&waited), "{waited} ms");
    for _ in 0..2 {
        let again = store.commit(put("{\"n\":4}")).await;
        assert_eq!(again.unwrap_err().code, Code::StorageBlocked);
    }
    let waited = js_sys::Date::now() - started;
    assert!(waited < 6_500.0, "{waited} ms: it is known that the stores are held");
    script("globalThis.holding = false;").await;
    assert_eq!(body(&store).await.as_deref(), Some("{}"));
}

/// A record that is not ours is read as one with an empty body, and can be written over; a key that is not ours is skipped.
#[wasm_bindgen_test]
async fn a_foreign_record_is_read_as_an_empty_one() {
    let store = fresh("fault-corrupt").await;
    for value in ["7", "null", "({})", "({ body: 7 })", "({ body: '{}', blob: [1, 2] })"] {
        script(&format!(
            "const request = indexedDB.open('fault-corrupt');
             await new Promise(resolve => {{ request.onsuccess = resolve; }});
             const transaction = request.result.transaction(['meta'], 'readwrite');
             transaction.objectStore('meta').put({value}, ['k']);
             transaction.objectStore('meta').put({value}, 'k');
             await new Promise(resolve => {{ transaction.oncomplete = resolve; }});
             request.result.close();"
        ))
        .await;
        let body = if value.contains("'{}'") { "{}" } else { "" };
        let foreign = Record { body: body.to_owned(), blob: None };
        let got = store.get(vec![(Store::Meta, key!["k"])]).await;
        assert_eq!(got, Ok(vec![Some(foreign.clone())]), "{value}");
        let scanned = store.scan(Query::prefix(Store::Meta, key![])).await;
        assert_eq!(scanned, Ok(vec![(key!["k"], foreign)]), "{value}");
        let check = Check { store: Store::Meta, key: key!["k"], body: Some(body.to_owned()) };
        assert_eq!(store.commit(Commit { checks: vec![check], ..put("{}") }).await, Ok(true), "{value}");
    }
}
