//! What the user does with the memory directly: write down, change, forget, approve. The user's word ranks highest.

use super::changes::{Changes, Draft, Numbers};
use super::fingerprint::buried;
use super::written::{checked_key, checked_text, checked_time, new_record, put_written, same_text};
use super::{fingerprint, is_current, sensitive_categories, sensitive_category};
use crate::error::{Error, Result};
use crate::json_reader::{Fields, FromFields};
use crate::records::{FactRecord, FactSource, FactStatus, Trust};
use crate::secrets::has_secret;

/// A fact as the user writes it down (`facts.add`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FactWrite {
    /// The fact in words, 1 to 4,000 characters.
    pub fact: String,
    /// Any name; `preference` by default.
    pub category: Option<String>,
    /// Unique name: writing the same key again replaces. At most 128 bytes.
    pub key: Option<String>,
    /// Whom or what it is about; `user` by default.
    pub subject: Option<String>,
    /// Not used from then on, milliseconds since 1970.
    pub expires_at: Option<f64>,
    /// Injected before others, and never dropped for relevance. False by default.
    pub pinned: Option<bool>,
    /// No model elsewhere is shown it. False by default.
    pub local_only: Option<bool>,
    /// On a model's word: it waits for the user's approval. False by default.
    pub suggested: Option<bool>,
}

impl FromFields for FactWrite {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            fact: fields.take("fact"),
            category: fields.take("category"),
            key: fields.take("key"),
            subject: fields.take("subject"),
            expires_at: fields.take("expiresAt"),
            pinned: fields.take("pinned"),
            local_only: fields.take("localOnly"),
            suggested: fields.take("suggested"),
        }
    }
}

/// What the user changes of a fact (`facts.update`). Fields left out stay; `null` clears key and expiry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FactEdit {
    /// The fact's id.
    pub id: String,
    /// New words.
    pub fact: Option<String>,
    /// New category.
    pub category: Option<String>,
    /// New key, or none.
    pub key: Option<Option<String>>,
    /// New subject.
    pub subject: Option<String>,
    /// New expiry, or none.
    pub expires_at: Option<Option<f64>>,
    /// Pinned or not.
    pub pinned: Option<bool>,
    /// Kept on this device or not.
    pub local_only: Option<bool>,
}

impl FromFields for FactEdit {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            id: fields.take("id"),
            fact: fields.take("fact"),
            category: fields.take("category"),
            key: fields.given("key"),
            subject: fields.take("subject"),
            expires_at: fields.given("expiresAt"),
            pinned: fields.take("pinned"),
            local_only: fields.take("localOnly"),
        }
    }
}

/// The fact as it is afterwards, and what is to be written for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The fact.
    pub fact: FactRecord,
    /// Empty where nothing changes.
    pub changes: Changes,
}

/// Writes down a fact: trust `user_confirmed`, active at once; what is [`FactWrite::suggested`] is proposed.
///
/// The same text again is the existing fact: unchanged when it is confirmed already and nothing else is given, else
/// confirmed and changed in place. Another text under a key that is in use supersedes the old fact.
///
/// # Errors
/// [`crate::Code::InvalidArgument`] for a fact that is empty or longer than 4,000 characters, a key that is empty or longer than
/// 128 bytes, or an expiry that is no number.
pub fn explicit(write: &FactWrite, existing: &[FactRecord], numbers: Numbers, now_ms: f64) -> Result<Written> {
    if write.suggested == Some(true) {
        return super::suggested::suggested(write, existing, numbers, now_ms);
    }
    let new = new_record(write, now_ms)?;
    let mut draft = Draft::new(existing, numbers, now_ms, "user");
    if let Some(same) = same_text(&draft, &new) {
        return Ok(confirm(draft, &same, write, new.fact));
    }
    let by_key = draft.find_current(|fact| write.key.is_some() && fact.key == write.key).cloned();
    let old = by_key.as_ref();
    let fact = FactRecord {
        id: draft.next_fact_id(),
        supersedes: old.map(|old| old.id.clone()),
        pinned: write.pinned.unwrap_or_else(|| old.is_some_and(|old| old.pinned)),
        local_only: write.local_only.unwrap_or_else(|| old.is_some_and(|old| old.local_only)),
        access_count: old.map_or(0, |old| old.access_count),
        last_accessed_at: old.and_then(|old| old.last_accessed_at),
        ..new
    };
    if let Some(old) = old {
        draft.set_status(&old.id, FactStatus::Superseded);
    }
    put_written(&mut draft, &fact, by_key, "explicit");
    Ok(Written { fact, changes: draft.finish() })
}

