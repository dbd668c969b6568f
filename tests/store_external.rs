//! The conformance suite over a storage that JavaScript gives: in Node, where the module that `THROUGHLINE_STORE` names opens
//! databases by name (tests/postgres/conformance.test.mjs runs this).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(all(target_arch = "wasm32", feature = "wasm"))]

use std::rc::Rc;
use throughline::ports::{Pending, Storage};
use throughline::store::conformance;
use throughline::wasm::external::ExternalStore;
use throughline::{Code, Error};
use wasm_bindgen::prelude::*;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_node_experimental);

#[wasm_bindgen(
    inline_js = "export async function opened(name) { const { open } = await import(process.env.THROUGHLINE_STORE); return open(name); }"
)]
extern "C" {
    #[wasm_bindgen(catch)]
    async fn opened(name: &str) -> Result<JsValue, JsValue>;
}

fn open(name: &str) -> Pending<'static, Rc<dyn Storage>> {
    let name = name.to_owned();
    Box::pin(async move {
        let storage =
            opened(&name).await.map_err(|error| Error::new(Code::StorageUnavailable, format!("{error:?}")))?;
        Ok(Rc::new(ExternalStore::new(&storage)?) as Rc<dyn Storage>)
    })
}

#[wasm_bindgen_test]
async fn a_storage_of_javascript_conforms() {
    let cases = conformance::run(&open).await.unwrap();
    assert!(cases >= 27, "{cases}");
}
