//! Lexical evidence: BM25 over messages, their surroundings and their sessions, from the same postings.
//!
//! Nothing is stored for the larger granularities. A search goes in three steps. [`Workspace::gather`] reads the lists of
//! the question's terms once and sums up BM25 by message and by session. [`Workspace::best`] takes those messages that
//! can be among the best, by a sum over their surroundings in place of the exact figures. [`Workspace::figures`] reads the
//! lists again for these alone: each term is counted, at a share, for the messages around it, and BM25 is taken of those
//! counts.
//!
//! Sums run over the question's terms in a fixed order, and neighbours' counts are added in whole tenths, so that no
//! figure depends on the documents' numbers.

use super::bm25::{inverse_document_frequency, saturation};
use super::index::LexicalIndex;
use super::surroundings::{NONE, Surroundings};

/// Shares, in tenths, at which a message's terms count for its neighbours.
const WHOLE: f32 = 10.0;
const WINDOW_FROM_NEIGHBOUR: f32 = 7.0;
const WINDOW_FROM_SECOND: f32 = 4.0;

/// What a term found only in the message's window counts for its coverage.
const WINDOW_COVERAGE: f32 = 0.5;

/// A term that no more messages have than this is as good as a name.
const RARE_HOLDERS: f32 = 3.0;

/// Most terms that one question is looked up by.
const MAX_TERMS: usize = 96;

/// Weights, of about the size that the figures have in the rerank, by which messages are chosen for exact figures: of
/// the message and its surroundings, and of the session.
const OWN: f32 = 1.0;
const PREVIOUS: f32 = 0.7;
const ANSWERED: f32 = 0.4;
const NEXT: f32 = 0.5;
const SECOND: f32 = 0.25;
const SESSION: f32 = 0.5;

/// A term that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedTerm {
    /// Its hash.
    pub hash: u64,
    /// Where nothing holds it, it is as if it had not been asked for: a Hangul word with its particle is often new
    /// although its stem, in its bigrams, is not.
    pub is_optional: bool,
}

/// Which documents a search sees.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    lexical: &'a LexicalIndex,
    surroundings: &'a Surroundings,
    /// Only these documents, where given.
    only: Option<&'a [u32]>,
    /// Documents and sessions in the scope.
    documents: f32,
    sessions: f32,
    /// Mean terms of a message, and, counted as its parts are, of a window and a session.
    message_terms: f32,
    window_terms: f32,
    session_terms: f32,
}

impl<'a> Scope<'a> {
    /// All documents, which form so many sessions.
    #[must_use]
    pub fn all(lexical: &'a LexicalIndex, surroundings: &'a Surroundings, sessions: u64) -> Self {
        let documents = lexical.len() as f32;
        Self::new(lexical, surroundings, None, [documents, sessions as f32, lexical.mean_length() * documents])
    }

    /// These documents alone, which form so many sessions and have so many terms.
    #[must_use]
    pub fn only(
        lexical: &'a LexicalIndex,
        surroundings: &'a Surroundings,
        documents: &'a [u32],
        sessions: u32,
        terms: u64,
    ) -> Self {
        let sums = [documents.len() as f32, sessions as f32, terms as f32];
        Self::new(lexical, surroundings, Some(documents), sums)
    }

    fn new(
        lexical: &'a LexicalIndex,
        surroundings: &'a Surroundings,
        only: Option<&'a [u32]>,
        [documents, sessions, terms]: [f32; 3],
    ) -> Self {
        let message_terms = (terms / documents.max(1.0)).max(1.0);
        // How many of the messages have a neighbour, and a second one, on a given side.
        let neighbours = 1.0 - sessions / documents.max(1.0);
        let seconds = (1.0 - 2.0 * sessions / documents.max(1.0)).max(0.0);
        Self {
            lexical,
            surroundings,
            only,
            documents,
            sessions,
            message_terms,
            window_terms: message_terms
                * (1.0 + 2.0 * (WINDOW_FROM_NEIGHBOUR * neighbours + WINDOW_FROM_SECOND * seconds) / WHOLE),
            session_terms: (terms / sessions.max(1.0)).max(1.0),
        }
    }

    /// Documents in it.
    #[must_use]
    pub fn documents(&self) -> usize {
        self.documents as usize
    }
}

/// What is known of one document; 0 where it has none of the question's terms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// BM25 of the message.
    pub message: f32,
    /// BM25 of the message and two neighbours on each side.
    pub window: f32,
    /// BM25 of the session.
    pub session: f32,
    /// BM25 of the message before, where it asks.
    pub answered: f32,
    /// Share of the question's terms, by idf, that are in the message, or at half weight in its window; 0 to 1.
    pub coverage: f32,
    /// Share of the question's terms, by idf, that are in the message, of those that any message has; 0 to 1.
    pub held: f32,
    /// The same, but only of terms that hardly another message has.
    pub held_rare: f32,
}

