//! OpenAI chat completions: content as string, parts or null, tool calls, the deprecated function call, refusal, audio.

use super::{Block, Slot, arguments, content_blocks, labelled, other, readable_items};
use crate::error::Result;
use crate::formats::json::{Object, as_text, field_error, required_text, text};
use crate::message::{Part, Role};
use serde_json::Value;

/// The deprecated `function_call` has no id; call and answer are paired by this and the function's name.
pub(in crate::formats) const FUNCTION_CALL_ID_PREFIX: &str = "function_call_";

pub(super) fn blocks(object: &Object, role: Role) -> Result<Vec<Block>> {
    if role == Role::Tool {
        return Ok(vec![result(object)?]);
    }
    let mut blocks = Vec::new();
    if role == Role::Assistant {
        for field in ["reasoning_content", "reasoning"] {
            if let Some(reasoning) = text(object, field).filter(|reasoning| !reasoning.is_empty()) {
                blocks.push(Block { part: Part::Reasoning(reasoning.to_owned()), slot: Slot::Field(field) });
                break;
            }
        }
    }
    blocks.extend(content(object, role)?);
    if role == Role::Assistant {
        answers(object, &mut blocks);
        calls(object, &mut blocks)?;
    }
    Ok(blocks)
}

fn content(object: &Object, role: Role) -> Result<Vec<Block>> {
    if role == Role::Assistant && matches!(object.get("content"), None | Some(Value::Null)) {
        return Ok(Vec::new());
    }
    content_blocks(object, "a string or an array of parts", part)
}

fn part(item: &Value, index: usize) -> Result<Part> {
    if let Value::String(text) = item {
        return Ok(Part::Text(text.clone()));
    }
    let nested = |outer: &str, key: &str| item.get(outer).and_then(|value| value.get(key)).and_then(Value::as_str);
    let visible = |key: &str| match item.get(key) {
        Some(Value::String(text)) => Ok(Part::Text(text.clone())),
        found => Err(field_error(&format!("content[{index}].{key}"), "a string", found)),
    };
    match item.get("type").and_then(Value::as_str) {
        Some("text") => visible("text"),
        Some("refusal") => visible("refusal"),
        Some("image_url") => {
            Ok(labelled("image", [nested("image_url", "url"), item.get("image_url").and_then(Value::as_str)]))
        }
        Some("input_audio") => Ok(labelled("audio", [nested("input_audio", "format")])),
        Some("file") => {
            // Its data may come without the head of a data URL: then nothing in it is a label.
            let data = nested("file", "file_data").filter(|data| data.starts_with("data:"));
            Ok(labelled("file", [nested("file", "filename"), nested("file", "file_id"), data]))
        }
        _ => Ok(other(item)),
    }
}

/// A refusal and spoken audio, which stand beside the content.
fn answers(object: &Object, blocks: &mut Vec<Block>) {
    if let Some(refusal) = text(object, "refusal").filter(|refusal| !refusal.is_empty()) {
        blocks.push(Block { part: Part::Text(refusal.to_owned()), slot: Slot::Field("refusal") });
    }
    if let Some(audio @ Value::Object(_)) = object.get("audio") {
        blocks.push(Block { part: labelled("audio", [Some("audio")]), slot: Slot::Field("audio") });
        if let Some(transcript) = audio.get("transcript").and_then(Value::as_str) {
            blocks.push(Block { part: Part::Text(transcript.to_owned()), slot: Slot::Field("audio") });
        }
    }
}

fn calls(object: &Object, blocks: &mut Vec<Block>) -> Result<()> {
    match object.get("tool_calls") {
        None | Some(Value::Null) => {}
        Some(Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                blocks.push(Block { part: call(item, index)?, slot: Slot::Item("tool_calls", index) });
            }
        }
        found => return Err(field_error("tool_calls", "an array", found)),
    }
    match object.get("function_call") {
        None | Some(Value::Null) => {}
        Some(Value::Object(function)) => {
            let name = required_text(function, "name", "function_call.name")?;
            let part = Part::ToolCall {
                id: format!("{FUNCTION_CALL_ID_PREFIX}{name}"),
                name: name.to_owned(),
                arguments: arguments(function.get("arguments")),
                provider_executed: false,
            };
            blocks.push(Block { part, slot: Slot::Field("function_call") });
        }
        found => return Err(field_error("function_call", "an object", found)),
    }
    Ok(())
}

fn call(item: &Value, index: usize) -> Result<Part> {
    let field = |name: &str| format!("tool_calls[{index}]{name}");
    let Value::Object(item) = item else { return Err(field_error(&field(""), "an object", Some(item))) };
    let id = required_text(item, "id", &field(".id"))?.to_owned();
    let (inner, input) = match text(item, "type") {
        Some("custom") => ("custom", "input"),
        _ => ("function", "arguments"),
    };
    let Some(Value::Object(call)) = item.get(inner) else {
        return Err(field_error(&field(&format!(".{inner}")), "an object", item.get(inner)));
    };
    let name = required_text(call, "name", &field(&format!(".{inner}.name")))?.to_owned();
    Ok(Part::ToolCall { id, name, arguments: arguments(call.get(input)), provider_executed: false })
}

fn result(object: &Object) -> Result<Block> {
    let output = match object.get("content") {
        None | Some(Value::Null) => String::new(),
        Some(Value::Array(items)) => readable_items(items),
        Some(value @ Value::String(_)) => as_text(value),
        found => return Err(field_error("content", "a string or an array of parts", found)),
    };
    let name = text(object, "name").map(str::to_owned);
    let call_id = if text(object, "role") == Some("function") {
        format!("{FUNCTION_CALL_ID_PREFIX}{}", required_text(object, "name", "name")?)
    } else {
        required_text(object, "tool_call_id", "tool_call_id")?.to_owned()
    };
    Ok(Block { part: Part::ToolResult { call_id, name, output, is_error: false }, slot: Slot::Field("content") })
}
