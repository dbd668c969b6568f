//! LangChain messages: `{type, data}` as they are stored, plain objects, and the JSON of the classes
//! (`{lc, type: "constructor", id, kwargs}`). All three have the same fields, in another place: the body.

use super::{Block, Slot, arguments, labelled, media, other, readable_items};
use crate::error::{Error, Result};
use crate::formats::json::{Object, as_text, at, field_error, required_text, text};
use crate::message::{Part, Role};
use crate::sorted_map::SortedSet;
use serde_json::Value;

/// The deprecated function call has no id; call and answer are paired by this and the function's name. OpenAI's own
/// messages have another prefix: a call and an answer of two formats would be written in two ways.
pub(in crate::formats) const FUNCTION_CALL_ID_PREFIX: &str = "langchain_function_call_";

/// Where the fields of a message are.
pub(in crate::formats) fn body_field(object: &Object) -> Option<&'static str> {
    let is_object = |field: &str| object.get(field).is_some_and(Value::is_object);
    if object.contains_key("lc") && is_object("kwargs") {
        return Some("kwargs");
    }
    (is_object("data") && !object.contains_key("content")).then_some("data")
}

/// The fields of a message.
pub(in crate::formats) fn body(object: &Object) -> &Object {
    body_field(object).and_then(|field| object.get(field)?.as_object()).unwrap_or(object)
}

/// Whether an object is a message of one of the three shapes. Without `data`, `type` must be a word that only
/// LangChain's messages have, or stand in place of the role.
pub(in crate::formats) fn is_message(object: &Object) -> bool {
    match (text(object, "type"), body_field(object)) {
        (Some("constructor"), Some("kwargs")) => true,
        (Some(kind), Some("data")) => kind_role(kind).is_some(),
        (Some(kind), None) => {
            kind_role(kind).is_some() && object.contains_key("content") && !object.contains_key("parts")
        }
        _ => false,
    }
}

/// The role that a type or a class name stands for: `human`, `HumanMessage` or `HumanMessageChunk`. Messages of any role
/// (`generic`, `ChatMessage`) have it in a field: then there is none here.
fn kind_role(kind: &str) -> Option<Option<Role>> {
    let kind = kind.strip_suffix("Chunk").unwrap_or(kind);
    let kind = kind.strip_suffix("Message").unwrap_or(kind);
    Some(Some(match kind.to_ascii_lowercase().as_str() {
        "human" => Role::User,
        "ai" => Role::Assistant,
        "system" | "developer" => Role::System,
        "tool" | "function" => Role::Tool,
        "generic" | "chat" => return Some(None),
        _ => return None,
    }))
}

/// The type of a message: its own, or the class's name.
fn kind(object: &Object) -> Option<&str> {
    match object.get("id") {
        Some(Value::Array(path)) if body_field(object) == Some("kwargs") => path.last()?.as_str(),
        _ => text(object, "type").or_else(|| text(body(object), "type")),
    }
}

/// The role. What a message of any role is called counts as the user's where it is no other's: the model did not say it.
pub(super) fn role(object: &Object) -> Result<Role> {
    let known = "a type of message: human, ai, system, tool, function or generic";
    let kind = kind(object).or_else(|| text(body(object), "role"));
    let Some(kind) = kind else { return Err(field_error("type", known, object.get("type"))) };
    let named = match kind {
        "user" => Some(Some(Role::User)),
        "assistant" => Some(Some(Role::Assistant)),
        kind => kind_role(kind),
    };
    match named {
        Some(Some(role)) => Ok(role),
        Some(None) => Ok(match text(body(object), "role") {
            Some("assistant" | "ai" | "model") => Role::Assistant,
            Some("system" | "developer") => Role::System,
            _ => Role::User,
        }),
        None => Err(Error::invalid_argument(format!("message field `type` is not known; it must be {known}"))),
    }
}

