//! LangChain messages, in the three shapes that they have.

use super::{Findings, is_blank, items};
use serde_json::Value;

/// The fields of a message.
fn body(message: &Value) -> &Value {
    if message.get("lc").is_some() && message["kwargs"].is_object() {
        return &message["kwargs"];
    }
    if message["data"].is_object() && message.get("content").is_none() { &message["data"] } else { message }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Speaker {
    Human,
    Ai,
    Tool,
    System,
}

/// Who speaks, by the message's type or its class's name.
fn speaker(message: &Value) -> Speaker {
    let class = message["id"].as_array().and_then(|path| path.last()).and_then(Value::as_str);
    let kind = class.or(message["type"].as_str()).or(body(message)["type"].as_str()).or(body(message)["role"].as_str());
    let kind = kind.unwrap_or_default().to_ascii_lowercase();
    let role = body(message)["role"].as_str().unwrap_or_default();
    match kind.as_str() {
        kind if kind.starts_with("tool") || kind.starts_with("function") => Speaker::Tool,
        kind if kind.starts_with("ai") || kind == "assistant" => Speaker::Ai,
        kind if kind.starts_with("system") || kind.starts_with("developer") => Speaker::System,
        kind if kind.starts_with("chat") || kind.starts_with("generic") => match role {
            "assistant" | "ai" | "model" => Speaker::Ai,
            "system" | "developer" => Speaker::System,
            _ => Speaker::Human,
        },
        _ => Speaker::Human,
    }
}

pub(super) fn check(messages: &[Value], found: &mut Findings) {
    if messages.first().is_some_and(|first| speaker(first) != Speaker::Human) {
        found.add("R9", 0, "the first message is not a human's");
    }
    if messages.last().is_some_and(|last| matches!(speaker(last), Speaker::Ai | Speaker::System)) {
        found.add("R10", messages.len() - 1, "the last message is neither a human's nor a tool's");
    }
    let mut pending: Vec<String> = Vec::new();
    let mut asked = 0;
    for (index, message) in messages.iter().enumerate() {
        let speaker = speaker(message);
        let body = body(message);
        if speaker == Speaker::Tool {
            let by_function = body["name"].as_str().map(|name| format!("function {name}"));
            let id = body["tool_call_id"].as_str().map(str::to_owned).or(by_function);
            match pending.iter().position(|open| Some(open) == id.as_ref()) {
                Some(at) => {
                    pending.remove(at);
                }
                None => found.add("R1", index, "tool message that answers no open call"),
            }
            continue;
        }
        if !pending.is_empty() {
            let rule = if pending.len() < asked { "R5" } else { "R1" };
            found.add(rule, index, "calls are not all answered before the next message");
        }
        pending = if speaker == Speaker::Ai { calls(body) } else { Vec::new() };
        asked = pending.len();
        if super::repeats(pending.iter().map(String::as_str)) {
            found.add("R16", index, "two calls with the same id in one message");
        }
        if speaker == Speaker::System {
            found.add("R12", index, "system message among the messages");
        }
        let says = |block: &Value| match block["type"].as_str() {
            Some("text") => !is_blank(&block["text"]),
            Some("reasoning" | "thinking" | "redacted_thinking" | "reasoning_content") => false,
            _ => !block.is_string() || !is_blank(block),
        };
        if pending.is_empty()
            && is_blank(&body["content"])
            && !items(body, "content").any(says)
            && items(body, "tool_calls").chain(items(body, "invalid_tool_calls")).next().is_none()
        {
            found.add("R14", index, "empty message");
        }
    }
    if !pending.is_empty() {
        found.add("R1", messages.len(), "calls without their answers at the end");
    }
}

/// The ids of the calls of an `ai` message: its own lists, else the provider's; and the blocks that neither has.
fn calls(body: &Value) -> Vec<String> {
    let id = |call: &Value| call["id"].as_str().map(str::to_owned);
    let own = || items(body, "tool_calls").chain(items(body, "invalid_tool_calls"));
    let mut ids: Vec<String> = own().filter_map(id).collect();
    let extra = &body["additional_kwargs"];
    if own().next().is_none() {
        ids.extend(items(extra, "tool_calls").filter(|call| call["function"]["name"].is_string()).filter_map(id));
        if let Some(name) = extra["function_call"]["name"].as_str() {
            ids.push(format!("function {name}"));
        }
    }
    let listed = ids.len();
    for block in items(body, "content").filter(|block| block["type"] == "tool_use" || block["type"] == "tool_call") {
        if let Some(id) = block["id"].as_str().map(str::to_owned)
            && !ids.get(..listed).unwrap_or_default().contains(&id)
        {
            ids.push(id);
        }
    }
    ids
}
