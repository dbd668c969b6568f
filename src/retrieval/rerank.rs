//! The four signals of a candidate, and the score made of them.
//!
//! The score is the weighted mean of four signals, by default .45 semantic, .25 keyword, .15 recency and .15 reference.
//! A signal that cannot be computed (no vector) gives its weight to the others. How the signals are computed is the
//! ranking, [`RankingChoice`]:
//!
//! **Fitted.** Each signal is a sum of figures with the fitted [`Weights`], and scaled so that the default weights serve:
//!
//! - *keyword*: BM25 of the message, its window, its session and the question that it answers, each 1 for the best of
//!   all, less where even the best has little of what was asked; and the share of the question's terms that it has.
//! - *semantic*: how far the cosine is from the question's background towards 1, of the message, the messages around it
//!   and the question that it answers. A good match reaches about .3: on chat turns that is the right ratio.
//! - *reference*: what the question names (speaker or role, day, identifiers) or asks for (a time, a number, a name).
//! - *recency* counts only where the question asks for what is newest ("the latest", "yesterday"): plain recency costs 4
//!   points of recall on LoCoMo. Among equals the newest is first.
//!
//! Short messages and such that ask lose a share; then the best message of a session lends to the others of it. Last, a
//! message that holds just what is asked for, as hardly another one does, comes before its surroundings, and one that has
//! in a row what the question quotes before all others.
//!
//! **Seeds.** The plain reading of the same weights: cosine and the message's BM25 scaled from lowest to highest, recency
//! always, reference where the question names the speaker, the day or an identifier. It is measured beside the fitted
//! one (BENCHMARKS.md).
//!
//! Last, either mean is divided by the best one and multiplied by the search's confidence: the mean says which message is
//! best, not whether any is good. So the best hit has the search's confidence as its score, and a floor on the score means
//! both "nothing like this was said" and "much weaker than the best".

use super::answer_kinds::AnswerKinds;
use super::fitted::Weights;
use super::message_index::Hit;
use crate::config::{RankingChoice, RetrievalPolicy};
use crate::lexical::Figures;
use serde::Serialize;

/// Each granularity is scaled by its best score, or by this share of the ideal where the best is below it.
const LEAST_IDEAL: f32 = 0.37;

/// A message of so many terms says enough to be a good hit ("Wow, great!" stands in the middle of every good window).
const ENOUGH_TERMS: f32 = 28.0;
/// Where candidates have fewer terms than the first in the mean, messages are short; from the second on they are long, and
/// the words that all questions have in common with them say less, embeddings more. It is a property of the search, so
/// that no message is preferred for its length.
const LONG_TERMS: (f32, f32) = (24.0, 72.0);

/// How sure a search can be that anything in it is meant: the share of the way between two marks that the best coverage of
/// the question's terms goes, with vectors the best coverage and so many times the best closeness. Of LoCoMo questions
/// asked in their own conversation one in a hundred stays below .2 by words and 1.0 with MiniLM vectors (.8 static); of
/// those asked in another one half stay below .3 and .8 (.9).
const COVERAGE_MARKS: (f32, f32) = (0.1, 0.5);
const HYBRID_MARKS: (f32, f32) = (0.5, 1.5);
const CLOSENESS_IN_CONFIDENCE: f32 = 2.0;

/// What a message gains that holds just what is asked for: about what the answer after a question gains by its
/// surroundings, and what a short message loses.
const EXACT: f32 = 0.15;
/// Shares of the question's terms between which that is gained: of terms that hardly another message has, and of all,
/// where no more messages than [`HOLDERS`] reach the share [`MOST_TERMS`].
const RARE_MARKS: (f32, f32) = (0.4, 0.8);
const HELD_MARKS: (f32, f32) = (0.7, 1.0);
const MOST_TERMS: f32 = 0.8;
const HOLDERS: usize = 2;
/// Above this share of the best score without the gain, scores are drawn together, so that what was the best still is 1 at
/// most and those below keep their distance to the floor.
const DRAWN_TOGETHER: f32 = 0.9;
/// What a message gains that has all that the question quotes, word for word: more than any other can have.
const QUOTED: f32 = 1.0;
/// The message that has most of the question's identifiers gains it too, with so much of all terms.
const LEAST_WITH_IDENTIFIER: f32 = 0.5;

