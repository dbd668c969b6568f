//! What is kept of sessions and of work: episodes, the summaries of projects, notes. Wire formats, as those of
//! [`crate::records`].

use crate::json_reader::{Fields, FromFields};
use crate::message::Seq;
use crate::records::{SummarySection, Trust, is_false};
use serde::Serialize;

/// Where the episode of a session is, in the record of its conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EpisodeMark {
    /// When the last message of the session was said, milliseconds since 1970.
    pub ended_at: f64,
    /// First position of the session.
    pub first_seq: Seq,
    /// Last position, inclusive: its place names the path, as that of a summary's cursor.
    pub last_seq: Seq,
}

impl FromFields for EpisodeMark {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { ended_at: fields.take("endedAt"), first_seq: fields.take("firstSeq"), last_seq: fields.take("lastSeq") }
    }
}

/// What happened in one session of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EpisodeRecord {
    /// The conversation.
    pub conversation_id: String,
    /// First position of the session.
    pub first_seq: Seq,
    /// Last position, inclusive.
    pub last_seq: Seq,
    /// When its first message was said, milliseconds since 1970.
    pub started_at: f64,
    /// When its last message was said.
    pub ended_at: f64,
    /// When the episode was made: a conversation that began earlier does not show it, so that its prompt stays as it is.
    pub made_at: f64,
    /// The text by named sections.
    pub sections: Vec<SummarySection>,
    /// The lowest trust of what it was made from.
    pub trust: Trust,
    /// It told what the user has taken back, and is made again without that; until then it has no text.
    #[serde(skip_serializing_if = "is_false")]
    pub redo: bool,
}

impl FromFields for EpisodeRecord {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            conversation_id: fields.take("conversationId"),
            first_seq: fields.take("firstSeq"),
            last_seq: fields.take("lastSeq"),
            started_at: fields.take("startedAt"),
            ended_at: fields.take("endedAt"),
            made_at: fields.take("madeAt"),
            sections: fields.take("sections"),
            trust: fields.take("trust"),
            redo: fields.take_or("redo", false),
        }
    }
}

/// What the sessions of a project's conversations have come to, folded together.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProjectRecord {
    /// The text by named sections.
    pub sections: Vec<SummarySection>,
    /// Hash of the marks of the episodes that it was made from: others, and it is made again.
    pub source_hash: String,
    /// Conversations among its sources.
    pub conversation_ids: Vec<String>,
    /// Milliseconds since 1970.
    pub updated_at: f64,
}

impl FromFields for ProjectRecord {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            sections: fields.take("sections"),
            source_hash: fields.take("sourceHash"),
            conversation_ids: fields.take("conversationIds"),
            updated_at: fields.take("updatedAt"),
        }
    }
}

/// A note that the app, or its agent, keeps about a conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NoteRecord {
    /// Its name, unique in the conversation.
    pub id: String,
    /// What it says: text, or JSON text of what the app gave.
    pub content: String,
    /// `content` is JSON text.
    pub is_json: bool,
    /// Milliseconds since 1970.
    pub created_at: f64,
    /// Milliseconds since 1970.
    pub updated_at: f64,
}

impl FromFields for NoteRecord {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            id: fields.take("id"),
            content: fields.take("content"),
            is_json: fields.take_or("isJson", false),
            created_at: fields.take("createdAt"),
            updated_at: fields.take("updatedAt"),
        }
    }
}
