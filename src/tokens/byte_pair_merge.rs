//! Merges the bytes of one piece: always the adjacent pair of the lowest rank first, the leftmost of equal ones.
//!
//! A pair is ranked by looking its bytes up, which is `tiktoken`'s rule.
//!
//! # Long pieces
//!
//! A piece of a megabyte is merged in overlapping windows, so that memory and time per byte stay constant. It is exact
//! for this reason: tokens next to each other in the merge of some text never merged across their border there, so
//! each run of them is the merge of its own bytes; and two runs may be joined exactly where the last token of the one
//! and the first of the other merge to themselves, because up to the first merge across the border both sides do what
//! they do alone. So the next window may begin at a token border of the last one as soon as its merge begins with the
//! same token that followed there. Where it does not (the end of the window was too near), the piece is merged anew
//! with larger windows, in the end with one.

use super::vocabulary::{NO_RANK, Vocabulary};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Up to this length a scan for the lowest rank beats a heap.
const MAX_SCAN_BYTES: usize = 256;
/// Its last quarter is twice as long as the longest token.
const WINDOW_BYTES: usize = 1024;
const WINDOW_GROWTH: usize = 8;

/// Vectors that are kept between calls.
#[derive(Default)]
pub(super) struct MergeScratch {
    /// Where each token begins, and at last the length: the result of a merge.
    borders: Vec<u32>,
    /// Rank of the pair that begins at the part of the same index.
    pair_ranks: Vec<u32>,
    links: Vec<Part>,
    heap: BinaryHeap<Reverse<u64>>,
}

/// Before the first part.
const NO_PART: u32 = u32::MAX;

/// A part in the list of the heap merge, at the index of its first byte.
#[derive(Clone, Copy)]
struct Part {
    previous: u32,
    /// Where the part ends, which is where the next one begins.
    end: u32,
    /// Rank of the pair of this part and the next.
    pair_rank: u32,
}

impl MergeScratch {
    /// Number of tokens of `piece`.
    pub fn count(&mut self, vocabulary: &Vocabulary, piece: &[u8]) -> u32 {
        if piece.len() <= WINDOW_BYTES {
            self.merge(vocabulary, piece);
            return (self.borders.len() - 1) as u32;
        }
        let mut window_bytes = WINDOW_BYTES;
        loop {
            let mut count = 0;
            if self.merge_in_windows(vocabulary, piece, window_bytes, &mut |_| count += 1) {
                return count;
            }
            window_bytes = window_bytes.saturating_mul(WINDOW_GROWTH);
        }
    }

    /// The end of every token of `piece`, in order.
    pub fn ends(&mut self, vocabulary: &Vocabulary, piece: &[u8]) -> Vec<u32> {
        self.ends_by_windows(vocabulary, piece, WINDOW_BYTES)
    }

    fn ends_by_windows(&mut self, vocabulary: &Vocabulary, piece: &[u8], mut window_bytes: usize) -> Vec<u32> {
        let mut ends = Vec::new();
        while !self.merge_in_windows(vocabulary, piece, window_bytes, &mut |end| ends.push(end)) {
            ends.clear();
            window_bytes = window_bytes.saturating_mul(WINDOW_GROWTH);
        }
        ends
    }

    /// Calls `emit` with the end of every token. Answers false where two windows disagree: then what was emitted is
    /// not to be used.
    fn merge_in_windows(
        &mut self,
        vocabulary: &Vocabulary,
        piece: &[u8],
        window_bytes: usize,
        emit: &mut dyn FnMut(u32),
    ) -> bool {
        let window = |start: usize| &piece[start..piece.len().min(start.saturating_add(window_bytes))];
        let mut start = 0_usize;
        self.merge(vocabulary, window(0));
        while start.saturating_add(window_bytes) < piece.len() {
            // The last border of the first three quarters: the rest is what it takes to see over the window's end.
            let count = self.borders.partition_point(|&border| border as usize <= window_bytes * 3 / 4);
            let (Some(&[.., cut]), Some(&following)) = (self.borders.get(1..count), self.borders.get(count)) else {
                return false;
            };
            self.borders[1..count].iter().for_each(|&border| emit(start as u32 + border));
            start += cut as usize;
            self.merge(vocabulary, window(start));
            if self.borders.get(1) != Some(&(following - cut)) {
                return false;
            }
        }
        self.borders.iter().skip(1).for_each(|&border| emit(start as u32 + border));
        true
    }