/// The same text was written again: confirms it, and takes over what else was given.
fn confirm(mut draft: Draft<'_>, same: &FactRecord, write: &FactWrite, text: String) -> Written {
    let mut fact = same.clone();
    if same.trust != Trust::UserConfirmed || same.status != FactStatus::Active {
        fact.trust = Trust::UserConfirmed;
        fact.status = FactStatus::Active;
        fact.confidence = 1.0;
        "explicit".clone_into(&mut fact.source.kind);
        fact.fact = text;
    }
    if let Some(category) = &write.category {
        fact.category.clone_from(category);
    }
    fact.key = write.key.clone().or(fact.key);
    fact.expires_at = write.expires_at.or(fact.expires_at);
    fact.pinned = write.pinned.unwrap_or(fact.pinned);
    fact.local_only = write.local_only.unwrap_or(fact.local_only);
    if fact == *same {
        return Written { fact, changes: draft.finish() };
    }
    fact.updated_at = draft.now_ms();
    release_key(&mut draft, &fact);
    if same.status == FactStatus::Proposed {
        supersede_chain(&mut draft, &fact);
    }
    draft.audit_edit(same, &fact, "explicit");
    draft.put(fact.clone());
    Written { fact, changes: draft.finish() }
}

/// Changes a fact in place: its id stays, the text before is in the audit, and what the user wrote is confirmed. A key
/// that another fact holds is taken over: that fact is superseded.
///
/// # Errors
/// [`crate::Code::NotFound`] for an id that is not there, was forgotten or is no longer in use; [`crate::Code::InvalidArgument`] as in
/// [`explicit`].
pub fn edit(change: &FactEdit, existing: &[FactRecord], numbers: Numbers, now_ms: f64) -> Result<Written> {
    let mut draft = Draft::new(existing, numbers, now_ms, "user");
    let id = change.id.as_str();
    let before = current(&draft, id)?;
    let mut fact = before.clone();
    if let Some(text) = &change.fact {
        fact.fact = checked_text(text)?;
        fact.fingerprint = fingerprint(&fact.fact);
    }
    if let Some(key) = &change.key {
        checked_key(key.as_deref())?;
        fact.key.clone_from(key);
    }
    if let Some(expires_at) = change.expires_at {
        checked_time(expires_at)?;
        fact.expires_at = expires_at;
    }
    if let Some(category) = &change.category {
        fact.category.clone_from(category);
    }
    if let Some(subject) = &change.subject {
        fact.subject.clone_from(subject);
    }
    fact.pinned = change.pinned.unwrap_or(fact.pinned);
    fact.local_only = change.local_only.unwrap_or(fact.local_only);
    if fact == before {
        return Ok(Written { fact, changes: draft.finish() });
    }
    if fact.fact != before.fact {
        // The quote shows the old words; the new ones are the user's own.
        fact.trust = Trust::UserConfirmed;
        fact.confidence = 1.0;
        fact.source = FactSource { kind: "explicit".to_owned(), conversation_id: None, seq: None, quote: None };
    }
    fact.updated_at = now_ms;
    release_key(&mut draft, &fact);
    draft.audit_edit(&before, &fact, "explicit");
    draft.put(fact.clone());
    Ok(Written { fact, changes: draft.finish() })
}

/// Approves a proposed fact: it becomes active and confirmed, and what it was meant to replace is superseded. A fact that
/// is active already is confirmed.
///
/// # Errors
/// [`crate::Code::NotFound`] for an id that is not there, was forgotten or is no longer in use.
pub fn approve(id: &str, existing: &[FactRecord], numbers: Numbers, now_ms: f64) -> Result<Written> {
    let mut draft = Draft::new(existing, numbers, now_ms, "user");
    let before = current(&draft, id)?;
    if before.status == FactStatus::Active && before.trust == Trust::UserConfirmed {
        return Ok(Written { fact: before, changes: draft.finish() });
    }
    let fact = FactRecord {
        status: FactStatus::Active,
        trust: Trust::UserConfirmed,
        confidence: 1.0,
        updated_at: now_ms,
        ..before.clone()
    };
    supersede_chain(&mut draft, &fact);
    release_key(&mut draft, &fact);
    draft.audit_edit(&before, &fact, "approved");
    draft.put(fact.clone());
    Ok(Written { fact, changes: draft.finish() })
}

