//! A store that outlives its engines.

use std::rc::Rc;
use throughline::ports::{Commit, Key, Pending, Query, Record, Storage, Store};
use throughline::store::StorageUsage;
use throughline::store::memory::MemoryStore;

/// Closing an engine does not close the store: another is opened on it.
pub struct Kept {
    store: Rc<dyn Storage>,
    is_durable: bool,
}

impl Kept {
    /// A store as it is.
    pub fn of(store: Rc<dyn Storage>) -> Self {
        Self { is_durable: store.is_durable(), store }
    }

    /// Records that others have a handle on, too; it says that they outlive the process, so segments are made.
    pub fn on(records: &MemoryStore) -> Self {
        Self { store: Rc::new(records.clone()), is_durable: true }
    }
}

impl Storage for Kept {
    fn get<'a>(&'a self, keys: Vec<(Store, Key)>) -> Pending<'a, Vec<Option<Record>>> {
        self.store.get(keys)
    }
    fn scan<'a>(&'a self, query: Query) -> Pending<'a, Vec<(Key, Record)>> {
        self.store.scan(query)
    }
    fn count<'a>(&'a self, store: Store, prefix: Key) -> Pending<'a, u64> {
        self.store.count(store, prefix)
    }
    fn commit<'a>(&'a self, commit: Commit) -> Pending<'a, bool> {
        self.store.commit(commit)
    }
    fn usage<'a>(&'a self) -> Pending<'a, StorageUsage> {
        self.store.usage()
    }
    fn destroy<'a>(&'a self) -> Pending<'a, ()> {
        self.store.destroy()
    }
    fn close(&self) {}
    fn is_durable(&self) -> bool {
        self.is_durable
    }
}
