//! A piece of another store's conversation, merged into this one.
//!
//! Messages are added, never changed: each is known by its name, stands behind the one that it follows there, and is left out
//! where it was removed here. Marks of removed messages remove them here too. Title, project and `remember` are those that
//! were set last, and so is each note. Where the active path ends was decided last on one side, and that counts; at the same
//! time, the longer path, and then the greater name. Two conversations of one id that were made apart become one.

use super::Engine;
use super::conversations::{NewConversation, WRITE_TRIES, not_erased, overtaken};
use super::event::Event;
use super::projects::forget_project;
use super::stored::{Stored, encode};
use super::sync::{Taken, mark_of};
use super::sync_conversation::{Position, settings_at};
use super::sync_piece::ConversationPiece;
use crate::error::{Code, Result};
use crate::key;
use crate::ports::{Commit, Store};
use crate::records::{ConversationRecord, JobKind};
use crate::session_records::NoteRecord;
use crate::sorting;

/// A conversation's record with its text.
type Conversed = Stored<ConversationRecord>;

impl Engine {
    /// Merges a piece of a conversation.
    pub(super) async fn take_conversation_piece(&self, piece: ConversationPiece) -> Result<Taken> {
        piece.check()?;
        self.check_id("a conversation id", &piece.id)?;
        let marks = not_erased(&piece.id, &piece.made_at).map(|check| (check.store, check.key)).collect();
        if self.host.storage.get(marks).await?.iter().any(Option::is_some) {
            return Ok(Taken::default());
        }
        let place = vec![(Store::Conversations, key![piece.id.as_str()])];
        let is_new = self.host.storage.get(place).await?.into_iter().flatten().next().is_none();
        if is_new && !self.make_for_peer(&piece).await? {
            return Ok(Taken::default());
        }
        let merged = match self.merge_piece(&piece).await {
            Ok(merged) => merged,
            // It was erased meanwhile.
            Err(error) if error.code == Code::NotFound => return Ok(Taken::default()),
            Err(error) => return Err(error),
        };
        let Some((before, after)) = merged else { return Ok(Taken { missing: true, ..Taken::default() }) };
        let is_cut = self.take_marks(&piece).await?;
        let (is_turned, stays) = self.settle_leaf(&piece).await?;
        let is_changed = is_cut || is_turned;
        let version = |stored: &Conversed| Position::of(&stored.value, &stored.body).to_string();
        if is_new || is_changed || before.body != after.body {
            self.emit(&Event::conversation(&piece.id, "synced"));
        }
        let was_empty = is_new && before.value.last_seq == 0;
        Ok(Taken {
            mark: Some(mark_of(&after.value)),
            before: Some(version(&before)).filter(|_| !was_empty),
            after: Some(version(&after)).filter(|_| !is_changed),
            missing: false,
            differs: stays || !piece.settings.is_of(&after.value),
        })
    }