/// Forgets a fact and the older ones that it replaced: a tombstone of each stays, so that it is not learned again (see
/// [`FactStatus::Forgotten`]). Forgetting twice changes nothing.
///
/// The engine carries out [`Changes::forgotten`], and drops vectors and contexts that hold the text.
///
/// # Errors
/// [`crate::Code::NotFound`] for an id that is not there.
pub fn forget(id: &str, existing: &[FactRecord], numbers: Numbers, now_ms: f64) -> Result<Changes> {
    let mut draft = Draft::new(existing, numbers, now_ms, "user");
    let mut next = Some(draft.get(id).ok_or_else(|| unknown(id))?.id.clone());
    while let Some(fact) = next.and_then(|id| draft.get(&id).cloned()) {
        if fact.status == FactStatus::Forgotten {
            break;
        }
        next = fact.supersedes.clone();
        draft.mark_forgotten(&fact.id);
        draft.audit("FORGET", Some(&fact.id), None, None, None);
        draft.put(tombstone(&fact, &fact.source.kind, now_ms));
    }
    Ok(draft.finish())
}

/// What is left of an erased fact: a tombstone that no call answers with.
#[must_use]
pub fn erased(fact: &FactRecord, now_ms: f64) -> FactRecord {
    tombstone(fact, ERASED, now_ms)
}

/// Whether a fact was erased, not only forgotten.
#[must_use]
pub fn is_erased(fact: &FactRecord) -> bool {
    fact.status == FactStatus::Forgotten && fact.source.kind == ERASED
}

/// Kind of the source of an erased fact.
const ERASED: &str = "erased";

fn tombstone(fact: &FactRecord, kind: &str, now_ms: f64) -> FactRecord {
    let key = crate::hash::fnv1a(fact.id.bytes().chain(now_ms.to_le_bytes()).chain(fact.created_at.to_le_bytes()));
    FactRecord {
        id: fact.id.clone(),
        key: None,
        subject: String::new(),
        category: String::new(),
        fact: String::new(),
        confidence: 0.0,
        trust: fact.trust,
        status: FactStatus::Forgotten,
        source: FactSource { kind: kind.to_owned(), conversation_id: None, seq: None, quote: None },
        supersedes: None,
        fingerprint: buried(&fact.fingerprint, key),
        pinned: false,
        local_only: false,
        expires_at: None,
        access_count: 0,
        last_accessed_at: None,
        created_at: fact.created_at,
        updated_at: now_ms,
        origin: fact.origin.clone(),
    }
}

/// Refuses what may not be remembered, whoever writes it: a secret, and a special category of personal data that is not
/// among `allowed`. `texts` are those of the fact, `category` is its own.
///
/// # Errors
/// [`crate::Code::InvalidArgument`], naming the kind, never the text.
pub fn check_allowed(texts: &[&str], category: &str, allowed: &[String]) -> Result<()> {
    if let Some(kind) = texts.iter().find_map(|text| has_secret(text)) {
        return Err(Error::invalid_argument(format!(
            "the fact holds a secret ({}); secrets are never remembered, leave it out",
            kind.as_str()
        )));
    }
    let told = || texts.iter().find_map(|text| sensitive_category(text, allowed));
    let named = sensitive_categories().find(|name| {
        category.eq_ignore_ascii_case(name) && !allowed.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
    });
    match named.or_else(told) {
        Some(name) => Err(Error::invalid_argument(format!(
            "the fact is about {name}, which is only remembered once the user agreed; call facts.optIn(\"{name}\") first"
        ))),
        None => Ok(()),
    }
}

fn current(draft: &Draft<'_>, id: &str) -> Result<FactRecord> {
    draft.get(id).filter(|fact| is_current(fact)).cloned().ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> Error {
    // An id of another form could be anything, so it is not repeated.
    let name = if super::id_number(id) == u64::MAX { "with this id" } else { id };
    Error::not_found(format!("there is no fact {name} in use; facts.list() gives the ids"))
}

/// A key names one fact: whoever else holds it is superseded.
fn release_key(draft: &mut Draft<'_>, fact: &FactRecord) {
    if fact.key.is_none() || fact.status != FactStatus::Active {
        return;
    }
    while let Some(id) =
        draft.find_current(|other| other.key == fact.key && other.id != fact.id).map(|other| other.id.clone())
    {
        draft.set_status(&id, FactStatus::Superseded);
    }
}

/// Supersedes what a proposed fact was meant to replace, through proposals that were themselves replaced.
fn supersede_chain(draft: &mut Draft<'_>, fact: &FactRecord) {
    let mut next = fact.supersedes.clone();
    // A chain is never longer than the facts are many; damaged records could be linked in a ring.
    for _ in 0..10_000 {
        let Some(old) = next.and_then(|id| draft.get(&id).cloned()) else { return };
        next = old.supersedes.clone();
        if is_current(&old) && old.id != fact.id {
            draft.set_status(&old.id, FactStatus::Superseded);
        }
    }
}

crate::json_reader::deserialize_as_json!(FactWrite, FactEdit);
