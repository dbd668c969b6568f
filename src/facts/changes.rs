//! Decisions about candidates, turned into the records of one transaction.

use super::candidates::{Candidate, CandidateKind};
use super::judge::{Decision, FactOperation, check_trust, only_proposes};
use super::{Rejection, RejectionReason, is_current};
use crate::config::FactPolicy;
use crate::message::Seq;
use crate::records::{AuditRecord, FactRecord, FactSource, FactStatus, Trust};
use crate::sorted_map::SortedMap;
use crate::sorting;

/// The next free numbers. They only rise; a number is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Number of the next fact's id.
    pub fact: u32,
    /// Number of the next audit entry.
    pub audit: u32,
}

/// A link from a fact to a message that shows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceLink {
    /// The fact.
    pub fact_id: String,
    /// The conversation.
    pub conversation_id: String,
    /// The message.
    pub seq: Seq,
}

/// What is written, all of it or nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes {
    /// Facts to put, each once, by id.
    pub puts: Vec<FactRecord>,
    /// Links to put.
    pub sources: Vec<SourceLink>,
    /// Entries to append to the audit.
    pub audit: Vec<AuditRecord>,
    /// Ids of facts that the user had forgotten: their source links go, and `before` and `after` of their earlier audit
    /// entries are emptied.
    pub forgotten: Vec<String>,
    /// The numbers that are free afterwards.
    pub numbers: Numbers,
}

impl Changes {
    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.puts.is_empty() && self.sources.is_empty() && self.audit.is_empty() && self.forgotten.is_empty()
    }
}

/// Changes while they are being made, over the facts as they are.
pub(super) struct Draft<'a> {
    existing: SortedMap<&'a str, &'a FactRecord>,
    changed: SortedMap<String, FactRecord>,
    changes: Changes,
    now_ms: f64,
    by: &'static str,
}

impl<'a> Draft<'a> {
    /// `by`: see [`AuditRecord::by`].
    pub(super) fn new(existing: &'a [FactRecord], numbers: Numbers, now_ms: f64, by: &'static str) -> Self {
        Self {
            existing: existing.iter().map(|fact| (fact.id.as_str(), fact)).collect(),
            changed: SortedMap::new(),
            changes: Changes {
                puts: Vec::new(),
                sources: Vec::new(),
                audit: Vec::new(),
                forgotten: Vec::new(),
                numbers,
            },
            now_ms,
            by,
        }
    }

    pub(super) fn now_ms(&self) -> f64 {
        self.now_ms
    }

    pub(super) fn get(&self, id: &str) -> Option<&FactRecord> {
        self.changed.get(id).or_else(|| self.existing.get(id).copied())
    }

    /// The first current fact for which this holds, with the changes so far.
    pub(super) fn find_current(&self, holds: impl Fn(&FactRecord) -> bool) -> Option<&FactRecord> {
        let unchanged = self.existing.iter().filter(|(id, _)| !self.changed.contains_key(**id)).map(|(_, fact)| *fact);
        self.changed.values().chain(unchanged).find(|fact| is_current(fact) && holds(fact))
    }

    pub(super) fn next_fact_id(&mut self) -> String {
        // Ids that are there already (an import, a counter that was lost) are stepped over.
        loop {
            let id = format!("f{}", self.changes.numbers.fact);
            self.changes.numbers.fact = self.changes.numbers.fact.saturating_add(1);
            if self.get(&id).is_none() || self.changes.numbers.fact == u32::MAX {
                return id;
            }
        }
    }

    pub(super) fn put(&mut self, mut fact: FactRecord) {
        // It was changed after what it was, whatever this device's clock says: another store compares the two.
        let before = self.existing.get(fact.id.as_str()).map_or(f64::MIN, |before| before.updated_at);
        if before > fact.updated_at {
            fact.updated_at = before + 1.0;
        }
        self.put_as_it_is(fact);
    }

    pub(super) fn put_as_it_is(&mut self, fact: FactRecord) {
        self.changed.insert(fact.id.clone(), fact);
    }

