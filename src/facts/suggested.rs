//! What a model suggests through a tool of the app: it waits until the user approves it, and changes nothing until then.

use super::changes::{Draft, Numbers};
use super::written::{new_record, put_written, same_text};
use super::{FactWrite, Written, is_buried};
use crate::error::{Error, Result};
use crate::records::{FactRecord, FactSource, FactStatus, Trust};

/// Writes down a suggestion: trust `assistant_inferred`, proposed, never pinned. The same text again is the existing fact,
/// as it is. What has its key stays in use until the suggestion is approved; an earlier suggestion gives way to it.
///
/// # Errors
/// [`Code::InvalidArgument`](crate::Code::InvalidArgument) as for [`explicit`](super::explicit()), and for what the user
/// forgot, which is not suggested again.
pub(super) fn suggested(write: &FactWrite, existing: &[FactRecord], numbers: Numbers, now_ms: f64) -> Result<Written> {
    let new = new_record(write, now_ms)?;
    let mut draft = Draft::new(existing, numbers, now_ms, "model");
    if let Some(fact) = same_text(&draft, &new) {
        return Ok(Written { fact, changes: draft.finish() });
    }
    let is_forgotten =
        |fact: &FactRecord| fact.status == FactStatus::Forgotten && is_buried(&fact.fingerprint, &new.fingerprint);
    if existing.iter().any(is_forgotten) {
        return Err(Error::invalid_argument("the user forgot this fact, so it is not suggested again"));
    }
    let of_key = |draft: &Draft<'_>, status| {
        draft.find_current(|fact| write.key.is_some() && fact.key == write.key && fact.status == status).cloned()
    };
    let earlier = of_key(&draft, FactStatus::Proposed);
    let old = of_key(&draft, FactStatus::Active).or_else(|| earlier.clone());
    let fact = FactRecord {
        id: draft.next_fact_id(),
        trust: Trust::AssistantInferred,
        status: FactStatus::Proposed,
        source: FactSource { kind: "inference".to_owned(), ..new.source },
        supersedes: old.as_ref().map(|old| old.id.clone()),
        local_only: write.local_only.unwrap_or_else(|| old.as_ref().is_some_and(|old| old.local_only)),
        ..new
    };
    if let Some(earlier) = earlier {
        draft.set_status(&earlier.id, FactStatus::Superseded);
    }
    put_written(&mut draft, &fact, old, "proposed");
    Ok(Written { fact, changes: draft.finish() })
}
