//! Facts of a backup: checked one by one, then placed among those that are here.
//!
//! What is here wins: a fact with the same words about the same subject is the same, one that the user forgot here does not
//! come back, and one under a key that another fact holds waits for approval. In an empty memory everything keeps its
//! number; else what is new gets new ones, with its history and sources. From a file that is not known to be the user's own
//! no fact is trusted more than an import, and none is in use before the user approves it; of any file, none that holds a
//! secret, is of a special category that the user did not agree to here, or reads like an instruction.

use super::Engine;
use super::loading::{FACT_COUNTERS, fact_number};
use super::restore::{Restore, read, unusable};
use super::restored_conversation::LARGEST_NUMBER;
use super::state::FactCounters;
use super::stored::{Stored, encode};
use crate::error::Result;
use crate::facts::{
    self, LONGEST_EXPLICIT_CHARS, LONGEST_KEY_BYTES, fingerprint, is_buried, is_tombstone_print, sensitive_categories,
};
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::message::Seq;
use crate::ports::Store;
use crate::records::{AuditRecord, FactRecord, FactStatus, Trust};
use crate::sorted_map::{SortedMap, SortedSet};
use serde_json::{Value, json};

/// Longest subject, category, operation, reason or model's id, in bytes.
const LONGEST_NAME_BYTES: usize = 512;
/// Most fields that one entry of the history says to be changed.
const MOST_CHANGED: usize = 16;

/// A link from a fact to a message that shows it.
struct FactLink {
    fact_id: String,
    conversation_id: String,
    seq: Seq,
}

impl FromFields for FactLink {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { fact_id: fields.take("factId"), conversation_id: fields.take("conversationId"), seq: fields.take("seq") }
    }
}

/// What a file says about facts.
#[derive(Default)]
pub(super) struct IncomingFacts {
    facts: Vec<FactRecord>,
    links: Vec<FactLink>,
    audit: Vec<AuditRecord>,
    opted_in: Vec<String>,
}

/// A special category that the user agreed to.
struct OptIn {
    category: String,
}

impl FromFields for OptIn {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { category: fields.take("category") }
    }
}

impl IncomingFacts {
    /// Takes a line in.
    pub(super) fn take(&mut self, kind: &str, value: Value) -> Result<()> {
        match kind {
            "fact" => {
                let fact = checked(read(value)?)?;
                let number = |fact: &FactRecord| fact_number(&fact.id);
                if self.facts.last().is_some_and(|last| number(last) >= number(&fact)) {
                    return Err(unusable("its facts are not in order, or one comes twice"));
                }
                self.facts.push(fact);
            }
            "factSource" => self.links.push(read(value)?),
            "audit" => {
                let entry: AuditRecord = read(value)?;
                let is_ordered = self.audit.last().is_none_or(|last| last.number < entry.number);
                let is_short = [&entry.before, &entry.after].into_iter().flatten().all(|text| is_fact_text(text))
                    && entry.changed.len() <= MOST_CHANGED
                    && [Some(&entry.operation), entry.reason.as_ref(), entry.model.as_ref()]
                        .into_iter()
                        .flatten()
                        .chain(&entry.changed)
                        .all(|text| is_name(text));
                if !is_ordered || !is_short || entry.number >= LARGEST_NUMBER || !entry.at.is_finite() {
                    return Err(unusable("an entry of the facts' history cannot be"));
                }
                self.audit.push(entry);
            }
            "optIn" => {
                let OptIn { category } = read(value)?;
                // One that this version does not know is nothing that it could remember.
                if sensitive_categories().any(|name| name == category) && !self.opted_in.contains(&category) {
                    self.opted_in.push(category);
                }
            }
            "skipped" => {}
            _ => return Err(unusable("it has records of a kind that this version does not know; update the package")),
        }
        Ok(())
    }
}

fn is_name(text: &str) -> bool {
    text.len() <= LONGEST_NAME_BYTES
}

fn is_fact_text(text: &str) -> bool {
    text.chars().count() <= LONGEST_EXPLICIT_CHARS
}

/// The largest time that a Date holds, in milliseconds.
const LATEST_MS: f64 = 8.64e15;