    pub(super) fn set_status(&mut self, id: &str, status: FactStatus) {
        if let Some(mut fact) = self.get(id).cloned() {
            fact.status = status;
            fact.updated_at = self.now_ms;
            self.put(fact);
        }
    }

    pub(super) fn link(&mut self, fact_id: &str, conversation_id: &str, seq: Seq) {
        let link = SourceLink { fact_id: fact_id.to_owned(), conversation_id: conversation_id.to_owned(), seq };
        if !self.changes.sources.contains(&link) {
            self.changes.sources.push(link);
        }
    }

    pub(super) fn audit(
        &mut self,
        operation: &str,
        fact_id: Option<&str>,
        before: Option<String>,
        after: Option<String>,
        reason: Option<&str>,
    ) {
        self.changes.audit.push(AuditRecord {
            number: self.changes.numbers.audit,
            at: self.now_ms,
            operation: operation.to_owned(),
            by: Some(self.by.to_owned()),
            model: None,
            fact_id: fact_id.map(str::to_owned),
            before,
            after,
            changed: Vec::new(),
            reason: reason.map(str::to_owned),
        });
        self.changes.numbers.audit = self.changes.numbers.audit.saturating_add(1);
    }

    /// An entry for what the user changed of a fact that keeps its id.
    pub(super) fn audit_edit(&mut self, before: &FactRecord, after: &FactRecord, reason: &str) {
        let id = Some(after.id.as_str());
        self.audit("UPDATE", id, Some(before.fact.clone()), Some(after.fact.clone()), Some(reason));
        let changes = [
            ("fact", before.fact != after.fact),
            ("key", before.key != after.key),
            ("category", before.category != after.category),
            ("subject", before.subject != after.subject),
            ("pinned", before.pinned != after.pinned),
            ("localOnly", before.local_only != after.local_only),
            ("expiresAt", before.expires_at != after.expires_at),
            ("trust", before.trust != after.trust),
            ("status", before.status != after.status),
        ];
        let changed = changes.iter().filter(|(_, is_changed)| *is_changed).map(|(name, _)| (*name).to_owned());
        if let Some(entry) = self.changes.audit.last_mut() {
            entry.changed = changed.collect();
        }
    }

    pub(super) fn mark_forgotten(&mut self, id: &str) {
        self.changes.forgotten.push(id.to_owned());
    }

    pub(super) fn finish(mut self) -> Changes {
        self.changes.puts = self.changed.into_values().collect();
        sorting::sort_by_key(&mut self.changes.puts, &|fact| super::id_number(&fact.id));
        self.changes
    }
}

/// What [`apply`] works on.
#[derive(Clone, Copy, Debug)]
pub struct ApplyInput<'a> {
    /// The conversation that the candidates come from.
    pub conversation_id: &'a str,
    /// The candidates.
    pub candidates: &'a [Candidate],
    /// What is to be done with them, in order.
    pub decisions: &'a [Decision],
    /// What was refused on the way, for the audit.
    pub rejections: &'a [Rejection],
    /// Every fact of the user.
    pub existing: &'a [FactRecord],
    /// Whether new facts wait for approval.
    pub policy: &'a FactPolicy,
    /// The next free numbers.
    pub numbers: Numbers,
    /// The time, milliseconds since 1970.
    pub now_ms: f64,
}

/// Turns decisions about candidates into changes.
///
/// UPDATE puts a new fact that supersedes the old one; DELETE marks. Every old record stays under its id with its text:
/// nothing is destroyed on a model's word. What has less trust than its target is proposed, and the target stays in use. A
/// decision is checked once more against the facts as they are now; one that
/// does not hold becomes a `REJECT` entry of the audit, as do `rejections`. With `policy.review` new facts are proposed,
/// and what they would replace stays active until they are approved. A NOOP adds the message to the known fact's sources.
#[must_use]
pub fn apply(input: &ApplyInput<'_>) -> Changes {
    let mut draft = Draft::new(input.existing, input.numbers, input.now_ms, "model");
    for rejection in input.rejections {
        draft.audit("REJECT", rejection.target.as_deref(), None, None, Some(rejection.reason.as_str()));
    }
    for decision in input.decisions {
        let done = match input.candidates.get(decision.candidate) {
            Some(candidate) => {
                apply_one(&mut draft, &decision.operation, candidate, input.conversation_id, input.policy)
            }
            None => Err(RejectionReason::UnknownCandidate),
        };
        if let Err(reason) = done {
            let target = decision.operation.target().filter(|id| draft.get(id).is_some()).map(str::to_owned);
            draft.audit("REJECT", target.as_deref(), None, None, Some(reason.as_str()));
        }
    }
    draft.finish()
}

