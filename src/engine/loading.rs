//! Reading from storage into memory: small records at open, messages and vectors of a conversation when first needed,
//! and what other tabs wrote since.

use super::Engine;
use super::conversations::no_conversation;
use super::readable::seq_of;
use super::state::{Conversation, FactCounters, MessageMeta};
use super::stored::{Stored, decode};
use super::stored_vectors::{model_of, unread_vectors};
use super::usage::USAGE;
use crate::error::{Code, Error, Result};
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::message::{Role, Seq};
use crate::ports::{Commit, Key, KeyPart, Query, Record, Store};
use crate::records::{ConversationRecord, FactRecord, FactStatus, JobKind, MessageRecord, MessageStatus};
use crate::retrieval::{Document, MessageIndex};
use crate::store::read_only::too_new;
use serde::Serialize;

/// Version of the records. Hundreds are breaking: code that knows 1xx may open every 1xx.
const SCHEMA_VERSION: u32 = 101;
/// Records read in one go.
pub(super) const PAGE: usize = 1_000;
/// Messages that are put back into the index in one go: some milliseconds of work, so that the page gets its turn.
const RETURNED: usize = 64;
/// Messages of other branches that are read over rather than read around.
const READ_OVER: Seq = 32;

#[derive(Serialize)]
struct Schema {
    version: u32,
}

impl FromFields for Schema {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { version: fields.take("version") }
    }
}

pub(super) const FACT_COUNTERS: &str = "facts";

impl Engine {
    pub(super) async fn load_small_records(&self) -> Result<()> {
        let stamp = self.standing_stamp().await?;
        let conversations = self.scan(Query::prefix(Store::Conversations, key![])).await?;
        let jobs = self.scan(Query::prefix(Store::Jobs, key![])).await?;
        // After an import, another tab may have erased some that are known here.
        self.forget_conversations(&|id| conversations.binary_search_by(|(key, _)| key.cmp(&key![id])).is_err());
        for (key, record) in &conversations {
            match Stored::read(Store::Conversations, record) {
                Ok(stored) => self.take_conversation_in(stored),
                Err(_) if self.read_only => return Err(too_new()),
                Err(_) => self.note_unreadable(Store::Conversations, key),
            }
        }
        {
            let state = &mut *self.state.borrow_mut();
            for (key, record) in jobs {
                let Some(KeyPart::Text(id)) = key.0.get(1) else { continue };
                let kind = JobKind::ALL.into_iter().find(|kind| job_key(*kind, id) == key);
                if let (Some(conversation), Some(kind)) = (state.conversations.get_mut(id), kind) {
                    conversation.put_job(kind, record);
                }
            }
        }
        self.see(stamp);
        self.load_projects().await?;
        self.refresh_facts().await
    }

    /// Whether a version of a later hundred wrote the data. A new store is given this version's number.
    pub(super) async fn is_schema_newer(&self) -> Result<bool> {
        let key = key!["schema"];
        let found = self.host.storage.get(vec![(Store::Meta, key.clone())]).await?.pop().flatten();
        let Some(record) = found else {
            let schema = Stored::new(Schema { version: SCHEMA_VERSION })?;
            let commit = Commit { puts: vec![(Store::Meta, key, schema.record())], strict: true, ..Commit::default() };
            self.host.storage.commit(commit).await?;
            return Ok(false);
        };
        let version = decode::<Schema>(Store::Meta, &record)?.version;
        Ok(version / 100 > SCHEMA_VERSION / 100)
    }

    pub(super) async fn scan(&self, query: Query) -> Result<Vec<(Key, Record)>> {
        self.host.storage.scan(query).await
    }

