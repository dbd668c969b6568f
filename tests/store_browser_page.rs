//! The conformance suite on IndexedDB in a page.
#![cfg(all(target_arch = "wasm32", feature = "wasm"))]

mod store_support;

use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
async fn indexed_db_conforms_in_a_page() {
    store_support::conform().await;
}
