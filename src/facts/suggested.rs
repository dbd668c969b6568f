//! What a model suggests through a tool of the app: it waits until the user approves it, and changes nothing until then.

use super::changes::{Draft, Numbers};
use super::explicit::{checked_key, checked_text, checked_time};
use super::{FactWrite, Written, fingerprint, is_buried};
use crate::error::{Error, Result};
use crate::records::{FactRecord, FactSource, FactStatus, Trust};

/// Writes down a suggestion: trust `assistant_inferred`, proposed, never pinned. The same text again is the existing fact,
/// as it is. What has its key stays in use until the suggestion is approved; an earlier suggestion gives way to it.
///
/// # Errors
/// [`Code::InvalidArgument`](crate::Code::InvalidArgument) as for [`explicit`](super::explicit()), and for what the user
/// forgot, which is not suggested again.
pub(super) fn suggested(write: &FactWrite, existing: &[FactRecord], numbers: Numbers, now_ms: f64) -> Result<Written> {
    let text = checked_text(&write.fact)?;
    checked_key(write.key.as_deref())?;
    checked_time(write.expires_at)?;
    let subject = write.subject.clone().unwrap_or_else(|| "user".to_owned());
    let print = fingerprint(&text);
    let mut draft = Draft::new(existing, numbers, now_ms, "model");
    let same = draft.find_current(|fact| fact.fingerprint == print && fact.subject == subject).cloned();
    if let Some(fact) = same {
        return Ok(Written { fact, changes: draft.finish() });
    }
    let is_forgotten = |fact: &FactRecord| fact.status == FactStatus::Forgotten && is_buried(&fact.fingerprint, &print);
    if existing.iter().any(is_forgotten) {
        return Err(Error::invalid_argument("the user forgot this fact, so it is not suggested again"));
    }
    let of_key = |draft: &Draft<'_>, status| {
        draft.find_current(|fact| write.key.is_some() && fact.key == write.key && fact.status == status).cloned()
    };
    let earlier = of_key(&draft, FactStatus::Proposed);
    let old = of_key(&draft, FactStatus::Active).or_else(|| earlier.clone());
    let id = draft.next_fact_id();
    let fact = FactRecord {
        id: id.clone(),
        key: write.key.clone(),
        subject,
        category: write.category.clone().unwrap_or_else(|| "preference".to_owned()),
        fact: text.clone(),
        confidence: 1.0,
        trust: Trust::AssistantInferred,
        status: FactStatus::Proposed,
        source: FactSource { kind: "inference".to_owned(), conversation_id: None, seq: None, quote: None },
        supersedes: old.as_ref().map(|old| old.id.clone()),
        fingerprint: print,
        pinned: false,
        local_only: write.local_only.unwrap_or_else(|| old.as_ref().is_some_and(|old| old.local_only)),
        expires_at: write.expires_at,
        access_count: 0,
        last_accessed_at: None,
        created_at: now_ms,
        updated_at: now_ms,
    };
    if let Some(earlier) = earlier {
        draft.set_status(&earlier.id, FactStatus::Superseded);
    }
    draft.put(fact.clone());
    let operation = if old.is_some() { "UPDATE" } else { "ADD" };
    draft.audit(operation, Some(&id), old.map(|old| old.fact), Some(text), Some("proposed"));
    Ok(Written { fact, changes: draft.finish() })
}
