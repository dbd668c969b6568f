//! Imported messages as they are sent: without what the import wrote beside them, and without what only the app that they
//! come from understood. Stored they keep all of it.

use super::MAX_NESTING;
use super::json;
use crate::citation_marks::push_without_marks;
use crate::json_text::value_text;
use crate::message::Format;
use serde_json::Value;

/// Fields of imported messages in OpenAI's shape that no provider knows; the reasoning is another model's (R20).
const OWN_FIELDS: [&str; 4] = ["id", "created_at", "metadata", "reasoning_content"];

/// The message as it may be sent; `None` where that is as it is stored. AI SDK messages have a place for everything.
#[must_use]
pub fn sent_import(raw: &str, format: Format) -> Option<String> {
    if format != Format::OpenAi {
        return None;
    }
    let (mut object, _) = json::read_object(raw, MAX_NESTING).ok()?;
    for field in OWN_FIELDS {
        object.remove(field);
    }
    if let Some(Value::String(text)) = object.get_mut("content") {
        let mut said = String::with_capacity(text.len());
        push_without_marks(&mut said, text);
        *text = said;
    }
    Some(value_text(&Value::Object(object)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_provider_knows_is_sent() {
        let raw = r#"{"role":"assistant","content":"Rye. \ue200cite\ue202turn0search0\ue201","created_at":1,"reasoning_content":"hm","metadata":{"a":1},"name":"ann","id":"x"}"#;
        let sent = sent_import(raw, Format::OpenAi);
        assert_eq!(sent.as_deref(), Some(r#"{"role":"assistant","content":"Rye. ","name":"ann"}"#));
        assert_eq!(sent_import(r#"{"id":"x","role":"user","parts":[]}"#, Format::AiSdkUi), None);
    }
}
