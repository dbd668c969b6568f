//! Messages that the engine makes: a question from text, and evidence put in front of a question.

use super::json;
use super::parse::MAX_NESTING;
use super::read;
use crate::error::{Error, Result};
use crate::json_text::value_text;
use crate::message::{Format, Role};
use serde_json::{Value, json};

/// JSON text of a user message with this text. `id` is the id of an AI SDK `UIMessage`; other formats have none.
#[must_use]
pub fn user_text_message(text: &str, format: Format, id: &str) -> String {
    let message = match format {
        Format::AiSdkUi => json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": text }] }),
        Format::Gemini => json!({ "role": "user", "parts": [{ "text": text }] }),
        Format::LangChain => json!({ "type": "human", "data": { "content": text } }),
        Format::OpenAi | Format::OpenAiResponses | Format::Anthropic | Format::AiSdkModel => {
            json!({ "role": "user", "content": text })
        }
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
    if read::role(&question, format).ok() != Some(Role::User) {
        return Err(Error::invalid_argument("the question must be a message of the user"));
    }
    let has_parts = matches!(format, Format::AiSdkUi | Format::Gemini);
    let field = if has_parts { "parts" } else { "content" };
    let body = match read::langchain_body_field(&question).filter(|_| format == Format::LangChain) {
        Some(body) => question.get_mut(body).and_then(|body| body.get_mut(field)),
        None => question.get_mut(field),
    };
    match body {
        Some(Value::String(text)) if !has_parts => *text = joined(evidence_text, text),
        Some(Value::Array(parts)) => {
            let is_result = |part: &Value| {
                part["type"] == "tool_result"
                    || part.get("functionResponse").or_else(|| part.get("function_response")).is_some()
            };
            let at = parts.iter().rposition(is_result).map_or(0, |last| last + 1);
            let evidence = match format {
                Format::Gemini => json!({ "text": evidence_text }),
                Format::OpenAiResponses => json!({ "type": "input_text", "text": evidence_text }),
                _ => json!({ "type": "text", "text": evidence_text }),
            };
            parts.insert(at, evidence);
        }
        found => return Err(json::field_error(field, "the question's text or parts", found.as_deref())),
    }
    Ok(value_text(&Value::Object(question)))
}

fn joined(evidence: &str, question: &str) -> String {
    if question.is_empty() { evidence.to_owned() } else { format!("{evidence}\n\n{question}") }
}
