//! What every `VectorIndex` must do, and the oracle it is held to: brute force over f32.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use throughline::Code;
use throughline::vector::{Neighbour, VectorIndex};

/// A small generator of test numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut hash = self.0;
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((hash ^ (hash >> 31)) >> 16) as u32 % end
    }

    /// About normal, mean 0, deviation 1.
    pub fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.below(1 << 20) as f32 / (1 << 20) as f32).sum::<f32>() - 6.0
    }
}

/// Vectors around `clusters` centres that share an offset, as embeddings do. The centres depend on the shape only, so
/// that queries and rows come from the same ones.
pub fn clustered(random: &mut Random, count: usize, dimensions: usize, clusters: usize) -> Vec<Vec<f32>> {
    let mut fixed = Random(99);
    let centres: Vec<Vec<f32>> =
        (0..clusters).map(|_| (0..dimensions).map(|_| 0.3 + fixed.normal()).collect()).collect();
    let row = |_| {
        let centre = &centres[random.below(clusters as u32) as usize];
        centre.iter().map(|value| value + 0.7 * random.normal()).collect()
    };
    (0..count).map(row).collect()
}

pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    (dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()).clamp(-1.0, 1.0) as f32
}

pub fn brute_force(vectors: &[Vec<f32>], query: &[f32], k: usize) -> Vec<Neighbour> {
    let score = |(id, vector): (usize, &Vec<f32>)| Neighbour { id: id as u32, similarity: cosine(query, vector) };
    let mut all: Vec<Neighbour> = vectors.iter().enumerate().map(score).collect();
    all.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then(a.id.cmp(&b.id)));
    all.truncate(k);
    all
}

/// Mean share of the true nearest that the index finds.
pub fn recall(index: &dyn VectorIndex, vectors: &[Vec<f32>], queries: &[Vec<f32>], k: usize) -> f64 {
    let share = |query: &Vec<f32>| {
        let expected: BTreeSet<u32> = brute_force(vectors, query, k).iter().map(|row| row.id).collect();
        let found = index.search(query, k, None).unwrap();
        found.iter().filter(|row| expected.contains(&row.id)).count() as f64 / expected.len() as f64
    };
    queries.iter().map(share).sum::<f64>() / queries.len() as f64
}

fn fill(index: &mut impl VectorIndex, vectors: &[Vec<f32>]) {
    for (id, vector) in vectors.iter().enumerate() {
        index.insert(id as u32, vector).unwrap();
    }
    while index.grow(1_000) {}
}

pub fn empty_and_odd_arguments(mut index: impl VectorIndex) {
    let dimensions = index.dimensions();
    let vector = vec![1.0; dimensions];
    assert_eq!((index.len(), index.is_empty()), (0, true));
    assert_eq!(index.search(&vector, 10, None).unwrap(), []);
    assert_eq!(index.similarities(&vector, &[0, 7]).unwrap(), [None, None]);
    assert!(!index.remove(3));
    assert!(!index.grow(10));
    for id in 0..5 {
        let mut row = vector.clone();
        row[id as usize] += id as f32;
        index.insert(id, &row).unwrap();
    }
    assert_eq!(index.search(&vector, 0, None).unwrap(), []);
    assert_eq!(index.search(&vector, usize::MAX, None).unwrap().len(), 5);
    assert_eq!(index.search(&vector, 1_000_000_000, Some(&|id| id > 2)).unwrap().len(), 2);
    assert_eq!(index.search(&vector, 3, Some(&|_| false)).unwrap(), []);
}

pub fn unusable_vectors_leave_it_untouched(mut index: impl VectorIndex) {
    let dimensions = index.dimensions();
    let vector = vec![1.0; dimensions];
    index.insert(1, &vector).unwrap();
    let too_long = vec![1.0; dimensions + 1];
    for (unusable, code) in [
        (too_long, Code::EmbeddingDimensionMismatch),
        (Vec::new(), Code::EmbeddingDimensionMismatch),
        (vec![f32::NAN; dimensions], Code::EmbeddingFailed),
        (vec![f32::INFINITY; dimensions], Code::EmbeddingFailed),
        (vec![f32::NEG_INFINITY; dimensions], Code::EmbeddingFailed),
    ] {
        assert_eq!(index.insert(1, &unusable).unwrap_err().code, code);
        assert_eq!(index.insert(2, &unusable).unwrap_err().code, code);
        assert_eq!(index.search(&unusable, 1, None).unwrap_err().code, code);
        assert_eq!(index.similarities(&unusable, &[1]).unwrap_err().code, code);
        assert_eq!(index.len(), 1);
        assert_eq!(index.search(&vector, 5, None).unwrap().len(), 1);
    }
}

