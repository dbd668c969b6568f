//! Records in memory: for tests, for private windows without storage, and for hosts that have none.

use super::range::{KeyRange, check_storable};
use super::{Commit, Key, KeyPart, Query, Record, Storage, StorageUsage, Store};
use crate::error::{Code, Error, Result};
use crate::ports::Pending;
use crate::sorted_map::SortedMap;
use std::cell::{Cell, RefCell};
use std::ops::Bound;
use std::rc::Rc;

/// A store in memory. Every answer is there at the first poll.
///
/// A clone is another open handle on the same records: it stays open when this one is closed, and it works on an empty
/// database when this one was destroyed.
#[derive(Debug, Default)]
pub struct MemoryStore {
    database: Rc<RefCell<Database>>,
    /// The database's generation when this handle was opened.
    generation: u64,
    closed: Cell<bool>,
}

/// Records of a store whose keys begin with the same component: of one conversation, mostly. In a single list, what goes
/// into its middle would move all that follows.
type Shelf = SortedMap<Key, Record>;

#[derive(Debug, Default)]
struct Database {
    stores: SortedMap<Store, SortedMap<KeyPart, Shelf>>,
    /// Rises when the database is destroyed, so that older handles know.
    generation: u64,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.get() {
            return Err(Error::new(Code::Closed, "the storage was closed; open it again"));
        }
        if self.database.borrow().generation != self.generation {
            return Err(Error::new(
                Code::StorageUnavailable,
                "the stored data was deleted while it was open; open the memory again to start anew",
            ));
        }
        Ok(())
    }

    fn read<T>(&self, read: impl FnOnce(&Database) -> T) -> Result<T> {
        self.check_open()?;
        Ok(read(&self.database.borrow()))
    }

    fn write(&self, commit: Commit) -> Result<bool> {
        self.check_open()?;
        commit.puts.iter().try_for_each(|(_, key, _)| check_storable(key))?;
        Ok(self.database.borrow_mut().carry_out(commit))
    }

    fn remove_everything(&self) -> Result<()> {
        if self.closed.get() {
            return Err(Error::new(Code::Closed, "the storage was closed; open it again to erase it"));
        }
        let mut database = self.database.borrow_mut();
        if database.generation == self.generation {
            database.stores.clear();
            database.generation += 1;
        }
        Ok(())
    }
}

impl Clone for MemoryStore {
    fn clone(&self) -> Self {
        let generation = self.database.borrow().generation;
        Self { database: Rc::clone(&self.database), generation, closed: Cell::new(false) }
    }
}

impl Database {
    fn get(&self, store: Store, key: &Key) -> Option<&Record> {
        self.stores.get(&store)?.get(&shelf_of(key))?.get(key)
    }

