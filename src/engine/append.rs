//! Appending: raw messages first, byte-exact, in one transaction, before anything else happens.

use super::Engine;
use super::append_group::Work;
use super::conversations::{WRITE_TRIES, no_conversation, overtaken, title_from};
use super::event::Event;
use super::message_ids::{GIVEN_ID, call_id, given_id, put_id};
use super::path_change::{Invalidated, PathChange};
use super::state::Conversation;
use super::stored::{Stored, content_hash, encode};
use crate::error::{Code, Error, Result};
use crate::formats::{self, FormatChoice};
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::message::{Message, Role, Seq, VariableParts};
use crate::ports::{Commit, Store};
use crate::records::{ConversationRecord, JobKind, MessageIdRecord, MessageRecord, MessageStatus};
use crate::sorted_map::{SortedMap, SortedSet};
use serde::Serialize;
use serde_json::json;

/// Who was overtaken so often reads all that belongs to the conversation; before that its record alone, which is quick: tabs
/// that write all the time would be faster every time.
const LOSSES_BEFORE_ALL: u32 = 4;

/// Messages to append.
#[derive(Clone, Debug, Default)]
pub struct AppendRequest {
    /// The conversation.
    pub conversation_id: String,
    /// The caller's objects as JSON texts, oldest first.
    pub messages: Vec<String>,
    /// A name that [`FormatChoice::from_name`] knows; left out, each message's format is detected.
    pub format: Option<String>,
    /// The message that the first one follows, `Some(None)`: none, it begins a tree of its own. By default the newest of
    /// the active path. The others follow each other.
    pub parent_id: Option<Option<String>>,
    /// For imports: what each message follows, stored already or earlier in this call; `None`: nothing.
    pub parent_ids: Option<Vec<Option<String>>>,
    /// Whether the last message becomes the active leaf. Default true.
    pub activate: Option<bool>,
    /// For imports: the messages are older than the call. Nothing of them is sent to a language model by itself, the
    /// conversation's `updatedAt` follows their times, and the write does not wait for the disk.
    pub imported: bool,
    /// For imports: they are stored even where the user removed them.
    pub bring_back: bool,
    /// They stay on this device: no model elsewhere is shown them, nor what is answered to them in the same turn. False by
    /// default.
    pub local_only: bool,
    /// They have only begun: more comes with [`Engine::update_stream`]. False by default.
    pub streaming: bool,
    /// Names this call, for messages without ids of their own: carried out again, because its answer was lost, it answers
    /// where they are. No other call may have the same.
    pub call: Option<String>,
}

impl FromFields for AppendRequest {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            conversation_id: fields.take("conversationId"),
            messages: fields.take("messages"),
            format: fields.take("format"),
            parent_id: fields.given("parentId"),
            parent_ids: fields.take("parentIds"),
            activate: fields.take("activate"),
            imported: fields.take_or("imported", false),
            bring_back: fields.take_or("bringBack", false),
            local_only: fields.take_or("localOnly", false),
            streaming: fields.take_or("streaming", false),
            call: fields.take("call"),
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
    /// True: on disk, as far as the platform can promise. False: the storage does not outlive the process, or, as the
    /// message was imported or `policy.durability` is relaxed, it is on disk after the next `flush`.
    pub durable: bool,
    /// It was not stored: the user removed it, and an import does not bring it back. `seq` is that of the message before it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
}

/// A message that was read and counted, ready to be given a position.
pub(super) struct Prepared {
    pub(super) record: MessageRecord,
    pub(super) own_id: bool,
}

/// Messages given their positions, before they are stored.
pub(super) struct Placed {
    pub(super) record: ConversationRecord,
    pub(super) appended: Vec<Appended>,
    /// Which of the prepared messages are new.
    pub(super) fresh: Vec<usize>,
    /// The message that the new end of the active path stands on, where that is not its end now.
    pub(super) turns_at: Option<Seq>,
    /// What the first user message says of those that are new on the path.
    pub(super) first_text: Option<String>,
}

