//! The lease of background work: a number in storage that rises whenever another tab takes the work over.
//!
//! A lock of the platform says who may begin, but not who has ended: a tab that was frozen, or whose lock was stolen,
//! goes on where it stopped and does not know. So every commit of background work checks that the lease is still the one
//! that this tab took, and what comes too late changes nothing.

use super::Engine;
use super::stored::{decode, encode};
use crate::error::Result;
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::ports::{Check, Commit, Key, Store};
use serde::Serialize;
use std::cell::{Cell, RefCell};

const LEASE: &str = "work_lease";

#[derive(Serialize)]
struct LeaseRecord {
    epoch: u64,
}

impl FromFields for LeaseRecord {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { epoch: fields.take("epoch") }
    }
}

/// What this engine took.
#[derive(Default)]
pub(super) struct Lease {
    /// The record that it wrote last. While nobody else writes one, it need not be written again.
    own: RefCell<Option<String>>,
    /// Background work is under way.
    is_working: Cell<bool>,
}

/// Background work under a lease; it ends when dropped.
pub(super) struct Working<'a>(&'a Lease);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.is_working.set(false);
    }
}

impl Engine {
    fn lease_place() -> (Store, Key) {
        (Store::Meta, key![LEASE])
    }

    /// Takes the lease; `None` where another tab took it in the same moment.
    pub(super) async fn take_lease(&self) -> Result<Option<Working<'_>>> {
        let (store, key) = Self::lease_place();
        let found = self.host.storage.get(vec![(store, key.clone())]).await?.pop().flatten();
        let before = found.as_ref().and_then(|record| decode::<LeaseRecord>(store, record).ok());
        let found = found.map(|record| record.body);
        if found.is_none() || found != *self.lease.own.borrow() {
            // One that cannot be read is taken over from the beginning.
            let record = encode(&LeaseRecord { epoch: before.map_or(0, |lease| lease.epoch) + 1 })?;
            let body = record.body.clone();
            let commit = Commit {
                checks: vec![Check { store, key: key.clone(), body: found }],
                puts: vec![(store, key, record)],
                ..Commit::default()
            };
            if !self.host.storage.commit(commit).await? {
                return Ok(None);
            }
            *self.lease.own.borrow_mut() = Some(body);
        }
        self.lease.is_working.set(true);
        Ok(Some(Working(&self.lease)))
    }

    /// Whether the lease is still the one that was taken, as far as this tab knows.
    pub(super) fn has_lease(&self) -> bool {
        self.lease.own.borrow().is_some()
    }

    /// A commit of background work: refused where another tab has taken the work over.
    pub(super) async fn commit_work(&self, mut commit: Commit) -> Result<bool> {
        let own = self.lease.own.borrow().clone().filter(|_| self.lease.is_working.get());
        let Some(own) = own else { return self.commit(commit).await };
        let (store, key) = Self::lease_place();
        commit.checks.push(Check { store, key: key.clone(), body: Some(own.clone()) });
        if self.commit(commit).await? {
            return Ok(true);
        }
        let found = self.host.storage.get(vec![(store, key)]).await?.pop().flatten();
        if found.is_none_or(|record| record.body != own) {
            *self.lease.own.borrow_mut() = None;
        }
        Ok(false)
    }
}
