//! Facts: what the user writes down, sees, changes, approves and forgets; and the memory section of a context.

use super::Engine;
use super::conversations::{WRITE_TRIES, overtaken};
use super::event::Event;
use super::loading::{FACT_COUNTERS, fact_number};
use super::path_change::link_parts;
use super::state::FactCounters;
use super::stored::{Stored, decode, encode};
use crate::error::{Error, Result};
use crate::facts::{self, Changes, FactEdit, FactWrite, Numbers, Written};
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::message::Seq;
use crate::ports::{Check, Commit, Key, Query, Store};
use crate::records::{AuditRecord, FactRecord, FactStatus};
use crate::secrets::{LEFT_OUT, without_secrets};
use serde::Serialize;
use serde_json::json;

/// So many messages are kept as sources of a fact, the first ones: one that is repeated in every turn needs no more, and
/// whoever erases these erases the fact.
const MOST_SOURCES: u64 = 100;

/// What `facts.add` is given.
pub type NewFact = FactWrite;

/// Decides what to change in the facts as they are, with the next numbers and the time.
type Decision<'a> = dyn FnMut(&[FactRecord], Numbers, f64) -> Result<Changes> + 'a;

/// As [`Decision`], about one fact.
type OneFact<'a> = dyn Fn(&[FactRecord], Numbers, f64) -> Result<Written> + 'a;

/// What the user changes in a fact.
pub type FactUpdate = FactEdit;

/// Which facts are listed.
#[derive(Clone, Debug, Default)]
pub struct FactFilter {
    /// Only this category.
    pub category: Option<String>,
    /// Only this status; left out: active and proposed.
    pub status: Option<FactStatus>,
}

impl FromFields for FactFilter {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { category: fields.take("category"), status: fields.take("status") }
    }
}

/// A message that shows a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FactPlace {
    /// The conversation.
    pub conversation_id: String,
    /// The message.
    pub seq: Seq,
}

/// A fact that fits a query.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FoundFact {
    /// The fact.
    pub fact: FactRecord,
    /// 0 to 1.
    pub score: f64,
}

impl FactCounters {
    /// The numbers that are free.
    pub(super) fn next_numbers(&self) -> Numbers {
        Numbers { fact: self.last_fact + 1, audit: self.last_audit + 1 }
    }

    fn after(&self, numbers: Numbers) -> Self {
        Self {
            last_fact: numbers.fact.saturating_sub(1),
            last_audit: numbers.audit.saturating_sub(1),
            version: self.version + 1,
            opted_in: self.opted_in.clone(),
        }
    }
}

impl Engine {
    /// Writes a fact down on the user's word.
    ///
    /// # Errors
    /// `invalid_argument`, also for a secret, and for a special category that the user did not agree to.
    pub async fn add_fact(&self, new: NewFact) -> Result<FactRecord> {
        self.change_fact("ADD", &|existing, numbers, now| {
            let written = facts::explicit(&new, existing, numbers, now)?;
            self.allowed(written)
        })
        .await
    }

    /// Changes a fact on the user's word.
    ///
    /// # Errors
    /// `not_found`, `invalid_argument`.
    pub async fn update_fact(&self, update: FactUpdate) -> Result<FactRecord> {
        self.change_fact("UPDATE", &|existing, numbers, now| {
            let written = facts::edit(&update, existing, numbers, now)?;
            self.allowed(written)
        })
        .await
    }

    /// Puts a proposed fact into use.
    ///
    /// # Errors
    /// `not_found`; `invalid_argument` as for [`Self::add_fact`].
    pub async fn approve_fact(&self, id: &str) -> Result<FactRecord> {
        self.change_fact("UPDATE", &|existing, numbers, now| {
            let written = facts::approve(id, existing, numbers, now)?;
            self.allowed(written)
        })
        .await
    }

