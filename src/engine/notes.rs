//! Notes: what the app, or its agent, writes down about a conversation while it works. They are its own words, so nothing
//! but the app and the erasure of the conversation changes them.

use super::Engine;
use super::conversations::{WRITE_TRIES, overtaken};
use super::event::Event;
use super::stored::{Stored, decode, encode};
use crate::context::{Dropped, Item, SystemPart};
use crate::error::{Error, Result};
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::ports::{Commit, Query, Store};
use crate::prompt_text::{NOTES_HEADER, json_line};
use crate::session_records::NoteRecord;
use crate::sorting;
use serde::Serialize;

/// A note to be written, or taken away.
#[derive(Clone, Debug, Default)]
pub struct NewNote {
    /// The conversation.
    pub conversation_id: String,
    /// Its name, unique in the conversation; one that is there is replaced.
    pub id: String,
    /// What it says; `None` takes it away.
    pub content: Option<String>,
    /// `content` is JSON text of what the app gave.
    pub is_json: bool,
}

impl FromFields for NewNote {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            conversation_id: fields.take("conversationId"),
            id: fields.take("id"),
            content: fields.take("content"),
            is_json: fields.take_or("isJson", false),
        }
    }
}

/// A note as the app sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NoteView {
    /// The conversation.
    pub conversation_id: String,
    /// Its name.
    pub id: String,
    /// What it says.
    pub content: String,
    /// `content` is JSON text of what the app gave.
    pub is_json: bool,
    /// Milliseconds since 1970.
    pub created_at: f64,
    /// Milliseconds since 1970.
    pub updated_at: f64,
}

impl NoteView {
    fn new(conversation_id: &str, note: NoteRecord) -> Self {
        let NoteRecord { id, content, is_json, created_at, updated_at } = note;
        Self { conversation_id: conversation_id.to_owned(), id, content, is_json, created_at, updated_at }
    }
}

