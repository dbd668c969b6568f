//! OpenAI Responses: the items of a request's `input`.

use super::{Findings, is_blank, items};
use serde_json::Value;

/// Who an item comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    User,
    Output,
    Assistant,
}

fn origin(item: &Value) -> Origin {
    match (item["type"].as_str(), item["role"].as_str()) {
        (Some("mcp_approval_response"), _) => Origin::Output,
        (Some(kind), _) if kind.strip_suffix("_output").is_some_and(is_owing) => Origin::Output,
        (None | Some("message"), Some("user")) => Origin::User,
        _ => Origin::Assistant,
    }
}

/// Whether calls of this type are run by the client.
fn is_owing(kind: &str) -> bool {
    matches!(
        kind,
        "function_call" | "custom_tool_call" | "computer_call" | "local_shell_call" | "shell_call" | "apply_patch_call"
    )
}

/// The id that this item's output must name, where it owes one.
fn owed(item: &Value) -> Option<&str> {
    match item["type"].as_str()? {
        "mcp_approval_request" => item["id"].as_str(),
        kind if is_owing(kind) => item["call_id"].as_str(),
        _ => None,
    }
}

/// The id that an output names.
fn answered(item: &Value) -> Option<&str> {
    match item["type"].as_str()? {
        "mcp_approval_response" => item["approval_request_id"].as_str(),
        "local_shell_call_output" if item.get("call_id").is_none() => item["id"].as_str(),
        _ => item["call_id"].as_str(),
    }
}

pub(super) fn check(input: &[Value], found: &mut Findings) {
    if input.first().is_some_and(|first| origin(first) != Origin::User) {
        found.add("R9", 0, "the first item is not a user's message");
    }
    if input.last().is_some_and(|last| origin(last) == Origin::Assistant) {
        found.add("R10", input.len() - 1, "the last item is neither a user's message nor an output");
    }
    let mut open: Vec<&str> = Vec::new();
    let (mut asked, mut references) = (0, 0);
    for (index, item) in input.iter().enumerate() {
        let origin = origin(item);
        if origin == Origin::Output {
            match open.iter().position(|id| Some(*id) == answered(item)) {
                Some(at) => {
                    open.remove(at);
                }
                // It may answer a call that is only referred to.
                None if references > 0 => references -= 1,
                None => found.add("R4", index, "an output that answers no open call"),
            }
        } else if let Some(id) = owed(item) {
            if open.contains(&id) {
                found.add("R16", index, "a call with the id of one that is still open");
            }
            open.push(id);
            asked = open.len();
        } else if item["type"] == "item_reference" {
            references += 1;
        } else if origin == Origin::User {
            references = 0;
            close(&mut open, asked, index, found);
        }
        check_says_something(item, index, found);
        let leads_on = || input.get(index + 1).is_some_and(|next| self::origin(next) == Origin::Assistant);
        if item["type"] == "reasoning" && !leads_on() {
            found.add("R19", index, "reasoning without the item that it led to");
        }
    }
    close(&mut open, asked, input.len(), found);
}

fn close(open: &mut Vec<&str>, asked: usize, index: usize, found: &mut Findings) {
    if !open.is_empty() {
        found.add(if open.len() < asked { "R5" } else { "R4" }, index, "a call without its output");
    }
    open.clear();
}

/// R14, for messages.
fn check_says_something(item: &Value, index: usize, found: &mut Findings) {
    if !matches!(item["type"].as_str(), None | Some("message")) {
        return;
    }
    let says = |part: &Value| {
        let text = [part, &part["text"], &part["refusal"]].into_iter().any(|text| !is_blank(text));
        let is_text = part.is_string()
            || matches!(part["type"].as_str(), Some("input_text" | "output_text" | "text" | "refusal"));
        text || !is_text
    };
    if is_blank(&item["content"]) && !items(item, "content").any(says) {
        found.add("R14", index, "empty message");
    }
}
