//! Elements: what messages of every format are made of once calls and results stand apart. Repair works on them.
//!
//! Every element is what one user says, what the assistant says with its calls, or results of calls. An AI SDK UI
//! message gives several, an Anthropic user message with results and text gives two.

use super::source::Source;
use crate::message::{Format, Message, Part, Role};
use crate::sorted_map::{SortedMap, SortedSet};

/// One thing in an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A part of a source, by its position.
    Part { source: usize, index: usize },
    /// An answer made up for an interrupted call of this source.
    Stub { source: usize, call_id: String, name: String },
}

impl Content {
    pub fn source(&self) -> usize {
        match self {
            Self::Part { source, .. } | Self::Stub { source, .. } => *source,
        }
    }

    /// The source and the part in it, where it stands for one.
    pub fn position(&self) -> Option<(usize, usize)> {
        match self {
            Self::Part { source, index } => Some((*source, *index)),
            Self::Stub { .. } => None,
        }
    }

    /// The part that it stands for.
    pub fn part<'a>(&self, sources: &[Source<'a>]) -> Option<&'a Part> {
        match self {
            Self::Part { source, index } => sources.get(*source)?.message.parts.get(*index),
            Self::Stub { .. } => None,
        }
    }
}

/// What one side says at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Element {
    /// User, assistant, or tool for results; never system.
    pub role: Role,
    pub contents: Vec<Content>,
    /// The source it was made from.
    pub source: usize,
    /// Its calls and results are written as text.
    pub is_flat: bool,
}

/// The elements of a list of sources; system messages give none.
pub(super) fn elements(sources: &[Source<'_>]) -> Vec<Element> {
    sources.iter().enumerate().flat_map(|(index, source)| explode(index, source)).collect()
}

fn explode(index: usize, source: &Source<'_>) -> Vec<Element> {
    let (message, format, source) = (source.message, source.format, index);
    let element = |role, indices: Vec<usize>| Element {
        role,
        contents: indices.into_iter().map(|index| Content::Part { source, index }).collect(),
        source,
        is_flat: false,
    };
    // A call outside an assistant message is nobody's: no provider takes it.
    let is_call = |index: &usize| matches!(message.parts.get(*index), Some(Part::ToolCall { .. }));
    let all = (0..message.parts.len()).filter(|index| message.role == Role::Assistant || !is_call(index));
    match message.role {
        Role::System => Vec::new(),
        Role::Tool => vec![element(Role::Tool, all.collect())],
        Role::User => {
            let (results, rest): (Vec<_>, Vec<_>) =
                all.partition(|&index| matches!(message.parts.get(index), Some(Part::ToolResult { .. })));
            let mut elements = Vec::new();
            if !results.is_empty() {
                elements.push(element(Role::Tool, results));
            }
            if !rest.is_empty() || elements.is_empty() {
                elements.push(element(Role::User, rest));
            }
            elements
        }
        Role::Assistant => rounds(message, format)
            .into_iter()
            .flat_map(|(said, results)| [(Role::Assistant, said), (Role::Tool, results)])
            .filter(|(role, indices)| !indices.is_empty() || *role == Role::Assistant && message.parts.is_empty())
            .map(|(role, indices)| element(role, indices))
            .collect(),
    }
}

/// Rounds of an assistant message: what is said with its calls, and the results that the message itself holds for its
/// client-side calls. Only an AI SDK UI message has several: a new one begins at `step-start` after calls, as in the
/// SDK's own conversion, and in a message without any step at the text or reasoning after calls.
fn rounds(message: &Message, format: Format) -> Vec<(Vec<usize>, Vec<usize>)> {
    let begins = round_start(message, format);
    let mut rounds = vec![(Vec::new(), Vec::new())];
    // Whether the last call with an id is the client's.
    let mut called: SortedMap<&str, bool> = SortedMap::new();
    let (mut has_calls, mut is_client_call) = (false, false);
    let repeats = repeated_calls(message, format);
    for (index, part) in message.parts.iter().enumerate().filter(|(index, _)| !repeats.contains(index)) {
        if has_calls && begins(part) {
            rounds.push((Vec::new(), Vec::new()));
            has_calls = false;
        }
        let is_answer = match part {
            Part::ToolCall { id, provider_executed, .. } => {
                is_client_call = !provider_executed;
                has_calls |= is_client_call;
                called.insert(id, is_client_call);
                false
            }
            // Anthropic's results with a name are the provider's.
            Part::ToolResult { name: Some(_), .. } if format == Format::Anthropic => false,
            Part::ToolResult { call_id, .. } => called.get(call_id.as_str()).copied().unwrap_or(false),
            Part::Other { kind } => is_client_call && kind == "tool-approval-response",
            _ => false,
        };
        if let Some((said, results)) = rounds.last_mut() {
            if is_answer { results.push(index) } else { said.push(index) }
        }
    }
    rounds
}

/// Tells the parts at which a new round may begin.
fn round_start(message: &Message, format: Format) -> fn(&Part) -> bool {
    let is_step: fn(&Part) -> bool = |part| matches!(part, Part::Other { kind } if kind == "step-start");
    if format != Format::AiSdkUi {
        return |_| false;
    }
    if message.parts.iter().any(is_step) {
        return is_step;
    }
    |part| match part {
        Part::Text(text) => !text.trim().is_empty(),
        part => matches!(part, Part::Reasoning(_)),
    }
}

/// Calls of a UI message without steps whose id was called before in it: to the SDK all of it is one step, and ids are
/// unique in a step (R16). Only with steps may a later round use an id again.
pub(super) fn repeated_calls(message: &Message, format: Format) -> SortedSet<usize> {
    let has_steps = message.parts.iter().any(|part| matches!(part, Part::Other { kind } if kind == "step-start"));
    let mut ids = SortedSet::new();
    let mut follows_repeat = false;
    let mut is_repeat = |part: &Part| {
        follows_repeat = match part {
            Part::ToolCall { id, provider_executed: false, .. } => !ids.insert(id.clone()),
            // What was approved or not is the call in front.
            Part::Other { kind } => follows_repeat && kind.starts_with("tool-approval-"),
            _ => false,
        };
        follows_repeat
    };
    if has_steps || format != Format::AiSdkUi {
        return SortedSet::new();
    }
    message.parts.iter().enumerate().filter(|(_, part)| is_repeat(part)).map(|(index, _)| index).collect()
}
