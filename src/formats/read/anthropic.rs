//! Anthropic Messages: content as string or blocks, client tools, the provider's own tools, thinking.

use super::{Block, arguments, content_blocks, labelled, media, other, readable_items};
use crate::error::Result;
use crate::formats::json::{Object, as_text, at, required_text, text};
use crate::message::Part;
use serde_json::Value;

pub(super) fn blocks(object: &Object) -> Result<Vec<Block>> {
    content_blocks(object, "a string or an array of blocks", part)
}

fn part(item: &Value, index: usize) -> Result<Part> {
    let Value::Object(block) = item else {
        return Ok(item.as_str().map_or_else(|| other(item), |text| Part::Text(text.to_owned())));
    };
    let required = |key: &str| required_text(block, key, &format!("content[{index}].{key}")).map(str::to_owned);
    let part = match text(block, "type") {
        Some("text") => Part::Text(required("text")?),
        Some("image") => source_media("image", block),
        Some("document") => document(block),
        Some("search_result") => Part::Text(search_result(block)),
        Some("thinking") => Part::Reasoning(required("thinking")?),
        // Encrypted: it goes back unread.
        Some("redacted_thinking") => Part::Reasoning(String::new()),
        Some(kind @ ("tool_use" | "server_tool_use" | "mcp_tool_use")) => Part::ToolCall {
            id: required("id")?,
            name: required("name")?,
            arguments: arguments(block.get("input")),
            provider_executed: kind != "tool_use",
        },
        Some("tool_result") => Part::ToolResult {
            call_id: required("tool_use_id")?,
            name: None,
            output: result_text(block.get("content")),
            is_error: block.get("is_error").and_then(Value::as_bool).unwrap_or(false),
        },
        // The provider's own result names its tool; a client's does not.
        Some(kind) if kind.ends_with("_tool_result") => Part::ToolResult {
            call_id: required("tool_use_id")?,
            name: kind.strip_suffix("_tool_result").map(str::to_owned),
            output: provider_result_text(block.get("content")),
            is_error: at(block, &["content", "type"])
                .and_then(Value::as_str)
                .is_some_and(|kind| kind.ends_with("_error")),
        },
        _ => other(item),
    };
    Ok(part)
}

fn source_media(kind: &'static str, block: &Object) -> Part {
    let source = |key| at(block, &["source", key]).and_then(Value::as_str);
    labelled(kind, [text(block, "title"), source("url"), source("media_type"), source("file_id")])
}

/// A document of plain text is its text; any other is media.
fn document(block: &Object) -> Part {
    let source = |key: &str| at(block, &["source", key]);
    match (source("type").and_then(Value::as_str), source("data"), source("content")) {
        (Some("text"), Some(Value::String(data)), _) => Part::Text(data.clone()),
        (Some("content"), _, Some(content)) => Part::Text(result_text(Some(content))),
        _ => match source_media("file", block) {
            Part::Media { label, .. } => media("application/octet-stream", &[Some(&label)]),
            part => part,
        },
    }
}

fn search_result(block: &Object) -> String {
    let title = text(block, "title").unwrap_or_default();
    let body = result_text(block.get("content"));
    if title.is_empty() { body } else { format!("{title}\n{body}") }
}

fn result_text(content: Option<&Value>) -> String {
    match content {
        None | Some(Value::Null) => String::new(),
        Some(Value::Array(items)) => readable_items(items),
        Some(value) => as_text(value),
    }
}

/// What a person can read of a provider's own result: titles, addresses, texts, program output; nothing encrypted.
fn provider_result_text(content: Option<&Value>) -> String {
    const READABLE: [&str; 8] = ["title", "url", "text", "stdout", "stderr", "error_code", "tool_name", "file_id"];
    let mut lines = Vec::new();
    // Depth is bounded by MAX_NESTING, so the stack of values is too.
    let mut pending: Vec<&Value> = content.into_iter().collect();
    while let Some(value) = pending.pop() {
        match value {
            Value::String(text) if !text.is_empty() => lines.push(text.as_str()),
            Value::Array(items) => pending.extend(items.iter().rev()),
            Value::Object(fields) => pending.extend(
                fields
                    .iter()
                    .filter(|(key, value)| !value.is_string() || READABLE.contains(&key.as_str()))
                    .map(|(_, value)| value)
                    .rev(),
            ),
            _ => {}
        }
    }
    lines.join("\n")
}
