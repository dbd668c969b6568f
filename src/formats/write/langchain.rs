//! LangChain messages in their stored form, `{type, data}`; an edited message keeps the shape it came in.

use super::{Envelope, Item, STUB_OUTPUT, content, listed, object_input, texts, with};
use crate::formats::json::Object;
use crate::formats::read::{LANGCHAIN_FUNCTION_CALL_ID_PREFIX, Slot, langchain_body_field};
use crate::message::{Part, Role};
use crate::sorted_map::SortedSet;
use serde_json::Value;

pub(super) fn message(envelope: &Envelope<'_>, items: &[Item<'_>]) -> Option<Object> {
    if let Some(base) = envelope.base {
        return Some(edited(base, items));
    }
    let (kind, mut data) = match envelope.role {
        Role::Tool => items.iter().find_map(result)?,
        Role::User => ("human", said(items)?),
        Role::Assistant => ("ai", said(items)?),
        Role::System => return None,
    };
    if let Some(name) = envelope.name.as_ref().filter(|_| envelope.role != Role::Tool) {
        data.insert("name".to_owned(), Value::String(name.clone()));
    }
    into_object(with(texts(&[("type", kind)]), "data", Value::Object(data)))
}

fn said(items: &[Item<'_>]) -> Option<Object> {
    let (mut parts, mut calls) = (Vec::new(), Vec::new());
    for item in items {
        match item {
            Item::Native { value, slot: Slot::Item("content", _) | Slot::Field("content"), .. } => {
                parts.push(listed(value));
            }
            Item::Text(text) => parts.push(texts(&[("type", "text"), ("text", text)])),
            Item::Part(part) => parts.push(part.clone()),
            Item::Call { id, name, arguments, .. } => {
                let call = texts(&[("name", name), ("id", id), ("type", "tool_call")]);
                calls.push(with(call, "args", object_input(arguments)));
            }
            _ => {}
        }
    }
    if parts.is_empty() && calls.is_empty() {
        return None;
    }
    let content = if parts.is_empty() { Value::String(String::new()) } else { content(parts, false) };
    let mut data = with(texts(&[]), "content", content);
    if !calls.is_empty() {
        data = with(data, "tool_calls", Value::Array(calls));
    }
    into_object(data)
}

fn result(item: &Item<'_>) -> Option<(&'static str, Object)> {
    let (id, name, output, is_error) = match item {
        Item::Result { id, name, output, is_error } => (id.as_ref(), name.as_str(), *output, *is_error),
        Item::Stub { id, name, .. } => (id.as_ref(), *name, STUB_OUTPUT, true),
        _ => return None,
    };
    let is_function = matches!(item, Item::Stub { call: Some(_), .. })
        && id.strip_prefix(LANGCHAIN_FUNCTION_CALL_ID_PREFIX) == Some(name);
    let (kind, data) = match is_function {
        true => ("function", texts(&[("content", output), ("name", name)])),
        false => {
            let status = if is_error { "error" } else { "success" };
            ("tool", texts(&[("content", output), ("tool_call_id", id), ("name", name), ("status", status)]))
        }
    };
    Some((kind, into_object(data)?))
}

fn into_object(value: Value) -> Option<Object> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// The caller's own message with some of its parts left out. A call may stand in several places: under `tool_calls`, as
/// a block of the content, and as the provider gave it.
fn edited(base: &Object, items: &[Item<'_>]) -> Object {
    let mut object = base.clone();
    let body = match langchain_body_field(base) {
        Some(field) => object.get_mut(field).and_then(Value::as_object_mut),
        None => Some(&mut object),
    };
    let Some(body) = body else { return object };
    let mut kept_slots: SortedSet<(&str, usize)> = SortedSet::new();
    // Those of the content have no copies elsewhere.
    let mut kept_calls: SortedSet<&str> = SortedSet::new();
    for item in items {
        let Item::Native { slot, part, .. } = item else { continue };
        if let Slot::Item(field, index) = slot {
            kept_slots.insert((field, *index));
        }
        if let (Part::ToolCall { id, .. }, false) = (part, matches!(slot, Slot::Item("content", _))) {
            kept_calls.insert(id);
        }
    }
    for field in ["content", "tool_calls", "invalid_tool_calls"] {
        let Some(Value::Array(list)) = body.get_mut(field) else { continue };
        let mut index = 0;
        list.retain(|item| {
            index += 1;
            let is_copy = matches!(item["type"].as_str(), Some("tool_use" | "tool_call"))
                && field == "content"
                && item["id"].as_str().is_some_and(|id| kept_calls.contains(id));
            kept_slots.contains(&(field, index - 1)) || is_copy
        });
        if list.is_empty() && field == "content" {
            body.insert(field.to_owned(), Value::String(String::new()));
        }
    }
    if let Some(Value::Object(extra)) = body.get_mut("additional_kwargs") {
        let mut written: SortedSet<String> = SortedSet::new();
        if let Some(Value::Array(calls)) = extra.get_mut("tool_calls") {
            // What was not read as a call was none, whatever its id.
            calls.retain(|call| {
                call["function"]["name"].is_string()
                    && call["id"].as_str().is_some_and(|id| kept_calls.contains(id) && written.insert(id.to_owned()))
            });
        }
        let function = extra.get("function_call").and_then(|call| call["name"].as_str());
        let id = function.map(|name| format!("{LANGCHAIN_FUNCTION_CALL_ID_PREFIX}{name}"));
        if id.is_some_and(|id| !kept_calls.contains(id.as_str())) {
            extra.shift_remove("function_call");
        }
    }
    object
}