/// Not 0, so that a search without a floor still answers in order.
const LEAST_CONFIDENCE: f32 = 0.001;

/// The signals of one hit, each 0 to 1, with the raw figures that they come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Scores {
    /// Vector similarity; `None` when there is no vector of the question or the message.
    pub semantic: Option<f32>,
    /// Lexical match.
    pub keyword: f32,
    /// Age: halves with every half-life. `None` when it does not count: the question does not ask for what is newest.
    pub recency: Option<f32>,
    /// What the question names or asks for.
    pub reference: f32,
    /// How much of what the question quotes stands in the message in a row; `None` where it quotes nothing.
    pub quoted: Option<f32>,
    /// Share of the weighted mean that was lost because the message is short or asks.
    pub penalty: f32,
    /// Best mean of a message of its session.
    pub session_best: f32,
    /// Raw BM25 of the message, 0 and up.
    pub message: f32,
    /// Raw BM25 of its window.
    pub window: f32,
    /// Raw BM25 of its session.
    pub session: f32,
    /// Share of the question's terms, by idf, found in the message, or at half weight in its window.
    pub coverage: f32,
    /// Raw cosine of message and question.
    pub cosine: Option<f32>,
}

/// Highest figures among all that were found: what the keyword signal is scaled by.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LexicalScale {
    best: Figures,
    ideal: f32,
}

impl LexicalScale {
    /// `ideal`: the sum of the idf of the question's terms.
    pub fn new(ideal: f32) -> Self {
        Self { best: Figures::default(), ideal }
    }

    pub fn see(&mut self, figures: &Figures) {
        self.best.message = self.best.message.max(figures.message);
        self.best.window = self.best.window.max(figures.window);
        self.best.session = self.best.session.max(figures.session);
        self.best.answered = self.best.answered.max(figures.answered);
    }

    /// Every BM25 0 to 1.
    pub fn scaled(&self, figures: &Figures) -> Figures {
        let least = (LEAST_IDEAL * self.ideal).max(1e-6);
        Figures {
            message: figures.message / self.best.message.max(least),
            window: figures.window / self.best.window.max(least),
            session: figures.session / self.best.session.max(least),
            answered: figures.answered / self.best.answered.max(least),
            ..*figures
        }
    }

    /// Scaled and fused: by this the best are candidates.
    pub fn fused(&self, figures: &Figures) -> f32 {
        fused(&self.scaled(figures), &Weights::FITTED)
    }
}

fn fused(scaled: &Figures, weights: &Weights) -> f32 {
    weights.message * scaled.message
        + weights.window * scaled.window
        + weights.session * scaled.session
        + weights.answered * scaled.answered
}

/// Closeness: how far a similarity is from the background towards 1. 0 where it is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ClosenessFigures {
    pub own: Option<f32>,
    pub next: f32,
    /// Mean of the second messages before and after.
    pub second: f32,
    /// Closeness of the message before, where it asks.
    pub answered: f32,
}

/// Everything that a candidate's score is computed from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HitFigures {
    /// Scaled.
    pub(super) lexical: Figures,
    pub(super) closeness: ClosenessFigures,
    pub(super) terms: u16,
    pub(super) asks: bool,
    /// The question names its speaker or role.
    pub(super) is_named_speaker: bool,
    /// Share of the question's identifiers that stand in it.
    pub(super) identifiers: f32,
    /// How much of what the question quotes stands in it in a row, 0 to 1.
    pub(super) quoted: f32,
    /// How well its day fits a named time, 0 to 1.
    pub(super) day: f32,
    /// Kinds of answers that it tells and that the question asks for.
    pub(super) told: AnswerKinds,
    /// Age in days; NaN where it is unknown.
    pub(super) age_days: f32,
    /// The question asks for what is newest.
    pub(super) is_newest_wanted: bool,
    /// First document of its session.
    pub(super) session_head: u32,
}

impl HitFigures {
    /// `length`: how long the candidates are, 0 to 1.
    fn keyword(&self, weights: &Weights, length: f32) -> f32 {
        let coverage = (1.0 - length) * self.lexical.coverage + length * self.lexical.message;
        (fused(&self.lexical, weights) + weights.coverage * coverage).min(1.0)
    }

