//! Candidate facts: an extracting model's answer, checked against the messages that it was made from.

use super::evidence::{is_quoted, is_supported};
use super::extract::SourceMessage;
use super::fingerprint::{is_buried, says_same};
use super::passing::{bearing_sentence, is_passing};
use super::similarity::Sought;
use super::voices::{brought_words, is_other_voice, needs_confirmation, repeats};
use super::{
    LONGEST_FACT_CHARS, LONGEST_KEY_BYTES, Rejection, RejectionReason, fingerprint, own_words, sensitive_categories,
    sensitive_category,
};
use crate::config::FactPolicy;
use crate::error::{Error, Result};
use crate::lexical::lowercase;
use crate::message::{Role, Seq};
use crate::model_answer;
use crate::prompt_text::single_line;
use crate::records::{FactRecord, FactStatus, Trust};
use crate::secrets::has_secret;
use crate::sorting;
use serde_json::{Map, Value};

/// Most candidates of one answer.
const MOST_CANDIDATES: usize = 50;
/// Shortest fact, in characters.
const SHORTEST_FACT_CHARS: usize = 3;
/// Longest quote, in characters.
const LONGEST_QUOTE_CHARS: usize = 1_000;

/// Days of an end that is told: from the rest of the day to ten years.
const LEAST_VALID_DAYS: f64 = 0.5;
const MOST_VALID_DAYS: f64 = 3_650.0;
const DAY_MS: f64 = 86_400_000.0;

/// How the fact follows from what the user said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidateKind {
    /// The user said it: the model calls it a statement, and the quote bears its words ([`is_supported`]).
    Statement,
    /// The model concluded it.
    Inference,
    /// It stands in what the user pasted, quoted or forwarded ([`own_words`]), or repeats the result of a tool: anybody may have
    /// written it.
    Quotation,
}

impl CandidateKind {
    /// The name as stored in [`crate::records::FactSource::kind`].
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Statement => "statement",
            Self::Inference => "inference",
            Self::Quotation => "quotation",
        }
    }

    /// The most that a model's confidence in a fact of this kind counts: 1 is for what the user wrote or approved, and no
    /// repetition makes more of it. Set by hand; nothing but the order of equals hangs on it.
    #[must_use]
    pub fn most_confidence(self) -> f64 {
        match self {
            Self::Statement => 0.95,
            Self::Inference => 0.7,
            Self::Quotation => 0.5,
        }
    }

    /// The trust of a fact of this kind.
    #[must_use]
    pub fn trust(self) -> Trust {
        match self {
            Self::Statement => Trust::UserStated,
            Self::Inference => Trust::AssistantInferred,
            Self::Quotation => Trust::External,
        }
    }
}

/// A fact that a model proposes, with evidence that was found in the user's own message.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The fact in words, on one line.
    pub fact: String,
    /// One of the policy's categories.
    pub category: String,
    /// Unique name of the value, where the model gave a usable one.
    pub key: Option<String>,
    /// 0 to 1: the model's own, at most [`CandidateKind::most_confidence`].
    pub confidence: f64,
    /// Words of the message that show it.
    pub quote: String,
    /// The message.
    pub seq: Seq,
    /// How it follows.
    pub kind: CandidateKind,
    /// It reads like an instruction ([`super::is_instruction`]), would have consequences that the user must have meant, or
    /// speaks of the user as of somebody else: it waits for the user's approval.
    pub is_flagged: bool,
    /// Its sentence tells of a passing state, a joke, an "if" or another person: it is no reason to change what is known.
    pub is_passing: bool,
    /// Milliseconds since 1970; it does not hold from then on. `None`: no end was told.
    pub expires_at: Option<f64>,
    /// Its message stays on this device, so the fact does.
    pub local_only: bool,
    /// [`fingerprint`] of the fact.
    pub fingerprint: String,
}

impl Candidate {
    /// Whether a fact says the same in the same words.
    pub(super) fn says_same(&self, fact: &FactRecord) -> bool {
        fact.fingerprint == self.fingerprint || says_same(&fact.fact, &self.fact)
    }

    /// What its neighbours are looked for by.
    #[must_use]
    pub fn sought(&self) -> Sought<'_> {
        Sought { fact: &self.fact, quote: &self.quote, key: self.key.as_deref(), category: &self.category }
    }
}

