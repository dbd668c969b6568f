//! Messages as plain text for the summarising model: tools flattened, reasoning left out, cut to what fits.

use crate::embedded_data::without_data;
use crate::message::{Message, Part, Role, Seq};
use crate::prompt_text::{push_quoted, strip_reasoning};
use crate::records::Trust;
use crate::secrets::{LEFT_OUT, without_secrets};

/// Longest flattened tool output, in characters: the head is kept with its length, the rest is in the raw message.
const TOOL_OUTPUT_CHARS: usize = 4_000;

/// A message, or a slice of one, as the summarising model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Position in the conversation.
    pub seq: Seq,
    /// Who speaks.
    pub role: Role,
    /// Plain text; empty where the message says nothing that may be summarised.
    pub text: String,
    /// Number of the slice and number of slices, from 1, where the message was too long for one call.
    pub slice: Option<(u32, u32)>,
}

impl Entry {
    /// A message as plain text: tool calls and results in words, media by label, base64 in a text by
    /// type and size, reasoning and secrets not at all.
    #[must_use]
    pub fn new(seq: Seq, message: &Message) -> Self {
        let mut lines: Vec<String> = Vec::new();
        for part in &message.parts {
            let line = match part {
                Part::Text(text) if message.role == Role::Assistant => strip_reasoning(text).into_owned(),
                Part::Text(text) => text.clone(),
                Part::Reasoning(_) => continue,
                Part::ToolCall { name, arguments, .. } => {
                    format!("[calls {name} with {}]", shortened(&without_data(arguments)))
                }
                Part::ToolResult { name, output, is_error, .. } => {
                    let name = name.as_deref().unwrap_or("the tool");
                    let verb = if *is_error { "failed" } else { "answered" };
                    format!("[{name} {verb}: {}]", shortened(&without_data(&strip_reasoning(output))))
                }
                Part::Media { kind, label } => format!("[{kind}: {label}]"),
                Part::Other { kind } => format!("[{kind}]"),
            };
            if !line.trim().is_empty() {
                lines.push(without_data(&line).into_owned());
            }
        }
        let text = without_secrets(&lines.join("\n"), LEFT_OUT).into_owned();
        Self { seq, role: message.role, text, slice: None }
    }

    /// The entry as it stands in the prompt: a heading, and every line of the text quoted.
    pub(super) fn rendered(&self) -> String {
        let mut out = format!("[{}] {}", self.seq, self.role.as_str());
        if let Some((number, of)) = self.slice {
            out.push_str(&format!(" (part {number} of {of})"));
        }
        out.push('\n');
        push_quoted(&mut out, self.text.trim_end());
        out
    }
}

/// How far what a model makes of a message may be trusted: no further than the message. Anybody can have written what a
/// tool answers.
#[must_use]
pub fn trust_of(message: &Message, imported: bool) -> Trust {
    match message.result_ids().next() {
        Some(_) => Trust::External,
        None if imported => Trust::Imported,
        None => Trust::AssistantInferred,
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(TOOL_OUTPUT_CHARS) {
        Some((end, _)) => {
            format!("{} ... ({} bytes in all)", text.get(..end).unwrap_or_default(), text.len())
        }
        None => text.to_owned(),
    }
}

/// The entries in pieces of at most `room_tokens` each, in order. A message that alone is longer is sliced, at line
/// breaks or spaces where there are any. Every piece is summarised in turn, onto the sections of the one before.
///
/// `room_tokens` below 64 counts as 64, so that there always is progress. Cost: about one count of the whole text, twice
/// for a message that is sliced.
#[must_use]
pub fn pieces(entries: &[Entry], room_tokens: u32, count_tokens: &dyn Fn(&str) -> u32) -> Vec<Vec<Entry>> {
    let room_tokens = room_tokens.max(64);
    let mut pieces = Vec::new();
    let mut piece: Vec<Entry> = Vec::new();
    let mut used_tokens = 0_u32;
    for entry in entries.iter().filter(|entry| !entry.text.trim().is_empty()) {
        let tokens = count_tokens(&entry.rendered());
        if tokens.saturating_add(used_tokens) > room_tokens && !piece.is_empty() {
            pieces.push(std::mem::take(&mut piece));
            used_tokens = 0;
        }
        if tokens <= room_tokens {
            piece.push(entry.clone());
            used_tokens += tokens;
        } else {
            pieces.extend(slices(entry, room_tokens, tokens, count_tokens).into_iter().map(|slice| vec![slice]));
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

fn slices(entry: &Entry, room_tokens: u32, tokens: u32, count_tokens: &dyn Fn(&str) -> u32) -> Vec<Entry> {
    let bytes_per_token = entry.text.len() as f64 / f64::from(tokens.max(1));
    let target_bytes = (bytes_per_token * f64::from(room_tokens) * 0.9) as usize;
    let slice_of = |text: &str| Entry { text: text.to_owned(), slice: Some((0, 0)), ..entry.clone() };
    let mut parts: Vec<Entry> = Vec::new();
    let mut rest = entry.text.as_str();
    while !rest.is_empty() {
        let mut bytes = target_bytes.clamp(1, rest.len());
        let (mut head, mut tail) = split_near(rest, bytes);
        // Uneven text can hold more tokens per byte here than on average.
        while bytes > 1 && count_tokens(&slice_of(head).rendered()) > room_tokens {
            bytes /= 2;
            (head, tail) = split_near(rest, bytes);
        }
        if !head.trim().is_empty() {
            parts.push(slice_of(head));
        }
        rest = tail;
    }
    let of = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    for (number, part) in (1..).zip(&mut parts) {
        part.slice = Some((number, of));
    }
    parts
}

/// Splits behind at most `bytes` bytes, at a line break or space of the second half where there is one, and at least
/// behind one character.
fn split_near(text: &str, bytes: usize) -> (&str, &str) {
    let mut end = text.floor_char_boundary(bytes);
    if end == 0 {
        end = text.chars().next().map_or(0, char::len_utf8);
    }
    if end < text.len() {
        let head = text.get(..end).unwrap_or_default();
        let at = head.rfind('\n').filter(|at| *at > end / 2).or_else(|| head.rfind(' ').filter(|at| *at > end / 2));
        end = at.map_or(end, |at| at + 1);
    }
    text.split_at_checked(end).unwrap_or((text, ""))
}