pub fn zero_vectors_are_counted_and_never_found(mut index: impl VectorIndex) {
    let dimensions = index.dimensions();
    let (zero, vector) = (vec![0.0; dimensions], vec![1.0; dimensions]);
    index.insert(1, &zero).unwrap();
    index.insert(2, &vector).unwrap();
    index.insert(3, &vector).unwrap();
    index.insert(3, &zero).unwrap();
    assert_eq!(index.len(), 3);
    let ids: Vec<u32> = index.search(&vector, 9, None).unwrap().iter().map(|row| row.id).collect();
    assert_eq!(ids, [2]);
    assert_eq!(index.search(&zero, 9, None).unwrap(), []);
    let similarities = index.similarities(&vector, &[1, 2, 3, 4]).unwrap();
    assert_eq!(similarities.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, false, false]);
    index.insert(1, &vector).unwrap();
    assert_eq!(index.search(&vector, 9, None).unwrap().len(), 2);
    assert!(index.remove(3) && !index.remove(3));
    assert_eq!(index.len(), 2);
}

pub fn nearly_equal_vectors_stay_within_one(mut index: impl VectorIndex) {
    let dimensions = index.dimensions();
    for id in 0..200u32 {
        let mut vector = vec![1.0 / (dimensions as f32).sqrt(); dimensions];
        vector[id as usize % dimensions] *= 1.0 + 1e-7 * id as f32;
        index.insert(id, &vector).unwrap();
    }
    while index.grow(50) {}
    for factor in [1.000_000_1f32, -1.0] {
        let query: Vec<f32> = vec![factor / (dimensions as f32).sqrt(); dimensions];
        let found = index.search(&query, 200, None).unwrap();
        assert_eq!(found.iter().map(|row| row.id).collect::<BTreeSet<_>>().len(), 200);
        assert!(found.iter().all(|row| (-1.0..=1.0).contains(&row.similarity)));
        assert!(found.iter().all(|row| (row.similarity.abs() - 1.0).abs() < 1e-4));
    }
}

pub fn ten_thousand_identical_vectors(mut index: impl VectorIndex) {
    let vector: Vec<f32> = (0..index.dimensions()).map(|d| 1.0 + d as f32).collect();
    for id in 0..10_000 {
        index.insert(id, &vector).unwrap();
    }
    while index.grow(1_000) {}
    for k in [10, 500] {
        let ids: BTreeSet<u32> = index.search(&vector, k, None).unwrap().iter().map(|row| row.id).collect();
        assert_eq!(ids.len(), k);
    }
    let odd = index.search(&vector, 20, Some(&|id| id % 2 == 1)).unwrap();
    assert_eq!(odd.iter().map(|row| row.id).collect::<Vec<_>>(), (0..20).map(|n| 2 * n + 1).collect::<Vec<_>>());
}

pub fn recall_is_within_quantisation(mut index: impl VectorIndex) {
    let mut random = Random(1);
    let vectors = clustered(&mut random, 2_000, index.dimensions(), 40);
    let queries = clustered(&mut random, 60, index.dimensions(), 40);
    fill(&mut index, &vectors);
    let found = recall(&index, &vectors, &queries, 10);
    assert!(found >= 0.98, "recall {found}");
    for query in &queries {
        let ids: Vec<u32> = (0..2_000).collect();
        for (id, similarity) in index.similarities(query, &ids).unwrap().into_iter().enumerate() {
            assert!((similarity.unwrap() - cosine(query, &vectors[id])).abs() < 0.01);
        }
        let found = index.search(query, 30, None).unwrap();
        assert!(found.windows(2).all(|pair| {
            let nearer = pair[0].similarity > pair[1].similarity;
            nearer || (pair[0].similarity == pair[1].similarity && pair[0].id < pair[1].id)
        }));
        let listed: Vec<u32> = found.iter().map(|row| row.id).collect();
        let again = index.similarities(query, &listed).unwrap();
        assert!(found.iter().zip(again).all(|(row, other)| other == Some(row.similarity)));
    }
}

