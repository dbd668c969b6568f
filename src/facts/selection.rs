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

/// A fact that is not in the block and that this question needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LateFact<'a> {
    /// The fact.
    pub fact: &'a FactRecord,
    /// Tokens of its line.
    pub tokens: u32,
    /// Its score.
    pub score: f64,
}

/// Facts beside the block take at most this part of the block's cap.
const LATE_PART: u32 = 4;
/// They have this share of the best one's similarity to the question at least, and so much of it at all.
const NEAR_BEST: f64 = 0.5;
const LEAST_SIMILARITY: f64 = 0.1;

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

/// All usable facts, where they fit the cap.
#[must_use]
pub fn all<'a>(
    facts: &'a [FactRecord],
    policy: &SelectionPolicy,
    count_tokens: &dyn Fn(&str) -> u32,
) -> Option<Selection<'a>> {
    let usable = usable(facts, policy);
    let tokens = count_tokens(&render_memory_block(&usable));
    let scores = vec![1.0; usable.len()];
    (tokens <= policy.cap_tokens).then_some(Selection { facts: usable, scores, dropped: Vec::new(), tokens })
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
    if let Some(selection) = all(facts, policy, count_tokens) {
        return selection;
    }
    let block_tokens = |facts: &[&FactRecord]| count_tokens(&render_memory_block(facts));
    let ranked = ranked(&usable(facts, policy), policy, similarity);
    let mut left_tokens = policy.cap_tokens.saturating_sub(count_tokens(MEMORY_HEADER));
    let mut chosen = Vec::new();
    let mut dropped = Vec::new();
    for (fact, score) in ranked {
        let tokens = line_tokens(fact, count_tokens);
        if tokens <= left_tokens && (fact.pinned || score >= policy.min_score) {
            left_tokens -= tokens;
            chosen.push((fact, score));
        } else {
            dropped.push((fact.id.as_str(), tokens, score));
        }
    }
    // Lines counted one by one are a close bound, not a proof: the block is counted as it will be sent.
    let mut tokens = block_tokens(&chosen.iter().map(|(fact, _)| *fact).collect::<Vec<_>>());
    while tokens > policy.cap_tokens {
        let Some((fact, score)) = chosen.pop() else { break };
        dropped.push((fact.id.as_str(), line_tokens(fact, count_tokens), score));
        tokens = block_tokens(&chosen.iter().map(|(fact, _)| *fact).collect::<Vec<_>>());
    }
    sorting::sort_by(&mut chosen, &|(one, _), (other, _)| {
        id_number(&one.id).cmp(&id_number(&other.id)).then_with(|| one.id.cmp(&other.id))
    });
    let (facts, scores) = chosen.into_iter().unzip();
    Selection { facts, scores, dropped, tokens }
}

/// The facts that were chosen for an earlier question of the same conversation, by id and `updated_at`, so that the block stays
/// the same from question to question: what this one needs beyond them is [`late`]. `None` where they are to be chosen anew:
/// one of them is gone or says something else, another one was pinned, or they have no room any more.
#[must_use]
pub fn keep<'a>(
    facts: &'a [FactRecord],
    kept: &[(String, f64)],
    policy: &SelectionPolicy,
    similarity: &dyn Fn(&FactRecord) -> f64,
    count_tokens: &dyn Fn(&str) -> u32,
) -> Option<Selection<'a>> {
    let usable = usable(facts, policy);
    let is_kept =
        |fact: &FactRecord| kept.iter().any(|(id, updated_at)| *id == fact.id && *updated_at == fact.updated_at);
    let chosen: Vec<&FactRecord> = usable.iter().copied().filter(|fact| is_kept(fact)).collect();
    let tokens = count_tokens(&render_memory_block(&chosen));
    let is_pinned_since = usable.iter().any(|fact| fact.pinned && !is_kept(fact));
    if chosen.len() != kept.len() || tokens > policy.cap_tokens || is_pinned_since {
        return None;
    }
    let ranked = ranked(&usable, policy, similarity);
    let score_of =
        |wanted: &&FactRecord| ranked.iter().find(|(fact, _)| fact.id == wanted.id).map_or(0.0, |(_, score)| *score);
    let scores = chosen.iter().map(score_of).collect();
    let rest = ranked.iter().filter(|(fact, _)| !is_kept(fact));
    let dropped = rest.map(|(fact, score)| (fact.id.as_str(), line_tokens(fact, count_tokens), *score)).collect();
    Some(Selection { facts: chosen, scores, dropped, tokens })
}

