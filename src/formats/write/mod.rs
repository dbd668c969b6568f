//! Writers, one per format: from what a message says to its object.

mod ai_sdk_model;
mod ai_sdk_ui;
mod anthropic;
mod gemini;
mod langchain;
mod openai;
mod openai_responses;

use super::json::{self, Object};
use super::read::Slot;
use super::{MAX_NESTING, STUB_OUTPUT};
use crate::message::{Format, Part, Role};
use serde_json::Value;
use std::borrow::Cow;

/// One thing to be said in the target format.
pub(super) enum Item<'a> {
    /// A part that is in the target format already.
    Native { value: &'a Value, slot: Slot, part: &'a Part },
    /// Visible text.
    Text(Cow<'a, str>),
    /// Reasoning, between the two AI SDK shapes only.
    Reasoning { text: &'a str, metadata: Option<&'a Value> },
    /// A call.
    Call { id: Cow<'a, str>, name: &'a str, arguments: &'a str, provider_executed: bool },
    /// A result.
    Result { id: Cow<'a, str>, name: String, output: &'a str, is_error: bool },
    /// A made-up result. `call`: the message of its call, where that is in the target format already.
    Stub { id: Cow<'a, str>, name: &'a str, call: Option<&'a Object> },
    /// A part as the target has it: media, or what is asked and answered about approval.
    Part(Value),
}

/// The frame of a message.
pub(super) struct Envelope<'a> {
    pub role: Role,
    /// The caller's own object in the target format, of which this is an edited copy.
    pub base: Option<&'a Object>,
    /// Id for a format whose messages must have one.
    pub id: String,
    /// The speaker's name.
    pub name: Option<String>,
}

impl Envelope<'_> {
    /// The caller's own fields, or a role alone.
    fn object(&self, role: &str) -> Object {
        self.base.cloned().unwrap_or_else(|| match texts(&[("role", role)]) {
            Value::Object(object) => object,
            _ => Object::new(),
        })
    }
}

/// The message's object, or `None` where it would say nothing.
pub(super) fn message(target: Format, envelope: &Envelope<'_>, items: &[Item<'_>]) -> Option<Value> {
    if items.is_empty() {
        return None;
    }
    match target {
        Format::OpenAi => openai::message(envelope, items),
        Format::Anthropic => anthropic::message(envelope, items),
        Format::AiSdkUi => ai_sdk_ui::message(envelope, items),
        Format::AiSdkModel => ai_sdk_model::message(envelope, items),
        Format::OpenAiResponses => openai_responses::message(envelope, items),
        Format::Gemini => gemini::message(envelope, items),
        Format::LangChain => langchain::message(envelope, items),
    }
    .map(Value::Object)
}

/// An object of texts. `json!` serialises anew for every type, and is several times the code.
#[inline(never)]
pub(super) fn texts(fields: &[(&str, &str)]) -> Value {
    let mut object = Object::new();
    for (field, text) in fields {
        object.insert((*field).to_owned(), Value::String((*text).to_owned()));
    }
    Value::Object(object)
}

/// The object with one more field.
#[inline(never)]
pub(super) fn with(mut object: Value, field: &str, value: Value) -> Value {
    if let Value::Object(object) = &mut object {
        object.insert(field.to_owned(), value);
    }
    object
}

/// Levels that a message has around the arguments of a call, at most: with them it must still be readable.
const LEVELS_AROUND_ARGUMENTS: usize = 8;

/// A call's arguments as a value: `{}` for none, the text itself where it is no JSON or nests too deep to be carried.
fn input(arguments: &str) -> Value {
    if arguments.trim().is_empty() {
        return texts(&[]);
    }
    json::read_value(arguments, MAX_NESTING - LEVELS_AROUND_ARGUMENTS)
        .unwrap_or_else(|| Value::String(arguments.to_owned()))
}

/// The same where only an object is taken: anything else is put into one.
fn object_input(arguments: &str) -> Value {
    match input(arguments) {
        object @ Value::Object(_) => object,
        _ => texts(&[("arguments", arguments)]),
    }
}

/// Content of one text as a string, of anything else as a list.
fn content(mut parts: Vec<Value>, keep_list: bool) -> Value {
    if let [only] = parts.as_mut_slice() {
        let is_plain_text = only["type"] == "text" && only.as_object().is_some_and(|part| part.len() == 2);
        if is_plain_text && !keep_list {
            return only["text"].take();
        }
    }
    Value::Array(parts)
}

/// A native part as an item of a list: a content string becomes a text part.
fn listed(value: &Value) -> Value {
    match value {
        Value::String(text) => texts(&[("type", "text"), ("text", text)]),
        other => other.clone(),
    }
}