impl Engine {
    /// Writes a note, in place of one of the same name, or takes one away; answers what was written. One to be taken away
    /// that is not there is no error.
    ///
    /// # Errors
    /// `not_found` (the conversation), `invalid_argument` (the name, or an empty or too long content).
    pub async fn set_note(&self, new: NewNote) -> Result<Option<NoteView>> {
        self.ensure_open()?;
        self.check_id("a note's id", &new.id)?;
        let most = self.options.policy.limits.message_bytes as usize;
        if new.content.as_ref().is_some_and(|content| content.trim().is_empty() || content.len() > most) {
            return Err(Error::invalid_argument(format!("a note says something, in at most {most} bytes")));
        }
        let id = new.conversation_id.as_str();
        let _turn = self.writes.enter().await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            let known = self.notes_of(id).await?;
            let before = known.iter().find(|note| note.id == new.id);
            let (mut record, check) = self.conversation_check(id).await?;
            record.notes += 1;
            let mut commit = Commit { checks: vec![check], strict: true, ..Commit::default() };
            let place = (Store::Notes, key![id, new.id.as_str()]);
            // One that was taken away, too, was changed before this, whatever this device's clock says.
            let seen = self.host.storage.get(vec![place.clone()]).await?.pop().flatten();
            let seen = seen.and_then(|record| decode::<NoteRecord>(Store::Notes, &record).ok());
            let now = self.now_ms();
            let updated_at = seen.map_or(now, |note| now.max(note.updated_at + 1.0));
            let note = match (&new.content, before) {
                (None, None) => return Ok(None),
                (None, Some(before)) => {
                    if self.sync_record().await?.is_some() {
                        // Other stores have it, and must hear that it is gone.
                        let gone = NoteRecord { content: String::new(), updated_at, ..before.clone() };
                        commit.puts.push((place.0, place.1, encode(&gone)?));
                    } else {
                        commit.deletes.push(place);
                    }
                    None
                }
                (Some(content), before) => {
                    let created_at = before.map_or(now, |note| note.created_at);
                    let (content, is_json) = (content.clone(), new.is_json);
                    let note = NoteRecord { id: new.id.clone(), content, is_json, created_at, updated_at };
                    commit.puts.push((place.0, place.1, encode(&note)?));
                    Some(NoteView::new(id, note))
                }
            };
            let stored = Stored::new(record)?;
            commit.puts.push((Store::Conversations, key![id], stored.record()));
            if self.commit(commit).await? {
                self.state.borrow_mut().put_conversation(stored);
                self.emit(&Event::conversation(id, "noted"));
                return Ok(note);
            }
        }
        Err(overtaken())
    }

    /// The notes of a conversation, oldest first.
    ///
    /// # Errors
    /// `not_found` (the conversation).
    pub async fn list_notes(&self, id: &str) -> Result<Vec<NoteView>> {
        self.ensure_open()?;
        Ok(self.notes_of(id).await?.into_iter().map(|note| NoteView::new(id, note)).collect())
    }

    /// The notes as storage has them. They are read again only where the conversation's record says that they changed.
    async fn notes_of(&self, id: &str) -> Result<Vec<NoteRecord>> {
        let version = self.refresh_record(id).await?.notes;
        if version == 0 {
            return Ok(Vec::new());
        }
        {
            let state = self.state.borrow();
            let known = state.conversation(id).and_then(|conversation| conversation.notes.as_ref());
            if let Some((_, notes)) = known.filter(|(known, _)| *known == version) {
                return Ok(notes.clone());
            }
        }
        let life = self.life_of(id);
        let mut notes = Vec::new();
        for (key, record) in self.scan(Query::prefix(Store::Notes, key![id])).await? {
            // One that cannot be read costs only itself, and is told.
            match decode::<NoteRecord>(Store::Notes, &record) {
                // Of one that was taken away only this is left.
                Ok(note) if note.content.is_empty() => {}
                Ok(note) => notes.push(note),
                Err(_) => self.note_unreadable(Store::Notes, &key),
            }
        }
        self.tell_losses();
        sorting::sort_by(&mut notes, &|a, b| a.created_at.total_cmp(&b.created_at).then_with(|| a.id.cmp(&b.id)));
        if life == self.life_of(id)
            && let Some(conversation) = self.state.borrow_mut().conversations.get_mut(id)
        {
            conversation.notes = Some((version, notes.clone()));
        }
        Ok(notes)
    }

    /// The notes section of a context: all that fits, the one that was changed last first, in the order of their making.
    pub(super) async fn notes_part(&self, id: &str, cap: u32) -> Result<SystemPart> {
        let mut part = SystemPart { cap, ..SystemPart::default() };
        let has_notes = self.state.borrow().conversation(id).is_some_and(|found| found.stored.value.notes > 0);
        let notes = if has_notes { self.notes_of(id).await? } else { Vec::new() };
        let counter = self.counter();
        let lines: Vec<String> =
            notes.iter().map(|note| json_line(&format!("{}: {}", note.id, note.content))).collect();
        let mut by_change: Vec<usize> = (0..notes.len()).collect();
        sorting::sort_by(&mut by_change, &|a, b| notes[*b].updated_at.total_cmp(&notes[*a].updated_at).then(b.cmp(a)));
        let mut left = cap.saturating_sub(counter.count(NOTES_HEADER));
        let mut taken = vec![false; notes.len()];
        for at in by_change {
            // One more for the line break.
            let tokens = counter.count(&lines[at]) + 1;
            if tokens <= left {
                left -= tokens;
                taken[at] = true;
            } else {
                part.dropped.push(Dropped { id: notes[at].id.clone(), tokens, reason: "no_room" });
            }
        }
        let mut text = vec![NOTES_HEADER];
        for (at, note) in notes.iter().enumerate().filter(|(at, _)| taken[*at]) {
            text.push(&lines[at]);
            let tokens =
                counter.count(&lines[at]) + if part.items.is_empty() { counter.count(NOTES_HEADER) } else { 0 };
            part.items.push(Item { kind: "note", id: note.id.clone(), tokens, reason: "noted", ..Item::default() });
        }
        if !part.items.is_empty() {
            part.text = text.join("\n");
        }
        Ok(part)
    }
}

crate::json_reader::deserialize_as_json!(NewNote);
