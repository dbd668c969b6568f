//! A checker of finished requests: reads the messages as a provider does and names what it would refuse.
//!
//! It shares no code with reading, repair or writing, so that it can be their oracle in tests.

mod ai_sdk;
mod anthropic;
mod gemini;
mod langchain;
mod openai;
mod openai_responses;

use crate::message::Format;
use crate::sorted_map::SortedSet;
use serde_json::Value;

/// A rule that a request breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule (see the module's table).
    pub rule: &'static str,
    /// The message, by its position in the request.
    pub index: usize,
    /// What is wrong.
    pub what: &'static str,
}

/// Everything in a request that breaks R1-R6, R9, R10, R12, R14, R16, R18 or R19 in this format; nothing: a provider
/// takes it. An empty request is accepted: it is for the caller to have something to say.
#[must_use]
pub fn validate(messages: &[Value], format: Format) -> Vec<Violation> {
    let mut found = Findings(Vec::new());
    for (index, message) in messages.iter().enumerate() {
        let role = &message["role"];
        let has_role = match format {
            // Elsewhere: see there.
            Format::LangChain => false,
            Format::OpenAiResponses => matches!(message["type"].as_str(), None | Some("message")),
            _ => true,
        };
        if has_role && (role == "system" || role == "developer") {
            found.add("R12", index, "system message among the messages");
        }
    }
    let has_roles = !matches!(format, Format::OpenAiResponses | Format::Gemini | Format::LangChain);
    if has_roles && messages.first().is_some_and(|first| first["role"] != "user") {
        found.add("R9", 0, "the first message is not a user's");
    }
    match format {
        Format::OpenAi => openai::check(messages, &mut found),
        Format::Anthropic => anthropic::check(messages, &mut found),
        Format::AiSdkUi => ai_sdk::check_ui(messages, &mut found),
        Format::AiSdkModel => ai_sdk::check_model(messages, &mut found),
        Format::OpenAiResponses => openai_responses::check(messages, &mut found),
        Format::Gemini => gemini::check(messages, &mut found),
        Format::LangChain => langchain::check(messages, &mut found),
    }
    found.0
}

struct Findings(Vec<Violation>);

impl Findings {
    fn add(&mut self, rule: &'static str, index: usize, what: &'static str) {
        self.0.push(Violation { rule, index, what });
    }

    fn check_last_role(&mut self, messages: &[Value], allowed: &[&str]) {
        if let Some(last) = messages.last()
            && !last["role"].as_str().is_some_and(|role| allowed.contains(&role))
        {
            self.add("R10", messages.len() - 1, "the last message is neither a user's nor a tool's");
        }
    }
}

/// Whether an id stands twice in a list.
fn repeats<'a>(ids: impl Iterator<Item = &'a str>) -> bool {
    let mut seen = SortedSet::new();
    let mut repeats = false;
    for id in ids {
        repeats |= !seen.insert(id);
    }
    repeats
}

/// Whether a value is a text of nothing but white space, or no text at all.
fn is_blank(value: &Value) -> bool {
    value.as_str().is_none_or(|text| text.chars().all(char::is_whitespace))
}

/// The items of a list field; of anything else none.
fn items<'a>(message: &'a Value, field: &str) -> impl DoubleEndedIterator<Item = &'a Value> {
    message[field].as_array().into_iter().flatten()
}
