//! Which facts go into a prompt.

use super::block::{memory_item, render_memory_block};
use super::id_number;
use crate::prompt_text::{MEMORY_HEADER, json_line};
use crate::records::{FactRecord, FactStatus, Trust};
use crate::sorting;

/// What may be chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelectionPolicy {
    /// Most tokens of the rendered block.
    pub cap_tokens: u32,
    /// Where not all fit, facts below this score are left out unless they are pinned, 0 to 1.
    pub min_score: f64,
    /// Facts below this trust are never chosen.
    pub min_trust: Trust,
    /// The time, milliseconds since 1970.
    pub now_ms: f64,
}

impl SelectionPolicy {
    /// What the user stated or confirmed, within a cap.
    #[must_use]
    pub fn new(cap_tokens: u32, min_score: f64, now_ms: f64) -> Self {
        Self { cap_tokens, min_score, min_trust: Trust::UserStated, now_ms }
    }
}

/// The facts of a context.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection<'a> {
    /// Chosen, ordered by numeric id.
    pub facts: Vec<&'a FactRecord>,
    /// Each chosen fact's score, in the same order. All 1 where everything fitted.
    pub scores: Vec<f64>,
    /// Usable, but without room or below the floor: id, tokens and score, best first.
    pub dropped: Vec<(&'a str, u32, f64)>,
    /// Tokens of the rendered block.
    pub tokens: u32,
}

/// Days after which an unused fact's recency is 1/e. The article calls it a half-life; the formula is `exp(-days / 30)`.
const RECENCY_DAYS: f64 = 30.0;

/// `0.6 similarity + 0.25 exp(-days / 30) + 0.15 ln(1 + accesses) / ln(1 + most accesses)`, 0 to 1 (the memory score of
/// the articles that the project implements, its third term normalised). Days count from the last use, else from the
/// last change; a clock that went back counts as no days.
#[must_use]
pub fn fact_score(fact: &FactRecord, similarity: f64, most_accesses: u32, now_ms: f64) -> f64 {
    let days = ((now_ms - fact.last_accessed_at.unwrap_or(fact.updated_at)) / 86_400_000.0).max(0.0);
    let recency = if days.is_finite() { (-days / RECENCY_DAYS).exp() } else { 0.0 };
    let frequency = f64::from(fact.access_count).ln_1p() / f64::from(most_accesses.max(1)).ln_1p();
    let similarity = if similarity.is_finite() { similarity.clamp(0.0, 1.0) } else { 0.0 };
    0.6 * similarity + 0.25 * recency + 0.15 * frequency.clamp(0.0, 1.0)
}

/// Chooses the facts of a context: all that are usable while they fit the cap, so that the block stays the same from
/// question to question; else pinned ones first, then by [`fact_score`] down to the floor. `similarity` is that of the fact to the
/// question, 0 to 1, and is only asked for when not everything fits.
///
/// Usable is what is active, not expired and trusted enough.
#[must_use]
pub fn select<'a>(
    facts: &'a [FactRecord],
    policy: &SelectionPolicy,
    similarity: &dyn Fn(&FactRecord) -> f64,
    count_tokens: &dyn Fn(&str) -> u32,
) -> Selection<'a> {
    let mut usable: Vec<&FactRecord> = facts.iter().filter(|fact| is_usable(fact, policy)).collect();
    sorting::sort_by(&mut usable, &|one, other| {
        id_number(&one.id).cmp(&id_number(&other.id)).then_with(|| one.id.cmp(&other.id))
    });
    let block_tokens = |facts: &[&FactRecord]| count_tokens(&render_memory_block(facts));
    let tokens = block_tokens(&usable);
    if tokens <= policy.cap_tokens {
        let scores = vec![1.0; usable.len()];
        return Selection { facts: usable, scores, dropped: Vec::new(), tokens };
    }
    let most_accesses = usable.iter().map(|fact| fact.access_count).max().unwrap_or_default();
    let mut ranked: Vec<(&FactRecord, f64)> =
        usable.iter().map(|fact| (*fact, fact_score(fact, similarity(fact), most_accesses, policy.now_ms))).collect();
    // Sorting is stable: equal scores stay in the order of their ids.
    sorting::sort_by(&mut ranked, &|(one, a), (other, b)| other.pinned.cmp(&one.pinned).then(b.total_cmp(a)));
    let mut left_tokens = policy.cap_tokens.saturating_sub(count_tokens(MEMORY_HEADER));
    let mut chosen = Vec::new();
    let mut dropped = Vec::new();
    for (fact, score) in ranked {
        // One more for the line break.
        let line_tokens = count_tokens(&json_line(&memory_item(fact))).saturating_add(1);
        if line_tokens <= left_tokens && (fact.pinned || score >= policy.min_score) {
            left_tokens -= line_tokens;
            chosen.push((fact, score));
        } else {
            dropped.push((fact.id.as_str(), line_tokens, score));
        }
    }
    // Lines counted one by one are a close bound, not a proof: the block is counted as it will be sent.
    let mut tokens = block_tokens(&chosen.iter().map(|(fact, _)| *fact).collect::<Vec<_>>());
    while tokens > policy.cap_tokens {
        let Some((fact, score)) = chosen.pop() else { break };
        dropped.push((fact.id.as_str(), count_tokens(&json_line(&memory_item(fact))), score));
        tokens = block_tokens(&chosen.iter().map(|(fact, _)| *fact).collect::<Vec<_>>());
    }
    sorting::sort_by(&mut chosen, &|(one, _), (other, _)| {
        id_number(&one.id).cmp(&id_number(&other.id)).then_with(|| one.id.cmp(&other.id))
    });
    let (facts, scores) = chosen.into_iter().unzip();
    Selection { facts, scores, dropped, tokens }
}

fn is_usable(fact: &FactRecord, policy: &SelectionPolicy) -> bool {
    fact.status == FactStatus::Active
        && fact.trust >= policy.min_trust
        && !fact.fact.trim().is_empty()
        && fact.expires_at.is_none_or(|expires_at| expires_at > policy.now_ms)
}
