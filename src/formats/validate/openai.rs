//! OpenAI chat completions.

use super::{Findings, is, is_blank, items, text};
use crate::sorting;
use serde_json::Value;

pub(super) fn check(messages: &[Value], found: &mut Findings) {
    found.check_last_role(messages, &["user", "tool", "function"]);
    let mut pending: Vec<&str> = Vec::new();
    let mut asked = 0;
    let mut function: Option<&Value> = None;
    for (index, message) in messages.iter().enumerate() {
        match text(message, "role") {
            Some("tool") => {
                let id = text(message, "tool_call_id");
                match pending.iter().position(|call| Some(*call) == id) {
                    Some(at) => {
                        pending.remove(at);
                    }
                    None => found.add("R1", index, "tool message that answers no open call"),
                }
                continue;
            }
            Some("function") => {
                if function.take().is_none_or(|name| *name != message["name"]) {
                    found.add("R1", index, "function message without its call");
                }
                continue;
            }
            Some("assistant") => {}
            _ => check_user(message, index, found),
        }
        close(&mut pending, asked, index, found);
        function = None;
        if is(message, "role", "assistant") {
            check_assistant(message, index, found);
            pending = items(message, "tool_calls").filter_map(|call| text(call, "id")).collect();
            asked = pending.len();
            let mut unique = pending.clone();
            sorting::sort(&mut unique);
            unique.dedup();
            if unique.len() != asked {
                found.add("R16", index, "two calls with the same id in one message");
            }
            function = message.get("function_call").filter(|call| call.is_object()).map(|call| &call["name"]);
        }
    }
    close(&mut pending, asked, messages.len(), found);
    if function.is_some() {
        found.add("R1", messages.len(), "function call without its answer");
    }
}

fn close(pending: &mut Vec<&str>, asked: usize, index: usize, found: &mut Findings) {
    if !pending.is_empty() {
        let rule = if pending.len() < asked { "R5" } else { "R1" };
        found.add(rule, index, "calls are not all answered before the next message");
    }
    pending.clear();
}

fn check_user(message: &Value, index: usize, found: &mut Findings) {
    let says = |part: &Value| !is(part, "type", "text") || !is_blank(&part["text"]);
    if is_blank(&message["content"]) && !items(message, "content").any(says) {
        found.add("R14", index, "empty message");
    }
}

fn check_assistant(message: &Value, index: usize, found: &mut Findings) {
    let says = |part: &Value| {
        !matches!(text(part, "type"), Some("text" | "refusal"))
            || !is_blank(&part["text"])
            || !is_blank(&part["refusal"])
    };
    let empty = is_blank(&message["content"])
        && !items(message, "content").any(says)
        && items(message, "tool_calls").next().is_none()
        && !message["function_call"].is_object()
        && !message["audio"].is_object()
        && is_blank(&message["refusal"]);
    if empty {
        found.add("R14", index, "empty message");
    }
}
