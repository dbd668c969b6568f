//! AI SDK `ModelMessage`.

use super::{Envelope, Item, STUB_OUTPUT, content, input, listed};
use crate::formats::json::Object;
use crate::message::Role;
use serde_json::{Value, json};

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
        Item::Text(text) => json!({ "type": "text", "text": text }),
        Item::Media(media) => media.clone(),
        Item::Reasoning { text, metadata } => {
            let mut part = json!({ "type": "reasoning", "text": text });
            if let Some(metadata) = metadata {
                part["providerOptions"] = (*metadata).clone();
            }
            part
        }
        Item::Call { id, name, arguments, provider_executed } => {
            let mut part =
                json!({ "type": "tool-call", "toolCallId": id, "toolName": name, "input": input(arguments) });
            if *provider_executed {
                part["providerExecuted"] = json!(true);
            }
            part
        }
        Item::Result { id, name, output, is_error } => {
            let kind = if *is_error { "error-text" } else { "text" };
            result(id, name, kind, output)
        }
        Item::Stub { id, name, .. } => result(id, name, "error-text", STUB_OUTPUT),
    }
}

fn result(id: &str, name: &str, kind: &str, output: &str) -> Value {
    json!({ "type": "tool-result", "toolCallId": id, "toolName": name, "output": { "type": kind, "value": output } })
}
