//! Postings of one term: which documents hold it, and how often, in a few bytes each.
//!
//! A list is a run of varints: how many documents were passed over since the one before, doubled, with the low bit set
//! where the frequency is 1; else the frequency follows. The same bytes stand in the part that grows and in segments.

/// A document and how often it holds the term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Posting {
    pub document: u32,
    pub frequency: u16,
}

/// Adds a posting. `next` is one more than the document before, or 0.
pub(crate) fn write_posting(bytes: &mut Vec<u8>, next: u32, posting: Posting) {
    let passed = u64::from(posting.document.saturating_sub(next)) << 1;
    write_varint(bytes, passed | u64::from(posting.frequency == 1));
    if posting.frequency != 1 {
        write_varint(bytes, posting.frequency.into());
    }
}

pub(crate) fn write_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}

#[inline]
pub(crate) fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    if *first < 0x80 {
        return Some(u64::from(*first));
    }
    let mut value = u64::from(first & 0x7F);
    for shift in (7..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if *byte < 0x80 {
            break;
        }
    }
    Some(value)
}

/// Reads a list, ascending. Ends at the end of the bytes, or at a document from `end` on: no list goes on for ever.
#[derive(Clone, Debug)]
pub(crate) struct PostingReader<'a> {
    bytes: &'a [u8],
    next: u64,
    end: u32,
}

impl<'a> PostingReader<'a> {
    pub fn new(bytes: &'a [u8], next: u32, end: u32) -> Self {
        Self { bytes, next: next.into(), end }
    }
}

impl Iterator for PostingReader<'_> {
    type Item = Posting;

    #[inline]
    fn next(&mut self) -> Option<Posting> {
        let head = read_varint(&mut self.bytes)?;
        let document = u32::try_from(self.next + (head >> 1)).ok().filter(|document| *document < self.end)?;
        self.next = u64::from(document) + 1;
        let frequency = if head & 1 == 1 { 1 } else { read_varint(&mut self.bytes)? };
        Some(Posting { document, frequency: u16::try_from(frequency).unwrap_or(u16::MAX) })
    }
}

/// The list of one term in the part that grows. Most terms occur in one document only: that takes no allocation.
#[derive(Clone, Debug)]
pub(crate) enum GrowingList {
    /// The only posting.
    One(Posting),
    /// Two or more.
    Many(Box<List>),
}

/// A list and where it ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct List {
    next: u32,
    holders: u32,
    bytes: Vec<u8>,
}

impl List {
    fn push(&mut self, posting: Posting) {
        write_posting(&mut self.bytes, self.next, posting);
        self.next = posting.document.saturating_add(1);
        self.holders += 1;
    }
}

impl GrowingList {
    /// Adds a document that comes after all that are there.
    pub fn push(&mut self, posting: Posting) {
        match self {
            Self::One(first) => {
                let mut list = List::default();
                list.push(*first);
                list.push(posting);
                *self = Self::Many(Box::new(list));
            }
            Self::Many(list) => list.push(posting),
        }
    }

    /// Documents in it.
    pub fn holders(&self) -> u32 {
        match self {
            Self::One(_) => 1,
            Self::Many(list) => list.holders,
        }
    }

    /// Calls `visit` with each posting, in ascending order.
    pub fn for_each(&self, mut visit: impl FnMut(Posting)) {
        match self {
            Self::One(posting) => visit(*posting),
            Self::Many(list) => PostingReader::new(&list.bytes, 0, u32::MAX).for_each(visit),
        }
    }

    /// The list without the documents that are not kept; `None` when none is left.
    pub fn retained(&self, keep: impl Fn(u32) -> bool) -> Option<Self> {
        let mut kept: Option<Self> = None;
        self.for_each(|posting| {
            if keep(posting.document) {
                match &mut kept {
                    None => kept = Some(Self::One(posting)),
                    Some(list) => list.push(posting),
                }
            }
        });
        if let Some(Self::Many(list)) = &mut kept {
            list.bytes.shrink_to_fit();
        }
        kept
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Many(list) => size_of::<List>() + list.bytes.capacity(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(list: &GrowingList) -> Vec<(u32, u16)> {
        let mut seen = Vec::new();
        list.for_each(|posting| seen.push((posting.document, posting.frequency)));
        seen
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(documents in prop::collection::btree_map(0..u32::MAX, 1..u16::MAX, 1..50)) {
            let mut entries = documents.iter().map(|(document, frequency)| Posting { document: *document, frequency: *frequency });
            let mut list = GrowingList::One(entries.next().unwrap());
            for posting in entries {
                list.push(posting);
            }
            let mut seen = read(&list);
            prop_assert_eq!(list.holders() as usize, documents.len());
            prop_assert_eq!(&seen, &documents.into_iter().collect::<Vec<_>>());

            let even = list.retained(|document| document % 2 == 0);
            seen.retain(|(document, _)| document % 2 == 0);
            prop_assert_eq!(even.map(|even| read(&even)).unwrap_or_default(), seen);
        }

        #[test]
        fn any_bytes_end_and_ascend(bytes in prop::collection::vec(any::<u8>(), 0..200), end in any::<u32>()) {
            let documents: Vec<u32> = PostingReader::new(&bytes, 0, end).map(|posting| posting.document).collect();
            prop_assert!(documents.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(documents.iter().all(|document| *document < end));
        }
    }
}
