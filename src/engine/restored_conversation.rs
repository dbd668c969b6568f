//! A conversation of a backup while its lines come in: one that is not here is written unseen, one that is here is merged
//! (`restored_merge.rs`).

use super::Engine;
use super::conversations::title_from;
use super::episodes::episode_key;
use super::erasure::erased_key;
use super::loading::job_key;
use super::message_ids::given_id;
use super::path_change::checkpoint_key;
use super::restore::{Restore, read, unusable};
use super::restored_merge::Merge;
use super::staging::staged_key;
use super::stored::{decode, encode};
use crate::error::Result;
use crate::formats::FormatChoice;
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::message::{Format, Seq};
use crate::ports::{Check, KeyPart, Record, Store};
use crate::records::{
    ConversationRecord, JobKind, JobRecord, MAX_BACKUP_RECORDS, MessageIdRecord, MessageRecord, MessageStatus,
    SummaryHead, SummaryNode,
};
use crate::session_records::{EpisodeMark, EpisodeRecord, NoteRecord};
use serde_json::Value;

/// A conversation as it stands in a backup: its record without what its messages say, and how far facts were extracted.
pub(super) struct BackupConversation {
    record: ConversationRecord,
    extracted_until_seq: Seq,
    extract_skipped: Vec<Seq>,
}

impl FromFields for BackupConversation {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            record: ConversationRecord {
                id: fields.take("id"),
                born: 0,
                title: fields.take("title"),
                project_id: fields.take("projectId"),
                remember: fields.take("remember"),
                created_at: fields.take("createdAt"),
                updated_at: fields.take("updatedAt"),
                last_seq: fields.take("lastSeq"),
                tokens: 0,
                first_text: fields.take("firstText"),
                active_leaf: fields.take("activeLeaf"),
                removed: 0,
                imported_until_seq: fields.take_or("importedUntilSeq", 0),
                has_local: false,
                source: fields.take("source"),
                parent_id: fields.take("parentId"),
                notes: 0,
                episodes: Vec::new(),
                import_hash: fields.take("importHash"),
                settings_at: fields.take_or("settingsAt", 0.0),
                turned_at: fields.take_or("turnedAt", 0.0),
                creations: fields.take_or("creations", Vec::new()),
            },
            extracted_until_seq: fields.take_or("extractedUntilSeq", 0),
            extract_skipped: fields.take_or("extractSkipped", Vec::new()),
        }
    }
}

/// A message as it stands in a backup.
pub(super) struct BackupMessage {
    pub(super) seq: Seq,
    pub(super) id: Option<String>,
    pub(super) parent_seq: Option<Seq>,
    pub(super) format: Format,
    pub(super) raw: String,
    pub(super) created_at: f64,
    pub(super) imported: bool,
    pub(super) local_only: bool,
    pub(super) removed: bool,
    pub(super) status: MessageStatus,
}

impl FromFields for BackupMessage {
    fn from_fields(fields: &mut Fields) -> Self {
        let removed = fields.take_or("removed", false);
        // Of a removed one only the position is left.
        let (format, raw, created_at) = match removed {
            true => (Format::OpenAi, String::new(), 0.0),
            false => (fields.take("format"), fields.take("raw"), fields.take("createdAt")),
        };
        Self {
            seq: fields.take("seq"),
            id: fields.take("id"),
            parent_seq: fields.take("parentSeq"),
            format,
            raw,
            created_at,
            imported: fields.take_or("imported", false),
            local_only: fields.take_or("localOnly", false),
            removed,
            status: fields.take_or("status", MessageStatus::Complete),
        }
    }
}

/// The conversation that is being read.
pub(super) struct Incoming {
    pub(super) record: ConversationRecord,
    extracted_until_seq: Seq,
    extract_skipped: Vec<Seq>,
    /// What each message follows, in the file; index + 1 is its position. Always one that was not removed.
    pub(super) parents: Vec<Seq>,
    /// Each position, or the nearest one before it that was not removed; 0: none.
    nearest: Vec<Seq>,
    /// None was removed, and each follows the one before it.
    is_linear: bool,
    /// Hashes of the ids of a new conversation: each may be there once.
    ids: Vec<u64>,
    /// The summary in force first, then earlier ones, then pieces.
    head: Option<SummaryHead>,
    earlier: Vec<SummaryHead>,
    pieces: Vec<SummaryNode>,
    episodes: Vec<EpisodeRecord>,
    pub(super) notes: Vec<NoteRecord>,
    removed_ids: Vec<(String, Seq)>,
    pub(super) merge: Option<Box<Merge>>,
    /// The user erased it here: it is read and left out.
    is_left_out: bool,
}

