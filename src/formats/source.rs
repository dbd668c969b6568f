//! A stored message as it is chosen for a request.

use super::json::Object;
use super::read::{self, Block, Slot};
use super::reference::is_reference;
use super::{MAX_NESTING, json};
use crate::message::{Format, Message, Part, Seq};
use serde_json::Value;

/// A message that is to be sent: what the caller gave, and what it was read as.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its position in the conversation; `None` for a message that is not stored (the question of this call).
    pub seq: Option<Seq>,
    /// The format of `raw`.
    pub format: Format,
    /// The caller's object as JSON text.
    pub raw: &'a str,
    /// What [`super::parse`] read from `raw`.
    pub message: &'a Message,
}

impl Source<'_> {
    /// Whether its only part is all of it, as an item of OpenAI Responses that is no message is.
    pub(super) fn is_whole_item(&self) -> bool {
        let opened = Opened::new(self);
        opened.is_some_and(|opened| matches!(opened.blocks.as_slice(), [Block { slot: Slot::Whole, .. }]))
    }
}

/// A source's object and where its parts stand in it: read again only where the raw text cannot go out as it is.
pub(super) struct Opened {
    pub object: Object,
    pub blocks: Vec<Block>,
}

impl Opened {
    pub fn new(source: &Source<'_>) -> Option<Self> {
        let (object, _) = json::read_object(source.raw, MAX_NESTING).ok()?;
        let blocks = read::blocks(&object, source.format, source.message.role).ok()?;
        Some(Self { object, blocks })
    }

    /// The value of a part.
    pub fn value(&self, part: usize, format: Format) -> Option<&Value> {
        self.blocks.get(part)?.slot.of(read::body(&self.object, format))
    }
}

/// Whether a provider is told anything by this part. `native`: the request is in the part's own format, so that parts
/// of other kinds and results of the provider's own tools go along.
pub(super) fn says_something(part: &Part, native: bool) -> bool {
    match part {
        Part::Text(text) => !text.trim().is_empty(),
        Part::Reasoning(_) => false,
        Part::ToolCall { .. } | Part::ToolResult { .. } | Part::Media { .. } => true,
        Part::Other { kind } => is_reference(kind) || native && !is_marker(kind) && !kind.starts_with("tool-approval-"),
    }
}

/// Parts of the AI SDK's UI messages that the app shows and no model sees.
pub(super) fn is_marker(kind: &str) -> bool {
    matches!(kind, "step-start" | "source-url" | "source-document") || kind.starts_with("data-")
}
