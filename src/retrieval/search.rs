//! One search: candidates by words and by vectors, their figures, the rerank.

use super::dates::day_of;
use super::evidence::{Evidence, Scope};
use super::message_index::{Hit, MessageIndex, Mode, SearchRequest, SearchResult};
use super::question::Question;
use super::rerank::{self, ClosenessFigures, LexicalFigures, LexicalScale, MessageFigures, Scores};
use super::timeline::{Entry, NONE};
use crate::error::Result;

/// Candidates that each list gives to the rerank.
const LEXICAL_CANDIDATES: usize = 256;
const VECTOR_CANDIDATES: usize = 256;
/// Messages whose mean similarity stands for the background of a question.
const BACKGROUND_SAMPLE: usize = 128;
/// What the background is taken to be before any message was seen, and how many messages that counts for: in a store of
/// three messages the mean is no background.
const ASSUMED_BACKGROUND: (f32, f32) = (0.1, 8.0);

/// Similarities that a search knows.
struct Closeness {
    /// By document, raised by [`KNOWN`] so that 0 means unknown.
    similarities: Vec<f32>,
    best_of_session: Vec<f32>,
    background: f32,
}

const KNOWN: f32 = 2.0;

impl Closeness {
    fn cosine(&self, document: u32) -> Option<f32> {
        self.similarities.get(document as usize).filter(|raised| **raised > 0.0).map(|raised| raised - KNOWN)
    }

    /// How far the similarity is from the background towards 1; `None` where it is unknown.
    fn of(&self, document: u32) -> Option<f32> {
        let above = self.cosine(document)? - self.background;
        Some((above / (1.0 - self.background).max(0.05)).clamp(0.0, 1.0))
    }

    fn set(&mut self, entry: &Entry, document: u32, similarity: f32) {
        self.similarities[document as usize] = similarity + KNOWN;
        let closeness = self.of(document).unwrap_or(0.0);
        let best = &mut self.best_of_session[entry.head as usize];
        *best = best.max(closeness);
    }
}

/// A search under way.
pub(super) struct Search<'a> {
    index: &'a MessageIndex,
    request: &'a SearchRequest<'a>,
    scope: Scope<'a>,
    question: Question,
    evidence: Evidence,
    closeness: Option<Closeness>,
}

impl<'a> Search<'a> {
    pub fn new(index: &'a MessageIndex, request: &'a SearchRequest<'a>) -> Self {
        let scope = Scope::new(&index.timeline, &index.lexical, request.conversation);
        let question = Question::new(&index.analyzer, request.text, request.now_ms);
        let evidence = Evidence::gather(&scope, &question);
        Self { index, request, scope, question, evidence, closeness: None }
    }

    pub fn run(&mut self) -> Result<SearchResult> {
        let (scale, mut fused) = self.lexical_candidates();
        let best_fused = fused.iter().map(|(fused, _)| *fused).fold(0.0, f32::max);
        if fused.len() > LEXICAL_CANDIDATES {
            fused.select_nth_unstable_by(LEXICAL_CANDIDATES, |left, right| self.order(*left, *right));
            fused.truncate(LEXICAL_CANDIDATES);
        }
        let mut candidates: Vec<u32> = fused.into_iter().map(|(_, document)| document).collect();
        self.add_vector_candidates(&mut candidates)?;
        let mode = if self.closeness.is_some() { Mode::Hybrid } else { Mode::Lexical };
        let confidence = self.confidence(&candidates);
        let mut hits = self.rerank(&candidates, &scale, best_fused);
        for hit in &mut hits {
            hit.score *= confidence;
        }
        let candidates = hits.len();
        hits.retain(|hit| hit.score > 0.0 && hit.score >= self.request.min_score);
        crate::sorting::sort_by(&mut hits, &|left, right| {
            self.order((left.score, left.document), (right.score, right.document))
        });
        hits.truncate(self.request.top_k);
        Ok(SearchResult { hits, mode, candidates, confidence })
    }

    /// Best first; among equals the newest, then by conversation and seq, highest first: the same whatever the numbers.
    fn order(&self, left: (f32, u32), right: (f32, u32)) -> std::cmp::Ordering {
        let entries = self.scope.timeline.entries();
        let (one, other) = (&entries[left.1 as usize], &entries[right.1 as usize]);
        let place = |entry: &Entry| (entry.conversation, entry.seq);
        right
            .0
            .total_cmp(&left.0)
            .then_with(|| other.created_at_ms.total_cmp(&one.created_at_ms))
            .then_with(|| place(other).cmp(&place(one)))
    }

