//! Gemini `contents`: parts that are told apart by the one field they have, in the spelling of the API
//! (`functionCall`) or of the Python SDK (`function_call`).
//!
//! Calls and responses pair by `id` where both have one. Else they pair by name and order, as the API does it: the n-th
//! call of a function in a content is answered by the n-th response of that function in the content that follows. So a
//! call or response without an id gets the id [`positional_id`], which is the same on both sides because it says no more
//! than name and place; the next content's calls may have the same ids again, each answered before that. Repair goes
//! further, since it sees both sides: a response without an id answers the call of its place though that has one, else
//! the first call of its name that is still open (as when each response stands in a content of its own).

use super::{Block, Slot, arguments, media, other};
use crate::error::Result;
use crate::formats::json::{Object, as_text, field_error, required_text, text};
use crate::hash::fnv1a;
use crate::message::{Part, Role};
use crate::sorted_map::SortedMap;
use serde_json::Value;

/// How ids begin that stand for a name and a place.
const POSITIONAL_ID_PREFIX: &str = "gemini_call_";
/// Longest name of a function, in bytes, that stands in an id itself; of longer ones a hash does.
const LONGEST_NAME: usize = 22;

/// The id of the n-th call of a function in its content, and of the response to it, where they have none.
fn positional_id(name: &str, n: usize) -> String {
    // Others take letters, digits, `_` and `-` in ids, and OpenAI no more than 40 of them.
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if is_plain && name.len() <= LONGEST_NAME {
        return format!("{POSITIONAL_ID_PREFIX}{name}_{n}");
    }
    format!("{POSITIONAL_ID_PREFIX}{:016x}_{n}", fnv1a(name.bytes()))
}

/// Whether an id was made from name and place.
pub(in crate::formats) fn is_positional_id(id: &str) -> bool {
    id.starts_with(POSITIONAL_ID_PREFIX)
}

/// The fields of which a part has one, in both spellings. A call counts before a text that should not be there.
const PAYLOADS: [(&str, &str); 9] = [
    ("inlineData", "inline_data"),
    ("fileData", "file_data"),
    ("functionCall", "function_call"),
    ("functionResponse", "function_response"),
    ("executableCode", "executable_code"),
    ("codeExecutionResult", "code_execution_result"),
    ("toolCall", "tool_call"),
    ("toolResponse", "tool_response"),
    ("text", "text"),
];

const PROVIDER_RUN: [&str; 4] = ["executableCode", "codeExecutionResult", "toolCall", "toolResponse"];

/// Fields beside the one that makes the part.
const METADATA: [&str; 7] = [
    "thought",
    "thoughtSignature",
    "thought_signature",
    "videoMetadata",
    "video_metadata",
    "partMetadata",
    "mediaResolution",
];

/// A field under either of its names.
pub(in crate::formats) fn field<'a>(object: &'a Object, name: &str, snake: &str) -> Option<&'a Value> {
    object.get(name).or_else(|| object.get(snake))
}

/// The name and the value of the field that makes a part.
fn payload(part: &Object) -> Option<(&'static str, &Value)> {
    PAYLOADS.iter().find_map(|(name, snake)| Some((*name, field(part, name, snake)?)))
}

/// Whether an object with these `parts` is a content: its role or a part is of a kind that only Gemini has. Parts of the
/// AI SDK have a `type`.
pub(in crate::formats) fn is_content(object: &Object, parts: &[Value]) -> bool {
    let is_own =
        |part: &Value| part.as_object().is_some_and(|part| !part.contains_key("type") && payload(part).is_some());
    matches!(text(object, "role"), Some("model" | "function")) || parts.iter().any(is_own)
}

pub(super) fn blocks(object: &Object, role: Role) -> Result<Vec<Block>> {
    let Some(Value::Array(items)) = object.get("parts") else {
        return Err(field_error("parts", "an array", object.get("parts")));
    };
    let mut places = Places::default();
    // What the API runs itself stands in contents of the model.
    let is_misplaced = |part: &Value| {
        let kind = part.as_object().and_then(payload).map_or("text", |(kind, _)| kind);
        role != Role::Assistant && PROVIDER_RUN.contains(&kind)
    };
    items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let mut part = match item.as_object().filter(|_| is_misplaced(item)) {
                Some(part) => unknown(part),
                None => part(item, index, &mut places)?,
            };
            // Responses to functions are the user's: in a content of the model such a one answers nothing.
            let is_response = item.get("functionResponse").or_else(|| item.get("function_response")).is_some();
            if let (Part::ToolResult { call_id, .. }, Role::Assistant, true) = (&mut part, role, is_response) {
                call_id.insert_str(0, "misplaced ");
            }
            Ok(Block { part, slot: Slot::Item("parts", index) })
        })
        .collect()
}

