//! Where the words of a question stand: in the recent window, in older messages, in neither.

use super::gate::GateRequest;
use super::gate_question::{GateQuestion, Word, WordKind};
use crate::lexical::inverse_document_frequency;

/// Words that more than one in so many messages have, and more than [`FEW_MESSAGES`], say next to nothing: the names of
/// who speaks, say.
const COMMON_SHARE: usize = 20;
const COMMON_WEIGHT: f32 = 0.1;
/// Below this weight a question has no words to speak of.
const LEAST_WEIGHT: f32 = 0.05;
const FEW_MESSAGES: usize = 12;

/// Where the question's words stand.
pub(super) struct Overlap {
    /// The largest share of them in one recent message and the next.
    pub inside: f32,
    /// The largest share of them in one older message: where it is as large, nobody can tell which is meant.
    pub outside: f32,
    /// The largest share of them, by rarity, that one older message has: a word that no message has counts most.
    pub known: f32,
    /// The same for one recent message and the next.
    pub shown: f32,
    /// The most of them, counted in words, that one older message has and the recent window has not.
    pub lead: f32,
    /// Kinds of words that are not in the recent window and are in an older message.
    pub leads: Vec<WordKind>,
    /// It has a name that no message has.
    pub has_unknown_name: bool,
    /// An older message has an identifier of the question, whether or not a recent one has it too.
    pub has_older_identifier: bool,
    /// An older message has word for word what the question quotes, and no recent one has it.
    pub has_older_quotation: bool,
}

impl Overlap {
    pub fn new(request: &GateRequest<'_>, question: &GateQuestion) -> Self {
        let lexical = &request.index.lexical;
        let mut places: Vec<(u32, usize)> = request.recent.iter().copied().zip(0..).collect();
        crate::sorting::sort(&mut places);
        // By the later of two neighbouring messages: what both have together.
        let mut pairs = vec![(0.0_f32, 0.0_f32); request.recent.len() + 1];
        let mut leads = Vec::new();
        let mut has_older_identifier = false;
        let mut has_unknown_name = false;
        // By document: all words that it has, and those of them that the recent window has not.
        let mut older: Vec<(f32, f32, f32)> = Vec::new();
        let mut total = 0.0;
        let mut total_rarity = 0.0;
        for word in distinct(&question.words) {
            let mut holders: Vec<usize> = Vec::new();
            let holders_count = lexical.document_frequency(word.hash);
            let rarity = word.weight * inverse_document_frequency(lexical.len() as f32, holders_count as f32);
            total_rarity += rarity;
            has_unknown_name |= holders_count == 0 && word.kind != WordKind::Plain;
            let is_common = holders_count > FEW_MESSAGES.max(lexical.len() / COMMON_SHARE);
            let weight = if is_common { word.weight * COMMON_WEIGHT } else { word.weight };
            total += weight;
            lexical.for_each_posting(word.hash, |document, _| {
                if let Ok(found) = places.binary_search_by_key(&document, |(place, _)| *place) {
                    holders.push(places[found].1);
                }
            });
            crate::sorting::sort(&mut holders);
            for at in &holders {
                pairs[*at].0 += weight;
                pairs[*at].1 += rarity;
                if !holders.contains(&(at + 1)) {
                    pairs[at + 1].0 += weight;
                    pairs[at + 1].1 += rarity;
                }
            }
            if is_common {
                continue;
            }
            let is_lead = holders.is_empty();
            older.resize(lexical.capacity(), (0.0, 0.0, 0.0));
            let mut is_older = false;
            lexical.for_each_posting(word.hash, |document, _| {
                let (all, lead, known) = &mut older[document as usize];
                *known += rarity;
                *all += weight;
                *lead += if is_lead { weight } else { 0.0 };
                let counts = is_lead || word.kind == WordKind::Identifier && !has_older_identifier;
                is_older |= counts && request.may_bring(document);
            });
            if is_older && is_lead {
                leads.push(word.kind);
            }
            has_older_identifier |= is_older && word.kind == WordKind::Identifier;
        }
        let (mut all, mut lead, mut known) = (0.0, 0.0, 0.0);
        for (weights, document) in older.iter().zip(0..) {
            if (weights.0 > all || weights.1 > lead || weights.2 > known) && request.may_bring(document) {
                all = weights.0.max(all);
                lead = weights.1.max(lead);
                known = weights.2.max(known);
            }
        }
        let best = pairs.iter().map(|pair| pair.0).fold(0.0, f32::max);
        let shown = pairs.iter().map(|pair| pair.1).fold(0.0, f32::max);
        let total_rarity = f32::max(total_rarity, LEAST_WEIGHT);
        let total = f32::max(total, LEAST_WEIGHT);
        let has_older_quotation = request.quotes_older();
        Self {
            inside: best / total,
            outside: all / total,
            known: known / total_rarity,
            shown: shown / total_rarity,
            lead,
            leads,
            has_unknown_name,
            has_older_identifier,
            has_older_quotation,
        }
    }
}

/// Each word once.
fn distinct(words: &[Word]) -> Vec<Word> {
    let mut distinct: Vec<Word> = Vec::new();
    for word in words {
        if !distinct.iter().any(|other| other.hash == word.hash) {
            distinct.push(*word);
        }
    }
    distinct
}
