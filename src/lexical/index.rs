//! The inverted index: takes one document at a time, forgets one by id.

use super::analyzer::{Analyzer, Side, TermKind};
use super::postings::Postings;
use crate::sorted_map::SortedSet;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// BM25 term saturation. Chat turns alone would take 0.9 and a length normalisation of 0.4 (Anserini's defaults, one
/// point of recall more than 1.2 and 0.75); once windows and sessions are scored as well it makes no difference to them,
/// and longer documents want 2 and 0.75 (Cranfield nDCG@10 38.5 against 35.9).
pub const K1: f32 = 2.0;
/// BM25 length normalisation; see [`K1`].
pub const B: f32 = 0.75;

/// Terms are hashed already: the table takes them as they are.
#[derive(Clone, Copy, Debug, Default)]
struct TermHasher(u64);

impl Hasher for TermHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

type TermTable<V> = HashMap<u64, V, BuildHasherDefault<TermHasher>>;

/// An inverted index with BM25, over documents numbered from 0 in the order in which they were added.
///
/// A removed document's number is not given again; its postings are skipped, and swept out once a quarter of the
/// documents is gone. Every result is the same as that of an index built anew from the documents that are left, but for
/// the numbers.
#[derive(Clone, Debug, Default)]
pub struct LexicalIndex {
    terms: TermTable<Postings>,
    /// Terms per document, stop words left out, 65,535 at most; [`GONE`] marks a removed document.
    lengths: Vec<u16>,
    live: usize,
    gone_unswept: usize,
    total_length: u64,
    frequencies: TermTable<u16>,
}

/// Length of a removed document. Real lengths stop one below.
const GONE: u16 = u16::MAX;

/// A document found by [`LexicalIndex::search`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LexicalHit {
    /// The document's number.
    pub document: u32,
    /// BM25 score, 0 and up.
    pub score: f32,
}

impl LexicalIndex {
    /// An empty index.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a document and answers its number.
    pub fn add(&mut self, analyzer: &Analyzer, text: &str) -> u32 {
        let document = u32::try_from(self.lengths.len()).unwrap_or(u32::MAX);
        let mut length = 0_u16;
        let frequencies = &mut self.frequencies;
        frequencies.clear();
        analyzer.terms(text, Side::Document, &mut |term| {
            if term.kind != TermKind::StopWord {
                length = length.saturating_add(1).min(GONE - 1);
            }
            let frequency = frequencies.entry(term.hash).or_insert(0);
            *frequency = frequency.saturating_add(1);
        });
        for (hash, frequency) in frequencies.drain() {
            match self.terms.entry(hash) {
                std::collections::hash_map::Entry::Occupied(mut entry) => entry.get_mut().push(document, frequency),
                std::collections::hash_map::Entry::Vacant(entry) => {
                    entry.insert(Postings::One { document, frequency });
                }
            }
        }
        self.lengths.push(length);
        self.live += 1;
        self.total_length += u64::from(length);
        document
    }

    /// Forgets a document; false when it is not there.
    pub fn remove(&mut self, document: u32) -> bool {
        let Some(length) = self.lengths.get_mut(document as usize).filter(|length| **length != GONE) else {
            return false;
        };
        self.total_length -= u64::from(*length);
        *length = GONE;
        self.live -= 1;
        self.gone_unswept += 1;
        if self.gone_unswept * 4 > self.live + self.gone_unswept {
            self.sweep();
        }
        true
    }

    /// Drops every trace of removed documents now; called by itself once a quarter is gone. Call it after an erasure.
    pub fn sweep(&mut self) {
        if self.gone_unswept == 0 {
            return;
        }
        let lengths = &self.lengths;
        self.terms.retain(|_, postings| match postings.retained(|document| lengths[document as usize] != GONE) {
            Some(kept) => {
                *postings = kept;
                true
            }
            None => false,
        });
        self.terms.shrink_to_fit();
        self.gone_unswept = 0;
    }

