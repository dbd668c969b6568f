//! When what was stored is on disk, and noticing where it never came there.
//!
//! A relaxed write is acknowledged before it is on disk: a crash of the browser takes nothing of it, a power cut what came
//! after the last strict write, which takes all earlier ones along. Until such a barrier it is a promise, and it is kept in
//! mind how far each conversation had come. A browser that loses its storage process may give the database back as it was on
//! disk; whoever then finds a conversation shorter than was promised says, once, how many messages are gone.

use super::Engine;
use super::stored::Stored;
use crate::config::Durability;
use crate::error::{Code, Error, Result};
use crate::key;
use crate::message::Seq;
use crate::ports::{Commit, Store};
use crate::records::ConversationRecord;
use std::cell::{Cell, RefCell};

/// What was acknowledged before it was on disk.
#[derive(Default)]
pub(super) struct Promises {
    /// Messages, since this engine was opened.
    messages: Cell<u64>,
    /// How many of them were on disk with the latest barrier, or were told as lost.
    settled: Cell<u64>,
    /// Few: those that were written to within a second.
    conversations: RefCell<Vec<Promise>>,
}

/// A conversation has so many positions.
#[derive(Clone)]
struct Promise {
    id: String,
    born: u32,
    last_seq: Seq,
}

impl Promises {
    fn add(&self, promise: Promise) {
        let mut conversations = self.conversations.borrow_mut();
        match conversations.iter_mut().find(|known| known.id == promise.id && known.born == promise.born) {
            Some(known) => known.last_seq = known.last_seq.max(promise.last_seq),
            None => conversations.push(promise),
        }
    }

    fn unsettled(&self) -> u64 {
        self.messages.get() - self.settled.get()
    }

    /// What was promised of a conversation, where its record says less.
    fn broken(&self, record: &ConversationRecord) -> Option<Promise> {
        let conversations = self.conversations.borrow();
        let is_broken = |promise: &&Promise| {
            promise.id == record.id && promise.born == record.born && promise.last_seq > record.last_seq
        };
        conversations.iter().find(is_broken).cloned()
    }

    /// These were kept, or told as lost.
    fn release(&self, settled: &[Promise]) {
        let is_settled = |known: &Promise| {
            settled.iter().any(|promise| {
                promise.id == known.id && promise.born == known.born && promise.last_seq >= known.last_seq
            })
        };
        self.conversations.borrow_mut().retain(|known| !is_settled(known));
    }

    /// The conversation was erased.
    pub(super) fn forget(&self, id: &str) {
        self.conversations.borrow_mut().retain(|promise| promise.id != id);
    }
}

impl Engine {
    /// Everything acknowledged so far is on disk when this resolves: one strict transaction makes earlier relaxed ones
    /// durable too.
    ///
    /// # Errors
    /// `storage_corrupt` with [`lost`](crate::error::ErrorParts::lost) where messages that were acknowledged as not durable are gone, which is told
    /// once; what the storage reports. Then a later call tries again.
    pub async fn flush(&self) -> Result<()> {
        self.ensure_open()?;
        self.barrier().await
    }

    /// Messages that were acknowledged and may be lost: by a power cut, where the storage outlives the process; else all.
    /// Imported ones, which can be imported again, are left out.
    #[must_use]
    pub fn unsynced(&self) -> u64 {
        if self.host.storage.is_durable() { self.promises.unsettled() } else { self.figures().messages }
    }

    /// Whether messages wait for the disk.
    pub(super) fn is_strict(&self) -> bool {
        self.options.policy.durability == Durability::Strict
    }

    /// Messages of a conversation are acknowledged before they are on disk.
    pub(super) fn promise(&self, record: &ConversationRecord, messages: usize) {
        if self.host.storage.is_durable() {
            self.promises.messages.set(self.promises.messages.get() + messages as u64);
            self.promises.add(Promise { id: record.id.clone(), born: record.born, last_seq: record.last_seq });
        }
    }

    /// Whether a conversation's record says less than was promised of it.
    pub(super) fn is_promise_broken(&self, record: &ConversationRecord) -> bool {
        self.promises.broken(record).is_some()
    }

    pub(super) async fn barrier(&self) -> Result<()> {
        let (positions, messages) = (self.positions(), self.promises.messages.get());
        let promised = self.promises.conversations.borrow().clone();
        let synced = self.synced(&promised).await;
        match &synced {
            Ok(()) => self.acknowledge(positions),
            Err(error) if error.lost == 0 => return synced,
            Err(_) => {}
        }
        self.promises.release(&promised);
        self.promises.settled.set(self.promises.settled.get().max(messages));
        synced
    }

    /// Waits until all is on disk, and looks whether what was promised is there: what is missing now was lost before.
    async fn synced(&self, promised: &[Promise]) -> Result<()> {
        self.host.storage.commit(Commit { strict: true, ..Commit::default() }).await?;
        self.kept(promised).await
    }

    /// Before a message takes a position that was promised to another: whether that one is really gone. Records that are
    /// held in memory may be of before.
    pub(super) async fn check_promise(&self, record: &ConversationRecord) -> Result<()> {
        let Some(promise) = self.promises.broken(record) else { return Ok(()) };
        let promised = [promise];
        let kept = self.kept(&promised).await;
        if kept.as_ref().is_err_and(|error| error.lost > 0) {
            self.promises.release(&promised);
        }
        kept
    }

    /// Whether these conversations are as long as promised. One that was erased since is no loss.
    async fn kept(&self, promised: &[Promise]) -> Result<()> {
        if promised.is_empty() {
            return Ok(());
        }
        let keys = promised.iter().map(|promise| (Store::Conversations, key![promise.id.as_str()])).collect();
        let records = self.host.storage.get(keys).await?;
        let mut lost = 0;
        for (promise, record) in promised.iter().zip(records) {
            let found =
                record.and_then(|record| Stored::<ConversationRecord>::read(Store::Conversations, &record).ok());
            let is_short = |found: &ConversationRecord| found.born == promise.born && found.last_seq < promise.last_seq;
            if let Some(found) = found.filter(|found| is_short(&found.value)) {
                lost += u64::from(promise.last_seq - found.value.last_seq);
                self.take_loss_in(found);
            }
        }
        if lost == 0 { Ok(()) } else { Err(gone(lost)) }
    }

    /// What is in memory of a conversation that was longer is read again.
    fn take_loss_in(&self, stored: Stored<ConversationRecord>) {
        let id = stored.value.id.clone();
        {
            let state = &mut *self.state.borrow_mut();
            state.put_conversation(stored);
            state.unload(&id);
            state.index.sweep();
        }
        self.erasures.raise(false);
    }
}

fn gone(lost: u64) -> Error {
    let message = format!(
        "the browser lost its storage, and with it the last {lost} messages that were acknowledged as not durable; nothing \
         was written now: append them again"
    );
    let mut error = Error::new(Code::StorageCorrupt, message);
    error.lost = lost;
    error
}
