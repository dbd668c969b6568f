//! Which evidence goes in: documents first, then hits by score, reduced where they are too long, then their neighbours.

use super::evidence::{
    DOCUMENTS_HEAD, EvidenceDocument, EvidenceFact, EvidenceGroup, EvidenceMessage, MESSAGES_HEAD, day, document_block,
    frame, message_block, place_of,
};
use super::passages;
use super::receipt::{Dropped, Item, MessageRange, Reduced};
use crate::prompt_text::LATE_MEMORY_HEADER;
use crate::tokens::TokenCounter;

/// Tokens that joining lines may cost.
const JOINING_TOKENS: u32 = 4;
/// One hit takes at most this part of the room while others want it too.
const MOST_OF_ROOM: u32 = 2;
/// A message is not reduced to less than this: its marker and a sentence.
const LEAST_TOKENS: u32 = 40;

/// The evidence that fits, and what did not.
#[derive(Debug, Default)]
pub(super) struct Filled {
    pub(super) facts: Vec<EvidenceFact>,
    pub(super) documents: Vec<EvidenceDocument>,
    /// Best first.
    pub(super) groups: Vec<EvidenceGroup>,
    pub(super) documents_dropped: Vec<Dropped>,
    pub(super) groups_dropped: Vec<Dropped>,
}

/// Takes facts in the order given, while they fit; with the tokens that they take.
pub(super) fn fill_facts(filled: &mut Filled, facts: &[EvidenceFact], room: u32, counter: &dyn TokenCounter) -> u32 {
    let mut used = counter.count(LATE_MEMORY_HEADER) + JOINING_TOKENS;
    for fact in facts {
        if used.saturating_add(fact.tokens) <= room {
            used += fact.tokens;
            filled.facts.push(fact.clone());
        }
    }
    if filled.facts.is_empty() { 0 } else { used }
}

/// Takes documents in the order given, while they fit.
pub(super) fn fill_documents(
    filled: &mut Filled,
    documents: &[EvidenceDocument],
    room: u32,
    number: u32,
    counter: &dyn TokenCounter,
) {
    let mut left = room.saturating_sub(counter.count(&frame(DOCUMENTS_HEAD, number)) + JOINING_TOKENS);
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

/// What messages are counted and reduced by.
#[derive(Clone, Copy)]
pub(super) struct Measure<'a> {
    pub(super) number: u32,
    pub(super) counter: &'a dyn TokenCounter,
    /// How much a passage says about the question, 0 and up.
    pub(super) relevance: &'a dyn Fn(&str) -> f32,
}

impl Measure<'_> {
    fn tokens(&self, message: &EvidenceMessage) -> u32 {
        self.counter.count(&message_block(message, "", self.number)) + 1
    }

    /// The message reduced to what fits, if anything of it does.
    fn reduced(&self, message: &EvidenceMessage, room_tokens: u32) -> Option<EvidenceMessage> {
        if room_tokens < LEAST_TOKENS {
            return None;
        }
        let mut reduced =
            EvidenceMessage { text: String::new(), whole_tokens: Some(message.tokens), ..message.clone() };
        let text_room = room_tokens.saturating_sub(self.tokens(&reduced) + 1);
        reduced.text = passages::reduce(&message.text, text_room, self.counter, self.relevance)?;
        reduced.tokens = self.tokens(&reduced);
        (reduced.tokens <= room_tokens).then_some(reduced)
    }
}

/// A message that is in.
struct Taken {
    group: usize,
    at: usize,
    message: EvidenceMessage,
}

/// What is in, and the room that is left.
struct Filling<'a> {
    groups: &'a [EvidenceGroup],
    measure: Measure<'a>,
    taken: Vec<Taken>,
    /// Days that are named: a day is named once.
    days: Vec<String>,
    left: u32,
}

impl Filling<'_> {
    /// Tokens that naming the group's conversation and day takes, if it must be named yet.
    fn place_tokens(&self, group: usize) -> u32 {
        if self.taken.iter().any(|taken| taken.group == group) {
            return 0;
        }
        let day = day(self.groups[group].created_at_ms);
        let last_day = self.days.contains(&day).then_some(&*day);
        match &*place_of(&self.groups[group], last_day) {
            "" => 0,
            place => self.measure.counter.count(place) + 1,
        }
    }

    /// Takes a message, whole if it takes at most `most` tokens, else reduced to so many where that may be.
    fn take(&mut self, group: usize, at: usize, most: u32, may_reduce: bool) -> bool {
        let message = &self.groups[group].messages[at];
        let place_tokens = self.place_tokens(group);
        let room = most.min(self.left).saturating_sub(place_tokens);
        let message = match message.tokens <= room {
            true => Some(message.clone()),
            false => may_reduce.then(|| self.measure.reduced(message, room)).flatten(),
        };
        let Some(message) = message else { return false };
        self.left -= message.tokens + place_tokens;
        let day = day(self.groups[group].created_at_ms);
        if !self.days.contains(&day) {
            self.days.push(day);
        }
        self.taken.push(Taken { group, at, message });
        true
    }

    /// Gives reduced messages, best first, the room that is left.
    fn enlarge(&mut self) {
        for taken in &mut self.taken {
            let whole = &self.groups[taken.group].messages[taken.at];
            let room = self.left + taken.message.tokens;
            if taken.message.whole_tokens.is_some() {
                let larger = match whole.tokens <= room {
                    true => Some(whole.clone()),
                    false => self.measure.reduced(whole, room).filter(|larger| larger.tokens > taken.message.tokens),
                };
                if let Some(larger) = larger {
                    self.left = room - larger.tokens;
                    taken.message = larger;
                }
            }
        }
    }
}

