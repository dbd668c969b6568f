//! Gemini `contents`, in both spellings of their fields.

use super::{Findings, is_blank, items, text};
use serde_json::Value;

fn field<'a>(part: &'a Value, name: &str, snake: &str) -> Option<&'a Value> {
    part.get(name).or_else(|| part.get(snake)).filter(|value| !value.is_null())
}

fn calls(content: &Value) -> impl Iterator<Item = (&Value, &Value)> {
    items(content, "parts").filter_map(|part| Some((part, field(part, "functionCall", "function_call")?)))
}

fn responses(content: &Value) -> Vec<(usize, &Value)> {
    let found = items(content, "parts").enumerate();
    found.filter_map(|(at, part)| Some((at, field(part, "functionResponse", "function_response")?))).collect()
}

fn is_model(content: &Value) -> bool {
    content["role"] == "model"
}

pub(super) fn check(contents: &[Value], found: &mut Findings) {
    if contents.first().is_some_and(|first| is_model(first) || !responses(first).is_empty()) {
        found.add("R9", 0, "the first content is not what a user says");
    }
    if contents.last().is_some_and(is_model) {
        found.add("R10", contents.len() - 1, "the last content is the model's");
    }
    let mut asked: Vec<&Value> = Vec::new();
    for (index, content) in contents.iter().enumerate() {
        check_says_something(content, index, found);
        check_responses(content, &asked, index, found);
        asked = calls(content).map(|(_, call)| call).collect();
        if !is_model(content) && !asked.is_empty() {
            found.add("R3", index, "a function call outside a model content");
            asked.clear();
        }
        if super::repeats(asked.iter().filter_map(|call| id(call))) {
            found.add("R16", index, "two calls with the same id in one content");
        }
    }
    if !asked.is_empty() {
        found.add("R3", contents.len(), "function calls without the responses that must follow");
    }
    check_signatures(contents, found);
}

/// The id of a call or a response. In the API's own messages an empty text is the same as none.
fn id(value: &Value) -> Option<&str> {
    text(value, "id").filter(|id| !id.is_empty())
}

/// R3: as many responses as the content before has calls, of the same functions, first in their content.
fn check_responses(content: &Value, asked: &[&Value], index: usize, found: &mut Findings) {
    let answered = responses(content);
    if answered.len() != asked.len() {
        let rule = if answered.is_empty() || answered.len() > asked.len() { "R3" } else { "R5" };
        found.add(rule, index, "not as many function responses as the content before has calls");
    }
    if is_model(content) && !answered.is_empty() {
        found.add("R3", index, "a function response outside a user content");
    }
    if answered.iter().enumerate().any(|(nth, (at, _))| nth != *at) {
        found.add("R3", index, "function responses are not first in their content");
    }
    // By id where both have one, then by name.
    let mut open: Vec<&Value> = asked.to_vec();
    let mut unmatched = Vec::new();
    for (_, response) in answered {
        match open.iter().position(|call| id(call).is_some() && id(call) == id(response)) {
            Some(at) => {
                open.remove(at);
            }
            None => unmatched.push(response),
        }
    }
    for response in unmatched {
        let is_same =
            |call: &&Value| call["name"] == response["name"] && (id(call).is_none() || id(response).is_none());
        match open.iter().position(is_same) {
            Some(at) => {
                open.remove(at);
            }
            None => found.add("R3", index, "a function response that answers no call of the content before"),
        }
    }
}

/// R14: anything but thoughts, blank text and signatures.
fn check_says_something(content: &Value, index: usize, found: &mut Findings) {
    let says = |part: &Value| match part.get("text") {
        Some(text) => !is_blank(text) && part["thought"] != true,
        None => true,
    };
    if !items(content, "parts").any(says) {
        found.add("R14", index, "empty content");
    }
}

/// R18: since the user last said something, the first call of every content is signed.
fn check_signatures(contents: &[Value], found: &mut Findings) {
    let opens = |content: &Value| !is_model(content) && responses(content).is_empty();
    let start = contents.iter().rposition(opens).unwrap_or(0);
    for (index, content) in contents.iter().enumerate().skip(start) {
        if let Some((part, _)) = calls(content).next()
            && field(part, "thoughtSignature", "thought_signature").is_none_or(is_blank)
        {
            found.add("R18", index, "the first function call of a step in the current turn is not signed");
        }
    }
}
