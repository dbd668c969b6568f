//! Messages as plain text for model calls of the engine's own (R15): no tools are sent there, and providers refuse tool
//! blocks in a request without tools.

use crate::message::{Message, Part};

/// The message as text, a paragraph per part: what was said, calls as `[called name(arguments)]`, results as
/// `[result: output]` or `[error: output]`, media as `[image: label]`. Reasoning and parts of other kinds are left out.
#[must_use]
pub fn flattened(message: &Message) -> String {
    let lines = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => (!text.trim().is_empty()).then(|| text.clone()),
        Part::ToolCall { name, arguments, .. } => Some(format!("[called {name}({arguments})]")),
        Part::ToolResult { output, is_error, .. } => {
            Some(format!("[{}: {output}]", if *is_error { "error" } else { "result" }))
        }
        Part::Media { kind, label } => Some(format!("[{kind}: {label}]")),
        Part::Reasoning(_) | Part::Other { .. } => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}
