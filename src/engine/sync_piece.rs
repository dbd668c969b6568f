//! What another store tells of a conversation (`sync_conversation.rs` makes it), read and checked.

use super::stored::content_hash;
use super::sync::unusable;
use crate::error::Result;
use crate::json_reader::{Fields, FromFields};
use crate::message::Format;
use crate::records::ConversationRecord;
use crate::session_records::NoteRecord;

/// Devices that made a conversation of one id apart.
const MOST_CREATIONS: usize = 100;

/// What is new in a conversation of another store.
pub(super) struct ConversationPiece {
    pub(super) id: String,
    pub(super) made_at: Vec<f64>,
    pub(super) updated_at: f64,
    pub(super) parent_id: Option<String>,
    pub(super) source: Option<String>,
    pub(super) import_hash: Option<String>,
    /// It is from the beginning: what is not in it is nowhere.
    pub(super) is_whole: bool,
    pub(super) settings: PieceSettings,
    pub(super) leaf: PieceLeaf,
    pub(super) messages: Vec<PieceMessage>,
    pub(super) removed: Vec<PieceMark>,
    pub(super) notes: Vec<NoteRecord>,
}

pub(super) struct PieceSettings {
    pub(super) title: Option<String>,
    pub(super) project_id: Option<String>,
    pub(super) remember: bool,
    pub(super) at: f64,
}

/// Where the active path ends there, and since when.
pub(super) struct PieceLeaf {
    pub(super) name: Option<String>,
    pub(super) at: f64,
}

pub(super) struct PieceMessage {
    pub(super) name: String,
    pub(super) parent: Option<String>,
    pub(super) format: Format,
    pub(super) raw: String,
    pub(super) created_at: f64,
    pub(super) imported: bool,
    pub(super) aborted: bool,
    /// Facts were looked for in it there.
    pub(super) is_read: bool,
}

/// A message that was removed, and what it followed.
pub(super) struct PieceMark {
    pub(super) mark: String,
    pub(super) parent: Option<String>,
}

impl FromFields for ConversationPiece {
    fn from_fields(fields: &mut Fields) -> Self {
        let created_at: f64 = fields.take("createdAt");
        let mut made_at: Vec<f64> = fields.take_or("creations", Vec::new());
        made_at.push(created_at);
        Self {
            id: fields.take("id"),
            made_at,
            updated_at: fields.take("updatedAt"),
            parent_id: fields.take("parentId"),
            source: fields.take("source"),
            import_hash: fields.take("importHash"),
            is_whole: fields.take("isWhole"),
            settings: fields.take("settings"),
            leaf: fields.take("leaf"),
            messages: fields.take("messages"),
            removed: fields.take("removed"),
            notes: fields.take("notes"),
        }
    }
}

impl FromFields for PieceSettings {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            title: fields.take("title"),
            project_id: fields.take("projectId"),
            remember: fields.take("remember"),
            at: fields.take("at"),
        }
    }
}

impl FromFields for PieceLeaf {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { name: fields.take("name"), at: fields.take("at") }
    }
}

impl FromFields for PieceMessage {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            name: fields.take("name"),
            parent: fields.take("parent"),
            format: fields.take("format"),
            raw: fields.take("raw"),
            created_at: fields.take("createdAt"),
            imported: fields.take_or("imported", false),
            aborted: fields.take_or("aborted", false),
            is_read: fields.take_or("isRead", false),
        }
    }
}

impl FromFields for PieceMark {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { mark: fields.take("mark"), parent: fields.take("parent") }
    }
}

impl PieceSettings {
    pub(super) fn is_of(&self, record: &ConversationRecord) -> bool {
        (&self.title, &self.project_id, self.remember) == (&record.title, &record.project_id, record.remember)
    }
}

impl ConversationPiece {
    pub(super) fn check(&self) -> Result<()> {
        let times = [self.updated_at, self.settings.at, self.leaf.at];
        let times = times.iter().chain(&self.made_at).chain(self.messages.iter().map(|message| &message.created_at));
        if times.into_iter().any(|time| !time.is_finite()) || self.made_at.len() > MOST_CREATIONS {
            return Err(unusable("a time cannot be"));
        }
        for message in &self.messages {
            let hash = message.name.rsplit_once('~').map(|(_, hash)| hash);
            if hash != Some(content_hash(&message.raw).as_str()) {
                return Err(unusable("a message is called by another's content"));
            }
        }
        let is_mark = |mark: &str| mark.strip_prefix("removed:").is_some_and(|hash| hash.len() == 16);
        if self.removed.iter().any(|one| !is_mark(&one.mark)) {
            return Err(unusable("a mark of a removed message is none"));
        }
        Ok(())
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        let messages = self.messages.iter().flat_map(|one| std::iter::once(&one.name).chain(&one.parent));
        messages.chain(self.removed.iter().filter_map(|one| one.parent.as_ref())).chain(&self.leaf.name)
    }
}
