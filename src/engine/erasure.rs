//! Erasing: what is asked for and everything derived from it, in one transaction.

use super::Engine;
use super::backup::LAST_EXPORT;
use super::conversations::{WRITE_TRIES, overtaken};
use super::episodes::cut_episodes;
use super::event::Event;
use super::fact_audit::FACT_AUDIT;
use super::loading::{FACT_COUNTERS, fact_number, job_key};
use super::staging::run_key;
use super::state::{FactCounters, State};
use super::stored::{Stored, encode};
use super::usage::USAGE;
use crate::error::{Code, Error, Result};
use crate::facts::erased;
use crate::json_reader::{Fields, FromFields};
use crate::json_text::value_text;
use crate::key;
use crate::ports::{Commit, Key, Record, Store};
use crate::records::{FactRecord, FactStatus, JobKind};
use crate::sorted_map::SortedSet;
use serde::Serialize;
use serde_json::json;

/// What is to be erased: exactly one of the fields, but for `message_id`, which can go with its conversation.
#[derive(Clone, Debug, Default)]
pub struct EraseRequest {
    /// Everything of this user.
    pub user: bool,
    /// A conversation with its messages, vectors, summaries and the facts that it alone is the source of.
    pub conversation_id: Option<String>,
    /// Only this message, with what was made from it and the tool results that answer it. What else follows it stays.
    /// Without its conversation, an id that only one conversation has.
    pub message_id: Option<String>,
    /// A fact, with its history and those that it replaced.
    pub fact_id: Option<String>,
}

impl FromFields for EraseRequest {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            user: fields.take_or("user", bool::default()),
            conversation_id: fields.take("conversationId"),
            message_id: fields.take("messageId"),
            fact_id: fields.take("factId"),
        }
    }
}

/// What was erased. What the platform may still hold on disk, the facade knows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Erased {
    /// Records removed, by store; of removed messages their texts count, though their positions stay taken.
    pub erased: Counts,
    /// The storage outlives the process: there may be remnants on disk.
    pub durable: bool,
}

/// Records by store.
pub(super) type Counts = serde_json::Map<String, serde_json::Value>;

/// Stores whose keys begin with the conversation's id.
const BY_CONVERSATION: [Store; 5] =
    [Store::Messages, Store::MessageIds, Store::Summaries, Store::Embeddings, Store::Notes];

/// Begins the keys of the marks of erased conversations.
pub(super) const ERASED: &str = "erased";

/// Where a mark is kept of a conversation that was erased, so that no import brings it back: a hash of its id and of when it
/// was made, in whole milliseconds (a fraction does not survive every reader of numbers), which tells it from a later one
/// of the same id.
pub(super) fn erased_key(id: &str, created_at: f64) -> Key {
    let hash = crate::hash::fnv1a(id.bytes().chain((created_at.round() as i64).to_le_bytes()));
    key![ERASED, format!("{hash:016x}").as_str()]
}

/// Adds to a commit the removal of all that is stored for a conversation but its own record.
pub(super) fn delete_records_of(id: &str, commit: &mut Commit) {
    commit.delete_prefixes.extend(BY_CONVERSATION.map(|store| (store, key![id])));
    commit.deletes.push((Store::SummaryHeads, key![id]));
    for kind in [JobKind::Embed, JobKind::Compact, JobKind::Extract] {
        commit.deletes.push((Store::Jobs, job_key(kind, id)));
    }
}

impl Engine {
    /// Removes what is asked for and everything derived from it.
    ///
    /// # Errors
    /// `not_found`, `conflict` (a message id that several conversations have), `invalid_argument` unless exactly one
    /// thing is named.
    pub async fn erase(&self, request: EraseRequest) -> Result<Erased> {
        self.ensure_open()?;
        let erased = match (request.user, &request.conversation_id, &request.message_id, &request.fact_id) {
            (true, None, None, None) => self.erase_everything(None).await,
            (false, Some(id), None, None) => self.erase_with_parts(id).await,
            (false, Some(id), Some(message_id), None) => self.erase_message(id, message_id).await,
            (false, None, Some(message_id), None) => {
                self.erase_message(&self.only_conversation_with(message_id).await?, message_id).await
            }
            (false, None, None, Some(id)) => self.erase_fact(id).await,
            _ => Err(Error::invalid_argument(
                "name exactly one of user, conversationId (with messageId for one message of it), messageId and factId",
            )),
        };
        let erased = erased.map_err(|error| match error.code {
            Code::NotFound => Error::not_found("there is nothing with this id; it was erased already, or never was"),
            _ => error,
        })?;
        Ok(Erased { erased, durable: self.host.storage.is_durable() })
    }

