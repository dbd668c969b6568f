//! What an import of a backup has written and nobody can see yet.
//!
//! The records of a conversation are written in many commits and its own record last of all, in one commit for all
//! conversations: without that record nothing of them is in any list, history, search or job. Until then each of their ids
//! is reserved, so that no other conversation takes it and finds messages that are not its own. What an import leaves
//! behind that came to no end is removed: when it fails, before the next one, and when the store is opened again.

use super::Engine;
use super::loading::job_key;
use crate::error::Result;
use crate::key;
use crate::ports::{Check, Commit, Key, KeyPart, Query, Store};
use crate::records::JobKind;

/// Under this name, in the store of small records, are the import that runs and, behind it, the ids that it reserves.
const STAGED: &str = "importing";
/// The lock of everything that imports: the facade holds it while an import runs.
const IMPORT_LOCK: &str = "import";
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
        let mark = Query { limit: Some(1), ..Query::prefix(Store::Meta, run_key()) };
        self.has_staged.set(!self.scan(mark).await?.is_empty());
        Ok(())
    }

    /// Removes what an import left, unless one is running.
    pub(super) async fn sweep_leftovers(&self) -> Result<()> {
        if !self.has_staged.get() {
            return Ok(());
        }
        let Some(_lock) = self.host.locks.try_lock(IMPORT_LOCK).await? else { return Ok(()) };
        self.sweep_staged().await
    }

    /// Removes everything that was written for conversations that never came to be.
    pub(super) async fn sweep_staged(&self) -> Result<()> {
        loop {
            let mut marks = Query::prefix(Store::Meta, run_key());
            marks.limit = Some(SWEPT_AT_ONCE);
            let marks = self.scan(marks).await?;
            if marks.is_empty() {
                self.has_staged.set(false);
                return Ok(());
            }
            let mut commit = Commit::default();
            for (key, _) in marks {
                if let Some(KeyPart::Text(id)) = key.0.get(1) {
                    let is_visible = self.host.storage.get(vec![(Store::Conversations, key![id.as_str()])]).await?;
                    if is_visible.into_iter().flatten().next().is_none() {
                        commit.checks.push(Check { store: Store::Conversations, key: key![id.as_str()], body: None });
                        remove_staged(id, &mut commit);
                    }
                }
                commit.deletes.push((Store::Meta, key));
            }
            // Where a conversation has come to be meanwhile, the next look leaves it alone.
            self.host.storage.commit(commit).await?;
        }
    }
}

fn remove_staged(id: &str, commit: &mut Commit) {
    for store in [Store::Messages, Store::MessageIds, Store::Summaries] {
        commit.delete_prefixes.push((store, key![id]));
    }
    commit.deletes.push((Store::SummaryHeads, key![id]));
    for kind in [JobKind::Embed, JobKind::Compact, JobKind::Extract] {
        commit.deletes.push((Store::Jobs, job_key(kind, id)));
    }
}