/// The candidates of an extracting model's answer, and what was refused of it. `messages` are those of the request,
/// `existing` all facts of the user, the forgotten ones too.
///
/// A candidate that is called a statement but whose quote does not bear it, that reads like an instruction or has to be
/// confirmed, or whose sentence tells of a passing state, a joke, an "if" or another person, becomes an inference, and one
/// from a text of somebody else a quotation: neither is put into prompts by itself. The same fact twice is merged into the more confident one; of two values for one
/// key the later message's stays.
///
/// # Errors
/// [`crate::error::Code::ModelOutputInvalid`] when the answer is no JSON list of facts or is cut off: nothing of it is used.
pub fn parse_candidates(
    answer: &str,
    messages: &[SourceMessage],
    existing: &[FactRecord],
    policy: &FactPolicy,
) -> Result<(Vec<Candidate>, Vec<Rejection>)> {
    let value = model_answer::json(&model_answer::visible_answer(answer)?)?;
    let Some(items) = list_of(&value, "facts") else {
        return Err(Error::model_output("the answer has no list \"facts\""));
    };
    let mut candidates: Vec<(usize, Candidate)> = Vec::new();
    let mut rejections = Vec::new();
    let brought = messages.iter().filter(|message| !items.is_empty() && !message.brought.is_empty());
    let brought: Vec<String> = brought.map(|message| brought_words(&message.brought)).collect();
    for (index, item) in items.iter().enumerate() {
        let checked = if index < MOST_CANDIDATES {
            candidate(item, messages, &brought, existing, policy)
        } else {
            Err(RejectionReason::Length)
        };
        match checked {
            Ok(candidate) => merge(&mut candidates, &mut rejections, index, candidate),
            Err(reason) => rejections.push(Rejection { index, reason, target: None }),
        }
    }
    sorting::sort_by_key(&mut rejections, &|rejection| rejection.index);
    Ok((candidates.into_iter().map(|(_, candidate)| candidate).collect(), rejections))
}

/// The list under `name`, or the value itself where it is a list.
pub(super) fn list_of<'a>(value: &'a Value, name: &str) -> Option<&'a Vec<Value>> {
    match value {
        Value::Object(map) => map.get(name)?.as_array(),
        Value::Array(items) => Some(items),
        _ => None,
    }
}

fn candidate(
    item: &Value,
    messages: &[SourceMessage],
    brought: &[String],
    existing: &[FactRecord],
    policy: &FactPolicy,
) -> std::result::Result<Candidate, RejectionReason> {
    let map = item.as_object().ok_or(RejectionReason::Malformed)?;
    let text = |name: &str| map.get(name).and_then(Value::as_str).ok_or(RejectionReason::Malformed);
    let fact = single_line(text("fact")?);
    let category = lowercase(text("category")?.trim());
    let quote = text("quote")?.trim().to_owned();
    let is_statement = match text("kind").unwrap_or("inference") {
        "statement" => true,
        "inference" => false,
        _ => return Err(RejectionReason::Malformed),
    };
    let confidence = confidence_of(map)?;
    if !(SHORTEST_FACT_CHARS..=LONGEST_FACT_CHARS).contains(&fact.chars().count())
        || quote.chars().count() > LONGEST_QUOTE_CHARS
    {
        return Err(RejectionReason::Length);
    }
    if !policy.categories.iter().any(|allowed| lowercase(allowed) == category) {
        return Err(RejectionReason::Category);
    }
    if confidence < policy.min_confidence {
        return Err(RejectionReason::LowConfidence);
    }
    let seq = map.get("seq").and_then(Value::as_u64).and_then(|seq| Seq::try_from(seq).ok());
    let message = messages
        .iter()
        .find(|message| Some(message.seq) == seq && message.role == Role::User)
        .ok_or(RejectionReason::UnknownMessage)?;
    let fingerprint = fingerprint(&fact);
    check_special(map, &policy.categories)?;
    check_content(&fact, &quote, &message.text, &policy.categories)?;
    let is_tombstone = |known: &&FactRecord| known.status == FactStatus::Forgotten;
    if existing.iter().filter(is_tombstone).any(|known| is_buried(&known.fingerprint, &fingerprint)) {
        return Err(RejectionReason::Forgotten);
    }
    let (sentence, _) = bearing_sentence(&fact, &quote, &message.text);
    let is_flagged = needs_confirmation(&fact, &quote, sentence) || is_other_voice(sentence);
    let expires_at = end_of(map, message);
    let is_passing = is_passing(&fact, &quote, &message.text, expires_at.is_some(), category == "preference");
    let is_said = is_quoted(&quote, &own_words(&message.text)) && !brought.iter().any(|words| repeats(sentence, words));
    let kind = match is_said {
        false => CandidateKind::Quotation,
        true if is_statement && !is_flagged && !is_passing && is_supported(&fact, &quote) => CandidateKind::Statement,
        true => CandidateKind::Inference,
    };
    let key = map.get("key").and_then(Value::as_str).and_then(key_of);
    Ok(Candidate {
        fact,
        category,
        key,
        confidence: confidence.min(kind.most_confidence()),
        quote,
        seq: message.seq,
        kind,
        is_flagged,
        is_passing,
        expires_at,
        local_only: message.local_only,
        fingerprint,
    })
}

