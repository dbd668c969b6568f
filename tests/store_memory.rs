//! The conformance suite on the stores that run without a browser.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(not(target_arch = "wasm32"))]

use futures_executor::block_on;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use throughline::ports::{Pending, Storage};
use throughline::store::conformance;
use throughline::store::faulty::{Fault, FaultyStore};
use throughline::store::memory::MemoryStore;

/// Opens named databases in memory, each through `wrap`.
fn opener(wrap: fn(MemoryStore) -> Rc<dyn Storage>) -> impl Fn(&str) -> Pending<'static, Rc<dyn Storage>> {
    let databases: RefCell<BTreeMap<String, MemoryStore>> = RefCell::default();
    move |name| {
        let handle = databases.borrow_mut().entry(name.to_owned()).or_default().clone();
        Box::pin(async move { Ok(wrap(handle)) })
    }
}

#[test]
fn memory_store_conforms() {
    let cases = block_on(conformance::run(&opener(|store| Rc::new(store)))).unwrap();
    assert!(cases >= 26, "only {cases} cases ran");
}

#[test]
fn faulty_store_without_faults_conforms_even_when_slow() {
    let slow = |store| {
        let faulty = FaultyStore::new(store);
        faulty.delay_polls(3);
        Rc::new(faulty) as Rc<dyn Storage>
    };
    block_on(conformance::run(&opener(slow))).unwrap();
}

/// The suite must be able to fail: each of these breaks one promise of the trait.
#[test]
fn the_suite_notices_stores_that_break_the_trait() {
    let ignores_a_commit = |store| {
        let faulty = FaultyStore::new(store);
        faulty.script_commits([Fault::Pass, Fault::Refuse]);
        Rc::new(faulty) as Rc<dyn Storage>
    };
    let failures = block_on(conformance::run(&opener(ignores_a_commit))).unwrap_err();
    assert!(failures.lines().any(|line| line.starts_with("keeps_blobs: ")), "{failures}");

    let loses_an_answer = |store| {
        let faulty = FaultyStore::new(store);
        faulty.script_reads([Fault::FailAfter(throughline::Code::StorageUnavailable)]);
        Rc::new(faulty) as Rc<dyn Storage>
    };
    let failures = block_on(conformance::run(&opener(loses_an_answer))).unwrap_err();
    assert!(failures.lines().any(|line| line.starts_with("orders_keys: ")), "{failures}");
}
