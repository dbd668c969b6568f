//! Lexical evidence: BM25 over messages, their surroundings and their sessions, from the same postings.
//!
//! Nothing is stored for the larger granularities. While a term's postings are read, each occurrence is also counted, at
//! a share, for the messages around it, and for the session; then BM25 is taken of those counts. A question touches each
//! posting once, and allocates a few arrays, none per document.

use super::question::Question;
use super::timeline::{NONE, Timeline};
use crate::lexical::{LexicalIndex, QuestionTerm, TermKind, inverse_document_frequency, saturation};

/// Shares, in tenths, at which a message's terms count for its neighbours. The words of the message before matter most:
/// it is often the question that this one answers (+6 recall@10 on chat turns). Whole tenths, because sums of whole
/// numbers are the same in any order, so that a score does not depend on the order in which messages came.
const WHOLE: f32 = 10.0;
const CONTEXT_FROM_PREVIOUS: f32 = 5.0;
const CONTEXT_FROM_NEXT: f32 = 2.0;
const WINDOW_FROM_NEIGHBOUR: f32 = 7.0;
const WINDOW_FROM_SECOND: f32 = 4.0;

/// What a term found only in the message's window counts for its coverage.
const WINDOW_COVERAGE: f32 = 0.5;

/// Most terms that one question is looked up by.
const MAX_TERMS: usize = 96;

/// Which documents a search sees.
pub(super) struct Scope<'a> {
    pub timeline: &'a Timeline,
    pub lexical: &'a LexicalIndex,
    /// Only this conversation, where given.
    pub conversation: Option<u32>,
    /// Documents in the scope.
    pub documents: f32,
    /// Sessions in the scope.
    pub sessions: f32,
    /// Mean terms of a message, and, counted as its parts are, of a context, a window and a session.
    pub message_terms: f32,
    pub context_terms: f32,
    pub window_terms: f32,
    pub session_terms: f32,
}

impl<'a> Scope<'a> {
    pub fn new(timeline: &'a Timeline, lexical: &'a LexicalIndex, conversation: Option<u32>) -> Self {
        let (documents, sessions, terms) = match conversation {
            Some(conversation) => timeline.track(conversation).map_or((0.0, 0.0, 0.0), |track| {
                (track.documents.len() as f32, track.sessions as f32, track.terms as f32)
            }),
            None => {
                let documents = lexical.len() as f32;
                (documents, timeline.sessions() as f32, lexical.mean_length() * documents)
            }
        };
        let message_terms = (terms / documents.max(1.0)).max(1.0);
        let session_terms = (terms / sessions.max(1.0)).max(1.0);
        // How many of the messages have a neighbour, and a second one, on a given side.
        let neighbours = 1.0 - sessions / documents.max(1.0);
        let seconds = (1.0 - 2.0 * sessions / documents.max(1.0)).max(0.0);
        Self {
            timeline,
            lexical,
            conversation,
            documents,
            sessions,
            message_terms,
            context_terms: message_terms * (1.0 + (CONTEXT_FROM_PREVIOUS + CONTEXT_FROM_NEXT) / WHOLE * neighbours),
            window_terms: message_terms
                * (1.0 + 2.0 * (WINDOW_FROM_NEIGHBOUR * neighbours + WINDOW_FROM_SECOND * seconds) / WHOLE),
            session_terms,
        }
    }

    fn sees(&self, document: u32) -> bool {
        let conversation = self.timeline.entries().get(document as usize).map(|entry| entry.conversation);
        self.conversation.is_none() || self.conversation == conversation
    }
}

/// Scores by document number; 0 where a document has none of the question's terms.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// BM25 of the message.
    pub message: Vec<f32>,
    /// BM25 of the message with the words of the previous one at half weight, of the next at a fifth.
    pub context: Vec<f32>,
    /// BM25 of the message and two neighbours on each side.
    pub window: Vec<f32>,
    /// By a session's first document: BM25 of the session.
    pub session: Vec<f32>,
    /// Share of the question's terms, by idf, that are in the message, or at half weight in its window; 0 to 1.
    pub coverage: Vec<f32>,
    /// Documents with any evidence in their window, in no order.
    pub touched: Vec<u32>,
    /// Sum of the idf of the question's terms: what full evidence would be.
    pub ideal: f32,
}

/// Counts of one term, by document, and where they are not 0.
#[derive(Default)]
struct Counts {
    message: Vec<f32>,
    context: Vec<f32>,
    window: Vec<f32>,
    session: Vec<f32>,
    touched: Vec<u32>,
    heads: Vec<u32>,
    matches: Vec<(u32, u16)>,
}

impl Evidence {
    /// Reads the postings of every term of the question.
    pub fn gather(scope: &Scope<'_>, question: &Question) -> Self {
        let size = scope.lexical.capacity();
        let zeros = || vec![0.0_f32; size];
        let mut evidence = Self {
            message: zeros(),
            context: zeros(),
            window: zeros(),
            session: zeros(),
            coverage: zeros(),
            ..Self::default()
        };
        let mut counts =
            Counts { message: zeros(), context: zeros(), window: zeros(), session: zeros(), ..Counts::default() };
        for term in rarest(&question.terms, scope.lexical) {
            evidence.add_term(scope, term, &mut counts);
        }
        if evidence.ideal > 0.0 {
            for document in &evidence.touched {
                evidence.coverage[*document as usize] /= evidence.ideal;
            }
        }
        evidence
    }

