//! A store that a newer version wrote: everything in it can be read, nothing can be written.

use super::search::SearchPort;
use super::{Commit, Key, Query, Record, Storage, StorageUsage, Store};
use crate::error::{Code, Error};
use crate::ports::Pending;
use std::rc::Rc;

/// Wraps a store. What this version does not know of it must not be harmed by what this version writes.
pub struct ReadOnlyStore(pub Rc<dyn Storage>);

impl Storage for ReadOnlyStore {
    fn get<'a>(&'a self, keys: Vec<(Store, Key)>) -> Pending<'a, Vec<Option<Record>>> {
        self.0.get(keys)
    }

    fn scan<'a>(&'a self, query: Query) -> Pending<'a, Vec<(Key, Record)>> {
        self.0.scan(query)
    }

    fn count<'a>(&'a self, store: Store, prefix: Key) -> Pending<'a, u64> {
        self.0.count(store, prefix)
    }

    /// Fails with [`Code::SchemaTooNew`], unless there is nothing to write.
    fn commit<'a>(&'a self, commit: Commit) -> Pending<'a, bool> {
        let is_empty = commit.puts.is_empty() && commit.deletes.is_empty() && commit.delete_prefixes.is_empty();
        let answer = if is_empty { Ok(true) } else { Err(too_new()) };
        Box::pin(async move { answer })
    }

    fn usage<'a>(&'a self) -> Pending<'a, StorageUsage> {
        self.0.usage()
    }

    fn destroy<'a>(&'a self) -> Pending<'a, ()> {
        self.0.destroy()
    }

    fn close(&self) {
        self.0.close();
    }

    fn is_durable(&self) -> bool {
        self.0.is_durable()
    }

    fn search(&self) -> Option<&dyn SearchPort> {
        self.0.search()
    }
}

/// The stored data is of a later hundred of schema numbers.
pub(crate) fn too_new() -> Error {
    Error::new(
        Code::SchemaTooNew,
        "the stored data was written by a newer version of this app and can only be read here; nothing was written: \
         reload the page to get that version",
    )
}