pub(super) fn blocks(object: &Object, role: Role) -> Result<Vec<Block>> {
    let body = body(object);
    if role == Role::Tool {
        return Ok(vec![result(object, body)?]);
    }
    let mut blocks = Vec::new();
    let mut calls = Vec::new();
    if role == Role::Assistant {
        calls = tool_calls(body)?;
        if let Some(reasoning) = extra_text(body, "reasoning_content") {
            blocks.push(Block { part: Part::Reasoning(reasoning.to_owned()), slot: Slot::Field("additional_kwargs") });
        }
    }
    // Providers' own call blocks stand in the content as well: each call is read once.
    let called: SortedSet<String> = calls.iter().filter_map(call_id).map(str::to_owned).collect();
    match body.get("content") {
        None | Some(Value::Null) if role == Role::Assistant => {}
        Some(Value::String(content)) if content.is_empty() => {}
        Some(Value::String(content)) => {
            blocks.push(Block { part: Part::Text(content.clone()), slot: Slot::Field("content") });
        }
        Some(Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                let part = match part(item, index)? {
                    // Only the model calls.
                    Part::ToolCall { .. } | Part::ToolResult { .. } if role != Role::Assistant => other(item),
                    part => part,
                };
                let block = Block { part, slot: Slot::Item("content", index) };
                if call_id(&block).is_none_or(|id| !called.contains(id)) {
                    blocks.push(block);
                }
            }
        }
        found => return Err(field_error("content", "a string or an array of blocks", found)),
    }
    blocks.extend(calls);
    Ok(blocks)
}

fn call_id(block: &Block) -> Option<&str> {
    match &block.part {
        Part::ToolCall { id, provider_executed: false, .. } => Some(id),
        _ => None,
    }
}

/// A text among what the provider gave beside LangChain's own fields.
fn extra_text<'a>(body: &'a Object, key: &str) -> Option<&'a str> {
    at(body, &["additional_kwargs", key])?.as_str().filter(|text| !text.is_empty())
}

fn part(item: &Value, index: usize) -> Result<Part> {
    let Value::Object(block) = item else {
        return Ok(item.as_str().map_or_else(|| other(item), |text| Part::Text(text.to_owned())));
    };
    let required = |key: &str| required_text(block, key, &format!("content[{index}].{key}")).map(str::to_owned);
    let media_type = || text(block, "mimeType").or_else(|| text(block, "mime_type")).unwrap_or_default();
    let nested = |path: &[&str]| at(block, path).and_then(Value::as_str);
    Ok(match text(block, "type") {
        Some("text" | "input_text" | "output_text") => Part::Text(required("text")?),
        Some("text-plain") if block.contains_key("text") => Part::Text(required("text")?),
        Some("refusal") => Part::Text(required("refusal")?),
        Some("reasoning") => Part::Reasoning(text(block, "reasoning").unwrap_or_default().to_owned()),
        Some("thinking") => Part::Reasoning(text(block, "thinking").unwrap_or_default().to_owned()),
        Some("redacted_thinking" | "reasoning_content") => Part::Reasoning(String::new()),
        Some("image_url") => labelled("image", [nested(&["image_url", "url"]), text(block, "image_url")]),
        Some("input_audio") => labelled("audio", [nested(&["input_audio", "format"])]),
        Some(kind @ ("image" | "audio" | "file" | "video" | "document" | "media")) => {
            let labels = [
                text(block, "filename").or_else(|| text(block, "title")),
                nested(&["metadata", "filename"]).or_else(|| nested(&["file", "filename"])),
                text(block, "url").or_else(|| nested(&["source", "url"])).or_else(|| text(block, "fileUri")),
                nested(&["source", "media_type"]).or_else(|| nested(&["file", "file_id"])),
                text(block, "fileId").or_else(|| text(block, "file_id")).or_else(|| text(block, "id")),
            ];
            match kind {
                "media" => media(media_type(), &labels),
                "image" => labelled("image", labels.into_iter().chain([Some(media_type())])),
                "audio" => labelled("audio", labels.into_iter().chain([Some(media_type())])),
                _ => labelled("file", labels.into_iter().chain([Some(media_type())])),
            }
        }
        Some(kind @ ("tool_use" | "tool_call" | "server_tool_call" | "server_tool_use")) => Part::ToolCall {
            id: required("id")?,
            name: required("name")?,
            arguments: arguments(block.get("args").or_else(|| block.get("input"))),
            provider_executed: kind.starts_with("server"),
        },
        Some("server_tool_call_result") => Part::ToolResult {
            call_id: text(block, "toolCallId").map_or_else(|| required("tool_call_id"), |id| Ok(id.to_owned()))?,
            name: None,
            output: arguments(block.get("output")),
            is_error: text(block, "status") == Some("error"),
        },
        _ => other(item),
    })
}