    /// Merges a window whole; the result is in `borders`.
    fn merge(&mut self, vocabulary: &Vocabulary, piece: &[u8]) {
        if piece.len() <= MAX_SCAN_BYTES {
            self.merge_by_scan(vocabulary, piece);
        } else {
            self.merge_by_heap(vocabulary, piece);
        }
    }

    /// Fills `borders` and `pair_ranks` with the parts that merging begins with: characters where they may be taken
    /// as merged, else bytes.
    fn begin(&mut self, vocabulary: &Vocabulary, piece: &[u8]) {
        let Self { borders, pair_ranks, .. } = self;
        borders.clear();
        borders.push(0);
        let mut at = 0;
        while at < piece.len() {
            at += vocabulary.part_bytes(piece, at);
            borders.push(at as u32);
        }
        pair_ranks.clear();
        pair_ranks.extend(borders.array_windows().map(|&[start, _, end]| match piece[start as usize..end as usize] {
            [first, second] => vocabulary.byte_pair_rank(first, second),
            ref pair => vocabulary.rank(pair),
        }));
    }

    fn merge_by_scan(&mut self, vocabulary: &Vocabulary, piece: &[u8]) {
        self.begin(vocabulary, piece);
        let Self { borders, pair_ranks, .. } = self;
        loop {
            // Rank above, index below: the smallest is the lowest rank, leftmost first.
            let lowest = pair_ranks
                .iter()
                .enumerate()
                .map(|(at, &rank)| u64::from(rank) << 32 | at as u64)
                .min()
                .unwrap_or(u64::MAX);
            if lowest >> 32 == u64::from(NO_RANK) {
                return;
            }
            let at = lowest as u32 as usize;
            borders.remove(at + 1);
            pair_ranks.remove(at);
            let mut rank_again = |at: usize| {
                if let (Some(pair_rank), Some(&[start, _, end])) =
                    (pair_ranks.get_mut(at), borders.get(at..).and_then(<[u32]>::first_chunk))
                {
                    *pair_rank = vocabulary.rank(&piece[start as usize..end as usize]);
                }
            };
            rank_again(at);
            if at > 0 {
                rank_again(at - 1);
            }
        }
    }

    fn merge_by_heap(&mut self, vocabulary: &Vocabulary, piece: &[u8]) {
        self.begin(vocabulary, piece);
        let Self { borders, pair_ranks, links, heap } = self;
        heap.clear();
        links.clear();
        links.resize(piece.len(), Part { previous: NO_PART, end: 0, pair_rank: NO_RANK });
        let mut previous = NO_PART;
        for (at, part) in borders.array_windows().enumerate() {
            let &[start, end] = part;
            let pair_rank = pair_ranks.get(at).copied().unwrap_or(NO_RANK);
            links[start as usize] = Part { previous, end, pair_rank };
            if pair_rank != NO_RANK {
                heap.push(Reverse(u64::from(pair_rank) << 32 | u64::from(start)));
            }
            previous = start;
        }
        while let Some(Reverse(lowest)) = heap.pop() {
            let start = lowest as u32 as usize;
            if links[start].pair_rank != (lowest >> 32) as u32 {
                continue;
            }
            let middle = links[start].end as usize;
            let end = links[middle].end as usize;
            links[middle].pair_rank = NO_RANK;
            links[start].end = end as u32;
            if let Some(next) = links.get_mut(end) {
                next.previous = start as u32;
            }
            rank_pair(vocabulary, piece, links, heap, start);
            let previous = links[start].previous;
            if previous != NO_PART {
                rank_pair(vocabulary, piece, links, heap, previous as usize);
            }
        }
        borders.clear();
        borders.push(0);
        while let Some(part) = borders.last().and_then(|&at| links.get(at as usize)) {
            borders.push(part.end);
        }
    }
}

