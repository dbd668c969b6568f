//! AI SDK `UIMessage`: call and result become one part.

use super::{Envelope, Item, STUB_OUTPUT, input, texts, with};
use crate::formats::json::Object;
use crate::message::{Part, Role};
use crate::sorted_map::{SortedMap, SortedSet};
use serde_json::{Value, json};

pub(super) fn message(envelope: &Envelope<'_>, items: &[Item<'_>]) -> Option<Object> {
    let mut writer = Writer::default();
    items.iter().for_each(|item| writer.push(item));
    if writer.parts.is_empty() {
        return None;
    }
    let role = if envelope.role == Role::User { "user" } else { "assistant" };
    let mut object = match envelope.base {
        Some(base) => base.clone(),
        None => Object::from_iter([("id".to_owned(), json!(envelope.id)), ("role".to_owned(), json!(role))]),
    };
    object.insert("parts".to_owned(), Value::Array(writer.parts));
    Some(object)
}

#[derive(Default)]
struct Writer {
    parts: Vec<Value>,
    /// Native parts that are there already: one holds several items.
    written: SortedSet<*const Value>,
    /// Positions in `parts` of the parts with this call id: the provider's call may have the id of one of the client's.
    calls: SortedMap<String, Vec<usize>>,
}

impl Writer {
    fn push(&mut self, item: &Item<'_>) {
        match item {
            Item::Native { value, part, .. } => self.push_native(value, part),
            Item::Text(text) => self.parts.push(texts(&[("type", "text"), ("text", text)])),
            Item::Part(part) => self.parts.push(part.clone()),
            Item::Reasoning { text, metadata } => {
                let part = texts(&[("type", "reasoning"), ("text", text)]);
                self.parts.push(match metadata {
                    Some(metadata) => with(part, "providerMetadata", (*metadata).clone()),
                    None => part,
                });
            }
            Item::Call { id, name, arguments, provider_executed } => {
                self.calls.get_or_default(id.to_string()).push(self.parts.len());
                let call = texts(&[
                    ("type", "dynamic-tool"),
                    ("toolName", name),
                    ("toolCallId", id),
                    ("state", "input-available"),
                ]);
                let part = with(call, "input", input(arguments));
                let part = if *provider_executed { with(part, "providerExecuted", Value::Bool(true)) } else { part };
                self.parts.push(part);
            }
            Item::Result { id, output, is_error, .. } => self.answer(id, output, *is_error),
            Item::Stub { id, .. } => self.answer(id, STUB_OUTPUT, true),
        }
    }

    fn push_native(&mut self, value: &Value, part: &Part) {
        match part {
            // Both stand in the part of their call; a result whose own call was left out answers the other one.
            Part::Other { kind } if kind.starts_with("tool-approval-") => return,
            Part::ToolResult { call_id, output, is_error, .. } => {
                if !self.written.contains(&std::ptr::from_ref(value)) {
                    self.answer(call_id, output, *is_error);
                }
                return;
            }
            _ => {}
        }
        if !self.written.insert(value) {
            return;
        }
        if let Part::ToolCall { id, .. } = part {
            self.calls.get_or_default(id.clone()).push(self.parts.len());
        }
        self.parts.push(value.clone());
    }

    /// Puts a result into the part of its call: the last that has none, else the last.
    fn answer(&mut self, id: &str, output: &str, is_error: bool) {
        let Some(calls) = self.calls.get(id) else { return };
        let is_open = |at: &&usize| self.parts.get(**at).is_some_and(|part| !is_answered(part));
        let Some(&at) = calls.iter().rev().find(is_open).or(calls.last()) else { return };
        let Some(part) = self.parts.get_mut(at).and_then(Value::as_object_mut) else { return };
        if let Some(Value::Object(invocation)) = part.get_mut("toolInvocation") {
            invocation.insert("state".to_owned(), json!("result"));
            invocation.insert("result".to_owned(), json!(output));
            return;
        }
        let (state, field) = if is_error { ("output-error", "errorText") } else { ("output-available", "output") };
        part.insert("state".to_owned(), json!(state));
        part.entry("input").or_insert_with(|| json!({}));
        part.insert(field.to_owned(), json!(output));
    }
}

fn is_answered(part: &Value) -> bool {
    let state = part["toolInvocation"].get("state").or_else(|| part.get("state")).and_then(Value::as_str);
    matches!(state, Some("output-available" | "output-error" | "output-denied" | "result"))
}
