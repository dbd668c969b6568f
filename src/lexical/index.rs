//! The inverted index: takes one document at a time or a sealed segment of them, forgets one by number.

use super::analyzer::Analyzer;
use super::bm25::{inverse_document_frequency, saturation};
use super::postings::Posting;
use super::question_terms::question_terms;
use super::segment::LexicalSegment;
use super::segment_builder::{GONE, SegmentBuilder};

/// An inverted index with BM25, over documents numbered from 0 in the order in which they came.
///
/// It is a list of sealed segments and a part that grows, each with its own range of numbers; the part that grows is
/// sealed when it is full. A removed document's postings are skipped, and swept out of a part once a quarter of its
/// documents is gone. Its number is given again when no document with a higher one is left. Every result is the same as
/// that of an index built anew from the documents that are left, but for the numbers.
#[derive(Clone, Debug, Default)]
pub struct LexicalIndex {
    sealed: Vec<Sealed>,
    growing: SegmentBuilder,
    growing_gone: u32,
    /// Terms per document, stop words left out; [`GONE`] marks a removed document.
    lengths: Vec<u16>,
    live: usize,
    total_length: u64,
}

/// A sealed segment in its place.
#[derive(Clone, Debug)]
struct Sealed {
    /// Number of its first document.
    first: u32,
    segment: LexicalSegment,
    /// Removed documents whose postings are still in it.
    gone: u32,
}

/// A document found by [`LexicalIndex::search`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LexicalHit {
    /// The document's number.
    pub document: u32,
    /// BM25 score, 0 and up.
    pub score: f32,
}

/// Documents in the part that grows: few enough to read its lists from the beginning, and to be sealed within a few
/// milliseconds.
const MOST_GROWING: u32 = 4_096;

/// Documents that a part may have after joining: more would take longer than anybody wants to wait for one message.
const MOST_JOINED: u32 = 4 * MOST_GROWING;

fn is_gone(lengths: &[u16], document: u32) -> bool {
    lengths.get(document as usize).is_none_or(|length| *length == GONE)
}

/// Whether so many removed documents of all are worth a sweep.
fn is_worth_sweeping(gone: u32, documents: u32) -> bool {
    u64::from(gone) * 4 > documents.into()
}

impl LexicalIndex {
    /// An empty index.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a document and answers its number.
    pub fn add(&mut self, analyzer: &Analyzer, text: &str) -> u32 {
        if self.growing.len() >= MOST_GROWING {
            self.seal();
        }
        self.growing.add(analyzer, text);
        let length = self.growing.lengths().last().copied().unwrap_or(0);
        self.number(length)
    }

    /// Adds a document whose postings are elsewhere, by its length, and answers its number. An index has documents of this
    /// kind alone, or none.
    pub fn add_unread(&mut self, length: u16) -> u32 {
        self.growing.add_unread(length);
        self.number(length.min(GONE - 1))
    }

