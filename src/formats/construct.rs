//! Messages that the engine makes: a question from text, and evidence put in front of a question.

use super::json::{self, Object};
use super::parse::MAX_NESTING;
use crate::error::{Error, Result};
use crate::json_text::value_text;
use crate::message::Format;
use serde_json::{Value, json};

/// JSON text of a user message with this text. `id` is the id of an AI SDK `UIMessage`; other formats have none.
#[must_use]
pub fn user_text_message(text: &str, format: Format, id: &str) -> String {
    let message = match format {
        Format::AiSdkUi => json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": text }] }),
        Format::OpenAi | Format::Anthropic | Format::AiSdkModel => json!({ "role": "user", "content": text }),
    };
    value_text(&message)
}

/// JSON text of the question with evidence in front of it, in the same message: retrieved text must never follow the
/// question or stand in a message of its own behind it (R10). A question that is one string becomes one string,
/// `<evidence>\n\n<question>`; in a list the evidence is a text part before the question's own parts (images and all),
/// but behind tool results, which come first (R2). Everything else of the question stays as it is.
///
/// `question_raw` is a user message in `format` as JSON text. Fails where it is not one.
pub fn user_message_with_evidence(question_raw: &str, format: Format, evidence_text: &str) -> Result<String> {
    let (mut question, _) = json::read_object(question_raw, MAX_NESTING)?;
    if json::text(&question, "role") != Some("user") {
        return Err(Error::invalid_argument("the question must be a message with the role \"user\""));
    }
    let field = if format == Format::AiSdkUi { "parts" } else { "content" };
    match question.get_mut(field) {
        Some(Value::String(text)) if format != Format::AiSdkUi => *text = joined(evidence_text, text),
        Some(Value::Array(parts)) => {
            let is_result = |part: &Value| part["type"] == "tool_result";
            let at = parts.iter().rposition(is_result).map_or(0, |last| last + 1);
            parts.insert(at, json!({ "type": "text", "text": evidence_text }));
        }
        found => return Err(json::field_error(field, "the question's text or parts", found.as_deref())),
    }
    Ok(value_text(&Value::Object(question as Object)))
}

fn joined(evidence: &str, question: &str) -> String {
    if question.is_empty() { evidence.to_owned() } else { format!("{evidence}\n\n{question}") }
}
