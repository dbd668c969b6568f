//! AI SDK `ModelMessage`: content as string or parts, tool results with a typed output.

use super::{Block, arguments, content_blocks, labelled, media, other, readable_items};
use crate::error::Result;
use crate::formats::json::{Object, as_text, at, required_text, text};
use crate::message::Part;
use serde_json::Value;

pub(super) fn blocks(object: &Object) -> Result<Vec<Block>> {
    content_blocks(object, "a string or an array of parts", part)
}

fn part(item: &Value, index: usize) -> Result<Part> {
    let Value::Object(part) = item else {
        return Ok(item.as_str().map_or_else(|| other(item), |text| Part::Text(text.to_owned())));
    };
    let required = |key: &str| required_text(part, key, &format!("content[{index}].{key}")).map(str::to_owned);
    let media_type = text(part, "mediaType").or_else(|| text(part, "mimeType")).unwrap_or_default();
    let part = match text(part, "type") {
        Some("text") => Part::Text(required("text")?),
        Some("reasoning") => Part::Reasoning(required("text")?),
        Some("file") => media(media_type, &[text(part, "filename")]),
        Some("reasoning-file") => labelled("file", [text(part, "filename"), Some(media_type)]),
        Some("image") => labelled("image", [text(part, "filename"), Some(media_type), image_address(part)]),
        Some("tool-call") => Part::ToolCall {
            id: required("toolCallId")?,
            name: required("toolName")?,
            arguments: arguments(part.get("input").or_else(|| part.get("args"))),
            provider_executed: part.get("providerExecuted").and_then(Value::as_bool).unwrap_or(false),
        },
        Some("tool-result") => {
            let (output, is_error) = output(part);
            Part::ToolResult { call_id: required("toolCallId")?, name: Some(required("toolName")?), output, is_error }
        }
        _ => other(item),
    };
    Ok(part)
}

/// The image's address, where it is one and not its bytes.
fn image_address(part: &Object) -> Option<&str> {
    text(part, "image").filter(|image| image.starts_with("http") || image.starts_with("data:"))
}

/// Text of a typed output, and whether it tells of a failure. Older messages have an untyped `result` instead.
fn output(part: &Object) -> (String, bool) {
    let kind = at(part, &["output", "type"]).and_then(Value::as_str);
    let value = at(part, &["output", "value"]);
    match (kind, value) {
        (Some("text" | "json"), value) => (arguments(value), false),
        (Some("error-text" | "error-json"), value) => (arguments(value), true),
        (Some("execution-denied"), _) => {
            let reason = at(part, &["output", "reason"]).map(as_text);
            (reason.unwrap_or_else(|| "Tool execution denied.".to_owned()), true)
        }
        (Some("content"), Some(Value::Array(items))) => (readable_items(items), false),
        _ => {
            let is_error = part.get("isError").and_then(Value::as_bool).unwrap_or(false);
            (arguments(part.get("output").or_else(|| part.get("result"))), is_error)
        }
    }
}
