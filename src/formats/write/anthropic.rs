//! Anthropic Messages.

use super::{Envelope, Item, STUB_OUTPUT, content, listed, object_input, texts, with};
use crate::formats::json::Object;
use crate::message::Role;
use serde_json::Value;

pub(super) fn message(envelope: &Envelope<'_>, items: &[Item<'_>]) -> Option<Object> {
    let mut blocks: Vec<Value> = items.iter().filter_map(block).collect();
    // Results are first already (R2): elements of results stand in front of what their message says.
    drop_thinking_made_adjacent(items, &mut blocks);
    if blocks.is_empty() {
        return None;
    }
    let role = if envelope.role == Role::Assistant { "assistant" } else { "user" };
    let mut object = envelope.object(role);
    let had_list = envelope.base.and_then(|base| base.get("content")).is_some_and(Value::is_array);
    object.insert("content".to_owned(), content(blocks, had_list));
    Some(object)
}

fn block(item: &Item<'_>) -> Option<Value> {
    Some(match item {
        Item::Native { value, .. } => listed(value),
        Item::Text(text) => texts(&[("type", "text"), ("text", text)]),
        Item::Part(part) => part.clone(),
        Item::Call { id, name, arguments, .. } => {
            with(texts(&[("type", "tool_use"), ("id", id), ("name", name)]), "input", object_input(arguments))
        }
        Item::Result { id, output, is_error, .. } => {
            let block = texts(&[("type", "tool_result"), ("tool_use_id", id), ("content", output)]);
            if *is_error { with(block, "is_error", Value::Bool(true)) } else { block }
        }
        Item::Stub { id, .. } => texts(&[("type", "tool_result"), ("tool_use_id", id), ("content", STUB_OUTPUT)]),
        Item::Reasoning { .. } => return None,
    })
}

/// Two thinking blocks must not become neighbours because what stood between them was left out (R17): then the later
/// ones go too. Thinking of earlier turns may be left out whole.
fn drop_thinking_made_adjacent(items: &[Item<'_>], blocks: &mut Vec<Value>) {
    let is_thinking = |block: &Value| block["type"] == "thinking" || block["type"] == "redacted_thinking";
    let positions: Vec<Option<usize>> = items
        .iter()
        .map(|item| match item {
            Item::Native { slot: crate::formats::read::Slot::Item(_, index), value, .. } if is_thinking(value) => {
                Some(*index)
            }
            _ => None,
        })
        .collect();
    let torn = positions.windows(2).any(|pair| matches!(pair, [Some(first), Some(second)] if *second != first + 1));
    if torn {
        blocks.retain(|block| !is_thinking(block));
    }
}
