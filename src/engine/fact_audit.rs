//! The periodic look at what is remembered: findings are kept, told as events, and put into the review queue. Nothing is
//! deleted by it.

use super::Engine;
use super::append::parse_stored;
use super::event::Event;
use super::readable::read_message;
use super::stored::{Stored, decode};
use crate::error::{Code, Result};
use crate::facts::{self, Finding, SourceMessage};
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::ports::{Check, Commit, Key, Store};
use crate::records::{FactRecord, FactStatus};
use crate::sorted_map::SortedMap;
use serde::Serialize;
use serde_json::json;

pub(super) const FACT_AUDIT: &str = "fact_audit";
const DAY_MS: f64 = 86_400_000.0;
/// Most tokens of facts that the model is shown.
const MOST_INPUT_TOKENS: u32 = 6_000;

/// What the last look at the facts found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FactAudit {
    /// When it was, milliseconds since 1970; 0: never.
    pub at: f64,
    /// What was found, without any text.
    pub findings: Vec<Finding>,
    /// The facts' counters that it looked at.
    #[serde(skip_serializing_if = "is_none")]
    version: u32,
}

fn is_none(version: &u32) -> bool {
    *version == 0
}

impl FromFields for FactAudit {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { at: fields.take("at"), findings: fields.take("findings"), version: fields.take_or("version", 0) }
    }
}

impl Engine {
    /// Looks through what is remembered now, by rule and, where there is a language model, by it too.
    ///
    /// # Errors
    /// What the storage reports. A model that fails is told by an event, and what the rules found stands.
    pub async fn check_facts(&self) -> Result<FactAudit> {
        self.ensure_open()?;
        self.refresh_facts().await?;
        self.audit_facts().await
    }

    /// What the last look found; nothing before the first one.
    pub async fn last_fact_audit(&self) -> Result<FactAudit> {
        self.ensure_open()?;
        let (audit, _) = self.stored_audit().await?;
        Ok(FactAudit { version: 0, ..audit })
    }

    /// Looks where the last look, or the oldest fact, is old enough, and facts changed since.
    pub(super) async fn audit_facts_if_due(&self) -> Result<()> {
        let interval_ms = self.options.policy.facts.audit_days * DAY_MS;
        let (oldest, version) = {
            let state = self.state.borrow();
            let active = state.facts.values().filter(|fact| fact.status == FactStatus::Active);
            let oldest = active.map(|fact| fact.created_at).min_by(f64::total_cmp);
            (oldest, state.fact_counters.as_ref().map_or(0, |counters| counters.value.version))
        };
        // What is later than now is of before the clock was put back: how long ago it was, nobody knows.
        let is_over = |since_ms: f64| !(0.0..interval_ms).contains(&(self.now_ms() - since_ms));
        if interval_ms <= 0.0 || !oldest.is_some_and(is_over) {
            return Ok(());
        }
        let last = self.stored_audit().await?.0;
        if last.version == version || !is_over(last.at) {
            return Ok(());
        }
        let lock = format!("throughline:{}:audit", self.options.user_id);
        let Some(_guard) = self.host.locks.try_lock(&lock).await? else { return Ok(()) };
        self.refresh_facts().await?;
        self.audit_facts().await.map(|_| ())
    }

    async fn stored_audit(&self) -> Result<(FactAudit, Check)> {
        let key = key![FACT_AUDIT];
        let record = self.host.storage.get(vec![(Store::Meta, key.clone())]).await?.pop().flatten();
        let audit = record.as_ref().and_then(|record| decode(Store::Meta, record).ok()).unwrap_or_default();
        Ok((audit, Check { store: Store::Meta, key, body: record.map(|record| record.body) }))
    }

    async fn audit_facts(&self) -> Result<FactAudit> {
        let existing = self.all_facts();
        let sources = self.source_texts(&existing).await?;
        let source = |fact: &FactRecord| sources.get(&fact.id).cloned();
        let mut findings = facts::findings(&existing, &source, &self.opted_in(), self.now_ms());
        findings.extend(self.model_findings().await?);
        let _turn = self.writes.enter().await;
        self.refresh_facts().await?;
        let now = self.all_facts();
        findings.retain(|finding| finding.fact_ids.iter().all(|id| now.iter().any(|fact| fact.id == *id)));
        let (counters, counters_check) = self.fact_counters();
        let changes = facts::review(&facts::withheld(&findings, &now), &now, counters.next_numbers(), self.now_ms());
        let (_, check) = self.stored_audit().await?;
        let mut commit = Commit { checks: vec![check, counters_check], strict: true, ..Commit::default() };
        let written = match changes.is_empty() {
            true => None,
            false => Some(self.put_changes(&changes, &mut commit).await?),
        };
        let version = written.as_ref().map_or(counters.version, |written| written.value.version);
        let audit = FactAudit { at: self.now_ms(), findings, version };
        commit.puts.push((Store::Meta, key![FACT_AUDIT], Stored::new(audit.clone())?.record()));
        // Where another tab changed facts meanwhile, the next look is soon enough.
        if self.host.storage.commit(commit).await? {
            if let Some(written) = written {
                self.take_changes_in(&changes, written);
            }
            for finding in &audit.findings {
                let payload =
                    json!({ "operation": "FINDING", "factId": finding.fact_ids.first(), "kind": finding.kind });
                self.emit(&Event::new("fact", payload));
            }
        }
        Ok(FactAudit { version: 0, ..audit })
    }

    /// The texts of the messages that facts were extracted from, as extraction saw them, by fact.
    async fn source_texts(&self, existing: &[FactRecord]) -> Result<SortedMap<String, String>> {
        let shown = existing.iter().filter(|fact| fact.status == FactStatus::Active && fact.source.quote.is_some());
        let place = |fact: &FactRecord| {
            let key = key![fact.source.conversation_id.as_deref()?, fact.source.seq?];
            Some((fact.id.clone(), (Store::Messages, key)))
        };
        let (ids, keys): (Vec<String>, Vec<(Store, Key)>) = shown.filter_map(place).unzip();
        let records = self.host.storage.get(keys).await?;
        let mut texts = SortedMap::new();
        for (id, record) in ids.into_iter().zip(records) {
            let record = record.and_then(|record| Some(read_message(&record).ok()?.0)).filter(|record| !record.removed);
            if let Some(message) = record.and_then(|record| Some((record.seq, parse_stored(&record).ok()?))) {
                texts.insert(id, SourceMessage::new(message.0, &message.1).text);
            }
        }
        Ok(texts)
    }

    async fn model_findings(&self) -> Result<Vec<Finding>> {
        let Some(model) = self.host.model.clone() else { return Ok(Vec::new()) };
        let shown = self.facts_for(model.is_remote());
        let counter = self.counter();
        let room_tokens = MOST_INPUT_TOKENS.min(model.context_window_tokens() / 2);
        let Some(request) = facts::audit_request(&shown, room_tokens, &|text| counter.count(text)) else {
            return Ok(Vec::new());
        };
        let answer = self.generate(&*model, request).await;
        match answer.and_then(|answer| facts::parse_findings(&answer, &shown)) {
            Ok(findings) => Ok(findings),
            Err(error) if error.code == Code::Closed => Err(error),
            Err(error) => {
                self.emit(&Event::error(&error, error.is_retryable(), json!({ "job": "audit" })));
                Ok(Vec::new())
            }
        }
    }
}
