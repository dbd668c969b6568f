//! Calls and results as plain text, for requests without tools (R15): some providers refuse tool blocks there, and some
//! take none at all.

use super::element::{Content, Element};
use super::repair::{Repair, STUB_OUTPUT};
use super::source::Source;
use crate::message::{Part, Role};
use crate::prompt_text::{neutralize, push_quoted};

/// A call as `[called name(arguments)]`, a result as `[result: output]` or `[error: output]`, and where that could be mistaken
/// for an end, as `[result]` and its lines behind `> `: no output can leave its place. Other parts are no tools.
pub(super) fn tool_text(part: &Part) -> Option<String> {
    match part {
        Part::ToolCall { name, arguments, .. } => {
            Some(neutralize(&format!("[called {name}({arguments})]")).into_owned())
        }
        Part::ToolResult { output, is_error, .. } => {
            let kind = if *is_error { "error" } else { "result" };
            let output = neutralize(output);
            if !output.contains(['\n', ']']) {
                return Some(format!("[{kind}: {output}]"));
            }
            let mut text = format!("[{kind}]\n");
            push_quoted(&mut text, &output);
            text.truncate(text.trim_end_matches('\n').len());
            Some(text)
        }
        _ => None,
    }
}

/// What stands in place of a result that was made up.
pub(super) fn stub_text() -> String {
    format!("[result: {STUB_OUTPUT}]")
}

/// Marks elements with calls or results as text: what was called is said by the assistant, what came back by the user, so
/// that a window that ended on results still ends on what is to be answered (R10).
pub(super) fn flatten(elements: &mut [Element], sources: &[Source<'_>], repairs: &mut Vec<Repair>) {
    for element in elements {
        let is_tool = |content: &Content| {
            content.part(sources).is_none_or(|part| matches!(part, Part::ToolCall { .. } | Part::ToolResult { .. }))
        };
        // Answers to requests for approval go with the round that they belong to, though they have no text.
        let is_answer = element.role == Role::Tool;
        if !is_answer && !element.contents.iter().any(is_tool) {
            continue;
        }
        element.is_flat = true;
        if is_answer {
            element.role = Role::User;
        } else {
            let seq = sources.get(element.source).and_then(|source| source.seq);
            repairs.push(Repair { rule: "R15", seq, what: "tool calls and results written as text" });
        }
    }
}
