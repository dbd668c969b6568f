//! A piece of a conversation for another store: what is new in it since a version that the other side has seen.
//!
//! Positions are each store's own. So a message is named by its id and a hash of its content; one without an id of its own
//! by the store, birth and position that it was first stored at. What stays on this device is left out: its messages are
//! as if they were not there, and what follows them follows what they follow.

use super::Engine;
use super::message_ids::{REMOVED_PREFIX, given_id, is_given_id, put_mark, removed_id};
use super::state::Conversation;
use super::stored::{Stored, decode};
use super::sync::SyncRecord;
use crate::error::{Error, Result};
use crate::hash::fnv1a;
use crate::key;
use crate::message::Seq;
use crate::ports::{Commit, KeyPart, Query, Store};
use crate::records::{ConversationRecord, JobKind, MessageRecord, MessageStatus};
use crate::session_records::NoteRecord;
use crate::sorted_map::{SortedMap, SortedSet};
use serde_json::{Value, json};

/// Messages of one piece, and bytes beyond which it ends.
const PIECE_MESSAGES: u32 = 500;
const PIECE_BYTES: usize = 512 * 1024;

/// How far a conversation was read out, and in which version.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Position {
    born: u32,
    seq: Seq,
    removed: Seq,
    notes: u32,
    /// Of the record; 0: there is more of this version.
    hash: u64,
}

impl Position {
    /// Where it is when all of it was read out.
    pub(super) fn of(record: &ConversationRecord, body: &str) -> Self {
        Self {
            born: record.born,
            seq: record.last_seq,
            removed: record.removed,
            notes: record.notes,
            hash: fnv1a(body.bytes()),
        }
    }

    /// None for a text that is no position.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let mut number = || parts.next()?.parse().ok();
        let (born, seq, removed, notes) = (number()?, number()?, number()?, number()?);
        Some(Self { born, seq, removed, notes, hash: u64::from_str_radix(parts.next()?, 16).ok()? })
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}.{}.{}.{}.{:x}", self.born, self.seq, self.removed, self.notes, self.hash)
    }
}

/// The ids under which a message of this name may be here.
pub(super) fn ids_of_name(own: &SyncRecord, born: u32, name: &str) -> Vec<String> {
    let Some((id, _)) = name.rsplit_once('~') else { return Vec::new() };
    let prefix = format!("{}.{born}.", own.name);
    let born_here = id.strip_prefix(&prefix).and_then(|seq| seq.parse().ok()).map(given_id);
    born_here.into_iter().chain([id.to_owned(), name.to_owned()]).collect()
}

/// A message's name among all stores, from its id here.
pub(super) fn name_of(own: &SyncRecord, born: u32, seq: Seq, id: &str, content_hash: &str) -> String {
    if is_given_id(id, seq) {
        return format!("{}.{born}.{seq}~{content_hash}", own.name);
    }
    // One that was given its content's hash because its id was taken.
    if id.strip_suffix(content_hash).is_some_and(|rest| rest.ends_with('~')) {
        return id.to_owned();
    }
    format!("{id}~{content_hash}")
}

/// What is looked at while a piece is made.
struct Reading {
    own: SyncRecord,
    born: u32,
    /// Messages that are still arriving, and what follows them.
    held: SortedSet<Seq>,
    names: SortedMap<Seq, String>,
}

impl Reading {
    /// A message, or the nearest one before it that may be named to others; 0: none.
    fn visible(&self, conversation: &Conversation, mut seq: Seq) -> Seq {
        while let Some(message) = conversation.message(seq) {
            if !message.local_only && !message.is_removed && !self.held.contains(&seq) {
                return seq;
            }
            seq = message.parent_seq;
        }
        0
    }

    fn name(&self, seq: Seq) -> Value {
        self.names.get(&seq).map_or(Value::Null, |name| Value::String(name.clone()))
    }
}

