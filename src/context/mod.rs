//! Assembling the context of one model call: sections inside an exact budget, placed so that the prefix stays stable,
//! with a receipt that explains every item.
//!
//! Placement: `system` carries the app's prompt, what is remembered about the user, what is known from other sessions,
//! the rolling summary and the notes; `messages`
//! carries the history since the cut, append-only, and last the question with the evidence found for it in front.
//! Everything here is a function of its arguments.

pub mod assemble;
pub mod budget;
pub mod correction;
pub mod evidence;
mod fill;
mod passages;
mod prefix;
pub mod receipt;
mod tool_results;

pub use assemble::{
    ContextInput, Question, StoredMessage, SystemPart, assemble, message_tokens, sent_tokens, turn_tokens, weighed,
};
pub use budget::{Demand, GroupSize, Room, recent_start};
pub use correction::{Bill, Correction};
pub use evidence::{EvidenceDocument, EvidenceFact, EvidenceGroup, EvidenceMessage, day};
pub use receipt::{
    CacheBreakpoint, Context, Count, Dropped, Item, MessageRange, Receipt, Reduced, RetrievalReport, Section,
    SentReference, TokenReport,
};
pub use tool_results::{first_full_group, shorten_old, shortest_turn};
