//! The lexical index: analyzer, postings, BM25.
//!
//! Pure: it knows documents by number and nothing of conversations; [`crate::retrieval`] scores windows and sessions
//! over the same postings.

mod analyzer;
mod fold;
mod index;
mod irregular;
mod postings;
mod stemmer;
mod stop_words;

pub use analyzer::{ANALYZER_VERSION, Analyzer, Side, Term, TermKind};
pub use fold::{fold_into, hash_term};
pub use index::{
    B, K1, LexicalHit, LexicalIndex, QuestionTerm, inverse_document_frequency, question_terms, saturation,
};
pub use stop_words::is_stop_word;
