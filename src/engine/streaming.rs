//! Messages that arrive in parts: stored from the first part on, replaced as they grow, completed or aborted once.
//!
//! What is kept here of a stream is only a saving: every update finds the message in storage and writes it in one checked
//! commit, so another instance can go on where this one ended. A writer that is gone leaves its message `streaming`;
//! whoever meets it [`LOST_AFTER_MS`] after its last sign of life ends it as `aborted`.

use super::Engine;
use super::append::{Appended, Prepared, is_titling};
use super::conversations::{WRITE_TRIES, overtaken, title_from};
use super::event::Event;
use super::message_ids::put_id;
use super::readable::read_message;
use super::state::Conversation;
use super::stored::{Stored, encode};
use crate::error::{Code, Error, Result};
use crate::formats::FormatChoice;
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::message::Seq;
use crate::ports::{Commit, LockGuard, Record, Store};
use crate::records::{ConversationRecord, MessageIdRecord, MessageRecord, MessageStatus};
use crate::sorted_map::SortedMap;
use serde_json::json;
use std::cell::RefCell;

/// A writer that gave no sign for so long is gone, unless it holds its lock. Writers give one at least every 10 seconds.
const LOST_AFTER_MS: f64 = 30_000.0;
/// Counts and index follow when a message has grown by one part in so many: all counting of it together is then linear
/// in its length.
const COUNTED_GROWTH: usize = 4;
/// A short message is counted again when it has grown by so many bytes.
const LEAST_COUNTED_GROWTH: usize = 64;

/// A streamed message as it is now.
#[derive(Clone, Debug)]
pub struct StreamUpdate {
    /// The conversation.
    pub conversation_id: String,
    /// The message's id.
    pub id: String,
    /// Its position.
    pub seq: Seq,
    /// The whole message as JSON text, of the same id and role; left out, it is as it was.
    pub message: Option<String>,
    /// `Streaming`: there is more to come. `Complete`, `Aborted`: it ends.
    pub status: MessageStatus,
}

impl FromFields for StreamUpdate {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            conversation_id: fields.take("conversationId"),
            id: fields.take("id"),
            seq: fields.take("seq"),
            message: fields.take("message"),
            status: fields.take("status"),
        }
    }
}

/// The streams of one engine, by the names of their locks.
pub(super) type Streams = RefCell<SortedMap<String, Stream>>;

/// What is kept of a stream between its updates.
pub(super) struct Stream {
    /// Bytes of the message when it was last counted and indexed; `None`: not by this engine.
    counted_bytes: Option<usize>,
    /// Held as long as the writer lives, so that no other tab takes it for gone; `None` where it could not be had.
    _lock: Option<LockGuard>,
}

