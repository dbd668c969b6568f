//! Which evidence goes in: documents first, then retrieved groups by score, each whole or reduced to its hits.

use super::evidence::{EvidenceDocument, EvidenceGroup, document_block, message_block};
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

/// Takes documents in the order given and groups by score, while they fit.
pub(super) fn fill(
    documents: &[EvidenceDocument],
    groups: &[EvidenceGroup],
    documents_room: u32,
    retrieved_room: u32,
    number: u32,
    counter: &dyn TokenCounter,
) -> Filled {
    let mut filled = Filled::default();
    let mut left = documents_room.saturating_sub(FRAME_TOKENS);
    for document in documents {
        let tokens = counter.count(&document_block(document, number)) + 1;
        if tokens <= left {
            left -= tokens;
            filled.documents.push(document.clone());
        } else {
            filled.documents_dropped.push(Dropped { id: document.id.clone(), tokens, reason: "no_room" });
        }
    }
    let mut left = retrieved_room.saturating_sub(FRAME_TOKENS);
    for group in groups {
        let whole = group_tokens(group, number, counter);
        let hits = hits_only(group);
        if whole <= left {
            left -= whole;
            filled.groups.push(group.clone());
        } else if group_tokens(&hits, number, counter) <= left {
            left -= group_tokens(&hits, number, counter);
            filled.groups_dropped.extend(neighbours_of(group, number, counter));
            filled.groups.push(hits);
        } else {
            filled.groups_dropped.extend(dropped_group(group, number, counter));
        }
    }
    filled
}

/// What the messages of a group would have taken.
pub(super) fn dropped_group(group: &EvidenceGroup, number: u32, counter: &dyn TokenCounter) -> Vec<Dropped> {
    let dropped = |message: &super::evidence::EvidenceMessage| Dropped {
        id: message.id.clone(),
        tokens: counter.count(&message_block(message, group, number)),
        reason: "no_room",
    };
    group.messages.iter().map(dropped).collect()
}

fn neighbours_of(group: &EvidenceGroup, number: u32, counter: &dyn TokenCounter) -> Vec<Dropped> {
    let neighbours = group.messages.iter().filter(|message| message.hit.is_none()).cloned().collect();
    dropped_group(&EvidenceGroup { messages: neighbours, ..group.clone() }, number, counter)
}

fn hits_only(group: &EvidenceGroup) -> EvidenceGroup {
    let hits = group.messages.iter().filter(|message| message.hit.is_some()).cloned().collect();
    EvidenceGroup { messages: hits, ..group.clone() }
}

fn group_tokens(group: &EvidenceGroup, number: u32, counter: &dyn TokenCounter) -> u32 {
    group.messages.iter().map(|message| counter.count(&message_block(message, group, number)) + 1).sum()
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
pub(super) fn group_items(groups: &[&EvidenceGroup], number: u32, counter: &dyn TokenCounter) -> Vec<Item> {
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
                tokens: counter.count(&message_block(message, group, number)),
                score: message.hit.as_ref().map(|(score, _)| *score),
                scores,
                reason: if message.hit.is_some() { "hit" } else { "neighbour" },
            });
        }
    }
    items
}
