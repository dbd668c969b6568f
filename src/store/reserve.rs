//! Room that is kept free, so that what makes room never fails for want of it.
//!
//! A browser whose quota is reached refuses every transaction that puts anything, even one that removes far more in the same
//! stroke (measured on both of Chromium's back ends); one that only removes it carries out. Erasing a conversation moves
//! counters, removing a message leaves a tombstone: so they would fail just when they are needed. Here a record of random
//! bytes is kept beside the data. It goes, alone, when a commit that makes room is refused, which is then tried again; and
//! nothing else is stored until it is back.

use super::{Commit, Key, Query, Record, Storage, StorageUsage, Store};
use crate::error::{Code, Result};
use crate::key;
use crate::ports::Pending;
use std::cell::Cell;
use std::rc::Rc;

/// Bytes that are kept free: more than a commit that makes room puts, unless a message of over some 60,000 characters follows
/// one that is removed and has to be written again with its new parent. Its conversation can be deleted all the same.
const RESERVE_BYTES: usize = 128 * 1024;

const RESERVE: &str = "reserve";

/// A store that keeps some of its room free.
pub struct Reserve {
    inner: Rc<dyn Storage>,
    /// The record is there; `None`: it was not looked for yet.
    is_whole: Cell<Option<bool>>,
}

impl Reserve {
    /// Wraps `inner`.
    #[must_use]
    pub fn new(inner: Rc<dyn Storage>) -> Self {
        Self { inner, is_whole: Cell::new(None) }
    }

    async fn carry_out(&self, commit: Commit) -> Result<bool> {
        if !self.has_reserve().await? && !makes_room(&commit) && !commit.puts.is_empty() {
            // What is free is needed first.
            self.fill().await?;
        }
        if !makes_room(&commit) {
            return self.inner.commit(commit).await;
        }
        match self.inner.commit(commit.clone()).await {
            Err(error) if error.code == Code::StorageQuotaExceeded => {
                let deletes = vec![(Store::Meta, key![RESERVE])];
                self.inner.commit(Commit { deletes, ..Commit::default() }).await?;
                self.is_whole.set(Some(false));
                self.inner.commit(commit).await
            }
            carried_out => carried_out,
        }
    }

    async fn has_reserve(&self) -> Result<bool> {
        if let Some(is_whole) = self.is_whole.get() {
            return Ok(is_whole);
        }
        let is_whole = self.inner.count(Store::Meta, key![RESERVE]).await? > 0;
        self.is_whole.set(Some(is_whole));
        Ok(is_whole)
    }

    async fn fill(&self) -> Result<()> {
        let record = Record { body: "{}".to_owned(), blob: Some(incompressible(RESERVE_BYTES)) };
        let puts = vec![(Store::Meta, key![RESERVE], record)];
        self.inner.commit(Commit { puts, ..Commit::default() }).await?;
        self.is_whole.set(Some(true));
        Ok(())
    }
}

/// Whether a commit removes something, or makes a summary: after that there is more room, or less to be sent. Segments that
/// are joined are larger than the reserve, and can wait. An append takes the note of the call before it along, which makes no
/// room.
///
/// A barrier stores nothing, but a browser has to write something to carry it out: what was acknowledged must come to disk
/// on a full one, too.
fn makes_room(commit: &Commit) -> bool {
    let puts = |wanted: Store| commit.puts.iter().any(|(store, ..)| *store == wanted);
    let is_more_than_a_note = commit.deletes.iter().any(|(store, _)| *store != Store::MessageIds);
    let removes = is_more_than_a_note || !commit.delete_prefixes.is_empty();
    let is_barrier = commit.strict && commit.puts.is_empty();
    !puts(Store::SegmentChunks) && (removes || is_barrier || puts(Store::SummaryHeads))
}

/// Bytes that no compression of a database makes smaller (xorshift, Marsaglia 2003).
fn incompressible(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes
}

impl Storage for Reserve {
    fn get<'a>(&'a self, keys: Vec<(Store, Key)>) -> Pending<'a, Vec<Option<Record>>> {
        self.inner.get(keys)
    }

    fn scan<'a>(&'a self, query: Query) -> Pending<'a, Vec<(Key, Record)>> {
        self.inner.scan(query)
    }

    fn count<'a>(&'a self, store: Store, prefix: Key) -> Pending<'a, u64> {
        self.inner.count(store, prefix)
    }

    fn commit<'a>(&'a self, commit: Commit) -> Pending<'a, bool> {
        Box::pin(self.carry_out(commit))
    }

    fn usage<'a>(&'a self) -> Pending<'a, StorageUsage> {
        self.inner.usage()
    }

    fn destroy<'a>(&'a self) -> Pending<'a, ()> {
        self.inner.destroy()
    }

    fn close(&self) {
        self.inner.close();
    }

    fn is_durable(&self) -> bool {
        self.inner.is_durable()
    }
}
