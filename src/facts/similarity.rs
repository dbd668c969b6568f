//! How alike two facts are, by their words; with vectors where there are any.

use super::fingerprint::normalized;
use super::retraction::is_retraction;
use super::{fact_score, id_number, is_current};
use crate::records::{FactRecord, FactStatus};
use crate::sorted_map::{SortedMap, SortedSet};
use crate::sorting;

/// Lexical similarity from which a fact is a neighbour.
const LEXICAL_FLOOR: f64 = 0.25;
/// Cosine of vectors from which a fact is a neighbour. Short sentences of one language reach 0.3 without any relation.
const DENSE_FLOOR: f64 = 0.5;
/// How far above the middle of all facts' cosines a neighbour's must be, in median deviations: with some embedders any two
/// sentences are near. Asked of so many facts or more.
const DENSE_DEVIATIONS: f64 = 5.0;
const LEAST_COMPARED: usize = 8;
/// Similarity of facts whose keys have a word in common.
const KEY_WORD: f64 = 0.3;
/// What takes something back is compared with so many facts at least, those of its category among them.
const LEAST_OF_RETRACTION: usize = 10;

/// Cosine of vectors below which a fact has nothing to do with a question.
const CHANCE: f64 = 0.2;

/// An existing fact that is like a new one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour<'a> {
    /// The existing fact.
    pub fact: &'a FactRecord,
    /// 0 to 1.
    pub similarity: f64,
}

/// The cosine of a fact's vector with the text's, where the fact has one.
pub type DenseSimilarity<'a> = dyn Fn(&FactRecord) -> Option<f64> + 'a;

/// What neighbours are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Sought<'a> {
    /// The new fact.
    pub fact: &'a str,
    /// The words that it was made from.
    pub quote: &'a str,
    /// Its key.
    pub key: Option<&'a str>,
    /// Its category.
    pub category: &'a str,
}

/// At most `k` current facts that are like a new one, most alike first: by the words they share, weighted by how rare
/// they are among the facts; by the key, where it is the same or has a word in common; and by `dense`, the cosine of the
/// vectors, where given.
///
/// For what takes something back there is no floor, `k` is ten at least, and facts of its category fill up: which one it means
/// is for the judge to say.
#[must_use]
pub fn similar<'a>(
    sought: Sought<'_>,
    facts: &'a [FactRecord],
    k: usize,
    dense: Option<&DenseSimilarity<'_>>,
) -> Vec<Neighbour<'a>> {
    let current: Vec<&FactRecord> = facts.iter().filter(|fact| is_current(fact)).collect();
    let cosines: Vec<Option<f64>> = current.iter().map(|fact| dense.and_then(|dense| dense(fact))).collect();
    let is_wide = is_retraction(sought.fact, sought.quote);
    let (lexical_floor, dense_floor) =
        if is_wide { (f64::MIN_POSITIVE, CHANCE) } else { (LEXICAL_FLOOR, dense_floor(&cosines)) };
    let mut neighbours: Vec<Neighbour<'_>> = overlaps(sought.fact, &current)
        .into_iter()
        .zip(cosines)
        .zip(&current)
        .filter_map(|((lexical, cosine), fact)| {
            let lexical = Some(lexical).filter(|value| *value >= lexical_floor);
            let cosine = cosine.filter(|value| *value >= dense_floor);
            let by_key = sought.key.zip(fact.key.as_deref()).and_then(|(one, other)| key_likeness(one, other));
            let by_category = (is_wide && fact.category == sought.category).then_some(0.0);
            let similarity = [lexical, cosine, by_key, by_category].into_iter().flatten().reduce(f64::max)?;
            Some(Neighbour { fact, similarity: similarity.clamp(0.0, 1.0) })
        })
        .collect();
    sorting::sort_by(&mut neighbours, &|one, other| {
        // Of equals, what was said last is more likely to be taken back.
        let by_number = id_number(&one.fact.id).cmp(&id_number(&other.fact.id));
        let by_number = if is_wide { by_number.reverse() } else { by_number };
        other.similarity.total_cmp(&one.similarity).then(by_number)
    });
    neighbours.truncate(if is_wide { k.max(LEAST_OF_RETRACTION) } else { k });
    neighbours
}

/// 1 for the same key, [`KEY_WORD`] where a word of both is the same (`home_city`, `city`).
fn key_likeness(one: &str, other: &str) -> Option<f64> {
    let words = |key: &str| key.split(['_', '.']).map(str::to_owned).collect::<Vec<_>>();
    let shared = || words(one).iter().any(|word| word.chars().count() > 2 && words(other).contains(word));
    if one == other { Some(1.0) } else { shared().then_some(KEY_WORD) }
}

/// From which cosine on a fact is a neighbour.
fn dense_floor(cosines: &[Option<f64>]) -> f64 {
    let known: Vec<f64> = cosines.iter().copied().flatten().collect();
    if known.len() < LEAST_COMPARED {
        return DENSE_FLOOR;
    }
    let middle = median(known.clone());
    let deviation = median(known.iter().map(|value| (value - middle).abs()).collect());
    DENSE_FLOOR.max(middle + DENSE_DEVIATIONS * deviation)
}

