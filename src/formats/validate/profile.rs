//! What a profile asks beyond the rules of the format.

use super::{Findings, is, items, text};
use crate::formats::profile::Rules;
use crate::message::Format;
use crate::sorted_map::SortedSet;
use serde_json::Value;

pub(super) fn check(messages: &[Value], format: Format, rules: &Rules, found: &mut Findings) {
    if rules.alternates {
        check_alternation(messages, format, found);
    }
    if rules.has_short_ids {
        check_ids(messages, format, found);
    }
    for (index, message) in messages.iter().enumerate() {
        if !rules.takes_tools && (is_result(message) || has_calls(message, format)) {
            found.add("R15", index, "tool calls or results where none are taken");
        }
        if rules.is_plain_text && message["content"].is_array() {
            found.add("R22", index, "content in parts where only text is taken");
        }
        let media = items(message, "content").filter_map(|part| kind_of_media(part, format));
        for kind in media {
            if !rules.media.contains(&kind) {
                found.add("R22", index, "media of a kind that is not taken");
            }
        }
    }
}

fn is_result(message: &Value) -> bool {
    is(message, "role", "tool") || is(message, "role", "function")
}

fn has_calls(message: &Value, format: Format) -> bool {
    is(message, "role", "assistant")
        && (listed_calls(message, format).next().is_some()
            || has_function_call(message, format)
            || call_parts(message, format).any(|part| part["providerExecuted"] != true))
}

/// Calls beside the content, which the AI SDK does not read.
fn listed_calls(message: &Value, format: Format) -> impl Iterator<Item = &Value> {
    items(message, "tool_calls").filter(move |_| format != Format::AiSdkModel)
}

fn has_function_call(message: &Value, format: Format) -> bool {
    format != Format::AiSdkModel && message["function_call"].is_object()
}

/// Calls among the parts of the AI SDK's messages; elsewhere such parts mean nothing.
fn call_parts(message: &Value, format: Format) -> impl Iterator<Item = &Value> {
    items(message, "content").filter(move |part| format == Format::AiSdkModel && is(part, "type", "tool-call"))
}

/// R11 as Mistral's chat templates check it: messages with calls, and results, are left aside; of the others every
/// second one is a user's.
fn check_alternation(messages: &[Value], format: Format, found: &mut Findings) {
    let mut is_users_turn = true;
    for (index, message) in messages.iter().enumerate() {
        if is_result(message) || has_calls(message, format) {
            continue;
        }
        if (is(message, "role", "user")) != is_users_turn {
            found.add("R11", index, "user and assistant do not take turns");
            is_users_turn = is(message, "role", "user");
        }
        is_users_turn = !is_users_turn;
    }
}

/// R16 as Mistral has it.
fn check_ids(messages: &[Value], format: Format, found: &mut Findings) {
    let mut called = SortedSet::new();
    for (index, message) in messages.iter().enumerate().filter(|(_, message)| !is(message, "role", "user")) {
        let calls = listed_calls(message, format).map(|call| &call["id"]);
        for id in calls.chain(call_parts(message, format).map(|part| &part["toolCallId"])) {
            let id = id.as_str().unwrap_or_default();
            if id.len() != 9 || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                found.add("R16", index, "a call id that is not nine letters and digits");
            }
            if !called.insert(id) {
                found.add("R16", index, "two calls with the same id");
            }
        }
        if is(message, "role", "function") || has_function_call(message, format) {
            found.add("R16", index, "a call without an id");
        }
    }
}

fn kind_of_media(part: &Value, format: Format) -> Option<&'static str> {
    match (text(part, "type")?, format) {
        ("image_url" | "image", _) => Some("image"),
        ("input_audio", _) => Some("audio"),
        ("file", Format::AiSdkModel) => None,
        ("file", _) => Some("file"),
        _ => None,
    }
}
