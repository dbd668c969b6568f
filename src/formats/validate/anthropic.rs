//! Anthropic Messages.

use super::{Findings, is, is_blank, items, text};
use crate::sorted_map::SortedSet;
use serde_json::Value;

pub(super) fn check(messages: &[Value], found: &mut Findings) {
    found.check_last_role(messages, &["user"]);
    let mut asked: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        check_content(message, index, found);
        check_results(message, &asked, index, found);
        asked = Vec::new();
        if is(message, "role", "assistant") {
            asked = items(message, "content")
                .filter(|block| is(block, "type", "tool_use"))
                .filter_map(|block| text(block, "id"))
                .collect();
            if asked.iter().collect::<SortedSet<_>>().len() != asked.len() {
                found.add("R16", index, "two calls with the same id in one message");
            }
        } else if items(message, "content").any(|block| is(block, "type", "tool_use")) {
            found.add("R2", index, "a call in a user message");
        }
    }
    if !asked.is_empty() {
        found.add("R2", messages.len(), "calls without the results that must follow");
    }
    check_provider_calls(messages, found);
}

/// R14: no empty message, no blank text block, not thinking alone.
fn check_content(message: &Value, index: usize, found: &mut Findings) {
    let Some(blocks) = message["content"].as_array() else {
        if is_blank(&message["content"]) {
            found.add("R14", index, "empty message");
        }
        return;
    };
    if blocks.iter().any(|block| is(block, "type", "text") && is_blank(&block["text"])) {
        found.add("R14", index, "blank text block");
    }
    if blocks.iter().all(|block| is(block, "type", "thinking") || is(block, "type", "redacted_thinking")) {
        found.add("R14", index, "empty message");
    }
}

/// R2 and R5: the results of this message are exactly the calls of the message before, and stand first.
fn check_results(message: &Value, asked: &[&str], index: usize, found: &mut Findings) {
    let results: Vec<(usize, &str)> = items(message, "content")
        .enumerate()
        .filter(|(_, block)| is(block, "type", "tool_result"))
        .filter_map(|(at, block)| Some((at, text(block, "tool_use_id")?)))
        .collect();
    if results.iter().enumerate().any(|(nth, (at, _))| nth != *at) {
        found.add("R2", index, "tool results are not first in their message");
    }
    if !results.is_empty() && !is(message, "role", "user") {
        found.add("R2", index, "tool results outside a user message");
    }
    let answered: SortedSet<&str> = results.iter().map(|(_, id)| *id).collect();
    if answered.len() != results.len() {
        found.add("R2", index, "a call is answered twice");
    }
    let asked: SortedSet<&str> = asked.iter().copied().collect();
    if answered.iter().any(|id| !asked.contains(id)) {
        found.add("R2", index, "a tool result without its call in the message before");
    }
    if asked.iter().any(|id| !answered.contains(id)) {
        let rule = if answered.is_empty() { "R2" } else { "R5" };
        found.add(rule, index, "a call without its result in the next message");
    }
}

/// Calls that the provider runs itself are answered in the same or a later assistant message.
fn check_provider_calls(messages: &[Value], found: &mut Findings) {
    let mut open = SortedSet::new();
    for (index, message) in messages.iter().enumerate() {
        for block in items(message, "content") {
            let kind = text(block, "type").unwrap_or_default();
            if matches!(kind, "server_tool_use" | "mcp_tool_use") {
                if !open.insert(text(block, "id")) {
                    found.add("R2", index, "the provider's call is repeated before its result");
                }
            } else if kind.ends_with("_tool_result") && !open.remove(&text(block, "tool_use_id")) {
                found.add("R2", index, "a result of the provider's tool without its call");
            }
        }
    }
    if !open.is_empty() {
        found.add("R2", messages.len(), "a call of the provider's tool without its result");
    }
}
