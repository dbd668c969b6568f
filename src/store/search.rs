//! The search port: a storage that finds messages by word and by vector, so that no index of them is read or held.
//!
//! With every message that is put goes what the engine's analyzer made of it ([`MessageEntry`]). A question is then answered
//! with the postings of its terms and with how near each vector is, and ranked by the engine's own code, which keeps a line
//! for each message: so every score is what it is over an index of the engine's own.

use crate::message::Seq;
use crate::ports::Pending;

/// What a storage keeps of a message to search by, beside its record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageEntry {
    /// See [`crate::segments::Line`].
    pub line: Vec<u8>,
    /// The marks of its words in order, asked for where a question quotes something.
    pub marks: Vec<u8>,
    /// The terms that it holds, and how often.
    pub terms: Vec<(u64, u16)>,
}

/// Messages of a conversation, both ends inclusive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineRange {
    /// The conversation.
    pub conversation_id: String,
    /// The first position.
    pub from: Seq,
    /// The last position.
    pub to: Seq,
}

/// What is looked up for a question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lookup {
    /// Terms whose postings are wanted.
    pub terms: Vec<u64>,
    /// The marks of every message that holds one of the terms are wanted.
    pub marks: bool,
    /// The embedder's name in records and the question's vector: the similarity of every vector of that model is wanted.
    pub vector: Option<(String, Vec<f32>)>,
}

/// What was found in a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The conversation.
    pub conversation_id: String,
    /// What it is.
    pub kind: FindingKind,
    /// Of each message, in any order: its position in four bytes, highest first, and what the kind says.
    pub bytes: Vec<u8>,
}

/// What a finding tells of each message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FindingKind {
    /// How often it holds the term at this place of the lookup: two bytes, highest first.
    Term(usize),
    /// Its marks: their length in four bytes, highest first, and they.
    Marks,
    /// The cosine of its nearest part: a float of four bytes, highest first.
    Near,
}

/// Searches what the storage beside it keeps.
pub trait SearchPort {
    /// Whether it compares vectors. Where it does not, and there is an embedder, the engine searches by itself.
    fn compares_vectors(&self) -> bool;
    /// The lines of messages, in order of position, as [`crate::segments::pieces`] reads them; one list for each range. Messages
    /// without an entry are left out.
    fn lines<'a>(&'a self, ranges: Vec<LineRange>) -> Pending<'a, Vec<Vec<u8>>>;
    /// What is found for a lookup, in any order.
    fn find<'a>(&'a self, lookup: Lookup) -> Pending<'a, Vec<Finding>>;
}
