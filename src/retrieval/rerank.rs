//! The four signals of a candidate, and the score made of them.
//!
//! **Weights.** The score is the weighted mean of the signals, by default .45 semantic, .25 keyword, .15 recency and .15
//! reference. What makes these weights serve is how the signals are scaled:
//!
//! - *keyword* is relative: the fused BM25 of message context, window and session, 1 for the best message of this
//!   question, less where even the best one has little of what was asked.
//! - *semantic* is mostly absolute: how far the similarity is from the question's background similarity towards 1. A
//!   good match reaches about .5, so that .45 of it weighs less than .25 of keyword; on chat turns that is the right
//!   ratio. It looks at the message, its surroundings, its session, and the question that it answers.
//! - *reference* is what the question names: its rare terms and identifiers, the speaker or role, the day.
//! - *recency* counts only where the question asks for what is newest ("the latest", "yesterday"). Otherwise its weight
//!   is shared out among the others: plain recency costs 4 points of recall on LoCoMo. Among equals the newest is first.
//!
//! The mean is multiplied by the search's confidence: relative signals say which message is best, not whether any is
//! good.
//!
//! A signal that cannot be computed (no vector) gives its weight to the others as well.
//!
//! **Constants** were fitted on three LoCoMo conversations (conv-26, conv-30, conv-42), by coordinate search on recall
//! at 1 to 20 with and without vectors, with Cranfield's nDCG@10 in the sum as a guard against tuning to chats. The four
//! other conversations were not in the sum; `examples/eval.rs` prints them as "held out".

use crate::config::RetrievalPolicy;
use crate::lexical::Figures;
use serde::Serialize;

/// Weights of the granularities in the keyword signal.
const CONTEXT: f32 = 0.19;
const WINDOW: f32 = 0.37;
const SESSION: f32 = 0.24;
/// The message before is a question and has the words: this one answers it.
const ANSWER: f32 = 0.20;
/// Each granularity is scaled by its best score, or by this share of the ideal where the best is below it.
const LEAST_IDEAL: f32 = 0.37;

/// A message of so many terms or more says enough to be a good hit by words; shorter ones lose up to this share of the
/// keyword signal, by the logarithm ("Wow, great!" stands in the middle of every good window).
const KEYWORD_TERMS: f32 = 28.0;
const KEYWORD_FOR_SUBSTANCE: f32 = 0.36;
/// The same for the semantic signal. The mark is high because embeddings are the better signal for long texts and the
/// worse one for short ones: this is what lets one set of weights serve chat turns and abstracts.
const SEMANTIC_TERMS: f32 = 195.0;
const SEMANTIC_FOR_SUBSTANCE: f32 = 0.75;
/// A message that asks is less often the one that tells.
const KEYWORD_FOR_ASKING: f32 = 0.07;

/// Parts of the semantic signal: the message, its surroundings, the best of its session, the question it answers.
const OWN: f32 = 0.29;
const AROUND: f32 = 0.18;
const BEST_OF_SESSION: f32 = 0.30;
const ANSWERED: f32 = 0.23;
/// The signal is mixed from absolute closeness and closeness relative to the best candidate, and scaled down, so that
/// its weight is in proportion (see above).
const RELATIVE: f32 = 0.19;
const LEAST_CLOSENESS: f32 = 0.15;
const SEMANTIC_SCALE: f32 = 1.05;

/// Parts of the reference signal.
const COVERAGE: f32 = 0.36;
const SPEAKER: f32 = 0.2;
const DAY: f32 = 1.5;
const IDENTIFIER: f32 = 0.35;

/// How sure a search can be that anything in it is meant, by the best coverage of the question's terms and by the best
/// closeness of a message: the square of the share of the way between the two marks, whichever is higher. Of LoCoMo
/// questions asked in the wrong conversation half stay below .27 and .26; of those asked in the right one, a twentieth
/// below .26 and .38.
const COVERAGE_MARKS: (f32, f32) = (0.15, 0.5);
/// Words must carry it alone where there is no vector: there the marks are lower.
const COVERAGE_MARKS_ALONE: (f32, f32) = (0.05, 0.4);
const CLOSENESS_MARKS: (f32, f32) = (0.2, 0.4);

/// Not 0, so that a search without a floor still answers in order.
const LEAST_CONFIDENCE: f32 = 0.001;

