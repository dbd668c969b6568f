//! OpenAI Responses: one item of a list, which is a message, a call, an output, reasoning or something hosted.

use super::{Block, Slot, arguments, content_blocks, labelled, other};
use crate::error::Result;
use crate::formats::json::{Object, as_text, at, field_error, required_text, text};
use crate::message::{Part, Role};
use serde_json::Value;

/// What an item of a type is, besides messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A call that owes an output. Its arguments are in this field.
    Call(&'static str),
    /// The output of such a call.
    Output,
    /// A call that was run where the model is, with its outcome. Its arguments are in this field.
    Hosted(&'static str),
    Reasoning,
    /// Named, and kept as it is.
    Other,
}

/// Every type of item that is known, and what it is.
const KINDS: [(&str, Kind); 27] = [
    ("function_call", Kind::Call("arguments")),
    ("custom_tool_call", Kind::Call("input")),
    ("computer_call", Kind::Call("action")),
    ("local_shell_call", Kind::Call("action")),
    ("shell_call", Kind::Call("action")),
    ("apply_patch_call", Kind::Call("operation")),
    ("mcp_approval_request", Kind::Call("arguments")),
    ("function_call_output", Kind::Output),
    ("custom_tool_call_output", Kind::Output),
    ("computer_call_output", Kind::Output),
    ("local_shell_call_output", Kind::Output),
    ("shell_call_output", Kind::Output),
    ("apply_patch_call_output", Kind::Output),
    ("mcp_approval_response", Kind::Output),
    ("web_search_call", Kind::Hosted("action")),
    ("file_search_call", Kind::Hosted("queries")),
    ("code_interpreter_call", Kind::Hosted("code")),
    ("image_generation_call", Kind::Hosted("revised_prompt")),
    ("mcp_call", Kind::Hosted("arguments")),
    ("reasoning", Kind::Reasoning),
    ("mcp_list_tools", Kind::Other),
    ("compaction", Kind::Other),
    ("compaction_summary", Kind::Other),
    ("item_reference", Kind::Other),
    ("tool_search_call", Kind::Other),
    ("tool_search_output", Kind::Other),
    ("additional_tools", Kind::Other),
];

fn kind_of(kind: &str) -> Option<Kind> {
    KINDS.iter().find(|(name, _)| *name == kind).map(|(_, kind)| *kind)
}

/// Whether an object has a shape that only items have. A type that is not known counts where it is named as items are.
pub(in crate::formats) fn is_item(object: &Object) -> bool {
    let has = |key| object.contains_key(key);
    match text(object, "type") {
        // Anthropic's answers are of this type too, with blocks of its own and `model`.
        Some("message") => {
            let of_item = |item: &Value| {
                item.get("type").and_then(Value::as_str).is_some_and(|kind| {
                    matches!(kind, "refusal") || kind.starts_with("input_") || kind.starts_with("output_")
                })
            };
            match object.get("content") {
                Some(Value::Array(items)) => items.iter().any(of_item) || has("status"),
                content => content.is_some_and(Value::is_string),
            }
        }
        Some(kind) if !has("role") => {
            kind_of(kind).is_some() || kind.ends_with("_call") || kind.ends_with("_call_output")
        }
        _ => false,
    }
}

/// The role of an item without one of its own; `None` for a message.
pub(super) fn role(object: &Object) -> Option<Role> {
    let kind = text(object, "type").filter(|kind| *kind != "message")?;
    Some(if kind_of(kind) == Some(Kind::Output) { Role::Tool } else { Role::Assistant })
}

pub(super) fn blocks(object: &Object) -> Result<Vec<Block>> {
    let kind = text(object, "type").filter(|kind| *kind != "message");
    let Some(kind) = kind else { return content_blocks(object, "a string or an array of parts", part) };
    let parts = match kind_of(kind) {
        Some(Kind::Call(input)) => vec![call(object, kind, input)?],
        Some(Kind::Output) => vec![output(object, kind)?],
        Some(Kind::Hosted(input)) => hosted(object, kind, input),
        Some(Kind::Reasoning) => vec![Part::Reasoning(reasoning(object))],
        Some(Kind::Other) | None => vec![Part::Other { kind: kind.to_owned() }],
    };
    Ok(parts.into_iter().map(|part| Block { part, slot: Slot::Whole }).collect())
}

fn part(item: &Value, index: usize) -> Result<Part> {
    let Value::Object(part) = item else {
        return Ok(item.as_str().map_or_else(|| other(item), |text| Part::Text(text.to_owned())));
    };
    let visible = |key: &str| {
        required_text(part, key, &format!("content[{index}].{key}")).map(|text| Part::Text(text.to_owned()))
    };
    match text(part, "type") {
        Some("input_text" | "output_text" | "text") => visible("text"),
        Some("refusal") => visible("refusal"),
        Some("input_image") => Ok(labelled("image", ["image_url", "file_id"].map(|key| text(part, key)))),
        Some("input_file") => {
            Ok(labelled("file", ["filename", "file_url", "file_id", "file_data"].map(|key| text(part, key))))
        }
        Some("input_audio") => Ok(labelled("audio", [at(part, &["input_audio", "format"]).and_then(Value::as_str)])),
        _ => Ok(other(item)),
    }
}

fn call(object: &Object, kind: &str, input: &str) -> Result<Part> {
    // An approval is answered by the item's own id.
    let id_field = if kind == "mcp_approval_request" { "id" } else { "call_id" };
    let id = required_text(object, id_field, id_field)?;
    let name = match kind {
        "function_call" | "custom_tool_call" | "mcp_approval_request" => required_text(object, "name", "name")?,
        _ => tool_name(kind),
    };
    Ok(Part::ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        // Computer calls may hold a list of actions in place of one.
        arguments: arguments(object.get(input).or_else(|| object.get("actions"))),
        provider_executed: false,
    })
}

