//! Gemini `contents`.

use super::{Envelope, Item, STUB_OUTPUT, object_input, texts, with};
use crate::formats::json::Object;
use crate::message::Role;
use serde_json::Value;

pub(super) fn message(envelope: &Envelope<'_>, items: &[Item<'_>]) -> Option<Object> {
    let parts: Vec<Value> = items.iter().filter_map(part).collect();
    if parts.is_empty() {
        return None;
    }
    let role = if envelope.role == Role::Assistant { "model" } else { "user" };
    let mut object = envelope.object(role);
    object.insert("parts".to_owned(), Value::Array(parts));
    Some(object)
}

fn part(item: &Item<'_>) -> Option<Value> {
    Some(match item {
        Item::Native { value, .. } => (*value).clone(),
        Item::Text(text) => texts(&[("text", text)]),
        Item::Part(part) => part.clone(),
        Item::Call { id, name, arguments, .. } => {
            with(texts(&[]), "functionCall", identified(id, name, "args", object_input(arguments)))
        }
        Item::Result { id, name, output, is_error } => response(id, name, output, *is_error),
        Item::Stub { id, name, .. } => response(id, name, STUB_OUTPUT, true),
        Item::Reasoning { .. } => return None,
    })
}

/// A response is an object; the API reads a text under `output`, a failure under `error`.
fn response(id: &str, name: &str, output: &str, is_error: bool) -> Value {
    let field = if is_error { "error" } else { "output" };
    with(texts(&[]), "functionResponse", identified(id, name, "response", texts(&[(field, output)])))
}

/// A call without an id is answered without one.
fn identified(id: &str, name: &str, field: &str, value: Value) -> Value {
    let object = if id.is_empty() { texts(&[("name", name)]) } else { texts(&[("id", id), ("name", name)]) };
    with(object, field, value)
}