/// Takes hits by score; then, best group first, the neighbours of groups whose hits are in, the nearest first: a hit that
/// the ranking put low is worth more than the surroundings of one that it put high (see `retrieval`, what was measured on
/// groups). A hit that is too long for the room, or would take most of it, is reduced to its most relevant passages; what
/// room is left when all hits are in flows back to it. The groups' messages must be counted ([`count_messages`]).
pub(super) fn fill_groups(filled: &mut Filled, groups: &[EvidenceGroup], room: u32, measure: Measure<'_>) {
    let frame_tokens = measure.counter.count(&frame(MESSAGES_HEAD, measure.number)) + JOINING_TOKENS;
    let left = room.saturating_sub(frame_tokens);
    let mut filling = Filling { groups, measure, taken: Vec::new(), days: Vec::new(), left };
    let mut hits: Vec<(f64, usize, usize)> = Vec::new();
    for (group_at, group) in groups.iter().enumerate() {
        let scores = group.messages.iter().map(|message| message.hit.as_ref().map(|(score, _)| *score)).enumerate();
        hits.extend(scores.filter_map(|(at, score)| Some((score?, group_at, at))));
    }
    crate::sorting::sort_by(&mut hits, &|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    for (_, group, at) in hits {
        filling.take(group, at, left / MOST_OF_ROOM, true);
    }
    filling.enlarge();
    for (group, messages) in groups.iter().map(|group| group.messages.iter().zip(0_usize..)).enumerate() {
        let places: Vec<usize> =
            filling.taken.iter().filter(|taken| taken.group == group).map(|taken| taken.at).collect();
        let mut neighbours: Vec<(usize, usize)> = messages
            .filter(|(message, _)| message.hit.is_none())
            .filter_map(|(_, at)| Some((places.iter().map(|place| place.abs_diff(at)).min()?, at)))
            .collect();
        crate::sorting::sort(&mut neighbours);
        for (_, at) in neighbours {
            filling.take(group, at, u32::MAX, false);
        }
    }
    let mut taken = filling.taken;
    crate::sorting::sort_by_key(&mut taken, &|taken| (taken.group, taken.at));
    for (group, group_at) in groups.iter().zip(0..) {
        let is_taken = |at: usize| taken.iter().any(|taken| (taken.group, taken.at) == (group_at, at));
        let left_out = group.messages.iter().zip(0..).filter(|(_, at)| !is_taken(*at));
        filled.groups_dropped.extend(left_out.map(|(message, _)| dropped(message)));
        let of_group = taken.iter().filter(|taken| taken.group == group_at);
        let messages: Vec<EvidenceMessage> = of_group.map(|taken| taken.message.clone()).collect();
        if !messages.is_empty() {
            filled.groups.push(EvidenceGroup { messages, ..group.clone() });
        }
    }
}

/// Counts every message of the groups as it would stand in the prompt, with its line break.
pub(super) fn count_messages(groups: &mut [EvidenceGroup], measure: Measure<'_>) {
    for message in groups.iter_mut().flat_map(|group| &mut group.messages) {
        message.tokens = measure.tokens(message);
    }
}

/// A message that there was no room for.
pub(super) fn dropped(message: &EvidenceMessage) -> Dropped {
    Dropped { id: message.id.clone(), tokens: message.whole_tokens.unwrap_or(message.tokens), reason: "no_room" }
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

/// The items of facts that stand beside the question.
pub(super) fn fact_items(facts: &[EvidenceFact]) -> impl Iterator<Item = Item> {
    facts.iter().map(|fact| Item {
        kind: "fact",
        id: fact.id.clone(),
        tokens: fact.tokens,
        score: Some(fact.score),
        reason: "needed_now",
        ..Item::default()
    })
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
                reduced: message.whole_tokens.map(|from| Reduced { from, to: message.tokens }),
                score: message.hit.as_ref().map(|(score, _)| *score),
                scores,
                reason: if message.hit.is_some() { "hit" } else { "neighbour" },
            });
        }
    }
    items
}
