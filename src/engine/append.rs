//! Appending: raw messages first, byte-exact, in one transaction, before anything else happens.

use super::Engine;
use super::conversations::{WRITE_TRIES, overtaken, title_from};
use super::event::Event;
use super::stored::{Stored, content_hash, decode, encode};
use crate::error::{Code, Error, Result};
use crate::formats::{self, FormatChoice};
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::message::{Message, Role, Seq};
use crate::ports::{Commit, Store};
use crate::records::{ConversationRecord, MessageIdRecord, MessageRecord};
use crate::sorted_map::SortedMap;
use serde::Serialize;
use serde_json::json;

/// Prefix of the ids that messages without an id of their own are given.
const GIVEN_ID: &str = "seq:";

/// Messages to append.
#[derive(Clone, Debug)]
pub struct AppendRequest {
    /// The conversation.
    pub conversation_id: String,
    /// The caller's objects as JSON texts, oldest first.
    pub messages: Vec<String>,
    /// `openai`, `anthropic` or `ai-sdk`; left out, each message's format is detected.
    pub format: Option<String>,
    /// The message that the first one follows; by default the newest.
    pub parent_id: Option<String>,
}

impl FromFields for AppendRequest {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            conversation_id: fields.take("conversationId"),
            messages: fields.take("messages"),
            format: fields.take("format"),
            parent_id: fields.take("parentId"),
        }
    }
}

/// A message that is stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Appended {
    /// The message's id: the caller's, or `seq:<position>`.
    pub id: String,
    /// Its position in the conversation, from 1.
    pub seq: Seq,
    /// True: on disk, as far as the platform can promise. False: the storage does not outlive the process.
    pub durable: bool,
}

/// A message that was read and counted, ready to be given a position.
struct Prepared {
    record: MessageRecord,
    own_id: bool,
}

