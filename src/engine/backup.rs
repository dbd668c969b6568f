//! A backup, as it is read out of storage: the records that are the truth, each as one line of JSON in one canonical form
//! (docs/backup.md). What can be made again is left out: what a message says and how many tokens it has, ids' places,
//! vectors, the index, and how often work was tried.
//!
//! A record that cannot be read costs only itself. Positions stay dense: in place of a message that is lost stands what a
//! removed one leaves.

use super::Engine;
use super::episodes::episode_key;
use super::loading::{FACT_COUNTERS, fact_number, job_key};
use super::message_ids::{REMOVED_PREFIX, given_id};
use super::readable::read_message;
use super::segment_catalogue::SEGMENT_COUNTERS;
use super::staging::staged_key;
use super::state::FactCounters;
use super::stored::{decode, encode_plain};
use crate::error::{Code, Error, Result};
use crate::json_reader::{Fields, FromFields, FromJson, json_names, read_json};
use crate::json_text::value_text;
use crate::key;
use crate::message::Seq;
use crate::ports::{Commit, Key, KeyPart, Query, Record, Store};
use crate::records::{
    AuditRecord, ConversationRecord, FactRecord, JobKind, JobRecord, MessageIdRecord, MessageRecord, MessageStatus,
    SegmentCounters, SummaryHead, SummaryNode,
};
use crate::session_records::{EpisodeRecord, NoteRecord, ProjectRecord};
use crate::sorting;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Name of the record that says when the last backup was made.
pub(super) const LAST_EXPORT: &str = "export";
/// Messages of one page, and bytes beyond which it ends.
const PAGE_MESSAGES: usize = 500;
const PAGE_BYTES: usize = 1024 * 1024;
/// Positions that may be missing between two messages: no backup holds more records.
const LARGEST_GAP: Seq = 1_000_000;
/// Fields of a message that are made again from what it says.
const DERIVED: [&str; 11] = [
    "conversationId",
    "role",
    "name",
    "text",
    "tokens",
    "variable",
    "countedWith",
    "contentHash",
    "normalized",
    "opensGroup",
    "heardAt",
];

/// Which part of a backup is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackupPart {
    /// The ids of all conversations.
    #[default]
    Ids,
    /// A conversation, without its messages.
    Conversation,
    /// Messages of a conversation, by position.
    Messages,
    /// What else there is of a conversation: summaries, episodes, notes, and marks of removed messages.
    Summaries,
    /// What belongs to no one conversation: the summaries of projects, special categories that the user agreed to, facts,
    /// their sources, and their history.
    Facts,
    /// Nothing: whether something was erased since the backup began.
    Check,
    /// Nothing: the backup is whole and given out.
    Done,
}

json_names!(BackupPart {
    Ids: "ids",
    Conversation: "conversation",
    Messages: "messages",
    Summaries: "summaries",
    Facts: "facts",
    Check: "check",
    Done: "done",
});

/// What is to be read next.
#[derive(Clone, Debug, Default)]
pub struct BackupRequest {
    /// Which part.
    pub part: BackupPart,
    /// The conversation.
    pub conversation_id: Option<String>,
    /// First position (messages).
    pub from: Seq,
    /// Last position, inclusive (messages).
    pub to: Seq,
}

impl FromFields for BackupRequest {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            part: fields.take("part"),
            conversation_id: fields.take("conversationId"),
            from: fields.take_or("from", 1),
            to: fields.take_or("to", Seq::MAX),
        }
    }
}

/// A record that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BackupSkipped {
    /// The store, and where in it: ids and positions, nothing that was said.
    pub r#where: String,
    /// Why.
    pub reason: &'static str,
}

/// A page of a backup.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupPage {
    /// The lines of the file, in order.
    pub lines: Vec<String>,
    /// What was left out.
    pub skipped: Vec<BackupSkipped>,
    /// Every conversation, in order (ids).
    pub conversation_ids: Vec<String>,
    /// Its newest position (conversation), or the last position that was read (messages).
    pub last_seq: Seq,
    /// Removals of messages and conversations so far: where it has risen, what was read before may hold what was erased.
    pub removals: u32,
    /// The same for facts.
    pub fact_version: u32,
}

