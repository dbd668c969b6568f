//! The parts of a segment as chunks for storage, and back.

use crate::error::{Error, Result};
use crate::hash::checksum;

/// Longest chunk.
pub const CHUNK_BYTES: usize = 1 << 20;

/// Each part cut into chunks; a chunk is of one part.
pub fn chunks(parts: &[Vec<u8>]) -> impl Iterator<Item = &[u8]> {
    parts.iter().flat_map(|part| part.chunks(CHUNK_BYTES))
}

/// The checksum of a chunk, as it is written in the segment's record.
#[must_use]
pub fn chunk_checksum(chunk: &[u8]) -> String {
    format!("{:016x}", checksum(chunk))
}

/// Parts that are put together again. No memory is taken for more than what has arrived, and each part is of its exact
/// size, since what a segment holds is kept.
#[derive(Debug)]
pub struct Assembly<'a> {
    checksums: &'a [String],
    lengths: &'a [u32],
    parts: Vec<Vec<u8>>,
    taken: usize,
}

impl<'a> Assembly<'a> {
    /// Of parts of these lengths, cut into chunks with these checksums.
    #[must_use]
    pub fn new(lengths: &'a [u32], checksums: &'a [String]) -> Self {
        Self { checksums, lengths, parts: Vec::with_capacity(lengths.len().min(checksums.len())), taken: 0 }
    }

    /// Takes the next chunk.
    ///
    /// # Errors
    /// `storage_corrupt` where it is not the one that was written.
    pub fn push(&mut self, chunk: Vec<u8>) -> Result<()> {
        let is_known = self.checksums.get(self.taken).is_some_and(|known| *known == chunk_checksum(&chunk));
        if !is_known {
            return Err(damaged());
        }
        self.taken += 1;
        let length_of = |part: usize| self.lengths.get(part).map_or(0, |length| *length as usize);
        if self.parts.last().is_none_or(|part| part.len() == length_of(self.parts.len() - 1)) {
            if chunk.len() == length_of(self.parts.len()) {
                self.parts.push(chunk);
                return Ok(());
            }
            // A length that was not written asks for no more than the chunks can fill.
            let most = self.checksums.len().saturating_mul(CHUNK_BYTES);
            self.parts.push(Vec::with_capacity(length_of(self.parts.len()).min(most)));
        }
        let length = length_of(self.parts.len() - 1);
        let Some(part) = self.parts.last_mut().filter(|part| part.len() + chunk.len() <= length) else {
            return Err(damaged());
        };
        part.extend_from_slice(&chunk);
        Ok(())
    }

    /// The parts, once every chunk was given.
    ///
    /// # Errors
    /// `storage_corrupt` where chunks are missing.
    pub fn finish(self) -> Result<Vec<Vec<u8>>> {
        let is_whole = self.taken == self.checksums.len()
            && self.parts.len() == self.lengths.len()
            && self.parts.iter().zip(self.lengths).all(|(part, length)| part.len() == *length as usize);
        if is_whole { Ok(self.parts) } else { Err(damaged()) }
    }
}

/// A segment is not what was written.
fn damaged() -> Error {
    Error::corrupt("a segment of the search index is damaged; it is made again from the messages")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sealed(parts: &[Vec<u8>]) -> (Vec<u32>, Vec<String>, Vec<Vec<u8>>) {
        let cut: Vec<Vec<u8>> = chunks(parts).map(<[u8]>::to_vec).collect();
        (parts.iter().map(|part| part.len() as u32).collect(), cut.iter().map(|one| chunk_checksum(one)).collect(), cut)
    }

    fn assembled(lengths: &[u32], checksums: &[String], chunks: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
        let mut assembly = Assembly::new(lengths, checksums);
        chunks.iter().try_for_each(|chunk| assembly.push(chunk.clone()))?;
        assembly.finish()
    }

    #[test]
    fn large_parts_come_back_and_no_chunk_is_larger_than_a_megabyte() {
        let parts = vec![vec![7; 3], vec![8; 2 * CHUNK_BYTES + 5], vec![9; CHUNK_BYTES]];
        let (lengths, checksums, cut) = sealed(&parts);
        assert_eq!(cut.iter().map(Vec::len).collect::<Vec<_>>(), [3, CHUNK_BYTES, CHUNK_BYTES, 5, CHUNK_BYTES]);
        assert_eq!(assembled(&lengths, &checksums, &cut), Ok(parts));
    }

    proptest! {
        #[test]
        fn whatever_is_wrong_is_refused(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 1..4),
            fault in 0..6_usize,
            at in any::<prop::sample::Index>(),
            byte in any::<prop::sample::Index>(),
            bit in 0..8_u32,
        ) {
            let (mut lengths, mut checksums, mut cut) = sealed(&parts);
            prop_assert_eq!(assembled(&lengths, &checksums, &cut), Ok(parts));
            let at = at.index(cut.len());
            match fault {
                0 => drop(cut.remove(at)),
                1 => { let length = cut[at].len(); cut[at][byte.index(length)] ^= 1 << bit; }
                2 => cut.push(vec![1]),
                3 => lengths[at] += 1,
                4 => { cut.remove(at); checksums.remove(at); }
                _ => drop(cut[at].pop()),
            }
            prop_assert!(assembled(&lengths, &checksums, &cut).is_err());
        }
    }
}
