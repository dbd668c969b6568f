//! Finding old messages: whether to look ([`decide`]), where they are ([`MessageIndex`]), what goes with them
//! ([`expand`]).
//!
//! A search reads the postings of the question's terms once and scores messages, windows and sessions from them; takes
//! the nearest messages by vector, where there are vectors; and reranks both lists by four signals. What the signals
//! are, and why the default weights serve, is told in `rerank.rs`. Everything is a function of the messages that are in
//! the index, the question and the time of asking.
//!
//! # Figures
//!
//! `examples/eval/main.rs` prints them. LoCoMo (seven conversations, 1,435 questions with evidence, each searched in its own
//! conversation), with the default weights. Constants were fitted on conv-26, conv-30 and conv-42 only; which signals
//! there are was chosen with a look at all seven, so "held out" is honest about the constants, less so about the design.
//! Cranfield guards against tuning to chats; it was looked at while fitting. "In 1,000 tokens": share of the evidence
//! turns among the best single turns that fit so many tokens.
//!
//! | | turn R@5 | R@10 | R@20 | held out R@10 | session any@5 | in 1,000 tokens | in 3,000 | Cranfield nDCG@10 |
//! | --- | --- | --- | --- | --- | --- | --- | --- | --- |
//! | words only | 76.2 | 83.6 | 88.3 | 84.5 | 94.7 | 89.6 | 93.7 | 38.5 |
//! | with MiniLM | 78.5 | 85.0 | 88.9 | 86.2 | 95.5 | 90.6 | 95.6 | 43.0 |
//!
//! The floor on the score ([`crate::config::RetrievalPolicy::min_score`]) costs a hybrid search no recall there and
//! answers six of ten questions asked in the wrong conversation with nothing; without vectors it is a weaker guard
//! (three of ten, 0.7 points of recall).

mod answer_kinds;
mod asking;
mod dates;
mod fitted;
mod gate;
mod gate_question;
mod gate_words;
mod groups;
mod message_index;
mod message_vectors;
mod question;
mod relative_times;
mod relevance;
mod rerank;
mod sealed;
mod search;
mod timeline;

pub use dates::calendar_day;
pub use fitted::Weights;
pub use gate::{Decision, GateRequest, RetrievalChoice, decide};
pub use groups::{GroupRequest, MessageGroup, Present, Range, expand, expand_without};
pub use message_index::{Document, Hit, MessageFilter, MessageIndex, Mode, SearchRequest, SearchResult};
pub use relevance::Relevance;
pub use rerank::{HitFigures, Scores, score_hits};
pub use sealed::{Digest, SealedDocument, digest, searchable_text};
pub use timeline::{SESSION_GAP_MS, SESSION_MAX_MESSAGES};
