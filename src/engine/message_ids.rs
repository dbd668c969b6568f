//! Which id is at which position of a conversation: what makes an append idempotent, and names parents.
//!
//! A record that was changed on the disk leads nowhere: the message itself says its id, so its position is looked for there.

use super::Engine;
use super::append::{AppendRequest, Prepared};
use super::stored::{Stored, decode, encode};
use crate::error::{Error, Result};
use crate::key;
use crate::message::Seq;
use crate::ports::{Commit, Pending, Record, Store};
use crate::records::MessageIdRecord;
use crate::sorted_map::SortedMap;

/// Prefix of the ids that messages without an id of their own are given.
pub(super) const GIVEN_ID: &str = "seq:";
/// How the marks of removed messages begin.
pub(super) const REMOVED_PREFIX: &str = "removed:";

impl Engine {
    /// Where the messages with these ids are: those of the call that have ids of their own, and those that they follow.
    pub(super) async fn located(
        &self,
        request: &AppendRequest,
        prepared: &[Prepared],
        edited: Option<&str>,
    ) -> Result<SortedMap<String, MessageIdRecord>> {
        let mut ids = ids_of(request, prepared);
        ids.extend(edited.map(str::to_owned));
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        // An edit needs all of the conversation, which it has just read.
        let afresh = edited.is_none() && self.overtaken.get() > 0;
        let mut known = self.located_ids(&request.conversation_id, &ids, afresh).await?;
        if request.imported && !request.bring_back {
            self.locate_removed(&request.conversation_id, &ids, &mut known).await?;
        }
        Ok(known)
    }

    /// What the user removed does not come back with the next import: it counts as stored where it was, and what follows
    /// it follows the message before it.
    async fn locate_removed(
        &self,
        id: &str,
        ids: &[&str],
        known: &mut SortedMap<String, MessageIdRecord>,
    ) -> Result<()> {
        let missing: Vec<&str> = ids.iter().copied().filter(|own| !known.contains_key(*own)).collect();
        let hidden: Vec<String> = missing.iter().map(|own| removed_id(own)).collect();
        let removed = self.located_ids(id, &hidden.iter().map(String::as_str).collect::<Vec<_>>(), false).await?;
        if !removed.is_empty() {
            // Which messages are there still is known of what is loaded.
            self.refresh(id).await?;
        }
        let state = self.state.borrow();
        let stays =
            |seq: Seq| state.conversation(id).and_then(|found| found.message(seq)).is_some_and(|one| !one.is_removed);
        for (own, hidden) in missing.iter().zip(&hidden) {
            if let Some(located) = removed.get(hidden) {
                let seq = if stays(located.seq) { located.seq } else { 0 };
                known.insert((*own).to_owned(), MessageIdRecord { seq, content_hash: String::new() });
            }
        }
        Ok(())
    }

    /// Where the messages with these ids are; those that are not stored are left out. With `afresh` the conversation's record
    /// is read in the same moment: what is then decided is overtaken only by what is stored from there on.
    pub(super) async fn located_ids(
        &self,
        id: &str,
        ids: &[&str],
        afresh: bool,
    ) -> Result<SortedMap<String, MessageIdRecord>> {
        let mut found = SortedMap::new();
        if ids.is_empty() && !afresh {
            return Ok(found);
        }
        let mut keys: Vec<_> = ids.iter().map(|own| (Store::MessageIds, key![id, *own])).collect();
        keys.extend(afresh.then(|| (Store::Conversations, key![id])));
        let mut records = self.host.storage.get(keys).await?;
        if afresh {
            match records.pop().flatten() {
                Some(record) => self.take_conversation_in(Stored::read(Store::Conversations, &record)?),
                // It was erased.
                None => drop(self.refresh_record(id).await?),
            }
        }
        for (own, record) in ids.iter().zip(records) {
            if let Some(record) = record {
                found.insert((*own).to_owned(), self.read_located(id, own, &record).await?);
            }
        }
        Ok(found)
    }

    /// What a record says of an id, or, where it was changed on the disk, where the message with this id is.
    pub(super) async fn read_located(&self, id: &str, own: &str, record: &Record) -> Result<MessageIdRecord> {
        match decode(Store::MessageIds, record) {
            // That it was removed is said by there being a mark.
            Err(_) if own.starts_with(REMOVED_PREFIX) => Ok(MessageIdRecord { seq: 0, content_hash: String::new() }),
            // Rare: behind a pointer, it is not in the code of every append.
            Err(damaged) => self.located_by_message(id, own, damaged).await,
            located => located,
        }
    }

    /// Rare: behind a pointer, it is not in the code of every append.
    fn located_by_message<'a>(&'a self, id: &'a str, own: &'a str, damaged: Error) -> Pending<'a, MessageIdRecord> {
        Box::pin(async move {
            self.refresh(id).await?;
            let seq = {
                let state = self.state.borrow();
                let mut messages = state.conversation(id).into_iter().flat_map(|found| &found.messages);
                messages.find(|message| message.id() == own).map(|message| message.seq)
            };
            let seqs: Vec<Seq> = seq.into_iter().collect();
            let found = self.read_seqs(id, &seqs).await?.pop();
            match found {
                Some(message) => Ok(MessageIdRecord { seq: message.seq, content_hash: message.content_hash }),
                // That a message was removed is said by there being a mark.
                None if own.starts_with(REMOVED_PREFIX) => Ok(MessageIdRecord { seq: 0, content_hash: String::new() }),
                None => Err(damaged),
            }
        })
    }
}

/// Writes where an id is.
pub(super) fn put_id(id: &str, own: &str, located: &MessageIdRecord, commit: &mut Commit) -> Result<()> {
    commit.puts.push((Store::MessageIds, key![id, own], encode(located)?));
    Ok(())
}

/// Writes the mark of a removed message, with what it followed.
pub(super) fn put_mark(id: &str, mark: &str, seq: Seq, commit: &mut Commit) -> Result<()> {
    put_id(id, mark, &MessageIdRecord { seq, content_hash: String::new() }, commit)
}

/// The ids that say where the messages of a call go: their own, those that they follow, the call's note.
pub(super) fn ids_of(request: &AppendRequest, prepared: &[Prepared]) -> Vec<String> {
    let own = prepared.iter().filter(|message| message.own_id).map(|message| &message.record.id);
    let parents = request.parent_ids.iter().flatten().chain(&request.parent_id).flatten();
    own.chain(parents).cloned().chain(request.call.as_deref().map(call_id)).collect()
}

/// Under this the first message that a call stored is known, until the next call is answered.
pub(super) fn call_id(call: &str) -> String {
    format!("call:{call}")
}

/// Under this a removed message is known to imports: a hash of its id.
pub(super) fn removed_id(id: &str) -> String {
    format!("{REMOVED_PREFIX}{:016x}", crate::hash::fnv1a(id.bytes()))
}

/// The id of a message that has none of its own.
pub(super) fn given_id(seq: Seq) -> String {
    format!("{GIVEN_ID}{seq}")
}

/// Whether an id is the one that the engine gives at this position. Most ids are told apart by their first letters.
pub(super) fn is_given_id(id: &str, seq: Seq) -> bool {
    id.starts_with(GIVEN_ID) && id == given_id(seq)
}
