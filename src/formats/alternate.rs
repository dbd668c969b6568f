//! Strict alternation of user and assistant (R11), which many local chat templates raise an error without.

use super::element::Element;
use super::flatten::flatten;
use super::repair::Repair;
use super::source::Source;
use crate::message::Role;

/// Elements in which user and assistant take turns, messages with calls and results left aside as the templates do.
///
/// Neighbours of one role become one message; what the assistant said right before a call goes into the message of the
/// call. Results never join anything: a round of tools that the user did not let come to an answer is written as text.
pub(super) fn alternate(mut elements: Vec<Element>, sources: &[Source<'_>], repairs: &mut Vec<Repair>) -> Vec<Element> {
    flatten_unanswered_rounds(&mut elements, sources, repairs);
    let mut out: Vec<Element> = Vec::with_capacity(elements.len());
    for element in elements {
        match out.last_mut() {
            Some(last) if last.role == element.role && element.role != Role::Tool => {
                let seq = sources.get(element.source).and_then(|source| source.seq);
                repairs.push(Repair { rule: "R11", seq, what: "joined to the message before it, of the same role" });
                last.is_flat |= element.is_flat;
                last.contents.extend(element.contents);
            }
            _ => out.push(element),
        }
    }
    out
}

/// Rounds that a user message follows at once.
fn flatten_unanswered_rounds(elements: &mut [Element], sources: &[Source<'_>], repairs: &mut Vec<Repair>) {
    let mut from = 0;
    for at in 1..elements.len() {
        let roles = elements.get(at - 1).zip(elements.get(at)).map(|(before, element)| (before.role, element.role));
        match roles {
            Some((Role::Tool, Role::User)) => flatten(elements.get_mut(from..at).unwrap_or_default(), sources, repairs),
            Some((_, Role::Assistant)) => from = at,
            _ => {}
        }
    }
}
