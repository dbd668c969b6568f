//! The lexical index: analyzer, postings in sealed segments and a part that grows, BM25.
//!
//! Pure: it knows documents by number and nothing of conversations; the engine's retrieval scores windows and sessions
//! over the same postings. A crate of its own because optimisation levels are set by crate: this one is built for speed.

mod analyzer;
mod bm25;
mod evidence;
mod fold;
mod function_words;
mod grams;
mod index;
mod irregular;
mod lowercase;
mod postings;
mod question_terms;
mod segment;
mod segment_builder;
mod segment_writer;
mod stemmer;
mod stop_words;
mod surroundings;
mod term_table;
mod word_list;
mod word_marks;
mod written_forms;

pub use analyzer::{ANALYZER_VERSION, Analyzer, Side, Term, TermKind};
pub use bm25::{B, K1, inverse_document_frequency, saturation};
pub use evidence::{AskedTerm, Figures, Scope, Workspace};
pub use fold::{fold_into, hash_term};
pub use index::{LexicalHit, LexicalIndex};
pub use lowercase::{lower, lowercase, push_lower};
pub use question_terms::{QuestionTerm, question_terms};
pub use segment::LexicalSegment;
pub use segment_builder::{SegmentBuilder, term_counts};
pub use stop_words::is_stop_word;
pub use surroundings::{Link, NONE, Surroundings};
pub use word_marks::{Imprint, WordMarks, WordRow};
pub use written_forms::{day_of_month, month_number, year_number};
