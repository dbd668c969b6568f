//! What the user, or a model through a tool of the app, writes down: checked, and as a record.

use super::changes::Draft;
use super::{FactWrite, LONGEST_EXPLICIT_CHARS, LONGEST_KEY_BYTES, fingerprint};
use crate::error::{Code, Error, Result};
use crate::records::{FactRecord, FactSource, FactStatus, Trust};

/// What the user writes down as a record that has no id yet and replaces nothing.
pub(super) fn new_record(write: &FactWrite, now_ms: f64) -> Result<FactRecord> {
    let text = checked_text(&write.fact)?;
    checked_key(write.key.as_deref())?;
    checked_time(write.expires_at)?;
    Ok(FactRecord {
        id: String::new(),
        key: write.key.clone(),
        subject: write.subject.clone().unwrap_or_else(|| "user".to_owned()),
        category: write.category.clone().unwrap_or_else(|| "preference".to_owned()),
        confidence: 1.0,
        trust: Trust::UserConfirmed,
        status: FactStatus::Active,
        source: FactSource { kind: "explicit".to_owned(), conversation_id: None, seq: None, quote: None },
        supersedes: None,
        fingerprint: fingerprint(&text),
        fact: text,
        pinned: false,
        local_only: false,
        expires_at: write.expires_at,
        access_count: 0,
        last_accessed_at: None,
        created_at: now_ms,
        updated_at: now_ms,
        origin: None,
    })
}

/// The current fact that says the same about the same.
pub(super) fn same_text(draft: &Draft<'_>, new: &FactRecord) -> Option<FactRecord> {
    draft.find_current(|fact| fact.fingerprint == new.fingerprint && fact.subject == new.subject).cloned()
}

/// Puts a written fact, with its entry in the audit.
pub(super) fn put_written(draft: &mut Draft<'_>, fact: &FactRecord, old: Option<FactRecord>, reason: &str) {
    draft.put(fact.clone());
    let operation = if old.is_some() { "UPDATE" } else { "ADD" };
    draft.audit(operation, Some(&fact.id), old.map(|old| old.fact), Some(fact.fact.clone()), Some(reason));
}

pub(super) fn checked_text(text: &str) -> Result<String> {
    let text = text.trim();
    let characters = text.chars().count();
    if (1..=LONGEST_EXPLICIT_CHARS).contains(&characters) {
        return Ok(text.to_owned());
    }
    Err(Error::new(
        Code::InvalidArgument,
        format!("the fact has {characters} characters; give 1 to {LONGEST_EXPLICIT_CHARS}"),
    ))
}

pub(super) fn checked_key(key: Option<&str>) -> Result<()> {
    match key {
        Some(key) if key.trim().is_empty() || key.len() > LONGEST_KEY_BYTES => Err(Error::invalid_argument(format!(
            "the key has {} bytes; give 1 to {LONGEST_KEY_BYTES} that are not all spaces, or leave it out",
            key.len()
        ))),
        _ => Ok(()),
    }
}

pub(super) fn checked_time(time_ms: Option<f64>) -> Result<()> {
    match time_ms {
        Some(time_ms) if !time_ms.is_finite() => {
            Err(Error::invalid_argument("expiresAt is no number; give milliseconds since 1970, or leave it out"))
        }
        _ => Ok(()),
    }
}