    fn add_term(&mut self, scope: &Scope<'_>, term: &QuestionTerm, counts: &mut Counts) {
        counts.matches.clear();
        let mut everywhere = 0.0_f32;
        scope.lexical.for_each_posting(term.hash, |document, frequency| {
            everywhere += 1.0;
            if scope.sees(document) {
                counts.matches.push((document, frequency));
            }
        });
        let holders = counts.matches.len() as f32;
        // A word that is common anywhere is common: a short conversation does not make it rare.
        let rate = everywhere / scope.lexical.len().max(1) as f32;
        let idf = inverse_document_frequency(scope.documents, holders.max(rate * scope.documents));
        // A Hangul word with its particle is often new although its stem, in its bigrams, is not.
        let is_hangul_word = term.text.starts_with(|first| matches!(first, '\u{AC00}'..='\u{D7AF}'))
            && term.text.chars().nth(2).is_some();
        if !(term.kind == TermKind::Gram && is_hangul_word && holders == 0.0) {
            // An unknown word counts as the rarest known one: it may be a synonym of what was said.
            self.ideal += idf.min(inverse_document_frequency(scope.documents, 1.0));
        }
        counts.spread(scope.timeline);
        self.finish_messages(scope, idf, counts);
        self.finish_sessions(scope, counts);
    }

    fn finish_messages(&mut self, scope: &Scope<'_>, idf: f32, counts: &mut Counts) {
        let length = |document: u32| if document == NONE { 0.0 } else { f32::from(scope.lexical.length(document)) };
        for document in counts.touched.drain(..) {
            let at = document as usize;
            let own = length(document);
            let [previous, next, second_before, second_after] = scope.timeline.neighbours(document).map(length);
            if self.window[at] == 0.0 {
                self.touched.push(document);
            }
            let message = std::mem::take(&mut counts.message[at]);
            if message > 0.0 {
                self.message[at] += idf * saturation(message, own, scope.message_terms);
            }
            let context = std::mem::take(&mut counts.context[at]);
            if context > 0.0 {
                let terms = own + (CONTEXT_FROM_PREVIOUS * previous + CONTEXT_FROM_NEXT * next) / WHOLE;
                self.context[at] += idf * saturation(context / WHOLE, terms, scope.context_terms);
            }
            let around =
                WINDOW_FROM_NEIGHBOUR * (previous + next) + WINDOW_FROM_SECOND * (second_before + second_after);
            let window = std::mem::take(&mut counts.window[at]) / WHOLE;
            self.window[at] += idf * saturation(window, own + around / WHOLE, scope.window_terms);
            self.coverage[at] += idf * if message > 0.0 { 1.0 } else { WINDOW_COVERAGE };
        }
    }

    fn finish_sessions(&mut self, scope: &Scope<'_>, counts: &mut Counts) {
        let idf = inverse_document_frequency(scope.sessions, counts.heads.len() as f32);
        for head in counts.heads.drain(..) {
            let at = head as usize;
            let terms = scope.timeline.entries()[at].session_terms as f32;
            let count = std::mem::take(&mut counts.session[at]);
            self.session[at] += idf * saturation(count, terms, scope.session_terms);
        }
    }
}

/// The terms that a question is answered by: all, or of a very long question the rarest, in order.
fn rarest<'a>(terms: &'a [QuestionTerm], lexical: &LexicalIndex) -> Vec<&'a QuestionTerm> {
    if terms.len() <= MAX_TERMS {
        return terms.iter().collect();
    }
    let mut known: Vec<(usize, usize)> = terms
        .iter()
        .zip(0..)
        .map(|(term, position)| (lexical.document_frequency(term.hash), position))
        .filter(|(holders, _)| *holders > 0)
        .collect();
    crate::sorting::sort(&mut known);
    known.truncate(MAX_TERMS);
    crate::sorting::sort_by_key(&mut known, &|(_, position)| *position);
    known.into_iter().map(|(_, position)| &terms[position]).collect()
}

impl Counts {
    /// Counts every match for its message, the messages around it and its session.
    fn spread(&mut self, timeline: &Timeline) {
        for (document, frequency) in &self.matches {
            let (document, frequency) = (*document, f32::from(*frequency));
            let Some(entry) = timeline.entry(document) else { continue };
            let head = entry.head;
            if self.session[head as usize] == 0.0 {
                self.heads.push(head);
            }
            self.session[head as usize] += frequency;
            let [previous, next, second_before, second_after] = timeline.neighbours(document);
            self.message[document as usize] += frequency;
            let shares = [
                (document, WHOLE, WHOLE),
                (next, CONTEXT_FROM_PREVIOUS, WINDOW_FROM_NEIGHBOUR),
                (previous, CONTEXT_FROM_NEXT, WINDOW_FROM_NEIGHBOUR),
                (second_before, 0.0, WINDOW_FROM_SECOND),
                (second_after, 0.0, WINDOW_FROM_SECOND),
            ];
            for (receiver, context, window) in shares {
                if receiver != NONE {
                    let at = receiver as usize;
                    if self.window[at] == 0.0 {
                        self.touched.push(receiver);
                    }
                    self.context[at] += context * frequency;
                    self.window[at] += window * frequency;
                }
            }
        }
    }
}
