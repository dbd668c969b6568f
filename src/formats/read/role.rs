//! Who speaks, as each format says it.

use super::{langchain, openai_responses};
use crate::error::{Error, Result};
use crate::formats::json::{self, Object};
use crate::message::{Format, Role};

/// The role of a message. Fails on one that the format does not have.
pub(in crate::formats) fn role(object: &Object, format: Format) -> Result<Role> {
    let name = match format {
        Format::LangChain => return langchain::role(object),
        Format::OpenAiResponses => match openai_responses::role(object) {
            Some(role) => return Ok(role),
            None => openai_responses::message_role(object)?,
        },
        // The API takes a content without a role as the user's.
        Format::Gemini if !object.contains_key("role") => "user",
        _ => json::required_text(object, "role", "role")?,
    };
    match (name, format) {
        // The older name of a content with responses.
        ("user", _) | ("function", Format::Gemini) => Ok(Role::User),
        ("model", Format::Gemini) => Ok(Role::Assistant),
        ("assistant", _) if format != Format::Gemini => Ok(Role::Assistant),
        ("system", _) | ("developer", Format::OpenAi | Format::OpenAiResponses) => Ok(Role::System),
        ("tool", Format::OpenAi | Format::AiSdkModel) | ("function", Format::OpenAi) => Ok(Role::Tool),
        _ => {
            let known = match format {
                Format::OpenAi => "system, developer, user, assistant, tool or function",
                Format::OpenAiResponses => "system, developer, user or assistant",
                Format::AiSdkModel => "system, user, assistant or tool",
                Format::Gemini => "user, model, function or system",
                _ => "system, user or assistant",
            };
            Err(Error::invalid_argument(format!("message field `role` is not known; it must be {known}")))
        }
    }
}
