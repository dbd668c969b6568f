//! Items of OpenAI Responses among elements. What the assistant says at once is one element in every other format, but
//! several items there: reasoning, text, each of its parallel calls. They are joined for repair, so that calls and
//! results of a round are one unit (R5), and told apart again when they are written.

use super::element::{Content, Element};
use super::source::Source;
use crate::message::{Format, Part, Role};
use crate::sorted_map::SortedMap;

/// The source of each reasoning item, and of the item that it stands in front of (R19).
pub(super) type Partners = SortedMap<usize, usize>;

fn is_item(source: usize, sources: &[Source<'_>]) -> bool {
    sources.get(source).is_some_and(|source| source.format == Format::OpenAiResponses)
}

fn is_assistants(element: &Element, sources: &[Source<'_>]) -> bool {
    element.role == Role::Assistant && is_item(element.source, sources)
}

fn is_reasoning(element: &Element, sources: &[Source<'_>]) -> bool {
    is_assistants(element, sources)
        && matches!(element.contents.as_slice(), [only] if matches!(only.part(sources), Some(Part::Reasoning(_))))
}

/// Joins reasoning to the item directly behind it. Reasoning in front of no item of the assistant stays alone.
pub(super) fn join_reasoning(elements: Vec<Element>, sources: &[Source<'_>]) -> (Vec<Element>, Partners) {
    let mut partners = Partners::new();
    let mut out: Vec<Element> = Vec::with_capacity(elements.len());
    // Several pieces of reasoning may follow each other.
    let mut waiting: Vec<Element> = Vec::new();
    for mut element in elements {
        if is_reasoning(&element, sources) {
            waiting.push(element);
            continue;
        }
        if !is_assistants(&element, sources) {
            out.append(&mut waiting);
        }
        if let Some(first) = waiting.first().map(|first| first.source) {
            let next = waiting.iter().skip(1).map(|element| element.source).chain([element.source]);
            for (reasoning, next) in waiting.iter().zip(next) {
                partners.insert(reasoning.source, next);
            }
            let mut contents: Vec<Content> = waiting.drain(..).flat_map(|element| element.contents).collect();
            contents.append(&mut element.contents);
            element = Element { contents, source: first, ..element };
        }
        out.push(element);
    }
    out.append(&mut waiting);
    (out, partners)
}

/// Joins the items that the assistant said one after the other.
pub(super) fn join_turns(elements: Vec<Element>, sources: &[Source<'_>]) -> Vec<Element> {
    let mut out: Vec<Element> = Vec::with_capacity(elements.len());
    for mut element in elements {
        match out.last_mut() {
            Some(last) if is_assistants(last, sources) && is_assistants(&element, sources) => {
                last.contents.append(&mut element.contents);
            }
            _ => out.push(element),
        }
    }
    out
}

/// Takes out the reasoning whose partner is no longer behind it; gives the sources that it was from.
pub(super) fn take_orphaned_reasoning(element: &mut Element, partners: &Partners) -> Vec<usize> {
    let mut orphans = Vec::new();
    let mut next = None;
    let mut kept = Vec::with_capacity(element.contents.len());
    for content in element.contents.drain(..).rev() {
        let source = content.source();
        match partners.get(&source) {
            Some(partner) if next != Some(*partner) => orphans.push(source),
            _ => {
                next = Some(source);
                kept.push(content);
            }
        }
    }
    kept.reverse();
    element.contents = kept;
    orphans
}

/// The contents of an element as those of items: a message's parts together, each call and each result alone. An item
/// that was one already stays whole.
pub(super) fn apart(element: &Element, sources: &[Source<'_>]) -> Vec<Vec<Content>> {
    let stands_alone = |content: &Content| {
        !is_item(content.source(), sources)
            && !matches!(content.part(sources), Some(Part::Text(_) | Part::Media { .. } | Part::Reasoning(_)))
    };
    // Nothing but results has a place among results.
    let has_place = |content: &Content| {
        element.role != Role::Tool
            || is_item(content.source(), sources)
            || matches!(content.part(sources), None | Some(Part::ToolResult { .. }))
    };
    let mut items: Vec<Vec<Content>> = Vec::new();
    for content in element.contents.iter().filter(|content| has_place(content)) {
        let joins = |last: &Content| {
            last.source() == content.source()
                && !stands_alone(last)
                && !stands_alone(content)
                && matches!(content, Content::Part { .. })
                && matches!(last, Content::Part { .. })
        };
        match items.last_mut() {
            Some(item) if item.last().is_some_and(joins) => item.push(content.clone()),
            _ => items.push(vec![content.clone()]),
        }
    }
    items
}