    fn admits(&self, entry: &Entry) -> bool {
        entry.is_live
            && self.request.conversation.is_none_or(|conversation| conversation == entry.conversation)
            && self.request.admits.is_none_or(|admits| admits(entry.conversation, entry.seq))
    }

    fn lexical_figures(&self, document: u32, entry: &Entry) -> LexicalFigures {
        let at = document as usize;
        LexicalFigures {
            context: self.evidence.context[at],
            window: self.evidence.window[at],
            session: self.evidence.session[entry.head as usize],
            answered: self.answers(entry).map_or(0.0, |previous| self.evidence.message[previous as usize]),
        }
    }

    /// The message before, where it asks.
    fn answers(&self, entry: &Entry) -> Option<u32> {
        self.scope.timeline.entry(entry.previous).filter(|previous| previous.asks).map(|_| entry.previous)
    }

    fn lexical_candidates(&self) -> (LexicalScale, Vec<(f32, u32)>) {
        let entries = self.scope.timeline.entries();
        let mut scale = LexicalScale::new(self.evidence.ideal);
        let mut found = Vec::with_capacity(self.evidence.touched.len());
        for document in &self.evidence.touched {
            let entry = &entries[*document as usize];
            if self.admits(entry) {
                scale.see(&self.lexical_figures(*document, entry));
                found.push((0.0, *document));
            }
        }
        for (fused, document) in &mut found {
            *fused = scale.fused(&self.lexical_figures(*document, &entries[*document as usize]));
        }
        (scale, found)
    }

    /// Adds the nearest messages by vector and learns the similarities of all candidates and their neighbours.
    fn add_vector_candidates(&mut self, candidates: &mut Vec<u32>) -> Result<()> {
        let (Some(vectors), Some(vector)) = (&self.index.vectors, self.request.vector) else { return Ok(()) };
        let entries = self.scope.timeline.entries();
        let allowed = |document: u32| entries.get(document as usize).is_some_and(|entry| self.admits(entry));
        let admits_all = self.request.conversation.is_none() && self.request.admits.is_none();
        let nearest = vectors.search(vector, VECTOR_CANDIDATES, (!admits_all).then_some(&allowed))?;
        let sample = self.background_sample();
        let known: Vec<f32> = vectors.similarities(vector, &sample)?.into_iter().flatten().collect();
        if known.is_empty() {
            return Ok(());
        }
        let (assumed, weight) = ASSUMED_BACKGROUND;
        let background = (known.iter().sum::<f32>() + assumed * weight) / (known.len() as f32 + weight);
        let mut is_candidate = vec![false; entries.len()];
        for document in candidates.iter() {
            is_candidate[*document as usize] = true;
        }
        // The index may hold rows of messages that are gone meanwhile.
        for neighbour in nearest.iter().filter(|neighbour| allowed(neighbour.id)) {
            if !std::mem::replace(&mut is_candidate[neighbour.id as usize], true) {
                candidates.push(neighbour.id);
            }
        }
        let mut ids = candidates.clone();
        for document in candidates.iter() {
            for neighbour in self.scope.timeline.neighbours(*document) {
                if neighbour != NONE && !std::mem::replace(&mut is_candidate[neighbour as usize], true) {
                    ids.push(neighbour);
                }
            }
        }
        let mut closeness =
            Closeness { similarities: vec![0.0; entries.len()], best_of_session: vec![0.0; entries.len()], background };
        for (document, similarity) in ids.iter().zip(vectors.similarities(vector, &ids)?) {
            if let Some(similarity) = similarity {
                closeness.set(&entries[*document as usize], *document, similarity);
            }
        }
        self.closeness = Some(closeness);
        Ok(())
    }

    /// Messages of the scope, evenly spaced.
    fn background_sample(&self) -> Vec<u32> {
        let total = self.scope.documents as usize;
        let step = total.div_ceil(BACKGROUND_SAMPLE).max(1);
        let tracks = self.scope.timeline.tracks();
        let in_scope = tracks.filter(|(id, _)| self.request.conversation.is_none_or(|wanted| wanted == **id));
        in_scope.flat_map(|(_, track)| &track.documents).step_by(step).copied().collect()
    }