/// Of the facts that a selection leaves out, those that the question is about: they stand beside it, where nothing has to
/// stay the same. Best first, within a quarter of the block's cap; they are no longer among the dropped ones.
#[must_use]
pub fn late<'a>(
    facts: &'a [FactRecord],
    selection: &mut Selection<'_>,
    policy: &SelectionPolicy,
    similarity: &dyn Fn(&FactRecord) -> f64,
) -> Vec<LateFact<'a>> {
    let found = |id: &str| facts.iter().find(|fact| fact.id == id);
    let left_out = selection.dropped.iter().filter_map(|(id, tokens, score)| Some((found(id)?, *tokens, *score)));
    let left_out: Vec<(&FactRecord, u32, f64)> = left_out.collect();
    let best = left_out.iter().map(|(fact, ..)| similarity(fact)).fold(LEAST_SIMILARITY / NEAR_BEST, f64::max);
    let mut left_tokens = policy.cap_tokens / LATE_PART;
    let mut late = Vec::new();
    for (fact, tokens, score) in left_out {
        if tokens <= left_tokens && score >= policy.min_score && similarity(fact) >= best * NEAR_BEST {
            left_tokens -= tokens;
            late.push(LateFact { fact, tokens, score });
        }
    }
    selection.dropped.retain(|(id, ..)| !late.iter().any(|late| late.fact.id == *id));
    late
}

/// The usable facts, in the order of their ids.
fn usable<'a>(facts: &'a [FactRecord], policy: &SelectionPolicy) -> Vec<&'a FactRecord> {
    let mut usable: Vec<&FactRecord> = facts.iter().filter(|fact| is_usable(fact, policy)).collect();
    sorting::sort_by(&mut usable, &|one, other| {
        id_number(&one.id).cmp(&id_number(&other.id)).then_with(|| one.id.cmp(&other.id))
    });
    usable
}

/// Facts with their scores: pinned ones first, then by score.
fn ranked<'a>(
    usable: &[&'a FactRecord],
    policy: &SelectionPolicy,
    similarity: &dyn Fn(&FactRecord) -> f64,
) -> Vec<(&'a FactRecord, f64)> {
    let most_accesses = usable.iter().map(|fact| fact.access_count).max().unwrap_or_default();
    let mut ranked: Vec<(&FactRecord, f64)> =
        usable.iter().map(|fact| (*fact, fact_score(fact, similarity(fact), most_accesses, policy.now_ms))).collect();
    // Sorting is stable: equal scores stay in the order of their ids.
    sorting::sort_by(&mut ranked, &|(one, a), (other, b)| other.pinned.cmp(&one.pinned).then(b.total_cmp(a)));
    ranked
}

/// Tokens of a fact's line, with its line break.
fn line_tokens(fact: &FactRecord, count_tokens: &dyn Fn(&str) -> u32) -> u32 {
    count_tokens(&json_line(&memory_item(fact))).saturating_add(1)
}

fn is_usable(fact: &FactRecord, policy: &SelectionPolicy) -> bool {
    fact.status == FactStatus::Active
        && fact.trust >= policy.min_trust
        && !fact.fact.trim().is_empty()
        && fact.expires_at.is_none_or(|expires_at| expires_at > policy.now_ms)
}
