//! Which evidence goes in: documents first, then hits by score, then their neighbours.

use super::evidence::{EvidenceDocument, EvidenceGroup, EvidenceMessage, document_block, message_block};
use super::receipt::{Dropped, Item, MessageRange};
use crate::tokens::TokenCounter;

/// Tokens for the lines around the records, and for what joining lines may cost.
const FRAME_TOKENS: u32 = 60;

/// The evidence that fits, and what did not.
#[derive(Debug, Default)]
pub(super) struct Filled {
    pub(super) documents: Vec<EvidenceDocument>,
    /// Best first.
    pub(super) groups: Vec<EvidenceGroup>,
    pub(super) documents_dropped: Vec<Dropped>,
    pub(super) groups_dropped: Vec<Dropped>,
}

/// Takes documents in the order given, while they fit.
pub(super) fn fill_documents(
    filled: &mut Filled,
    documents: &[EvidenceDocument],
    room: u32,
    number: u32,
    counter: &dyn TokenCounter,
) {
    let mut left = room.saturating_sub(FRAME_TOKENS);
    for document in documents {
        let tokens = counter.count(&document_block(document, number)) + 1;
        if tokens <= left {
            left -= tokens;
            filled.documents.push(document.clone());
        } else {
            filled.documents_dropped.push(Dropped { id: document.id.clone(), tokens, reason: "no_room" });
        }
    }
}

/// Takes hits by score while they fit, then, best group first, the neighbours of groups whose hits are in: a hit that the
/// ranking put low is worth more than the surroundings of one that it put high (see `retrieval`, what was measured on
/// groups). The groups' messages must be counted ([`count_messages`]).
pub(super) fn fill_groups(filled: &mut Filled, groups: &[EvidenceGroup], room: u32) {
    let mut left = room.saturating_sub(FRAME_TOKENS);
    let mut hits: Vec<(f64, usize, usize)> = Vec::new();
    for (group_at, group) in groups.iter().enumerate() {
        let scores = group.messages.iter().map(|message| message.hit.as_ref().map(|(score, _)| *score)).enumerate();
        hits.extend(scores.filter_map(|(at, score)| Some((score?, group_at, at))));
    }
    crate::sorting::sort_by(&mut hits, &|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let mut taken: Vec<Vec<bool>> = groups.iter().map(|group| vec![false; group.messages.len()]).collect();
    for (_, group_at, at) in hits {
        let needed = groups[group_at].messages[at].tokens + 1;
        if needed <= left {
            left -= needed;
            taken[group_at][at] = true;
        }
    }
    for (group, flags) in groups.iter().zip(&mut taken) {
        let neighbours = || group.messages.iter().enumerate().filter(|(_, message)| message.hit.is_none());
        let needed: u32 = neighbours().map(|(_, message)| message.tokens + 1).sum();
        if flags.contains(&true) && needed <= left {
            left -= needed;
            for (at, _) in neighbours() {
                flags[at] = true;
            }
        }
    }
    for (group, flags) in groups.iter().zip(taken) {
        let mut kept = EvidenceGroup { messages: Vec::new(), ..group.clone() };
        for (message, is_taken) in group.messages.iter().zip(flags) {
            if is_taken {
                kept.messages.push(message.clone());
            } else {
                filled.groups_dropped.push(dropped(message));
            }
        }
        if !kept.messages.is_empty() {
            filled.groups.push(kept);
        }
    }
}

/// Counts every message of the groups as it would stand in the prompt.
pub(super) fn count_messages(groups: &mut [EvidenceGroup], number: u32, counter: &dyn TokenCounter) {
    for group in groups {
        let blocks: Vec<u32> =
            group.messages.iter().map(|message| counter.count(&message_block(message, group, number))).collect();
        for (message, tokens) in group.messages.iter_mut().zip(blocks) {
            message.tokens = tokens;
        }
    }
}

/// A message that there was no room for.
pub(super) fn dropped(message: &EvidenceMessage) -> Dropped {
    Dropped { id: message.id.clone(), tokens: message.tokens, reason: "no_room" }
}

/// The items of the documents section.
pub(super) fn document_items(documents: &[EvidenceDocument], number: u32, counter: &dyn TokenCounter) -> Vec<Item> {
    let item = |document: &EvidenceDocument| Item {
        kind: "document",
        id: document.id.clone(),
        tokens: counter.count(&document_block(document, number)),
        reason: "given_by_app",
        ..Item::default()
    };
    documents.iter().map(item).collect()
}

/// The items of the retrieved section, in the order in which they stand in the prompt.
pub(super) fn group_items(groups: &[&EvidenceGroup]) -> Vec<Item> {
    let mut items = Vec::new();
    for group in groups {
        for message in &group.messages {
            let scores = message.hit.as_ref().and_then(|(_, scores)| serde_json::to_value(scores).ok());
            items.push(Item {
                kind: "message",
                id: message.id.clone(),
                range: Some(MessageRange {
                    conversation_id: group.conversation_id.clone(),
                    from: message.seq,
                    to: message.seq,
                }),
                role: Some(message.role.as_str()),
                tokens: message.tokens,
                score: message.hit.as_ref().map(|(score, _)| *score),
                scores,
                reason: if message.hit.is_some() { "hit" } else { "neighbour" },
            });
        }
    }
    items
}
