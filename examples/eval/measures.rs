//! Sums over questions.

use crate::data::{Conversation, Question};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

pub const CUTS: [usize; 3] = [5, 10, 20];

/// What a relevant document at this rank, from 0, adds to nDCG.
pub fn gain(rank: usize) -> f64 {
    1.0 / (rank as f64 + 2.0).log2()
}

/// The most that nDCG@10 can sum to.
pub fn ideal(relevant: usize) -> f64 {
    (0..relevant.min(10)).map(gain).sum::<f64>().max(1e-9)
}

/// Means over questions, by name.
#[derive(Default)]
pub struct Tally {
    sums: BTreeMap<String, (f64, f64)>,
}

impl Tally {
    pub fn add(&mut self, name: impl Into<String>, value: f64) {
        let (sum, questions) = self.sums.entry(name.into()).or_default();
        *sum += value;
        *questions += 1.0;
    }

    /// Means x 100, to a tenth.
    pub fn percent(&self) -> Value {
        let rounded = |(sum, questions): &(f64, f64)| json!((1_000.0 * sum / questions).round() / 10.0);
        Value::Object(self.sums.iter().map(|(name, sums)| (name.clone(), rounded(sums))).collect::<Map<_, _>>())
    }
}

/// Share of the evidence among the first so many hits.
pub fn share(question: &Question, hits: &[usize], cut: usize) -> f64 {
    let top = &hits[..cut.min(hits.len())];
    let found = question.evidence.iter().filter(|place| top.contains(place)).count();
    found as f64 / question.evidence.len() as f64
}

/// Everything that is measured of the hits in the question's own conversation.
pub fn tally_question(tally: &mut Tally, question: &Question, conversation: &Conversation, order: &[usize]) {
    let session = |place: usize| conversation.turns[place].session as usize;
    let mut sessions: Vec<usize> = Vec::new();
    for place in order {
        if !sessions.contains(&session(*place)) {
            sessions.push(session(*place));
        }
    }
    let wanted_sessions: BTreeSet<usize> = question.evidence.iter().map(|place| session(*place)).collect();
    for cut in CUTS {
        let top = &order[..cut.min(order.len())];
        let near = |hit: usize, place: usize| hit.abs_diff(place) <= 2 && session(hit) == session(place);
        let turns = question.evidence.iter().filter(|place| top.contains(place)).count();
        let groups = question.evidence.iter().filter(|place| top.iter().any(|hit| near(*hit, **place))).count();
        let found = wanted_sessions.iter().filter(|wanted| sessions.iter().take(cut).any(|found| found == *wanted));
        for (unit, found, wanted) in [
            ("turn", turns, question.evidence.len()),
            ("group", groups, question.evidence.len()),
            ("session", found.count(), wanted_sessions.len()),
        ] {
            tally.add(format!("{unit} R@{cut}"), found as f64 / wanted as f64);
            tally.add(format!("{unit} any@{cut}"), f64::from(u8::from(found > 0)));
            tally.add(format!("{unit} all@{cut}"), f64::from(u8::from(found == wanted)));
        }
    }
    for budget in [1_000, 3_000] {
        for radius in [0, 1, 2] {
            let block = block(conversation, order, radius, budget);
            let found = question.evidence.intersection(&block).count();
            let name = format!("evidence in {budget} tokens, groups of +-{radius}");
            tally.add(format!("{name}: all"), f64::from(u8::from(found == question.evidence.len())));
            tally.add(name, found as f64 / question.evidence.len() as f64);
        }
    }
}

/// Turns that are in a block of this many tokens, filled with hits and their neighbours, best first.
fn block(conversation: &Conversation, order: &[usize], radius: usize, budget: u64) -> BTreeSet<usize> {
    let mut block = BTreeSet::new();
    let mut left = budget;
    for hit in order {
        let session = conversation.turns[*hit].session;
        let range = hit.saturating_sub(radius)..=(hit + radius).min(conversation.turns.len() - 1);
        let fresh: Vec<usize> =
            range.filter(|place| conversation.turns[*place].session == session && !block.contains(place)).collect();
        let tokens: u64 = fresh.iter().map(|place| conversation.turns[*place].tokens).sum();
        if tokens <= left {
            left -= tokens;
            block.extend(fresh);
        }
    }
    block
}
