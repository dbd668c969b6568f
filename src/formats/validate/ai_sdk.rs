//! AI SDK: `ModelMessage` as the SDK checks it before sending, `UIMessage` as its conversion takes it.

use super::{Findings, is, is_blank, items, text};
use crate::sorted_map::{SortedMap, SortedSet};
use serde_json::Value;

pub(super) fn check_model(messages: &[Value], found: &mut Findings) {
    found.check_last_role(messages, &["user", "tool"]);
    let mut open: SortedSet<&str> = SortedSet::new();
    let mut asked = 0;
    // Calls by the request for approval.
    let mut requests: SortedMap<&str, &str> = SortedMap::new();
    let mut approved: SortedSet<&str> = SortedSet::new();
    for (index, message) in messages.iter().enumerate() {
        if is(message, "role", "tool") {
            for part in items(message, "content") {
                if is(part, "type", "tool-result") && !text(part, "toolCallId").is_some_and(|id| open.remove(id)) {
                    found.add("R6", index, "a tool result that answers no open call");
                }
                if is(part, "type", "tool-approval-response") {
                    match text(part, "approvalId").and_then(|request| requests.get(request)) {
                        Some(call) => drop(approved.insert(*call)),
                        // The SDK looks at the last message only.
                        None if index + 1 == messages.len() => {
                            found.add("R6", index, "an answer to a request for approval that is not there");
                        }
                        None => {}
                    }
                }
            }
            if items(message, "content").next().is_none() {
                found.add("R14", index, "empty message");
            }
            continue;
        }
        report_open(&open, asked, index, found);
        open.clear();
        approved.clear();
        let says = |part: &Value| match text(part, "type") {
            Some("text") => !is_blank(&part["text"]),
            kind => !matches!(kind, Some("reasoning" | "tool-approval-request")),
        };
        if is_blank(&message["content"]) && !items(message, "content").any(says) {
            found.add("R14", index, "empty message");
        }
        if is(message, "role", "assistant") {
            let is_client_call = |part: &&Value| is(part, "type", "tool-call") && part["providerExecuted"] != true;
            let calls: Vec<&str> =
                items(message, "content").filter(is_client_call).filter_map(|part| text(part, "toolCallId")).collect();
            asked = calls.len();
            open = calls.into_iter().collect();
            if open.len() != asked {
                found.add("R16", index, "two calls with the same id in one message");
            }
            for part in items(message, "content").filter(|part| is(part, "type", "tool-approval-request")) {
                if let (Some(request), Some(call)) = (text(part, "approvalId"), text(part, "toolCallId")) {
                    requests.insert(request, call);
                }
            }
        }
    }
    // The SDK runs approved calls itself when it gets the messages.
    for call in approved.iter() {
        open.remove(call);
    }
    report_open(&open, asked, messages.len(), found);
}

fn report_open(open: &SortedSet<&str>, asked: usize, index: usize, found: &mut Findings) {
    if !open.is_empty() {
        found.add(if open.len() < asked { "R5" } else { "R6" }, index, "a call without its result");
    }
}

pub(super) fn check_ui(messages: &[Value], found: &mut Findings) {
    for (index, message) in messages.iter().enumerate() {
        let is_last = index + 1 == messages.len();
        let mut ids = SortedSet::new();
        for tool in items(message, "parts").filter_map(Tool::of) {
            let runs_next = is_last && tool.is_approved;
            if !tool.is_done && !runs_next {
                found.add("R6", index, "a call without its result");
            }
            // A message of several steps may use an id again in another step.
            if !ids.insert((tool.id, tool.is_client, step_of(message, tool.part))) {
                found.add("R16", index, "two calls with the same id in one step");
            }
        }
        if !items(message, "parts").any(says) {
            found.add("R14", index, "empty message");
        }
    }
    let Some(last) = messages.last() else { return };
    if !is(last, "role", "user") && !ends_on_results(last) {
        found.add("R10", messages.len() - 1, "the last message is neither a user's nor ends on tool results");
    }
}

struct Tool<'a> {
    part: &'a Value,
    id: &'a str,
    is_done: bool,
    is_approved: bool,
    is_client: bool,
}

impl<'a> Tool<'a> {
    fn of(part: &'a Value) -> Option<Self> {
        let kind = text(part, "type")?;
        if kind == "tool-invocation" {
            let inner = &part["toolInvocation"];
            let id = text(inner, "toolCallId")?;
            return Some(Self { part, id, is_done: is(inner, "state", "result"), is_approved: false, is_client: true });
        }
        if kind != "dynamic-tool" && !kind.starts_with("tool-") {
            return None;
        }
        let state = text(part, "state").unwrap_or_default();
        Some(Self {
            part,
            id: text(part, "toolCallId")?,
            is_done: matches!(state, "output-available" | "output-error" | "output-denied"),
            is_approved: state == "approval-responded",
            is_client: part["providerExecuted"] != true,
        })
    }
}

fn step_of(message: &Value, part: &Value) -> usize {
    items(message, "parts")
        .take_while(|other| !std::ptr::eq(*other, part))
        .filter(|other| is(other, "type", "step-start"))
        .count()
}

fn says(part: &Value) -> bool {
    match text(part, "type") {
        Some("text") => !is_blank(&part["text"]),
        Some("step-start" | "reasoning" | "reasoning-file" | "source-url" | "source-document") => false,
        Some(kind) => !kind.starts_with("data-"),
        None => true,
    }
}

/// Whether the last step that says anything has calls of the client, so that what is sent ends on their results.
fn ends_on_results(message: &Value) -> bool {
    let (mut has_client_tool, mut has_said) = (false, false);
    for part in items(message, "parts").rev() {
        if is(part, "type", "step-start") && has_said {
            return has_client_tool;
        }
        has_said |= says(part);
        has_client_tool |= Tool::of(part).is_some_and(|tool| tool.is_client);
    }
    has_client_tool
}