fn tool_name(kind: &str) -> &str {
    kind.strip_suffix("_call").unwrap_or(kind)
}

fn output(object: &Object, kind: &str) -> Result<Part> {
    if kind == "mcp_approval_response" {
        let approved = object.get("approve").and_then(Value::as_bool).unwrap_or(false);
        return Ok(Part::ToolResult {
            call_id: required_text(object, "approval_request_id", "approval_request_id")?.to_owned(),
            name: None,
            output: if approved { "approved" } else { "denied" }.to_owned(),
            is_error: !approved,
        });
    }
    // The output of a local shell has its call's id under `id`.
    let by_id = kind == "local_shell_call_output" && !object.contains_key("call_id");
    let id_field = if by_id { "id" } else { "call_id" };
    Ok(Part::ToolResult {
        call_id: required_text(object, id_field, id_field)?.to_owned(),
        name: None,
        output: readable(object.get("output")),
        is_error: text(object, "status") == Some("failed"),
    })
}

/// Call and outcome in one, so that neither can be without the other.
fn hosted(object: &Object, kind: &str, input: &str) -> Vec<Part> {
    let id = text(object, "id").unwrap_or(kind).to_owned();
    let name = text(object, "name").unwrap_or(tool_name(kind)).to_owned();
    let error = object.get("error").filter(|error| !error.is_null());
    let outcome = match kind {
        "file_search_call" => readable(object.get("results")),
        "code_interpreter_call" => readable(object.get("outputs")),
        _ => readable(error.or_else(|| object.get("output"))),
    };
    let call = Part::ToolCall {
        id: id.clone(),
        name: name.clone(),
        arguments: arguments(object.get(input)),
        provider_executed: true,
    };
    let is_error = error.is_some() || text(object, "status") == Some("failed");
    vec![call, Part::ToolResult { call_id: id, name: Some(name), output: outcome, is_error }]
}

/// The readable summary, else the open text of the reasoning; nothing where it is encrypted.
fn reasoning(object: &Object) -> String {
    let texts = |field: &str| match object.get(field) {
        Some(Value::Array(items)) => {
            items.iter().filter_map(|item| item.get("text")?.as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    };
    let summary = texts("summary");
    if summary.is_empty() { texts("content") } else { summary }
}

/// What a person can read of an output: texts and logs by line, media by their kind, anything else as JSON.
fn readable(value: Option<&Value>) -> String {
    const TEXTS: [&str; 4] = ["text", "logs", "stdout", "stderr"];
    let lines = |item: &Value| {
        let texts: Vec<&str> =
            TEXTS.iter().filter_map(|key| item.get(key)?.as_str()).filter(|text| !text.is_empty()).collect();
        match item.get("type").and_then(Value::as_str) {
            _ if !texts.is_empty() => texts.join("\n"),
            Some(kind) => format!("[{kind}]"),
            // The output of a command that printed nothing.
            None if item.get("stdout").is_some() => String::new(),
            None => as_text(item),
        }
    };
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::Array(items)) => items.iter().map(lines).collect::<Vec<_>>().join("\n"),
        Some(value @ Value::Object(_)) => lines(value),
        Some(value) => as_text(value),
    }
}

/// The role that a message item names.
pub(super) fn message_role(object: &Object) -> Result<&str> {
    required_text(object, "role", "role").map_err(|_| match object.contains_key("type") {
        true => field_error("role", "a string", object.get("role")),
        false => field_error("type", "the type of an item, or `role` a string", object.get("type")),
    })
}
