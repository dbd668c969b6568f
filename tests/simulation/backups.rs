//! Backups: files that were read out at some moment, and what an import of one does to the model (docs/backup.md).
//!
//! Facts are left out of the files: what becomes of those has tests of its own.

use super::host::LocalLocks;
use super::model::{Conversation, Message, Model, fnv1a, tombstone};
use serde_json::Value;
use std::fmt;
use std::rc::Rc;
use throughline::engine::{BackupPart, BackupRequest, Engine, RestoreRequest, RestoreStep};
use throughline::error::Result;
use throughline::ports::{LockGuard, Locks};
use throughline::records::MessageStatus;

/// A file, and what was there when it was written.
pub struct Backup {
    lines: Vec<Value>,
    model: Model,
}

impl fmt::Debug for Backup {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(text, "a file of {:?}", self.model.conversations.keys())
    }
}

impl PartialEq for Backup {
    fn eq(&self, other: &Self) -> bool {
        self.lines == other.lines
    }
}

impl Backup {
    /// Reads everything out.
    pub async fn made(engine: Rc<Engine>, model: Model) -> Result<Self> {
        let mut lines = Vec::new();
        for id in engine.backup(BackupRequest::default()).await?.conversation_ids {
            let of = |part, from, to| BackupRequest { part, conversation_id: Some(id.clone()), from, to };
            let page = engine.backup(of(BackupPart::Conversation, 1, u32::MAX)).await?;
            lines.extend(page.lines);
            let mut from = 1;
            while from <= page.last_seq {
                let messages = engine.backup(of(BackupPart::Messages, from, page.last_seq)).await?;
                lines.extend(messages.lines);
                from = messages.last_seq + 1;
            }
            lines.extend(engine.backup(of(BackupPart::Summaries, 1, u32::MAX)).await?.lines);
        }
        let lines = lines.iter().map(|line| serde_json::from_str(line).expect("lines are JSON")).collect();
        Ok(Self { lines, model })
    }

    /// Imports it as the facade does: under the lock of imports, and without a trace where it fails.
    pub async fn import(&self, engine: &Engine, locks: LocalLocks, trusted: bool, bring_back: bool) -> Result<()> {
        let _lock = free_lock(&locks).await?;
        let outcome = self.restore(engine, trusted, bring_back).await;
        if outcome.is_err() {
            drop(engine.restore(step(RestoreStep::Abort, Vec::new())).await);
        }
        outcome
    }

    async fn restore(&self, engine: &Engine, trusted: bool, bring_back: bool) -> Result<()> {
        let conversations = self.model.conversations.len() as u32;
        let begin = step(RestoreStep::Begin, Vec::new());
        engine.restore(RestoreRequest { conversations, trusted, bring_back, ..begin }).await?;
        for some in self.lines.chunks(9) {
            engine.restore(step(RestoreStep::Records, some.to_vec())).await?;
        }
        engine.restore(step(RestoreStep::Commit, Vec::new())).await.map(drop)
    }

    /// What a person may expect of it.
    pub fn apply(&self, model: &mut Model, bring_back: bool) {
        for (id, conversation) in &self.model.conversations {
            let is_back = model.conversations.get(id).is_some_and(|here| here.made == conversation.made);
            if !bring_back && !is_back && model.erased.contains(&(id.clone(), conversation.made)) {
                continue;
            }
            match model.conversations.get_mut(id) {
                Some(here) => merge(Rc::make_mut(here), conversation, bring_back),
                None => {
                    let messages = conversation.messages.iter().map(|message| Rc::new(ended(message))).collect();
                    let new = Conversation { messages, ..Conversation::clone(conversation) };
                    model.conversations.insert(id.clone(), Rc::new(new));
                }
            }
        }
    }
}

fn step(step: RestoreStep, records: Vec<Value>) -> RestoreRequest {
    RestoreRequest { step, records, ..RestoreRequest::default() }
}

async fn free_lock(locks: &LocalLocks) -> Result<LockGuard> {
    loop {
        if let Some(guard) = locks.try_lock("import").await? {
            return Ok(guard);
        }
        let mut is_asked = false;
        std::future::poll_fn(|_| {
            let was_asked = std::mem::replace(&mut is_asked, true);
            if was_asked { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }
}

/// A message as an import writes it: nobody is there to go on with what was streaming.
fn ended(message: &Message) -> Message {
    if message.removed {
        return tombstone();
    }
    let status = match message.status {
        MessageStatus::Streaming => MessageStatus::Aborted,
        status => status,
    };
    Message { known_as: message.raw.clone(), status, ..message.clone() }
}

/// Adds what the file has more; nothing is replaced.
fn merge(here: &mut Conversation, file: &Conversation, bring_back: bool) {
    let known = here.messages.len() as u32;
    let mut places: Vec<u32> = Vec::new();
    let mut is_aligned = true;
    for (seq, message) in (1..).zip(&file.messages) {
        if message.removed {
            places.push(0);
            continue;
        }
        let place = |seq: u32| (seq as usize).checked_sub(1).map_or(0, |at| places[at]);
        let parent = place(message.parent);
        let is_same = |(_, one): &(u32, &Message)| one.parent == parent && one.raw == message.raw;
        let same = here.living().find(is_same).map(|(seq, _)| seq);
        let at_place = if is_aligned { here.message(seq).filter(|_| seq <= known) } else { None };
        let found = match at_place {
            // What was brought back stands beside what followed it, which then is there twice.
            Some(here) if here.removed && !bring_back => same.or(Some(parent)),
            Some(here) if here.raw == message.raw && here.parent == parent => Some(seq),
            _ => {
                let is_there = at_place.is_some_and(|here| !here.removed && here.raw == message.raw);
                is_aligned &= is_there && same.is_none();
                same.or(is_there.then_some(seq))
            }
        };
        places.push(found.unwrap_or_else(|| added(here, message, parent, bring_back)));
    }
    let added_any = here.messages.len() as u32 > known;
    let theirs = (file.leaf as usize).checked_sub(1).map_or(0, |at| places[at]);
    if added_any && (here.leaf == 0 || here.path_to(theirs).contains(&here.leaf)) {
        here.leaf = theirs;
    }
}

/// Where a message is by its own id, or was when it was removed; else behind everything, under a name that is free.
fn added(here: &mut Conversation, message: &Message, parent: u32, bring_back: bool) -> u32 {
    let seq = here.messages.len() as u32 + 1;
    let mut id = format!("seq:{seq}");
    if !message.id.starts_with("seq:") {
        id.clone_from(&message.id);
        loop {
            let taken = here.seq_of(&id);
            if let Some(taken) = taken.filter(|taken| here.message(*taken).is_some_and(|one| one.raw == message.raw)) {
                return taken;
            }
            if let (Some(before), false) = (here.before_removed(&id), bring_back) {
                return before;
            }
            if taken.is_none() {
                break;
            }
            id = format!("{}~{:08x}", message.id, fnv1a(&message.raw) >> 32);
        }
    }
    here.messages.push(Rc::new(Message { id, parent, ..ended(message) }));
    seq
}
