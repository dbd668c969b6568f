//! Finding old messages: whether to look ([`gate`]), where they are ([`MessageIndex`]), what goes with them
//! ([`groups`]).

mod dates;
mod evidence;
pub mod gate;
mod gate_words;
pub mod groups;
mod message_index;
mod question;
mod rerank;
mod search;
mod timeline;

pub use message_index::{Document, Hit, MessageIndex, Mode, SearchRequest, SearchResult};
pub use rerank::Scores;
pub use timeline::{SESSION_GAP_MS, SESSION_MAX_MESSAGES};
