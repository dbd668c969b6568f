//! How much a passage says about a question.

use super::message_index::MessageIndex;
use super::question::Question;
use crate::lexical::{Analyzer, Side, inverse_document_frequency};
use crate::sorted_map::{SortedMap, SortedSet};

/// The terms of a question with their rarity among all messages.
pub struct Relevance {
    analyzer: Analyzer,
    weights: SortedMap<u64, f32>,
    most: f32,
}

impl Relevance {
    /// Reads the question.
    #[must_use]
    pub fn new(index: &MessageIndex, question: &str) -> Self {
        let analyzer = *index.analyzer();
        let documents = index.len() as f32;
        let weight = |hash: u64| inverse_document_frequency(documents, index.lexical.document_frequency(hash) as f32);
        let terms = Question::new(&analyzer, question, f64::NAN).terms;
        // Of a word's other ways to be written none need stand anywhere.
        let most = terms.iter().filter(|term| term.kind.has_length()).map(|term| weight(term.hash)).sum();
        Self { weights: terms.iter().map(|term| (term.hash, weight(term.hash))).collect(), most, analyzer }
    }

    /// What a passage with all of the question's words would have.
    #[must_use]
    pub fn most(&self) -> f32 {
        self.most
    }

    /// Sum of the rarity of the question's terms that stand in the passage; 0 where none does.
    #[must_use]
    pub fn of(&self, passage: &str) -> f32 {
        let mut seen = SortedSet::new();
        let mut sum = 0.0;
        self.analyzer.terms(passage, Side::Document, &mut |term| {
            if let Some(weight) = self.weights.get(&term.hash).filter(|_| seen.insert(term.hash)) {
                sum += weight;
            }
        });
        sum
    }
}
