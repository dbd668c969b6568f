//! OpenAI Responses: one item at a time, as [`crate::formats::response_items`] puts them apart.

use super::{Envelope, Item, STUB_OUTPUT, texts, with};
use crate::formats::json::{Object, text};
use crate::message::Role;
use serde_json::Value;

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
            texts(&[("type", "function_call"), ("call_id", id), ("name", name), ("arguments", arguments)])
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
            Item::Text(text) => Some(texts(&[("type", "input_text"), ("text", text)])),
            Item::Part(part) => Some(part.clone()),
            _ => None,
        })
        .collect();
    let said: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    let content = match (role, said.len() == parts.len()) {
        _ if parts.is_empty() => return None,
        (Role::Assistant, _) => Value::String(said.join("\n\n")),
        (_, true) if said.len() == 1 => Value::String(said.concat()),
        _ => Value::Array(parts),
    };
    let role = if role == Role::Assistant { "assistant" } else { "user" };
    Some(with(texts(&[("role", role)]), "content", content))
}

fn function_output(id: &str, output: &str) -> Value {
    texts(&[("type", "function_call_output"), ("call_id", id), ("output", output)])
}

/// The answer to an interrupted call, of the kind that its own item wants.
fn stub(id: &str, call: Option<&Object>) -> Value {
    let kind = call.and_then(|call| text(call, "type")).unwrap_or("function_call");
    match kind {
        "custom_tool_call" => texts(&[("type", "custom_tool_call_output"), ("call_id", id), ("output", STUB_OUTPUT)]),
        "computer_call" => {
            let screenshot = texts(&[("type", "computer_screenshot"), ("image_url", BLANK_SCREENSHOT)]);
            with(texts(&[("type", "computer_call_output"), ("call_id", id)]), "output", screenshot)
        }
        "local_shell_call" => texts(&[("type", "local_shell_call_output"), ("id", id), ("output", STUB_OUTPUT)]),
        "shell_call" => {
            let outcome = with(texts(&[("type", "exit")]), "exit_code", Value::from(1));
            let run = with(texts(&[("stdout", ""), ("stderr", STUB_OUTPUT)]), "outcome", outcome);
            with(texts(&[("type", "shell_call_output"), ("call_id", id)]), "output", Value::Array(vec![run]))
        }
        "apply_patch_call" => texts(&[
            ("type", "apply_patch_call_output"),
            ("call_id", id),
            ("status", "failed"),
            ("output", STUB_OUTPUT),
        ]),
        "mcp_approval_request" => {
            let answer = texts(&[("type", "mcp_approval_response"), ("approval_request_id", id)]);
            with(answer, "approve", Value::Bool(false))
        }
        _ => function_output(id, STUB_OUTPUT),
    }
}
