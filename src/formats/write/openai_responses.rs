//! OpenAI Responses: one item at a time, as [`crate::formats::response_items`] puts them apart.

use super::{Envelope, Item, STUB_OUTPUT};
use crate::formats::json::{Object, text};
use crate::message::Role;
use serde_json::{Value, json};

/// A picture of one pixel: a computer's output is a screenshot and nothing else.
const BLANK_SCREENSHOT: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=";

pub(super) fn message(envelope: &Envelope<'_>, items: &[Item<'_>]) -> Option<Object> {
    // An item is sent whole or not at all.
    if let Some(base) = envelope.base {
        return Some(base.clone());
    }
    let item = match items.first()? {
        Item::Call { id, name, arguments, .. } => {
            let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
            json!({ "type": "function_call", "call_id": id, "name": name, "arguments": arguments })
        }
        Item::Result { id, output, .. } => function_output(id, output),
        Item::Stub { id, call, .. } => stub(id, *call),
        _ => said(envelope.role, items)?,
    };
    match item {
        Value::Object(item) => Some(item),
        _ => None,
    }
}

fn said(role: Role, items: &[Item<'_>]) -> Option<Value> {
    let parts: Vec<Value> = items
        .iter()
        .filter_map(|item| match item {
            Item::Text(text) => Some(json!({ "type": "input_text", "text": text })),
            Item::Media(media) => Some(media.clone()),
            _ => None,
        })
        .collect();
    let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    let content = match (role, texts.len() == parts.len()) {
        _ if parts.is_empty() => return None,
        (Role::Assistant, _) => json!(texts.join("\n\n")),
        (_, true) if texts.len() == 1 => json!(texts.concat()),
        _ => Value::Array(parts),
    };
    let role = if role == Role::Assistant { "assistant" } else { "user" };
    Some(json!({ "role": role, "content": content }))
}

fn function_output(id: &str, output: &str) -> Value {
    json!({ "type": "function_call_output", "call_id": id, "output": output })
}

/// The answer to an interrupted call, of the kind that its own item wants.
fn stub(id: &str, call: Option<&Object>) -> Value {
    let kind = call.and_then(|call| text(call, "type")).unwrap_or("function_call");
    match kind {
        "custom_tool_call" => json!({ "type": "custom_tool_call_output", "call_id": id, "output": STUB_OUTPUT }),
        "computer_call" => json!({
            "type": "computer_call_output", "call_id": id,
            "output": { "type": "computer_screenshot", "image_url": BLANK_SCREENSHOT },
        }),
        "local_shell_call" => json!({ "type": "local_shell_call_output", "id": id, "output": STUB_OUTPUT }),
        "shell_call" => json!({
            "type": "shell_call_output", "call_id": id,
            "output": [{ "stdout": "", "stderr": STUB_OUTPUT, "outcome": { "type": "exit", "exit_code": 1 } }],
        }),
        "apply_patch_call" => {
            json!({ "type": "apply_patch_call_output", "call_id": id, "status": "failed", "output": STUB_OUTPUT })
        }
        "mcp_approval_request" => {
            json!({ "type": "mcp_approval_response", "approval_request_id": id, "approve": false })
        }
        _ => function_output(id, STUB_OUTPUT),
    }
}
