//! Postings of one term: which documents hold it, and how often, in a few bytes each.

/// Documents and frequencies of one term, in ascending order of document. Most terms occur in one document only, so
/// that case takes no allocation.
#[derive(Clone, Debug)]
pub(super) enum Postings {
    /// The only document.
    One { document: u32, frequency: u16 },
    /// Two or more.
    Many(Box<List>),
}

/// Varints: the gap to the document before, doubled, with the low bit set where the frequency is 1; else the frequency
/// follows.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    last: u32,
    bytes: Vec<u8>,
}

impl List {
    fn push(&mut self, document: u32, frequency: u16) {
        let gap = u64::from(document - self.last) << 1;
        write_varint(&mut self.bytes, gap | u64::from(frequency == 1));
        if frequency != 1 {
            write_varint(&mut self.bytes, frequency.into());
        }
        self.last = document;
    }
}

fn write_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}

fn read_varint(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.next()?;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            break;
        }
    }
    Some(value)
}

impl Postings {
    /// Adds a document that comes after all that are there.
    pub(super) fn push(&mut self, document: u32, frequency: u16) {
        match self {
            Self::One { document: first, frequency: first_frequency } => {
                let mut list = List::default();
                list.push(*first, *first_frequency);
                list.push(document, frequency);
                *self = Self::Many(Box::new(list));
            }
            Self::Many(list) => list.push(document, frequency),
        }
    }

    /// Calls `visit` with each document and its frequency, in ascending order.
    pub(super) fn for_each(&self, mut visit: impl FnMut(u32, u16)) {
        match self {
            Self::One { document, frequency } => visit(*document, *frequency),
            Self::Many(list) => {
                let mut bytes = list.bytes.iter();
                let mut document = 0_u32;
                while let Some(head) = read_varint(&mut bytes) {
                    document = document.wrapping_add(u32::try_from(head >> 1).unwrap_or(0));
                    let frequency = if head & 1 == 1 { 1 } else { read_varint(&mut bytes).unwrap_or(1) };
                    visit(document, u16::try_from(frequency).unwrap_or(u16::MAX));
                }
            }
        }
    }

    /// The postings without the documents that are not kept; `None` when none is left.
    pub(super) fn retained(&self, keep: impl Fn(u32) -> bool) -> Option<Self> {
        let mut kept: Option<Self> = None;
        self.for_each(|document, frequency| {
            if keep(document) {
                match &mut kept {
                    None => kept = Some(Self::One { document, frequency }),
                    Some(postings) => postings.push(document, frequency),
                }
            }
        });
        if let Some(Self::Many(list)) = &mut kept {
            list.bytes.shrink_to_fit();
        }
        kept
    }

    /// Bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        match self {
            Self::One { .. } => 0,
            Self::Many(list) => size_of::<List>() + list.bytes.capacity(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_goes_in_comes_out(documents in prop::collection::btree_map(any::<u32>(), 1..u16::MAX, 1..50)) {
            let mut entries = documents.iter();
            let (document, frequency) = entries.next().unwrap();
            let mut postings = Postings::One { document: *document, frequency: *frequency };
            for (document, frequency) in entries {
                postings.push(*document, *frequency);
            }
            let mut seen = Vec::new();
            postings.for_each(|document, frequency| seen.push((document, frequency)));
            prop_assert_eq!(&seen, &documents.into_iter().collect::<Vec<_>>());

            let even = postings.retained(|document| document % 2 == 0);
            let mut kept = Vec::new();
            if let Some(even) = even {
                even.for_each(|document, frequency| kept.push((document, frequency)));
            }
            seen.retain(|(document, _)| document % 2 == 0);
            prop_assert_eq!(kept, seen);
        }
    }
}