/// Memory that searches use again: arrays by document number, all 0 between searches.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    /// BM25 by message.
    scores: Vec<f32>,
    /// Counts of the term at hand, and BM25, by a session's first document.
    session_counts: Vec<f32>,
    session_scores: Vec<f32>,
    /// Rows of documents in a matrix, or marks.
    rows: Vec<u16>,
    touched: Vec<u32>,
    touched_heads: Vec<u32>,
    /// Of the term at hand.
    matches: Vec<(u32, u16)>,
    heads: Vec<u32>,
    /// Terms with idf, in the question's order.
    weights: Vec<(u64, f32)>,
    ideal: f32,
}

impl Workspace {
    /// Sum of the idf of the question's terms: what full evidence would be.
    #[must_use]
    pub fn ideal(&self) -> f32 {
        self.ideal
    }

    /// Bytes held.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let arrays = [&self.scores, &self.session_counts, &self.session_scores];
        let numbers = self.touched.capacity() + self.touched_heads.capacity() + self.heads.capacity();
        arrays.iter().map(|array| array.capacity() * 4).sum::<usize>()
            + numbers * 4
            + self.rows.capacity() * 2
            + self.matches.capacity() * size_of::<(u32, u16)>()
    }

    /// Reads the lists of every term, and forgets the search before.
    pub fn gather(&mut self, scope: &Scope<'_>, terms: &[AskedTerm]) {
        self.clear();
        let size = scope.lexical.capacity();
        for array in [&mut self.scores, &mut self.session_counts, &mut self.session_scores] {
            array.resize(size, 0.0);
        }
        self.rows.resize(size, 0);
        let range = scope.only.map_or((0, NONE), extent);
        // Numbers of a conversation that came in one go need no marks.
        let marked = scope.only.filter(|only| only.len() != (range.1 - range.0) as usize);
        self.mark(marked, 1);
        for term in rarest(terms, scope.lexical) {
            self.matches.clear();
            let (matches, rows) = (&mut self.matches, &self.rows);
            scope.lexical.for_each_in(term.hash, range, |document, frequency| {
                if marked.is_none() || rows[document as usize] != 0 {
                    matches.push((document, frequency));
                }
            });
            self.add_term(scope, term);
        }
        self.mark(marked, 0);
    }

    fn mark(&mut self, documents: Option<&[u32]>, mark: u16) {
        for document in documents.unwrap_or_default() {
            self.rows[*document as usize] = mark;
        }
    }

    fn clear(&mut self) {
        for document in self.touched.drain(..) {
            self.scores[document as usize] = 0.0;
        }
        for head in self.touched_heads.drain(..) {
            self.session_scores[head as usize] = 0.0;
        }
        self.weights.clear();
        self.ideal = 0.0;
    }

    fn add_term(&mut self, scope: &Scope<'_>, term: &AskedTerm) {
        let holders = self.matches.len() as f32;
        let everywhere =
            if scope.only.is_some() { scope.lexical.document_frequency(term.hash) as f32 } else { holders };
        // A word that is common anywhere is common: a short conversation does not make it rare.
        let rate = everywhere / scope.lexical.len().max(1) as f32;
        let idf = inverse_document_frequency(scope.documents, holders.max(rate * scope.documents));
        if !(term.is_optional && holders == 0.0) {
            // An unknown word counts as the rarest known one: it may be a synonym of what was said.
            self.ideal += idf.min(inverse_document_frequency(scope.documents, 1.0));
        }
        if self.matches.is_empty() {
            return;
        }
        self.weights.push((term.hash, idf));
        for (document, frequency) in &self.matches {
            let at = *document as usize;
            let frequency = f32::from(*frequency);
            let score = &mut self.scores[at];
            if *score == 0.0 {
                self.touched.push(*document);
            }
            *score += idf * saturation(frequency, scope.lexical.length(*document).into(), scope.message_terms);
            let head = scope.surroundings.head(*document);
            let count = &mut self.session_counts[head as usize];
            if *count == 0.0 {
                self.heads.push(head);
            }
            *count += frequency;
        }
        self.finish_sessions(scope);
    }

    fn finish_sessions(&mut self, scope: &Scope<'_>) {
        let idf = inverse_document_frequency(scope.sessions, self.heads.len() as f32);
        for head in self.heads.drain(..) {
            let at = head as usize;
            let terms = scope.surroundings.link(head).map_or(0, |link| link.session_terms) as f32;
            let count = std::mem::take(&mut self.session_counts[at]);
            let score = &mut self.session_scores[at];
            if *score == 0.0 {
                self.touched_heads.push(head);
            }
            *score += idf * saturation(count, terms, scope.session_terms);
        }
    }

    /// The documents that can be the best: about `limit` that are admitted, or all that there are, in no order. Among
    /// equals it takes none at random but all.
    pub fn best(&mut self, scope: &Scope<'_>, limit: usize, admits: &dyn Fn(u32) -> bool) -> Vec<u32> {
        let mut reach = limit.saturating_mul(REACH);
        loop {
            let mut promising: Vec<(f32, u32)> =
                self.touched.iter().map(|document| (self.scores[*document as usize], *document)).collect();
            let is_all = promising.len() <= reach;
            retain_best(&mut promising, reach);
            let around = self.with_neighbours(scope, &promising);
            let mut wanted = limit;
            loop {
                let mut best = around.clone();
                let takes_all = best.len() <= wanted;
                retain_best(&mut best, wanted);
                let admitted: Vec<u32> =
                    best.into_iter().map(|(_, document)| document).filter(|document| admits(*document)).collect();
                if admitted.len() >= limit || takes_all && is_all {
                    return admitted;
                }
                if takes_all {
                    break;
                }
                wanted = wanted.saturating_mul(4);
            }
            reach = reach.saturating_mul(4);
        }
    }

    /// The documents and up to two on either side, each with a sum over its surroundings.
    fn with_neighbours(&mut self, scope: &Scope<'_>, documents: &[(f32, u32)]) -> Vec<(f32, u32)> {
        let mut around = Vec::with_capacity(documents.len() * 2);
        for (_, document) in documents {
            let neighbours = scope.surroundings.neighbours(*document);
            for receiver in [*document].into_iter().chain(neighbours) {
                if let Some(mark) = self.rows.get_mut(receiver as usize).filter(|mark| **mark == 0) {
                    *mark = 1;
                    around.push((0.0, receiver));
                }
            }
        }
        let best = documents.iter().map(|(score, _)| *score).fold(f32::MIN_POSITIVE, f32::max);
        let sessions = self.touched_heads.iter().map(|head| self.session_scores[*head as usize]);
        let best_session = sessions.fold(f32::MIN_POSITIVE, f32::max);
        for (sum, document) in &mut around {
            self.rows[*document as usize] = 0;
            let score = |document: u32| self.scores.get(document as usize).copied().unwrap_or(0.0);
            let [previous, next, second_before, second_after] = scope.surroundings.neighbours(*document);
            let answered = if scope.surroundings.answered(*document).is_some() { ANSWERED } else { 0.0 };
            let session = self.session_scores[scope.surroundings.head(*document) as usize];
            *sum = (OWN * score(*document)
                + (PREVIOUS + answered) * score(previous)
                + NEXT * score(next)
                + SECOND * (score(second_before) + score(second_after)))
                / best
                + SESSION * session / best_session;
        }
        around
    }

    /// The exact figures of documents, in their order.
    pub fn figures(&mut self, scope: &Scope<'_>, documents: &[u32]) -> Vec<Figures> {
        documents.chunks(ROWS / 5).flat_map(|documents| self.some_figures(scope, documents)).collect()
    }

    fn some_figures(&mut self, scope: &Scope<'_>, documents: &[u32]) -> Vec<Figures> {
        let mut numbered = Vec::with_capacity(documents.len() * 3);
        for document in documents {
            for needed in [*document].into_iter().chain(scope.surroundings.neighbours(*document)) {
                if let Some(row) = self.rows.get_mut(needed as usize).filter(|row| **row == 0) {
                    numbered.push(needed);
                    *row = numbered.len() as u16;
                }
            }
        }
        // Row 0 is that of no document.
        let width = self.weights.len();
        let mut counts = vec![0.0_f32; (numbered.len() + 1) * width];
        let range = extent(&numbered);
        for (at, (term, _)) in self.weights.iter().enumerate() {
            scope.lexical.for_each_in(*term, range, |document, frequency| {
                let row = usize::from(self.rows[document as usize]);
                if row != 0 {
                    counts[row * width + at] = frequency.into();
                }
            });
        }
        let figures = documents.iter().map(|document| self.figure(scope, &counts, *document)).collect();
        self.mark(Some(&numbered), 0);
        figures
    }

    fn figure(&self, scope: &Scope<'_>, counts: &[f32], document: u32) -> Figures {
        let [previous, next, second_before, second_after] = scope.surroundings.neighbours(document);
        let width = self.weights.len();
        let row = |document: u32| {
            let row = usize::from(self.rows.get(document as usize).copied().unwrap_or(0));
            &counts[row * width..][..width]
        };
        let length = |document: u32| f32::from(scope.lexical.length(document));
        let own_terms = length(document);
        let around_terms = WINDOW_FROM_NEIGHBOUR * (length(previous) + length(next))
            + WINDOW_FROM_SECOND * (length(second_before) + length(second_after));
        let answered = scope.surroundings.answered(document).is_some();
        let rare = inverse_document_frequency(scope.documents, RARE_HOLDERS);
        let mut figures = Figures::default();
        let rows =
            row(document).iter().zip(row(previous)).zip(row(next)).zip(row(second_before)).zip(row(second_after));
        for (((((own, before), after), second_before), second_after), (_, idf)) in rows.zip(&self.weights) {
            let window = WHOLE * own
                + WINDOW_FROM_NEIGHBOUR * (before + after)
                + WINDOW_FROM_SECOND * (second_before + second_after);
            if window == 0.0 {
                continue;
            }
            let window_terms = own_terms + around_terms / WHOLE;
            figures.window += idf * saturation(window / WHOLE, window_terms, scope.window_terms);
            if *own > 0.0 {
                figures.message += idf * saturation(*own, own_terms, scope.message_terms);
                figures.held += idf;
                if *idf >= rare {
                    figures.held_rare += idf;
                }
            }
            if answered && *before > 0.0 {
                figures.answered += idf * saturation(*before, length(previous), scope.message_terms);
            }
            figures.coverage += idf * if *own > 0.0 { 1.0 } else { WINDOW_COVERAGE };
        }
        if self.ideal > 0.0 {
            figures.coverage /= self.ideal;
        }
        let known: f32 = self.weights.iter().map(|(_, idf)| idf).sum();
        if known > 0.0 {
            figures.held /= known;
            figures.held_rare /= known;
        }
        figures.session = self.session_scores.get(scope.surroundings.head(document) as usize).copied().unwrap_or(0.0);
        figures
    }
}