pub fn rebuilding_from_the_same_vectors_gives_the_same_answers(
    mut first: impl VectorIndex,
    mut second: impl VectorIndex,
) {
    let mut random = Random(2);
    let vectors = clustered(&mut random, 1_500, first.dimensions(), 30);
    fill(&mut first, &vectors);
    fill(&mut second, &vectors);
    for query in clustered(&mut random, 1_000, first.dimensions(), 30) {
        let (a, b) = (first.search(&query, 10, None).unwrap(), second.search(&query, 10, None).unwrap());
        assert_eq!(a.len(), 10);
        for (a, b) in a.iter().zip(&b) {
            assert!(a.id == b.id && (a.similarity - b.similarity).abs() <= 1e-6);
        }
    }
}

/// What a program does to an index.
#[derive(Clone, Debug)]
pub enum Step {
    Insert(u32, u64),
    Remove(u32),
    Grow(usize),
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (0u32..60, 0u64..40).prop_map(|(id, seed)| Step::Insert(id, seed)),
        3 => (0u32..60).prop_map(Step::Remove),
        1 => (0usize..40).prop_map(Step::Grow),
    ];
    prop::collection::vec(step, 1..160)
}

/// After any sequence of steps the index holds what a map would, finds all of it and nothing else, and filters exactly.
pub fn behaves_as_a_map(mut index: impl VectorIndex, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let dimensions = index.dimensions();
    let vector = |seed: u64| -> Vec<f32> {
        let mut random = Random(seed);
        (0..dimensions).map(|_| if seed == 0 { 0.0 } else { random.normal() }).collect()
    };
    let mut model = BTreeMap::new();
    for step in steps {
        match step {
            Step::Insert(id, seed) => {
                index.insert(id, &vector(seed)).unwrap();
                model.insert(id, seed);
            }
            Step::Remove(id) => prop_assert_eq!(index.remove(id), model.remove(&id).is_some()),
            Step::Grow(budget) => {
                index.grow(budget);
            }
        }
        prop_assert_eq!(index.len(), model.len());
    }
    let query = vector(1_000);
    for filter in [None, Some(2u32), Some(3)] {
        let is_allowed = |id: u32| filter.is_none_or(|divisor| id.is_multiple_of(divisor));
        let allowed: &dyn Fn(u32) -> bool = &is_allowed;
        let found = index.search(&query, usize::MAX, filter.map(|_| allowed)).unwrap();
        let ids: BTreeSet<u32> = found.iter().map(|row| row.id).collect();
        let visible = model.iter().filter(|(id, seed)| **seed != 0 && is_allowed(**id));
        prop_assert_eq!(ids, visible.map(|(id, _)| *id).collect::<BTreeSet<_>>());
        for row in &found {
            prop_assert!((row.similarity - cosine(&query, &vector(model[&row.id]))).abs() < 0.02);
        }
        let few = index.search(&query, 5, filter.map(|_| allowed)).unwrap();
        prop_assert_eq!(few.len(), found.len().min(5));
        prop_assert!(few.iter().all(|row| is_allowed(row.id) && model.contains_key(&row.id)));
    }
    Ok(())
}

/// Runs the whole suite on `$new(dimensions)`, as the module `$name`.
#[macro_export]
macro_rules! vector_index_suite {
    ($name:ident, $new:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            use proptest::prelude::*;

            #[test]
            fn empty_and_odd_arguments() {
                suite::empty_and_odd_arguments(($new)(24));
            }
            #[test]
            fn unusable_vectors_leave_it_untouched() {
                suite::unusable_vectors_leave_it_untouched(($new)(24));
            }
            #[test]
            fn zero_vectors_are_counted_and_never_found() {
                suite::zero_vectors_are_counted_and_never_found(($new)(24));
            }
            #[test]
            fn nearly_equal_vectors_stay_within_one() {
                suite::nearly_equal_vectors_stay_within_one(($new)(64));
            }
            #[test]
            fn ten_thousand_identical_vectors() {
                suite::ten_thousand_identical_vectors(($new)(32));
            }
            #[test]
            fn recall_is_within_quantisation() {
                suite::recall_is_within_quantisation(($new)(96));
            }
            #[test]
            fn rebuilding_from_the_same_vectors_gives_the_same_answers() {
                suite::rebuilding_from_the_same_vectors_gives_the_same_answers(($new)(48), ($new)(48));
            }
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(48))]
                #[test]
                fn behaves_as_a_map(steps in suite::steps()) {
                    suite::behaves_as_a_map(($new)(20), steps)?;
                }
            }
        }
    };
}
