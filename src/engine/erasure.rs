//! Erasing: what is asked for and everything derived from it, in one transaction.

use super::Engine;
use super::conversations::{WRITE_TRIES, overtaken};
use super::event::Event;
use super::loading::{FACT_COUNTERS, fact_number, job_key};
use super::state::{FactCounters, State};
use super::stored::{Stored, encode};
use crate::error::{Error, Result};
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::ports::{Commit, Store};
use crate::records::{FactRecord, JobKind};
use serde::Serialize;
use serde_json::json;

/// What is to be erased: exactly one of the fields, but for `message_id`, which goes with its conversation.
#[derive(Clone, Debug, Default)]
pub struct EraseRequest {
    /// Everything of this user.
    pub user: bool,
    /// A conversation with its messages, vectors, summaries and the facts that it alone is the source of.
    pub conversation_id: Option<String>,
    /// With a conversation: only this message of it, with what was made from it. What follows it stays.
    pub message_id: Option<String>,
    /// A fact, its history included.
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

/// What was erased, and what may remain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Erased {
    /// Records removed, by store.
    pub erased: serde_json::Map<String, serde_json::Value>,
    /// In words: what the browser may still hold on disk, and until when.
    pub remains: Vec<String>,
}

/// Browsers free the space of removed records when they compact their files (measured on Chromium, Firefox and WebKit).
const REMAINS: &str = "Removed from every store and index. The browser's own files may keep old bytes until it compacts \
                       them; clearing this site's data in the browser removes those too.";

/// Stores whose keys begin with the conversation's id.
const BY_CONVERSATION: [Store; 5] =
    [Store::Messages, Store::MessageIds, Store::Summaries, Store::Embeddings, Store::Notes];

impl Engine {
    /// Removes what is asked for and everything derived from it.
    ///
    /// # Errors
    /// `not_found`, `invalid_argument` unless exactly one thing is named.
    pub async fn erase(&self, request: EraseRequest) -> Result<Erased> {
        self.ensure_open()?;
        match (request.user, &request.conversation_id, &request.message_id, &request.fact_id) {
            (true, None, None, None) => self.erase_user().await,
            (false, Some(id), None, None) => self.erase_conversation(id).await,
            (false, Some(id), Some(message_id), None) => {
                let (_, erased) = self.remove_messages(id, message_id, false).await?;
                Ok(Erased { erased, remains: vec![REMAINS.to_owned()] })
            }
            (false, None, None, Some(id)) => self.erase_fact(id).await,
            _ => Err(Error::invalid_argument(
                "name exactly one of user, conversationId (with messageId for one message of it) and factId",
            )),
        }
    }

    async fn erase_user(&self) -> Result<Erased> {
        let _turn = self.writes.enter().await;
        let mut erased = serde_json::Map::new();
        let mut commit = Commit { strict: true, ..Commit::default() };
        for store in Store::ALL.into_iter().filter(|store| *store != Store::Meta) {
            let count = self.host.storage.count(store, key![]).await?;
            if count > 0 {
                erased.insert(store.name().to_owned(), count.into());
            }
            commit.delete_prefixes.push((store, key![]));
        }
        // The counters stay and move: numbers are never used twice, and other tabs see that facts changed.
        self.refresh_facts().await?;
        let (mut counters, _) = self.fact_counters();
        counters.version += 1;
        let counters = Stored::new(counters)?;
        commit.puts.push((Store::Meta, key![FACT_COUNTERS], counters.record()));
        self.forget_all_segments(&mut commit).await?;
        self.put_next_generation(None, &mut commit).await?;
        self.commit(commit).await?;
        let mut state = State::new(&self.host, &self.options.policy);
        state.fact_counters = Some(counters);
        *self.state.borrow_mut() = state;
        self.reread_evidence().await?;
        self.erasures.set(self.erasures.get() + 1);
        self.emit(&Event::new("storage", json!({ "state": "erased" })));
        Ok(Erased { erased, remains: vec![REMAINS.to_owned()] })
    }