impl Engine {
    /// What is new in a conversation since a position; a position that is none, or of another of the same id, is the
    /// beginning.
    pub(super) async fn read_conversation_piece(&self, id: &str, since: Option<&str>) -> Result<Value> {
        let own = self.exchanging_as().await?.value;
        self.refresh(id).await?;
        let stored = self.stored_conversation(id)?;
        let record = &stored.value;
        let since =
            since.and_then(Position::parse).filter(|since| since.born == record.born && since.seq <= record.last_seq);
        if !record.remember && since.is_none() {
            return Ok(json!({ "piece": null, "version": Position::of(record, &stored.body).to_string() }));
        }
        let is_new = since.is_none();
        let since = since.unwrap_or_default();
        let mut reading = Reading { own, born: record.born, held: self.held_messages(id), names: SortedMap::new() };
        // A chat that is temporary from now on goes no further.
        let until = if record.remember { record.last_seq } else { since.seq };
        let (messages, read_until) = self.messages_from(id, since.seq + 1, until).await?;
        let more = read_until < until;
        let marks = match !more && (is_new || since.removed != record.removed) {
            true => self.removal_marks(id).await?,
            false => Vec::new(),
        };
        let with_notes = !more && record.remember && (is_new || since.notes != record.notes) && record.notes > 0;
        let notes = if with_notes { self.note_records(id).await? } else { Vec::new() };
        let leaf = self.name_all(id, &messages, &marks, &mut reading).await?;
        let lines = self.message_lines(id, &messages, &reading)?;
        let marks: Vec<Value> = marks
            .iter()
            .map(|(mark, seq)| json!({ "mark": mark, "parent": self.visible_name(id, *seq, &reading) }))
            .collect();
        let first_held = reading.held.iter().next().copied().unwrap_or(Seq::MAX);
        let whole = Position::of(record, &stored.body);
        let next = match more {
            true => Position { seq: read_until, hash: 0, removed: since.removed, notes: since.notes, ..whole },
            false if first_held <= until => Position { seq: first_held - 1, hash: 0, ..whole },
            false => Position { seq: until, ..whole },
        };
        let seq = next.seq.min(read_until);
        Ok(json!({
            "piece": {
                "id": record.id, "createdAt": record.created_at, "creations": record.creations,
                "updatedAt": record.updated_at, "parentId": record.parent_id, "source": record.source,
                "importHash": record.import_hash, "isWhole": is_new,
                "settings": {
                    "title": record.title, "projectId": record.project_id, "remember": record.remember,
                    "at": settings_at(record),
                },
                "leaf": { "name": reading.name(leaf), "at": self.leaf_at(id, leaf, record) },
                "messages": lines, "removed": marks, "notes": notes,
            },
            "version": Position { seq, ..next }.to_string(),
            "more": more,
            "count": messages.len(),
        }))
    }

    pub(super) fn stored_conversation(&self, id: &str) -> Result<Stored<ConversationRecord>> {
        let state = self.state.borrow();
        let found = state.conversation(id).map(|conversation| conversation.stored.clone());
        found.ok_or_else(|| Error::not_found("there is no conversation with this id"))
    }

    /// Messages that are still arriving, and all that follow them.
    fn held_messages(&self, id: &str) -> SortedSet<Seq> {
        let mut held = SortedSet::new();
        let state = self.state.borrow();
        let Some(conversation) = state.conversation(id) else { return held };
        if conversation.streaming.is_empty() {
            return held;
        }
        for message in &conversation.messages {
            let is_held = conversation.streaming.contains(&message.seq) || held.contains(&message.parent_seq);
            if is_held && !message.is_removed {
                held.insert(message.seq);
            }
        }
        held
    }

    /// Messages of a range, as many as fit a piece, and up to which position they were read.
    async fn messages_from(&self, id: &str, from: Seq, until: Seq) -> Result<(Vec<MessageRecord>, Seq)> {
        let mut messages = self.read_messages(id, from, until, Some(PIECE_MESSAGES)).await?;
        let mut bytes = 0;
        let fitting = messages.iter().position(|message| {
            bytes += message.raw.len();
            bytes >= PIECE_BYTES
        });
        if let Some(last) = fitting {
            messages.truncate(last + 1);
        }
        let is_full = fitting.is_some() || messages.len() >= PIECE_MESSAGES as usize;
        let read_until = messages.last().filter(|_| is_full).map_or(until, |message| message.seq);
        Ok((messages, read_until))
    }

    /// The marks of removed messages, each with the message that it followed.
    pub(super) async fn removal_marks(&self, id: &str) -> Result<Vec<(String, Seq)>> {
        let mut marks = Vec::new();
        for (key, record) in self.scan(Query::between(Store::MessageIds, key![id], REMOVED_PREFIX, "removed;")).await? {
            let Some(KeyPart::Text(mark)) = key.0.into_iter().nth(1) else { continue };
            let located = self.read_located(id, &mark, &record).await?;
            // A message of the app's own may be called so too.
            if located.content_hash.is_empty() {
                marks.push((mark, located.seq));
            }
        }
        Ok(marks)
    }

    /// Notes as they are stored, those that were taken away among them.
    pub(super) async fn note_records(&self, id: &str) -> Result<Vec<NoteRecord>> {
        let records = self.scan(Query::prefix(Store::Notes, key![id])).await?;
        Ok(records.iter().filter_map(|(_, record)| decode(Store::Notes, record).ok()).collect())
    }

