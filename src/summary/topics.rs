//! Which chunks of a summary tree make a topic.
//!
//! A topic is a run of chunks that speak of the same things, six at most. It is made once the next one has begun, from its
//! chunks alone; where those change, it is made again.

use super::SECTIONS;
use crate::hash::fnv1a;
use crate::lexical::lowercase;
use crate::records::{SummaryNode, SummarySection};
use crate::sorted_map::SortedSet;
use std::ops::Range;

/// Most chunks of a topic: at the default marks about 36,000 tokens of messages.
const MOST_CHUNKS: usize = 6;
/// A chunk that shares less of its words with the topic so far begins another one.
const SHARED_WORDS: f64 = 0.15;
/// Shorter words, in bytes, say little about the topic.
const SHORTEST_WORD: usize = 4;

/// The topics that are over: ranges of `chunks`, in order. The last one is still open.
#[must_use]
pub fn topic_ranges(chunks: &[SummaryNode]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    let mut words: SortedSet<String> = SortedSet::new();
    for (at, chunk) in chunks.iter().enumerate() {
        let own = words_of(&chunk.sections);
        let shared = own.iter().filter(|word| words.contains(word.as_str())).count();
        let is_other = !own.is_empty() && (shared as f64) < SHARED_WORDS * own.len() as f64;
        if at > start && (is_other || at - start >= MOST_CHUNKS) {
            ranges.push(start..at);
            start = at;
            words.clear();
        }
        words.extend(own);
    }
    ranges
}

fn words_of(sections: &[SummarySection]) -> Vec<String> {
    let items = sections.iter().flat_map(|section| &section.items);
    let words: SortedSet<String> = items
        .flat_map(|item| item.split(|c: char| !c.is_alphanumeric()))
        .filter(|word| word.len() >= SHORTEST_WORD)
        .map(lowercase)
        .collect();
    words.iter().cloned().collect()
}

/// Hash of what a node says: what a node above it was made from.
#[must_use]
pub fn node_hash(node: &SummaryNode) -> String {
    format!("{:016x}", fnv1a(super::one_line(&node.sections).bytes()))
}

/// Whether a topic was made from these chunks as they are.
#[must_use]
pub fn is_topic_of(topic: &SummaryNode, chunks: &[SummaryNode]) -> bool {
    topic.children.iter().copied().eq(chunks.iter().map(|chunk| chunk.first_seq))
        && topic.source_hashes.iter().cloned().eq(chunks.iter().map(node_hash))
        && chunks.last().is_some_and(|last| last.last_seq == topic.last_seq)
}

/// What chunks say, without a model: the first item of each section of each chunk, then the second, while they fit.
#[must_use]
pub fn joined(chunks: &[SummaryNode], most_tokens: u32, count_tokens: &dyn Fn(&str) -> u32) -> Vec<SummarySection> {
    let mut sections: Vec<SummarySection> = SECTIONS.iter().map(|(name, _)| empty_section(name)).collect();
    let longest = chunks.iter().flat_map(|chunk| &chunk.sections).map(|section| section.items.len()).max().unwrap_or(0);
    let mut left_tokens = most_tokens;
    for at in 0..longest {
        for section in chunks.iter().flat_map(|chunk| &chunk.sections) {
            let into = sections.iter_mut().find(|into| into.name == section.name);
            let (Some(into), Some(item)) = (into, section.items.get(at)) else { continue };
            let tokens = count_tokens(item).saturating_add(1);
            if tokens <= left_tokens && !into.items.contains(item) {
                left_tokens -= tokens;
                into.items.push(item.clone());
            }
        }
    }
    sections.retain(|section| !section.items.is_empty());
    sections
}

fn empty_section(name: &str) -> SummarySection {
    SummarySection { name: name.to_owned(), items: Vec::new() }
}

/// The topic of some chunks.
#[must_use]
pub fn topic_node(chunks: &[SummaryNode], sections: Vec<SummarySection>) -> SummaryNode {
    SummaryNode {
        level: 1,
        first_seq: chunks.first().map_or(0, |chunk| chunk.first_seq),
        last_seq: chunks.last().map_or(0, |chunk| chunk.last_seq),
        sections,
        children: chunks.iter().map(|chunk| chunk.first_seq).collect(),
        source_hashes: chunks.iter().map(node_hash).collect(),
        dirty: false,
        trust: chunks.iter().map(|chunk| chunk.trust).min().flatten(),
    }
}
