//! The tokens of an encoding: read from an asset of merge pairs, looked up by their bytes.
//!
//! # Asset
//!
//! Little endian: a header of 80 bytes, then the bytes of the 256 single-byte tokens in rank order, then for every
//! other token the two lower tokens that it is the merge of, as six planes (low, middle and high byte of all left
//! tokens, then of all right tokens). Planes compress better than any other layout measured.
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 4 | `TLBP` |
//! | 4 | 2 | layout version, 1 |
//! | 6 | 2 | zero |
//! | 8 | 4 | number of tokens |
//! | 12 | 8 | checksum of everything behind the header |
//! | 20 | 32 | SHA-256 of the rank file that it was made from |
//! | 52 | 28 | what it was made by, e.g. `tiktoken-rs 0.12.1`, filled up with zeros |

use super::Encoding;
use super::solid_characters::SolidCharacters;
use crate::error::{Code, Error, Result};

pub(super) const MAGIC: &[u8; 4] = b"TLBP";
pub(super) const LAYOUT_VERSION: u16 = 1;
pub(super) const HEADER_BYTES: usize = 80;
/// Single-byte tokens: always the first 256.
pub(super) const SINGLE_BYTES: usize = 256;

/// No token has these bytes.
pub(super) const NO_RANK: u32 = u32::MAX;

/// Bits of a slot that hold the rank; the rest is a tag of the hash, which spares most comparisons of bytes.
const RANK_BITS: u32 = 18;
const RANK_MASK: u32 = (1 << RANK_BITS) - 1;
const EMPTY_SLOT: u32 = u32::MAX;

/// Guards against a made-up asset whose tokens double in length: the longest real token has 128 bytes.
const MAX_TOKEN_BYTES: usize = 512;
const MAX_VOCABULARY_BYTES: usize = 16 << 20;

/// Tokens in rank order with a table from bytes to rank.
pub(super) struct Vocabulary {
    /// All tokens, one after the other.
    bytes: Vec<u8>,
    /// Where each token begins in `bytes`, and at last its length.
    starts: Vec<u32>,
    /// Open addressing, linear probing, at most half full: hash tag and rank.
    slots: Vec<u32>,
    /// Hash bits above the slot index.
    index_shift: u32,
    /// Ranks of all two-byte tokens, by first and second byte: where every merge begins.
    byte_pairs: Vec<u32>,
    /// Rank of each single byte.
    single_bytes: [u32; SINGLE_BYTES],
    longest_token_bytes: usize,
    solid_characters: SolidCharacters,
}

impl Vocabulary {
    /// Reads an asset, and says which encoding it is of.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`] where it is not an asset, was cut or changed, has another layout version, or was
    /// made from other ranks than those of the encodings known here.
    pub fn from_asset(asset: &[u8]) -> Result<(Encoding, Self)> {
        let (header, body) = asset.split_at_checked(HEADER_BYTES).ok_or_else(|| malformed("it is too short"))?;
        if &header[..4] != MAGIC {
            return Err(malformed("it does not begin with TLBP (still compressed, or another file?)"));
        }
        if u16::from_le_bytes([header[4], header[5]]) != LAYOUT_VERSION {
            return Err(malformed("its layout version is not known; take the file that came with this version"));
        }
        let encoding = Encoding::ALL
            .into_iter()
            .find(|encoding| header[20..52] == encoding.source_sha256())
            .ok_or_else(|| malformed("it was made from ranks that are not known"))?;
        let size = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
        if size != encoding.vocabulary_size() {
            return Err(malformed("its number of tokens is not that of its encoding"));
        }
        let mut checksum_bytes = [0; 8];
        checksum_bytes.copy_from_slice(&header[12..20]);
        if checksum(body) != u64::from_le_bytes(checksum_bytes) {
            return Err(malformed("its checksum is wrong: it was cut or changed on the way"));
        }
        Ok((encoding, Self::from_body(size as usize, body)?))
    }