    /// Finds the names of all messages that a piece mentions; answers where the path ends for others.
    async fn name_all(
        &self,
        id: &str,
        messages: &[MessageRecord],
        marks: &[(String, Seq)],
        reading: &mut Reading,
    ) -> Result<Seq> {
        let (leaf, named) = {
            let state = self.state.borrow();
            let Some(conversation) = state.conversation(id) else { return Ok(0) };
            let leaf = reading.visible(conversation, conversation.stored.value.leaf());
            let parents = messages.iter().map(|message| message.parent_seq).chain(marks.iter().map(|(_, seq)| *seq));
            let mut wanted: SortedSet<Seq> = parents.map(|seq| reading.visible(conversation, seq)).collect();
            wanted.insert(leaf);
            let ids = wanted.iter().filter_map(|seq| Some((*seq, conversation.message(*seq)?.id())));
            (leaf, ids.collect::<Vec<(Seq, String)>>())
        };
        for message in messages.iter().filter(|message| !message.removed) {
            let name = name_of(&reading.own, reading.born, message.seq, &message.id, &message.content_hash);
            reading.names.insert(message.seq, name);
        }
        let named: Vec<_> = named.into_iter().filter(|(seq, _)| !reading.names.contains_key(seq)).collect();
        let ids: Vec<&str> = named.iter().map(|(_, message_id)| message_id.as_str()).collect();
        let located = self.located_ids(id, &ids, false).await?;
        for (seq, message_id) in &named {
            if let Some(located) = located.get(message_id) {
                let name = name_of(&reading.own, reading.born, *seq, message_id, &located.content_hash);
                reading.names.insert(*seq, name);
            }
        }
        Ok(leaf)
    }

    fn visible_name(&self, id: &str, seq: Seq, reading: &Reading) -> Value {
        let state = self.state.borrow();
        state.conversation(id).map_or(Value::Null, |conversation| reading.name(reading.visible(conversation, seq)))
    }

    fn message_lines(&self, id: &str, messages: &[MessageRecord], reading: &Reading) -> Result<Vec<Value>> {
        let state = self.state.borrow();
        let Some(conversation) = state.conversation(id) else { return Ok(Vec::new()) };
        let extract = conversation.jobs.get(&JobKind::Extract).map(|job| &job.value);
        let is_sent =
            |message: &&MessageRecord| !message.removed && !message.local_only && !reading.held.contains(&message.seq);
        let line = |message: &MessageRecord| {
            let is_read = extract.is_some_and(|job| {
                message.seq <= job.done_until_seq && job.skipped.binary_search(&message.seq).is_err()
            });
            json!({
                "name": reading.name(message.seq),
                "parent": reading.name(reading.visible(conversation, message.parent_seq)),
                "format": message.format, "raw": message.raw, "createdAt": message.created_at,
                "imported": message.imported, "aborted": message.status == MessageStatus::Aborted,
                "isRead": is_read,
            })
        };
        Ok(messages.iter().filter(is_sent).map(line).collect())
    }

    /// When it was last decided that the path ends there, as far as this conversation is known.
    pub(super) fn leaf_at(&self, id: &str, leaf: Seq, record: &ConversationRecord) -> f64 {
        let state = self.state.borrow();
        state.conversation(id).map_or(record.turned_at, |conversation| leaf_at(conversation, leaf, record))
    }

    /// Marks messages that are removed, each with what it followed, for stores that know them by another id, and moves marks of
    /// earlier ones off them.
    pub(super) async fn mark_for_peers(
        &self,
        id: &str,
        born: u32,
        removed: &SortedMap<Seq, Seq>,
        commit: &mut Commit,
    ) -> Result<()> {
        let Some(own) = self.sync_record().await?.map(|own| own.value) else { return Ok(()) };
        let seqs: Vec<Seq> = removed.keys().copied().collect();
        let messages = self.read_seqs(id, &seqs).await?;
        let here: SortedMap<Seq, Seq> =
            messages.iter().filter_map(|message| Some((message.seq, *removed.get(&message.seq)?))).collect();
        for (mark, seq) in self.removal_marks(id).await? {
            if let Some(parent_seq) = here.get(&seq) {
                put_mark(id, &mark, *parent_seq, commit)?;
            }
        }
        for message in &messages {
            let name = name_of(&own, born, message.seq, &message.id, &message.content_hash);
            let parent_seq = here.get(&message.seq).copied().unwrap_or(0);
            put_mark(id, &removed_id(&name), parent_seq, commit)?;
        }
        Ok(())
    }
}

/// When it was last decided that the path ends there. Whoever goes on from a message has seen it, whatever clocks say.
pub(super) fn leaf_at(conversation: &Conversation, leaf: Seq, record: &ConversationRecord) -> f64 {
    let (mut at, mut next) = (record.turned_at, conversation.message(leaf));
    while let Some(message) = next {
        at = at.max(message.created_at);
        next = conversation.message(message.parent_seq);
    }
    at
}

/// When title, project and `remember` were last set.
pub(super) fn settings_at(record: &ConversationRecord) -> f64 {
    if record.settings_at == 0.0 { record.created_at } else { record.settings_at }
}