/// The calls of an `ai` message. Where LangChain's own list is missing, the provider's.
fn tool_calls(body: &Object) -> Result<Vec<Block>> {
    let mut calls = Vec::new();
    for field in ["tool_calls", "invalid_tool_calls"] {
        match body.get(field) {
            None | Some(Value::Null) => {}
            Some(Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    calls.push(Block { part: tool_call(item, field, index)?, slot: Slot::Item(field, index) });
                }
            }
            found => return Err(field_error(field, "an array", found)),
        }
    }
    if calls.is_empty() {
        let slot = Slot::Field("additional_kwargs");
        if let Some(Value::Array(items)) = at(body, &["additional_kwargs", "tool_calls"]) {
            calls.extend(items.iter().filter_map(openai_call).map(|part| Block { part, slot }));
        }
        if let Some(Value::Object(function)) = at(body, &["additional_kwargs", "function_call"])
            && let Some(name) = text(function, "name")
        {
            let id = format!("{FUNCTION_CALL_ID_PREFIX}{name}");
            calls.push(Block { part: function_part(id, function), slot });
        }
    }
    Ok(calls)
}

/// A call without an id can have no answer: it is only named.
fn tool_call(item: &Value, field: &str, index: usize) -> Result<Part> {
    let Value::Object(call) = item else {
        return Err(field_error(&format!("{field}[{index}]"), "an object", Some(item)));
    };
    let Some(id) = text(call, "id") else {
        return Ok(Part::Other { kind: "tool_call".to_owned() });
    };
    // An invalid call may lack even its name.
    let name = match field {
        "tool_calls" => required_text(call, "name", &format!("{field}[{index}].name"))?,
        _ => text(call, "name").unwrap_or("tool"),
    };
    Ok(Part::ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments(call.get("args")),
        provider_executed: false,
    })
}

fn openai_call(item: &Value) -> Option<Part> {
    let id = item.get("id")?.as_str()?.to_owned();
    let function = item.get("function")?.as_object()?;
    text(function, "name")?;
    Some(function_part(id, function))
}

fn function_part(id: String, function: &Object) -> Part {
    let name = text(function, "name").unwrap_or_default().to_owned();
    Part::ToolCall { id, name, arguments: arguments(function.get("arguments")), provider_executed: false }
}

fn result(object: &Object, body: &Object) -> Result<Block> {
    let output = match body.get("content") {
        None | Some(Value::Null) => String::new(),
        Some(Value::Array(items)) => readable_items(items),
        Some(value) => as_text(value),
    };
    let name = text(body, "name").map(str::to_owned);
    let is_function = kind(object).is_some_and(|kind| kind.to_ascii_lowercase().starts_with("function"));
    let call_id = match &name {
        Some(name) if is_function => format!("{FUNCTION_CALL_ID_PREFIX}{name}"),
        _ => required_text(body, "tool_call_id", "tool_call_id")?.to_owned(),
    };
    let is_error = text(body, "status") == Some("error");
    Ok(Block { part: Part::ToolResult { call_id, name, output, is_error }, slot: Slot::Field("content") })
}
