//! AI SDK `UIMessage`: parts, where one tool part holds call and result.

use super::{Block, Slot, arguments, labelled, media, other};
use crate::error::Result;
use crate::formats::json::{Object, as_text, at, field_error, required_text, text};
use crate::message::Part;
use serde_json::Value;

pub(super) fn blocks(object: &Object) -> Result<Vec<Block>> {
    let Some(Value::Array(items)) = object.get("parts") else {
        return Err(field_error("parts", "an array", object.get("parts")));
    };
    let mut blocks = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let slot = Slot::Item("parts", index);
        blocks.extend(parts(item, index)?.into_iter().map(|part| Block { part, slot }));
    }
    Ok(blocks)
}

fn parts(item: &Value, index: usize) -> Result<Vec<Part>> {
    let Value::Object(part) = item else { return Ok(vec![other(item)]) };
    let required = |key: &str| required_text(part, key, &format!("parts[{index}].{key}")).map(str::to_owned);
    let one = match text(part, "type") {
        Some("text") => Part::Text(required("text")?),
        Some("reasoning") => Part::Reasoning(required("text")?),
        Some("file") => media(text(part, "mediaType").unwrap_or_default(), &[text(part, "filename")]),
        Some("reasoning-file") => labelled("file", [text(part, "filename"), text(part, "mediaType")]),
        Some("tool-invocation") => return old_tool(part, index),
        Some("dynamic-tool") => return tool(part, required("toolName")?, index),
        Some(kind) => match kind.strip_prefix("tool-") {
            Some(name) => return tool(part, name.to_owned(), index),
            None => other(item),
        },
        None => other(item),
    };
    Ok(vec![one])
}

/// A call, then what became of it: an answer to an approval request, or a result.
fn tool(part: &Object, name: String, index: usize) -> Result<Vec<Part>> {
    let id = required_text(part, "toolCallId", &format!("parts[{index}].toolCallId"))?.to_owned();
    let input = part.get("input").filter(|input| !input.is_null()).or_else(|| part.get("rawInput"));
    let call = Part::ToolCall {
        id: id.clone(),
        name: name.clone(),
        arguments: arguments(input),
        provider_executed: part.get("providerExecuted").and_then(Value::as_bool).unwrap_or(false),
    };
    let result = |output: String, is_error| Part::ToolResult { call_id: id, name: Some(name), output, is_error };
    let outcome = match text(part, "state") {
        Some("output-available") => Some(result(arguments(part.get("output")), false)),
        Some("output-error") => Some(result(arguments(part.get("errorText")), true)),
        Some("output-denied") => {
            let reason = at(part, &["approval", "reason"]).map(as_text).unwrap_or_default();
            Some(result(if reason.is_empty() { "Tool execution denied.".to_owned() } else { reason }, true))
        }
        Some("approval-requested") => Some(Part::Other { kind: "tool-approval-request".to_owned() }),
        Some("approval-responded") => Some(Part::Other { kind: "tool-approval-response".to_owned() }),
        _ => None,
    };
    Ok([call].into_iter().chain(outcome).collect())
}

/// The shape of AI SDK 4, which stored chats still hold.
fn old_tool(part: &Object, index: usize) -> Result<Vec<Part>> {
    let field = format!("parts[{index}].toolInvocation");
    let Some(Value::Object(invocation)) = part.get("toolInvocation") else {
        return Err(field_error(&field, "an object", part.get("toolInvocation")));
    };
    let id = required_text(invocation, "toolCallId", &format!("{field}.toolCallId"))?.to_owned();
    let name = required_text(invocation, "toolName", &format!("{field}.toolName"))?.to_owned();
    let call = Part::ToolCall {
        id: id.clone(),
        name: name.clone(),
        arguments: arguments(invocation.get("args")),
        provider_executed: false,
    };
    let output = arguments(invocation.get("result"));
    let result = (text(invocation, "state") == Some("result")).then_some(Part::ToolResult {
        call_id: id,
        name: Some(name),
        output,
        is_error: false,
    });
    Ok([call].into_iter().chain(result).collect())
}
