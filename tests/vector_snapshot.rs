//! Snapshots: the same answers after, and nothing but an error from what is damaged.
#![allow(clippy::unwrap_used)] // test code outside of test functions

#[path = "vector_index/suite.rs"]
#[allow(dead_code)] // each test program uses its share of the suite
mod suite;

use proptest::prelude::*;
use std::collections::BTreeSet;
use suite::{Random, clustered};
use throughline::config::VectorIndexChoice;
use throughline::vector::{Restoration, TieredIndex, Tiers, VectorIndex};
use throughline::{Code, Result};

const DIMENSIONS: usize = 40;

fn restored(chunks: &[Vec<u8>], choice: VectorIndexChoice) -> Result<TieredIndex> {
    let mut restoration = Restoration::new(DIMENSIONS, Tiers::of(choice));
    chunks.iter().try_for_each(|chunk| restoration.push(chunk))?;
    restoration.finish()
}

fn filled(choice: VectorIndexChoice, count: usize) -> TieredIndex {
    let mut index = TieredIndex::new(DIMENSIONS, choice);
    for (id, vector) in clustered(&mut Random(4), count, DIMENSIONS, 50).iter().enumerate() {
        // Every tenth is a twin, every hundredth has no direction.
        let vector = if id % 10 == 0 { vec![1.0; DIMENSIONS] } else { vector.clone() };
        let vector = if id % 100 == 1 { vec![0.0; DIMENSIONS] } else { vector };
        index.insert(id as u32 * 3, &vector).unwrap();
    }
    index
}

fn assert_same(a: &TieredIndex, b: &TieredIndex) {
    assert_eq!((a.len(), a.linked_rows()), (b.len(), b.linked_rows()));
    for query in clustered(&mut Random(5), 1_000, DIMENSIONS, 50) {
        assert_eq!(a.search(&query, 10, None).unwrap(), b.search(&query, 10, None).unwrap());
    }
}

#[test]
fn a_thousand_queries_give_the_same_ids_and_scores_after_restoring() {
    for choice in [VectorIndexChoice::Exact, VectorIndexChoice::Hnsw, VectorIndexChoice::Auto] {
        let mut index = filled(choice, 9_000);
        index.grow(6_000);
        let chunks: Vec<Vec<u8>> = index.snapshot().collect();
        assert!(chunks.len() >= 2 && chunks.iter().all(|chunk| chunk.len() < 530_000));
        let mut back = restored(&chunks, choice).unwrap();
        assert_same(&index, &back);
        // Both go on in the same way.
        index.grow(usize::MAX);
        back.grow(usize::MAX);
        index.remove(30);
        back.remove(30);
        assert_same(&index, &back);
    }
}

#[test]
fn codes_are_the_same_after_restoring() {
    let tiers = Tiers { exact_max_rows: 10, ..Tiers::of(VectorIndexChoice::Auto) };
    let mut index = TieredIndex::with_tiers(DIMENSIONS, tiers);
    for (id, vector) in clustered(&mut Random(6), 5_000, DIMENSIONS, 50).iter().enumerate() {
        index.insert(id as u32, vector).unwrap();
    }
    let mut restoration = Restoration::new(DIMENSIONS, tiers);
    index.snapshot().for_each(|chunk| restoration.push(&chunk).unwrap());
    assert_same(&index, &restoration.finish().unwrap());
}

#[test]
fn removed_rows_are_never_written() {
    let mut index = filled(VectorIndexChoice::Hnsw, 2_000);
    index.grow(usize::MAX);
    let chunks: Vec<Vec<u8>> = index.snapshot().collect();
    assert_eq!(restored(&chunks, VectorIndexChoice::Hnsw).unwrap().linked_rows(), index.linked_rows());
    for id in 0..300 {
        index.remove(id * 3);
    }
    let fewer: Vec<Vec<u8>> = index.snapshot().collect();
    let mut back = restored(&fewer, VectorIndexChoice::Hnsw).unwrap();
    assert_eq!((back.len(), back.linked_rows()), (1_700, 0));
    while back.grow(500) {}
    let query = vec![1.0; DIMENSIONS];
    let ids = |index: &TieredIndex| -> BTreeSet<u32> {
        index.search(&query, usize::MAX, None).unwrap().iter().map(|row| row.id).collect()
    };
    assert_eq!(ids(&back), ids(&index));
}

