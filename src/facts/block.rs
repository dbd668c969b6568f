//! The block of remembered facts in a prompt: a first line that says what it is, then one JSON string per line.

use super::id_number;
use crate::prompt_text::{MEMORY_HEADER, json_line, neutralize};
use crate::records::FactRecord;
use crate::sorting;
use std::borrow::Cow;

/// What a fact's line says: its text, behind its subject where that is not the user.
#[must_use]
pub fn memory_item(fact: &FactRecord) -> Cow<'_, str> {
    let text = if matches!(fact.subject.as_str(), "" | "user") {
        Cow::Borrowed(fact.fact.as_str())
    } else {
        Cow::Owned(format!("{}: {}", fact.subject, fact.fact))
    };
    match text {
        Cow::Borrowed(text) => neutralize(text),
        Cow::Owned(text) => Cow::Owned(neutralize(&text).into_owned()),
    }
}

/// The block, ordered by numeric id whatever the order given: the same facts give the same bytes. Empty without facts.
///
/// Line breaks and quotation marks are escaped by JSON, hidden characters are gone, special tokens are broken up and
/// `</` is written `<\/`: no text can leave its line.
#[must_use]
pub fn render_memory_block(facts: &[&FactRecord]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let mut ordered = facts.to_vec();
    sorting::sort_by(&mut ordered, &|one, other| {
        id_number(&one.id).cmp(&id_number(&other.id)).then_with(|| one.id.cmp(&other.id))
    });
    let lines = ordered.iter().map(|fact| json_line(&memory_item(fact)));
    std::iter::once(MEMORY_HEADER.to_owned()).chain(lines).collect::<Vec<_>>().join("\n")
}

/// The items of a block; `None` where the text is not exactly such a block. The counterpart that tests hold
/// [`render_memory_block`] against.
#[must_use]
pub fn parse_memory_block(block: &str) -> Option<Vec<String>> {
    if block.is_empty() {
        return Some(Vec::new());
    }
    let items = block.strip_prefix(MEMORY_HEADER)?.strip_prefix('\n')?;
    items.split('\n').map(|line| crate::json_reader::read_json(line).ok()).collect()
}