/// How many calls and responses of each function there were.
#[derive(Default)]
pub(in crate::formats) struct Places(SortedMap<(bool, String), usize>);

impl Places {
    /// The id by name and place of the next call (or response) of this function.
    pub fn next_id(&mut self, is_call: bool, name: &str) -> String {
        let count = self.0.get_or_default((is_call, name.to_owned()));
        *count += 1;
        positional_id(name, *count - 1)
    }
}

fn part(item: &Value, index: usize, places: &mut Places) -> Result<Part> {
    let Value::Object(object) = item else {
        return Ok(item.as_str().map_or_else(|| other(item), |text| Part::Text(text.to_owned())));
    };
    let Some((kind, value)) = payload(object) else { return Ok(unknown(object)) };
    let path = |key: &str| format!("parts[{index}].{kind}{key}");
    if kind == "text" {
        let Value::String(text) = value else { return Err(field_error(&path(""), "a string", Some(value))) };
        let is_thought = object.get("thought").and_then(Value::as_bool).unwrap_or(false);
        return Ok(if is_thought { Part::Reasoning(text.clone()) } else { Part::Text(text.clone()) });
    }
    let Value::Object(inner) = value else { return Err(field_error(&path(""), "an object", Some(value))) };
    let mime_type = field(inner, "mimeType", "mime_type").and_then(Value::as_str);
    let name_of = |inner, key: &str| required_text(inner, key, &path(&format!(".{key}"))).map(str::to_owned);
    let mut id_of = |is_call, name: &str| {
        let by_place = places.next_id(is_call, name);
        text(inner, "id").filter(|id| !id.is_empty()).map_or(by_place, str::to_owned)
    };
    Ok(match kind {
        "inlineData" => media(mime_type.unwrap_or_default(), &[text(inner, "displayName")]),
        "fileData" => {
            let uri = field(inner, "fileUri", "file_uri").and_then(Value::as_str);
            media(mime_type.unwrap_or_default(), &[text(inner, "displayName"), uri])
        }
        "functionCall" => {
            let name = name_of(inner, "name")?;
            let arguments = arguments(inner.get("args"));
            Part::ToolCall { id: id_of(true, &name), name, arguments, provider_executed: false }
        }
        "functionResponse" => {
            let name = name_of(inner, "name")?;
            let (output, is_error) = response(inner.get("response"));
            Part::ToolResult { call_id: id_of(false, &name), name: Some(name), output, is_error }
        }
        "executableCode" => provider_call("code_execution", inner.get("code"), &mut id_of),
        "toolCall" => provider_call(&tool_type(inner), inner.get("args"), &mut id_of),
        "codeExecutionResult" => {
            let outcome = text(inner, "outcome").unwrap_or("OUTCOME_OK");
            let output = inner.get("output").map(as_text).unwrap_or_default();
            provider_result("code_execution", output, outcome != "OUTCOME_OK", &mut id_of)
        }
        _ => {
            let (output, is_error) = response(inner.get("response"));
            provider_result(&tool_type(inner), output, is_error, &mut id_of)
        }
    })
}

fn tool_type(inner: &Object) -> String {
    field(inner, "toolType", "tool_type").and_then(Value::as_str).unwrap_or("tool").to_owned()
}

type Ids<'a> = &'a mut dyn FnMut(bool, &str) -> String;

fn provider_call(name: &str, input: Option<&Value>, ids: Ids<'_>) -> Part {
    Part::ToolCall { id: ids(true, name), name: name.to_owned(), arguments: arguments(input), provider_executed: true }
}

fn provider_result(name: &str, output: String, is_error: bool, ids: Ids<'_>) -> Part {
    Part::ToolResult { call_id: ids(false, name), name: Some(name.to_owned()), output, is_error }
}

/// Text of a response, and whether it tells of a failure. The API has `output` and `error` for a response that is one
/// text; `result` is what its examples use.
fn response(value: Option<&Value>) -> (String, bool) {
    if let Some(Value::Object(fields)) = value
        && fields.len() == 1
    {
        for key in ["output", "result", "error"] {
            if let Some(text) = text(fields, key) {
                return (text.to_owned(), key == "error");
            }
        }
    }
    (arguments(value), false)
}

/// A part of a kind that is not known, named by the field that makes it; one of metadata alone by that.
fn unknown(part: &Object) -> Part {
    let own = part.keys().find(|key| !METADATA.contains(&key.as_str())).or_else(|| part.keys().next());
    let kind = text(part, "type").or(own.map(String::as_str)).unwrap_or("empty part");
    Part::Other { kind: kind.to_owned() }
}
