//! A checker of finished requests: reads the messages as a provider does and names what it would refuse.
//!
//! It shares no code with reading, repair or writing, so that it can be their oracle in tests.

mod ai_sdk;
mod anthropic;
mod gemini;
mod langchain;
mod openai;
mod openai_responses;
mod profile;

use super::FormatChoice;
use super::profile::{Profile, SystemPlace};
use crate::message::Format;
use crate::sorted_map::SortedSet;
use serde_json::Value;

/// A rule that a request breaks.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Violation {
    /// The rule (see the module's table).
    pub rule: &'static str,
    /// The message, by its position in the request.
    pub index: usize,
    /// What is wrong; `message` on the wire.
    #[serde(rename = "message")]
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
    if has_roles && messages.first().is_some_and(|first| !is(first, "role", "user")) {
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

/// Everything in a request that a profile would refuse: what [`validate`] names, and R11, R12, R13, R15, R16 and R22 as the
/// profile has them. `system` is the system text that is sent beside the messages; system messages among them are taken
/// where the profile takes them.
///
/// `format` is the format of the messages. Whether the profile goes with it is for the caller to check
/// ([`Profile::check`]).
#[must_use]
pub fn validate_context(system: &str, messages: &[Value], format: Format, profile: Profile) -> Vec<Violation> {
    let place = profile.system_place();
    // Gemini's own contents have no system role; its endpoint for OpenAI's messages does.
    let takes_system = matches!(place, SystemPlace::Anywhere | SystemPlace::First) && format != Format::Gemini;
    let is_system = |message: &Value| match format {
        Format::LangChain => {
            message.get("kwargs").is_none() && (is(message, "type", "system") || is(message, "type", "developer"))
        }
        _ => is(message, "role", "system") || is(message, "role", "developer"),
    };
    let said: Vec<usize> = (0..messages.len()).filter(|at| !(takes_system && is_system(&messages[*at]))).collect();
    let rest: Vec<Value> = said.iter().map(|at| messages[*at].clone()).collect();
    let mut found = Findings(validate(&rest, format));
    profile::check(&rest, format, profile.rules(), &mut found);
    for violation in &mut found.0 {
        violation.index = said.get(violation.index).copied().unwrap_or(messages.len());
    }
    for (index, _) in messages.iter().enumerate().filter(|(_, message)| takes_system && is_system(message)) {
        if place == SystemPlace::First && (index > 0 || !system.is_empty()) {
            found.add("R12", index, "a system message that is not the only one and first");
        }
    }
    if place == SystemPlace::Nowhere && !system.is_empty() {
        found.add("R13", 0, "system text where there is no system role: fold it into the first user message");
    }
    crate::sorting::sort_by_key(&mut found.0, &|violation| violation.index);
    found.0
}

/// The format of messages that are to be checked for a profile: the one told; else the first other than the profile's own
/// that a message's shape tells of and the profile takes; else the profile's own.
#[must_use]
pub fn format_of(messages: &[Value], choice: FormatChoice, profile: Profile) -> Format {
    let usual = profile.usual_format();
    if let FormatChoice::Exact(format) = choice {
        return format;
    }
    let is_wanted = |format: &Format| profile.takes(*format) && *format != usual;
    let mut shapes = messages.iter().filter_map(|message| choice.resolve(message.as_object()?).ok());
    shapes.find(is_wanted).or(choice.target()).unwrap_or(usual)
}

struct Findings(Vec<Violation>);

impl Findings {
    fn add(&mut self, rule: &'static str, index: usize, what: &'static str) {
        self.0.push(Violation { rule, index, what });
    }

    fn check_last_role(&mut self, messages: &[Value], allowed: &[&str]) {
        if let Some(last) = messages.last()
            && !text(last, "role").is_some_and(|role| allowed.contains(&role))
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
#[inline(never)]
fn items<'a>(message: &'a Value, field: &str) -> std::slice::Iter<'a, Value> {
    message.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default().iter()
}

/// The text of a field, if it is one. This and [`is`] are called so often that a copy in each place would be large.
#[inline(never)]
fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field).and_then(Value::as_str)
}

/// Whether a field is this text.
#[inline(never)]
fn is(value: &Value, field: &str, wanted: &str) -> bool {
    text(value, field) == Some(wanted)
}