    fn semantic(&self, weights: &Weights, length: f32) -> Option<f32> {
        let closeness = &self.closeness;
        let own = closeness.own? * (weights.closeness + weights.closeness_if_long * length);
        let around = weights.next * closeness.next + weights.second * closeness.second;
        Some((own + around + weights.answered_closeness * closeness.answered).min(1.0))
    }

    fn reference(&self, weights: &Weights) -> f32 {
        let named = weights.speaker * f32::from(u8::from(self.is_named_speaker))
            + weights.day * self.day
            + weights.identifiers * self.identifiers;
        let told = weights.tells_time * self.told.share(AnswerKinds::TIME)
            + weights.tells_number * self.told.share(AnswerKinds::NUMBER)
            + weights.tells_name * self.told.share(AnswerKinds::NAME);
        (named + told).min(1.0)
    }

    fn penalty(&self, weights: &Weights) -> f32 {
        let substance = (f32::from(self.terms).ln_1p() / ENOUGH_TERMS.ln_1p()).min(1.0);
        (weights.brevity * (1.0 - substance) + weights.asks * f32::from(u8::from(self.asks))).min(1.0)
    }

    /// Halves with every half-life; 1 for what is from the future.
    fn recency(&self, policy: &RetrievalPolicy) -> Option<f32> {
        let half_lives = self.age_days.max(0.0) / policy.recency_half_life_days as f32;
        Some((-half_lives).exp2()).filter(|_| self.age_days.is_finite())
    }

    /// What the question names, all or nothing but for the identifiers.
    fn explicit_reference(&self) -> f32 {
        if self.is_named_speaker || self.day > 0.0 { 1.0 } else { self.identifiers.min(1.0) }
    }
}

/// Gives every hit its signals and its score, 0 to 1, by the policy's ranking; `weights` are those of the fitted one
/// ([`Weights::FITTED`] in the engine). The hits must be all candidates of one search ([`Hit::figures`]); `confidence` is
/// its confidence ([`super::SearchResult::confidence`]), and hits outside of the conversation `current` are scaled by
/// [`RetrievalPolicy::other_conversation_factor`].
pub fn score_hits(
    hits: &mut [Hit],
    weights: &Weights,
    policy: &RetrievalPolicy,
    confidence: f32,
    current: Option<u32>,
) {
    match policy.ranking {
        RankingChoice::Fitted => score_fitted(hits, weights, policy),
        RankingChoice::Seeds => score_seeds(hits, policy),
    }
    let best = hits.iter().map(|hit| hit.score).fold(f32::MIN_POSITIVE, f32::max);
    for hit in hits {
        hit.score *= confidence / best;
        if current.is_some_and(|current| current != hit.conversation) {
            hit.score *= policy.other_conversation_factor as f32;
        }
    }
}

fn score_fitted(hits: &mut [Hit], weights: &Weights, policy: &RetrievalPolicy) {
    let terms: f32 = hits.iter().map(|hit| f32::from(hit.figures.terms)).sum();
    let (short, long) = LONG_TERMS;
    let length = ((terms / (hits.len() as f32).max(1.0) - short) / (long - short)).clamp(0.0, 1.0);
    for hit in &mut *hits {
        let (figures, scores) = (&hit.figures, &mut hit.scores);
        scores.semantic = figures.semantic(weights, length);
        scores.keyword = figures.keyword(weights, length);
        scores.recency = figures.recency(policy).filter(|_| figures.is_newest_wanted);
        scores.reference = figures.reference(weights);
        scores.penalty = figures.penalty(weights);
        hit.score = mean(scores, policy) * (1.0 - scores.penalty);
    }
    let mut sessions: Vec<(u32, f32)> = hits.iter().map(|hit| (hit.figures.session_head, hit.score)).collect();
    crate::sorting::sort_by(&mut sessions, &|left, right| left.0.cmp(&right.0).then(right.1.total_cmp(&left.1)));
    sessions.dedup_by_key(|(head, _)| *head);
    for hit in &mut *hits {
        let best = sessions.binary_search_by_key(&hit.figures.session_head, |(head, _)| *head);
        hit.scores.session_best = best.map_or(hit.score, |at| sessions[at].1);
        hit.score = (hit.score + weights.session_best * hit.scores.session_best) / (1.0 + weights.session_best);
    }
    // After the sessions: what holds the thing itself lends nothing to its neighbours.
    add_exactness(hits, 1.0 - length);
}

