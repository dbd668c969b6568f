//! Readers, one per format: from an object to its parts, each with the place where it stands in the object.

mod ai_sdk_model;
mod ai_sdk_ui;
mod anthropic;
mod gemini;
mod langchain;
mod openai;
mod openai_responses;
mod role;
mod think;

use super::json::{Object, as_text, field_error, type_name};
use crate::error::Result;
use crate::message::{Format, Part, Role};
use serde_json::Value;

pub(super) use gemini::{
    Places as GeminiPlaces, field as gemini_field, is_content as is_gemini_content, is_positional_id,
};
pub(super) use langchain::{
    FUNCTION_CALL_ID_PREFIX as LANGCHAIN_FUNCTION_CALL_ID_PREFIX, body_field as langchain_body_field,
    is_message as is_langchain_message,
};
pub(super) use openai::FUNCTION_CALL_ID_PREFIX;
pub(super) use openai_responses::is_item as is_responses_item;
pub(super) use role::role;

/// A part and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub part: Part,
    pub slot: Slot,
}

/// Where in its message a part stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// The value of a field (`content` as a string, `refusal`, ...).
    Field(&'static str),
    /// An item of an array field. One item may give several parts (an AI SDK tool part holds call and result).
    Item(&'static str, usize),
    /// All of the object: an item of OpenAI Responses, of which one may give several parts.
    Whole,
}

impl Slot {
    /// The value at this place, where it is less than all.
    pub fn of(self, object: &Object) -> Option<&Value> {
        match self {
            Self::Whole => None,
            Self::Field(field) => object.get(field),
            Self::Item(field, index) => object.get(field)?.get(index),
        }
    }
}

/// The object that has the fields of a message: the message itself, or what a LangChain message wraps.
pub(super) fn body(object: &Object, format: Format) -> &Object {
    if format == Format::LangChain { langchain::body(object) } else { object }
}

/// The parts of an object that is in this format and has this role, in order. Their slots are those of its [`body`].
pub(super) fn blocks(object: &Object, format: Format, role: Role) -> Result<Vec<Block>> {
    let blocks = match format {
        Format::OpenAi => openai::blocks(object, role),
        Format::Anthropic => anthropic::blocks(object),
        Format::AiSdkUi => ai_sdk_ui::blocks(object),
        Format::AiSdkModel => ai_sdk_model::blocks(object),
        Format::OpenAiResponses => openai_responses::blocks(object),
        Format::Gemini => gemini::blocks(object, role),
        Format::LangChain => langchain::blocks(object, role),
    }?;
    Ok(think::split(blocks, role))
}

/// The blocks of a `content` that is a string or an array, with `part` for an item. `wanted` says what it must be.
fn content_blocks(object: &Object, wanted: &str, part: fn(&Value, usize) -> Result<Part>) -> Result<Vec<Block>> {
    match object.get("content") {
        Some(Value::String(content)) if content.is_empty() => Ok(Vec::new()),
        Some(Value::String(content)) => {
            Ok(vec![Block { part: Part::Text(content.clone()), slot: Slot::Field("content") }])
        }
        Some(Value::Array(items)) => items
            .iter()
            .enumerate()
            .map(|(index, item)| Ok(Block { part: part(item, index)?, slot: Slot::Item("content", index) }))
            .collect(),
        found => Err(field_error("content", wanted, found)),
    }
}

/// The kind of an item that is not known here: its own `type`, else what it is.
fn other(item: &Value) -> Part {
    let kind = item.get("type").and_then(Value::as_str).unwrap_or_else(|| type_name(item));
    Part::Other { kind: kind.to_owned() }
}

/// Media by its media type (`image/png`), labelled by the first label there is, else by the media type, else its kind.
fn media(media_type: &str, labels: &[Option<&str>]) -> Part {
    let kind = match media_type.split('/').next() {
        Some("image") => "image",
        Some("audio") => "audio",
        _ => "file",
    };
    labelled(kind, labels.iter().copied().chain([Some(media_type)]))
}

/// Media of a kind, labelled by the first usable label. A data URL is labelled by its media type, never by its bytes.
fn labelled<'a>(kind: &'static str, labels: impl IntoIterator<Item = Option<&'a str>>) -> Part {
    let label = labels.into_iter().flatten().map(short_label).find(|label| !label.is_empty());
    Part::Media { kind, label: label.unwrap_or_else(|| kind.to_owned()) }
}

fn short_label(label: &str) -> String {
    let label = match label.strip_prefix("data:") {
        Some(data) => data.split([';', ',']).next().unwrap_or_default(),
        None => label.split(['?', '#']).next().unwrap_or_default(),
    };
    label.chars().take(120).collect()
}

/// JSON text of a tool's input; nothing where there is none.
fn arguments(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(value) => as_text(value),
    }
}

/// Text of a list of items as a person would read it: texts by line, media by their kind, other items as JSON.
fn readable_items(items: &[Value]) -> String {
    let lines: Vec<String> = items
        .iter()
        .map(|item| match (item, item.get("type").and_then(Value::as_str)) {
            (Value::String(text), _) => text.clone(),
            (_, Some("text")) => item.get("text").map(as_text).unwrap_or_default(),
            (_, Some(kind))
                if item.get("source").is_some() || item.get("data").is_some() || item.get("url").is_some() =>
            {
                format!("[{kind}]")
            }
            (_, Some(kind @ ("image_url" | "input_audio" | "file"))) => format!("[{kind}]"),
            _ => crate::json_text::value_text(item),
        })
        .collect();
    lines.join("\n")
}