    /// Reads conversations that other tabs made, changed or removed.
    pub(super) async fn refresh_conversations(&self) -> Result<()> {
        let (stamp, records) = loop {
            let erasures = self.erasures.count();
            let stamp = self.standing_stamp().await?;
            if self.has_seen(stamp.as_deref()) {
                return Ok(());
            }
            let records = self.scan(Query::prefix(Store::Conversations, key![])).await?;
            if erasures == self.erasures.count() {
                break (stamp, records);
            }
        };
        let mut present = crate::sorted_map::SortedSet::new();
        let mut unknown = Vec::new();
        for (key, record) in &records {
            let Some(KeyPart::Text(id)) = key.0.first() else { continue };
            present.insert(id.clone());
            let known = self.state.borrow().conversation(id).map(|known| known.stored.body == record.body);
            // Most have not changed since: reading them again would cost more than finding them did.
            if known == Some(true) {
                continue;
            }
            if known.is_none() {
                unknown.push(id.clone());
            }
            match Stored::read(Store::Conversations, record) {
                Ok(stored) => self.take_conversation_in(stored),
                Err(_) => self.note_unreadable(Store::Conversations, key),
            }
        }
        self.forget_conversations(&|id| !present.contains(id));
        for id in unknown {
            or_gone(self.refresh(&id).await)?;
        }
        self.see(stamp);
        Ok(())
    }

    /// Brings one conversation up to date with storage: its record, jobs, summary head, messages and vectors.
    ///
    /// # Errors
    /// `not_found` when there is no such conversation (any more).
    pub(super) async fn refresh(&self, id: &str) -> Result<()> {
        self.refresh_messages(id).await?;
        self.attach_vectors_for(Some(id)).await?;
        self.load_vectors(id).await
    }

    /// The same without vectors.
    async fn refresh_messages(&self, id: &str) -> Result<()> {
        let mut keys = vec![(Store::Conversations, key![id]), (Store::SummaryHeads, key![id])];
        keys.extend(JobKind::ALL.map(|kind| (Store::Jobs, job_key(kind, id))));
        let mut records = self.read_unless_erased(keys).await?.into_iter();
        let Some(record) = records.next().flatten() else {
            self.forget_conversations(&|known| known == id);
            return Err(no_conversation());
        };
        let head = records.next().flatten();
        self.take_conversation_in(Stored::read(Store::Conversations, &record)?);
        {
            let state = &mut *self.state.borrow_mut();
            if let Some(conversation) = state.conversations.get_mut(id) {
                let before = conversation.summary.as_ref().map(|head| head.body.as_str());
                if before != head.as_ref().map(|head| head.body.as_str()) {
                    conversation.has_topics = false;
                    conversation.summary = head.map(|head| Stored::read_or_default(Store::SummaryHeads, head));
                }
                for (kind, record) in JobKind::ALL.into_iter().zip(records) {
                    record.into_iter().for_each(|record| conversation.put_job(kind, record));
                }
            }
        }
        self.attach_messages_for(Some(id)).await?;
        self.load_messages(id).await?;
        self.follow_leaf(id);
        self.mend_summary(id).await?;
        self.index_returned(id).await?;
        self.refresh_streaming(id).await
    }

    /// Records as they are after every erasure that is known here: what was read before one is read again.
    pub(super) async fn read_unless_erased(&self, keys: Vec<(Store, Key)>) -> Result<Vec<Option<Record>>> {
        loop {
            let erasures = self.erasures.count();
            let records = self.host.storage.get(keys.clone()).await?;
            if erasures == self.erasures.count() {
                return Ok(records);
            }
        }
    }

    /// Takes a conversation's record in as it was read. Where another tab erased it, or messages of it, since it was read
    /// last, everything that is known of it is forgotten.
    pub(super) fn take_conversation_in(&self, stored: Stored<ConversationRecord>) {
        let is_void = {
            let state = &mut *self.state.borrow_mut();
            let id = stored.value.id.clone();
            let is_other = state.put_conversation(stored);
            let lost = state.conversation(&id).is_some_and(|known| known.removed != known.stored.value.removed);
            if lost {
                state.unload(&id);
            }
            if lost || is_other {
                state.index.sweep();
            }
            lost || is_other
        };
        if is_void {
            self.erasures.raise(false);
        }
    }