    /// The records of a range of keys that have this prefix, in order.
    fn range<'a>(
        &'a self,
        store: Store,
        prefix: &Key,
        range: &'a KeyRange,
    ) -> impl DoubleEndedIterator<Item = (&'a Key, &'a Record)> {
        let shelf = shelf_of(prefix);
        let bound = if prefix.0.is_empty() { Bound::Unbounded } else { Bound::Included(&shelf) };
        let shelves = self.stores.get(&store).into_iter().flat_map(|shelves| shelves.range(bound, bound));
        let shelves: Vec<&Shelf> = shelves.map(|(_, shelf)| shelf).collect();
        shelves.into_iter().flat_map(|shelf| shelf.range(range.lower.as_ref(), range.upper.as_ref()))
    }

    fn scan(&self, query: &Query) -> Vec<(Key, Record)> {
        let Some(range) = KeyRange::of(query) else { return Vec::new() };
        let selected = self.range(query.store, &query.prefix, &range);
        let limit = query.limit.unwrap_or(usize::MAX);
        let copied = |(key, record): (&Key, &Record)| (key.clone(), record.clone());
        if query.reverse {
            selected.rev().take(limit).map(copied).collect()
        } else {
            selected.take(limit).map(copied).collect()
        }
    }

    fn count(&self, store: Store, prefix: &Key) -> u64 {
        self.range(store, prefix, &KeyRange::prefix(prefix)).count() as u64
    }

    fn carry_out(&mut self, commit: Commit) -> bool {
        let holds =
            |check: &super::Check| self.get(check.store, &check.key).map(|record| &record.body) == check.body.as_ref();
        if !commit.checks.iter().all(holds) {
            return false;
        }
        for (store, prefix) in commit.delete_prefixes {
            let Some(shelves) = self.stores.get_mut(&store) else { continue };
            if prefix.0.is_empty() {
                shelves.clear();
            } else if let Some(records) = shelves.get_mut(&shelf_of(&prefix)) {
                let range = KeyRange::prefix(&prefix);
                records.remove_range(range.lower.as_ref(), range.upper.as_ref());
                if records.is_empty() {
                    shelves.remove(&shelf_of(&prefix));
                }
            }
        }
        for (store, key) in commit.deletes {
            let Some(shelves) = self.stores.get_mut(&store) else { continue };
            if let Some(records) = shelves.get_mut(&shelf_of(&key)) {
                records.remove(&key);
                // The name of a shelf is part of what was on it.
                if records.is_empty() {
                    shelves.remove(&shelf_of(&key));
                }
            }
        }
        for (store, key, record) in commit.puts {
            self.stores.get_or_default(store).get_or_default(shelf_of(&key)).insert(key, record);
        }
        true
    }

    /// Bytes of keys, bodies and blobs.
    fn bytes(&self) -> usize {
        let key_bytes = |key: &Key| {
            key.0
                .iter()
                .map(|part| match part {
                    KeyPart::Number(_) => size_of::<u64>(),
                    KeyPart::Text(text) => text.len(),
                })
                .sum::<usize>()
        };
        let record_bytes = |record: &Record| record.body.len() + record.blob.as_ref().map_or(0, Vec::len);
        let records = self.stores.values().flat_map(SortedMap::values).flat_map(SortedMap::iter);
        records.map(|(key, record)| key_bytes(key) + record_bytes(record)).sum()
    }
}

/// The shelf of a key; a key without components comes first.
fn shelf_of(key: &Key) -> KeyPart {
    key.0.first().cloned().unwrap_or(KeyPart::Number(0))
}

impl Storage for MemoryStore {
    fn get<'a>(&'a self, keys: Vec<(Store, Key)>) -> Pending<'a, Vec<Option<Record>>> {
        Box::pin(async move {
            self.read(|database| keys.iter().map(|(store, key)| database.get(*store, key).cloned()).collect())
        })
    }

    fn scan<'a>(&'a self, query: Query) -> Pending<'a, Vec<(Key, Record)>> {
        Box::pin(async move { self.read(|database| database.scan(&query)) })
    }

    fn count<'a>(&'a self, store: Store, prefix: Key) -> Pending<'a, u64> {
        Box::pin(async move { self.read(|database| database.count(store, &prefix)) })
    }

    fn commit<'a>(&'a self, commit: Commit) -> Pending<'a, bool> {
        Box::pin(async move { self.write(commit) })
    }

    fn usage<'a>(&'a self) -> Pending<'a, StorageUsage> {
        Box::pin(async move {
            let bytes = self.read(Database::bytes)?;
            Ok(StorageUsage { bytes: Some(bytes as f64), quota_bytes: None, persisted: Some(false) })
        })
    }

    fn destroy<'a>(&'a self) -> Pending<'a, ()> {
        Box::pin(async move { self.remove_everything() })
    }

    fn close(&self) {
        self.closed.set(true);
    }

    fn is_durable(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key;
    use futures_executor::block_on;

    #[test]
    fn usage_is_the_size_of_keys_bodies_and_blobs() {
        let store = MemoryStore::new();
        let record = Record { body: "{}".to_owned(), blob: Some(vec![0; 10]) };
        let commit = Commit { puts: vec![(Store::Meta, key!["abc", 1], record)], ..Commit::default() };
        assert!(block_on(store.commit(commit)).unwrap());
        assert_eq!(block_on(store.usage()).unwrap().bytes, Some(23.0));
    }

    #[test]
    fn a_clone_of_a_closed_or_destroyed_store_is_open() {
        let store = MemoryStore::new();
        store.close();
        let second = store.clone();
        assert_eq!(block_on(store.count(Store::Meta, key![])).unwrap_err().code, Code::Closed);
        assert_eq!(block_on(second.count(Store::Meta, key![])), Ok(0));
        block_on(second.destroy()).unwrap();
        let third = second.clone();
        assert_eq!(block_on(second.count(Store::Meta, key![])).unwrap_err().code, Code::StorageUnavailable);
        assert_eq!(block_on(third.count(Store::Meta, key![])), Ok(0));
    }
}