    fn rerank(&self, candidates: &[u32], scale: &LexicalScale, best_fused: f32) -> Vec<Hit> {
        let entries = self.scope.timeline.entries();
        let closenesses: Vec<Option<f32>> = candidates
            .iter()
            .map(|document| rerank::closeness(&self.closeness_figures(*document, &entries[*document as usize])))
            .collect();
        let best_closeness = closenesses.iter().flatten().copied().fold(0.0, f32::max);
        let identifiers = self.identifier_shares(candidates);
        candidates
            .iter()
            .zip(closenesses)
            .zip(identifiers)
            .map(|((document, closeness), identifiers)| {
                let entry = &entries[*document as usize];
                let message = self.message_figures(*document, entry, identifiers);
                let figures = self.lexical_figures(*document, entry);
                let at = *document as usize;
                let scores = Scores {
                    semantic: closeness.map(|closeness| rerank::semantic(closeness, best_closeness, &message)),
                    keyword: rerank::keyword(scale.fused(&figures), best_fused, &message),
                    recency: message.age_days.map(|age| rerank::recency(age, self.request.policy)),
                    reference: rerank::reference(&message),
                    message: self.evidence.message[at],
                    window: figures.window,
                    session: figures.session,
                    coverage: message.coverage,
                    cosine: self.closeness.as_ref().and_then(|closeness| closeness.cosine(*document)),
                };
                let score = rerank::score(&scores, self.request.policy) * self.conversation_factor(entry);
                Hit {
                    document: *document,
                    conversation: entry.conversation,
                    seq: entry.seq,
                    score,
                    content_hash: entry.content_hash,
                    scores,
                }
            })
            .collect()
    }

    fn confidence(&self, candidates: &[u32]) -> f32 {
        let coverage = candidates.iter().map(|document| self.evidence.coverage[*document as usize]);
        let best_closeness = self
            .closeness
            .as_ref()
            .map(|closeness| candidates.iter().filter_map(|document| closeness.of(*document)).fold(0.0, f32::max));
        rerank::confidence(coverage.fold(0.0, f32::max), best_closeness)
    }

    fn conversation_factor(&self, entry: &Entry) -> f32 {
        match self.request.current_conversation {
            Some(current) if current != entry.conversation => self.request.policy.other_conversation_factor as f32,
            _ => 1.0,
        }
    }

    fn closeness_figures(&self, document: u32, entry: &Entry) -> ClosenessFigures {
        let Some(closeness) = &self.closeness else { return ClosenessFigures::default() };
        let [previous, next, second_before, second_after] =
            self.scope.timeline.neighbours(document).map(|neighbour| closeness.of(neighbour).unwrap_or(0.0));
        ClosenessFigures {
            own: closeness.of(document),
            previous,
            next,
            second_before,
            second_after,
            best_of_session: closeness.best_of_session[entry.head as usize],
            answered: self.answers(entry).and_then(|previous| closeness.of(previous)).unwrap_or(0.0),
        }
    }

    fn message_figures(&self, document: u32, entry: &Entry, identifiers: f32) -> MessageFigures {
        let day = day_of(entry.created_at_ms)
            .map_or(0.0, |day| self.question.times.iter().map(|time| time.fit(day)).fold(0.0, f32::max));
        let age = (self.request.now_ms - entry.created_at_ms) / 86_400_000.0;
        MessageFigures {
            terms: entry.terms,
            asks: entry.asks,
            coverage: self.evidence.coverage[document as usize],
            is_named_speaker: self.is_named_speaker(entry),
            identifiers,
            day,
            age_days: Some(age as f32).filter(|age| self.question.asks_for_newest && age.is_finite()),
        }
    }

    fn is_named_speaker(&self, entry: &Entry) -> bool {
        match self.index.speakers.get(entry.speaker as usize) {
            Some(speaker) => speaker.words.iter().any(|word| self.question.has_word(*word)),
            None => self.question.role == Some(entry.role),
        }
    }

    /// For each candidate the share of the question's identifiers that stand in it.
    fn identifier_shares(&self, candidates: &[u32]) -> Vec<f32> {
        let mut shares = vec![0.0; candidates.len()];
        if self.question.identifiers.is_empty() {
            return shares;
        }
        let mut sorted: Vec<(u32, usize)> = candidates.iter().copied().zip(0..).collect();
        crate::sorting::sort(&mut sorted);
        let each = 1.0 / self.question.identifiers.len() as f32;
        for identifier in &self.question.identifiers {
            self.scope.lexical.for_each_posting(*identifier, |document, _| {
                if let Ok(found) = sorted.binary_search_by_key(&document, |(candidate, _)| *candidate) {
                    shares[sorted[found].1] += each;
                }
            });
        }
        shares
    }
}
