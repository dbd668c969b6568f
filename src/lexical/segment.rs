//! A sealed segment: documents whose postings do not change any more, read straight from their bytes.
//!
//! Little-endian: format (4 bytes), documents, terms, bytes of lists (`u32` each); the documents' lengths (`u16`); the
//! terms' hashes in ascending order (`u64`); where each term's list begins (`u32`); the lists. A list: how many documents
//! hold the term (varint); with more than [`BLOCK`] of them one directory entry for each block of as many (its last
//! document, where its postings end; `u32`), so that a search of one conversation reads the blocks of that conversation
//! alone; the postings (`super::postings`).
//!
//! Bounds on a block's scores, as block-max skipping wants them, are not kept: sums by session need every posting.

use super::postings::{Posting, PostingReader, read_varint};
use super::segment_builder::GONE;
use super::segment_writer::SegmentWriter;
use throughline_tokens::error::{Error, Result};

/// Marks the bytes and their layout; a segment of another one is built anew from the messages.
pub(crate) const FORMAT: [u8; 4] = *b"TLX1";
pub(crate) const HEADER_BYTES: usize = 16;
/// Postings to a block.
pub(crate) const BLOCK: usize = 128;
const DIRECTORY_ENTRY_BYTES: usize = 8;

/// A sealed segment of the lexical index, with documents numbered from 0.
///
/// Opening it decodes nothing: a term is looked for in the bytes when it is asked for.
#[derive(Clone, Debug)]
pub struct LexicalSegment {
    bytes: Vec<u8>,
    documents: u32,
    terms: usize,
    hashes: usize,
    starts: usize,
    lists: usize,
}

/// One term's list in a segment.
#[derive(Clone, Debug)]
pub(crate) struct SealedList<'a> {
    /// Documents in it, removed ones included.
    pub holders: u32,
    /// A fixed-width entry for each block; empty where there is one block.
    directory: &'a [u8],
    postings: &'a [u8],
    documents: u32,
}

impl<'a> SealedList<'a> {
    pub fn reader(&self) -> PostingReader<'a> {
        PostingReader::new(self.postings, 0, self.documents)
    }

    /// The postings of documents from `from`, or a little before it, on to before `to`: whole blocks are passed over.
    pub fn reader_in(&self, from: u32, to: u32) -> PostingReader<'a> {
        let entries = self.directory.as_chunks::<DIRECTORY_ENTRY_BYTES>().0;
        let before = entries.partition_point(|entry| u32_at(entry, 0).is_some_and(|last| last < from));
        let skipped = before.checked_sub(1).and_then(|last| entries.get(last));
        let start = skipped.and_then(|entry| Some((u32_at(entry, 4)? as usize, u32_at(entry, 0)?.checked_add(1)?)));
        let (at, next) = start.unwrap_or((0, 0));
        PostingReader::new(self.postings.get(at..).unwrap_or_default(), next, self.documents.min(to))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

impl LexicalSegment {
    /// Opens a segment. The bytes are taken as they are; their integrity is for the storage to check.
    ///
    /// # Errors
    /// [`storage_corrupt`](throughline_tokens::error::Code::StorageCorrupt) when they are no segment, or one of another
    /// format. Damage within the lists is found by nobody here; it gives wrong answers, never a panic.
    pub fn open(bytes: Vec<u8>) -> Result<Self> {
        Self::parsed(bytes)
            .ok_or_else(|| Error::corrupt("a lexical segment is not in this version's format; build it anew"))
    }

    fn parsed(bytes: Vec<u8>) -> Option<Self> {
        let documents = u32_at(&bytes, 4)?;
        let terms = u32_at(&bytes, 8)? as usize;
        let hashes = HEADER_BYTES.checked_add((documents as usize).checked_mul(2)?)?;
        let starts = hashes.checked_add(terms.checked_mul(8)?)?;
        let lists = starts.checked_add(terms.checked_mul(4)?)?;
        let size = lists.checked_add(u32_at(&bytes, 12)? as usize)?;
        let is_sound = bytes.starts_with(&FORMAT) && bytes.len() == size && documents < u32::MAX;
        is_sound.then_some(Self { bytes, documents, terms, hashes, starts, lists })
    }