/// Puts messages that hold just what is asked for (an identifier, a name, nearly all terms) before what is around them:
/// a short message that asks, and has the words, would lose to the answer that has none of them. `brevity`: how short the
/// candidates are, 0 to 1; to hold the words says little of a long one.
fn add_exactness(hits: &mut [Hit], brevity: f32) {
    let share = |value: f32, (low, high): (f32, f32)| ((value - low) / (high - low)).clamp(0.0, 1.0);
    let holders = hits.iter().filter(|hit| hit.figures.lexical.held > MOST_TERMS).count();
    let most_identifiers = hits.iter().map(|hit| hit.figures.identifiers).fold(0.0, f32::max);
    let best = hits.iter().map(|hit| hit.score).fold(f32::MIN_POSITIVE, f32::max);
    for hit in &mut *hits {
        let Figures { held, held_rare, .. } = hit.figures.lexical;
        let is_named = most_identifiers > 0.0
            && hit.figures.identifiers >= most_identifiers - 0.01
            && held > LEAST_WITH_IDENTIFIER;
        let all = if holders <= HOLDERS { share(held, HELD_MARKS) } else { 0.0 };
        let exactness = if is_named { 1.0 } else { all.max(share(held_rare, RARE_MARKS)) };
        hit.score += EXACT * exactness * brevity + QUOTED * hit.figures.quoted.powi(2);
    }
    let from = DRAWN_TOGETHER * best;
    let most = hits.iter().map(|hit| hit.score).fold(best, f32::max);
    for hit in hits.iter_mut().filter(|hit| hit.score > from) {
        hit.score = from + (hit.score - from) * (best - from) / (most - from);
    }
}

fn score_seeds(hits: &mut [Hit], policy: &RetrievalPolicy) {
    let best = hits.iter().map(|hit| hit.scores.message).fold(1e-6, f32::max);
    let cosines = || hits.iter().filter_map(|hit| hit.scores.cosine);
    let (least, most) = (cosines().fold(f32::MAX, f32::min), cosines().fold(f32::MIN, f32::max));
    for hit in hits {
        let (figures, scores) = (&hit.figures, &mut hit.scores);
        scores.semantic = scores.cosine.map(|cosine| (cosine - least) / (most - least).max(1e-6));
        scores.keyword = scores.message / best;
        scores.recency = figures.recency(policy);
        scores.reference = figures.explicit_reference();
        hit.score = mean(scores, policy);
    }
}

/// Weighted mean of the signals that there are, 0 to 1.
fn mean(scores: &Scores, policy: &RetrievalPolicy) -> f32 {
    let weights = &policy.weights;
    let signals = [
        (weights.semantic as f32, scores.semantic),
        (weights.keyword as f32, Some(scores.keyword)),
        (weights.recency as f32, scores.recency),
        (weights.reference as f32, Some(scores.reference)),
    ];
    let (sum, total) = signals.iter().fold((0.0, 0.0), |(sum, total), (weight, signal)| match signal {
        Some(signal) => (sum + weight * signal, total + weight),
        None => (sum, total),
    });
    if total > 0.0 { (sum / total).clamp(0.0, 1.0) } else { 0.0 }
}

/// Confidence of a search, 0 to 1: every score is multiplied by it, so that it changes no order but lets a floor on the
/// score mean "nothing like this was said".
pub(super) fn confidence(best_coverage: f32, best_closeness: Option<f32>) -> f32 {
    let (evidence, (low, high)) = match best_closeness {
        Some(closeness) => (best_coverage + CLOSENESS_IN_CONFIDENCE * closeness, HYBRID_MARKS),
        None => (best_coverage, COVERAGE_MARKS),
    };
    ((evidence - low) / (high - low)).clamp(LEAST_CONFIDENCE, 1.0)
}
