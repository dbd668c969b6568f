//! References that expire, or that only the account that made them can follow (R23): uploaded files, spoken audio,
//! containers, items kept by the provider, asset pointers of exports. In the format that they came in they stay; in
//! another they become a text note. Who sends an old window to another account can see here what will be refused.

use super::read::Slot;
use super::source::{Opened, Source};
use crate::message::{Format, Part};
use serde_json::Value;

/// A part of a message that is a reference, or holds one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The part, by its position in the message.
    pub part: usize,
    /// What is referred to: `file`, `audio`, `container`, `item` or `asset`.
    pub kind: &'static str,
}

/// Fields whose text is a reference, in every format, and what they refer to.
const FIELDS: [(&str, &str); 5] = [
    ("file_id", "file"),
    ("fileId", "file"),
    ("container_id", "container"),
    ("containerId", "container"),
    ("asset_pointer", "asset"),
];

/// Addresses that are references, and what they refer to.
const ADDRESSES: [(&str, &str); 5] = [
    ("https://generativelanguage.googleapis.com/", "file"),
    ("files/", "file"),
    ("gs://", "file"),
    ("file-service://", "asset"),
    ("sediment://", "asset"),
];

/// The references of a message, in the order of its parts and at most one for each. Looked for in media, in parts of
/// other kinds and in what the provider ran itself; text, arguments and outputs of tools are the app's own.
#[must_use]
pub fn references(source: &Source<'_>) -> Vec<Reference> {
    let may_refer = |part: &Part| {
        matches!(part, Part::Media { .. } | Part::Other { .. } | Part::ToolCall { provider_executed: true, .. })
    };
    if !source.message.parts.iter().any(may_refer) {
        return Vec::new();
    }
    let Some(opened) = Opened::new(source) else { return Vec::new() };
    let whole = Value::Object(opened.object.clone());
    let parts = source.message.parts.iter().enumerate().filter(|(_, part)| may_refer(part));
    parts
        .filter_map(|(index, part)| {
            let by_kind = match part {
                Part::Other { kind } if kind == "item_reference" => Some("item"),
                _ => None,
            };
            let is_whole = opened.blocks.get(index)?.slot == Slot::Whole;
            let value = if is_whole { Some(&whole) } else { opened.value(index, source.format) };
            let kind = by_kind.or_else(|| referred(value?, source.format, part))?;
            Some(Reference { part: index, kind })
        })
        .collect()
}

/// Whether a part of this kind says nothing but where something is.
pub(super) fn is_reference(kind: &str) -> bool {
    matches!(kind, "item_reference" | "container_upload")
}

/// Whether an address can be followed by its own account only, and what it refers to.
pub(super) fn address_kind(address: &str) -> Option<&'static str> {
    ADDRESSES.iter().find(|(start, _)| address.starts_with(start)).map(|(_, kind)| *kind)
}

/// What the first reference in a value refers to.
fn referred(value: &Value, format: Format, part: &Part) -> Option<&'static str> {
    // Spoken audio is kept by the provider for an hour.
    let is_audio = matches!(part, Part::Media { kind: "audio", .. });
    if is_audio && format == Format::OpenAi && value.get("id").is_some_and(Value::is_string) {
        return Some("audio");
    }
    // LangChain's blocks of its first standard.
    if value.get("source_type").is_some_and(|kind| kind == "id") {
        return Some("file");
    }
    // Depth is bounded by MAX_NESTING, so the stack of values is too.
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::Array(items) => pending.extend(items.iter().rev()),
            Value::Object(fields) => {
                for (key, value) in fields {
                    let named = FIELDS.iter().find(|(field, _)| field == key).map(|(_, kind)| *kind);
                    if let Some(text) = value.as_str().filter(|text| !text.is_empty())
                        && let Some(kind) = named.or_else(|| address_kind(text))
                    {
                        return Some(kind);
                    }
                }
                pending.extend(fields.values().rev().filter(|value| value.is_object() || value.is_array()));
            }
            _ => {}
        }
    }
    None
}
