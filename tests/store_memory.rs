//! The conformance suite on the stores that run without a browser.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
#![cfg(not(target_arch = "wasm32"))]

use futures_executor::block_on;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use throughline::ports::{Commit, Key, Pending, Query, Record, Storage, Store};
use throughline::store::StorageUsage;
use throughline::store::conformance;
use throughline::store::faulty::FaultyStore;
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

/// A promise of the trait that [`Broken`] breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
    Utf16Order,
    Reverse,
    Limit,
    UpperBound,
    PrefixItself,
    EmptyBlob,
    Checks,
    FailedChecksWriteNothing,
    AbsenceChecks,
    RemovalsFirst,
    WholePrefixes,
    Close,
    Destroy,
    OwnDatabases,
}

struct Broken {
    promise: Promise,
    inner: MemoryStore,
}

impl Broken {
    fn tamper_scan(&self, query: &Query, records: &mut Vec<(Key, Record)>) {
        match self.promise {
            Promise::Utf16Order => records.sort_by_key(|(key, _)| format!("{key:?}")),
            Promise::PrefixItself => records.retain(|(key, _)| key != &query.prefix),
            Promise::EmptyBlob => {
                for (_, record) in records {
                    record.blob = record.blob.take().filter(|blob| !blob.is_empty());
                }
            }
            _ => {}
        }
    }

    async fn tampered_commit(&self, mut commit: Commit) -> throughline::Result<bool> {
        match self.promise {
            Promise::Checks => commit.checks.clear(),
            Promise::AbsenceChecks => commit.checks.retain(|check| check.body.is_some()),
            Promise::WholePrefixes => {
                let prefixes = std::mem::take(&mut commit.delete_prefixes);
                commit.deletes.extend(prefixes);
            }
            Promise::RemovalsFirst => {
                let removals = Commit {
                    deletes: std::mem::take(&mut commit.deletes),
                    delete_prefixes: std::mem::take(&mut commit.delete_prefixes),
                    ..Commit::default()
                };
                return Ok(self.inner.commit(commit).await? && self.inner.commit(removals).await?);
            }
            Promise::FailedChecksWriteNothing => {
                let done = self.inner.commit(commit.clone()).await?;
                self.inner.commit(Commit { checks: Vec::new(), ..commit }).await?;
                return Ok(done);
            }
            _ => {}
        }
        self.inner.commit(commit).await
    }
}

impl Storage for Broken {
    fn get<'a>(&'a self, keys: Vec<(Store, Key)>) -> Pending<'a, Vec<Option<Record>>> {
        self.inner.get(keys)
    }

    fn scan<'a>(&'a self, mut query: Query) -> Pending<'a, Vec<(Key, Record)>> {
        match self.promise {
            Promise::Reverse => query.reverse = false,
            Promise::Limit => query.limit = None,
            Promise::UpperBound => query.to = None,
            _ => {}
        }
        Box::pin(async move {
            let mut records = self.inner.scan(query.clone()).await?;
            self.tamper_scan(&query, &mut records);
            Ok(records)
        })
    }

    fn count<'a>(&'a self, store: Store, prefix: Key) -> Pending<'a, u64> {
        self.inner.count(store, prefix)
    }

    fn commit<'a>(&'a self, commit: Commit) -> Pending<'a, bool> {
        Box::pin(self.tampered_commit(commit))
    }

    fn usage<'a>(&'a self) -> Pending<'a, StorageUsage> {
        self.inner.usage()
    }

    fn destroy<'a>(&'a self) -> Pending<'a, ()> {
        Box::pin(async move { if self.promise == Promise::Destroy { Ok(()) } else { self.inner.destroy().await } })
    }

    fn close(&self) {
        if self.promise != Promise::Close {
            self.inner.close();
        }
    }

    fn is_durable(&self) -> bool {
        false
    }
}

/// The suite must be able to fail, and in the case that is about the promise.
#[test]
fn the_suite_notices_every_broken_promise() {
    for (promise, case) in [
        (Promise::Utf16Order, "orders_keys"),
        (Promise::Reverse, "reverses_and_limits"),
        (Promise::Limit, "reverses_and_limits"),
        (Promise::UpperBound, "scans_bounds"),
        (Promise::PrefixItself, "scans_prefixes"),
        (Promise::EmptyBlob, "keeps_blobs"),
        (Promise::Checks, "lets_one_of_two_win"),
        (Promise::FailedChecksWriteNothing, "holds_and_fails_checks"),
        (Promise::AbsenceChecks, "checks_absence"),
        (Promise::RemovalsFirst, "orders_writes"),
        (Promise::WholePrefixes, "deletes_prefixes"),
        (Promise::Close, "closes"),
        (Promise::Destroy, "destroys"),
        (Promise::OwnDatabases, "keeps_databases_apart"),
    ] {
        let databases: RefCell<BTreeMap<String, MemoryStore>> = RefCell::default();
        let open = |name: &str| -> Pending<'static, Rc<dyn Storage>> {
            let name = if promise == Promise::OwnDatabases { "one" } else { name };
            let inner = databases.borrow_mut().entry(name.to_owned()).or_default().clone();
            Box::pin(async move { Ok(Rc::new(Broken { promise, inner }) as Rc<dyn Storage>) })
        };
        let failures = block_on(conformance::run(&open)).expect_err(case);
        let noticed = failures.lines().any(|line| line.starts_with(&format!("{case}: ")));
        assert!(noticed, "{promise:?} was not noticed by {case}: {failures}");
    }
}
