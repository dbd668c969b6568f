//! From a question down the summary tree: which node speaks of it, and by which of its sentences.
//!
//! A summary says in its own words what was said, so a question may have words of the summary that no message has. The
//! sentence that they stand in has other words beside them, and those are the messages'.

use crate::message::Seq;
use crate::records::SummaryNode;

/// The node that says most about a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Landing {
    /// First position that it covers, inclusive.
    pub first_seq: Seq,
    /// Last position that it covers, inclusive.
    pub last_seq: Seq,
    /// The sentence that says it.
    pub sentence: String,
    /// How much that sentence says about the question, as it was told.
    pub relevance: f32,
}

/// Looks through the nodes, `relevance` telling how much a sentence says about the question, 0 and up. Among equals the one
/// that comes first: give lower levels first, since they cover less. `None` where no sentence says anything about it.
#[must_use]
pub fn descend<'a>(nodes: impl Iterator<Item = &'a SummaryNode>, relevance: &dyn Fn(&str) -> f32) -> Option<Landing> {
    let mut best: Option<Landing> = None;
    for node in nodes {
        for sentence in node.sections.iter().flat_map(|section| &section.items) {
            let relevance = relevance(sentence);
            if relevance > best.as_ref().map_or(0.0, |best| best.relevance) {
                let (first_seq, last_seq, sentence) = (node.first_seq, node.last_seq, sentence.clone());
                best = Some(Landing { first_seq, last_seq, sentence, relevance });
            }
        }
    }
    best
}
