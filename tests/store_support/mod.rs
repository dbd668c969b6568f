//! What the browser tests share: IndexedDB behind the suite's opener, and faults put into the browser's own objects.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "each test file uses a part of it")]

use js_sys::{Function, Reflect};
use std::rc::Rc;
use throughline::key;
use throughline::ports::{Commit, Pending, Record, Storage, Store};
use throughline::store::conformance;
use throughline::store::encrypted::EncryptedStore;
use throughline::store::indexed_db::IndexedDbStore;
use throughline::wasm::cipher::JsKeyHolder;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::console_log;

/// Opens IndexedDB databases.
pub fn open(name: &str) -> Pending<'static, Rc<dyn Storage>> {
    let name = name.to_owned();
    Box::pin(async move { Ok(Rc::new(IndexedDbStore::open(&name).await?) as Rc<dyn Storage>) })
}

/// A commit that writes the test's record.
pub fn put(body: &str) -> Commit {
    let record = Record { body: body.to_owned(), blob: None };
    Commit { puts: vec![(Store::Meta, key!["k"], record)], ..Commit::default() }
}

/// The body of the test's record.
pub async fn body(store: &dyn Storage) -> Option<String> {
    store.get(vec![(Store::Meta, key!["k"])]).await.unwrap().remove(0).map(|record| record.body)
}

/// A new database with one record, `{}`.
pub async fn fresh(name: &str) -> IndexedDbStore {
    let old = IndexedDbStore::open(name).await.unwrap();
    old.destroy().await.unwrap();
    let store = IndexedDbStore::open(name).await.unwrap();
    assert_eq!(store.commit(put("{}")).await, Ok(true));
    store
}

/// Opens encrypted IndexedDB databases, with the browser's own cipher behind the package's adapter.
pub fn open_sealed(name: &str) -> Pending<'static, Rc<dyn Storage>> {
    let name = name.to_owned();
    Box::pin(async move {
        let unlock = script(
            "const key = await crypto.subtle.importKey('raw', new Uint8Array(32).fill(7), 'AES-GCM', false, ['encrypt', 'decrypt']);
             const each = (items, work) => Promise.all(Array.from({ length: items.length / 2 }, (_, at) => work(items[2 * at], items[2 * at + 1])));
             const cipher = (iv, additionalData) => ({ name: 'AES-GCM', iv, additionalData });
             const seal = async (label, bytes) => {
                 const nonce = crypto.getRandomValues(new Uint8Array(12));
                 const sealed = new Uint8Array(await crypto.subtle.encrypt(cipher(nonce, label), key, bytes));
                 const all = new Uint8Array(12 + sealed.length);
                 all.set(nonce);
                 all.set(sealed, 12);
                 return all;
             };
             const open = (label, bytes) => crypto.subtle.decrypt(cipher(bytes.subarray(0, 12), label), key, bytes.subarray(12)).then((plain) => new Uint8Array(plain), () => null);
             const names = new Uint8Array(32).fill(9);
             return async (header) => ({ header: header ?? 'test', names, seal: (items) => each(items, seal), open: (items) => each(items, open) });",
        )
        .await;
        let inner = open(&name).await?;
        let holder = JsKeyHolder(unlock.unchecked_into());
        Ok(Rc::new(EncryptedStore::open(inner, &holder).await?) as Rc<dyn Storage>)
    })
}

/// Runs the whole suite on IndexedDB.
pub async fn conform() {
    conform_with(&open).await;
}

/// Runs the whole suite on what this opens.
pub async fn conform_with(open: &conformance::Opener<'_>) {
    let started = js_sys::Date::now();
    match conformance::run(open).await {
        Ok(cases) => console_log!("{cases} cases in {} ms", js_sys::Date::now() - started),
        Err(failures) => panic!("{failures}"),
    }
}

/// Runs a function body with `names` bound to `values` in the global scope, and awaits what it returns.
pub async fn script(body: &str) -> JsValue {
    let function = Function::new_no_args(&format!("return (async () => {{ {body} }})()"));
    let promise: js_sys::Promise = function.call0(&JsValue::UNDEFINED).unwrap().unchecked_into();
    JsFuture::from(promise).await.unwrap()
}

/// The number of uncaught errors seen since [`watch_errors`].
pub fn uncaught_errors() -> f64 {
    Reflect::get(&js_sys::global(), &"uncaught".into()).unwrap().as_f64().unwrap()
}

/// Counts uncaught errors and rejections from now on.
pub async fn watch_errors() {
    script(
        "globalThis.uncaught = 0;
         globalThis.addEventListener('error', () => { globalThis.uncaught += 1; });
         globalThis.addEventListener('unhandledrejection', () => { globalThis.uncaught += 1; });",
    )
    .await;
}

/// Lets the event loop turn for so long.
pub async fn sleep_ms(ms: u32) {
    script(&format!("await new Promise(resolve => setTimeout(resolve, {ms}));")).await;
}
