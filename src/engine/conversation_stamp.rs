//! The stamp of all conversation records: it changes with every commit that writes or removes one, in whichever tab. So
//! whoever read them under a stamp that still stands need not read them again: one record in place of all.
//!
//! A tab that knows the stamp which stands writes the next one under the check that it still does, and so knows that one
//! as well. Where another tab was faster it writes its next stamp all the same, and then knows none until it has read all
//! records again. Stamps are a chain of hashes from the time and the texts written, so that two tabs give different ones.
//! A store that no stamp was written to is read whole every time.

use super::Engine;
use crate::error::Result;
use crate::key;
use crate::ports::{Check, Commit, Key, Record, Store};

/// What is written to it is only ever compared, and encryption knows that.
const STAMP: &str = crate::store::encrypted::COMPARED;

/// What one tab knows.
#[derive(Default)]
pub(super) struct ConversationStamp {
    /// The stamp under which this tab has seen every conversation record.
    seen: Option<String>,
    /// The newest one that this tab made.
    newest: u64,
}

impl ConversationStamp {
    pub(super) fn place() -> (Store, Key) {
        (Store::Meta, key![STAMP])
    }

    fn next(&mut self, commit: &Commit, now_ms: f64) -> Record {
        let texts = commit.puts.iter().flat_map(|(_, _, record)| record.body.bytes());
        let before = self.seen.as_deref().unwrap_or_default().bytes();
        let times = self.newest.to_le_bytes().into_iter().chain(now_ms.to_le_bytes());
        self.newest = crate::hash::fnv1a(times.chain(before).chain(texts));
        Record { body: format!("{{\"stamp\":\"{:016x}\"}}", self.newest), blob: None }
    }
}

impl Engine {
    /// Carries a commit out, with the next stamp where it changes conversation records.
    pub(super) async fn commit(&self, mut commit: Commit) -> Result<bool> {
        let stores = commit.puts.iter().map(|(store, ..)| *store);
        let mut removed = commit.deletes.iter().chain(&commit.delete_prefixes).map(|(store, _)| *store);
        let is_meant = |store: Store| store == Store::Conversations;
        if !stores.into_iter().any(is_meant) && !removed.any(is_meant) {
            return self.host.storage.commit(commit).await;
        }
        let (record, seen) = {
            let mut stamp = self.conversation_stamp.borrow_mut();
            (stamp.next(&commit, self.now_ms()), stamp.seen.clone())
        };
        let (store, key) = ConversationStamp::place();
        commit.puts.push((store, key.clone(), record.clone()));
        if let Some(seen) = seen {
            let mut checked = commit.clone();
            checked.checks.push(Check { store, key, body: Some(seen.clone()) });
            let stands = self.host.storage.commit(checked).await?;
            let mut stamp = self.conversation_stamp.borrow_mut();
            if stamp.seen.as_ref() == Some(&seen) {
                // Where it does not stand any more, it is not tried again.
                stamp.seen = stands.then_some(record.body);
            }
            drop(stamp);
            if stands {
                return Ok(true);
            }
        }
        self.host.storage.commit(commit).await
    }

    /// The stamp that stands.
    pub(super) async fn standing_stamp(&self) -> Result<Option<String>> {
        let found = self.host.storage.get(vec![ConversationStamp::place()]).await?.pop().flatten();
        Ok(found.map(|record| record.body))
    }

    /// Whether every conversation record was seen under this stamp.
    pub(super) fn has_seen(&self, stamp: Option<&str>) -> bool {
        stamp.is_some() && self.conversation_stamp.borrow().seen.as_deref() == stamp
    }

    /// That the stamp still stands under which every conversation record was seen.
    pub(super) fn seen_stamp_check(&self) -> Option<Check> {
        let seen = self.conversation_stamp.borrow().seen.clone()?;
        let (store, key) = ConversationStamp::place();
        Some(Check { store, key, body: Some(seen) })
    }

    /// Every conversation record was read after this stamp was.
    pub(super) fn see(&self, stamp: Option<String>) {
        self.conversation_stamp.borrow_mut().seen = stamp;
    }
}
