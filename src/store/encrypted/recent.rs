//! The small records that every call reads again, as they were sealed and as they are open: what storage still has byte for
//! byte need not be opened once more, which would cost a turn of the event loop.

use crate::store::{Key, Record, Store};

/// Most records; the oldest makes room.
const MOST: usize = 64;
/// Longest record.
const MOST_BYTES: usize = 4 << 10;

/// Records that were read or written last.
#[derive(Default)]
pub(super) struct Recent(Vec<Entry>);

struct Entry {
    store: Store,
    /// As stored.
    key: Key,
    sealed: Record,
    open: Record,
}

impl Recent {
    const STORES: [Store; 4] = [Store::Meta, Store::Conversations, Store::SummaryHeads, Store::Jobs];

    /// The open record, if the sealed one is the same as then.
    pub(super) fn open(&self, store: Store, key: &Key, sealed: &Record) -> Option<Record> {
        let entry = self.0.iter().find(|entry| entry.store == store && entry.key == *key && entry.sealed == *sealed)?;
        Some(entry.open.clone())
    }

    /// Whether a record, sealed or open, is one of those that are kept.
    pub(super) fn keeps(store: Store, record: &Record) -> bool {
        Self::STORES.contains(&store) && record.body.len() + record.blob.as_ref().map_or(0, Vec::len) <= MOST_BYTES
    }

    /// Keeps a record in place of an earlier one under its key.
    pub(super) fn keep(&mut self, store: Store, key: Key, sealed: Record, open: Record) {
        self.0.retain(|entry| entry.store != store || entry.key != key);
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(Entry { store, key, sealed, open });
    }

    /// Forgets everything, when one of these records is gone: something was erased, here or in another tab.
    pub(super) fn forget_if_gone(&mut self, store: Store, key: &Key) {
        if self.0.iter().any(|entry| entry.store == store && entry.key == *key) {
            self.forget();
        }
    }

    /// Forgets everything that says anything.
    pub(super) fn forget(&mut self) {
        self.0.retain(|entry| entry.sealed.blob.is_none());
    }

    /// Forgets everything when a reading of a whole store does not have all of it.
    pub(super) fn forget_unless_found(&mut self, store: Store, found: &dyn Fn(&Key) -> bool) {
        if self.0.iter().any(|entry| entry.store == store && !found(&entry.key)) {
            self.forget();
        }
    }
}