fn median(mut values: Vec<f64>) -> f64 {
    sorting::sort_by(&mut values, &f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// At most `k` facts in use that have to do with a question, best first by [`fact_score`]: a word in common is enough, or a
/// vector that is nearer than chance. `similarity` of the answer is that score.
#[must_use]
pub fn search<'a>(
    question: &str,
    facts: &'a [FactRecord],
    k: usize,
    dense: &DenseSimilarity<'_>,
    now_ms: f64,
) -> Vec<Neighbour<'a>> {
    let active: Vec<&FactRecord> = facts.iter().filter(|fact| fact.status == FactStatus::Active).collect();
    let most_accesses = active.iter().map(|fact| fact.access_count).max().unwrap_or_default();
    let mut found: Vec<Neighbour<'_>> = relevances(question, &active, dense)
        .into_iter()
        .zip(&active)
        .filter_map(|(similarity, fact)| {
            let score = fact_score(fact, similarity, most_accesses, now_ms);
            (similarity > 0.0).then_some(Neighbour { fact, similarity: score })
        })
        .collect();
    sorting::sort_by(&mut found, &|one, other| {
        other.similarity.total_cmp(&one.similarity).then(id_number(&one.fact.id).cmp(&id_number(&other.fact.id)))
    });
    found.truncate(k);
    found
}

/// How much each fact has to do with a question, 0 to 1: by the words in common, and by a vector that is nearer than chance.
#[must_use]
pub fn relevances(question: &str, facts: &[&FactRecord], dense: &DenseSimilarity<'_>) -> Vec<f64> {
    let lexical = overlaps(question, facts).into_iter().zip(facts);
    let relevance = |(lexical, fact): (f64, &&FactRecord)| match dense(fact).filter(|value| *value >= CHANCE) {
        Some(dense) => dense.max(lexical).min(1.0),
        None => lexical,
    };
    lexical.map(relevance).collect()
}

/// Lexical similarity of a text with each fact, 0 to 1, words weighted by how rare they are among the facts.
fn overlaps(text: &str, facts: &[&FactRecord]) -> Vec<f64> {
    let stems_of: Vec<SortedSet<String>> = facts.iter().map(|fact| stems(&fact.fact)).collect();
    let mut document_frequency: SortedMap<&str, usize> = SortedMap::new();
    for stem in stems_of.iter().flat_map(SortedSet::iter) {
        *document_frequency.get_or_default(stem) += 1;
    }
    let weight = |stem: &str| {
        let frequency = document_frequency.get(stem).copied().unwrap_or_default();
        (1.0 + (facts.len() as f64 + 1.0) / (frequency as f64 + 1.0)).ln()
    };
    let wanted = stems(text);
    stems_of.iter().map(|stems| overlap(&wanted, stems, &weight)).collect()
}

/// Lexical similarity of two texts, 0 to 1, every word counting the same.
#[must_use]
pub fn similarity(one: &str, other: &str) -> f64 {
    overlap(&stems(one), &stems(other), &|_| 1.0)
}

/// Cosine of two sets of weighted words.
fn overlap(one: &SortedSet<String>, other: &SortedSet<String>, weight: &dyn Fn(&str) -> f64) -> f64 {
    let square = |stems: &mut dyn Iterator<Item = &String>| stems.map(|stem| weight(stem).powi(2)).sum::<f64>();
    let (of_one, of_other) = (square(&mut one.iter()), square(&mut other.iter()));
    if of_one <= 0.0 || of_other <= 0.0 {
        return 0.0;
    }
    square(&mut one.iter().filter(|stem| other.contains(*stem))) / (of_one * of_other).sqrt()
}

fn stems(text: &str) -> SortedSet<String> {
    terms(text).iter().map(|term| stem(term).to_owned()).collect()
}

/// The words of a text; of scripts written without spaces, pairs of neighbouring characters.
pub(super) fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for word in normalized(text).split(' ') {
        let mut plain = String::new();
        let mut dense: Vec<char> = Vec::new();
        for character in word.chars() {
            if is_unspaced(character) {
                terms.extend((!plain.is_empty()).then(|| std::mem::take(&mut plain)));
                dense.push(character);
            } else {
                push_pairs(&mut terms, &mut dense);
                plain.push(character);
            }
        }
        push_pairs(&mut terms, &mut dense);
        terms.extend((!plain.is_empty()).then_some(plain));
    }
    terms
}

fn push_pairs(terms: &mut Vec<String>, dense: &mut Vec<char>) {
    if dense.len() == 1 {
        terms.extend(dense.iter().map(char::to_string));
    }
    terms.extend(dense.windows(2).map(|pair| pair.iter().collect()));
    dense.clear();
}

fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{E00}'..='\u{EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3040}'..='\u{30FF}'
        | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// An English word without its commonest endings; other words as they are.
pub(super) fn stem(word: &str) -> &str {
    if !word.is_ascii() {
        return word;
    }
    let word = ["ing", "ed", "es", "s"]
        .iter()
        .find_map(|ending| word.strip_suffix(ending).filter(|rest| rest.len() >= 3 && !rest.ends_with('s')))
        .map_or(word, |rest| rest)
        .trim_end_matches('e');
    // "running" and "runs", "planned" and "plan".
    let shorter = word.get(..word.len().saturating_sub(1)).unwrap_or_default();
    match (word.bytes().last(), shorter.bytes().last()) {
        (Some(last), Some(before)) if last == before && shorter.len() >= 2 && last.is_ascii_lowercase() => shorter,
        _ => word,
    }
}