/// So many times as many as are wanted are looked at more closely, by their own words.
const REACH: usize = 2;

/// Rows that fit a `u16`.
const ROWS: usize = 60_000;

/// The numbers that documents lie between: the first, and one more than the last.
fn extent(documents: &[u32]) -> (u32, u32) {
    let (first, last) = documents.iter().fold((NONE, 0), |(first, last), at| (first.min(*at), last.max(*at + 1)));
    (first.min(last), last)
}

/// Keeps about the `wanted` highest values, in no order: values that are nearly equal stay or go together.
fn retain_best(values: &mut Vec<(f32, u32)>, wanted: usize) {
    const STEPS: usize = 1_024;
    if values.len() <= wanted {
        return;
    }
    let best = values.iter().map(|(value, _)| *value).fold(f32::MIN_POSITIVE, f32::max);
    let step = |value: f32| ((value / best * (STEPS - 1) as f32) as usize).min(STEPS - 1);
    let mut counts = [0_u32; STEPS];
    for (value, _) in values.iter() {
        counts[step(*value)] += 1;
    }
    let mut above = 0;
    let mut least = STEPS;
    while least > 0 && above < wanted {
        least -= 1;
        above += counts[least] as usize;
    }
    values.retain(|(value, _)| step(*value) >= least);
}

/// The terms that a question is answered by, in order: all, but for optional ones that nothing holds, or of a very long
/// question the rarest.
fn rarest<'a>(terms: &'a [AskedTerm], lexical: &LexicalIndex) -> Vec<&'a AskedTerm> {
    let holders = |term: &AskedTerm| lexical.document_frequency(term.hash);
    let mut wanted: Vec<&AskedTerm> = terms.iter().filter(|term| !term.is_optional || holders(term) > 0).collect();
    if wanted.len() <= MAX_TERMS {
        return wanted;
    }
    // Holders above the position: lists of numbers are sorted by code that is there already.
    let mut known: Vec<u64> = (0..)
        .zip(&wanted)
        .map(|(position, term)| (holders(term) as u64) << 32 | position)
        .filter(|known| known >> 32 > 0)
        .collect();
    known.sort_unstable();
    known.truncate(MAX_TERMS);
    known.iter_mut().for_each(|known| *known &= u64::from(u32::MAX));
    known.sort_unstable();
    wanted = known.into_iter().map(|position| wanted[position as usize]).collect();
    wanted
}
