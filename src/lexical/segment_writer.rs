//! Writes the bytes of a segment: see [`super::segment`] for the layout.

use super::postings::{Posting, write_posting, write_varint};
use super::segment::{BLOCK, FORMAT, HEADER_BYTES};

/// A segment being written: its terms come in ascending order of hash.
pub(crate) struct SegmentWriter<'a> {
    lengths: &'a [u16],
    hashes: Vec<u64>,
    starts: Vec<u32>,
    lists: Vec<u8>,
    block: Vec<u8>,
}

impl<'a> SegmentWriter<'a> {
    pub fn new(lengths: &'a [u16]) -> Self {
        Self { lengths, hashes: Vec::new(), starts: Vec::new(), lists: Vec::new(), block: Vec::new() }
    }

    /// Adds a term with its postings in ascending order; nothing where there are none.
    pub fn add_term(&mut self, hash: u64, postings: &[Posting]) {
        if postings.is_empty() {
            return;
        }
        self.hashes.push(hash);
        self.starts.push(as_u32(self.lists.len()));
        write_varint(&mut self.lists, postings.len() as u64);
        self.block.clear();
        let has_directory = postings.len() > BLOCK;
        let mut next = 0;
        for block in postings.chunks(BLOCK) {
            for posting in block {
                write_posting(&mut self.block, next, *posting);
                next = posting.document.saturating_add(1);
            }
            if has_directory {
                let last = next.saturating_sub(1);
                self.lists.extend_from_slice(&last.to_le_bytes());
                self.lists.extend_from_slice(&as_u32(self.block.len()).to_le_bytes());
            }
        }
        self.lists.extend_from_slice(&self.block);
    }

    /// The bytes.
    pub fn finish(self) -> Vec<u8> {
        let size = HEADER_BYTES + 2 * self.lengths.len() + 12 * self.hashes.len() + self.lists.len();
        let mut bytes = Vec::with_capacity(size);
        bytes.extend_from_slice(&FORMAT);
        for count in [self.lengths.len(), self.hashes.len(), self.lists.len()] {
            bytes.extend_from_slice(&as_u32(count).to_le_bytes());
        }
        bytes.extend(self.lengths.iter().flat_map(|length| length.to_le_bytes()));
        bytes.extend(self.hashes.iter().flat_map(|hash| hash.to_le_bytes()));
        bytes.extend(self.starts.iter().flat_map(|start| start.to_le_bytes()));
        bytes.extend_from_slice(&self.lists);
        bytes
    }
}

/// Sizes in a segment; four gigabytes of postings do not fit a page.
fn as_u32(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}