    /// Reads the part behind the header.
    pub fn from_body(size: usize, body: &[u8]) -> Result<Self> {
        let merges = size.checked_sub(SINGLE_BYTES).ok_or_else(|| malformed("it has less than 256 tokens"))?;
        if size > RANK_MASK as usize || body.len() != SINGLE_BYTES + 6 * merges {
            return Err(malformed("its length does not fit its number of tokens"));
        }
        let (single, planes) = body.split_at(SINGLE_BYTES);
        let mut vocabulary = Self::empty(size);
        for &byte in single {
            vocabulary.push(&[byte])?;
        }
        let token = |plane: usize, merge: usize| {
            let byte = |plane: usize| u32::from(planes[plane * merges + merge]);
            (byte(plane) | byte(plane + 1) << 8 | byte(plane + 2) << 16) as usize
        };
        for merge in 0..merges {
            vocabulary.push_merge(token(0, merge), token(3, merge))?;
        }
        vocabulary.index()?;
        let tokens =
            vocabulary.starts.array_windows().map(|&[start, end]| &vocabulary.bytes[start as usize..end as usize]);
        vocabulary.solid_characters = SolidCharacters::find(tokens);
        Ok(vocabulary)
    }

    fn empty(size: usize) -> Self {
        let slots = (size * 2).next_power_of_two();
        let mut starts = Vec::with_capacity(size + 1);
        starts.push(0);
        Self {
            // The real vocabularies have 7 bytes a token.
            bytes: Vec::with_capacity(size * 15 / 2),
            starts,
            slots: vec![EMPTY_SLOT; slots],
            index_shift: u64::BITS - slots.trailing_zeros(),
            byte_pairs: vec![NO_RANK; 1 << 16],
            single_bytes: [NO_RANK; SINGLE_BYTES],
            longest_token_bytes: 1,
            solid_characters: SolidCharacters::none(),
        }
    }

    fn push(&mut self, token: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(token);
        self.close_token(token.len())
    }

    fn push_merge(&mut self, left: usize, right: usize) -> Result<()> {
        let rank = self.starts.len() - 1;
        if left >= rank || right >= rank {
            return Err(malformed("a token is the merge of a higher one"));
        }
        let (left, right) = (self.range(left), self.range(right));
        let length = left.len() + right.len();
        if length > MAX_TOKEN_BYTES || self.bytes.len() + length > MAX_VOCABULARY_BYTES {
            return Err(malformed("its tokens are too long"));
        }
        self.bytes.extend_from_within(left);
        self.bytes.extend_from_within(right);
        self.close_token(length)
    }

    fn close_token(&mut self, length: usize) -> Result<()> {
        self.longest_token_bytes = self.longest_token_bytes.max(length);
        let end = u32::try_from(self.bytes.len()).map_err(|_| malformed("its tokens are too long"))?;
        self.starts.push(end);
        Ok(())
    }

    /// Fills the tables from bytes to rank.
    fn index(&mut self) -> Result<()> {
        for rank in 0..self.starts.len() - 1 {
            let rank_value = rank as u32;
            let token = &self.bytes[self.range(rank)];
            match *token {
                [byte] => self.single_bytes[byte as usize] = rank_value,
                [first, second] => self.byte_pairs[byte_pair(first, second)] = rank_value,
                _ => {}
            }
            let hash = hash(token);
            let mut at = self.slot_index(hash);
            while let Some(&slot) = self.slots.get(at)
                && slot != EMPTY_SLOT
            {
                if slot & !RANK_MASK == tag(hash) && self.token(slot & RANK_MASK) == Some(token) {
                    return Err(malformed("two tokens have the same bytes"));
                }
                at = (at + 1) & (self.slots.len() - 1);
            }
            self.slots[at] = tag(hash) | rank_value;
        }
        if self.single_bytes.contains(&NO_RANK) {
            return Err(malformed("a single byte has no token"));
        }
        Ok(())
    }

    fn range(&self, rank: usize) -> std::ops::Range<usize> {
        self.starts[rank] as usize..self.starts[rank + 1] as usize
    }

    #[inline]
    fn slot_index(&self, hash: u64) -> usize {
        (hash >> self.index_shift) as usize
    }

    /// The rank of the token with exactly these bytes, or [`NO_RANK`].
    #[inline]
    pub fn rank(&self, piece: &[u8]) -> u32 {
        if piece.len() > self.longest_token_bytes {
            return NO_RANK;
        }
        self.rank_by_hash(piece, hash(piece))
    }

