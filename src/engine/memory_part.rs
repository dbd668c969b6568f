//! What of memory goes into a context, and what of it stays the same from question to question.

use super::Engine;
use super::recall::embedded_question;
use crate::context::{Dropped, EvidenceFact, Item, SystemPart};
use crate::facts::{self, SelectionPolicy};
use crate::prompt_text::json_line;
use crate::records::FactRecord;
use crate::sorted_map::SortedMap;

/// What of memory goes into a context.
#[derive(Default)]
pub(super) struct MemoryPart {
    pub(super) section: SystemPart,
    /// What stands beside the question.
    pub(super) late: Vec<EvidenceFact>,
    /// The question's vector, where one was made.
    pub(super) vector: Option<Vec<f32>>,
}

/// Which facts of many a conversation's contexts hold.
#[derive(Clone, Debug)]
pub(crate) struct KeptFacts {
    /// By id, with the time of their last change.
    facts: Vec<(String, f64)>,
    /// The summary's version at that time.
    summary_version: u32,
    /// They were chosen for a model elsewhere.
    is_remote: bool,
}

fn late_fact(late: &facts::LateFact<'_>) -> EvidenceFact {
    let line = json_line(&facts::memory_item(late.fact));
    EvidenceFact { id: late.fact.id.clone(), line, tokens: late.tokens, score: late.score }
}

/// The section that a selection gives.
fn memory_section(
    selection: &facts::Selection<'_>,
    cap: u32,
    min_score: f64,
    count: &dyn Fn(&str) -> u32,
) -> SystemPart {
    let items = selection
        .facts
        .iter()
        .zip(&selection.scores)
        .map(|(fact, score)| Item {
            kind: "fact",
            id: fact.id.clone(),
            tokens: count(&json_line(&facts::memory_item(fact))),
            score: Some(*score),
            reason: "remembered",
            ..Item::default()
        })
        .collect();
    let dropped = selection
        .dropped
        .iter()
        .map(|(id, tokens, score)| Dropped {
            id: (*id).to_owned(),
            tokens: *tokens,
            reason: if *score < min_score { "below_floor" } else { "no_room" },
        })
        .collect();
    SystemPart { text: facts::render_memory_block(&selection.facts), items, dropped, cap }
}

impl Engine {
    /// What of memory goes into a context of a conversation: all usable facts while they fit, else those that fitted the first
    /// question best, by words and vectors; always in the order of their ids. They stay until a compaction, since all that
    /// follows them would have to be read anew; what another question needs stands beside it. `is_local`: the question is
    /// to stay on this device.
    pub(super) async fn memory_part(
        &self,
        conversation_id: &str,
        cap: u32,
        (question, is_local): (&str, bool),
        is_remote: bool,
    ) -> MemoryPart {
        let existing = self.facts_for(is_remote);
        let counter = self.counter();
        let count = |text: &str| counter.count(text);
        let min_score = self.options.policy.facts.min_score;
        let policy = SelectionPolicy::new(cap, min_score, self.now_ms());
        let mut part = MemoryPart::default();
        if let Some(selection) = facts::all(&existing, &policy, &count) {
            part.section = memory_section(&selection, cap, min_score, &count);
        } else {
            part.vector = self.question_vector(question, is_local, &existing).await;
            let cosines = self.cosines_of(part.vector.as_deref(), &existing);
            let all: Vec<&FactRecord> = existing.iter().collect();
            let relevances = facts::relevances(question, &all, &|fact| cosines.get(&fact.id).copied());
            let relevances: SortedMap<&str, f64> = all.iter().map(|fact| fact.id.as_str()).zip(relevances).collect();
            let relevance = |fact: &FactRecord| relevances.get(fact.id.as_str()).copied().unwrap_or_default();
            let summary_version = self.summary_version(conversation_id);
            let kept = self.kept_facts(conversation_id, summary_version, is_remote);
            let mut selection = kept
                .and_then(|kept| facts::keep(&existing, &kept.facts, &policy, &relevance, &count))
                .unwrap_or_else(|| facts::select(&existing, &policy, &relevance, &count));
            part.late = facts::late(&existing, &mut selection, &policy, &relevance).iter().map(late_fact).collect();
            let facts = selection.facts.iter().map(|fact| (fact.id.clone(), fact.updated_at)).collect();
            self.keep_facts(conversation_id, KeptFacts { facts, summary_version, is_remote });
            part.section = memory_section(&selection, cap, min_score, &count);
        }
        part
    }

    /// The facts that an earlier context of the conversation chose, unless a compaction was since.
    fn kept_facts(&self, conversation_id: &str, summary_version: u32, is_remote: bool) -> Option<KeptFacts> {
        let state = self.state.borrow();
        let kept = state.conversation(conversation_id)?.kept_facts.as_ref();
        kept.filter(|kept| kept.summary_version == summary_version && kept.is_remote == is_remote).cloned()
    }

    fn keep_facts(&self, conversation_id: &str, kept: KeptFacts) {
        if let Some(conversation) = self.state.borrow_mut().conversations.get_mut(conversation_id) {
            conversation.kept_facts = Some(kept);
        }
    }

    /// The vector of a question that facts are chosen by; those that have none get theirs with it.
    async fn question_vector(&self, question: &str, is_local: bool, existing: &[FactRecord]) -> Option<Vec<f32>> {
        let text = embedded_question(question);
        self.embed_with_facts(vec![(&text, is_local)], existing, true).await?.pop().flatten()
    }
}
