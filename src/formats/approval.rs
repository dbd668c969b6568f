//! Approvals in the AI SDK's messages: a call may wait for the user's yes or no, and the SDK runs it (or not) when it gets
//! the answer. In a UI message the answer is what became of the call in front of it; a model message names the request.

use super::element::{Content, Element};
use super::source::{Opened, Source};
use crate::message::{Format, Part};
use crate::sorted_map::SortedMap;

/// Requests for approval by their id, and the call that each is about.
pub(super) type Requests = SortedMap<String, String>;

/// What the assistant asked for in a model message.
pub(super) fn requests(said: &Element, sources: &[Source<'_>]) -> Requests {
    let mut requests = Requests::new();
    for content in &said.contents {
        let is_request = matches!(content.part(sources), Some(Part::Other { kind }) if kind == "tool-approval-request");
        let field = |field| if is_request { text(content, field, sources) } else { None };
        if let (Some(request), Some(call)) = (field("approvalId"), field("toolCallId")) {
            requests.insert(request, call);
        }
    }
    requests
}

/// The id of the call that an answer is about.
pub(super) fn answered_call(answer: &Content, requests: &Requests, sources: &[Source<'_>]) -> Option<String> {
    let (source, index) = answer.position()?;
    let source = sources.get(source)?;
    if source.format != Format::AiSdkUi {
        return requests.get(&text(answer, "approvalId", sources)?).cloned();
    }
    match source.message.parts.get(index.checked_sub(1)?)? {
        Part::ToolCall { id, .. } => Some(id.clone()),
        _ => None,
    }
}

/// The text of a field of a part of a model message.
fn text(content: &Content, field: &str, sources: &[Source<'_>]) -> Option<String> {
    let (source, index) = content.position()?;
    let source = sources.get(source).filter(|source| source.format == Format::AiSdkModel)?;
    let opened = Opened::new(source)?;
    Some(opened.value(index, source.format)?.get(field)?.as_str()?.to_owned())
}
