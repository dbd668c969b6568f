//! The special categories of personal data that the user agreed to have remembered, and the end of that agreement.

use super::Engine;
use super::conversations::{WRITE_TRIES, overtaken};
use super::erasure::ErasedFacts;
use super::event::Event;
use super::loading::FACT_COUNTERS;
use super::state::FactCounters;
use super::stored::{Stored, encode};
use super::withdrawal::Withdrawal;
use crate::config::FactPolicy;
use crate::error::{Error, Result};
use crate::facts::{is_of_category, sensitive_categories};
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::ports::{Commit, Store};
use crate::records::{AuditRecord, FactRecord, FactStatus};
use serde::Serialize;
use serde_json::json;

/// What the user decides about a special category.
#[derive(Clone, Debug, Default)]
pub struct ConsentRequest {
    /// The category; left out, nothing is changed.
    pub category: Option<String>,
    /// Whether it may be remembered.
    pub allow: bool,
}

impl FromFields for ConsentRequest {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { category: fields.take("category"), allow: fields.take_or("allow", false) }
    }
}

/// The state of agreement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Consent {
    /// Special categories that may be remembered.
    pub opted_in: Vec<String>,
    /// Facts that went with an agreement that ended.
    pub removed: u32,
}

impl Engine {
    /// Lets facts of a special category be remembered from now on, or no more: then those that are there go, with their
    /// history and what episodes say of it, and may be learned again after another agreement.
    ///
    /// # Errors
    /// `invalid_argument` for a category that there is none of.
    pub async fn consent(&self, request: ConsentRequest) -> Result<Consent> {
        self.ensure_open()?;
        let Some(given) = &request.category else {
            self.refresh_facts().await?;
            return Ok(Consent { opted_in: self.opted_in(), removed: 0 });
        };
        let category = sensitive_categories().find(|name| name == given).ok_or_else(|| {
            let names: Vec<&str> = sensitive_categories().collect();
            Error::invalid_argument(format!("this is no special category; give one of {}", names.join(", ")))
        })?;
        let _turn = self.writes.enter().await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            self.ensure_open()?;
            self.refresh_facts().await?;
            let (mut counters, check) = self.fact_counters();
            if counters.opted_in.iter().any(|name| name == category) == request.allow {
                return Ok(Consent { opted_in: counters.opted_in, removed: 0 });
            }
            counters.opted_in.retain(|name| name != category);
            let mut gone = Vec::new();
            if request.allow {
                counters.opted_in.push(category.to_owned());
            } else {
                gone = self.facts_of(category);
            }
            let mut commit = Commit { checks: vec![check], strict: true, ..Commit::default() };
            self.delete_facts(&gone, &mut commit).await?;
            let mut withdrawal = Withdrawal::default();
            if !request.allow {
                let says = |item: &str| is_of_category(&[item], "", category);
                withdrawal = self.withdraw(&says, &|_, _, _| false, &mut commit).await?;
            }
            let operation = if request.allow { "OPT_IN" } else { "OPT_OUT" };
            let entry = self.consent_entry(operation, category, &mut counters);
            commit.puts.push((Store::Audit, key![entry.number], encode(&entry)?));
            let stored = Stored::new(FactCounters { version: counters.version + 1, ..counters })?;
            commit.puts.push((Store::Meta, key![FACT_COUNTERS], stored.record()));
            if self.commit(commit).await? {
                let consent = Consent { opted_in: stored.value.opted_in.clone(), removed: gone.len() as u32 };
                ErasedFacts { gone, changed: Vec::new(), counters: Some(stored) }.apply(&mut self.state.borrow_mut());
                self.take_withdrawal_in(withdrawal);
                // Work under way began under the former agreement.
                self.erasures.raise(true);
                self.emit(&Event::new("fact", json!({ "operation": operation, "factId": null })));
                return Ok(consent);
            }
        }
        Err(overtaken())
    }

    fn consent_entry(&self, operation: &str, category: &str, counters: &mut FactCounters) -> AuditRecord {
        counters.last_audit = counters.last_audit.saturating_add(1);
        AuditRecord {
            number: counters.last_audit,
            at: self.now_ms(),
            operation: operation.to_owned(),
            by: Some("user".to_owned()),
            model: None,
            fact_id: None,
            before: None,
            after: None,
            changed: Vec::new(),
            reason: Some(category.to_owned()),
        }
    }

    pub(super) fn opted_in(&self) -> Vec<String> {
        self.state.borrow().fact_counters.as_ref().map(|counters| counters.value.opted_in.clone()).unwrap_or_default()
    }

    /// The policy in force: the app's categories, but of the special ones those that the user agreed to.
    pub(super) fn fact_policy(&self) -> FactPolicy {
        let mut policy = self.options.policy.facts.clone();
        policy.categories.retain(|name| !sensitive_categories().any(|special| special.eq_ignore_ascii_case(name)));
        policy.categories.extend(self.opted_in());
        policy
    }

    /// Facts of a special category, whatever their status; of forgotten ones there is nothing left to tell.
    fn facts_of(&self, category: &str) -> Vec<String> {
        let state = self.state.borrow();
        let is_of = |fact: &&FactRecord| {
            let texts = [fact.fact.as_str(), fact.subject.as_str(), fact.source.quote.as_deref().unwrap_or_default()];
            fact.status != FactStatus::Forgotten && is_of_category(&texts, &fact.category, category)
        };
        state.facts.values().filter(is_of).map(|fact| fact.id.clone()).collect()
    }
}

crate::json_reader::deserialize_as_json!(ConsentRequest);