/// Withdraws facts whose message was edited: they are marked as deleted, with an entry in the audit. What is not in use
/// any more, and what the user confirmed, stays as it is.
#[must_use]
pub fn withdraw(ids: &[String], existing: &[FactRecord], numbers: Numbers, now_ms: f64) -> Changes {
    let mut draft = Draft::new(existing, numbers, now_ms, "user");
    for id in ids {
        let is_withdrawn = |fact: &&FactRecord| is_current(fact) && fact.trust < Trust::UserConfirmed;
        if let Some(fact) = draft.get(id).filter(is_withdrawn).cloned() {
            draft.set_status(id, FactStatus::Deleted);
            draft.audit("DELETE", Some(id), Some(fact.fact), None, Some("edited"));
        }
    }
    draft.finish()
}

/// Takes facts out of use until the user approves them, each for a reason.
#[must_use]
pub fn review(withheld: &[(&str, &str)], existing: &[FactRecord], numbers: Numbers, now_ms: f64) -> Changes {
    let mut draft = Draft::new(existing, numbers, now_ms, "audit");
    for (id, reason) in withheld {
        draft.set_status(id, FactStatus::Proposed);
        draft.audit("REVIEW", Some(id), None, None, Some(reason));
    }
    draft.finish()
}

fn apply_one(
    draft: &mut Draft<'_>,
    operation: &FactOperation,
    candidate: &Candidate,
    conversation_id: &str,
    policy: &FactPolicy,
) -> Result<(), RejectionReason> {
    let target = operation.target().map(|id| usable_target(draft, id, candidate)).transpose()?;
    let trusted = target.as_ref().filter(|fact| !only_proposes(candidate, fact));
    if let (FactOperation::Delete { .. }, Some(fact)) = (operation, trusted) {
        draft.set_status(&fact.id, FactStatus::Deleted);
        draft.audit("DELETE", Some(&fact.id), Some(fact.fact.clone()), None, None);
        return Ok(());
    }
    let same = draft.find_current(|fact| candidate.says_same(fact)).cloned();
    if let Some(same) = same.as_ref().filter(|same| same.trust >= candidate.kind.trust()) {
        // A message that does not bear what the user said is no source of it: whoever erases those that do erases the fact.
        if candidate.kind == CandidateKind::Statement || same.trust == candidate.kind.trust() {
            draft.link(&same.id, conversation_id, candidate.seq);
        }
        draft.audit("NOOP", Some(&same.id), None, None, None);
        return Ok(());
    }
    let has_key = |fact: &FactRecord| candidate.key.is_some() && fact.key == candidate.key;
    let in_use = draft.find_current(|fact| has_key(fact) && fact.status == FactStatus::Active);
    let by_key = in_use.or_else(|| draft.find_current(has_key)).cloned();
    let found = match operation {
        FactOperation::Noop => {
            draft.audit("NOOP", None, None, None, None);
            return Ok(());
        }
        // Known so far only with less trust, if at all; else under the key, which names one value.
        FactOperation::Add => same.or_else(|| by_key.clone()),
        FactOperation::Update { .. } | FactOperation::Delete { .. } => target,
    };
    let place = found.as_ref().and_then(|fact| place_of(draft, fact));
    let proposal = found.as_ref().filter(|_| place.is_some()).map(|fact| fact.id.clone());
    let replaced = place.or(found);
    if let Some(fact) = &replaced {
        check_trust(candidate, fact)?;
        if only_proposes(candidate, fact) {
            propose(draft, candidate, fact, conversation_id);
            return Ok(());
        }
    }
    let is_other = |other: &&FactRecord| {
        Some(&other.id) != proposal.as_ref() && replaced.as_ref().is_none_or(|fact| fact.id != other.id)
    };
    if let Some(other) = by_key.as_ref().filter(is_other) {
        check_trust(candidate, other)?;
        return Err(RejectionReason::KeyMismatch);
    }
    if let Some(id) = proposal {
        draft.set_status(&id, FactStatus::Superseded);
    }
    add(draft, candidate, replaced, conversation_id, policy.review || candidate.is_flagged);
    Ok(())
}