    /// Forgets the conversations that are gone.
    pub(super) fn forget_conversations(&self, is_gone: &dyn Fn(&str) -> bool) {
        let gone: Vec<String> = {
            let state = &mut *self.state.borrow_mut();
            let gone: Vec<String> = state.conversations.keys().filter(|id| is_gone(id)).cloned().collect();
            if gone.is_empty() {
                return;
            }
            for id in &gone {
                state.remove_conversation(id);
            }
            state.index.sweep();
            gone
        };
        for id in &gone {
            self.release_streams_of(id, None);
            self.forget_losses_of(id, None);
        }
        self.erasures.raise(false);
    }

    /// Makes the active path the one of the record. A context that is being built on the former one starts over.
    pub(super) fn follow_leaf(&self, id: &str) {
        if self.state.borrow_mut().follow_leaf(id) {
            self.erasures.turn();
        }
    }

    /// Puts messages that came back onto the active path into the index again, with their vectors.
    pub(super) async fn index_returned(&self, id: &str) -> Result<()> {
        loop {
            let returned: Vec<Seq> = {
                let state = self.state.borrow();
                let Some(conversation) = state.conversation(id) else { return Ok(()) };
                conversation.returned.iter().copied().take(RETURNED).collect()
            };
            if returned.is_empty() {
                return Ok(());
            }
            let life = self.life_of(id);
            let records = self.read_seqs(id, &returned).await?;
            let model = self.model();
            let vectors = if model.is_some() { self.read_vectors(id, &records).await? } else { Vec::new() };
            if life != self.life_of(id) {
                continue;
            }
            self.take_returned_in(id, &returned, &records);
            for (key, record) in &vectors {
                if let Some(model) = &model {
                    self.take_vector_in(id, key, record, model)?;
                }
            }
        }
    }

    fn take_returned_in(&self, id: &str, returned: &[Seq], records: &[MessageRecord]) {
        let state = &mut *self.state.borrow_mut();
        let Some(conversation) = state.conversations.get_mut(id) else { return };
        let number = conversation.number;
        for record in records.iter().filter(|record| conversation.path.binary_search(&record.seq).is_ok()) {
            let message = conversation.messages.get_mut(record.seq.saturating_sub(1) as usize);
            if let Some(message) = message.filter(|message| message.document().is_none()) {
                message.set_document(state.index.add(&document_of(number, record)));
            }
        }
        conversation.returned.retain(|seq| returned.binary_search(seq).is_err());
    }

    /// The messages at these positions (rising); what was removed is not among them.
    pub(super) async fn read_seqs(&self, id: &str, seqs: &[Seq]) -> Result<Vec<MessageRecord>> {
        let mut found = Vec::with_capacity(seqs.len());
        let mut start = 0;
        for (index, seq) in seqs.iter().enumerate() {
            if seqs.get(index + 1).is_some_and(|next| *next <= seq.saturating_add(READ_OVER)) {
                continue;
            }
            let records = self.read_messages(id, seqs[start], *seq, None).await?;
            found.extend(records.into_iter().filter(|one| !one.removed && seqs.binary_search(&one.seq).is_ok()));
            start = index + 1;
        }
        Ok(found)
    }

    /// The messages of the active path in a range, both ends inclusive.
    pub(super) async fn read_path(
        &self,
        id: &str,
        from: Seq,
        to: Seq,
        limit: Option<u32>,
    ) -> Result<Vec<MessageRecord>> {
        let seqs: Vec<Seq> = {
            let state = self.state.borrow();
            let Some(conversation) = state.conversation(id) else { return Ok(Vec::new()) };
            let path = conversation.path_from(from).map(|message| message.seq).take_while(|seq| *seq <= to);
            path.take(limit.map_or(usize::MAX, |limit| limit as usize)).collect()
        };
        self.read_seqs(id, &seqs).await
    }

