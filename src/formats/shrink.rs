//! Shortening tool results inside their envelopes (R8): ids, names and everything around the output stay.

use super::json::{self, Object, text};
use super::parse::MAX_NESTING;
use super::read;
use crate::error::Result;
use crate::json_text::value_text;
use crate::message::{Format, Role};
use serde_json::{Value, json};

/// The message with each of its tool outputs cut to at most `max_tokens`, or `None` where nothing had to be cut.
///
/// `cut(text, max_tokens)` gives the text itself where it fits, else a shorter one (with whatever mark of the cut the
/// caller wants). Outputs that are JSON become the cut of their JSON text; lists keep their order, and media in them
/// becomes a note once a list had to be cut. Call ids, tool names and all other fields stay. The answer is to be parsed
/// again before it is rendered. Fails where `raw` is not a message.
pub fn shrink_tool_results(
    raw: &str,
    format: Format,
    max_tokens: u32,
    cut: &dyn Fn(&str, u32) -> String,
) -> Result<Option<String>> {
    let (mut object, _) = json::read_object(raw, MAX_NESTING)?;
    let cutter = Cutter { max_tokens, cut };
    let role = text(&object, "role").unwrap_or_default().to_owned();
    let changed = match format {
        Format::OpenAi => matches!(role.as_str(), "tool" | "function") && cutter.shorten_field(&mut object, "content"),
        Format::Anthropic => each(&mut object, "content", |block| {
            block.get("type").is_some_and(|kind| kind == "tool_result") && cutter.shorten_field(block, "content")
        }),
        Format::AiSdkUi => each(&mut object, "parts", |part| cutter.shorten_ui(part)),
        Format::AiSdkModel => each(&mut object, "content", |part| {
            part.get("type").is_some_and(|kind| kind == "tool-result") && cutter.shorten_model(part)
        }),
        Format::OpenAiResponses => cutter.shorten_item(&mut object),
        Format::Gemini => each(&mut object, "parts", |part| cutter.shorten_gemini(part)),
        Format::LangChain if read::role(&object, format)? == Role::Tool => {
            match read::langchain_body_field(&object).and_then(|field| object.get_mut(field)?.as_object_mut()) {
                Some(body) => cutter.shorten_field(body, "content"),
                None => cutter.shorten_field(&mut object, "content"),
            }
        }
        Format::LangChain => false,
    };
    Ok(changed.then(|| value_text(&Value::Object(object))))
}

/// Applies a change to every object of a list; whether any changed.
fn each(object: &mut Object, field: &str, mut change: impl FnMut(&mut Object) -> bool) -> bool {
    let Some(Value::Array(items)) = object.get_mut(field) else { return false };
    items.iter_mut().filter_map(Value::as_object_mut).fold(false, |changed, item| change(item) | changed)
}

struct Cutter<'a> {
    max_tokens: u32,
    cut: &'a dyn Fn(&str, u32) -> String,
}

impl Cutter<'_> {
    /// The shorter text, or nothing where it fits.
    fn cut(&self, text: &str) -> Option<String> {
        Some((self.cut)(text, self.max_tokens)).filter(|cut| cut != text)
    }

    /// A text, a list of parts, or any other JSON.
    fn shorten(&self, value: &mut Value) -> bool {
        let text = match value {
            Value::Null => return false,
            Value::String(text) => self.cut(text),
            Value::Array(items) if items.iter().all(|item| item.get("type").is_some_and(Value::is_string)) => {
                return self.shorten_list(items);
            }
            ref other => self.cut(&value_text(other)),
        };
        text.map(|text| *value = Value::String(text)).is_some()
    }

    /// The list as one text part where its text does not fit.
    fn shorten_list(&self, items: &mut Vec<Value>) -> bool {
        let lines: Vec<String> = items
            .iter()
            .map(|item| match (item["text"].as_str(), item["type"].as_str()) {
                (Some(text), _) => text.to_owned(),
                (None, kind) => format!("[{} left out]", kind.unwrap_or("part")),
            })
            .collect();
        let Some(text) = self.cut(&lines.join("\n")) else { return false };
        *items = vec![json!({ "type": "text", "text": text })];
        true
    }

    fn shorten_field(&self, object: &mut Object, field: &str) -> bool {
        object.get_mut(field).is_some_and(|value| self.shorten(value))
    }

    /// An output as one text, a shell's as what its commands printed. A screenshot stays.
    fn shorten_item(&self, item: &mut Object) -> bool {
        match text(item, "type") {
            Some("shell_call_output") => {
                each(item, "output", |run| self.shorten_field(run, "stdout") | self.shorten_field(run, "stderr"))
            }
            Some("computer_call_output") => false,
            Some(kind) if kind.ends_with("_call_output") || kind == "mcp_call" => match item.get_mut("output") {
                Some(Value::Array(parts)) => {
                    let shorter = self.shorten_list(parts);
                    if let (true, [only]) = (shorter, parts.as_mut_slice()) {
                        only["type"] = json!("input_text");
                    }
                    shorter
                }
                Some(output) => self.shorten(output),
                None => false,
            },
            _ => false,
        }
    }

    /// A response stays an object: a text in it is cut, any other is cut as JSON text under `output`.
    fn shorten_gemini(&self, part: &mut Object) -> bool {
        let name = if part.contains_key("functionResponse") { "functionResponse" } else { "function_response" };
        let Some(response) = part.get_mut(name).and_then(|call| call.get_mut("response")) else { return false };
        if let Value::Object(fields) = response
            && fields.len() == 1
        {
            let known = ["output", "result", "error"].iter().find(|key| text(fields, key).is_some());
            if let Some(key) = known {
                return self.shorten_field(fields, key);
            }
        }
        let Some(text) = self.cut(&json::as_text(response)) else { return false };
        *response = json!({ "output": text });
        true
    }

    fn shorten_ui(&self, part: &mut Object) -> bool {
        if let Some(Value::Object(invocation)) = part.get_mut("toolInvocation") {
            return self.shorten_field(invocation, "result");
        }
        let is_tool = text(part, "type").is_some_and(|kind| kind == "dynamic-tool" || kind.starts_with("tool-"));
        is_tool && (self.shorten_field(part, "output") | self.shorten_field(part, "errorText"))
    }

    /// A typed output: JSON becomes text, of the same success or failure.
    fn shorten_model(&self, part: &mut Object) -> bool {
        let Some(Value::Object(output)) = part.get_mut("output") else {
            return self.shorten_field(part, "output") | self.shorten_field(part, "result");
        };
        let kind = match text(output, "type") {
            Some("json") => "text",
            Some("error-json") => "error-text",
            Some("execution-denied") => return self.shorten_field(output, "reason"),
            Some(kind @ ("text" | "error-text")) => kind,
            // A list of parts stays one.
            _ => return self.shorten_field(output, "value"),
        }
        .to_owned();
        let Some(value) = output.get_mut("value") else { return false };
        let is_text = value.is_string();
        let Some(text) = self.cut(&json::as_text(value)) else { return false };
        *value = Value::String(text);
        if !is_text || kind == "text" || kind == "error-text" {
            output.insert("type".to_owned(), Value::String(kind));
        }
        true
    }
}