    /// Forgets a fact: its text is gone from every store, and a tombstone keeps it from being learned again.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn forget_fact(&self, id: &str) -> Result<()> {
        self.change_facts("FORGET", &mut |existing, numbers, now| facts::forget(id, existing, numbers, now)).await
    }

    /// Facts, oldest first.
    pub async fn list_facts(&self, filter: FactFilter) -> Result<Vec<FactRecord>> {
        self.ensure_open()?;
        self.refresh_facts().await?;
        let is_wanted = |fact: &FactRecord| {
            filter.category.as_ref().is_none_or(|category| *category == fact.category)
                && match filter.status {
                    Some(status) => fact.status == status,
                    None => matches!(fact.status, FactStatus::Active | FactStatus::Proposed),
                }
                && !facts::is_erased(fact)
        };
        Ok(self.all_facts().into_iter().filter(is_wanted).collect())
    }

    /// One fact, whatever its status.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn get_fact(&self, id: &str) -> Result<FactRecord> {
        self.ensure_open()?;
        self.refresh_facts().await?;
        self.existing_fact(id)
    }

    /// The messages that show a fact, by conversation and position.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn fact_sources(&self, id: &str) -> Result<Vec<FactPlace>> {
        self.ensure_open()?;
        self.refresh_facts().await?;
        self.existing_fact(id)?;
        self.sources_of(id).await
    }

    pub(super) async fn sources_of(&self, id: &str) -> Result<Vec<FactPlace>> {
        let links = self.scan(Query::prefix(Store::FactSources, key![id])).await?.into_iter();
        let places = links.filter_map(|(key, _)| link_parts(&key));
        Ok(places.map(|(_, conversation_id, seq)| FactPlace { conversation_id, seq }).collect())
    }

    /// Facts in use that have to do with a text, best first: by words and, where there is an embedder, by vectors; of equals
    /// the newer. A secret in the text goes to no embedder.
    pub async fn search_facts(&self, query: &str, top_k: u32) -> Result<Vec<FoundFact>> {
        self.ensure_open()?;
        self.refresh_facts().await?;
        let existing = self.all_facts();
        let vectors = self.fact_cosines(vec![(&without_secrets(query, LEFT_OUT), false)], &existing, true).await;
        let cosines = vectors.as_ref().and_then(|vectors| vectors.first());
        let cosine = |fact: &FactRecord| cosines?.get(&fact.id).copied();
        let found = facts::search(query, &existing, top_k as usize, &cosine, self.now_ms());
        Ok(found
            .into_iter()
            .map(|neighbour| FoundFact { fact: neighbour.fact.clone(), score: neighbour.similarity })
            .collect())
    }

    /// Every decision about a fact and those that it replaced, oldest first.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn fact_history(&self, id: &str) -> Result<Vec<AuditRecord>> {
        self.ensure_open()?;
        self.refresh_facts().await?;
        self.existing_fact(id)?;
        let chain = self.replaced_by(id);
        let entries = self.read_audit().await?.0.into_iter().map(|(_, entry)| entry);
        Ok(entries.filter(|entry| entry.fact_id.as_ref().is_some_and(|id| chain.contains(id))).collect())
    }

    /// A fact and those that it replaced, the newest first.
    fn replaced_by(&self, id: &str) -> Vec<String> {
        let state = self.state.borrow();
        let mut chain = vec![id.to_owned()];
        while let Some(before) = chain.last().and_then(|id| state.facts.get(&fact_number(id)?)?.supersedes.clone())
            && !chain.contains(&before)
        {
            chain.push(before);
        }
        chain
    }

    /// The newest entries of the log of decisions, newest first; `before`: only entries of lower numbers.
    pub async fn fact_log(&self, limit: u32, before: Option<u32>) -> Result<Vec<AuditRecord>> {
        self.ensure_open()?;
        let entries = self.read_audit().await?.0.into_iter().map(|(_, entry)| entry).rev();
        let wanted = entries.filter(|entry| before.is_none_or(|before| entry.number < before));
        Ok(wanted.take(limit as usize).collect())
    }

    /// What is to be written, unless it may not be remembered.
    fn allowed(&self, written: Written) -> Result<Written> {
        let fact = &written.fact;
        let key = fact.key.as_deref().unwrap_or_default();
        let opted_in = self.opted_in();
        facts::check_allowed(&[&fact.fact, &fact.subject, &fact.category, key], &fact.category, &opted_in)?;
        Ok(written)
    }

    /// As [`Self::change_facts`], for a decision that ends in one fact.
    async fn change_fact(&self, operation: &str, decide: &OneFact<'_>) -> Result<FactRecord> {
        let mut fact = None;
        self.change_facts(operation, &mut |existing, numbers, now| {
            let written = decide(existing, numbers, now)?;
            fact = Some(written.fact);
            Ok(written.changes)
        })
        .await?;
        fact.ok_or_else(overtaken)
    }

    /// Decides on the facts as they are, and writes; when another tab was faster, decides again.
    async fn change_facts(&self, operation: &str, decide: &mut Decision<'_>) -> Result<()> {
        self.ensure_open()?;
        let _turn = self.writes.enter().await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            self.ensure_open()?;
            self.refresh_facts().await?;
            let (counters, check) = self.fact_counters();
            let mut changes = decide(&self.all_facts(), counters.next_numbers(), self.now_ms())?;
            if changes.is_empty() {
                return Ok(());
            }
            if self.commit_changes(&mut changes, check).await? {
                let fact_id = changes.puts.last().map(|fact| fact.id.clone());
                self.emit(&Event::new("fact", json!({ "operation": operation, "factId": fact_id })));
                return Ok(());
            }
        }
        Err(overtaken())
    }

    /// Writes changes, with what they take back; false where somebody changed facts since the check.
    pub(super) async fn commit_changes(&self, changes: &mut Changes, check: Check) -> Result<bool> {
        let mut commit = Commit { checks: vec![check], strict: true, ..Commit::default() };
        let forgotten = changes.forgotten.iter().map(|id| self.existing_fact(id)).collect::<Result<Vec<_>>>()?;
        let withdrawal = self.withdraw_facts(&forgotten, &mut changes.puts, &mut commit).await?;
        let stored = self.put_changes(changes, &mut commit).await?;
        if !self.host.storage.commit(commit).await? {
            return Ok(false);
        }
        self.take_changes_in(changes, stored);
        self.take_withdrawal_in(withdrawal);
        if !changes.forgotten.is_empty() {
            self.erasures.raise(true);
        }
        Ok(true)
    }

    /// Leaves out what adds a further message to a fact that has as many sources as are kept.
    pub(super) async fn bound_sources(&self, changes: &mut Changes) -> Result<()> {
        let is_new = |id: &str| changes.puts.iter().any(|fact| fact.id == id);
        let mut known: Vec<String> = changes.sources.iter().map(|link| link.fact_id.clone()).collect();
        known.dedup();
        known.retain(|id| !is_new(id));
        for id in known {
            let sources = self.host.storage.count(Store::FactSources, key![id.as_str()]).await?;
            if sources >= MOST_SOURCES {
                changes.sources.retain(|link| link.fact_id != id);
                changes.audit.retain(|entry| entry.operation != "NOOP" || entry.fact_id.as_ref() != Some(&id));
            }
        }
        Ok(())
    }

    /// Adds changes to a transaction: facts, links, audit, counters. The caller adds the counters' check.
    pub(super) async fn put_changes(&self, changes: &Changes, commit: &mut Commit) -> Result<Stored<FactCounters>> {
        for fact in &changes.puts {
            commit.puts.push((Store::Facts, key![fact.id.as_str()], encode(fact)?));
        }
        for link in &changes.sources {
            let key = key![link.fact_id.as_str(), link.conversation_id.as_str(), link.seq];
            commit.puts.push((Store::FactSources, key, encode(&json!({}))?));
        }
        for entry in &changes.audit {
            commit.puts.push((Store::Audit, key![entry.number], encode(entry)?));
        }
        for id in &changes.forgotten {
            commit.delete_prefixes.push((Store::FactSources, key![id.as_str()]));
        }
        if !changes.forgotten.is_empty() {
            self.scrub_audit(&changes.forgotten, false, commit).await?;
        }
        let (counters, _) = self.fact_counters();
        let stored = Stored::new(counters.after(changes.numbers))?;
        commit.puts.push((Store::Meta, key![FACT_COUNTERS], stored.record()));
        Ok(stored)
    }

    pub(super) fn take_changes_in(&self, changes: &Changes, counters: Stored<FactCounters>) {
        let state = &mut *self.state.borrow_mut();
        for fact in &changes.puts {
            state.put_fact(fact.clone());
        }
        state.fact_counters = Some(counters);
    }

    /// The counters, and the check that nobody changed facts since.
    pub(super) fn fact_counters(&self) -> (FactCounters, Check) {
        let state = self.state.borrow();
        let counters = state.fact_counters.as_ref();
        let check = Check {
            store: Store::Meta,
            key: key![FACT_COUNTERS],
            body: counters.map(|counters| counters.body.clone()),
        };
        (counters.map(|counters| counters.value.clone()).unwrap_or_default(), check)
    }

    pub(super) fn all_facts(&self) -> Vec<FactRecord> {
        self.state.borrow().facts.values().cloned().collect()
    }

    /// All facts, for somebody elsewhere without those that stay on this device.
    pub(super) fn facts_for(&self, is_remote: bool) -> Vec<FactRecord> {
        let mut facts = self.all_facts();
        facts.retain(|fact| !(is_remote && fact.local_only));
        facts
    }

    pub(super) fn existing_fact(&self, id: &str) -> Result<FactRecord> {
        let state = self.state.borrow();
        let fact = fact_number(id).and_then(|number| state.facts.get(&number));
        fact.filter(|fact| !facts::is_erased(fact))
            .cloned()
            .ok_or_else(|| Error::not_found("there is no fact with this id; list them with facts.list()"))
    }

    /// The entries of the audit, and the keys of those that cannot be read, which cost only themselves.
    pub(super) async fn read_audit(&self) -> Result<(Vec<(Key, AuditRecord)>, Vec<Key>)> {
        let (mut entries, mut unreadable) = (Vec::new(), Vec::new());
        for (key, record) in self.scan(Query::prefix(Store::Audit, key![])).await? {
            match decode(Store::Audit, &record) {
                Ok(entry) => entries.push((key, entry)),
                Err(_) => unreadable.push(key),
            }
        }
        Ok((entries, unreadable))
    }
}

crate::json_reader::deserialize_as_json!(FactFilter);
