//! What a built context is, and the receipt that explains it. Plain data in a fixed order: enough to draw the prompt.

use crate::message::Seq;
use serde::Serialize;
use serde_json::Value;

/// A context for one model call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// The system text: the app's prompt, what is remembered about the user, the rolling summary. May be empty.
    pub system: String,
    /// The messages in the format asked for, each as JSON text; the last one holds the question.
    pub messages: Vec<String>,
    /// Where a provider's prompt cache may be told to stop, in order; four at most.
    pub cache_breakpoints: Vec<CacheBreakpoint>,
    /// Tokens of the whole as sent; the same as `receipt.tokens.total`.
    pub tokens: u32,
    /// The explanation.
    pub receipt: Receipt,
    /// How it was counted, for what the provider will bill for it.
    #[serde(skip)]
    pub count: Count,
}

/// A count, without any correction by bills.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Tokens of the whole.
    pub tokens: u32,
    /// [`TokenCounter::id`](crate::tokens::TokenCounter::id) of what counted.
    pub counted_with: String,
    /// It counts as some model does.
    pub is_exact: bool,
}

/// A position after which the prompt is likely to differ in the next turn or in another conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheBreakpoint {
    /// `memory`: the end of the app's prompt and of what is remembered about the user, which conversations share;
    /// `system`: the end of the system text; `earlier`: the end of the message in front of the last turn of the history,
    /// which was `history` one turn before; `history`: the end of the message in front of the newest turn.
    pub after: &'static str,
    /// How much of the system text is in front of it, in UTF-16 code units, for `memory` and `system`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_length: Option<usize>,
    /// Index into `messages` for `earlier` and `history`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_index: Option<usize>,
    /// Tokens up to and including this position, those of tool definitions too.
    pub tokens: u32,
}

/// The explanation of a context.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// In the order of the prompt: system, memory, episodes, summary, notes, recent, documents, retrieved,
    /// question.
    pub sections: Vec<Section>,
    /// What retrieval decided and found.
    pub retrieval: RetrievalReport,
    /// What had to be mended so that a provider accepts the messages.
    pub repairs: Vec<Value>,
    /// Parts of sent messages that refer to what expires or what only one account can read (R23).
    pub references: Vec<SentReference>,
    /// The sums.
    pub tokens: TokenReport,
    /// 64-bit hash, hexadecimal, of the start of the prompt: the system text and the first message of the recent window.
    /// While it stays the same, messages are only appended, and a provider's prompt cache can be hit.
    pub prefix_hash: String,
    /// What is off, in words: no embedder, no language model, an estimate instead of a count.
    pub notes: Vec<String>,
    /// Something that is marked as local-only was left out, since the context goes elsewhere. It does not say what.
    pub held_back: bool,
}

/// A part of a sent message that refers to something kept elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SentReference {
    /// The message's position in its conversation.
    pub seq: Seq,
    /// What is referred to: `file`, `audio`, `container`, `item` or `asset`.
    pub kind: &'static str,
}

/// One section of the prompt.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Section {
    /// `system`, `memory`, `episodes`, `summary`, `notes`, `recent`, `documents`, `retrieved` or `question`.
    pub name: &'static str,
    /// Most tokens it could have had in this call.
    pub cap: u32,
    /// Tokens it has, message overhead included.
    pub tokens: u32,
    /// What is in it, in the order of the prompt.
    pub items: Vec<Item>,
    /// What was left out, and why.
    pub dropped: Vec<Dropped>,
}

/// One item of a section.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// `system`, `fact`, `project`, `episode`, `summary`, `note`, `message`, `document` or `question`.
    pub kind: &'static str,
    /// The message's, fact's or document's id.
    pub id: String,
    /// The messages covered, for messages and summaries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<MessageRange>,
    /// `system`, `user`, `assistant` or `tool`, for messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    /// Tokens, message overhead included.
    pub tokens: u32,
    /// Of a message too long for the room, which is shown in part: its tokens before and after. The whole message is
    /// what `history` answers for `range`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reduced: Option<Reduced>,
    /// Final score, 0 to 1, where one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The signals behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scores: Option<Value>,
    /// Why it is here: `instructions`, `remembered`, `same_project`, `last_session`, `covers_earlier`, `noted`, `recent_window`, `hit`, `neighbour`,
    /// `given_by_app`, `question`, `current_turn`.
    pub reason: &'static str,
}

/// How much of a message is shown, in tokens with its marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reduced {
    /// The whole message.
    pub from: u32,
    /// What is shown.
    pub to: u32,
}

/// Messages of a conversation, by position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageRange {
    /// The conversation.
    pub conversation_id: String,
    /// First position, inclusive.
    pub from: Seq,
    /// Last position, inclusive.
    pub to: Seq,
}

/// Something that was considered and left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dropped {
    /// The message's, fact's or document's id.
    pub id: String,
    /// Tokens it would have needed.
    pub tokens: u32,
    /// `no_room`, `below_floor`, `duplicate`, `outside_window`.
    pub reason: &'static str,
}

/// What retrieval decided and found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RetrievalReport {
    /// `retrieve` or `skip`.
    pub decision: &'static str,
    /// Why.
    pub reasons: Vec<String>,
    /// `hybrid`, `lexical` or `none`.
    pub mode: &'static str,
    /// Why the question has no vector although there is an embedder: a code, such as `timeout`.
    pub embedding_error: Option<&'static str>,
    /// Messages that were scored.
    pub candidates: u32,
    /// Time in the index, callbacks excluded, in milliseconds of the host's clock.
    pub ms: f64,
}

/// The sums of a context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenReport {
    /// Everything as sent.
    pub total: u32,
    /// The context window.
    pub window: u32,
    /// Room kept for the answer: `total + reserve <= window`.
    pub reserve: u32,
    /// In front of the newest turn: what a prompt cache can reuse.
    pub prefix: u32,
    /// Per-request overhead and what joining texts cost: `total` minus the sections.
    pub overhead: i32,
    /// What sending the whole conversation would take.
    pub full_history: u64,
    /// False: an estimate (no vocabulary for this model, or not loaded yet), or a count that was corrected.
    pub exact: bool,
    /// What every number here was multiplied by, since the model billed so much more or less than was counted; 1: nothing.
    pub correction: f64,
}
