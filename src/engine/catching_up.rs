//! What other tabs stored is read at once, so that what they erased is in this tab's memory no longer.

use super::Engine;
use super::event::Event;
use super::state::{Conversation, State};
use crate::error::{Code, Result};
use crate::json_reader::{Fields, FromFields};
use serde_json::json;

/// What other tabs said that they changed. Nothing depends on it: every call reads what it needs from storage.
#[derive(Clone, Debug, Default)]
pub struct CatchUp {
    /// Conversations that were written to, or removed.
    pub conversation_ids: Vec<String>,
    /// Anything can have changed: much was erased, or this tab slept.
    pub all: bool,
}

impl FromFields for CatchUp {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { conversation_ids: fields.take("conversationIds"), all: fields.take_or("all", false) }
    }
}

impl Engine {
    /// Reads again what is in memory of what other tabs changed, and forgets what they erased.
    ///
    /// # Errors
    /// What the storage reports. Where the data is gone, nothing of it is left in memory.
    pub async fn catch_up(&self, changes: CatchUp) -> Result<()> {
        self.ensure_open()?;
        // A write that was stored before an erasure is taken in before it.
        let _turn = self.writes.enter().await;
        let read = self.read_changes(&changes).await;
        if changes.all && read.as_ref().is_err_and(|error| error.code == Code::StorageUnavailable) {
            self.forget_everything();
            self.emit(&Event::new("storage", json!({ "state": "unavailable" })));
        }
        read
    }

    async fn read_changes(&self, changes: &CatchUp) -> Result<()> {
        let erasures = self.erasures.count();
        let mut is_erased = changes.all;
        if changes.all {
            self.refresh_conversations().await?;
        }
        for id in &changes.conversation_ids {
            // What was not read yet is read when it is needed.
            let is_loaded = self.state.borrow().conversation(id).is_some_and(Conversation::is_loaded);
            let refreshed = if is_loaded { self.refresh(id).await } else { self.refresh_record(id).await.map(|_| ()) };
            match refreshed {
                Err(error) if error.code == Code::NotFound => is_erased = true,
                refreshed => refreshed?,
            }
        }
        if is_erased || erasures != self.erasures.count() {
            self.state.borrow_mut().index.sweep();
        }
        self.refresh_facts().await
    }

    /// Nothing of what was read is kept.
    pub(super) fn forget_everything(&self) {
        *self.state.borrow_mut() = State::new(&self.host, &self.options.policy);
        self.see(None);
        self.messages_attached.set(false);
        self.vectors_attached.set(false);
        self.streams.take();
        self.calls.take();
        self.erasures.raise(true);
    }
}
