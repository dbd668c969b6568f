//! Evidence by way of the summary: where it says more about a question than any message found, its sentence leads to the
//! messages that it was made of.

use super::Engine;
use super::outside::Findings;
use super::projects::is_of_project;
use super::recall::{Evidence, EvidenceRequest, RecallFilter};
use super::state::{Conversation, State};
use super::topics::Nodes;
use crate::error::Result;
use crate::message::Seq;
use crate::retrieval::Relevance;
use crate::sorting;
use crate::summary::{self, Landing};

/// Messages that have so much of a question are what it asks for: the summary is not looked at.
const FOUND: f32 = 0.75;
/// A sentence of the summary that has less of it is about something else.
const LEAST_TOLD: f32 = 0.5;
/// Most messages that one sentence leads to.
const MOST_MESSAGES: usize = 4;
/// They have this share of the best one's score at least.
const NEAR_BEST: f64 = 0.5;
/// Most other conversations of the project whose summaries are looked through, the last used ones.
const MOST_OTHERS: usize = 8;

/// A sentence of a summary, and the conversation whose summary it is.
pub(super) type Told = (String, Landing);

impl Engine {
    /// Adds to what was found for a question of a conversation the messages that a summary leads to, its own or one of another
    /// conversation of its project: down the tree to the node, and the sentence in it, that say most about the question, and
    /// from its words to the messages of the node. `told`: what [`Self::told_by_summary`] found already;
    /// `findings` are those of the request's text.
    pub(super) async fn descend(
        &self,
        id: &str,
        told: Option<Told>,
        request: EvidenceRequest<'_>,
        findings: &Findings,
        evidence: &mut Evidence,
    ) -> Result<()> {
        let relevance = Relevance::new(&self.searchable(findings).index, request.text);
        let most = relevance.most();
        let found = evidence.best_text(&|text| relevance.of(text));
        if most <= 0.0 || found >= most * FOUND {
            return Ok(());
        }
        let best = match told {
            Some(told) => Some(told),
            None => self.landing(id, request.only.is_some(), &relevance).await?,
        };
        let is_worth_it = |landing: &Landing| landing.relevance >= most * LEAST_TOLD && landing.relevance > found;
        let Some((id, landing)) = best.filter(|(_, landing)| is_worth_it(landing)) else { return Ok(()) };
        let (from, to) = (Some(landing.first_seq), Some(landing.last_seq));
        let filter = RecallFilter { from, to, ..RecallFilter::default() };
        let below = self
            .find_evidence(EvidenceRequest {
                text: &landing.sentence,
                vector: None,
                words: None,
                by_words: true,
                only: Some(&id),
                top_k: MOST_MESSAGES,
                floor: &|_, best| best * NEAR_BEST,
                filter: &filter,
                room_tokens: request.room_tokens / 2,
                ..request
            })
            .await?;
        evidence.add_from_summary(below);
        Ok(())
    }

    /// Of the summaries that [`Self::descend`] looks through, the sentence that is about the same thing as a question, which
    /// `findings` are of.
    pub(super) async fn told_by_summary(
        &self,
        id: &str,
        is_alone: bool,
        question: &str,
        findings: &Findings,
    ) -> Result<Option<Told>> {
        let relevance = Relevance::new(&self.searchable(findings).index, question);
        let told = self.landing(id, is_alone, &relevance).await?;
        Ok(told.filter(|(_, landing)| landing.relevance >= relevance.most() * LEAST_TOLD))
    }

    /// The sentence that says most, and the conversation in whose summary it stands; of equals this one's.
    async fn landing(&self, id: &str, is_alone: bool, relevance: &Relevance) -> Result<Option<Told>> {
        let summarized = summarized(&self.state.borrow(), id, is_alone);
        let mut best: Option<Told> = None;
        for id in summarized {
            let Nodes { chunks, topics, .. } = self.nodes_in_force(&id).await?;
            let landing = summary::descend(chunks.iter().chain(&topics), &|sentence| relevance.of(sentence));
            let least = best.as_ref().map_or(0.0, |(_, best)| best.relevance);
            if let Some(landing) = landing.filter(|landing| landing.relevance > least) {
                best = Some((id, landing));
            }
        }
        Ok(best)
    }
}

/// The conversations whose summaries are looked through: this one first, then the others of its project.
fn summarized(state: &State, id: &str, is_alone: bool) -> Vec<String> {
    let Some(own) = state.conversation(id) else { return Vec::new() };
    let project_id = own.stored.value.project_id.as_deref().filter(|_| !is_alone);
    let is_other = |one: &Conversation| {
        one.number != own.number && project_id.is_some_and(|project_id| is_of_project(one, project_id))
    };
    let mut others: Vec<&Conversation> =
        state.conversations.values().map(|one| &**one).filter(|one| is_other(one)).collect();
    sorting::sort_by(&mut others, &|one, other| other.stored.value.updated_at.total_cmp(&one.stored.value.updated_at));
    let has_summary = |one: &&Conversation| one.summarized_until_seq() > 0;
    let others = others.into_iter().filter(has_summary).take(MOST_OTHERS);
    Some(own).filter(has_summary).into_iter().chain(others).map(|one| one.stored.value.id.clone()).collect()
}

impl Evidence {
    /// How much the message that says most about the question says, of those that are shown.
    fn best_text(&self, relevance: &dyn Fn(&str) -> f32) -> f32 {
        self.records.values().map(|record| relevance(&record.text)).fold(0.0, f32::max)
    }

    /// What is new of `below`, in front of what was found before.
    fn add_from_summary(&mut self, below: Evidence) {
        let is_known = |conversation: u32, seq: Seq| {
            self.groups.iter().any(|group| group.conversation == conversation && group.seqs.contains(&seq))
        };
        let mut groups = below.groups;
        for group in &mut groups {
            let conversation = group.conversation;
            group.seqs.retain(|seq| !is_known(conversation, *seq));
        }
        let is_hit = |conversation: u32, seq: Seq| below.hits.contains_key(&(conversation, seq));
        groups.retain(|group| group.seqs.iter().any(|seq| is_hit(group.conversation, *seq)));
        if groups.is_empty() {
            return;
        }
        let is_shown = |conversation: u32, seq: Seq| {
            groups.iter().any(|group| group.conversation == conversation && group.seqs.contains(&seq))
        };
        self.below_floor.retain(|hit| !is_shown(hit.conversation, hit.seq));
        for (place, hit) in below.hits {
            if is_shown(place.0, place.1) {
                self.hits.insert(place, hit);
            }
        }
        for (place, record) in below.records {
            self.unread.retain(|(id, _)| *id != record.id);
            self.duplicates.retain(|(id, _)| *id != record.id);
            self.records.insert(place, record);
        }
        groups.append(&mut self.groups);
        self.groups = groups;
        self.by_summary = true;
    }
}
