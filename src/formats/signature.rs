//! Thought signatures of Gemini (R18): every step of the current turn that calls functions carries one on its first
//! call. Where it is missing (the step was said by another model, or by one that signs nothing), the API takes a
//! documented stand-in. Earlier turns are not checked, and signatures that are there are never touched.

use super::json::{self, Object};
use super::parse::MAX_NESTING;
use super::read::gemini_field;
use super::render::RenderedMessage;
use super::repair::Repair;
use crate::json_text::value_text;
use serde_json::{Value, json};

/// What stands in for a signature that nobody has.
const STAND_IN: &str = "skip_thought_signature_validator";

/// Signs what is not signed in the current turn: from the last content in which the user says something besides
/// answering calls. Tells what was done.
pub(super) fn sign_current_turn(messages: &mut [RenderedMessage]) -> Vec<Repair> {
    let mut repairs = Vec::new();
    for message in messages.iter_mut().rev() {
        let Ok((mut content, _)) = json::read_object(&message.json, MAX_NESTING) else { break };
        let Some(Value::Array(parts)) = content.get_mut("parts") else { break };
        let has =
            |part: &Value, name, snake| part.as_object().is_some_and(|part| gemini_field(part, name, snake).is_some());
        let is_model = message.role == crate::message::Role::Assistant;
        if !is_model {
            if parts.iter().any(|part| has(part, "functionResponse", "function_response")) {
                continue;
            }
            break;
        }
        let first = parts.iter_mut().find(|part| has(part, "functionCall", "function_call"));
        let Some(Value::Object(call)) = first else { continue };
        if is_signed(call) {
            continue;
        }
        call.insert("thoughtSignature".to_owned(), json!(STAND_IN));
        message.json = value_text(&Value::Object(content));
        message.exact = false;
        let seq = message.seqs.first().copied();
        repairs.push(Repair { rule: "R18", seq, what: "missing thought signature replaced by a stand-in" });
    }
    repairs.reverse();
    repairs
}

fn is_signed(call: &Object) -> bool {
    gemini_field(call, "thoughtSignature", "thought_signature")
        .and_then(Value::as_str)
        .is_some_and(|text| !text.is_empty())
}
