//! The summary as text of a prompt, and the records of a finished compaction.

use super::{Plan, SECTIONS};
use crate::message::Seq;
use crate::prompt_text::{PROJECT_HEADER, SUMMARY_HEADER, single_line};
use crate::records::{SummaryHead, SummaryNode, SummarySection, Trust};
use crate::sorted_map::SortedSet;

/// The sections that are shown, in the fixed order of [`SECTIONS`]: name, heading, items on one line each.
pub(super) fn ordered_sections(head: &SummaryHead) -> impl Iterator<Item = (&'static str, &'static str, Vec<String>)> {
    SECTIONS.iter().filter_map(|&(name, heading)| {
        let items: Vec<String> = head
            .sections
            .iter()
            .filter(|section| section.name == name)
            .flat_map(|section| section.items.iter().map(|item| single_line(item)))
            .filter(|item| !item.is_empty())
            .collect();
        (!items.is_empty()).then_some((name, heading, items))
    })
}

/// The summary as it stands in a prompt: the same head gives the same bytes. Empty when there is nothing to say.
///
/// The identifiers of the ledger that the sections do not name are on a line of their own at the end. Every item is made
/// harmless and kept on its line; the block has no empty line.
#[must_use]
pub fn render(head: &SummaryHead) -> String {
    block(SUMMARY_HEADER, head)
}

/// What sections say, on one line: an episode as it stands in a prompt, or a part to be folded with others.
#[must_use]
pub fn one_line(sections: &[SummarySection]) -> String {
    let head = SummaryHead { sections: sections.to_vec(), ..SummaryHead::default() };
    let parts: Vec<String> =
        ordered_sections(&head).map(|(_, heading, items)| format!("{heading}: {}", items.join("; "))).collect();
    parts.join(" / ")
}

fn block(header: &str, head: &SummaryHead) -> String {
    let mut lines = Vec::new();
    for (_, heading, items) in ordered_sections(head) {
        lines.push(format!("{heading}:"));
        lines.extend(items.iter().map(|item| format!("- {item}")));
    }
    let body = lines.join("\n");
    let missing: Vec<String> = head
        .identifiers
        .iter()
        .map(|identifier| single_line(identifier))
        .filter(|identifier| !identifier.is_empty() && !contains_whole(&body, identifier))
        .collect();
    if !missing.is_empty() {
        lines.push(format!("Also named: {}", missing.join(", ")));
    }
    if lines.is_empty() { String::new() } else { format!("{header}\n{}", lines.join("\n")) }
}

/// [`render`], made to fit `cap_tokens`: first the oldest identifiers of the ledger go, then whole items, last section
/// first and within a section the last item first. Empty when not even one item fits.
///
/// Deterministic: the same head and cap give the same bytes.
#[must_use]
pub fn render_within(head: &SummaryHead, cap_tokens: u32, count_tokens: &dyn Fn(&str) -> u32) -> String {
    block_within(SUMMARY_HEADER, head, cap_tokens, count_tokens)
}

/// The summary of a project, as [`render_within`] has that of a conversation.
#[must_use]
pub fn render_project(sections: &[SummarySection], cap_tokens: u32, count_tokens: &dyn Fn(&str) -> u32) -> String {
    let head = SummaryHead { sections: sections.to_vec(), ..SummaryHead::default() };
    block_within(PROJECT_HEADER, &head, cap_tokens, count_tokens)
}

fn block_within(header: &str, head: &SummaryHead, cap_tokens: u32, count_tokens: &dyn Fn(&str) -> u32) -> String {
    let fits = |head: &SummaryHead| count_tokens(&block(header, head)) <= cap_tokens;
    if fits(head) {
        return block(header, head);
    }
    let sections: Vec<SummarySection> =
        ordered_sections(head).map(|(name, _, items)| SummarySection { name: name.to_owned(), items }).collect();
    let items: usize = sections.iter().map(|section| section.items.len()).sum();
    // The most that fits of: nothing, the items one by one, then the identifiers, newest first.
    let kept = |steps: usize| {
        let mut left = steps.min(items);
        let mut shown = Vec::new();
        for section in &sections {
            let take = left.min(section.items.len());
            left -= take;
            let items = section.items.iter().take(take).cloned().collect();
            shown.push(SummarySection { name: section.name.clone(), items });
        }
        let skipped = head.identifiers.len().saturating_sub(steps.saturating_sub(items));
        let identifiers = head.identifiers.iter().skip(skipped).cloned().collect();
        SummaryHead { sections: shown, identifiers, ..SummaryHead::default() }
    };
    let (mut low, mut high) = (0, items + head.identifiers.len());
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(&kept(middle)) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    block(header, &kept(low))
}

/// Whether `text` holds `word` with no letter, digit or underscore right beside it.
fn contains_whole(text: &str, word: &str) -> bool {
    let is_inside = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|tail| tail.chars().next());
        !before.is_some_and(is_inside) && !after.is_some_and(is_inside)
    })
}

/// The head after a successful compaction of `plan`: version one higher, cursor at the plan's last position.
#[must_use]
pub fn advance(
    head: &SummaryHead,
    plan: &Plan,
    sections: Vec<SummarySection>,
    identifiers: Vec<String>,
    trust: Option<Trust>,
    now_ms: f64,
) -> SummaryHead {
    SummaryHead {
        trust: if head.summarized_until_seq == 0 { trust } else { head.trust.min(trust) },
        sections,
        identifiers,
        summarized_until_seq: plan.last_seq,
        version: head.version.saturating_add(1),
        updated_at: now_ms,
    }
}

/// The chunk node of a compacted range.
///
/// The model answers with the notes of the whole conversation so far; the node keeps what this range added to them or
/// changed: the items of `sections` that `before` did not have.
#[must_use]
pub fn node(
    first_seq: Seq,
    last_seq: Seq,
    before: &[SummarySection],
    sections: &[SummarySection],
    source_hashes: Vec<String>,
    trust: Option<Trust>,
) -> SummaryNode {
    let known: SortedSet<String> =
        before.iter().flat_map(|section| &section.items).map(|item| single_line(item)).collect();
    let added = sections.iter().filter_map(|section| {
        let items: Vec<String> =
            section.items.iter().filter(|item| !known.contains(&single_line(item))).cloned().collect();
        (!items.is_empty()).then(|| SummarySection { name: section.name.clone(), items })
    });
    SummaryNode {
        level: 0,
        first_seq,
        last_seq,
        sections: added.collect(),
        children: Vec::new(),
        source_hashes,
        dirty: false,
        trust,
    }
}
