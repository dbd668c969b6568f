//! One search: candidates by words and by vectors, their figures, the rerank.

use super::dates::day_of;
use super::fitted::Weights;
use super::float_rank::{of_rank, rank_of};
use super::message_index::{Hit, MessageIndex, Mode, SearchRequest, SearchResult};
use super::question::Question;
use super::rerank::{self, ClosenessFigures, HitFigures, LexicalScale, Scores};
use super::timeline::{Entry, Timeline};
use crate::error::Result;
use crate::lexical::{AskedTerm, Figures, QuestionTerm, TermKind, Workspace};

/// Candidates that each list gives to the rerank.
const LEXICAL_CANDIDATES: usize = 256;
/// Messages whose exact figures the lexical candidates are chosen by.
const LEXICAL_CONTENDERS: usize = 384;
const VECTOR_CANDIDATES: usize = 256;
/// Messages of each quotation that are candidates in any case.
const QUOTING_CANDIDATES: usize = 64;
/// Where the conversations searched hold one in so many of all vectors, or fewer, those are compared and no others.
const FEW: usize = 4;
/// The same up to so many messages.
const SEARCHED_AT_ONCE: usize = 2_048;
/// Messages whose mean similarity stands for the background of a question.
const BACKGROUND_SAMPLE: usize = 128;
/// What the background is taken to be before any message was seen, and how many messages that counts for: in a store of
/// three messages the mean is no background.
const ASSUMED_BACKGROUND: (f32, f32) = (0.1, 8.0);

/// Similarities that a search knows.
struct Closeness {
    /// Cosines of each candidate and its neighbours, in the candidates' order; `None` where there is no vector.
    cosines: Vec<[Option<f32>; AROUND]>,
    background: f32,
}

/// A message and its neighbours.
const AROUND: usize = 5;

impl Closeness {
    /// How far a similarity is from the background towards 1.
    fn above_background(&self, cosine: f32) -> f32 {
        ((cosine - self.background) / (1.0 - self.background).max(0.05)).clamp(0.0, 1.0)
    }

    /// The same of a candidate and its neighbours; `None` where it is unknown.
    fn around(&self, candidate: usize) -> [Option<f32>; AROUND] {
        let cosines = self.cosines.get(candidate).copied().unwrap_or_default();
        cosines.map(|cosine| cosine.map(|cosine| self.above_background(cosine)))
    }
}

/// A message that may be a hit.
struct Candidate {
    document: u32,
    figures: Figures,
    /// The figures of words, fused.
    fused: f32,
}

/// A search under way.
pub(super) struct Search<'a> {
    index: &'a MessageIndex,
    request: &'a SearchRequest<'a>,
    question: Question,
    closeness: Option<Closeness>,
}

impl<'a> Search<'a> {
    pub fn new(index: &'a MessageIndex, request: &'a SearchRequest<'a>) -> Self {
        let question = Question::new(&index.analyzer, request.text, request.now_ms);
        Self { index, request, question, closeness: None }
    }

    pub fn run(&mut self, workspace: &mut Workspace) -> Result<SearchResult> {
        let (candidates, scale) = self.candidates(workspace)?;
        self.learn_closeness(&candidates)?;
        let mode = if self.closeness.is_some() { Mode::Hybrid } else { Mode::Lexical };
        let confidence = self.confidence(&candidates);
        let mut hits = self.hits(&candidates, &scale);
        let current = self.request.current_conversation;
        rerank::score_hits(&mut hits, &Weights::FITTED, self.request.policy, confidence, current);
        let candidates = hits.len();
        hits.retain(|hit| hit.score > 0.0 && hit.score >= self.request.min_score);
        crate::sorting::sort_by(&mut hits, &|left, right| {
            self.order((left.score, left.document), (right.score, right.document))
        });
        hits.truncate(self.request.top_k);
        Ok(SearchResult { hits, mode, candidates, confidence })
    }