    pub(super) async fn erase_conversation(&self, id: &str) -> Result<Erased> {
        self.ensure_open()?;
        let _turn = self.writes.enter().await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            let (conversation, check) = self.conversation_check(id).await?;
            self.refresh_facts().await?;
            let mut erased = serde_json::Map::new();
            let mut commit = Commit { checks: vec![check], strict: true, ..Commit::default() };
            let positions = self.count_erased(conversation.last_seq, &mut commit).await?;
            for store in BY_CONVERSATION {
                let count = self.host.storage.count(store, key![id]).await?;
                if count > 0 {
                    erased.insert(store.name().to_owned(), count.into());
                }
                commit.delete_prefixes.push((store, key![id]));
            }
            let segments = self.forget_segments_of(id, None, &mut commit).await?;
            if segments > 0 {
                erased.insert(Store::Segments.name().to_owned(), segments.into());
            }
            erased.insert(Store::Conversations.name().to_owned(), 1.into());
            commit.deletes.push((Store::Conversations, key![id]));
            commit.deletes.push((Store::SummaryHeads, key![id]));
            for kind in [JobKind::Embed, JobKind::Compact, JobKind::Extract] {
                commit.deletes.push((Store::Jobs, job_key(kind, id)));
            }
            let facts = self.facts_from(id);
            let counters = self.delete_facts(&facts, &[], &mut commit).await?;
            if !facts.is_empty() {
                erased.insert(Store::Facts.name().to_owned(), facts.len().into());
            }
            if self.commit(commit).await? {
                let state = &mut *self.state.borrow_mut();
                state.remove_conversation(id);
                state.index.sweep();
                self.erasures.set(self.erasures.get() + 1);
                self.take_erased_in(positions);
                forget_in_memory(state, &facts, counters);
                self.emit(&Event::new("storage", json!({ "state": "conversation_deleted", "conversationId": id })));
                return Ok(Erased { erased, remains: vec![REMAINS.to_owned()] });
            }
        }
        Err(overtaken())
    }

    async fn erase_fact(&self, id: &str) -> Result<Erased> {
        let _turn = self.writes.enter().await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            self.refresh_facts().await?;
            let facts = vec![self.existing_fact(id)?.id];
            let mut commit = Commit { strict: true, ..Commit::default() };
            let counters = self.delete_facts(&facts, &[], &mut commit).await?;
            if self.commit(commit).await? {
                forget_in_memory(&mut self.state.borrow_mut(), &facts, counters);
                self.emit(&Event::new("fact", json!({ "operation": "ERASE", "factId": id })));
                let mut erased = serde_json::Map::new();
                erased.insert(Store::Facts.name().to_owned(), 1.into());
                return Ok(Erased { erased, remains: vec![REMAINS.to_owned()] });
            }
        }
        Err(overtaken())
    }

    /// Takes the text of facts out of the audit: their own entries are emptied, or removed with `remove`, and entries of
    /// other facts that quote it lose the quotation.
    pub(super) async fn scrub_audit(&self, facts: &[String], remove: bool, commit: &mut Commit) -> Result<()> {
        let texts: Vec<String> = {
            let state = self.state.borrow();
            let of =
                |id: &String| fact_number(id).and_then(|number| state.facts.get(&number)).map(|fact| fact.fact.clone());
            facts.iter().filter_map(of).filter(|text| !text.is_empty()).collect()
        };
        for (key, mut entry) in self.read_audit().await? {
            let is_own = entry.fact_id.as_ref().is_some_and(|id| facts.contains(id));
            if is_own && remove {
                commit.deletes.push((Store::Audit, key));
                continue;
            }
            let quotes = |text: &Option<String>| text.as_ref().is_some_and(|text| is_own || texts.contains(text));
            let (quotes_before, quotes_after) = (quotes(&entry.before), quotes(&entry.after));
            if quotes_before {
                entry.before = None;
            }
            if quotes_after {
                entry.after = None;
            }
            if quotes_before || quotes_after {
                commit.puts.push((Store::Audit, key, encode(&entry)?));
            }
        }
        Ok(())
    }

    /// Facts that were extracted from this conversation.
    fn facts_from(&self, conversation_id: &str) -> Vec<String> {
        let state = self.state.borrow();
        let from = |fact: &&FactRecord| fact.source.conversation_id.as_deref() == Some(conversation_id);
        state.facts.values().filter(from).map(|fact| fact.id.clone()).collect()
    }

    /// Adds the removal of facts, their links and audit entries to a transaction, locked by the fact counters, and facts
    /// that have another source now.
    pub(super) async fn delete_facts(
        &self,
        facts: &[String],
        moved: &[FactRecord],
        commit: &mut Commit,
    ) -> Result<Option<Stored<FactCounters>>> {
        if facts.is_empty() && moved.is_empty() {
            return Ok(None);
        }
        for fact in moved {
            commit.puts.push((Store::Facts, key![fact.id.as_str()], encode(fact)?));
        }
        for id in facts {
            commit.deletes.push((Store::Facts, key![id.as_str()]));
            commit.delete_prefixes.push((Store::FactSources, key![id.as_str()]));
        }
        self.scrub_audit(facts, true, commit).await?;
        let (mut counters, check) = self.fact_counters();
        counters.version += 1;
        let stored = Stored::new(counters)?;
        commit.checks.push(check);
        commit.puts.push((Store::Meta, key![FACT_COUNTERS], stored.record()));
        Ok(Some(stored))
    }
}

pub(super) fn forget_in_memory(state: &mut State, facts: &[String], counters: Option<Stored<FactCounters>>) {
    for id in facts {
        if let Some(number) = fact_number(id) {
            state.facts.remove(&number);
        }
    }
    if counters.is_some() {
        state.fact_counters = counters;
    }
}

crate::json_reader::deserialize_as_json!(EraseRequest);