    /// Takes the postings of terms in, in place of all that were there: documents in ascending order with how often they
    /// hold the term. Of documents that were added unread.
    pub fn replace_postings<'a>(&mut self, terms: impl Iterator<Item = (u64, &'a [(u32, u16)])>) {
        self.growing.forget_postings();
        for (hash, postings) in terms {
            for (document, frequency) in postings {
                self.growing.post(hash, Posting { document: *document, frequency: *frequency });
            }
        }
    }

    /// Takes the documents of a segment in, in order, and answers the number of the first. Those that are not kept (asked
    /// by their number in the segment) get a number as well, and are gone from the start.
    pub fn attach(&mut self, segment: LexicalSegment, keep: &dyn Fn(u32) -> bool) -> u32 {
        self.seal();
        let first = self.next_number();
        let mut gone = 0;
        for (document, length) in (0..).zip(segment.lengths()) {
            if length == GONE || keep(document) {
                self.number(length);
            } else {
                self.number(GONE);
                gone += 1;
            }
        }
        self.attach_at(first, segment, gone);
        first
    }

    fn attach_at(&mut self, first: u32, segment: LexicalSegment, gone: u32) {
        if segment.is_empty() {
            return;
        }
        let mut part = Sealed { first, segment, gone };
        if is_worth_sweeping(gone, part.segment.len()) {
            part.sweep(&self.lengths);
        }
        self.sealed.push(part);
    }

    /// Turns the part that grows into a segment.
    fn seal(&mut self) {
        if self.growing.is_empty() {
            return;
        }
        let growing = std::mem::take(&mut self.growing);
        self.growing_gone = 0;
        let first = self.next_number() - growing.len();
        if let Ok(segment) = LexicalSegment::open(growing.finish()) {
            self.attach_at(first, segment, 0);
        }
        while self.join_last() {}
    }

    /// Joins the last two parts where they are small, and alike so that no document is written more than a few times.
    /// Each part has its own list of terms to keep and to look through.
    fn join_last(&mut self) -> bool {
        let Some([one, other]) = self.sealed.last_chunk() else { return false };
        if one.segment.len() > other.segment.len() || one.segment.len() + other.segment.len() > MOST_JOINED {
            return false;
        }
        let (first, lengths) = (one.first, &self.lengths);
        let joined = LexicalSegment::joined(&[
            (&one.segment, &|document| is_gone(lengths, one.first + document)),
            (&other.segment, &|document| is_gone(lengths, other.first + document)),
        ]);
        let Ok(segment) = LexicalSegment::open(joined) else { return false };
        self.sealed.truncate(self.sealed.len() - 2);
        self.sealed.push(Sealed { first, segment, gone: 0 });
        true
    }

    fn next_number(&self) -> u32 {
        u32::try_from(self.lengths.len()).unwrap_or(u32::MAX)
    }

    fn number(&mut self, length: u16) -> u32 {
        let document = self.next_number();
        self.lengths.push(length);
        if length != GONE {
            self.live += 1;
            self.total_length += u64::from(length);
        }
        document
    }

    /// Number of the first document in the part that grows.
    fn growing_first(&self) -> u32 {
        self.next_number() - self.growing.len()
    }

    /// Forgets a document; false when it is not there.
    pub fn remove(&mut self, document: u32) -> bool {
        let growing_first = self.growing_first();
        let Some(length) = self.lengths.get_mut(document as usize).filter(|length| **length != GONE) else {
            return false;
        };
        self.total_length -= u64::from(std::mem::replace(length, GONE));
        self.live -= 1;
        if document >= growing_first {
            self.growing.remove(document - growing_first);
            self.growing_gone += 1;
            if is_worth_sweeping(self.growing_gone, self.growing.len()) {
                self.sweep_growing();
            }
        } else {
            let after = self.sealed.partition_point(|part| part.first <= document);
            if let Some(part) = after.checked_sub(1).and_then(|at| self.sealed.get_mut(at)) {
                part.gone += 1;
                if is_worth_sweeping(part.gone, part.segment.len()) {
                    part.sweep(&self.lengths);
                    self.take_numbers_back();
                }
            }
        }
        true
    }

    /// Drops every trace of removed documents now; a part does it by itself once a quarter of it is gone. Call it after
    /// an erasure.
    pub fn sweep(&mut self) {
        for part in &mut self.sealed {
            part.sweep(&self.lengths);
        }
        self.sweep_growing();
    }

    fn sweep_growing(&mut self) {
        if std::mem::take(&mut self.growing_gone) > 0 {
            self.growing.sweep();
        }
        self.take_numbers_back();
    }

    /// Numbers at the end that no document has any more are given again: a session that imports and deletes over and
    /// over holds no more than one that does it once.
    fn take_numbers_back(&mut self) {
        if self.growing_gone > 0 {
            return;
        }
        self.growing.drop_removed_at_end();
        while self.growing.is_empty()
            && let Some(last) = self.sealed.pop_if(|last| last.is_empty(&self.lengths))
        {
            self.lengths.truncate(last.first as usize);
        }
        let growing_first = self.sealed.last().map_or(0, |last| last.first + last.segment.len());
        self.lengths.truncate((growing_first + self.growing.len()) as usize);
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

    /// Terms in the document, stop words left out, 65,534 at most; 0 when it is not there.
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
        let mut see = |first: u32, posting: Posting| {
            let document = first + posting.document;
            if self.contains(document) {
                visit(document, posting.frequency);
            }
        };
        for part in &self.sealed {
            if let Some(list) = part.segment.list(term) {
                list.reader().for_each(|posting| see(part.first, posting));
            }
        }
        if let Some(list) = self.growing.list(term) {
            let first = self.growing_first();
            list.for_each(|posting| see(first, posting));
        }
    }

    /// The same for the documents from `range.0` on and before `range.1` alone.
    #[inline]
    pub(crate) fn for_each_in(&self, term: u64, range: (u32, u32), mut visit: impl FnMut(u32, u16)) {
        let mut see = |first: u32, posting: Posting| {
            let document = first + posting.document;
            if self.contains(document) {
                visit(document, posting.frequency);
            }
        };
        for part in &self.sealed {
            let (from, to) = (range.0.saturating_sub(part.first), range.1.saturating_sub(part.first));
            if from < part.segment.len()
                && to > 0
                && let Some(list) = part.segment.list(term)
            {
                list.reader_in(from, to).for_each(|posting| see(part.first, posting));
            }
        }
        if let Some(list) = self.growing.list(term) {
            let first = self.growing_first();
            list.for_each(|posting| {
                if (range.0..range.1).contains(&(first + posting.document)) {
                    see(first, posting);
                }
            });
        }
    }

    /// Which of the documents, given in ascending order, hold the term: their positions, ascending.
    #[must_use]
    pub fn holders_among(&self, term: u64, documents: &[u32]) -> Vec<usize> {
        let (Some(first), Some(last)) = (documents.first(), documents.last()) else { return Vec::new() };
        let mut found = Vec::new();
        let mut next = 0;
        self.for_each_in(term, (*first, last.saturating_add(1)), |document, _| {
            next += documents[next..].iter().take_while(|wanted| **wanted < document).count();
            if documents.get(next) == Some(&document) {
                found.push(next);
            }
        });
        found
    }

    /// How many documents hold the term.
    #[must_use]
    pub fn document_frequency(&self, term: u64) -> usize {
        let mut holders = 0;
        for part in &self.sealed {
            let Some(list) = part.segment.list(term) else { continue };
            holders += match part.gone {
                0 => list.holders as usize,
                _ => list.reader().filter(|posting| self.contains(part.first + posting.document)).count(),
            };
        }
        if let Some(list) = self.growing.list(term) {
            let first = self.growing_first();
            match self.growing_gone {
                0 => holders += list.holders() as usize,
                _ => list.for_each(|posting| holders += usize::from(self.contains(first + posting.document))),
            }
        }
        holders
    }

    /// Bytes held, near enough: segments, the part that grows, lengths.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let sealed: usize = self.sealed.iter().map(|part| part.segment.bytes().len()).sum();
        sealed + self.growing.memory_bytes() + self.lengths.capacity() * size_of::<u16>()
    }

    /// The best `limit` documents by plain BM25, best first, newest first among equals.
    ///
    /// Stop words of the question count only when there is nothing else in it. idf is squared, so that many common words
    /// cannot outvote a rare one. The engine's message index does more; this is for texts without neighbours.
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

