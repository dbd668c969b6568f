//! The canonical message: what every format is read into, and what decisions are made on.
//!
//! The caller's own object is kept beside it, byte-exact (see [`crate::records::MessageRecord::raw`]), and goes back out
//! unchanged wherever the format asked for is the format it came in.

use crate::embedded_data::without_data;
use crate::json_reader::{Fields, FromFields};
use serde::Serialize;

/// Position of a message in its conversation: dense, from 1.
pub type Seq = u32;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions of the app (`system` and `developer`).
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A message that only carries tool results.
    Tool,
}

crate::json_reader::json_names!(Role { System: "system", User: "user", Assistant: "assistant", Tool: "tool" });

impl Role {
    /// The lower-case name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// A message format that is read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Format {
    /// OpenAI chat completions.
    #[serde(rename = "openai")]
    OpenAi,
    /// OpenAI Responses: a message is one item of its list.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Anthropic Messages.
    #[serde(rename = "anthropic")]
    Anthropic,
    /// AI SDK, `UIMessage` (has `parts`).
    #[serde(rename = "ai-sdk-ui")]
    AiSdkUi,
    /// AI SDK, `ModelMessage` (has `content`).
    #[serde(rename = "ai-sdk-model")]
    AiSdkModel,
    /// Gemini `contents`.
    #[serde(rename = "gemini")]
    Gemini,
    /// LangChain messages: stored form, plain objects, or the JSON of the classes.
    #[serde(rename = "langchain")]
    LangChain,
}

impl Format {
    /// One of the two shapes of the AI SDK.
    pub(crate) fn is_ai_sdk(self) -> bool {
        matches!(self, Self::AiSdkUi | Self::AiSdkModel)
    }
}

crate::json_reader::json_names!(Format {
    OpenAi: "openai",
    OpenAiResponses: "openai-responses",
    Anthropic: "anthropic",
    AiSdkUi: "ai-sdk-ui",
    AiSdkModel: "ai-sdk-model",
    Gemini: "gemini",
    LangChain: "langchain"
});

/// One part of a message, in the order in which it was said.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Visible text.
    Text(String),
    /// The model's reasoning: sent back where a provider wants it, never indexed, embedded or summarised.
    Reasoning(String),
    /// A call of a tool. `arguments` is the JSON text exactly as it was given.
    ToolCall {
        /// Pairs the call with its result.
        id: String,
        /// The tool's name.
        name: String,
        /// JSON text, verbatim where the source had text.
        arguments: String,
        /// The provider ran it itself, so no separate result message is owed.
        provider_executed: bool,
    },
    /// What a tool answered.
    ToolResult {
        /// The call it answers.
        call_id: String,
        /// The tool's name where the format carries it.
        name: Option<String>,
        /// Text, or JSON text.
        output: String,
        /// The tool failed.
        is_error: bool,
    },
    /// Image, audio or file: never tokenised, indexed or embedded by its bytes.
    Media {
        /// `image`, `audio` or `file`.
        kind: &'static str,
        /// File name or media type, for a person to read.
        label: String,
    },
    /// A part of a kind that is not known here. It survives in the raw message; its kind is named.
    Other {
        /// The part's own `type`.
        kind: String,
    },
}

/// What of a message may take other tokens in a request than where it is stored: results of tools are shortened when they
/// are old, and each provider charges for media in its own way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VariableParts {
    /// Results of tools.
    pub results: u32,
    /// Tokens of their outputs.
    pub result_tokens: u32,
    /// Images.
    pub images: u32,
    /// Audio clips.
    pub audio: u32,
    /// Other files.
    pub files: u32,
}

impl VariableParts {
    /// Whether there are none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl FromFields for VariableParts {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            results: fields.take_or("results", 0),
            result_tokens: fields.take_or("resultTokens", 0),
            images: fields.take_or("images", 0),
            audio: fields.take_or("audio", 0),
            files: fields.take_or("files", 0),
        }
    }
}

/// A message in canonical form.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The caller's id, where the message has one.
    pub id: Option<String>,
    /// Who speaks.
    pub role: Role,
    /// Speaker's name (`name` of OpenAI and LangChain), where given.
    pub name: Option<String>,
    /// The parts in order. An empty message has none.
    pub parts: Vec<Part>,
    /// The message's own time, milliseconds since 1970, where it has a usable one.
    pub created_at_ms: Option<f64>,
    /// Something had to be replaced to read it (a lone surrogate in the projection, an unusable timestamp). Raw is intact.
    pub normalized: bool,
}

impl Message {
    /// A plain text message.
    pub fn text_message(role: Role, text: impl Into<String>) -> Self {
        Self {
            id: None,
            role,
            name: None,
            parts: vec![Part::Text(text.into())],
            created_at_ms: None,
            normalized: false,
        }
    }

    /// The visible text, parts joined by a line break: what is indexed, embedded, quoted and shown.
    /// Reasoning, media and citation marks are left out; tool results are included, each as its own paragraph; tool calls
    /// by name. Data URLs and other base64 inside a text are named by type and size, not repeated.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        for part in &self.parts {
            let piece = match part {
                Part::Text(text) => text.as_str(),
                Part::ToolResult { output, .. } => output.as_str(),
                Part::ToolCall { name, .. } => name.as_str(),
                Part::Reasoning(_) | Part::Media { .. } | Part::Other { .. } => continue,
            };
            if piece.is_empty() {
                continue;
            }
            if !out.is_empty() {
                out.push('\n');
            }
            crate::citation_marks::push_without_marks(&mut out, &without_data(piece));
        }
        out
    }

    /// Ids of the calls that still owe a result message (provider-executed calls owe none).
    pub fn call_ids(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall { id, provider_executed: false, .. } => Some(id.as_str()),
            _ => None,
        })
    }

    /// Ids of the calls that this message answers.
    pub fn result_ids(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolResult { call_id, .. } => Some(call_id.as_str()),
            _ => None,
        })
    }

    /// Whether it carries any tool call or result: such a message is never dropped, merged or emptied.
    #[must_use]
    pub fn has_tools(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::ToolCall { .. } | Part::ToolResult { .. }))
    }

    /// A user message that says something, as against one that only carries tool results: it opens a turn group.
    #[must_use]
    pub fn opens_group(&self) -> bool {
        let only_results = self.parts.iter().all(|part| matches!(part, Part::ToolResult { .. }));
        self.role == Role::User && (self.parts.is_empty() || !only_results)
    }
}

crate::json_reader::deserialize_as_json!(Role, Format);