/// The signals of one hit, each 0 to 1, with the raw figures that they come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Scores {
    /// Vector similarity; `None` when there is no vector of the question or the message.
    pub semantic: Option<f32>,
    /// Fused BM25.
    pub keyword: f32,
    /// Age: halves with every half-life. `None` when the question does not ask for what is newest.
    pub recency: Option<f32>,
    /// What the question names.
    pub reference: f32,
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
    pub fn new(ideal: f32) -> Self {
        Self { best: Figures::default(), ideal }
    }

    pub fn see(&mut self, figures: &Figures) {
        self.best.context = self.best.context.max(figures.context);
        self.best.window = self.best.window.max(figures.window);
        self.best.session = self.best.session.max(figures.session);
        self.best.answered = self.best.answered.max(figures.answered);
    }

    /// The granularities fused, 0 to 1.
    pub fn fused(&self, figures: &Figures) -> f32 {
        let least = (LEAST_IDEAL * self.ideal).max(1e-6);
        CONTEXT * figures.context / self.best.context.max(least)
            + WINDOW * figures.window / self.best.window.max(least)
            + SESSION * figures.session / self.best.session.max(least)
            + ANSWER * figures.answered / self.best.answered.max(least)
    }
}

/// What is known of the message itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MessageFigures {
    pub terms: u16,
    pub asks: bool,
    pub coverage: f32,
    /// The question names its speaker or role.
    pub is_named_speaker: bool,
    /// Share of the question's identifiers that stand in it.
    pub identifiers: f32,
    /// How well its day fits a named time, 0 to 1.
    pub day: f32,
    /// Age in days, where the question asks for what is newest.
    pub age_days: Option<f32>,
}

/// Closeness: how far a similarity is from the background towards 1. 0 where it is unknown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClosenessFigures {
    pub own: Option<f32>,
    pub previous: f32,
    pub next: f32,
    pub second_before: f32,
    pub second_after: f32,
    pub best_of_session: f32,
    /// Closeness of the message before, where it asks.
    pub answered: f32,
}

fn substance(terms: u16, enough: f32) -> f32 {
    (f32::from(terms).ln_1p() / enough.ln_1p()).min(1.0)
}

/// The keyword signal of a candidate. `fused` is relative to `best_fused` among all.
pub(super) fn keyword(fused: f32, best_fused: f32, message: &MessageFigures) -> f32 {
    let relative = fused / best_fused.max(0.5);
    let substance = 1.0 - KEYWORD_FOR_SUBSTANCE * (1.0 - substance(message.terms, KEYWORD_TERMS));
    relative * substance * if message.asks { 1.0 - KEYWORD_FOR_ASKING } else { 1.0 }
}

/// Closeness of a candidate and what is around it, 0 to 1, before it is scaled against the others.
pub(super) fn closeness(figures: &ClosenessFigures) -> Option<f32> {
    let own = figures.own?;
    let around = own + 0.7 * (figures.previous + figures.next) + 0.4 * (figures.second_before + figures.second_after);
    Some(OWN * own + AROUND * (around / 1.6) + BEST_OF_SESSION * figures.best_of_session + ANSWERED * figures.answered)
}

/// The semantic signal of a candidate. `best` is the highest closeness of all.
pub(super) fn semantic(closeness: f32, best: f32, message: &MessageFigures) -> f32 {
    let mixed = RELATIVE * closeness / best.max(LEAST_CLOSENESS) + (1.0 - RELATIVE) * closeness;
    let substance = 1.0 - SEMANTIC_FOR_SUBSTANCE * (1.0 - substance(message.terms, SEMANTIC_TERMS));
    (SEMANTIC_SCALE * mixed).min(1.0) * substance
}

/// The reference signal.
pub(super) fn reference(message: &MessageFigures) -> f32 {
    let speaker = if message.is_named_speaker { SPEAKER } else { 0.0 };
    (COVERAGE * message.coverage + speaker + DAY * message.day + IDENTIFIER * message.identifiers).min(1.0)
}

/// The recency signal: halves with every half-life; 1 for what is from the future.
pub(super) fn recency(age_days: f32, policy: &RetrievalPolicy) -> f32 {
    (-(age_days.max(0.0)) / policy.recency_half_life_days as f32).exp2()
}

/// Confidence of a search, 0 to 1: every score is multiplied by it, so that it changes no order but lets a floor on the
/// score mean "nothing like this was said".
pub(super) fn confidence(best_coverage: f32, best_closeness: Option<f32>) -> f32 {
    let share = |value: f32, (low, high): (f32, f32)| ((value - low) / (high - low)).clamp(0.0, 1.0);
    let marks = if best_closeness.is_some() { COVERAGE_MARKS } else { COVERAGE_MARKS_ALONE };
    let by_words = share(best_coverage, marks);
    let by_meaning = best_closeness.map_or(0.0, |closeness| share(closeness, CLOSENESS_MARKS));
    by_words.max(by_meaning).powi(2).max(LEAST_CONFIDENCE)
}

/// The score: weighted mean of the signals that there are, 0 to 1.
pub(super) fn score(scores: &Scores, policy: &RetrievalPolicy) -> f32 {
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
