//! OpenAI chat completions.

use super::{Envelope, Item, STUB_OUTPUT, content, texts, with};
use crate::formats::json::Object;
use crate::formats::read::{FUNCTION_CALL_ID_PREFIX, Slot};
use crate::message::Role;
use crate::sorted_map::SortedSet;
use serde_json::Value;

pub(super) fn message(envelope: &Envelope<'_>, items: &[Item<'_>]) -> Option<Object> {
    if let Some(base) = envelope.base {
        return Some(edited(base, items));
    }
    match envelope.role {
        Role::Tool => items.iter().find_map(result),
        Role::User => user(envelope, items),
        Role::Assistant => assistant(envelope, items),
        Role::System => None,
    }
}

/// The caller's own message with some of its parts left out.
fn edited(base: &Object, items: &[Item<'_>]) -> Object {
    let slot = |item: &Item<'_>| match item {
        Item::Native { slot, .. } => Some(*slot),
        _ => None,
    };
    let kept: Vec<Slot> = items.iter().filter_map(slot).collect();
    let mut object = base.clone();
    for field in ["content", "tool_calls"] {
        let kept: SortedSet<usize> = kept
            .iter()
            .filter_map(|slot| match slot {
                Slot::Item(own, index) if *own == field => Some(*index),
                _ => None,
            })
            .collect();
        if let Some(Value::Array(list)) = object.get_mut(field) {
            let mut index = 0;
            list.retain(|_| {
                index += 1;
                kept.contains(&(index - 1))
            });
            if list.is_empty() {
                object.insert(field.to_owned(), Value::Null);
            }
        }
    }
    if object.get("tool_calls").is_some_and(Value::is_null) {
        object.shift_remove("tool_calls");
    }
    if object.get("function_call").is_some() && !kept.contains(&Slot::Field("function_call")) {
        object.shift_remove("function_call");
    }
    object
}

fn result(item: &Item<'_>) -> Option<Object> {
    let (id, name, output) = match item {
        Item::Result { id, name, output, .. } => (id.as_ref(), name.as_str(), *output),
        Item::Stub { id, name, .. } => (id.as_ref(), *name, STUB_OUTPUT),
        _ => return None,
    };
    let message = if matches!(item, Item::Stub { .. }) && id.strip_prefix(FUNCTION_CALL_ID_PREFIX) == Some(name) {
        texts(&[("role", "function"), ("name", name), ("content", output)])
    } else {
        texts(&[("role", "tool"), ("tool_call_id", id), ("content", output)])
    };
    object(message)
}

fn user(envelope: &Envelope<'_>, items: &[Item<'_>]) -> Option<Object> {
    let parts: Vec<Value> = items
        .iter()
        .filter_map(|item| match item {
            Item::Text(text) => Some(texts(&[("type", "text"), ("text", text)])),
            Item::Part(part) => Some(part.clone()),
            _ => None,
        })
        .collect();
    if parts.is_empty() {
        return None;
    }
    object(named(with(texts(&[("role", "user")]), "content", content(parts, false)), envelope))
}

fn assistant(envelope: &Envelope<'_>, items: &[Item<'_>]) -> Option<Object> {
    let mut said: Vec<&str> = Vec::new();
    let mut calls = Vec::new();
    for item in items {
        match item {
            Item::Text(text) => said.push(text),
            Item::Call { id, name, arguments, .. } => {
                let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
                let function = texts(&[("name", name), ("arguments", arguments)]);
                calls.push(with(texts(&[("id", id), ("type", "function")]), "function", function));
            }
            _ => {}
        }
    }
    if said.is_empty() && calls.is_empty() {
        return None;
    }
    let said = if said.is_empty() { Value::Null } else { Value::String(said.join("\n\n")) };
    let mut message = with(texts(&[("role", "assistant")]), "content", said);
    if !calls.is_empty() {
        message = with(message, "tool_calls", Value::Array(calls));
    }
    object(named(message, envelope))
}

fn named(message: Value, envelope: &Envelope<'_>) -> Value {
    match &envelope.name {
        Some(name) => with(message, "name", Value::String(name.clone())),
        None => message,
    }
}

fn object(value: Value) -> Option<Object> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}
