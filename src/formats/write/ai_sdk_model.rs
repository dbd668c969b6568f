//! AI SDK `ModelMessage`.

use super::{Envelope, Item, STUB_OUTPUT, content, input, listed, texts, with};
use crate::formats::json::Object;
use crate::message::Role;
use serde_json::Value;

pub(super) fn message(envelope: &Envelope<'_>, items: &[Item<'_>]) -> Option<Object> {
    let parts: Vec<Value> = items.iter().map(part).collect();
    let mut object = envelope.object(envelope.role.as_str());
    let had_list = envelope.base.and_then(|base| base.get("content")).is_some_and(Value::is_array);
    object.insert("content".to_owned(), content(parts, had_list || envelope.role == Role::Tool));
    Some(object)
}

fn part(item: &Item<'_>) -> Value {
    match item {
        Item::Native { value, .. } => listed(value),
        Item::Text(text) => texts(&[("type", "text"), ("text", text)]),
        Item::Part(part) => part.clone(),
        Item::Reasoning { text, metadata } => {
            let part = texts(&[("type", "reasoning"), ("text", text)]);
            match metadata {
                Some(metadata) => with(part, "providerOptions", (*metadata).clone()),
                None => part,
            }
        }
        Item::Call { id, name, arguments, provider_executed } => {
            let call = texts(&[("type", "tool-call"), ("toolCallId", id), ("toolName", name)]);
            let part = with(call, "input", input(arguments));
            if *provider_executed { with(part, "providerExecuted", Value::Bool(true)) } else { part }
        }
        Item::Result { id, name, output, is_error } => {
            let kind = if *is_error { "error-text" } else { "text" };
            result(id, name, kind, output)
        }
        Item::Stub { id, name, .. } => result(id, name, "error-text", STUB_OUTPUT),
    }
}

fn result(id: &str, name: &str, kind: &str, output: &str) -> Value {
    let result = texts(&[("type", "tool-result"), ("toolCallId", id), ("toolName", name)]);
    with(result, "output", texts(&[("type", kind), ("value", output)]))
}