/// Puts a new value, or the news that the old one holds no more, before the user: the fact stays in use until it is approved.
/// An earlier proposal for the same fact gives way.
fn propose(draft: &mut Draft<'_>, candidate: &Candidate, fact: &FactRecord, conversation_id: &str) {
    let is_earlier = |other: &FactRecord| {
        other.status == FactStatus::Proposed
            && other.supersedes.as_deref() == Some(fact.id.as_str())
            && other.trust <= candidate.kind.trust()
    };
    let replaced = draft.find_current(is_earlier).unwrap_or(fact).clone();
    add(draft, candidate, Some(replaced), conversation_id, true);
}

/// The fact in use that a proposal was to take the place of: whatever replaces the proposal takes it.
fn place_of(draft: &Draft<'_>, fact: &FactRecord) -> Option<FactRecord> {
    let meant = fact.supersedes.as_deref().filter(|_| fact.status == FactStatus::Proposed)?;
    draft.get(meant).filter(|meant| is_current(meant) && meant.id != fact.id).cloned()
}

fn usable_target(draft: &Draft<'_>, target: &str, candidate: &Candidate) -> Result<FactRecord, RejectionReason> {
    let fact = draft.get(target).filter(|fact| is_current(fact)).ok_or(RejectionReason::UnknownTarget)?;
    check_trust(candidate, fact)?;
    Ok(fact.clone())
}

fn add(draft: &mut Draft<'_>, candidate: &Candidate, replaced: Option<FactRecord>, conversation_id: &str, waits: bool) {
    let id = draft.next_fact_id();
    let old = replaced.as_ref();
    let fact = FactRecord {
        id: id.clone(),
        key: candidate.key.clone().or_else(|| old.and_then(|old| old.key.clone())),
        subject: old.map_or_else(|| "user".to_owned(), |old| old.subject.clone()),
        category: candidate.category.clone(),
        fact: candidate.fact.clone(),
        confidence: candidate.confidence,
        trust: candidate.kind.trust(),
        status: if waits { FactStatus::Proposed } else { FactStatus::Active },
        source: FactSource {
            kind: candidate.kind.as_str().to_owned(),
            conversation_id: Some(conversation_id.to_owned()),
            seq: Some(candidate.seq),
            quote: Some(candidate.quote.clone()),
        },
        supersedes: old.map(|old| old.id.clone()),
        fingerprint: candidate.fingerprint.clone(),
        pinned: old.is_some_and(|old| old.pinned),
        local_only: candidate.local_only || old.is_some_and(|old| old.local_only),
        expires_at: candidate.expires_at,
        access_count: old.map_or(0, |old| old.access_count),
        last_accessed_at: old.and_then(|old| old.last_accessed_at),
        created_at: draft.now_ms(),
        updated_at: draft.now_ms(),
        origin: None,
    };
    if let Some(old) = old
        && (!waits || old.status == FactStatus::Proposed)
    {
        draft.set_status(&old.id, FactStatus::Superseded);
    }
    draft.put(fact);
    draft.link(&id, conversation_id, candidate.seq);
    let operation = if old.is_some() { "UPDATE" } else { "ADD" };
    let reason = waits.then_some(if candidate.is_flagged { "instruction" } else { "proposed" });
    draft.audit(operation, Some(&id), replaced.map(|old| old.fact), Some(candidate.fact.clone()), reason);
}