/// What the model itself says to be of a special category is, unless that one is allowed: it understands what is only implied.
fn check_special(map: &Map<String, Value>, allowed: &[String]) -> std::result::Result<(), RejectionReason> {
    let named = lowercase(map.get("special").and_then(Value::as_str).unwrap_or_default().trim());
    let is_allowed = || allowed.iter().any(|allowed| lowercase(allowed) == named);
    if sensitive_categories().any(|special| special == named) && !is_allowed() {
        return Err(RejectionReason::Sensitive);
    }
    Ok(())
}

/// What is private is not remembered, and what is must stand in its message.
fn check_content(
    fact: &str,
    quote: &str,
    message: &str,
    categories: &[String],
) -> std::result::Result<(), RejectionReason> {
    if has_secret(fact).or_else(|| has_secret(quote)).is_some() {
        return Err(RejectionReason::Secret);
    }
    if sensitive_category(fact, categories).or_else(|| sensitive_category(quote, categories)).is_some() {
        return Err(RejectionReason::Sensitive);
    }
    if is_quoted(quote, message) { Ok(()) } else { Err(RejectionReason::Quote) }
}

/// The end that a model was told of, counted from its message. What is no number of days in sight is no end.
fn end_of(map: &Map<String, Value>, message: &SourceMessage) -> Option<f64> {
    let days = map.get("valid_days").and_then(Value::as_f64)?;
    let is_in_sight = message.said_at > 0.0 && (0.0..=MOST_VALID_DAYS).contains(&days);
    is_in_sight.then(|| message.said_at + days.max(LEAST_VALID_DAYS) * DAY_MS)
}

fn confidence_of(map: &Map<String, Value>) -> std::result::Result<f64, RejectionReason> {
    map.get("confidence")
        .and_then(Value::as_f64)
        .filter(|confidence| (0.0..=1.0).contains(confidence))
        .ok_or(RejectionReason::Confidence)
}

/// A model's key in snake_case; `None` where it is no usable name.
fn key_of(key: &str) -> Option<String> {
    let key = lowercase(key.trim()).replace([' ', '-'], "_");
    let is_name = key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.');
    let is_empty_word = matches!(key.as_str(), "" | "null" | "none" | "undefined");
    (is_name && !is_empty_word && key.len() <= LONGEST_KEY_BYTES).then_some(key)
}

fn merge(
    candidates: &mut Vec<(usize, Candidate)>,
    rejections: &mut Vec<Rejection>,
    index: usize,
    candidate: Candidate,
) {
    let rank = |candidate: &Candidate| (candidate.kind.trust(), candidate.confidence);
    let same = candidates.iter_mut().find(|(_, other)| {
        other.fingerprint == candidate.fingerprint || other.key.is_some() && other.key == candidate.key
    });
    let Some((other_index, other)) = same else {
        candidates.push((index, candidate));
        return;
    };
    let is_better = if other.fingerprint == candidate.fingerprint {
        rank(&candidate) > rank(other)
    } else {
        candidate.seq >= other.seq && candidate.kind.trust() >= other.kind.trust()
    };
    let refused = if is_better {
        *other = candidate;
        std::mem::replace(other_index, index)
    } else {
        index
    };
    rejections.push(Rejection { index: refused, reason: RejectionReason::Duplicate, target: None });
}