    /// Makes a conversation that another store has; false where it has no place here.
    async fn make_for_peer(&self, piece: &ConversationPiece) -> Result<bool> {
        let settings = &piece.settings;
        if !settings.remember {
            return Ok(false);
        }
        let earliest = piece.made_at.iter().copied().fold(f64::INFINITY, f64::min);
        let new = NewConversation {
            id: piece.id.clone(),
            title: settings.title.clone(),
            project_id: settings.project_id.clone(),
            remember: Some(true),
            parent_id: piece.parent_id.clone(),
            created_at: Some(earliest),
            updated_at: Some(piece.updated_at),
            source: piece.source.clone(),
            import_hash: piece.import_hash.clone(),
            made_at: piece.made_at.clone(),
            ..NewConversation::default()
        };
        match self.create_conversation(new).await {
            Ok(_) => Ok(true),
            // Another call was faster; or the conversation that it is a part of is not here, or erased.
            Err(error) if error.code == Code::Conflict => Ok(true),
            Err(error) if error.code == Code::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Everything of a piece but its marks and the turn of the path, in one commit; answers the record before and after.
    /// `None`: the piece follows something that is not here.
    async fn merge_piece(&self, piece: &ConversationPiece) -> Result<Option<(Conversed, Conversed)>> {
        let _turn = self.writes.enter().await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            self.ensure_open()?;
            self.refresh(&piece.id).await?;
            let mut places = self.places_of(piece).await?;
            let before = self.stored_conversation(&piece.id)?;
            let added = self.added_by(piece, &before.value, &mut places)?;
            if added.missing {
                return Ok(None);
            }
            let mut commit = Commit { strict: true, ..Commit::default() };
            let mut record = before.value.clone();
            let moves = merge_header(piece, &mut record);
            if moves && !record.episodes.is_empty() {
                forget_project(before.value.project_id.as_deref(), &mut commit);
            }
            self.put_added(piece, &added, &places, &mut record, &mut commit)?;
            self.merge_notes(piece, &mut record, &mut commit).await?;
            if record == before.value {
                return Ok(Some((before.clone(), before)));
            }
            commit.checks.push(before.check(Store::Conversations, key![piece.id.as_str()]));
            commit.checks.extend(not_erased(&piece.id, &piece.made_at));
            let (last_seq, next_seq) = (before.value.last_seq, record.last_seq);
            let jobs = self.change_jobs(&piece.id, &mut commit, &|job| {
                let is_next = job.kind == JobKind::Extract && job.done_until_seq == last_seq;
                if is_next && added.all_read {
                    job.done_until_seq = next_seq;
                }
            })?;
            let stored = Stored::new(record)?;
            commit.puts.push((Store::Conversations, key![piece.id.as_str()], stored.record()));
            if self.commit(commit).await? {
                self.take_conversation_in(stored.clone());
                for job in jobs {
                    self.put_job(&piece.id, job);
                }
                self.state.borrow_mut().unsettle_project(before.value.project_id.as_deref().filter(|_| moves));
                // What fails here is read by the next call.
                let _ = self.refresh(&piece.id).await;
                return Ok(Some((before, stored)));
            }
        }
        Err(overtaken())
    }

    /// Each note as it was changed last.
    async fn merge_notes(
        &self,
        piece: &ConversationPiece,
        record: &mut ConversationRecord,
        commit: &mut Commit,
    ) -> Result<()> {
        if piece.notes.is_empty() {
            return Ok(());
        }
        let known = self.note_records(&piece.id).await?;
        let mut is_changed = false;
        for note in &piece.notes {
            self.check_id("a note's id", &note.id)?;
            let here = known.iter().find(|known| known.id == note.id);
            let order = |note: &NoteRecord| (note.updated_at, note.content.clone());
            if here.is_some_and(|here| order(here) >= order(note)) {
                continue;
            }
            let created_at = here.map_or(note.created_at, |here| here.created_at.min(note.created_at));
            let note = NoteRecord { created_at, ..note.clone() };
            commit.puts.push((Store::Notes, key![piece.id.as_str(), note.id.as_str()], encode(&note)?));
            is_changed = true;
        }
        record.notes += u32::from(is_changed);
        Ok(())
    }
}

/// What a piece says about the conversation itself; answers whether it moves to another project or is remembered otherwise.
fn merge_header(piece: &ConversationPiece, record: &mut ConversationRecord) -> bool {
    let mut times: Vec<f64> = record.made_at().collect();
    for at in &piece.made_at {
        if !times.iter().any(|known| known.round().total_cmp(&at.round()).is_eq()) {
            times.push(*at);
        }
    }
    if times.len() > 1 + record.creations.len() {
        record.settings_at = settings_at(record);
        sorting::sort_by(&mut times, &|a, b| a.total_cmp(b));
        record.created_at = times.remove(0);
        record.creations = times;
    }
    record.updated_at = record.updated_at.max(piece.updated_at);
    record.source = record.source.take().or_else(|| piece.source.clone());
    record.import_hash = record.import_hash.take().or_else(|| piece.import_hash.clone());
    let settings = &piece.settings;
    let here = (record.title.clone(), record.project_id.clone(), record.remember);
    let there = (settings.title.clone(), settings.project_id.clone(), settings.remember);
    let order = settings.at.total_cmp(&settings_at(record));
    if order.then_with(|| there.cmp(&here)).is_lt() {
        return false;
    }
    (record.title, record.project_id, record.remember) = there;
    // Set to the same again, it was set later all the same.
    if settings.at > settings_at(record) {
        record.settings_at = settings.at;
    }
    (&here.1, here.2) != (&record.project_id, record.remember)
}
