//! Fitting the weights: coordinate search over cached candidates.
//!
//! What is maximised: the mean over words only, static and MiniLM vectors of the share of evidence turns among the first
//! 3, 5, 10, 15 and 20, and a fifth of it Cranfield's nDCG@10 by words and with vectors. Every fit begins at [`START`],
//! round numbers that were not fitted, and goes through the weights in turn, trying each at 0 and at some factors, until
//! a whole pass brings nothing. That is coarse on purpose: few steps, no weight below 0, nothing that only some questions
//! can see. The seven fits without one conversation and the one on all take some minutes on two cores.

use crate::Failure;
use crate::data::{Cranfield, Locomo, MINILM_DIMENSIONS, Vectors};
use crate::measures::{gain, ideal};
use crate::searching::{Asked, Found, Ranking, cranfield_index, find, find_within, locomo_index};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;
use throughline::config::RankingChoice;
use throughline::retrieval::{Hit, Weights};

/// Candidates kept of each search; evidence is always kept.
const KEPT: usize = 60;
const CUTS: [usize; 5] = [3, 5, 10, 15, 20];
/// What Cranfield counts in the sum.
const GUARD: f64 = 0.2;
const FACTORS: [f32; 5] = [0.0, 0.5, 0.8, 1.25, 2.0];
/// What a weight of 0 is tried at.
const FROM_ZERO: f32 = 0.03;
const MOST_PASSES: usize = 5;
/// Weights that are not fitted: neither LoCoMo nor Cranfield asks for identifiers.
const FIXED: [&str; 1] = ["identifiers"];
/// A step must bring so much, or it is noise.
const LEAST_GAIN: f64 = 2e-5;

/// Where every fit begins.
fn start() -> Weights {
    Weights {
        window: 0.2,
        session: 0.2,
        answered: 0.2,
        message: 0.2,
        coverage: 0.2,
        closeness: 0.2,
        closeness_if_long: 0.6,
        next: 0.1,
        second: 0.1,
        answered_closeness: 0.1,
        speaker: 0.2,
        day: 0.5,
        identifiers: 0.35,
        tells_time: 0.2,
        tells_number: 0.2,
        tells_name: 0.2,
        brevity: 0.2,
        asks: 0.05,
        session_best: 0.2,
    }
}

/// One search with its answers.
struct Case {
    found: Found,
    /// Which of the kept hits are answers.
    answers: Vec<usize>,
    wanted: usize,
    /// The conversation, or `None` for Cranfield.
    conversation: Option<usize>,
}

impl Case {
    fn new(mut found: Found, conversation: Option<usize>, wanted: usize, is_answer: &dyn Fn(&Hit) -> bool) -> Self {
        found.rank(Ranking { choice: RankingChoice::Fitted, weights: &start() });
        let mut place = 0;
        found.hits.retain(|hit| {
            place += 1;
            place <= KEPT || is_answer(hit)
        });
        let answers = (0..found.hits.len()).filter(|at| is_answer(&found.hits[*at])).collect();
        Self { found, answers, wanted, conversation }
    }

    fn measure(&mut self, weights: &Weights) -> f64 {
        self.found.score(Ranking { choice: RankingChoice::Fitted, weights });
        let hits = &self.found.hits;
        let rank = |answer: &usize| {
            let own = &hits[*answer];
            let is_before = |hit: &&Hit| {
                hit.score > own.score
                    || hit.score == own.score && (hit.conversation, hit.seq) > (own.conversation, own.seq)
            };
            hits.iter().filter(is_before).count()
        };
        let ranks = self.answers.iter().map(rank);
        if self.conversation.is_some() {
            let share = |rank: usize| CUTS.iter().filter(|cut| rank < **cut).count() as f64 / CUTS.len() as f64;
            ranks.map(share).sum::<f64>() / self.wanted as f64
        } else {
            ranks.filter(|rank| *rank < 10).map(gain).sum::<f64>() / ideal(self.wanted)
        }
    }
}

fn cases(locomo: &Locomo, runs: &[(&str, Option<Vectors>)], cranfield: &Cranfield) -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    for (_, vectors) in runs {
        let index = locomo_index(locomo, vectors.as_ref())?;
        for question in &locomo.questions {
            let found = find_within(&index, question, vectors.as_ref())?;
            let is_answer = |hit: &Hit| question.evidence.contains(&(hit.seq as usize - 1));
            cases.push(Case::new(found, Some(question.conversation), question.evidence.len(), &is_answer));
        }
    }
    let index = cranfield_index(cranfield)?;
    let vectors = cranfield.query_vectors.chunks_exact(MINILM_DIMENSIONS);
    for ((text, relevant), vector) in cranfield.queries.iter().zip(vectors) {
        for vector in [None, Some(vector)] {
            let found = find(&index, text, vector, Asked::Anew)?;
            let is_answer = |hit: &Hit| relevant.contains(&(hit.conversation as usize));
            cases.push(Case::new(found, None, relevant.len(), &is_answer));
        }
    }
    Ok(cases)
}

