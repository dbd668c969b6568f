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
//! `examples/eval/main.rs` prints them, and has the protocol; BENCHMARKS.md has the tables. LoCoMo, seven conversations,
//! 1,435 questions, weights fitted without the question's conversation: turn R@10 is 84.3 by words, 85.3 with the static
//! embedder, 86.1 with MiniLM vectors; Cranfield, the guard against tuning to chats, nDCG@10 38.2 and 43.1.

mod answer_kinds;
mod asking;
mod dates;
mod fitted;
mod float_rank;
mod gate;
mod gate_overlap;
mod gate_question;
mod gate_topics;
mod gate_words;
mod given_vectors;
mod groups;
mod message_index;
mod message_vectors;
mod outside;
mod question;
mod quotations;
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
pub use outside::{Found, LineDocument, Sought};
pub use relevance::Relevance;
pub use rerank::{HitFigures, Scores, score_hits};
pub use sealed::{Digest, SealedDocument, digest, searchable_text};
pub use timeline::{SESSION_GAP_MS, SESSION_MAX_MESSAGES};