impl Engine {
    /// Stores messages. The same id with the same content again is a no-op that answers the position it has.
    ///
    /// What is appended follows the newest message of the active path. With a `parent_id` elsewhere it is a new branch,
    /// and the active path from then on.
    ///
    /// Messages that are `streaming` have their positions, and are in history, search and contexts with what arrived so
    /// far; background work ends before them until they are complete or aborted.
    ///
    /// # Errors
    /// `not_found` (no such conversation or parent), `conflict` (same id, other content; an id that is stored, where the
    /// message is `streaming`), `invalid_argument` (a message cannot be read, or is larger than
    /// `policy.limits.messageBytes`), `storage_*`. Nothing is stored then.
    pub async fn append(&self, request: AppendRequest) -> Result<Vec<Appended>> {
        self.ensure_open()?;
        let count = request.parent_ids.as_ref().map_or(request.messages.len(), Vec::len);
        if count != request.messages.len() || (request.parent_ids.is_some() && request.parent_id.is_some()) {
            return Err(Error::invalid_argument("give parentIds one entry per message, and no parentId beside them"));
        }
        let prepared = self.prepare_all(&request)?;
        let entering = self.writes.enter();
        let standing = self.stand(entering.ticket(), Work { request, prepared });
        let _turn = entering.await;
        self.ensure_open()?;
        self.overtaken.set(0);
        self.append_together(standing.ticket()).await;
        let Work { request, mut prepared } = match standing.leave() {
            Ok(work) => work,
            Err(answer) => return answer,
        };
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            self.ensure_open()?;
            if let Some((appended, _)) = self.try_append(&request, &mut prepared, None).await? {
                return Ok(appended);
            }
        }
        Err(overtaken())
    }

    /// Reads, projects and counts messages. Nothing is stored yet.
    pub(super) fn prepare_all(&self, request: &AppendRequest) -> Result<Vec<Prepared>> {
        let format = request.format.as_deref().map_or(Ok(FormatChoice::Detect), FormatChoice::from_name)?;
        let mut prepared = Vec::with_capacity(request.messages.len());
        for raw in &request.messages {
            let (mut message, parsed) = self.project(&request.conversation_id, raw, format)?;
            self.count_tokens(&mut message.record, &parsed);
            message.record.local_only = request.local_only;
            if request.streaming {
                message.record.status = MessageStatus::Streaming;
                message.record.heard_at = Some(self.now_ms());
            }
            prepared.push(message);
        }
        Ok(prepared)
    }

    /// Counts a message with the counter in force.
    pub(super) fn count_tokens(&self, record: &mut MessageRecord, message: &Message) {
        let counter = self.counter();
        (record.tokens, record.variable) = crate::context::weighed(message, &*counter);
        counter.id().clone_into(&mut record.counted_with);
    }

    /// Reads and projects one message; it is not counted yet.
    pub(super) fn project(
        &self,
        conversation_id: &str,
        raw: &str,
        format: FormatChoice,
    ) -> Result<(Prepared, Message)> {
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
            self.check_own_id(id)?;
        }
        let record = MessageRecord {
            conversation_id: conversation_id.to_owned(),
            seq: 0,
            id: message.id.clone().unwrap_or_default(),
            parent_seq: 0,
            role: message.role,
            name: message.name.clone(),
            format: parsed.format,
            raw: raw.to_owned(),
            text: message.text(),
            tokens: 0,
            variable: VariableParts::default(),
            counted_with: String::new(),
            content_hash: content_hash(raw),
            created_at: message.created_at_ms.unwrap_or(f64::NAN),
            normalized: message.normalized,
            opens_group: opens_group(&message),
            imported: false,
            removed: false,
            local_only: false,
            status: MessageStatus::Complete,
            heard_at: None,
        };
        Ok((Prepared { record, own_id: message.id.is_some() }, message))
    }

    /// Refuses an id that a message cannot have of its own.
    pub(super) fn check_own_id(&self, id: &str) -> Result<()> {
        self.check_id("a message id", id)?;
        if id.strip_prefix(GIVEN_ID).is_some_and(|rest| rest.parse::<Seq>().is_ok()) {
            return Err(Error::invalid_argument(format!(
                "message ids of the form {GIVEN_ID}<number> are given by the engine; use another"
            )));
        }
        Ok(())
    }

    /// One round: `None` when another tab was faster. With `edited`, the messages take the place of that one: they follow
    /// what it follows, and facts that it alone shows are withdrawn.
    pub(super) async fn try_append(
        &self,
        request: &AppendRequest,
        prepared: &mut [Prepared],
        edited: Option<&str>,
    ) -> Result<Option<(Vec<Appended>, Invalidated)>> {
        let id = request.conversation_id.as_str();
        let is_known = self.state.borrow().conversations.contains_key(id);
        if edited.is_some() || !is_known || self.overtaken.get() % LOSSES_BEFORE_ALL == LOSSES_BEFORE_ALL - 1 {
            self.refresh(id).await?;
        }
        let known = self.located(request, prepared, edited).await?;
        let (before, check, replaced, must_load) = {
            let state = self.state.borrow();
            let conversation = state.conversation(id).ok_or_else(no_conversation)?;
            if edited.is_some() && !conversation.is_loaded() {
                return Ok(None);
            }
            let must_load = conversation.stored.value.has_local && !conversation.is_loaded();
            let replaced = edited.map(|edited| known.get(edited).ok_or_else(no_such_message)).transpose()?;
            let replaced = replaced.and_then(|located| conversation.message(located.seq));
            let replaced = replaced.map(|message| (message.seq, message.parent_seq));
            let check = conversation.stored.check(Store::Conversations, key![id]);
            (conversation.stored.value.clone(), check, replaced, must_load)
        };
        self.check_promise(&before).await?;
        if must_load {
            self.refresh(id).await?;
            return Ok(None);
        }
        if known.values().any(|located| located.seq > before.last_seq) {
            // Another tab has appended since the record was read.
            self.refresh_record(id).await?;
            return Ok(None);
        }
        let mut placed = self.place(request, prepared, known, &before, replaced)?;
        if placed.fresh.is_empty() {
            // What is there already may have been written without waiting for the disk, by any tab.
            if !request.imported && self.is_strict() {
                self.barrier().await?;
            } else if !request.imported {
                self.promise(&before, placed.appended.len());
            }
            self.remember_calls(id, request.call.iter().cloned().collect(), false);
            return Ok(Some((placed.appended, Invalidated::default())));
        }
        let strict = self.is_strict() && !request.imported;
        let mut commit = Commit { checks: vec![check], strict, ..Commit::default() };
        self.forget_calls(request, &mut commit);
        let mut change = PathChange::default();
        let mut withdrawn = None;
        if let Some(leaf) = placed.turns_at {
            if !self.state.borrow().conversation(id).is_some_and(Conversation::is_loaded) {
                self.refresh(id).await?;
                return Ok(None);
            }
            change = self.change_path(id, leaf, &[], &mut commit).await?;
            if let Some(episodes) = &change.episodes {
                placed.record.episodes.clone_from(episodes);
            }
            if let Some(first_text) = change.first_text.take() {
                placed.record.first_text = first_text.or(placed.first_text);
            }
        }
        if let Some((seq, _)) = replaced {
            withdrawn = self.withdraw_facts_of(id, seq, &mut commit).await?;
            change.invalidated.facts = withdrawn.as_ref().map_or(0, |(changes, _)| changes.audit.len());
        }
        put_messages(request, prepared, &placed.fresh, &mut commit)?;
        let jobs = self.change_jobs(id, &mut commit, &|job| {
            if change.turns && job.kind != JobKind::Embed {
                job.epoch += 1;
            }
            if !request.imported {
                self.revive(job);
            } else if job.kind == JobKind::Extract && job.done_until_seq == before.last_seq {
                job.done_until_seq = placed.record.last_seq;
            }
        })?;
        let stored = Stored::new(placed.record)?;
        commit.puts.push((Store::Conversations, key![id], stored.record()));
        let positions = self.positions() + u64::from(stored.value.last_seq - before.last_seq);
        if !self.commit(commit).await? {
            self.overtaken.set(self.overtaken.get() + 1);
            return Ok(None);
        }
        if strict {
            self.acknowledge(positions);
        } else if !request.imported {
            self.promise(&stored.value, placed.fresh.len());
        }
        self.state.borrow_mut().put_conversation(stored);
        self.remember_calls(id, request.call.iter().cloned().collect(), true);
        for index in placed.fresh {
            self.take_message_in(&prepared[index].record);
        }
        if let Some((changes, counters)) = withdrawn {
            self.take_changes_in(&changes, counters);
        }
        for job in jobs {
            self.put_job(id, job);
        }
        let invalidated = self.take_path_change_in(id, change).await;
        self.emit(&Event::new("append", json!({ "conversationId": id, "count": placed.appended.len() })));
        Ok(Some((placed.appended, invalidated)))
    }

    /// Gives each new message its position and its parent, and moves the conversation's counters.
    pub(super) fn place(
        &self,
        request: &AppendRequest,
        prepared: &mut [Prepared],
        mut known: SortedMap<String, MessageIdRecord>,
        before: &ConversationRecord,
        replaced: Option<(Seq, Seq)>,
    ) -> Result<Placed> {
        let seq_of = |known: &SortedMap<String, MessageIdRecord>, id: &Option<String>| match id {
            None => Ok(0),
            Some(id) => known.get(id).map(|located| located.seq).ok_or_else(no_such_message),
        };
        let leaf = before.leaf();
        let mut record = before.clone();
        let mut local = self.local_only_seqs(&before.id);
        let mut previous = match (&request.parent_id, replaced) {
            (_, Some((_, parent_seq))) => parent_seq,
            (Some(parent_id), None) => seq_of(&known, parent_id)?,
            (None, None) => leaf,
        };
        let activates = request.activate.unwrap_or(true);
        let durable = self.host.storage.is_durable() && self.is_strict() && !request.imported;
        let arrival = if request.imported { before.updated_at } else { self.now_ms() };
        let mut is_linear = before.is_linear() && activates;
        let mut appended = Vec::with_capacity(prepared.len());
        let mut fresh = Vec::new();
        // Where the next of the messages that an earlier try of this call stored must be.
        let mut stored_at = request.call.as_ref().and_then(|call| known.get(&call_id(call))).map(|first| first.seq);
        for (index, message) in prepared.iter_mut().enumerate() {
            if message.own_id
                && let Some(located) = known.get(&message.record.id)
            {
                // What is streamed has just begun, so what is there is another message.
                let is_same = located.content_hash == message.record.content_hash;
                if !(is_same || located.content_hash.is_empty()) || (request.streaming && stored_at.is_none()) {
                    return Err(Error::new(
                        Code::Conflict,
                        format!(
                            "message {} of this call has the id of a stored message but other content; give it an id of its own",
                            index + 1
                        ),
                    ));
                }
                if request.parent_id.is_some() {
                    previous = located.seq;
                }
                // Only what was removed has no hash.
                let erased = located.content_hash.is_empty();
                appended.push(Appended { id: message.record.id.clone(), seq: located.seq, durable, erased });
                stored_at = stored_at.map(|next| next.max(located.seq.saturating_add(1)));
                continue;
            }
            if let Some(seq) = stored_at {
                appended.push(Appended { id: given_id(seq), seq, durable, erased: false });
                stored_at = Some(seq.saturating_add(1));
                continue;
            }
            let parent_seq = match &request.parent_ids {
                Some(ids) => seq_of(&known, ids.get(index).unwrap_or(&None))?,
                None => previous,
            };
            message.record.imported = request.imported;
            // What is answered to a message that stays on this device, and what takes its place, stays too.
            let is_answer = !message.record.opens_group && local.contains(&parent_seq);
            message.record.local_only |= is_answer || replaced.is_some_and(|(seq, _)| local.contains(&seq));
            place_one(message, &mut record, parent_seq, arrival)?;
            let seq = message.record.seq;
            if message.record.local_only {
                local.insert(seq);
                record.has_local = true;
            }
            is_linear &= parent_seq + 1 == seq;
            previous = seq;
            let located = MessageIdRecord { seq, content_hash: message.record.content_hash.clone() };
            known.insert(message.record.id.clone(), located);
            appended.push(Appended { id: message.record.id.clone(), seq, durable, erased: false });
            fresh.push(index);
        }
        if request.imported {
            record.imported_until_seq = record.last_seq;
        } else if !fresh.is_empty() {
            record.updated_at = self.now_ms();
        }
        record.active_leaf = (!is_linear).then_some(if activates { record.last_seq } else { leaf });
        // From the new leaf back to the first message that was there before.
        let mut base = record.last_seq;
        let mut first_text = None;
        while base > before.last_seq {
            let at = fresh.get((base - before.last_seq - 1) as usize);
            let on_path = at.map(|index| &prepared[*index].record);
            base = on_path.map_or(0, |message| message.parent_seq);
            let said = on_path.filter(|message| is_titling(message));
            first_text = said.and_then(|message| title_from(&message.text)).or(first_text);
        }
        if activates && record.first_text.is_none() {
            record.first_text.clone_from(&first_text);
        }
        let turns_at = (activates && base != leaf).then_some(base);
        if turns_at.is_some() {
            record.turned_at = arrival.max(self.leaf_at(&before.id, leaf, before) + 1.0);
        }
        Ok(Placed { record, appended, fresh, turns_at, first_text })
    }

    /// Positions of the messages that stay on this device.
    fn local_only_seqs(&self, id: &str) -> SortedSet<Seq> {
        let state = self.state.borrow();
        let found = state.conversation(id).filter(|found| found.stored.value.has_local);
        let messages = found.into_iter().flat_map(|found| &found.messages);
        messages.filter(|message| message.local_only).map(|message| message.seq).collect()
    }

    /// The notes of calls that were answered go with the next call's.
    pub(super) fn forget_calls(&self, request: &AppendRequest, commit: &mut Commit) {
        let id = request.conversation_id.as_str();
        let calls = self.calls.borrow();
        let answered = calls.get(id).filter(|_| request.call.is_some()).into_iter().flatten();
        commit.deletes.extend(answered.map(|call| (Store::MessageIds, key![id, call_id(call).as_str()])));
    }

    /// Calls are answered: their notes can go with the next one's. `are_first`: those of before went with theirs.
    pub(super) fn remember_calls(&self, id: &str, calls: Vec<String>, are_first: bool) {
        let mut answered = self.calls.borrow_mut();
        match answered.get_mut(id).filter(|_| !are_first) {
            Some(known) => known.extend(calls),
            None if calls.is_empty() => {}
            None => drop(answered.insert(id.to_owned(), calls)),
        }
    }
}