    /// Best first; among equals the newest, then by position and text, highest first: the same whatever the numbers.
    fn order(&self, left: (f32, u32), right: (f32, u32)) -> std::cmp::Ordering {
        let entries = self.timeline().entries();
        let (one, other) = (&entries[left.1 as usize], &entries[right.1 as usize]);
        let place = |entry: &Entry| (entry.seq, entry.content_hash, entry.conversation);
        right
            .0
            .total_cmp(&left.0)
            .then_with(|| other.created_at_ms.total_cmp(&one.created_at_ms))
            .then_with(|| place(other).cmp(&place(one)))
    }

    fn timeline(&self) -> &Timeline {
        &self.index.timeline
    }

    fn admits(&self, entry: &Entry) -> bool {
        entry.is_live
            && self.request.conversation.is_none_or(|conversation| conversation == entry.conversation)
            && self.request.filter.admits(entry)
            && self.request.admits.is_none_or(|admits| admits(entry.conversation, entry.seq))
    }

    /// What may be a hit, by words or by vector, with the figures of words, and what these are scaled by.
    fn candidates(&self, workspace: &mut Workspace) -> Result<(Vec<Candidate>, LexicalScale)> {
        let entries = self.timeline().entries();
        let scope = self.index.scope(self.request.conversation);
        workspace.gather(&scope, &asked_terms(&self.question));
        let admits = |document: u32| entries.get(document as usize).is_some_and(|entry| self.admits(entry));
        let mut documents = workspace.best(&scope, LEXICAL_CONTENDERS, &admits);
        let mut others = self.nearest(&admits)?;
        others.extend(self.quoting(&admits));
        crate::sorting::sort(&mut others);
        others.dedup();
        let mut by_words = documents.clone();
        crate::sorting::sort(&mut by_words);
        documents.extend(others.iter().filter(|document| by_words.binary_search(document).is_err()));
        let mut scale = LexicalScale::new(workspace.ideal());
        let figures = workspace.figures(&scope, &documents);
        for figures in &figures {
            scale.see(figures);
        }
        let found = documents.into_iter().zip(figures);
        let mut candidates: Vec<Candidate> =
            found.map(|(document, figures)| Candidate { document, figures, fused: scale.fused(&figures) }).collect();
        if candidates.len() > LEXICAL_CANDIDATES {
            candidates.select_nth_unstable_by(LEXICAL_CANDIDATES, |left, right| {
                self.order((left.fused, left.document), (right.fused, right.document))
            });
            let rest = candidates.split_off(LEXICAL_CANDIDATES);
            candidates.extend(rest.into_iter().filter(|rest| others.binary_search(&rest.document).is_ok()));
        }
        Ok((candidates, scale))
    }

    /// Messages that have in a row what the question quotes, the newest of each quotation.
    fn quoting(&self, admits: &dyn Fn(u32) -> bool) -> Vec<u32> {
        let mut found = Vec::new();
        for row in &self.question.quoted {
            let mut holders = self.timeline().marks().holders(row, self.extent());
            holders.retain(|document| admits(*document));
            crate::sorting::sort_by(&mut holders, &|left, right| self.order((0.0, *left), (0.0, *right)));
            found.extend(holders.into_iter().take(QUOTING_CANDIDATES));
        }
        found
    }

    /// The numbers between which the messages of the conversation searched lie; of all, where none is named.
    fn extent(&self) -> (u32, u32) {
        let Some(only) = self.request.conversation else { return (0, u32::MAX) };
        let documents = self.timeline().track(only).map_or(&[][..], |track| &track.documents);
        let (first, last) = (documents.iter().min(), documents.iter().max());
        (first.copied().unwrap_or(0), last.map_or(0, |last| last + 1))
    }

    /// The nearest messages by vector.
    fn nearest(&self, admits: &dyn Fn(u32) -> bool) -> Result<Vec<u32>> {
        let (Some(vectors), Some(vector)) = (&self.index.vectors, self.request.vector) else { return Ok(Vec::new()) };
        let nearest = match self.few_allowed(vectors.rows().len() / FEW, admits) {
            Some(documents) => vectors.search_among(vector, VECTOR_CANDIDATES, &documents)?,
            None => vectors.search(vector, VECTOR_CANDIDATES, Some(admits))?,
        };
        Ok(nearest.iter().map(|neighbour| neighbour.id).collect())
    }