    async fn erase_message(&self, id: &str, message_id: &str) -> Result<Counts> {
        Ok(self.remove_messages(id, message_id, false, true).await?.1)
    }

    /// The one conversation that has a message of this id.
    async fn only_conversation_with(&self, message_id: &str) -> Result<String> {
        self.refresh_conversations().await?;
        let ids: Vec<String> = self.state.borrow().conversations.keys().cloned().collect();
        let keys = ids.iter().map(|id| (Store::MessageIds, key![id.as_str(), message_id])).collect();
        let found = self.host.storage.get(keys).await?;
        let mut having = ids.into_iter().zip(found).filter(|(_, record)| record.is_some()).map(|(id, _)| id);
        match (having.next(), having.next()) {
            (Some(id), None) => Ok(id),
            (None, _) => Err(Error::not_found("no conversation has a message with this id")),
            _ => Err(Error::new(
                Code::Conflict,
                "several conversations have a message with this id; give conversationId as well",
            )),
        }
    }

    /// Everything of the user; `generation`: as another store that this one exchanges with has done, so many times.
    pub(super) async fn erase_everything(&self, generation: Option<u32>) -> Result<Counts> {
        let _turn = self.writes.enter().await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            self.ensure_open()?;
            let mut commit = Commit { strict: true, ..Commit::default() };
            for store in Store::ALL.into_iter().filter(|store| *store != Store::Meta) {
                commit.delete_prefixes.push((store, key![]));
            }
            let counts = self.counts_of(&commit).await?;
            // What is being imported goes too, and cannot go on.
            commit.delete_prefixes.push((Store::Meta, run_key()));
            commit.delete_prefixes.push((Store::Meta, key![ERASED]));
            commit.deletes.push((Store::Meta, key![LAST_EXPORT]));
            Self::delete_damage(&mut commit);
            commit.deletes.push((Store::Meta, key![FACT_AUDIT]));
            commit.deletes.push((Store::Meta, key![USAGE]));
            // The counters stay and move: numbers are never used twice, and other tabs see that all is gone.
            self.refresh_facts().await?;
            let counters = self.put_fact_counters(true, &mut commit)?;
            self.forget_all_segments(&mut commit).await?;
            self.count_erasure_of_all(&mut commit).await?;
            self.count_for_peers(generation, &mut commit).await?;
            self.put_next_generation(None, &mut commit).await?;
            if self.commit(commit).await? {
                self.forget_everything();
                self.forget_all_losses();
                self.state.borrow_mut().fact_counters = Some(counters);
                self.reread_evidence().await?;
                self.emit(&Event::new("storage", json!({ "state": "erased" })));
                return Ok(counts);
            }
        }
        Err(overtaken())
    }

    /// A conversation, and those that did a part of its work.
    pub(super) async fn erase_with_parts(&self, id: &str) -> Result<Counts> {
        self.ensure_open()?;
        self.refresh_conversations().await?;
        let mut ids = vec![id.to_owned()];
        let mut at = 0;
        while let Some(id) = ids.get(at) {
            let parts = self.parts_of(id);
            ids.extend(parts);
            at += 1;
        }
        let mut sums = Counts::new();
        // The conversation goes last: what is left of a failed erasure is still found by it.
        for id in ids.iter().rev() {
            let erased = match self.erase_conversation(id).await {
                // Another tab was faster.
                Err(error) if error.code == Code::NotFound && Some(id) != ids.first() => continue,
                erased => erased?,
            };
            for (store, count) in erased {
                let before = sums.get(&store).and_then(serde_json::Value::as_u64).unwrap_or(0);
                sums.insert(store, (before + count.as_u64().unwrap_or(0)).into());
            }
        }
        Ok(sums)
    }

    async fn erase_conversation(&self, id: &str) -> Result<Counts> {
        self.ensure_open()?;
        let _turn = self.writes.enter().await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            let (conversation, check) = self.conversation_check(id).await?;
            let mut commit = Commit { checks: vec![check], strict: true, ..Commit::default() };
            let positions = self.count_erased(conversation.last_seq, &mut commit).await?;
            commit.deletes.push((Store::Conversations, key![id]));
            delete_records_of(id, &mut commit);
            // What an import did not finish may begin anew.
            if conversation.source.is_none() || conversation.import_hash.is_some() {
                let mark = Record { body: value_text(&json!({ "at": self.now_ms() })), blob: None };
                let marks = conversation.made_at().map(|at| (Store::Meta, erased_key(id, at), mark.clone()));
                commit.puts.extend(marks);
            }
            self.forget_segments_of(id, None, &mut commit).await?;
            if let Some(conversation) = self.state.borrow().conversation(id) {
                cut_episodes(conversation, &|_| false, &mut commit);
            }
            let facts = self.erase_facts_shown_by(&|conversation_id, _| conversation_id == id, &mut commit).await?;
            let counts = self.counts_of(&commit).await?;
            if self.commit(commit).await? {
                let lost_facts = !facts.gone.is_empty();
                {
                    let state = &mut *self.state.borrow_mut();
                    state.remove_conversation(id);
                    state.index.sweep();
                    facts.apply(state);
                }
                self.take_erased_in(positions);
                self.release_streams_of(id, None);
                self.forget_losses_of(id, None);
                self.erasures.raise(lost_facts);
                self.emit(&Event::new("storage", json!({ "state": "conversation_deleted", "conversationId": id })));
                return Ok(counts);
            }
        }
        Err(overtaken())
    }

    /// A fact, and those that it replaced. Tombstones without words stay, so that none is learned again from what is said
    /// in messages that stay.
    async fn erase_fact(&self, id: &str) -> Result<Counts> {
        let _turn = self.writes.enter().await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            self.refresh_facts().await?;
            let mut facts = vec![self.existing_fact(id)?];
            while let Some(before) = facts.last().and_then(|fact| fact.supersedes.clone())
                && let Ok(before) = self.existing_fact(&before)
                && before.status != FactStatus::Forgotten
                && facts.iter().all(|fact| fact.id != before.id)
            {
                facts.push(before);
            }
            let (_, check) = self.fact_counters();
            let mut commit = Commit { checks: vec![check], strict: true, ..Commit::default() };
            let ids: Vec<String> = facts.iter().map(|fact| fact.id.clone()).collect();
            self.delete_facts(&ids, &mut commit).await?;
            let mut tombstones: Vec<FactRecord> = facts.iter().map(|fact| erased(fact, self.now_ms())).collect();
            let withdrawal = self.withdraw_facts(&facts, &mut tombstones, &mut commit).await?;
            let counts = self.counts_of(&commit).await?;
            for tombstone in &tombstones {
                commit.puts.push((Store::Facts, key![tombstone.id.as_str()], encode(tombstone)?));
            }
            let counters = self.put_fact_counters(false, &mut commit)?;
            if self.commit(commit).await? {
                ErasedFacts { gone: Vec::new(), changed: tombstones, counters: Some(counters) }
                    .apply(&mut self.state.borrow_mut());
                self.take_withdrawal_in(withdrawal);
                self.erasures.raise(true);
                self.emit(&Event::new("fact", json!({ "operation": "ERASE", "factId": id })));
                return Ok(counts);
            }
        }
        Err(overtaken())
    }

    /// How many records a commit removes, by store.
    pub(super) async fn counts_of(&self, commit: &Commit) -> Result<Counts> {
        let mut sums = [0_u64; Store::ALL.len()];
        let found = self.host.storage.get(commit.deletes.clone()).await?;
        for ((store, _), found) in commit.deletes.iter().zip(found) {
            sums[*store as usize] += u64::from(found.is_some());
        }
        for (store, prefix) in &commit.delete_prefixes {
            sums[*store as usize] += self.host.storage.count(*store, prefix.clone()).await?;
        }
        let counted = Store::ALL.into_iter().zip(sums).filter(|(_, count)| *count > 0);
        Ok(counted.map(|(store, count)| (store.name().to_owned(), count.into())).collect())
    }

    /// Takes the text of facts out of the audit: their own entries are emptied, or removed with `remove`, and entries of
    /// other facts that quote what they say, or once said, lose the quotation.
    pub(super) async fn scrub_audit(&self, facts: &[String], remove: bool, commit: &mut Commit) -> Result<()> {
        let (entries, unreadable) = self.read_audit().await?;
        // Nobody can tell what they quote.
        commit.deletes.extend(unreadable.into_iter().map(|key| (Store::Audit, key)));
        let is_own = |fact_id: &Option<String>| fact_id.as_ref().is_some_and(|id| facts.contains(id));
        let own = entries.iter().map(|(_, entry)| entry).filter(|entry| is_own(&entry.fact_id));
        let mut texts: SortedSet<String> =
            own.flat_map(|entry| [&entry.before, &entry.after]).flatten().cloned().collect();
        {
            let state = self.state.borrow();
            let now = facts.iter().filter_map(|id| state.facts.get(&fact_number(id)?));
            texts.extend(now.map(|fact| fact.fact.clone()));
        }
        for (key, mut entry) in entries {
            let is_own = is_own(&entry.fact_id);
            if is_own && remove {
                commit.deletes.push((Store::Audit, key));
                continue;
            }
            let mut quotes = false;
            for text in [&mut entry.before, &mut entry.after] {
                if text.as_ref().is_some_and(|text| is_own || texts.contains(text)) {
                    quotes = true;
                    *text = None;
                }
            }
            if quotes {
                commit.puts.push((Store::Audit, key, encode(&entry)?));
            }
        }
        Ok(())
    }

    /// Adds what becomes of facts to a transaction that erases some messages: those that nothing else shows go, the others
    /// lose the source. What the user wrote down stays as the user's own word.
    pub(super) async fn erase_facts_shown_by(
        &self,
        is_meant: &dyn Fn(&str, crate::message::Seq) -> bool,
        commit: &mut Commit,
    ) -> Result<ErasedFacts> {
        let shown = self.facts_shown_by(is_meant).await?;
        shown.unlink(commit);
        if shown.is_empty() {
            return Ok(ErasedFacts::default());
        }
        let (mut gone, mut changed) = (Vec::new(), shown.moved);
        for id in shown.sole {
            match self.existing_fact(&id) {
                Ok(mut fact) if fact.source.kind == "explicit" => {
                    (fact.source.conversation_id, fact.source.seq, fact.source.quote) = (None, None, None);
                    changed.push(fact);
                }
                _ => gone.push(id),
            }
        }
        for fact in &changed {
            commit.puts.push((Store::Facts, key![fact.id.as_str()], encode(fact)?));
        }
        self.delete_facts(&gone, commit).await?;
        let counters = Some(self.put_fact_counters(false, commit)?);
        Ok(ErasedFacts { gone, changed, counters })
    }

    /// Adds the removal of facts, their links and audit entries to a transaction.
    pub(super) async fn delete_facts(&self, facts: &[String], commit: &mut Commit) -> Result<()> {
        if facts.is_empty() {
            return Ok(());
        }
        for id in facts {
            commit.deletes.push((Store::Facts, key![id.as_str()]));
            commit.delete_prefixes.push((Store::FactSources, key![id.as_str()]));
        }
        self.scrub_audit(facts, true, commit).await
    }

    /// Adds the counters that say that facts changed to a transaction, and the check that nobody else changed any.
    /// `ends_consent`: what the user agreed to is forgotten too.
    fn put_fact_counters(&self, ends_consent: bool, commit: &mut Commit) -> Result<Stored<FactCounters>> {
        let (mut counters, check) = self.fact_counters();
        if ends_consent {
            counters.opted_in.clear();
        }
        let stored = Stored::new(FactCounters { version: counters.version + 1, ..counters })?;
        commit.checks.push(check);
        commit.puts.push((Store::Meta, key![FACT_COUNTERS], stored.record()));
        Ok(stored)
    }
}

/// What an erasure did to facts, to be carried out in memory after its commit.
#[derive(Default)]
pub(super) struct ErasedFacts {
    pub(super) gone: Vec<String>,
    pub(super) changed: Vec<FactRecord>,
    pub(super) counters: Option<Stored<FactCounters>>,
}

impl ErasedFacts {
    pub(super) fn apply(self, state: &mut State) {
        for number in self.gone.iter().filter_map(|id| fact_number(id)) {
            state.facts.remove(&number);
            state.fact_vectors.remove(&number);
        }
        self.changed.into_iter().for_each(|fact| state.put_fact(fact));
        if self.counters.is_some() {
            state.fact_counters = self.counters;
        }
    }
}

crate::json_reader::deserialize_as_json!(EraseRequest);