    /// As [`Self::rank`], where the hash of the bytes is already known.
    #[inline]
    pub fn rank_by_hash(&self, piece: &[u8], hash: u64) -> u32 {
        let tag = tag(hash);
        let mut at = self.slot_index(hash);
        while let Some(&slot) = self.slots.get(at)
            && slot != EMPTY_SLOT
        {
            if slot & !RANK_MASK == tag && self.token(slot & RANK_MASK) == Some(piece) {
                return slot & RANK_MASK;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        NO_RANK
    }

    /// The bytes of a token.
    #[inline]
    pub fn token(&self, rank: u32) -> Option<&[u8]> {
        let start = *self.starts.get(rank as usize)?;
        let end = *self.starts.get(rank as usize + 1)?;
        self.bytes.get(start as usize..end as usize)
    }

    /// The rank of the token of two bytes, or [`NO_RANK`].
    #[inline]
    pub fn byte_pair_rank(&self, first: u8, second: u8) -> u32 {
        self.byte_pairs.get(byte_pair(first, second)).copied().unwrap_or(NO_RANK)
    }

    /// Bytes of the part that merging may begin with at `at` of `piece`.
    #[inline]
    pub fn part_bytes(&self, piece: &[u8], at: usize) -> usize {
        self.solid_characters.part_bytes(piece, at)
    }

    /// The rank of a single byte.
    pub fn byte_rank(&self, byte: u8) -> u32 {
        self.single_bytes[byte as usize]
    }

    /// Bytes of the longest token.
    pub fn longest_token_bytes(&self) -> usize {
        self.longest_token_bytes
    }

    /// Bytes of memory that the tables hold.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + 4 * (self.starts.capacity() + self.slots.capacity() + self.byte_pairs.capacity())
    }
}

fn malformed(reason: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("the vocabulary file cannot be used: {reason}"))
}

#[inline]
fn byte_pair(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A hash of a few bytes. Equal hashes prove nothing: whoever uses it compares the bytes.
#[inline]
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let length = bytes.len() as u64;
    let word = if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
        let mut state = u64::from_le_bytes(*first).wrapping_mul(MULTIPLIER);
        let mut rest = &bytes[8..];
        while let Some((chunk, behind)) = rest.split_first_chunk::<8>() {
            state = (state.rotate_left(29) ^ u64::from_le_bytes(*chunk)).wrapping_mul(MULTIPLIER);
            rest = behind;
        }
        state.rotate_left(29) ^ u64::from_le_bytes(*last)
    } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
    } else {
        bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte))
    };
    let mixed = (word ^ length << 56).wrapping_mul(MULTIPLIER);
    (mixed ^ mixed >> 32).wrapping_mul(MULTIPLIER)
}

/// Hash bits that the slot index (at most 19 bits from the top) does not use, where the slot keeps its tag.
#[inline]
fn tag(hash: u64) -> u32 {
    (hash >> 13) as u32 & !RANK_MASK
}

/// A checksum against accidents on the way, not against malice.
pub(super) fn checksum(body: &[u8]) -> u64 {
    let (chunks, rest) = body.as_chunks::<8>();
    let mut state = body.len() as u64;
    for chunk in chunks {
        state = (state.rotate_left(29) ^ u64::from_le_bytes(*chunk)).wrapping_mul(MULTIPLIER);
    }
    for &byte in rest {
        state = (state.rotate_left(29) ^ u64::from(byte)).wrapping_mul(MULTIPLIER);
    }
    state ^ state >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Past the checksum, too: what is no vocabulary is refused or read, and looking up never panics.
        #[test]
        fn no_body_makes_it_panic(size in 200_usize..600, mut body in prop::collection::vec(any::<u8>(), 2_400), low in any::<bool>()) {
            if low {
                // Single bytes in order and small left and right tokens: these get further.
                body.iter_mut().zip(0_u8..=255).for_each(|(byte, value)| *byte = value);
                let merges = size.saturating_sub(256);
                for plane in [1, 2, 4, 5] {
                    body.iter_mut().skip(256 + plane * merges).take(merges).for_each(|byte| *byte = 0);
                }
            }
            body.truncate(256 + 6 * size.saturating_sub(256));
            if let Ok(vocabulary) = Vocabulary::from_body(size, &body) {
                for rank in 0..size as u32 {
                    let token = vocabulary.token(rank).unwrap();
                    prop_assert_eq!(vocabulary.rank(token), rank);
                }
            }
        }
    }

    #[test]
    fn tokens_that_double_for_ever_are_refused() {
        let mut body: Vec<u8> = (0..=255).collect();
        let merges = 200_u32;
        for plane in 0..6 {
            body.extend((0..merges).map(|merge| ((255 + merge) >> (8 * (plane % 3))) as u8));
        }
        assert_eq!(Vocabulary::from_body(456, &body).err().map(|error| error.code), Some(Code::InvalidArgument));
    }
}
