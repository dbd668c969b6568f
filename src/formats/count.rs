//! What of a message a provider counts.

use crate::message::{Message, Part};

/// Tokens charged for an image, an audio clip or a file, whose bytes are never tokenised (R22). A nominal cost: vision
/// models bill about 85 (a small image) to 1,600 (a full-size one) tokens for an image, and frameworks that use a flat
/// rate for files take 1,000.
pub const MEDIA_TOKENS: u32 = 1_000;

/// The texts of a message that are sent and counted, in order: the speaker's name, text, reasoning (in its own format
/// it is sent back), tool names, arguments and outputs. Bytes of media are not among them (see [`media_tokens`]), nor
/// are call ids, which belong to the overhead per message.
pub fn counted(message: &Message) -> impl Iterator<Item = &str> {
    let texts = message.parts.iter().flat_map(|part| match part {
        Part::Text(text) | Part::Reasoning(text) => [Some(text.as_str()), None],
        Part::ToolCall { name, arguments, .. } => [Some(name.as_str()), Some(arguments.as_str())],
        Part::ToolResult { output, .. } => [Some(output.as_str()), None],
        Part::Media { .. } | Part::Other { .. } => [None, None],
    });
    message.name.as_deref().into_iter().chain(texts.flatten()).filter(|text| !text.is_empty())
}

/// Tokens charged for the media of a message: [`MEDIA_TOKENS`] each.
#[must_use]
pub fn media_tokens(message: &Message) -> u32 {
    let media = message.parts.iter().filter(|part| matches!(part, Part::Media { .. })).count();
    u32::try_from(media).unwrap_or(u32::MAX).saturating_mul(MEDIA_TOKENS)
}