impl Engine {
    /// Stores messages. The same id with the same content again is a no-op that answers the position it has.
    ///
    /// # Errors
    /// `not_found` (no such conversation), `conflict` (same id, other content), `invalid_argument` (a message cannot
    /// be read, or is larger than `policy.limits.messageBytes`), `storage_*`. Nothing is stored then.
    pub async fn append(&self, request: AppendRequest) -> Result<Vec<Appended>> {
        self.ensure_open()?;
        let format = request.format.as_deref().map_or(Ok(FormatChoice::Detect), FormatChoice::from_name)?;
        let mut prepared = Vec::with_capacity(request.messages.len());
        for raw in &request.messages {
            prepared.push(self.prepare(&request.conversation_id, raw, format)?);
        }
        let _turn = self.writes.enter().await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            self.ensure_open()?;
            if let Some(appended) = self.try_append(&request, &mut prepared).await? {
                return Ok(appended);
            }
        }
        Err(overtaken())
    }

    /// Reads, projects and counts one message. Nothing is stored yet.
    fn prepare(&self, conversation_id: &str, raw: &str, format: FormatChoice) -> Result<Prepared> {
        let most = self.options.policy.limits.message_bytes as usize;
        if raw.len() > most {
            return Err(Error::invalid_argument(format!(
                "a message has {} bytes, more than the limit of {most}; raise policy.limits.messageBytes or split it",
                raw.len()
            )));
        }
        let parsed = formats::parse(raw, format)?;
        let message = parsed.message;
        if let Some(id) = &message.id {
            self.check_id("a message id", id)?;
            if id.strip_prefix(GIVEN_ID).is_some_and(|rest| rest.parse::<Seq>().is_ok()) {
                return Err(Error::invalid_argument(format!(
                    "message ids of the form {GIVEN_ID}<number> are given by the engine; use another"
                )));
            }
        }
        let counter = self.counter();
        let (tokens, variable) = crate::context::weighed(&message, &*counter);
        let record = MessageRecord {
            conversation_id: conversation_id.to_owned(),
            seq: 0,
            id: message.id.clone().unwrap_or_default(),
            parent_id: None,
            role: message.role,
            name: message.name.clone(),
            format: parsed.format,
            raw: raw.to_owned(),
            text: message.text(),
            tokens,
            variable,
            counted_with: counter.id().to_owned(),
            content_hash: content_hash(raw),
            created_at: message.created_at_ms.unwrap_or(f64::NAN),
            normalized: message.normalized,
            opens_group: message.opens_group() && message.result_ids().next().is_none(),
        };
        Ok(Prepared { record, own_id: message.id.is_some() })
    }

    /// One round: `None` when another tab was faster.
    async fn try_append(&self, request: &AppendRequest, prepared: &mut [Prepared]) -> Result<Option<Vec<Appended>>> {
        let id = request.conversation_id.as_str();
        if !self.state.borrow().conversations.contains_key(id) {
            self.refresh(id).await?;
        }
        let present = self.present_ids(id, prepared).await?;
        let (mut record, check) = {
            let state = self.state.borrow();
            let conversation = state
                .conversations
                .get(id)
                .ok_or_else(|| Error::not_found("there is no conversation with this id; create it first"))?;
            (conversation.stored.value.clone(), conversation.stored.check(Store::Conversations, key![id]))
        };
        let durable = self.host.storage.is_durable();
        let mut commit = Commit { checks: vec![check], strict: true, ..Commit::default() };
        let mut appended = Vec::with_capacity(prepared.len());
        let mut taken: SortedMap<String, MessageIdRecord> = present;
        let mut fresh = Vec::new();
        let mut parent_id = request.parent_id.clone().or_else(|| self.newest_id(id));
        let now = self.now_ms();
        for (index, message) in prepared.iter_mut().enumerate() {
            if message.own_id
                && let Some(known) = taken.get(&message.record.id)
            {
                if known.content_hash != message.record.content_hash {
                    return Err(Error::new(
                        Code::Conflict,
                        format!(
                            "message {} of this call has the id of a stored message but other content; give it an id of its own",
                            index + 1
                        ),
                    ));
                }
                appended.push(Appended { id: message.record.id.clone(), seq: known.seq, durable });
                continue;
            }
            place(message, &mut record, parent_id.take(), now)?;
            parent_id = Some(message.record.id.clone());
            let located =
                MessageIdRecord { seq: message.record.seq, content_hash: message.record.content_hash.clone() };
            let message_id = message.record.id.clone();
            commit.puts.push((Store::Messages, key![id, message.record.seq], encode(&message.record)?));
            commit.puts.push((Store::MessageIds, key![id, message_id.as_str()], encode(&located)?));
            taken.insert(message_id.clone(), located);
            appended.push(Appended { id: message_id, seq: message.record.seq, durable });
            fresh.push(index);
        }
        if fresh.is_empty() {
            return Ok(Some(appended));
        }
        let stored = Stored::new(record)?;
        commit.puts.push((Store::Conversations, key![id], stored.record()));
        let revived = self.revive_jobs(id, &mut commit)?;
        if !self.host.storage.commit(commit).await? {
            self.refresh(id).await?;
            return Ok(None);
        }
        self.state.borrow_mut().put_conversation(stored);
        for index in fresh {
            if let Some(message) = prepared.get(index) {
                self.take_message_in(&message.record);
            }
        }
        for job in revived {
            self.put_job(id, job);
        }
        self.emit(&Event::new("append", json!({ "conversationId": id, "count": appended.len() })));
        Ok(Some(appended))
    }

    /// Which of the ids are stored already.
    async fn present_ids(&self, id: &str, prepared: &[Prepared]) -> Result<SortedMap<String, MessageIdRecord>> {
        let own: Vec<&str> =
            prepared.iter().filter(|message| message.own_id).map(|message| message.record.id.as_str()).collect();
        if own.is_empty() {
            return Ok(SortedMap::new());
        }
        let keys = own.iter().map(|own| (Store::MessageIds, key![id, *own])).collect();
        let records = self.host.storage.get(keys).await?;
        let mut present = SortedMap::new();
        for (own, record) in own.iter().zip(records) {
            if let Some(record) = record {
                present.insert((*own).to_owned(), decode(Store::MessageIds, &record)?);
            }
        }
        Ok(present)
    }

    fn newest_id(&self, id: &str) -> Option<String> {
        let state = self.state.borrow();
        let conversation = state.conversations.get(id)?;
        let newest = conversation.message(conversation.stored.value.last_seq)?;
        Some(newest.id.clone())
    }

    /// Raw messages by position, both ends inclusive, as the JSON texts that were given.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn history(
        &self,
        conversation_id: &str,
        from: Option<Seq>,
        to: Option<Seq>,
        limit: Option<u32>,
    ) -> Result<Vec<String>> {
        self.ensure_open()?;
        self.refresh_record(conversation_id).await?;
        let records = self.read_messages(conversation_id, from.unwrap_or(1), to.unwrap_or(Seq::MAX), limit).await?;
        Ok(records.into_iter().map(|record| record.raw).collect())
    }

    /// Stored messages of a range, both ends inclusive.
    pub(super) async fn read_messages(
        &self,
        conversation_id: &str,
        from: Seq,
        to: Seq,
        limit: Option<u32>,
    ) -> Result<Vec<MessageRecord>> {
        if from > to {
            return Ok(Vec::new());
        }
        let mut query = crate::ports::Query::between(Store::Messages, key![conversation_id], from, to);
        query.limit = limit.map(|limit| limit as usize);
        let records = self.scan(query).await?;
        records.iter().map(|(_, record)| decode(Store::Messages, record)).collect()
    }
}

/// Gives a message its position, and moves the conversation's counters.
fn place(message: &mut Prepared, record: &mut ConversationRecord, parent_id: Option<String>, now: f64) -> Result<()> {
    let seq = record.last_seq.checked_add(1).ok_or_else(|| Error::invalid_argument("the conversation is full"))?;
    message.record.seq = seq;
    if !message.own_id {
        message.record.id = format!("{GIVEN_ID}{seq}");
    }
    message.record.parent_id = parent_id;
    if !message.record.created_at.is_finite() {
        message.record.created_at = now;
    }
    record.last_seq = seq;
    record.tokens += u64::from(message.record.tokens);
    record.updated_at = now;
    if record.first_text.is_none() && message.record.role == Role::User {
        record.first_text = title_from(&message.record.text);
    }
    Ok(())
}

/// The canonical form of a stored message.
pub(super) fn parse_stored(record: &MessageRecord) -> Result<Message> {
    Ok(formats::parse(&record.raw, FormatChoice::Exact(record.format))?.message)
}

crate::json_reader::deserialize_as_json!(AppendRequest);