    /// Documents that are there.
    #[must_use]
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// One more than the highest number ever given.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.lengths.len()
    }

    /// Whether the document is there.
    #[must_use]
    pub fn contains(&self, document: u32) -> bool {
        self.lengths.get(document as usize).is_some_and(|length| *length != GONE)
    }

    /// Terms in the document, stop words left out; 0 when it is not there.
    #[must_use]
    pub fn length(&self, document: u32) -> u16 {
        self.lengths.get(document as usize).copied().filter(|length| *length != GONE).unwrap_or(0)
    }

    /// Mean length of the documents, at least 1.
    #[must_use]
    pub fn mean_length(&self) -> f32 {
        (self.total_length as f32 / self.live.max(1) as f32).max(1.0)
    }

    /// Calls `visit` with each document that holds the term and how often, in ascending order.
    pub fn for_each_posting(&self, term: u64, mut visit: impl FnMut(u32, u16)) {
        if let Some(postings) = self.terms.get(&term) {
            postings.for_each(|document, frequency| {
                if self.lengths[document as usize] != GONE {
                    visit(document, frequency);
                }
            });
        }
    }

    /// How many documents hold the term.
    #[must_use]
    pub fn document_frequency(&self, term: u64) -> usize {
        let mut holders = 0;
        self.for_each_posting(term, |_, _| holders += 1);
        holders
    }

    /// Distinct terms.
    #[must_use]
    pub fn term_count(&self) -> usize {
        self.terms.len()
    }

    /// Bytes held, near enough: table, postings, lengths.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let table = self.terms.capacity() * (size_of::<(u64, Postings)>() + 1) * 8 / 7;
        let postings: usize = self.terms.values().map(Postings::heap_bytes).sum();
        table + postings + self.lengths.capacity() * size_of::<u16>()
    }

    /// The best `limit` documents by plain BM25, best first, newest first among equals.
    ///
    /// Stop words of the question count only when there is nothing else in it. idf is squared, so that many common words
    /// cannot outvote a rare one. [`crate::retrieval::MessageIndex`] does more; this is for texts without neighbours.
    #[must_use]
    pub fn search(&self, analyzer: &Analyzer, question: &str, limit: usize) -> Vec<LexicalHit> {
        let mut scores = vec![0.0_f32; self.capacity()];
        let mut touched = Vec::new();
        let mut matches = Vec::new();
        let mean_length = self.mean_length();
        for term in question_terms(analyzer, question) {
            matches.clear();
            self.for_each_posting(term.hash, |document, frequency| matches.push((document, frequency)));
            let idf = inverse_document_frequency(self.live as f32, matches.len() as f32);
            for (document, frequency) in &matches {
                let score = &mut scores[*document as usize];
                if *score == 0.0 {
                    touched.push(*document);
                }
                *score += idf * idf * saturation((*frequency).into(), self.length(*document).into(), mean_length);
            }
        }
        let mut hits: Vec<LexicalHit> =
            touched.into_iter().map(|document| LexicalHit { document, score: scores[document as usize] }).collect();
        hits.sort_unstable_by(|left, right| {
            right.score.total_cmp(&left.score).then_with(|| right.document.cmp(&left.document))
        });
        hits.truncate(limit);
        hits
    }
}

/// Robertson's idf, never below 0: `ln(1 + (documents - holders + 0.5) / (holders + 0.5))`.
#[must_use]
pub fn inverse_document_frequency(documents: f32, holders: f32) -> f32 {
    (((documents - holders).max(0.0) + 0.5) / (holders + 0.5)).ln_1p()
}

/// BM25's term weight for a frequency in a document of this length: 0 to `K1 + 1`.
#[must_use]
pub fn saturation(frequency: f32, length: f32, mean_length: f32) -> f32 {
    frequency * (K1 + 1.0) / (frequency + K1 * (1.0 - B + B * length / mean_length))
}

/// A distinct term of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionTerm {
    /// What is looked up.
    pub hash: u64,
    /// Its kind at its first place.
    pub kind: TermKind,
    /// The folded text before stemming.
    pub text: String,
    /// Place of its word: terms of one compound share it.
    pub position: usize,
}

/// The distinct terms that a question is looked up by, in order: without stop words, unless there is nothing else.
#[must_use]
pub fn question_terms(analyzer: &Analyzer, question: &str) -> Vec<QuestionTerm> {
    let mut terms: Vec<QuestionTerm> = Vec::new();
    let mut seen = SortedSet::new();
    analyzer.terms(question, Side::Question, &mut |term| {
        if seen.insert(term.hash) {
            let text = term.text.to_owned();
            terms.push(QuestionTerm { hash: term.hash, kind: term.kind, text, position: term.position });
        }
    });
    if terms.iter().any(|term| term.kind != TermKind::StopWord) {
        terms.retain(|term| term.kind != TermKind::StopWord);
    }
    terms
}
