//! What an import of a backup has written and nobody can see yet.
//!
//! The records of a conversation are written in many commits and its own record last of all, in one commit for all
//! conversations: without that record nothing of them is in any list, history, search or job. Until then each of their ids
//! is reserved, so that no other conversation takes it and finds messages that are not its own. What an import leaves
//! behind that came to no end is removed: when it fails, before the next one, and when the store is opened again. A tab that
//! was closed holds its lock for a while longer, so whoever opens then comes back to it: `settled` waits for that.

use super::Engine;
use super::conversations::overtaken;
use super::erasure::delete_records_of;
use crate::error::Result;
use crate::key;
use crate::ports::{Check, Commit, Key, KeyPart, Query, Record, Store};

/// Under this name, in the store of small records, are the import that runs and, behind it, the ids that it reserves.
const STAGED: &str = "importing";
/// The lock of everything that imports: the facade holds it while an import runs.
const IMPORT_LOCK: &str = "import";
/// When it is looked again whether a lock that kept leftovers from being removed is free.
pub(super) const NEXT_SWEEP_MS: f64 = 2_000.0;
/// Conversations that are removed in one commit.
const SWEPT_AT_ONCE: usize = 20;

/// The mark of the import that runs.
pub(super) fn run_key() -> Key {
    key![STAGED]
}

/// The mark that an id is reserved.
pub(super) fn staged_key(id: &str) -> Key {
    key![STAGED, id]
}

impl Engine {
    /// Notices at opening whether an import came to no end.
    pub(super) async fn notice_staged(&self) -> Result<()> {
        let mark = self.host.storage.get(vec![(Store::Meta, run_key())]).await?;
        self.has_staged.set(!self.read_only && mark.into_iter().flatten().next().is_some());
        Ok(())
    }

    /// Removes what an import left. False where the lock is held: by one that is running, or whose tab is being closed.
    pub(super) async fn sweep_leftovers(&self) -> Result<bool> {
        if !self.has_staged.get() {
            return Ok(true);
        }
        let Some(_lock) = self.host.locks.try_lock(IMPORT_LOCK).await? else { return Ok(false) };
        self.sweep_staged().await.map(|()| true)
    }

    /// Removes everything that was written for conversations that never came to be. The mark goes last, so that a sweep
    /// that is cut short is taken up again; it is changed first, so that the import it stood for can write no more.
    pub(super) async fn sweep_staged(&self) -> Result<()> {
        let (store, storage) = (Store::Meta, &self.host.storage);
        let marks = self.scan(Query::prefix(store, run_key())).await?;
        if !marks.is_empty() {
            let swept = Record { body: "{}".to_owned(), blob: None };
            storage.commit(Commit { puts: vec![(store, run_key(), swept)], ..Commit::default() }).await?;
        }
        for some in marks.chunks(SWEPT_AT_ONCE) {
            let mut commit = Commit::default();
            for (key, _) in some {
                let Some(KeyPart::Text(id)) = key.0.get(1) else { continue };
                let place = (Store::Conversations, key![id.as_str()]);
                // A conversation that has come to be is left alone.
                if storage.get(vec![place.clone()]).await?.into_iter().flatten().next().is_none() {
                    commit.checks.push(Check { store: place.0, key: place.1, body: None });
                    delete_records_of(id, &mut commit);
                }
                commit.deletes.push((store, key.clone()));
            }
            if !storage.commit(commit).await? {
                return Err(overtaken());
            }
        }
        if !marks.is_empty() {
            storage.commit(Commit { deletes: vec![(store, run_key())], ..Commit::default() }).await?;
        }
        self.has_staged.set(false);
        Ok(())
    }
}