impl BackupPage {
    fn put(&mut self, kind: &str, value: Value) {
        let mut line = Map::new();
        line.insert(kind.to_owned(), value);
        self.lines.push(value_text(&Value::Object(line)));
    }

    fn skip(&mut self, store: Store, place: &str, reason: &'static str) {
        self.skipped.push(BackupSkipped { r#where: format!("{} {place}", store.name()), reason });
    }

    /// Puts a record in its canonical form.
    fn put_record<T: Serialize + FromJson>(&mut self, kind: &str, store: Store, place: &str, record: &Record) {
        let canonical =
            decode::<T>(store, record).and_then(|value| encode_plain(&value)).and_then(|record| object(store, &record));
        match canonical {
            Ok(object) => self.put(kind, Value::Object(object)),
            Err(_) => self.skip(store, place, UNREADABLE),
        }
    }
}

/// When the last backup was made, milliseconds since 1970, as its record says.
pub(super) fn exported_at(record: &Record) -> Option<f64> {
    read_json::<Value>(&record.body).ok()?.get("at")?.as_f64()
}

const UNREADABLE: &str = "unreadable";
const MISSING: &str = "missing";

impl Engine {
    /// Reads a part of a backup.
    ///
    /// # Errors
    /// `storage_*`. Where `storage_corrupt` is answered for messages, a smaller range may still be readable.
    pub async fn backup(&self, request: BackupRequest) -> Result<BackupPage> {
        self.ensure_open()?;
        let mut page = BackupPage::default();
        let counters = vec![(Store::Meta, key![SEGMENT_COUNTERS]), (Store::Meta, key![FACT_COUNTERS])];
        let counters = self.host.storage.get(counters).await?;
        let counted = |index: usize| counters.get(index).and_then(Option::as_ref);
        // Counters that cannot be read count nothing; what they guard is read all the same.
        page.removals = counted(0)
            .and_then(|record| decode::<SegmentCounters>(Store::Meta, record).ok())
            .map_or(0, |one| one.removals);
        let facts = counted(1).and_then(|record| decode::<FactCounters>(Store::Meta, record).ok()).unwrap_or_default();
        page.fact_version = facts.version;
        let id = request.conversation_id.as_deref();
        match request.part {
            BackupPart::Ids => self.conversation_ids(&mut page).await?,
            BackupPart::Conversation => self.backup_conversation(named(id)?, &mut page).await?,
            BackupPart::Messages => self.backup_messages(named(id)?, request.from, request.to, &mut page).await?,
            BackupPart::Summaries => self.backup_summaries(named(id)?, &mut page).await?,
            BackupPart::Facts => self.backup_facts(facts.opted_in, &mut page).await?,
            BackupPart::Check => {}
            BackupPart::Done => {
                let record = Record { body: value_text(&json!({ "at": self.now_ms() })), blob: None };
                let puts = vec![(Store::Meta, key![LAST_EXPORT], record)];
                // A full disk, or data that only a newer version writes, makes the backup no worse.
                drop(self.commit(Commit { puts, ..Commit::default() }).await);
            }
        }
        Ok(page)
    }

    /// Which conversations there are, in order. One whose record is lost is known by its messages.
    async fn conversation_ids(&self, page: &mut BackupPage) -> Result<()> {
        let mut told = 0;
        for (key, record) in self.undamaged(Query::prefix(Store::Conversations, key![]), page).await? {
            let known = decode::<ConversationRecord>(Store::Conversations, &record);
            told += known.map_or(0, |known| u64::from(known.last_seq));
            page.conversation_ids.extend(first_text(&key));
        }
        // Nearly always every message is a conversation's that is told. Looking for others is slow where keys are encrypted.
        if self.host.storage.count(Store::Messages, key![]).await? != told {
            self.add_lost_conversations(page).await?;
        }
        Ok(())
    }

    async fn add_lost_conversations(&self, page: &mut BackupPage) -> Result<()> {
        let mut after: Option<String> = None;
        loop {
            // Nothing sorts between a text and the same text with a NUL behind it.
            let from = after.take().map(|id| KeyPart::Text(format!("{id}\0")));
            let next = Query { from, limit: Some(1), ..Query::prefix(Store::Messages, key![]) };
            let next = self.undamaged(next, page).await?.pop();
            let Some(id) = next.and_then(|(key, _)| first_text(&key)) else { break };
            let staged = self.host.storage.get(vec![(Store::Meta, staged_key(&id))]).await?.pop().flatten();
            // What is just being imported is no conversation yet.
            if staged.is_none() && !page.conversation_ids.contains(&id) {
                page.conversation_ids.push(id.clone());
            }
            after = Some(id);
        }
        sorting::sort_by(&mut page.conversation_ids, &|a, b| a.encode_utf16().cmp(b.encode_utf16()));
        Ok(())
    }

    /// One conversation without its messages.
    async fn backup_conversation(&self, id: &str, page: &mut BackupPage) -> Result<()> {
        let keys = vec![(Store::Jobs, job_key(JobKind::Extract, id)), (Store::Conversations, key![id])];
        let mut records = self.host.storage.get(keys).await.or_else(only_damage)?;
        let record = records.pop().flatten();
        self.put_conversation_line(id.to_owned(), record, records.pop().flatten(), page).await
    }

    async fn put_conversation_line(
        &self,
        id: String,
        record: Option<Record>,
        job: Option<Record>,
        page: &mut BackupPage,
    ) -> Result<()> {
        let whole = record.as_ref().and_then(|record| {
            let known: ConversationRecord =
                decode(Store::Conversations, record).ok().filter(|one: &ConversationRecord| one.id == id)?;
            Some((known.last_seq, object(Store::Conversations, record).ok()?))
        });
        let newest = Query {
            limit: Some(1),
            reverse: true,
            ..Query::between(Store::Messages, key![id.as_str()], 1_u32, u32::MAX)
        };
        let newest = self.scan(newest).await.or_else(|error| only_damage(error).map(|()| Vec::new()))?.pop();
        let newest_seq = newest.as_ref().and_then(|(key, _)| number_at(key, 1));
        let (last_seq, mut line) = if let Some((last_seq, line)) = whole {
            // What is behind the newest message that there is, is lost; a newest one that cannot be read hides nothing.
            let reached = newest_seq.map_or(last_seq, |newest| newest.min(last_seq));
            if reached < last_seq {
                page.skip(Store::Messages, &format!("{id} {}-{last_seq}", reached + 1), MISSING);
            }
            (reached, line)
        } else {
            page.skip(Store::Conversations, &id, if record.is_some() { UNREADABLE } else { MISSING });
            let message = newest.and_then(|(_, record)| read_message(&record).ok());
            let at = message.map_or(0.0, |(message, _)| message.created_at);
            // It is not remembered, since it may have been a temporary one.
            let line = json!({ "id": id, "remember": false, "createdAt": at, "updatedAt": at });
            (newest_seq.unwrap_or(0), object_of(line))
        };
        for derived in ["born", "tokens", "lastSeq", "removed", "notes", "episodes"] {
            line.shift_remove(derived);
        }
        line.insert("lastSeq".to_owned(), last_seq.into());
        if let Some(job) = job.and_then(|job| decode::<JobRecord>(Store::Jobs, &job).ok()) {
            line.insert("extractedUntilSeq".to_owned(), job.done_until_seq.min(last_seq).into());
            line.insert("extractSkipped".to_owned(), job.skipped.into());
        }
        page.last_seq = last_seq;
        page.put("conversation", Value::Object(line));
        Ok(())
    }

    /// The messages of a range, as many as fit a page.
    async fn backup_messages(&self, id: &str, from: Seq, to: Seq, page: &mut BackupPage) -> Result<()> {
        if from == 0 || from > to {
            return Err(Error::invalid_argument("a range of positions begins at 1 and does not end before it begins"));
        }
        let mut query = Query::between(Store::Messages, key![id], from, to);
        query.limit = Some(PAGE_MESSAGES);
        let records = self.scan(query).await?;
        let is_last = records.len() < PAGE_MESSAGES;
        let mut bytes = 0;
        page.last_seq = from - 1;
        for (key, record) in records {
            let Some(seq) = number_at(&key, 1).filter(|seq| (from..=to).contains(seq)) else { continue };
            lost_messages(id, page.last_seq, seq, page)?;
            page.last_seq = seq;
            match message_line(seq, &record) {
                Ok(line) => page.put("message", Value::Object(line)),
                Err(_) => lost_message(id, seq, UNREADABLE, page),
            }
            bytes += record.body.len();
            if bytes >= PAGE_BYTES && seq < to {
                return Ok(());
            }
        }
        if is_last {
            lost_messages(id, page.last_seq, to.saturating_add(1), page)?;
            page.last_seq = to;
        }
        Ok(())
    }

    async fn backup_summaries(&self, id: &str, page: &mut BackupPage) -> Result<()> {
        let keys = vec![(Store::SummaryHeads, key![id]), (Store::Conversations, key![id])];
        let mut records = self.host.storage.get(keys).await.or_else(only_damage)?;
        let known =
            records.pop().flatten().and_then(|one| decode::<ConversationRecord>(Store::Conversations, &one).ok());
        let marks = Query::between(Store::MessageIds, key![id], REMOVED_PREFIX, "removed;");
        // Where keys are encrypted, looking for them reads all.
        let has_removed = known.is_none_or(|known| known.removed > 0);
        let marks = if has_removed { self.undamaged(marks, page).await? } else { Vec::new() };
        for (key, record) in marks {
            // A message of the app's own may be called so too.
            let mark = decode::<MessageIdRecord>(Store::MessageIds, &record);
            if let (Some(KeyPart::Text(name)), Ok(MessageIdRecord { seq, content_hash })) = (key.0.get(1), mark)
                && content_hash.is_empty()
            {
                page.put("removedId", json!({ "id": name, "seq": seq }));
            }
        }
        if let Some(record) = records.pop().flatten() {
            page.put_record::<SummaryHead>("summary", Store::SummaryHeads, id, &record);
        }
        self.backup_sessions(id, page).await?;
        for (key, record) in self.undamaged(Query::prefix(Store::Summaries, key![id]), page).await? {
            match key.0.get(1) {
                Some(KeyPart::Text(_)) => {
                    page.put_record::<SummaryHead>("earlierSummary", Store::Summaries, id, &record);
                }
                _ => page.put_record::<SummaryNode>("summaryPart", Store::Summaries, id, &record),
            }
        }
        Ok(())
    }

    /// The episodes and notes of a conversation.
    async fn backup_sessions(&self, id: &str, page: &mut BackupPage) -> Result<()> {
        let marks = {
            let state = self.state.borrow();
            state.conversation(id).map(|conversation| conversation.stored.value.episodes.clone()).unwrap_or_default()
        };
        let keys = marks.iter().map(|mark| (Store::Episodes, episode_key(id, mark))).collect();
        for record in self.host.storage.get(keys).await.or_else(only_damage)?.into_iter().flatten() {
            page.put_record::<EpisodeRecord>("episode", Store::Episodes, id, &record);
        }
        for (_, record) in self.undamaged(Query::prefix(Store::Notes, key![id]), page).await? {
            // Of one that was taken away its name is left, for other stores.
            if decode::<NoteRecord>(Store::Notes, &record).is_ok_and(|note| note.content.is_empty()) {
                continue;
            }
            page.put_record::<NoteRecord>("note", Store::Notes, id, &record);
        }
        Ok(())
    }

    /// What belongs to no one conversation: the summaries of projects, what the user agreed to, facts.
    async fn backup_facts(&self, mut opted_in: Vec<String>, page: &mut BackupPage) -> Result<()> {
        for (key, record) in self.undamaged(Query::prefix(Store::Summaries, key![""]), page).await? {
            let Some(KeyPart::Text(id)) = key.0.get(1) else { continue };
            // One that cannot be read is made again.
            if let Ok(project) = decode::<ProjectRecord>(Store::Summaries, &record).and_then(|one| encode_plain(&one)) {
                let mut line = object_of(json!({ "projectId": id }));
                line.extend(object(Store::Summaries, &project)?);
                page.put("project", Value::Object(line));
            }
        }
        sorting::sort(&mut opted_in);
        for category in opted_in {
            page.put("optIn", json!({ "category": category }));
        }
        let mut facts = self.undamaged(Query::prefix(Store::Facts, key![]), page).await?;
        let number = |key: &Key| first_text(key).and_then(|id| fact_number(&id)).unwrap_or(u32::MAX);
        sorting::sort_by(&mut facts, &|(a, _), (b, _)| number(a).cmp(&number(b)));
        for (key, record) in &facts {
            page.put_record::<FactRecord>("fact", Store::Facts, &first_text(key).unwrap_or_default(), record);
        }
        for (key, _) in self.undamaged(Query::prefix(Store::FactSources, key![]), page).await? {
            if let [KeyPart::Text(fact), KeyPart::Text(id), KeyPart::Number(seq)] = key.0.as_slice() {
                page.put("factSource", json!({ "factId": fact, "conversationId": id, "seq": seq }));
            }
        }
        for (key, record) in self.undamaged(Query::prefix(Store::Audit, key![]), page).await? {
            let place = number_at(&key, 0).unwrap_or(0).to_string();
            page.put_record::<AuditRecord>("audit", Store::Audit, &place, &record);
        }
        Ok(())
    }

    /// The records of a range; none where something among them is no record at all.
    async fn undamaged(&self, query: Query, page: &mut BackupPage) -> Result<Vec<(Key, Record)>> {
        let (store, place) = (query.store, first_text(&query.prefix).unwrap_or_default());
        let found = self.scan(query).await;
        if found.is_err() {
            page.skip(store, &place, UNREADABLE);
        }
        found.or_else(only_damage)
    }
}

/// Damage is passed over, what else fails is not.
fn only_damage<T: Default>(error: Error) -> Result<T> {
    if error.code == Code::StorageCorrupt { Ok(T::default()) } else { Err(error) }
}

fn named(id: Option<&str>) -> Result<&str> {
    id.ok_or_else(|| Error::invalid_argument("name the conversation"))
}

fn first_text(key: &Key) -> Option<String> {
    match key.0.first() {
        Some(KeyPart::Text(text)) => Some(text.clone()),
        _ => None,
    }
}

fn number_at(key: &Key, index: usize) -> Option<u32> {
    match key.0.get(index) {
        Some(KeyPart::Number(number)) => u32::try_from(*number).ok(),
        _ => None,
    }
}

fn object(store: Store, record: &Record) -> Result<Map<String, Value>> {
    let value: Value = read_json(&record.body)
        .map_err(|_| Error::corrupt(format!("a record of store {} is no JSON", store.name())))?;
    let mut object = object_of(value);
    // The file has its own checksums.
    object.shift_remove("sum");
    Ok(object)
}

fn object_of(value: Value) -> Map<String, Value> {
    if let Value::Object(object) = value { object } else { Map::new() }
}

/// A message as it stands in a backup.
fn message_line(seq: Seq, record: &Record) -> Result<Map<String, Value>> {
    let (MessageRecord { removed, parent_seq, id, status, .. }, _) = read_message(record)?;
    if removed {
        return Ok(object_of(json!({ "seq": seq, "removed": true })));
    }
    let mut line = object(Store::Messages, record)?;
    line.insert("seq".to_owned(), seq.into());
    for derived in DERIVED {
        line.shift_remove(derived);
    }
    if id == given_id(seq) {
        line.shift_remove("id");
    }
    if parent_seq.checked_add(1) == Some(seq) {
        line.shift_remove("parentSeq");
    }
    if status == MessageStatus::Streaming {
        // Who writes it is not there when it comes back.
        line.insert("status".to_owned(), "aborted".into());
    }
    Ok(line)
}

/// The messages between two positions, both exclusive, are not there.
fn lost_messages(id: &str, after: Seq, before: Seq, page: &mut BackupPage) -> Result<()> {
    if before - after > LARGEST_GAP {
        return Err(Error::corrupt("a conversation misses more messages than a backup can hold"));
    }
    for seq in after + 1..before {
        lost_message(id, seq, MISSING, page);
    }
    Ok(())
}

fn lost_message(id: &str, seq: Seq, reason: &'static str, page: &mut BackupPage) {
    page.skip(Store::Messages, &format!("{id} {seq}"), reason);
    page.put("message", json!({ "seq": seq, "removed": true }));
}
