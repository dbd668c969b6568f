//! Gemini `contents`.

use super::{Envelope, Item, STUB_OUTPUT, object_input};
use crate::formats::json::Object;
use crate::message::Role;
use serde_json::{Value, json};

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
        Item::Text(text) => json!({ "text": text }),
        Item::Media(media) => media.clone(),
        Item::Call { id, name, arguments, .. } => {
            json!({ "functionCall": identified(id, name, "args", object_input(arguments)) })
        }
        Item::Result { id, name, output, is_error } => response(id, name, output, *is_error),
        Item::Stub { id, name, .. } => response(id, name, STUB_OUTPUT, true),
        Item::Reasoning { .. } => return None,
    })
}

/// A response is an object; the API reads a text under `output`, a failure under `error`.
fn response(id: &str, name: &str, output: &str, is_error: bool) -> Value {
    let field = if is_error { "error" } else { "output" };
    json!({ "functionResponse": identified(id, name, "response", json!({ field: output })) })
}

/// A call without an id is answered without one.
fn identified(id: &str, name: &str, field: &str, value: Value) -> Value {
    let mut object = Object::new();
    if !id.is_empty() {
        object.insert("id".to_owned(), json!(id));
    }
    object.insert("name".to_owned(), json!(name));
    object.insert(field.to_owned(), value);
    Value::Object(object)
}