struct RemovedId {
    id: String,
    seq: Seq,
}

impl FromFields for RemovedId {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { id: fields.take("id"), seq: fields.take("seq") }
    }
}

impl Incoming {
    fn new(given: BackupConversation, merge: Option<Box<Merge>>) -> Self {
        Self {
            record: given.record,
            extracted_until_seq: given.extracted_until_seq,
            extract_skipped: given.extract_skipped,
            parents: Vec::new(),
            nearest: Vec::new(),
            is_linear: true,
            ids: Vec::new(),
            head: None,
            earlier: Vec::new(),
            pieces: Vec::new(),
            episodes: Vec::new(),
            notes: Vec::new(),
            removed_ids: Vec::new(),
            merge,
            is_left_out: false,
        }
    }

    /// A position in the file, or the nearest one before it that was not removed; 0: none.
    pub(super) fn nearest(&self, seq: Seq) -> Seq {
        let index = (seq as usize).min(self.nearest.len()).checked_sub(1);
        index.and_then(|index| self.nearest.get(index)).copied().unwrap_or(0)
    }

    /// Notes a message's place in the tree, and answers what it follows.
    pub(super) fn place(&mut self, message: &BackupMessage) -> Result<Seq> {
        let seq = self.parents.len() as Seq + 1;
        if message.seq != seq || seq > self.record.last_seq {
            return Err(unusable(&format!("message {seq} of a conversation is missing, or comes more than once")));
        }
        let parent_seq = message.parent_seq.unwrap_or(seq - 1);
        if parent_seq >= seq {
            return Err(unusable(&format!("message {seq} of a conversation follows one that comes later")));
        }
        let parent_seq = if message.removed { 0 } else { self.nearest(parent_seq) };
        self.parents.push(parent_seq);
        self.nearest.push(if message.removed { self.nearest(seq - 1) } else { seq });
        self.is_linear &= !message.removed && parent_seq == seq - 1;
        Ok(parent_seq)
    }

    /// Takes a summary or a mark of a removed message.
    pub(super) fn take_other(&mut self, kind: &str, value: Value) -> Result<()> {
        match kind {
            "summary" => self.head = Some(checked_head(read(value)?)?),
            "earlierSummary" => self.earlier.push(checked_head(read(value)?)?),
            "summaryPart" => self.pieces.push(read(value)?),
            "episode" => self.episodes.push(read(value)?),
            "note" => self.notes.push(read(value)?),
            _ => {
                let RemovedId { id, seq } = read(value)?;
                if !id.starts_with(super::message_ids::REMOVED_PREFIX) || id.len() > LONGEST_MARK {
                    return Err(unusable("a mark of a removed message is none"));
                }
                self.ids.push(crate::hash::fnv1a(id.bytes()));
                self.removed_ids.push((id, seq));
            }
        }
        Ok(())
    }

    /// Where the active path ends.
    pub(super) fn leaf(&self) -> Seq {
        self.nearest(self.record.active_leaf.unwrap_or(self.record.last_seq))
    }

    fn is_on_path(&self, seq: Seq) -> bool {
        let mut at = self.leaf();
        while at > seq {
            at = self.parents.get(at as usize - 1).copied().unwrap_or(0);
        }
        at == seq
    }
}

/// `removed:` and a hash of 64 bits.
const LONGEST_MARK: usize = 32;
/// Versions and cursors stay far from where counting ends.
pub(super) const LARGEST_NUMBER: u32 = 1 << 31;

fn checked_head(head: SummaryHead) -> Result<SummaryHead> {
    if head.version >= LARGEST_NUMBER || !head.updated_at.is_finite() {
        return Err(unusable("a summary's version or time cannot be"));
    }
    Ok(head)
}