    /// The messages that may be hits, where the conversations that they are of hold no more messages than this.
    fn few_allowed(&self, most: usize, admits: &dyn Fn(u32) -> bool) -> Option<Vec<u32>> {
        let most = most.max(SEARCHED_AT_ONCE);
        let is_open = |id: u32| self.request.filter.conversations.is_none_or(|admits| admits(id));
        let open = |documents: &mut dyn FnMut(&[u32]) -> bool| match self.request.conversation {
            Some(only) => self.timeline().track(only).is_none_or(|track| documents(&track.documents)),
            None => self.timeline().tracks().all(|(id, track)| !is_open(*id) || documents(&track.documents)),
        };
        let mut count = 0;
        let are_few = open(&mut |documents| {
            count += documents.len();
            count <= most
        });
        if !are_few {
            return None;
        }
        let mut found = Vec::new();
        open(&mut |documents| {
            found.extend(documents.iter().copied().filter(|document| admits(*document)));
            true
        });
        Some(found)
    }

    /// Learns the similarities of all candidates and their neighbours.
    fn learn_closeness(&mut self, candidates: &[Candidate]) -> Result<()> {
        let (Some(vectors), Some(vector)) = (&self.index.vectors, self.request.vector) else { return Ok(()) };
        let sample = self.background_sample();
        // Summed in an order of its own, so that the sum is the same to the last bit; sorted as whole numbers, by code that
        // is there already.
        let similarities = vectors.similarities(vector, &sample)?;
        let mut ranks: Vec<u64> = similarities.into_iter().flatten().map(rank_of).collect();
        ranks.sort_unstable();
        let known: Vec<f32> = ranks.into_iter().map(of_rank).collect();
        if known.is_empty() {
            return Ok(());
        }
        let (assumed, weight) = ASSUMED_BACKGROUND;
        let background = (known.iter().sum::<f32>() + assumed * weight) / (known.len() as f32 + weight);
        let surroundings = self.timeline().surroundings();
        let mut ids = Vec::with_capacity(candidates.len() * AROUND);
        for candidate in candidates {
            ids.push(candidate.document);
            ids.extend(surroundings.neighbours(candidate.document));
        }
        let cosines = vectors.similarities(vector, &ids)?.as_chunks().0.to_vec();
        self.closeness = Some(Closeness { cosines, background });
        Ok(())
    }

