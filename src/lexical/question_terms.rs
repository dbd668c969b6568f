//! The terms that a question is looked up by.

use super::analyzer::{Analyzer, Side, TermKind};
use super::term_table::TermTable;

/// A distinct term of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionTerm {
    /// What is looked up.
    pub hash: u64,
    /// Its kind at its first place.
    pub kind: TermKind,
    /// The folded text before stemming.
    pub text: String,
    /// Place of its word: terms of one compound share it.
    pub position: usize,
}

/// The distinct terms that a question is looked up by, in order: without stop words, unless there is nothing else.
#[must_use]
pub fn question_terms(analyzer: &Analyzer, question: &str) -> Vec<QuestionTerm> {
    let mut terms: Vec<QuestionTerm> = Vec::new();
    let mut seen = TermTable::default();
    analyzer.terms(question, Side::Question, &mut |term| {
        if seen.insert(term.hash, ()).is_none() {
            let text = term.text.to_owned();
            terms.push(QuestionTerm { hash: term.hash, kind: term.kind, text, position: term.position });
        }
    });
    if terms.iter().any(|term| term.kind.has_length()) {
        terms.retain(|term| term.kind != TermKind::StopWord);
    }
    terms
}