impl Engine {
    pub(super) async fn begin_conversation(&self, restore: &mut Restore, given: BackupConversation) -> Result<()> {
        let record = &given.record;
        self.check_id("a conversation id", &record.id)?;
        let key = |id: &String| KeyPart::Text(id.clone());
        if restore.previous_id.as_ref().is_some_and(|previous| key(previous) >= key(&record.id)) {
            return Err(unusable("its conversations are not in order, or one comes twice"));
        }
        if !record.created_at.is_finite() || !record.updated_at.is_finite() || record.last_seq > MAX_BACKUP_RECORDS {
            return Err(unusable("a conversation's times or positions cannot be"));
        }
        restore.previous_id = Some(record.id.clone());
        let key = key![record.id.as_str()];
        let erased = (Store::Meta, erased_key(&record.id, record.created_at));
        let mut found = self.host.storage.get(vec![(Store::Conversations, key.clone()), erased]).await?.into_iter();
        let known = found.next().flatten();
        if found.next().flatten().is_some() && !restore.bring_back {
            // Not what was brought back before.
            let is_here = |known: &Record| {
                decode::<ConversationRecord>(Store::Conversations, known)
                    .is_ok_and(|here| here.created_at.round() == record.created_at.round())
            };
            if !known.as_ref().is_some_and(is_here) {
                restore.current = Some(Incoming { is_left_out: true, ..Incoming::new(given, None) });
                return Ok(());
            }
        }
        let merge = match known {
            Some(known) => Some(Box::new(self.begin_merge(&known, restore.bring_back).await?)),
            None => {
                restore.staged.checks.push(Check { store: Store::Conversations, key, body: None });
                let mark = Record { body: "{}".to_owned(), blob: None };
                restore.stage(Store::Meta, staged_key(&record.id), mark);
                None
            }
        };
        restore.current = Some(Incoming::new(given, merge));
        Ok(())
    }

    pub(super) async fn take_message(&self, restore: &mut Restore, message: BackupMessage) -> Result<()> {
        let Some(current) = &mut restore.current else { return Err(unusable("a message belongs to no conversation")) };
        let parent_seq = current.place(&message)?;
        if current.is_left_out {
            return Ok(());
        }
        if current.merge.is_some() {
            return self.merge_message(restore, message, parent_seq).await;
        }
        let id = current.record.id.clone();
        if message.removed {
            current.record.removed += 1;
            let tombstone = encode(&MessageRecord::tombstone(&id, message.seq))?;
            restore.stage(Store::Messages, key![id.as_str(), message.seq], tombstone);
            return Ok(());
        }
        let seq = message.seq;
        let is_imported = message.imported || !restore.trusted;
        let record = self.restored_message(&id, message, seq, parent_seq, is_imported)?;
        current.ids.push(crate::hash::fnv1a(record.id.bytes()));
        current.record.tokens += u64::from(record.tokens);
        current.record.has_local |= record.local_only;
        restore.report.messages += 1;
        let located = MessageIdRecord { seq, content_hash: record.content_hash.clone() };
        restore.stage(Store::Messages, key![id.as_str(), seq], encode(&record)?);
        restore.stage(Store::MessageIds, key![id.as_str(), record.id.as_str()], encode(&located)?);
        Ok(())
    }

    /// A message of a backup as a record: what it says is read out of it, and counted.
    pub(super) fn restored_message(
        &self,
        conversation_id: &str,
        message: BackupMessage,
        seq: Seq,
        parent_seq: Seq,
        is_imported: bool,
    ) -> Result<MessageRecord> {
        if !message.created_at.is_finite() {
            return Err(unusable("a message's time cannot be"));
        }
        let (prepared, parsed) = self.project(conversation_id, &message.raw, FormatChoice::Exact(message.format))?;
        let mut record = prepared.record;
        self.count_tokens(&mut record, &parsed);
        record.id = match message.id {
            Some(id) => {
                self.check_own_id(&id)?;
                id
            }
            None => given_id(seq),
        };
        record.seq = seq;
        record.parent_seq = parent_seq;
        record.created_at = message.created_at;
        record.imported = is_imported;
        record.local_only = message.local_only;
        record.status = match message.status {
            MessageStatus::Complete => MessageStatus::Complete,
            // Nobody is there to go on with it.
            MessageStatus::Streaming | MessageStatus::Aborted => MessageStatus::Aborted,
        };
        Ok(record)
    }