    /// Messages of the scope, evenly spaced in each conversation from a place on that its first message says: the numbers of
    /// conversations and documents, which are others after the next start, make no difference.
    fn background_sample(&self) -> Vec<u32> {
        let total = self.index.scope(self.request.conversation).documents();
        let step = total.div_ceil(BACKGROUND_SAMPLE).max(1);
        let tracks = self.timeline().tracks();
        let in_scope = tracks.filter(|(id, _)| self.request.conversation.is_none_or(|wanted| wanted == **id));
        let phase = |hash: u64| (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % step;
        let sampled =
            in_scope.flat_map(|(_, track)| track.documents.iter().skip(phase(track.first_hash)).step_by(step));
        sampled.copied().collect()
    }

    /// The candidates as hits, with all figures and without scores.
    fn hits(&self, candidates: &[Candidate], scale: &LexicalScale) -> Vec<Hit> {
        let entries = self.timeline().entries();
        let hit = |(at, (candidate, identifiers)): (usize, (&Candidate, f32))| {
            let Candidate { document, figures, .. } = candidate;
            let entry = &entries[*document as usize];
            let quoted = self.quoted_share(*document);
            Hit {
                document: *document,
                conversation: entry.conversation,
                seq: entry.seq,
                score: 0.0,
                content_hash: entry.content_hash,
                scores: Scores {
                    message: figures.message,
                    window: figures.window,
                    session: figures.session,
                    coverage: figures.coverage,
                    cosine: self.closeness.as_ref().and_then(|closeness| closeness.cosines.get(at)?[0]),
                    quoted,
                    ..Scores::default()
                },
                figures: HitFigures {
                    lexical: scale.scaled(figures),
                    closeness: self.closeness_figures(at, *document),
                    identifiers,
                    quoted: quoted.unwrap_or(0.0),
                    session_head: self.timeline().surroundings().head(*document),
                    ..self.message_figures(entry)
                },
            }
        };
        candidates.iter().zip(self.identifier_shares(candidates)).enumerate().map(hit).collect()
    }

    fn confidence(&self, candidates: &[Candidate]) -> f32 {
        let coverage = candidates.iter().map(|candidate| candidate.figures.coverage);
        let best_closeness = self
            .closeness
            .as_ref()
            .map(|closeness| (0..candidates.len()).filter_map(|at| closeness.around(at)[0]).fold(0.0, f32::max));
        rerank::confidence(coverage.fold(0.0, f32::max), best_closeness)
    }

    fn closeness_figures(&self, at: usize, document: u32) -> ClosenessFigures {
        let Some(closeness) = &self.closeness else { return ClosenessFigures::default() };
        let around = closeness.around(at);
        let [_, previous, next, second_before, second_after] = around.map(|neighbour| neighbour.unwrap_or(0.0));
        let answers = self.timeline().surroundings().answered(document).is_some();
        ClosenessFigures {
            own: around[0],
            next,
            second: (second_before + second_after) / 2.0,
            answered: if answers { previous } else { 0.0 },
        }
    }

    fn message_figures(&self, entry: &Entry) -> HitFigures {
        let day = day_of(entry.created_at_ms)
            .map_or(0.0, |day| self.question.times.iter().map(|time| time.fit(day)).fold(0.0, f32::max));
        HitFigures {
            terms: entry.terms,
            asks: entry.asks,
            is_named_speaker: self.is_named_speaker(entry),
            day,
            told: entry.told.and(self.question.asks_for),
            age_days: ((self.request.now_ms - entry.created_at_ms) / 86_400_000.0) as f32,
            is_newest_wanted: self.question.asks_for_newest,
            ..HitFigures::default()
        }
    }

    /// How much of what the question quotes stands in a message in a row.
    fn quoted_share(&self, document: u32) -> Option<f32> {
        let rows = &self.question.quoted;
        let marks = self.timeline().marks().of(document);
        let shares = rows.iter().map(|row| row.share_in(marks));
        (!rows.is_empty()).then(|| shares.sum::<f32>() / rows.len() as f32)
    }

    fn is_named_speaker(&self, entry: &Entry) -> bool {
        match self.index.speakers.get(entry.speaker as usize) {
            Some(speaker) => speaker.words.iter().any(|word| self.question.has_word(*word)),
            None => self.question.role == Some(entry.role),
        }
    }

    /// For each candidate the share of the question's identifiers that stand in it.
    fn identifier_shares(&self, candidates: &[Candidate]) -> Vec<f32> {
        let mut shares = vec![0.0; candidates.len()];
        if self.question.identifiers.is_empty() {
            return shares;
        }
        let mut sorted: Vec<(u32, usize)> = candidates.iter().map(|candidate| candidate.document).zip(0..).collect();
        crate::sorting::sort(&mut sorted);
        let documents: Vec<u32> = sorted.iter().map(|(document, _)| *document).collect();
        let each = 1.0 / self.question.identifiers.len() as f32;
        for identifier in &self.question.identifiers {
            for found in self.index.lexical.holders_among(*identifier, &documents) {
                shares[sorted[found].1] += each;
            }
        }
        shares
    }
}

/// The terms of a question, as the lexical index is asked for them.
fn asked_terms(question: &Question) -> Vec<AskedTerm> {
    let is_hangul_word = |text: &str| {
        text.starts_with(|first| matches!(first, '\u{AC00}'..='\u{D7AF}')) && text.chars().nth(2).is_some()
    };
    let asked = |term: &QuestionTerm| {
        let is_optional = term.kind == TermKind::Variant || term.kind == TermKind::Gram && is_hangul_word(&term.text);
        AskedTerm { hash: term.hash, is_optional }
    };
    question.terms.iter().map(asked).collect()
}
