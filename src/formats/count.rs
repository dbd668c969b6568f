//! What of a message a provider counts.

use super::profile::Profile;
use super::{MAX_NESTING, json};
use crate::message::{Message, Part, VariableParts};
use serde_json::Value;

/// Tokens charged for an image, an audio clip or a file where it is not known who will be sent it: in what is stored. Bytes
/// are never tokenised (R22). A nominal cost: vision models bill about 85 (a small image) to 1,600 (a full-size one) tokens
/// for an image, and frameworks that use a flat rate for files take 1,000.
pub const MEDIA_TOKENS: u32 = 1_000;

/// Most tokens that a stored message takes when it is sent, without the overhead per message: what of it is variable
/// counts as `profile` charges it and, where results are shortened, as at most `result_tokens` for each of them.
#[must_use]
pub fn sent_size(stored_tokens: u32, variable: VariableParts, profile: Profile, result_tokens: Option<u32>) -> u32 {
    let VariableParts { images, audio, files, .. } = variable;
    let costs = profile.rules().costs;
    let media = [(images, costs.image), (audio, costs.audio), (files, costs.file)];
    let media_tokens = media.iter().fold(0_u32, |sum, (count, cost)| sum.saturating_add(count.saturating_mul(*cost)));
    let nominal = (images.saturating_add(audio).saturating_add(files)).saturating_mul(MEDIA_TOKENS);
    let shortened = result_tokens.map_or(u32::MAX, |tokens| tokens.saturating_mul(variable.results));
    stored_tokens
        .saturating_sub(nominal)
        .saturating_sub(variable.result_tokens.saturating_sub(shortened))
        .saturating_add(media_tokens)
}

/// Kinds of items of a tool's output that are media (see `read::readable_items`), and what they cost as.
const MEDIA_NOTES: [(&str, &str); 10] = [
    ("image", "image"),
    ("image_url", "image"),
    ("image-data", "image"),
    ("image-url", "image"),
    ("media", "image"),
    ("input_audio", "audio"),
    ("file", "file"),
    ("file-data", "file"),
    ("file-url", "file"),
    ("document", "file"),
];

/// The texts of a message that are sent and counted, in order: the speaker's name, text, reasoning (in its own format
/// it is sent back), tool names, arguments and outputs. Bytes of media are not among them (see [`media_tokens`]), nor
/// are call ids, which belong to the overhead per message. Base64 that stands in a text is part of it here: it is sent and
/// billed as text.
pub fn counted(message: &Message) -> impl Iterator<Item = &str> {
    counted_apart(message).map(|(text, _)| text)
}

/// The same, each with whether it is the output of a tool.
pub fn counted_apart(message: &Message) -> impl Iterator<Item = (&str, bool)> {
    let texts = message.parts.iter().flat_map(|part| match part {
        Part::Text(text) | Part::Reasoning(text) => [Some((text.as_str(), false)), None],
        Part::ToolCall { name, arguments, .. } => [Some((name.as_str(), false)), Some((arguments.as_str(), false))],
        Part::ToolResult { output, .. } => [Some((output.as_str(), true)), None],
        Part::Media { .. } | Part::Other { .. } => [None, None],
    });
    let name = message.name.as_deref().map(|name| (name, false));
    name.into_iter().chain(texts.flatten()).filter(|(text, _)| !text.is_empty())
}

/// Tokens charged for the media of a stored message: [`MEDIA_TOKENS`] each.
#[must_use]
pub fn media_tokens(message: &Message) -> u32 {
    u32::try_from(media_kinds(message).count()).unwrap_or(u32::MAX).saturating_mul(MEDIA_TOKENS)
}

/// The media of a message, each by its kind (`image`, `audio`, `file`): its parts, and what results of tools hold, which
/// stands in their output as a line of its own (`[image]`). A tool that prints such a line is charged for it too: a count
/// that is too high keeps the budget.
pub fn media_kinds(message: &Message) -> impl Iterator<Item = &'static str> {
    message.parts.iter().flat_map(|part| {
        let (own, output) = match part {
            Part::Media { kind, .. } => (Some(*kind), ""),
            Part::ToolResult { output, .. } => (None, output.as_str()),
            _ => (None, ""),
        };
        own.into_iter().chain(media_lines(output))
    })
}

fn media_lines(output: &str) -> impl Iterator<Item = &'static str> {
    output.lines().filter_map(|line| {
        let kind = line.strip_prefix('[')?.strip_suffix(']')?;
        let (_, kind) = MEDIA_NOTES.iter().find(|(note, _)| *note == kind)?;
        Some(*kind)
    })
}

/// Tokens that a provider charges for the media of a message as it is sent, by the table of profiles. `raw` is the text of
/// `message`, looked into only for images that ask for low detail.
#[must_use]
pub fn sent_media_tokens(message: &Message, raw: &str, profile: Profile) -> u32 {
    let costs = profile.rules().costs;
    let cost = |kind| match kind {
        "image" => costs.image,
        "audio" => costs.audio,
        _ => costs.file,
    };
    let full = media_kinds(message).map(cost).fold(0, u32::saturating_add);
    let discount = costs.image - costs.low_detail_image;
    if full == 0 || discount == 0 {
        return full;
    }
    full.saturating_sub(low_detail_images(raw).saturating_mul(discount))
}

fn low_detail_images(raw: &str) -> u32 {
    let Some(message) = json::read_value(raw, MAX_NESTING) else { return 0 };
    let parts = message["content"].as_array().or(message["parts"].as_array());
    let is_low = |part: &&Value| {
        let options = [&part["providerOptions"], &part["providerMetadata"]];
        part["image_url"]["detail"] == "low"
            || part["detail"] == "low"
            || options.iter().any(|options| options["openai"]["imageDetail"] == "low")
    };
    parts.map_or(0, |parts| parts.iter().filter(is_low).count() as u32)
}