impl Engine {
    /// Stores a streamed message as it is now, or ends it. While there is more to come the write is relaxed, and counts
    /// and index follow once it has grown by a quarter; the end is strict and exact. Ending twice in the same way is a
    /// no-op.
    ///
    /// # Errors
    /// `not_found` (it was erased), `conflict` (it ended already, or was taken as aborted because its writer was not
    /// heard of), `invalid_argument` (another id or role, or a message that cannot be read), `storage_*`. What is stored
    /// is as it was.
    pub async fn update_stream(&self, update: StreamUpdate) -> Result<Appended> {
        self.ensure_open()?;
        let _turn = self.writes.enter().await;
        self.hold_stream(&update.conversation_id, update.seq).await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            self.ensure_open()?;
            if self.try_update_stream(&update).await? {
                // While there is more to come, only its beginning is known to be on disk.
                let is_whole = update.status != MessageStatus::Streaming;
                let durable = self.host.storage.is_durable() && is_whole && self.is_strict();
                return Ok(Appended { id: update.id, seq: update.seq, durable, erased: false });
            }
            self.refresh(&update.conversation_id).await?;
        }
        Err(overtaken())
    }

    /// One round: false when another tab was faster.
    async fn try_update_stream(&self, update: &StreamUpdate) -> Result<bool> {
        let id = update.conversation_id.as_str();
        let found = self.host.storage.get(vec![(Store::Messages, key![id, update.seq])]).await?.pop().flatten();
        let read = |record: Record| -> Result<Stored<MessageRecord>> {
            let (value, _) = read_message(&record)?;
            Ok(Stored { value, body: record.body })
        };
        let found = found.map(read).transpose()?;
        let Some(before) = found.filter(|found| found.value.id == update.id) else {
            self.release_stream(id, update.seq);
            return Err(Error::not_found("the message that is streamed is not there any more: it was erased"));
        };
        if before.value.status != MessageStatus::Streaming {
            self.release_stream(id, update.seq);
            // What an import writes is not there before it is shown.
            self.conversation_check(id).await?;
            self.replace_message(&before.value);
            let has_ended_so = already_ended(&before.value, update)?;
            if self.is_strict() {
                // The write of its end may have failed after all was written.
                self.barrier().await?;
            }
            return Ok(has_ended_so);
        }
        if !self.is_streaming_here(id, update.seq) && !self.is_lost(&before.value) {
            // Its writer was heard of while it was taken for gone.
            return Ok(false);
        }
        let record = self.changed(&before.value, update)?;
        self.write_change(&before, &record).await
    }

    /// The record after an update: read from its new text, with position, id and time as they were; counted where that is
    /// due, else with the mark that it is not.
    fn changed(&self, before: &MessageRecord, update: &StreamUpdate) -> Result<MessageRecord> {
        let raw = update.message.as_ref().unwrap_or(&before.raw);
        let has_ended = update.status != MessageStatus::Streaming;
        if !has_ended && *raw == before.raw {
            return Ok(MessageRecord { heard_at: Some(self.now_ms()), ..before.clone() });
        }
        let format = FormatChoice::Exact(before.format);
        let (Prepared { mut record, own_id }, message) = self.project(&before.conversation_id, raw, format)?;
        let is_same =
            if own_id { record.id == before.id } else { before.id == super::message_ids::given_id(before.seq) };
        if !is_same || record.role != before.role {
            return Err(Error::invalid_argument("a streamed message keeps the id and the role that it began with"));
        }
        record.seq = before.seq;
        record.id.clone_from(&before.id);
        record.parent_seq = before.parent_seq;
        record.created_at = before.created_at;
        record.local_only = before.local_only;
        (record.tokens, record.variable) = (before.tokens, before.variable);
        record.status = update.status;
        if has_ended || self.is_count_due(before, raw.len()) {
            self.count_tokens(&mut record, &message);
        }
        if !has_ended {
            record.content_hash.clone_from(&before.content_hash);
            record.heard_at = Some(self.now_ms());
        }
        Ok(record)
    }

    fn is_count_due(&self, before: &MessageRecord, bytes: usize) -> bool {
        let streams = self.streams.borrow();
        let name = self.stream_lock(&before.conversation_id, before.seq);
        let counted = streams.get(&name).and_then(|stream| stream.counted_bytes);
        counted.is_none_or(|counted| bytes.abs_diff(counted) >= (counted / COUNTED_GROWTH).max(LEAST_COUNTED_GROWTH))
    }

    /// Commits a changed message, with its conversation where its count changed too, and takes it in. False when another
    /// tab was faster.
    async fn write_change(&self, before: &Stored<MessageRecord>, record: &MessageRecord) -> Result<bool> {
        let id = record.conversation_id.as_str();
        let key = key![id, record.seq];
        let has_ended = record.status != MessageStatus::Streaming;
        let strict = has_ended && self.is_strict();
        let mut commit =
            Commit { checks: vec![before.check(Store::Messages, key.clone())], strict, ..Commit::default() };
        commit.puts.push((Store::Messages, key, encode(record)?));
        if record.counted_with.is_empty() || (!has_ended && record.raw == before.value.raw) {
            return self.commit(commit).await;
        }
        let (mut conversation, check) = self.conversation_check(id).await?;
        conversation.tokens = conversation.tokens.saturating_sub(before.value.tokens.into()) + u64::from(record.tokens);
        conversation.updated_at = self.now_ms();
        if conversation.first_text.is_none() && is_titling(record) && self.is_on_path(&conversation, record.seq) {
            conversation.first_text = title_from(&record.text);
        }
        let conversation = Stored::new(conversation)?;
        commit.checks.push(check);
        commit.puts.push((Store::Conversations, key![id], conversation.record()));
        if has_ended {
            let located = MessageIdRecord { seq: record.seq, content_hash: record.content_hash.clone() };
            put_id(id, &record.id, &located, &mut commit)?;
        }
        if !self.commit(commit).await? {
            return Ok(false);
        }
        if has_ended && !strict {
            self.promise(&conversation.value, 1);
        }
        self.state.borrow_mut().put_conversation(conversation);
        self.replace_message(record);
        if has_ended {
            self.release_stream(id, record.seq);
            let payload = json!({ "conversationId": id, "id": record.id, "seq": record.seq, "status": record.status });
            self.emit(&Event::new("stream", payload));
        } else if let Some(stream) = self.streams.borrow_mut().get_mut(&self.stream_lock(id, record.seq)) {
            stream.counted_bytes = Some(record.raw.len());
        }
        Ok(true)
    }

    /// Whether a message is surely on the active path.
    fn is_on_path(&self, record: &ConversationRecord, seq: Seq) -> bool {
        let state = self.state.borrow();
        let is_active = |found: &Conversation| found.is_loaded() && found.is_active(seq);
        record.is_linear() || state.conversation(&record.id).is_some_and(is_active)
    }

    /// Takes in what other tabs have streamed into a conversation since, and ends what nobody streams any more.
    pub(super) async fn refresh_streaming(&self, id: &str) -> Result<()> {
        let seqs: Vec<Seq> = {
            let state = self.state.borrow();
            state.conversations.get(id).map_or_else(Vec::new, |found| found.streaming.iter().copied().collect())
        };
        for seq in seqs {
            if self.is_streaming_here(id, seq) {
                continue;
            }
            let mut records = self.read_messages(id, seq, seq, None).await?;
            self.end_lost_streams(&mut records).await?;
            records.iter().for_each(|record| self.replace_message(record));
        }
        Ok(())
    }

    /// Ends streams whose writers are gone, as aborted; not those whose writers hold their locks all the same.
    pub(super) async fn end_lost_streams(&self, records: &mut [MessageRecord]) -> Result<()> {
        for record in records {
            if self.read_only || !self.is_lost(record) {
                continue;
            }
            let name = self.stream_lock(&record.conversation_id, record.seq);
            let Some(_lock) = self.host.locks.try_lock(&name).await? else { continue };
            let end = StreamUpdate {
                conversation_id: record.conversation_id.clone(),
                id: record.id.clone(),
                seq: record.seq,
                message: None,
                status: MessageStatus::Aborted,
            };
            match self.try_update_stream(&end).await {
                Ok(true) => record.status = MessageStatus::Aborted,
                Ok(false) => {}
                // It ended otherwise, or was erased: whoever looks next reads that.
                Err(error) if matches!(error.code, Code::Conflict | Code::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn is_lost(&self, record: &MessageRecord) -> bool {
        record.status == MessageStatus::Streaming
            && !self.is_streaming_here(&record.conversation_id, record.seq)
            // A time in the future is of a clock that was put back since.
            && record.heard_at.is_none_or(|heard_at| (self.now_ms() - heard_at).abs() > LOST_AFTER_MS)
    }

    fn is_streaming_here(&self, id: &str, seq: Seq) -> bool {
        self.streams.borrow().contains_key(&self.stream_lock(id, seq))
    }

    /// Marks a stream as this engine's own, for this engine and for other tabs.
    async fn hold_stream(&self, id: &str, seq: Seq) {
        if self.is_streaming_here(id, seq) {
            return;
        }
        let name = self.stream_lock(id, seq);
        // Without the lock the stream's signs of life speak for it.
        let lock = self.host.locks.try_lock(&name).await.ok().flatten();
        self.streams.borrow_mut().insert(name, Stream { counted_bytes: None, _lock: lock });
    }

    fn release_stream(&self, id: &str, seq: Seq) {
        self.streams.borrow_mut().remove(&self.stream_lock(id, seq));
    }

    /// Lets go of the streams of a conversation, or of some messages of it: they are erased. Of a whole conversation its
    /// last named call, too.
    pub(super) fn release_streams_of(&self, id: &str, seqs: Option<&[Seq]>) {
        if seqs.is_none() {
            self.calls.borrow_mut().remove(id);
            self.promises.forget(id);
        }
        let prefix = self.stream_lock(id, 0);
        let prefix = prefix.trim_end_matches('0');
        let is_meant = |name: &String| {
            let seq = name.strip_prefix(prefix).and_then(|seq| seq.parse().ok());
            seq.is_some_and(|seq: Seq| seqs.is_none_or(|seqs| seqs.binary_search(&seq).is_ok()))
        };
        let names: Vec<String> = self.streams.borrow().keys().filter(|name| is_meant(name)).cloned().collect();
        for name in names {
            // The lock is released when nothing is borrowed.
            let _released = self.streams.borrow_mut().remove(&name);
        }
    }

    fn stream_lock(&self, id: &str, seq: Seq) -> String {
        format!("throughline:{}:stream:{id}:{seq}", self.options.user_id)
    }

    /// Every message up to this position is whole.
    pub(super) fn whole_until_seq(&self, id: &str) -> Seq {
        self.state.borrow().conversations.get(id).map_or(0, |found| found.whole_until_seq())
    }
}

/// True where it ended as it is asked to end now.
fn already_ended(record: &MessageRecord, update: &StreamUpdate) -> Result<bool> {
    if record.status == update.status && update.message.as_ref().is_none_or(|raw| *raw == record.raw) {
        return Ok(true);
    }
    Err(Error::new(
        Code::Conflict,
        "this message is not being streamed any more: it ended before, or was taken as aborted because its writer was \
         not heard of; append what is missing as a message of its own",
    ))
}

crate::json_reader::deserialize_as_json!(StreamUpdate);