impl Sealed {
    /// Whether no document and no posting is left in it.
    fn is_empty(&self, lengths: &[u16]) -> bool {
        let end = (self.first + self.segment.len()) as usize;
        self.gone == 0 && lengths.get(self.first as usize..end).is_none_or(|own| own.iter().all(|one| *one == GONE))
    }

    /// Drops every trace of removed documents: the segment is written anew, its documents keep their numbers.
    fn sweep(&mut self, lengths: &[u16]) {
        if std::mem::take(&mut self.gone) == 0 {
            return;
        }
        let is_gone = |document: u32| is_gone(lengths, self.first + document);
        if let Ok(segment) = LexicalSegment::open(LexicalSegment::joined(&[(&self.segment, &is_gone)])) {
            self.segment = segment;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Documents of every posting that is held, in whatever part.
    fn held(index: &LexicalIndex, terms: &[u64]) -> Vec<u32> {
        let mut held = Vec::new();
        for term in terms {
            for part in &index.sealed {
                let list = part.segment.list(*term);
                held.extend(list.iter().flat_map(|list| list.reader()).map(|posting| part.first + posting.document));
            }
            if let Some(list) = index.growing.list(*term) {
                list.for_each(|posting| held.push(index.growing_first() + posting.document));
            }
        }
        held
    }

    proptest! {
        #[test]
        fn a_sweep_leaves_nothing_of_what_was_removed(
            texts in prop::collection::vec("[abc]( [abc]){0,3}", 1..40),
            seals in prop::collection::vec(0..40_usize, 0..4),
            removed in prop::collection::vec(0..40_u32, 0..40),
        ) {
            let analyzer = Analyzer::default();
            let mut index = LexicalIndex::new();
            for (at, text) in texts.iter().enumerate() {
                if seals.contains(&at) {
                    index.seal();
                }
                index.add(&analyzer, text);
            }
            for document in &removed {
                index.remove(*document);
            }
            index.sweep();
            let terms = ["a", "b", "c"].map(crate::hash_term);
            let left = held(&index, &terms);
            prop_assert!(left.iter().all(|document| !removed.contains(document)));
            let holders: usize = terms.iter().map(|term| index.document_frequency(*term)).sum();
            prop_assert_eq!(left.len(), holders);
        }
    }
}