    /// The bytes, to be stored.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Documents in it.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.documents
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.documents == 0
    }

    /// The documents of the parts that are kept, in order, numbered anew, as one segment: the same bytes as if they alone
    /// had been added to a [`SegmentBuilder`](super::SegmentBuilder).
    #[must_use]
    pub fn merged(parts: &[(&Self, &dyn Fn(u32) -> bool)]) -> Vec<u8> {
        let mut lengths = Vec::new();
        let parts: Vec<(&Self, Vec<u32>)> = parts
            .iter()
            .map(|(segment, keep)| {
                let number = |(document, length): (u32, u16)| {
                    if length == GONE || !keep(document) {
                        return u32::MAX;
                    }
                    lengths.push(length);
                    lengths.len() as u32 - 1
                };
                (*segment, (0..).zip(segment.lengths()).map(number).collect())
            })
            .collect();
        rewritten(&parts, &lengths)
    }

    /// The documents of the parts in order, as one segment; those that are gone leave their numbers, and nothing else.
    pub(crate) fn joined(parts: &[(&Self, &dyn Fn(u32) -> bool)]) -> Vec<u8> {
        let mut lengths = Vec::new();
        let parts: Vec<(&Self, Vec<u32>)> = parts
            .iter()
            .map(|(segment, is_gone)| {
                let number = |(document, length): (u32, u16)| {
                    let length = if is_gone(document) { GONE } else { length };
                    lengths.push(length);
                    if length == GONE { u32::MAX } else { lengths.len() as u32 - 1 }
                };
                (*segment, (0..).zip(segment.lengths()).map(number).collect())
            })
            .collect();
        rewritten(&parts, &lengths)
    }

    /// The documents' lengths, in order; [`GONE`] for one that was swept out.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = u16> {
        let bytes = self.bytes.get(HEADER_BYTES..self.hashes).unwrap_or_default();
        bytes.as_chunks().0.iter().map(|length| u16::from_le_bytes(*length))
    }

    /// The list of a term.
    pub(crate) fn list(&self, term: u64) -> Option<SealedList<'_>> {
        self.list_at(self.position(term)?)
    }

    fn hash_at(&self, position: usize) -> Option<u64> {
        let at = self.hashes + 8 * position;
        if position >= self.terms {
            return None;
        }
        Some(u64::from_le_bytes(*self.bytes.get(at..)?.first_chunk()?))
    }

    /// Hashes are spread evenly: the place of one is known to within a few hundred before anything was read. From there
    /// in doubling steps, then by halves.
    fn position(&self, term: u64) -> Option<usize> {
        let guess = ((u128::from(term) * self.terms as u128) >> 64) as usize;
        let is_below = |position: usize| self.hash_at(position).is_some_and(|hash| hash < term);
        let (mut low, mut high) = (guess, guess);
        let mut step = 16;
        while low > 0 && !is_below(low) {
            high = low;
            low = low.saturating_sub(step);
            step *= 2;
        }
        step = 16;
        while high < self.terms && is_below(high) {
            low = high;
            high = (high + step).min(self.terms);
            step *= 2;
        }
        while low < high {
            let middle = low.midpoint(high);
            if is_below(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (self.hash_at(low) == Some(term)).then_some(low)
    }

    fn list_at(&self, position: usize) -> Option<SealedList<'_>> {
        let start = |position: usize| self.lists.checked_add(u32_at(&self.bytes, self.starts + 4 * position)? as usize);
        let end = if position + 1 < self.terms { start(position + 1)? } else { self.bytes.len() };
        let mut rest = self.bytes.get(start(position)?..end)?;
        let holders = u32::try_from(read_varint(&mut rest)?).ok()?;
        let blocks = (holders as usize).div_ceil(BLOCK);
        let directory = if blocks > 1 { DIRECTORY_ENTRY_BYTES.checked_mul(blocks)? } else { 0 };
        let (directory, postings) = rest.split_at_checked(directory)?;
        Some(SealedList { holders, directory, postings, documents: self.documents })
    }
}

/// The lists of the parts under new numbers (`u32::MAX` for a document that goes), as one segment.
fn rewritten(parts: &[(&LexicalSegment, Vec<u32>)], lengths: &[u16]) -> Vec<u8> {
    let mut writer = SegmentWriter::new(lengths);
    let mut positions = vec![0; parts.len()];
    let mut postings = Vec::new();
    let heads = |positions: &[usize]| -> Vec<Option<u64>> {
        parts.iter().zip(positions).map(|((segment, _), position)| segment.hash_at(*position)).collect()
    };
    loop {
        let heads = heads(&positions);
        let Some(hash) = heads.iter().flatten().min() else { return writer.finish() };
        postings.clear();
        for (((segment, numbers), position), head) in parts.iter().zip(&mut positions).zip(&heads) {
            if head.as_ref() == Some(hash) {
                let reader = segment.list_at(*position).map(|list| list.reader());
                *position += 1;
                postings.extend(reader.into_iter().flatten().filter_map(|posting: Posting| {
                    let document = *numbers.get(posting.document as usize)?;
                    (document != u32::MAX).then_some(Posting { document, ..posting })
                }));
            }
        }
        writer.add_term(*hash, &postings);
    }
}