fn checked(mut fact: FactRecord) -> Result<FactRecord> {
    let number = fact_number(&fact.id).filter(|number| (1..LARGEST_NUMBER).contains(number));
    let is_own_name = number.is_some_and(|number| fact.id == format!("f{number}"));
    let times = [Some(fact.created_at), Some(fact.updated_at), fact.expires_at, fact.last_accessed_at];
    let is_forgotten = fact.status == FactStatus::Forgotten;
    let is_whole = is_own_name
        && times.into_iter().flatten().all(|time| time.abs() <= LATEST_MS)
        && (0.0..=1.0).contains(&fact.confidence)
        && fact.access_count < LARGEST_NUMBER
        && is_fact_text(&fact.fact)
        && is_forgotten == fact.fact.is_empty()
        && fact.key.as_ref().is_none_or(|key| (1..=LONGEST_KEY_BYTES).contains(&key.len()))
        && fact.source.quote.as_ref().is_none_or(|quote| is_fact_text(quote))
        && [&fact.subject, &fact.category, &fact.source.kind].into_iter().all(|name| is_name(name));
    // That of a text is made again; only a tombstone's cannot be.
    if !is_whole || (is_forgotten && !is_tombstone_print(&fact.fingerprint)) {
        return Err(unusable("a fact cannot be: its id, text, key, times or numbers"));
    }
    if !is_forgotten {
        fact.fingerprint = fingerprint(&fact.fact);
    }
    // Whatever a fact replaced is older; anything else could be a ring.
    let is_older = |old: &String| fact_number(old).is_some_and(|old| Some(old) < number);
    fact.supersedes = fact.supersedes.filter(is_older);
    Ok(fact)
}

fn is_current(fact: &FactRecord) -> bool {
    matches!(fact.status, FactStatus::Active | FactStatus::Proposed)
}

/// Whether a fact of the file is one that is here.
fn is_same(here: &FactRecord, fact: &FactRecord) -> bool {
    let is_forgotten = here.status == FactStatus::Forgotten;
    if is_forgotten {
        return here.fingerprint == fact.fingerprint || is_buried(&here.fingerprint, &fact.fingerprint);
    }
    here.fingerprint == fact.fingerprint
        && (here.subject == fact.subject
            && ((is_current(here) && is_current(fact)) || here.created_at.total_cmp(&fact.created_at).is_eq()))
}

impl Engine {
    /// Adds the facts of the file to the last commit.
    pub(super) fn place_facts(&self, restore: &mut Restore) -> Result<()> {
        let IncomingFacts { facts, links, audit, opted_in } = std::mem::take(&mut restore.facts);
        if facts.is_empty() && audit.is_empty() && opted_in.is_empty() {
            return Ok(());
        }
        let existing = self.all_facts();
        let (mut counters, check) = self.fact_counters();
        // Whoever has decided anything here may have ended an agreement of before, and only the user can agree.
        let agrees = restore.trusted && counters.version == 0 && !opted_in.is_empty();
        if agrees {
            counters.opted_in = opted_in;
        }
        let (facts, links, audit) = without_left_out(restore, facts, links, audit);
        let is_empty = existing.is_empty();
        let (first_fact, first_audit) = (counters.last_fact, counters.last_audit);
        let opted_in = counters.opted_in.clone();
        let mut names: SortedMap<String, String> = SortedMap::new();
        let mut withheld: Vec<(String, &str)> = Vec::new();
        for mut fact in facts {
            if existing.iter().any(|here| is_same(here, &fact)) {
                continue;
            }
            if !restore.trusted {
                fact.trust = fact.trust.min(Trust::Imported);
                fact.pinned = false;
            }
            let is_key_taken =
                fact.key.is_some() && existing.iter().any(|here| is_current(here) && here.key == fact.key);
            if fact.status == FactStatus::Active && (is_key_taken || !restore.trusted) {
                fact.status = FactStatus::Proposed;
            }
            let id = if is_empty { fact.id.clone() } else { format!("f{}", counters.last_fact.saturating_add(1)) };
            counters.last_fact = counters.last_fact.max(fact_number(&id).unwrap_or(0));
            names.insert(std::mem::replace(&mut fact.id, id.clone()), id);
            fact.supersedes = fact.supersedes.and_then(|old| names.get(&old).cloned());
            if let Some(kind) = facts::unfit(&fact, &opted_in).filter(|_| fact.status == FactStatus::Active) {
                fact.status = FactStatus::Proposed;
                withheld.push((fact.id.clone(), kind.as_str()));
            }
            let source = &mut fact.source;
            if let (Some(conversation), Some(seq)) = (&source.conversation_id, source.seq) {
                source.seq = Some(moved(&restore.moved, conversation, seq));
            }
            restore.last.puts.push((Store::Facts, key![fact.id.as_str()], encode(&fact)?));
            restore.report.facts += 1;
        }
        for link in links {
            let Some(id) = names.get(&link.fact_id) else { continue };
            let seq = moved(&restore.moved, &link.conversation_id, link.seq);
            let key = key![id.as_str(), link.conversation_id.as_str(), seq];
            restore.last.puts.push((Store::FactSources, key, encode(&json!({}))?));
        }
        put_history(audit, &names, is_empty, &mut counters, restore)?;
        for (id, reason) in withheld {
            counters.last_audit = counters.last_audit.saturating_add(1);
            let entry = review_entry(counters.last_audit, self.now_ms(), id, reason);
            restore.last.puts.push((Store::Audit, key![entry.number], encode(&entry)?));
        }
        if (first_fact, first_audit) == (counters.last_fact, counters.last_audit)
            && restore.report.facts == 0
            && !agrees
        {
            return Ok(());
        }
        counters.version = counters.version.wrapping_add(1);
        restore.last.checks.push(check);
        restore.last.puts.push((Store::Meta, key![FACT_COUNTERS], Stored::new(counters)?.record()));
        Ok(())
    }
}

