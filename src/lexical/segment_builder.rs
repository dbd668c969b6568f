//! What takes new documents: a hash table of growing lists. Sealed, it is a segment.

use super::analyzer::{Analyzer, Side};
use super::postings::{GrowingList, Posting};
use super::segment_writer::SegmentWriter;
use super::term_table::TermTable;
use std::collections::hash_map::Entry;

/// Length that marks a removed document. Real lengths stop one below.
pub(crate) const GONE: u16 = u16::MAX;

/// Documents on their way to a sealed segment, numbered from 0 in the order in which they are added.
#[derive(Clone, Debug, Default)]
pub struct SegmentBuilder {
    terms: TermTable<GrowingList>,
    lengths: Vec<u16>,
    frequencies: TermTable<u16>,
}

/// What is indexed of a text: its length in terms, and how often it has each, by hash.
#[must_use]
pub fn term_counts(analyzer: &Analyzer, text: &str) -> (u16, Vec<(u64, u16)>) {
    let mut frequencies = TermTable::default();
    let length = count_terms(analyzer, text, &mut frequencies);
    (length, frequencies.into_iter().collect())
}

/// Counts the terms of a text; answers its length, stop words left out.
fn count_terms(analyzer: &Analyzer, text: &str, frequencies: &mut TermTable<u16>) -> u16 {
    let mut length = 0_u16;
    frequencies.clear();
    analyzer.terms(text, Side::Document, &mut |term| {
        if term.kind.has_length() {
            length = length.saturating_add(1).min(GONE - 1);
        }
        let frequency = frequencies.entry(term.hash).or_insert(0);
        *frequency = frequency.saturating_add(1);
    });
    length
}

impl SegmentBuilder {
    /// A builder without documents.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next document.
    pub fn add(&mut self, analyzer: &Analyzer, text: &str) {
        let mut frequencies = std::mem::take(&mut self.frequencies);
        let length = count_terms(analyzer, text, &mut frequencies);
        let document = self.len();
        for (hash, frequency) in frequencies.drain() {
            self.post(hash, Posting { document, frequency });
        }
        self.frequencies = frequencies;
        self.lengths.push(length);
    }

    /// Adds the next document without its postings.
    pub(crate) fn add_unread(&mut self, length: u16) {
        self.lengths.push(length.min(GONE - 1));
    }

    /// Adds a posting behind those that the term has.
    pub(crate) fn post(&mut self, hash: u64, posting: Posting) {
        match self.terms.entry(hash) {
            Entry::Occupied(mut entry) => entry.get_mut().push(posting),
            Entry::Vacant(entry) => {
                entry.insert(GrowingList::One(posting));
            }
        }
    }

    /// Forgets every posting.
    pub(crate) fn forget_postings(&mut self) {
        self.terms.clear();
    }

    /// Documents in it.
    #[must_use]
    pub fn len(&self) -> u32 {
        u32::try_from(self.lengths.len()).unwrap_or(u32::MAX)
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// The segment. The same documents give the same bytes.
    #[must_use]
    pub fn finish(&self) -> Vec<u8> {
        let mut hashes: Vec<u64> = self.terms.keys().copied().collect();
        hashes.sort_unstable();
        let mut writer = SegmentWriter::new(&self.lengths);
        let mut postings = Vec::new();
        for hash in hashes {
            if let Some(list) = self.terms.get(&hash) {
                postings.clear();
                list.for_each(|posting| {
                    if self.lengths.get(posting.document as usize).is_some_and(|length| *length != GONE) {
                        postings.push(posting);
                    }
                });
                writer.add_term(hash, &postings);
            }
        }
        writer.finish()
    }

    pub(crate) fn list(&self, term: u64) -> Option<&GrowingList> {
        self.terms.get(&term)
    }

    pub(crate) fn lengths(&self) -> &[u16] {
        &self.lengths
    }

    /// Marks a document as removed.
    pub(crate) fn remove(&mut self, document: u32) {
        if let Some(length) = self.lengths.get_mut(document as usize) {
            *length = GONE;
        }
    }

    /// Drops every trace of removed documents.
    pub(crate) fn sweep(&mut self) {
        let lengths = &self.lengths;
        self.terms.retain(|_, list| match list.retained(|document| lengths[document as usize] != GONE) {
            Some(kept) => {
                *list = kept;
                true
            }
            None => false,
        });
        self.terms.shrink_to_fit();
        self.frequencies = TermTable::default();
    }

    /// Takes back the numbers of removed documents at the end. They must have been swept out.
    pub(crate) fn drop_removed_at_end(&mut self) {
        while self.lengths.pop_if(|length| *length == GONE).is_some() {}
    }

    /// Bytes held, near enough: table, lists, lengths.
    pub(crate) fn memory_bytes(&self) -> usize {
        let table = self.terms.capacity() * (size_of::<(u64, GrowingList)>() + 1) * 8 / 7;
        let lists: usize = self.terms.values().map(GrowingList::heap_bytes).sum();
        table + lists + self.lengths.capacity() * size_of::<u16>()
    }
}