    /// The conversation is over: it is checked as a whole, and waits for the last commit.
    pub(super) async fn end_conversation(&self, restore: &mut Restore) -> Result<()> {
        let Some(mut current) = restore.current.take() else { return Ok(()) };
        if current.parents.len() as Seq != current.record.last_seq {
            return Err(unusable("a conversation has fewer messages than it says"));
        }
        if current.is_left_out {
            restore.report.erased_conversations += 1;
            restore.left_out.insert((current.record.id, 0));
            return Ok(());
        }
        if let Some(merge) = current.merge.take() {
            return self.end_merge(restore, &current, *merge).await;
        }
        current.ids.sort_unstable();
        if current.ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(unusable("two messages of a conversation have the same id"));
        }
        let born = restore.next_birth()?;
        let leaf = current.leaf();
        let (is_linear, last_seq) = (current.is_linear, current.record.last_seq);
        self.stage_summaries(restore, &current)?;
        let staged = self.stage_sessions(restore, &current)?;
        let extracted_until_seq = if restore.trusted { current.extracted_until_seq.min(last_seq) } else { last_seq };
        let is_behind = |seq: &Seq| (1..=extracted_until_seq).contains(seq) && restore.trusted;
        current.extract_skipped.retain(is_behind);
        let id = current.record.id.clone();
        for kind in [JobKind::Embed, JobKind::Compact, JobKind::Extract] {
            let is_extract = kind == JobKind::Extract;
            let job = JobRecord {
                kind,
                conversation_id: id.clone(),
                born,
                done_until_seq: if is_extract { extracted_until_seq } else { 0 },
                model: None,
                attempts: 0,
                not_before: 0.0,
                last_error: None,
                epoch: 0,
                skipped: if is_extract { std::mem::take(&mut current.extract_skipped) } else { Vec::new() },
            };
            restore.stage(Store::Jobs, job_key(kind, &id), encode(&job)?);
        }
        let mut record = current.record;
        (record.episodes, record.notes) = staged;
        record.born = born;
        record.active_leaf = if is_linear && record.active_leaf.is_none() { None } else { Some(leaf) };
        record.first_text = record.first_text.as_deref().and_then(title_from);
        record.imported_until_seq = if restore.trusted { record.imported_until_seq.min(last_seq) } else { last_seq };
        restore.projects.note(&record);
        restore.last.checks.push(Check { store: Store::Conversations, key: key![id.as_str()], body: None });
        restore.last.puts.push((Store::Conversations, key![id.as_str()], encode(&record)?));
        restore.report.imported += 1;
        restore.report.conversations.push(id);
        Ok(())
    }

    /// Episodes and notes of the user's own file; answers what the conversation's record says of them. Notes are shown to
    /// the model, so those of anybody's file are left out.
    fn stage_sessions(&self, restore: &mut Restore, current: &Incoming) -> Result<(Vec<EpisodeMark>, u32)> {
        let id = current.record.id.as_str();
        let mut marks: Vec<EpisodeMark> = Vec::new();
        if !restore.trusted {
            return Ok((marks, 0));
        }
        for episode in &current.episodes {
            let mark =
                EpisodeMark { ended_at: episode.ended_at, first_seq: episode.first_seq, last_seq: episode.last_seq };
            let is_next = mark.first_seq > marks.last().map_or(0, |last| last.last_seq);
            if is_next
                && mark.first_seq <= mark.last_seq
                && current.is_on_path(mark.last_seq)
                && mark.ended_at.is_finite()
            {
                let own = EpisodeRecord { conversation_id: id.to_owned(), ..episode.clone() };
                // Not under the conversation's key, so what a failed import left of them would not be found.
                restore.last.puts.push((Store::Episodes, episode_key(id, &mark), encode(&own)?));
                marks.push(mark);
            }
        }
        for note in &current.notes {
            self.check_id("a note's id", &note.id)?;
            restore.stage(Store::Notes, key![id, note.id.as_str()], encode(note)?);
        }
        Ok((marks, u32::from(!current.notes.is_empty())))
    }

    /// Summaries of the user's own file. One that does not fit the messages is left out: it is made again.
    fn stage_summaries(&self, restore: &mut Restore, current: &Incoming) -> Result<()> {
        let id = current.record.id.as_str();
        for (mark, seq) in &current.removed_ids {
            let gone = MessageIdRecord { seq: *seq, content_hash: String::new() };
            restore.stage(Store::MessageIds, key![id, mark.as_str()], encode(&gone)?);
        }
        if !restore.trusted {
            return Ok(());
        }
        let stays = |seq: Seq| seq > 0 && seq <= current.record.last_seq && current.nearest(seq) == seq;
        if let Some(head) = &current.head
            && (head.summarized_until_seq == 0
                || (stays(head.summarized_until_seq) && current.is_on_path(head.summarized_until_seq)))
        {
            restore.stage(Store::SummaryHeads, key![id], encode(head)?);
        }
        for head in current.earlier.iter().filter(|head| stays(head.summarized_until_seq)) {
            restore.stage(Store::Summaries, checkpoint_key(id, head.summarized_until_seq), encode(head)?);
        }
        for piece in current
            .pieces
            .iter()
            .filter(|piece| piece.first_seq <= piece.last_seq && piece.last_seq <= current.record.last_seq)
        {
            restore.stage(Store::Summaries, key![id, u32::from(piece.level), piece.first_seq], encode(piece)?);
        }
        Ok(())
    }
}
