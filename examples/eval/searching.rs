//! The data in the index, and searches in it.

use crate::Failure;
use crate::data::{Cranfield, Locomo, MINILM_DIMENSIONS, Question, Vectors};
use throughline::config::{RankingChoice, RetrievalPolicy};
use throughline::lexical::Analyzer;
use throughline::message::Role;
use throughline::retrieval::{Document, Hit, MessageFilter, MessageIndex, SearchRequest, Weights, score_hits};
use throughline::vector::{TieredIndex, Tiers};

/// The time of asking: after all of LoCoMo.
const NOW_MS: f64 = 1_704_067_200_000.0;

fn empty_index(dimensions: Option<usize>) -> MessageIndex {
    let rows = dimensions.map(|dimensions| Box::new(TieredIndex::new(dimensions, Tiers::AUTO)) as _);
    MessageIndex::new(Analyzer::default(), rows)
}

pub fn locomo_index(locomo: &Locomo, vectors: Option<&Vectors>) -> Result<MessageIndex, Failure> {
    let mut index = empty_index(vectors.map(|vectors| vectors.dimensions));
    for (conversation, number) in locomo.conversations.iter().zip(0_u32..) {
        for (turn, position) in conversation.turns.iter().zip(0_u32..) {
            let document = index.add(&Document {
                conversation: number,
                seq: position + 1,
                role: Role::User,
                speaker: Some(&turn.speaker),
                created_at_ms: turn.time_ms,
                text: &turn.text,
            });
            let row = vectors.and_then(|vectors| vectors.turn(conversation.turn_row + position as usize));
            if let (Some(document), Some(row)) = (document, row) {
                index.set_vector(document, row)?;
            }
        }
    }
    Ok(index)
}

/// Every abstract is a conversation of one message.
pub fn cranfield_index(cranfield: &Cranfield) -> Result<MessageIndex, Failure> {
    let mut index = empty_index(Some(MINILM_DIMENSIONS));
    let vectors = cranfield.document_vectors.chunks_exact(MINILM_DIMENSIONS);
    for ((text, vector), conversation) in cranfield.documents.iter().zip(vectors).zip(0_u32..) {
        let role = Role::User;
        let document = Document { conversation, seq: 1, role, speaker: None, created_at_ms: 0.0, text };
        if let Some(document) = index.add(&document) {
            index.set_vector(document, vector)?;
        }
    }
    Ok(index)
}

/// Where a question is asked.
#[derive(Clone, Copy)]
pub enum Asked {
    /// In this conversation, about it.
    Within(u32),
    /// In this conversation, about all.
    From(u32),
    /// In a new conversation, about all but this one.
    Without(u32),
    /// In a new conversation, about all.
    Anew,
}

/// The candidates of one search, which every ranking scores for itself.
pub struct Found {
    pub hits: Vec<Hit>,
    confidence: f32,
    current: Option<u32>,
}

/// A conversation that has no message yet.
const NEW: u32 = u32::MAX;

pub fn find(index: &MessageIndex, text: &str, vector: Option<&[f32]>, asked: Asked) -> Result<Found, Failure> {
    let (only, current, left_out) = match asked {
        Asked::Within(conversation) => (Some(conversation), Some(conversation), None),
        Asked::From(conversation) => (None, Some(conversation), None),
        Asked::Without(conversation) => (None, Some(NEW), Some(conversation)),
        Asked::Anew => (None, Some(NEW), None),
    };
    let admits = |conversation: u32, _| Some(conversation) != left_out;
    let result = index.search(&SearchRequest {
        text,
        vector,
        conversation: only,
        current_conversation: current,
        filter: MessageFilter::default(),
        admits: Some(&admits),
        top_k: usize::MAX,
        min_score: 0.0,
        now_ms: NOW_MS,
        policy: &RetrievalPolicy::default(),
    })?;
    Ok(Found { hits: result.hits, confidence: result.confidence, current })
}

/// How candidates are ranked.
#[derive(Clone, Copy)]
pub struct Ranking<'a> {
    pub choice: RankingChoice,
    pub weights: &'a Weights,
}

impl Found {
    /// Scores the hits and puts them in order.
    pub fn rank(&mut self, ranking: Ranking<'_>) {
        self.score(ranking);
        let place = |hit: &Hit| (hit.conversation, hit.seq);
        self.hits
            .sort_by(|left, right| right.score.total_cmp(&left.score).then_with(|| place(right).cmp(&place(left))));
    }

    pub fn score(&mut self, ranking: Ranking<'_>) {
        let policy = RetrievalPolicy { ranking: ranking.choice, ..RetrievalPolicy::default() };
        score_hits(&mut self.hits, ranking.weights, &policy, self.confidence, self.current);
    }

    /// Places of turns, best first.
    pub fn places(&self) -> Vec<usize> {
        self.hits.iter().map(|hit| hit.seq as usize - 1).collect()
    }
}

/// The question's search in its own conversation.
pub fn find_within(index: &MessageIndex, question: &Question, vectors: Option<&Vectors>) -> Result<Found, Failure> {
    let vector = vectors.and_then(|vectors| vectors.question(question.row));
    find(index, &question.text, vector, Asked::Within(u32::try_from(question.conversation)?))
}