    /// Every remembered conversation, for a search that is not limited to one.
    pub(super) async fn load_all(&self) -> Result<()> {
        self.attach_messages_for(None).await?;
        for id in self.remembered(&|conversation| !conversation.is_loaded()) {
            or_gone(self.refresh_messages(&id).await)?;
        }
        self.attach_vectors_for(None).await?;
        let model = self.model();
        for id in self.remembered(&|conversation| unread_vectors(conversation, model.as_deref()) > 0) {
            or_gone(self.refresh(&id).await)?;
        }
        Ok(())
    }

    /// Remembered conversations that are of this kind.
    fn remembered(&self, is_meant: &dyn Fn(&Conversation) -> bool) -> Vec<String> {
        let state = self.state.borrow();
        let remembered = state.conversations.iter().filter(|(_, value)| value.stored.value.is_shared());
        remembered.filter(|(_, value)| is_meant(value)).map(|(id, _)| id.clone()).collect()
    }

    /// The embedder in use, as records name it.
    pub(super) fn model(&self) -> Option<String> {
        self.host.embedder.as_ref().map(|embedder| model_of(&**embedder))
    }

    async fn load_messages(&self, id: &str) -> Result<()> {
        loop {
            let (from, to) = {
                let state = self.state.borrow();
                let Some(conversation) = state.conversations.get(id) else { return Ok(()) };
                (conversation.loaded_until_seq() + 1, conversation.stored.value.last_seq)
            };
            if from > to {
                return Ok(());
            }
            let life = self.life_of(id);
            let page = self.scan_messages(id, from, to, Some(PAGE)).await?;
            if life != self.life_of(id) {
                continue;
            }
            let last = page.last().and_then(|(key, _)| seq_of(key)).unwrap_or(0);
            let until = if page.len() < PAGE { to } else { last };
            if last < until {
                // The newest are missing, or the conversation was erased meanwhile.
                let known = self.state.borrow().conversation(id).map(|known| known.stored.value.clone());
                if Some(self.refresh_record(id).await?) != known {
                    continue;
                }
            }
            for record in self.readable(id, from, until, &page) {
                self.take_message_in(&record);
            }
            self.put_entries(&page).await?;
        }
    }

    /// Takes a stored message into memory, if it is the next one of its conversation; another call may have been first.
    pub(super) fn take_message_in(&self, record: &MessageRecord) {
        let state = &mut *self.state.borrow_mut();
        let Some(conversation) = state.conversations.get_mut(&record.conversation_id) else { return };
        if record.seq != conversation.loaded_until_seq() + 1 {
            return;
        }
        let conversation_number = conversation.number;
        // Which of several branches a message is on is known when all are there; behind the leaf it is on none that counts.
        let may_be_active = record.seq <= conversation.stored.value.leaf();
        conversation.place_if_linear(record.seq);
        if record.status == MessageStatus::Streaming {
            conversation.streaming.insert(record.seq);
        }
        conversation.messages.push(indexed(&mut state.index, conversation_number, record, may_be_active));
        self.count_unsealed(1);
    }

    /// Takes a message in again that was streaming when it was loaded, if it was counted or has ended since.
    pub(super) fn replace_message(&self, record: &MessageRecord) {
        let state = &mut *self.state.borrow_mut();
        let Some(conversation) = state.conversations.get_mut(&record.conversation_id) else { return };
        let is_active = conversation.is_active(record.seq);
        let Some(place) = conversation.messages.get_mut((record.seq as usize).saturating_sub(1)) else { return };
        let has_ended = record.status != MessageStatus::Streaming;
        if !conversation.streaming.contains(&record.seq) || (!has_ended && place.tokens == record.tokens) {
            return;
        }
        *place = indexed(&mut state.index, conversation.number, record, is_active);
        // Its document is a new one, which has no vector yet.
        conversation.vectors_until_seq = conversation.vectors_until_seq.min(record.seq - 1);
        if has_ended {
            conversation.streaming.remove(&record.seq);
        }
    }

