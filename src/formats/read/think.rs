//! Reasoning that stands in visible text (R21): local models and some chat front ends put it in front of the answer.

use super::Block;
use crate::message::{Part, Role};

/// How such reasoning begins and ends.
const TAGS: [(&str, &str); 3] =
    [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<details type=\"reasoning\"", "</details>")];

/// Splits reasoning off the start of the assistant's texts. Tags stay with the reasoning, so that what is counted is
/// what the raw message holds. Reasoning that does not end is left as text: it may be talk about the tag.
pub(super) fn split(blocks: Vec<Block>, role: Role) -> Vec<Block> {
    if role != Role::Assistant {
        return blocks;
    }
    let mut out = Vec::with_capacity(blocks.len());
    for block in blocks {
        let Part::Text(text) = &block.part else {
            out.push(block);
            continue;
        };
        let Some((reasoning, rest)) = split_text(text) else {
            out.push(block);
            continue;
        };
        out.push(Block { part: Part::Reasoning(reasoning.to_owned()), slot: block.slot });
        if !rest.is_empty() {
            out.push(Block { part: Part::Text(rest.to_owned()), slot: block.slot });
        }
    }
    out
}

fn split_text(text: &str) -> Option<(&str, &str)> {
    let start = text.trim_start();
    let (_, end) = TAGS.iter().find(|(begin, _)| start.starts_with(begin))?;
    let at = text.find(end)? + end.len();
    let (_, rest) = text.split_at_checked(at)?;
    let rest = rest.trim_start();
    Some((text.get(..text.len() - rest.len())?, rest))
}
