//! Which format a message is in: told by name, or seen from its shape.

use super::json::{Object, field_error, text};
use super::read;
use crate::error::{Error, Result};
use crate::message::Format;
use serde_json::Value;

const FORMATS: [(&str, Format); 7] = [
    ("openai", Format::OpenAi),
    ("openai-responses", Format::OpenAiResponses),
    ("anthropic", Format::Anthropic),
    ("ai-sdk-ui", Format::AiSdkUi),
    ("ai-sdk-model", Format::AiSdkModel),
    ("gemini", Format::Gemini),
    ("langchain", Format::LangChain),
];

/// How the format of a message is decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FormatChoice {
    /// By the message's shape. A shape that several formats share (a role and a text) counts as OpenAI.
    #[default]
    Detect,
    /// This one.
    Exact(Format),
    /// Either AI SDK shape: `UIMessage` where there are `parts`, else `ModelMessage`.
    AiSdk,
}

impl FormatChoice {
    /// The choice of this name: `openai`, `openai-responses`, `anthropic`, `gemini`, `langchain`, `ai-sdk`, or one of its
    /// two shapes, `ai-sdk-ui`, `ai-sdk-model`. Fails on any other name.
    pub fn from_name(name: &str) -> Result<Self> {
        if name == "ai-sdk" {
            return Ok(Self::AiSdk);
        }
        let known = FORMATS.iter().find(|(own, _)| *own == name);
        known.map(|(_, format)| Self::Exact(*format)).ok_or_else(|| {
            Error::invalid_argument(
                "format is not known; give \"openai\", \"openai-responses\", \"anthropic\", \"ai-sdk\", \
                 \"ai-sdk-ui\", \"ai-sdk-model\", \"gemini\" or \"langchain\"",
            )
        })
    }

    /// The format to write in: for `ai-sdk` that is `ModelMessage`, what a model call takes. `None` for
    /// [`Self::Detect`].
    #[must_use]
    pub fn target(self) -> Option<Format> {
        match self {
            Self::Detect => None,
            Self::Exact(format) => Some(format),
            Self::AiSdk => Some(Format::AiSdkModel),
        }
    }

    /// The format of this object. Fails where no format has such a shape.
    pub(super) fn resolve(self, object: &Object) -> Result<Format> {
        match self {
            Self::Exact(format) => Ok(format),
            Self::AiSdk if object.contains_key("parts") => Ok(Format::AiSdkUi),
            Self::AiSdk => Ok(Format::AiSdkModel),
            Self::Detect => detect(object),
        }
    }
}

impl From<Option<Format>> for FormatChoice {
    fn from(format: Option<Format>) -> Self {
        format.map_or(Self::Detect, Self::Exact)
    }
}

impl From<Format> for FormatChoice {
    fn from(format: Format) -> Self {
        Self::Exact(format)
    }
}

fn detect(object: &Object) -> Result<Format> {
    if let Some(Value::Array(parts)) = object.get("parts") {
        return Ok(if read::is_gemini_content(object, parts) { Format::Gemini } else { Format::AiSdkUi });
    }
    let has = |key| object.contains_key(key);
    if read::is_langchain_message(object) {
        return Ok(Format::LangChain);
    }
    if read::is_responses_item(object) {
        return Ok(Format::OpenAiResponses);
    }
    if has("providerOptions") {
        return Ok(Format::AiSdkModel);
    }
    if text(object, "type") == Some("message") {
        return Ok(Format::Anthropic);
    }
    let openai_only = ["tool_calls", "tool_call_id", "function_call", "refusal", "audio", "reasoning_content"];
    if openai_only.into_iter().any(has) || matches!(text(object, "role"), Some("developer" | "function")) {
        return Ok(Format::OpenAi);
    }
    match object.get("content") {
        Some(Value::Array(items)) => {
            let by_item = items.iter().find_map(|item| item.as_object().and_then(item_format));
            let by_role = if text(object, "role") == Some("tool") { Format::AiSdkModel } else { Format::OpenAi };
            Ok(by_item.unwrap_or(by_role))
        }
        Some(Value::String(_) | Value::Null) => Ok(Format::OpenAi),
        None if has("role") => Ok(Format::OpenAi),
        content => Err(field_error("content", "a string, an array of parts or null", content)),
    }
}

/// The one format that has such an item in `content`; `None` for items that several have (plain text).
fn item_format(item: &Object) -> Option<Format> {
    let has = |key| item.contains_key(key);
    if has("providerOptions") {
        return Some(Format::AiSdkModel);
    }
    match text(item, "type")? {
        "input_text" | "output_text" | "input_image" | "input_file" => Some(Format::OpenAiResponses),
        "text" if has("cache_control") || has("citations") => Some(Format::Anthropic),
        "image_url" | "input_audio" | "refusal" => Some(Format::OpenAi),
        "file" if has("file") => Some(Format::OpenAi),
        "file" | "tool-call" | "tool-result" | "tool-approval-request" | "tool-approval-response" | "reasoning" => {
            Some(Format::AiSdkModel)
        }
        "image" if has("source") => Some(Format::Anthropic),
        "image" => Some(Format::AiSdkModel),
        "document" | "search_result" | "thinking" | "redacted_thinking" | "tool_use" | "tool_result"
        | "server_tool_use" | "mcp_tool_use" | "container_upload" | "compaction" => Some(Format::Anthropic),
        kind if kind.ends_with("_tool_result") => Some(Format::Anthropic),
        _ => None,
    }
}