/// Adds new messages to a commit, and where those of a named call begin.
pub(super) fn put_messages(
    request: &AppendRequest,
    prepared: &[Prepared],
    fresh: &[usize],
    commit: &mut Commit,
) -> Result<()> {
    let id = request.conversation_id.as_str();
    if let (Some(call), Some(index)) = (&request.call, fresh.first()) {
        put_id(
            id,
            &call_id(call),
            &MessageIdRecord { seq: prepared[*index].record.seq, content_hash: String::new() },
            commit,
        )?;
    }
    for index in fresh {
        let record = &prepared[*index].record;
        let located = MessageIdRecord { seq: record.seq, content_hash: record.content_hash.clone() };
        put_id(id, &record.id, &located, commit)?;
    }
    for index in fresh {
        let record = &prepared[*index].record;
        commit.puts.push((Store::Messages, key![id, record.seq], encode(record)?));
    }
    Ok(())
}

/// Whether a message begins a turn: it says something, and answers no tool call.
pub(super) fn opens_group(message: &Message) -> bool {
    message.opens_group() && message.result_ids().next().is_none()
}

/// Whether a message's text may become the title: titles go wherever a conversation's messages do.
pub(super) fn is_titling(record: &MessageRecord) -> bool {
    record.role == Role::User && !record.local_only
}

/// Gives a message its position, and moves the conversation's counters.
fn place_one(message: &mut Prepared, record: &mut ConversationRecord, parent_seq: Seq, arrival: f64) -> Result<()> {
    let seq = record.last_seq.checked_add(1).ok_or_else(|| Error::invalid_argument("the conversation is full"))?;
    if !message.own_id {
        message.record.id = given_id(seq);
    }
    message.record.seq = seq;
    message.record.parent_seq = parent_seq;
    if message.record.created_at.is_finite() {
        record.updated_at = record.updated_at.max(message.record.created_at);
    } else {
        message.record.created_at = arrival;
    }
    record.last_seq = seq;
    record.tokens += u64::from(message.record.tokens);
    Ok(())
}

/// A message is named that is not stored, or was removed.
pub(super) fn no_such_message() -> Error {
    Error::not_found(
        "there is no message with the id that was named in this conversation; conversations.tree() has the ids",
    )
}

/// The canonical form of a stored message.
pub(super) fn parse_stored(record: &MessageRecord) -> Result<Message> {
    Ok(formats::parse(&record.raw, FormatChoice::Exact(record.format))?.message)
}

crate::json_reader::deserialize_as_json!(AppendRequest);