/// Mean measure of the conversations that are not left out, with Cranfield's share in it.
fn objective(cases: &mut [Case], left_out: Option<usize>, weights: &Weights) -> f64 {
    let (mut chats, mut guard) = ((0.0, 0.0), (0.0, 0.0));
    for case in cases.iter_mut().filter(|case| case.conversation.is_none() || case.conversation != left_out) {
        let sum = if case.conversation.is_some() { &mut chats } else { &mut guard };
        sum.0 += case.measure(weights);
        sum.1 += 1.0;
    }
    (1.0 - GUARD) * chats.0 / chats.1 + GUARD * guard.0 / guard.1
}

fn fit(cases: &mut [Case], left_out: Option<usize>) -> (Weights, f64) {
    let mut weights = start();
    let mut best = objective(cases, left_out, &weights);
    for _ in 0..MOST_PASSES {
        let before = best;
        for place in (0..Weights::NAMES.len()).filter(|place| !FIXED.contains(&Weights::NAMES[*place])) {
            let now = *weights.fields_mut()[place];
            let tried: Vec<f32> =
                if now == 0.0 { vec![FROM_ZERO] } else { FACTORS.iter().map(|factor| now * factor).collect() };
            let mut chosen = now;
            for value in tried {
                *weights.fields_mut()[place] = value;
                let measured = objective(cases, left_out, &weights);
                if measured > best + LEAST_GAIN {
                    (best, chosen) = (measured, value);
                }
            }
            *weights.fields_mut()[place] = chosen;
        }
        if best - before < LEAST_GAIN {
            break;
        }
    }
    (in_units(weights), best)
}

/// The same ranking with keyword weights that sum to 1.
fn in_units(weights: Weights) -> Weights {
    let sum = weights.window + weights.session + weights.answered + weights.message + weights.coverage;
    let mut scaled = weights;
    scaled.fields_mut().into_iter().for_each(|weight| *weight /= sum.max(1e-6));
    // These are shares of scores, and have no unit; and what is not fitted stays.
    let Weights { brevity, asks, session_best, identifiers, .. } = weights;
    Weights { brevity, asks, session_best, identifiers, ..scaled }
}

/// The weights fitted without each conversation, by its id, and on all, as "all".
pub struct LeftOut(Map<String, Value>);

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/eval/weights.json")
}

impl LeftOut {
    pub fn read() -> Result<Self, Failure> {
        let value: Value = serde_json::from_str(&std::fs::read_to_string(file())?)?;
        Ok(Self(value.as_object().cloned().unwrap_or_default()))
    }

    /// The weights that never saw this conversation, or those of "all".
    pub fn weights(&self, id: &str) -> Result<Weights, Failure> {
        let named = self.0.get(id).ok_or_else(|| format!("weights.json has no {id}; run with --fit"))?;
        let mut weights = start();
        for (weight, name) in weights.fields_mut().into_iter().zip(Weights::NAMES) {
            *weight = named[*name].as_f64().ok_or_else(|| format!("{id} has no {name}; run with --fit"))? as f32;
        }
        Ok(weights)
    }
}

/// Fits without each conversation and on all, and writes weights.json.
pub fn run(locomo: &Locomo, runs: &[(&str, Option<Vectors>)], cranfield: &Cranfield) -> Result<(), Failure> {
    let left: Mutex<Vec<Option<usize>>> = Mutex::new((0..locomo.conversations.len()).map(Some).chain([None]).collect());
    let fitted = Mutex::new(Map::new());
    let worker = || -> Result<(), String> {
        let mut cases = cases(locomo, runs, cranfield).map_err(|failure| failure.to_string())?;
        loop {
            let Some(left_out) = left.lock().map_err(|failure| failure.to_string())?.pop() else { return Ok(()) };
            let (mut weights, best) = fit(&mut cases, left_out);
            let name = left_out.map_or("all", |conversation| &locomo.conversations[conversation].id);
            eprintln!("fitted without {name}: {best:.5}");
            let values = weights.fields_mut().into_iter().map(|weight| json!((f64::from(*weight) * 1e3).round() / 1e3));
            let values = Weights::NAMES.iter().map(|name| (*name).to_owned()).zip(values).collect();
            fitted.lock().map_err(|failure| failure.to_string())?.insert(name.to_owned(), Value::Object(values));
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(|_| Err("a fit panicked".to_owned())))
    })?;
    let fitted = fitted.into_inner()?;
    let names: BTreeSet<&String> = fitted.keys().collect();
    let sorted: Map<String, Value> = names.into_iter().map(|name| (name.clone(), fitted[name].clone())).collect();
    std::fs::write(file(), format!("{}\n", serde_json::to_string_pretty(&sorted)?))?;
    println!("For src/retrieval/fitted.rs:");
    for (name, weight) in sorted["all"].as_object().into_iter().flatten() {
        println!("    {name}: {weight},");
    }
    Ok(())
}