/// Facts that only messages show which the user erased here are left out, with all that is said of them; others lose these
/// sources. What the user wrote down stays as the user's own word.
fn without_left_out(
    restore: &Restore,
    mut facts: Vec<FactRecord>,
    mut links: Vec<FactLink>,
    mut audit: Vec<AuditRecord>,
) -> (Vec<FactRecord>, Vec<FactLink>, Vec<AuditRecord>) {
    if restore.left_out.is_empty() {
        return (facts, links, audit);
    }
    let is_out = |link: &FactLink| restore.is_left_out(&link.conversation_id, link.seq);
    let mut out: SortedSet<String> =
        links.iter().filter(|link| is_out(link)).map(|link| link.fact_id.clone()).collect();
    links.retain(|link| !is_out(link));
    for link in &links {
        out.remove(&link.fact_id);
    }
    for fact in &mut facts {
        let source = &mut fact.source;
        let at = source.conversation_id.as_deref().zip(source.seq);
        if !at.is_some_and(|(conversation, seq)| restore.is_left_out(conversation, seq)) {
            continue;
        }
        (source.conversation_id, source.seq, source.quote) = (None, None, None);
        if source.kind == "explicit" {
            out.remove(&fact.id);
        }
    }
    facts.retain(|fact| !out.contains(&fact.id));
    audit.retain(|entry| !entry.fact_id.as_ref().is_some_and(|id| out.contains(id)));
    (facts, links, audit)
}

/// Adds the entries about facts that were placed; to an empty memory all of them, under their own numbers.
fn put_history(
    audit: Vec<AuditRecord>,
    names: &SortedMap<String, String>,
    is_empty: bool,
    counters: &mut FactCounters,
    restore: &mut Restore,
) -> Result<()> {
    let keeps_audit = is_empty && counters.last_audit == 0;
    for mut entry in audit {
        let renamed = entry.fact_id.as_ref().and_then(|id| names.get(id));
        if renamed.is_none() && !is_empty {
            continue;
        }
        entry.fact_id = renamed.cloned().or(entry.fact_id);
        if !keeps_audit {
            entry.number = counters.last_audit.saturating_add(1);
        }
        counters.last_audit = counters.last_audit.max(entry.number);
        restore.last.puts.push((Store::Audit, key![entry.number], encode(&entry)?));
    }
    Ok(())
}

/// Says why a fact of the file is not in use.
fn review_entry(number: u32, at: f64, fact_id: String, reason: &str) -> AuditRecord {
    AuditRecord {
        number,
        at,
        operation: "REVIEW".to_owned(),
        by: Some("audit".to_owned()),
        fact_id: Some(fact_id),
        model: None,
        before: None,
        after: None,
        changed: Vec::new(),
        reason: Some(reason.to_owned()),
    }
}

/// Where a message of the file is here.
fn moved(places: &SortedMap<String, Vec<Seq>>, conversation: &str, seq: Seq) -> Seq {
    let known = places.get(conversation).and_then(|places| places.get((seq as usize).wrapping_sub(1)));
    known.copied().unwrap_or(seq)
}