    /// Reads facts again when another tab changed them, and, since it costs nothing more, what providers billed.
    pub(super) async fn refresh_facts(&self) -> Result<()> {
        let (record, facts) = loop {
            let erasures = self.erasures.count();
            let keys = vec![(Store::Meta, key![FACT_COUNTERS]), (Store::Meta, key![USAGE])];
            let mut records = self.host.storage.get(keys).await?.into_iter();
            let record = records.next().flatten();
            self.take_usage_in(records.next().flatten());
            let known = self.state.borrow().fact_counters.as_ref().map(|counters| counters.body.clone());
            if record.as_ref().map(|record| &record.body) == known.as_ref() {
                return Ok(());
            }
            let facts = self.scan(Query::prefix(Store::Facts, key![])).await?;
            if erasures == self.erasures.count() {
                break (record, facts);
            }
        };
        let is_any_erased = {
            let state = &mut *self.state.borrow_mut();
            let before = std::mem::take(&mut state.facts);
            for (key, record) in &facts {
                match decode::<FactRecord>(Store::Facts, record) {
                    Ok(fact) => state.put_fact(fact),
                    Err(_) => self.note_unreadable(Store::Facts, key),
                }
            }
            let last_fact = state.facts.keys().next_back().copied().unwrap_or(0);
            state.fact_counters = record.map(|record| {
                // Counters that cannot be read go on above every fact; nothing else depends on them.
                let counters = || FactCounters { last_fact, ..FactCounters::default() };
                let value = decode(Store::Meta, &record).unwrap_or_else(|_| counters());
                Stored { value, body: record.body }
            });
            let is_erased = |fact: &FactRecord| fact.status == FactStatus::Forgotten;
            let mut before = before.iter().filter(|(_, fact)| !is_erased(fact));
            before.any(|(number, _)| state.facts.get(number).is_none_or(is_erased))
        };
        if is_any_erased {
            self.erasures.raise(true);
        }
        Ok(())
    }
}

/// A conversation that is gone has nothing to be read.
fn or_gone(result: Result<()>) -> Result<()> {
    match result {
        Err(error) if error.code == Code::NotFound => Ok(()),
        result => result,
    }
}

/// Puts a message of the active path into the index, in place of what was there under its position.
fn indexed(index: &mut MessageIndex, conversation: u32, record: &MessageRecord, is_active: bool) -> MessageMeta {
    let has_text = is_indexed(record);
    let mut message = MessageMeta::new(record.seq, &record.id);
    message.role = record.role;
    message.created_at = record.created_at;
    message.tokens = record.tokens;
    message.set_variable(record.variable);
    message.opens_group = record.opens_group;
    message.parent_seq = record.parent_seq;
    message.has_text = has_text;
    message.imported = record.imported;
    message.local_only = record.local_only;
    message.is_removed = record.removed;
    if has_text && is_active {
        message.set_document(index.add(&document_of(conversation, record)));
    }
    message
}

/// Whether a message has something to be found by.
pub(super) fn is_indexed(record: &MessageRecord) -> bool {
    record.role != Role::System && !record.text.trim().is_empty()
}

pub(super) fn document_of(conversation: u32, record: &MessageRecord) -> Document<'_> {
    Document {
        conversation,
        seq: record.seq,
        role: record.role,
        speaker: record.name.as_deref(),
        created_at_ms: record.created_at,
        text: &record.text,
    }
}

/// A vector that no index takes: of another length, or with something in it that is no number.
pub(super) fn is_unusable(error: &Error) -> bool {
    matches!(error.code, Code::EmbeddingDimensionMismatch | Code::EmbeddingFailed)
}

/// Key of a job record.
pub(super) fn job_key(kind: JobKind, conversation_id: &str) -> Key {
    let kind = match kind {
        JobKind::Embed => "embed",
        JobKind::Compact => "compact",
        JobKind::Extract => "extract",
    };
    key![kind, conversation_id]
}

/// `f12` is fact 12.
pub(super) fn fact_number(id: &str) -> Option<u32> {
    id.strip_prefix('f')?.parse().ok()
}
