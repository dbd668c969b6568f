//! Elements: what messages of every format are made of once calls and results stand apart. Repair works on them.
//!
//! Every element is what one user says, what the assistant says with its calls, or results of calls. An AI SDK UI
//! message gives several, an Anthropic user message with results and text gives two.

use super::source::Source;
use crate::message::{Message, Part, Role};
use std::collections::BTreeSet;

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
}

/// The elements of a list of sources; system messages give none.
pub(super) fn elements(sources: &[Source<'_>]) -> Vec<Element> {
    sources.iter().enumerate().flat_map(|(index, source)| explode(index, source.message)).collect()
}

fn explode(source: usize, message: &Message) -> Vec<Element> {
    let element = |role, indices: Vec<usize>| Element {
        role,
        contents: indices.into_iter().map(|index| Content::Part { source, index }).collect(),
        source,
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
        Role::Assistant => rounds(message)
            .into_iter()
            .flat_map(|(said, results)| [(Role::Assistant, said), (Role::Tool, results)])
            .filter(|(role, indices)| !indices.is_empty() || *role == Role::Assistant && message.parts.is_empty())
            .map(|(role, indices)| element(role, indices))
            .collect(),
    }
}

/// Rounds of an assistant message: what is said with its calls, and the results that the message itself holds for its
/// client-side calls. A new round begins at `step-start`; in a message without any, at the text after a result.
fn rounds(message: &Message) -> Vec<(Vec<usize>, Vec<usize>)> {
    let is_step = |part: &Part| matches!(part, Part::Other { kind } if kind == "step-start");
    let has_steps = message.parts.iter().any(is_step);
    let mut rounds = vec![(Vec::new(), Vec::new())];
    let mut called = BTreeSet::new();
    for (index, part) in message.parts.iter().enumerate() {
        let begins = if has_steps { is_step(part) } else { matches!(part, Part::Text(_)) };
        if begins && rounds.last().is_some_and(|(_, results)| !results.is_empty()) {
            rounds.push((Vec::new(), Vec::new()));
        }
        let is_answer = match part {
            Part::ToolCall { id, provider_executed: false, .. } => {
                called.insert(id.as_str());
                false
            }
            Part::ToolResult { call_id, .. } => called.contains(call_id.as_str()),
            Part::Other { kind } => kind == "tool-approval-response",
            _ => false,
        };
        if let Some((said, results)) = rounds.last_mut() {
            if is_answer { results.push(index) } else { said.push(index) }
        }
    }
    rounds
}
