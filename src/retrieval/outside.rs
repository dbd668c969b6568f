//! An index whose postings, marks and vectors are elsewhere: here are the messages in their order, and for one question at a
//! time what was found for it. All else is as in an index of its own, so every score is the same.

use super::gate_question::GateQuestion;
use super::given_vectors::GivenVectors;
use super::message_index::MessageIndex;
use super::message_vectors::MessageVectors;
use super::question::{Question, quoted_rows, readable};
use super::sealed::SealedDocument;
use crate::lexical::Analyzer;
use crate::sorted_map::SortedMap;

/// A message whose text is elsewhere: what is kept of it here, without marks, and its length in terms.
#[derive(Clone, Copy, Debug)]
pub struct LineDocument<'a> {
    /// What was worked out of its text.
    pub document: SealedDocument<'a>,
    /// Terms, stop words left out.
    pub terms: u16,
}

/// What a search for a text looks up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sought {
    /// Every term whose postings it reads, once, in order.
    pub terms: Vec<u64>,
    /// It quotes something: it reads the marks of messages.
    pub marks: bool,
}

impl Sought {
    /// Whatever the gate, a search or [`super::Relevance`] reads of the index for this text.
    #[must_use]
    pub fn new(analyzer: &Analyzer, text: &str) -> Self {
        let question = Question::new(analyzer, text, f64::NAN);
        let asked = question.terms.iter().map(|term| term.hash);
        let gate = GateQuestion::new(analyzer, text);
        let mut terms: Vec<u64> =
            asked.chain(question.identifiers).chain(gate.words.iter().map(|word| word.hash)).collect();
        terms.sort_unstable();
        terms.dedup();
        let marks = !question.quoted.is_empty() || !quoted_rows(analyzer, readable(text)).is_empty();
        Self { terms, marks }
    }
}

/// What was found for a text, by document.
#[derive(Debug, Default)]
pub struct Found {
    /// Of each term of [`Sought::terms`] the documents that hold it, in any order, and how often.
    pub postings: Vec<(u64, Vec<(u32, u16)>)>,
    /// Marks of documents.
    pub marks: SortedMap<u32, Vec<u8>>,
    /// Similarities of documents, and the length of the question's vector.
    pub near: Option<(usize, Vec<(u32, f32)>)>,
}

impl MessageIndex {
    /// An empty index of messages whose texts and vectors are searched elsewhere.
    #[must_use]
    pub fn outside(analyzer: Analyzer) -> Self {
        let mut index = Self::new(analyzer, None);
        index.is_outside = true;
        index
    }

    /// Whether it is one made by [`MessageIndex::outside`].
    #[must_use]
    pub fn is_outside(&self) -> bool {
        self.is_outside
    }

    /// Takes messages in, in order, and answers the number of the first. Their places must be free.
    pub fn attach_lines(&mut self, lines: &[LineDocument<'_>]) -> u32 {
        let first = self.lexical.capacity() as u32;
        let mut entries = Vec::with_capacity(lines.len());
        for line in lines {
            let number = self.lexical.add_unread(line.terms);
            entries.push(self.sealed_entry(number, &line.document));
        }
        self.timeline.add_all(first, entries, lines.iter().map(|_| &[][..]));
        first
    }

    /// Puts what was found for a text in place of what was found for another: what is asked of the index until the next call
    /// must be about it.
    pub fn take_found(&mut self, mut found: Found) {
        for (_, postings) in &mut found.postings {
            crate::sorting::sort_by_key(postings, &|(document, _)| *document);
        }
        self.lexical.replace_postings(found.postings.iter().map(|(term, postings)| (*term, &postings[..])));
        if !found.marks.is_empty() {
            self.timeline.replace_marks(&found.marks);
        }
        self.vectors =
            found.near.map(|(dimensions, rows)| MessageVectors::new(Box::new(GivenVectors::new(dimensions, rows))));
    }
}