#[test]
fn an_empty_index_comes_back() {
    let index = TieredIndex::new(DIMENSIONS, VectorIndexChoice::Auto);
    let chunks: Vec<Vec<u8>> = index.snapshot().collect();
    assert_eq!((chunks.len(), restored(&chunks, VectorIndexChoice::Auto).unwrap().len()), (1, 0));
}

#[test]
fn missing_doubled_or_foreign_chunks_are_refused() {
    let index = filled(VectorIndexChoice::Exact, 20_000);
    let chunks: Vec<Vec<u8>> = index.snapshot().collect();
    assert!(chunks.len() >= 3);
    let refused =
        |chunks: &[Vec<u8>]| restored(chunks, VectorIndexChoice::Exact).is_err_and(|e| e.code == Code::StorageCorrupt);
    assert!(!refused(&chunks));
    assert!(refused(&[]));
    assert!(refused(&chunks[1..]));
    assert!(refused(&chunks[..2]));
    assert!(refused(&[chunks.clone(), chunks[1..].to_vec()].concat()));
    assert!(refused(&[chunks[..1].to_vec(), chunks.clone()].concat()));
    let mut other = Restoration::new(DIMENSIONS + 1, Tiers::of(VectorIndexChoice::Auto));
    assert_eq!(other.push(&chunks[0]).unwrap_err().code, Code::StorageCorrupt);
}

/// The checksum of the layout, so that damage can be dressed up as valid.
fn resealed(mut chunk: Vec<u8>) -> Vec<u8> {
    chunk.truncate(chunk.len() - 8);
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    let (words, rest) = chunk.as_chunks::<8>();
    let sum = words.iter().fold(0xcbf2_9ce4_8422_2325, |sum, word| mix(sum, u64::from_le_bytes(*word)));
    let sum = rest.iter().fold(sum, |sum, byte| mix(sum, u64::from(*byte)));
    chunk.extend(sum.to_le_bytes());
    chunk
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn one_flipped_bit_is_noticed(at in any::<prop::sample::Index>(), bit in 0u32..8, which in 0usize..2) {
        let mut index = filled(VectorIndexChoice::Hnsw, 300);
        index.grow(usize::MAX);
        let mut chunks: Vec<Vec<u8>> = index.snapshot().collect();
        let chunk = &mut chunks[which];
        let position = at.index(chunk.len());
        chunk[position] ^= 1 << bit;
        prop_assert!(restored(&chunks, VectorIndexChoice::Hnsw).is_err_and(|e| e.code == Code::StorageCorrupt));
    }

    /// Bytes changed and the checksum made to fit: refused, or an index that answers and never panics or hangs.
    #[test]
    fn forged_chunks_never_harm(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), which in 0usize..2) {
        let mut index = filled(VectorIndexChoice::Hnsw, 300);
        index.grow(usize::MAX);
        let mut chunks: Vec<Vec<u8>> = index.snapshot().collect();
        let mut forged = chunks[which].clone();
        let content = forged.len() - 8;
        for (at, byte) in &changes {
            forged[at.index(content)] = *byte;
        }
        chunks[which] = resealed(forged);
        if let Ok(mut back) = restored(&chunks, VectorIndexChoice::Hnsw) {
            let found = back.search(&[1.0; DIMENSIONS], 20, None).unwrap();
            prop_assert!(found.len() <= 20 && found.iter().all(|row| (-1.0..=1.0).contains(&row.similarity)));
            back.insert(7, &[0.5; DIMENSIONS]).unwrap();
            back.grow(10);
            back.search(&[1.0; DIMENSIONS], 500, None).unwrap();
        }
    }
}
