//! Long-term memory about the user: extraction from what the user said, the judge's operations, explicit writes, and the
//! choice of what goes into a prompt.
//!
//! Pure decisions. One run of the engine: [`extract_request`] and [`parse_candidates`]; per candidate [`similar`] and
//! [`resolve`]; where that says [`Resolution::AskJudge`], [`judge_request`] and [`parse_operations`]; then [`apply`] gives
//! the records of one transaction. What a model answers is checked against the messages it came from; trust is decided
//! here, never by a model.

mod audit;
mod block;
mod candidates;
mod changes;
mod evidence;
mod explicit;
mod extract;
mod fingerprint;
mod instructions;
mod judge;
mod merged;
mod own_words;
mod passing;
mod reported;
mod retraction;
mod selection;
mod sensitive;
mod similarity;
mod suggested;
mod voices;
mod written;

pub use audit::{Finding, FindingKind, audit_request, findings, parse_findings, unfit, withheld};
pub use block::{memory_item, parse_memory_block, render_memory_block};
pub use candidates::{Candidate, CandidateKind, parse_candidates};
pub use changes::{ApplyInput, Changes, Numbers, SourceLink, apply, review, withdraw};
pub use evidence::{is_quoted, is_supported};
pub use explicit::{FactEdit, FactWrite, Written, approve, check_allowed, edit, erased, explicit, forget, is_erased};
pub use extract::{Extraction, SourceMessage, extract_request};
pub use fingerprint::{bury_at, fingerprint, is_buried, is_buried_at, is_tombstone_print};
pub use instructions::is_instruction;
pub use judge::{Decision, FactOperation, JudgeItem, Resolution, judge_request, parse_operations, resolve};
pub use merged::{NamedFact, fact_name, facts_digest, is_news, merged};
pub use own_words::own_words;
pub use selection::{LateFact, Selection, SelectionPolicy, all, fact_score, keep, late, select};
pub use sensitive::{is_of_category, sensitive_categories, sensitive_category, without_sensitive};
pub use similarity::{DenseSimilarity, Neighbour, Sought, relevances, search, similar, similarity};

use crate::records::{FactRecord, FactStatus};

/// Longest fact that a model may propose, in characters.
pub const LONGEST_FACT_CHARS: usize = 500;
/// Longest fact that the user may write, in characters.
pub const LONGEST_EXPLICIT_CHARS: usize = 4_000;
/// Longest key, in bytes.
pub const LONGEST_KEY_BYTES: usize = 128;

/// Why something that a model proposed was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionReason {
    /// Not an object, or a required field is missing or of the wrong type.
    Malformed,
    /// The fact is too short or too long, or the answer holds too many.
    Length,
    /// The category is not among those that the app allows.
    Category,
    /// The confidence is no number from 0 to 1.
    Confidence,
    /// The confidence is below the policy's.
    LowConfidence,
    /// There is no user message at the named position.
    UnknownMessage,
    /// The quote does not stand in the named message.
    Quote,
    /// The fact or its quote holds a password, key or account number.
    Secret,
    /// It belongs to a special category of personal data that the app has not opted in to.
    Sensitive,
    /// The user has forgotten this very fact.
    Forgotten,
    /// The same fact or key comes again in the same answer, or another operation already took its target.
    Duplicate,
    /// The operation is not ADD, UPDATE, DELETE or NOOP.
    UnknownOperation,
    /// The operation names a candidate that was not asked about.
    UnknownCandidate,
    /// The operation names a fact that the judge was not shown for this candidate, or that is no longer in use.
    UnknownTarget,
    /// The judge said nothing about this candidate.
    Unanswered,
    /// What is there has more trust than what would replace it.
    LowerTrust,
    /// The fact to replace has another key than the candidate.
    KeyMismatch,
    /// The answer would delete more than a fifth of all facts at once.
    MassDelete,
}

impl RejectionReason {
    /// The reason as it stands in the audit.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Length => "length",
            Self::Category => "category",
            Self::Confidence => "confidence",
            Self::LowConfidence => "low_confidence",
            Self::UnknownMessage => "unknown_message",
            Self::Quote => "quote",
            Self::Secret => "secret",
            Self::Sensitive => "sensitive",
            Self::Forgotten => "forgotten",
            Self::Duplicate => "duplicate",
            Self::UnknownOperation => "unknown_operation",
            Self::UnknownCandidate => "unknown_candidate",
            Self::UnknownTarget => "unknown_target",
            Self::Unanswered => "unanswered",
            Self::LowerTrust => "lower_trust",
            Self::KeyMismatch => "key_mismatch",
            Self::MassDelete => "mass_delete",
        }
    }
}

/// Something that a model proposed and that was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Position in the answer, from 0.
    pub index: usize,
    /// Why.
    pub reason: RejectionReason,
    /// The existing fact concerned, where it is known.
    pub target: Option<String>,
}

/// Whether the fact is in use or waits for approval: what a new fact is compared with.
pub(crate) fn is_current(fact: &FactRecord) -> bool {
    matches!(fact.status, FactStatus::Active | FactStatus::Proposed)
}

/// The number in a fact's id (`f12` is 12); ids of another form come last.
pub(crate) fn id_number(id: &str) -> u64 {
    id.strip_prefix('f').and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX)
}