/// Ranks the pair of the part at `start` and the one behind it anew.
fn rank_pair(
    vocabulary: &Vocabulary,
    piece: &[u8],
    links: &mut [Part],
    heap: &mut BinaryHeap<Reverse<u64>>,
    start: usize,
) {
    let rank =
        links.get(links[start].end as usize).map_or(NO_RANK, |next| vocabulary.rank(&piece[start..next.end as usize]));
    links[start].pair_rank = rank;
    if rank != NO_RANK {
        heap.push(Reverse(u64::from(rank) << 32 | start as u64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The bytes of a space, `é`, `ä`, `中`, `丩` and two of Devanagari: few, so that characters share theirs.
    const ALPHABET: [u8; 8] = [0xc3, 0xa9, 0xe0, 0xa4, b' ', 0xe4, 0xb8, 0xad];

    /// Single bytes 0 to 255, then the given merges: a vocabulary in which merges depend on each other over long
    /// distances, as real ones do not.
    fn vocabulary(pairs: &[(u32, u32)]) -> Vocabulary {
        let mut body: Vec<u8> = (0..=255).collect();
        for side in [|pair: &(u32, u32)| pair.0, |pair: &(u32, u32)| pair.1] {
            for byte in 0..3 {
                body.extend(pairs.iter().map(|pair| (side(pair) >> (8 * byte)) as u8));
            }
        }
        Vocabulary::from_body(256 + pairs.len(), &body).unwrap()
    }

    /// The rule as it is written down: merge the lowest pair, leftmost first, until there is none.
    fn merged_by_the_book(vocabulary: &Vocabulary, piece: &[u8]) -> Vec<usize> {
        let mut borders: Vec<usize> = (0..=piece.len()).collect();
        loop {
            let ranks = borders.windows(3).map(|part| vocabulary.rank(&piece[part[0]..part[2]]));
            match ranks.zip(1..).min() {
                Some((rank, at)) if rank != NO_RANK => borders.remove(at),
                _ => return borders.split_off(1),
            };
        }
    }

    prop_compose! {
        /// Merges of the first bytes of the alphabet and of what came out of earlier ones; no two with the same bytes.
        fn merges()(picks in prop::collection::vec(any::<(prop::sample::Index, prop::sample::Index)>(), 1..40), letters in 2_usize..=8) -> Vec<(u32, u32)> {
            let mut known: Vec<(u32, Vec<u8>)> =
                ALPHABET.iter().rev().take(letters).map(|&byte| (u32::from(byte), vec![byte])).collect();
            let mut pairs = Vec::new();
            for (left, right) in picks {
                let (left, right) = (left.get(&known), right.get(&known));
                let bytes = [left.1.as_slice(), &right.1].concat();
                if bytes.len() <= 100 && known.iter().all(|token| token.1 != bytes) {
                    pairs.push((left.0, right.0));
                    known.push((255 + pairs.len() as u32, bytes));
                }
            }
            pairs
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn scan_heap_and_windows_of_any_size_merge_by_the_book(
            pairs in merges(),
            characters in prop::collection::vec(prop::sample::select(&[" ", "é", "ä", "中", "丩", "\u{93d}", "\u{929}"][..]), 1..150),
            cut in (0_usize..3, 0_usize..3),
            window_bytes in 1_usize..64,
        ) {
            let vocabulary = vocabulary(&pairs);
            // Windows are cut through characters.
            let text = characters.concat().into_bytes();
            for piece in [&text[..], &text[cut.0.min(text.len() - 1)..], &text[..text.len() - cut.1.min(text.len() - 1)]] {
                let expected = merged_by_the_book(&vocabulary, piece);
                let mut scratch = MergeScratch::default();
                scratch.merge_by_scan(&vocabulary, piece);
                prop_assert!(scratch.borders.iter().skip(1).map(|&border| border as usize).eq(expected.iter().copied()));
                scratch.merge_by_heap(&vocabulary, piece);
                prop_assert!(scratch.borders.iter().skip(1).map(|&border| border as usize).eq(expected.iter().copied()));
                let ends = scratch.ends_by_windows(&vocabulary, piece, window_bytes);
                prop_assert!(ends.iter().map(|&end| end as usize).eq(expected));
            }
        }
    }
}
