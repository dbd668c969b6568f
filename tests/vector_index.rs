//! One suite for every implementation of `VectorIndex`, beside the properties of the tiers themselves.
#![allow(clippy::unwrap_used)] // test code outside of test functions

#[path = "vector_index/suite.rs"]
mod suite;

use suite::{Random, brute_force, clustered, recall};
use throughline::vector::{TieredIndex, Tiers, VectorIndex};

vector_index_suite!(auto, |dimensions| TieredIndex::new(dimensions, Tiers::AUTO));
vector_index_suite!(exact, |dimensions| TieredIndex::new(dimensions, Tiers::EXACT));
vector_index_suite!(hnsw, |dimensions| TieredIndex::new(dimensions, Tiers::HNSW));
vector_index_suite!(codes, |dimensions| TieredIndex::new(
    dimensions,
    Tiers { exact_max_rows: 100, graph_min_rows: usize::MAX, ..Tiers::AUTO }
));
#[cfg(feature = "instant-distance")]
vector_index_suite!(instant, throughline::vector::InstantIndex::new);

fn filled(mut index: TieredIndex, vectors: &[Vec<f32>]) -> TieredIndex {
    for (id, vector) in vectors.iter().enumerate() {
        index.insert(id as u32, vector).unwrap();
    }
    index
}

#[test]
fn a_search_is_complete_at_every_stage_of_growth() {
    let mut random = Random(11);
    let vectors = clustered(&mut random, 3_000, 64, 60);
    let tiers = Tiers { exact_max_rows: 200, graph_min_rows: 500, graph_min_share: 0.3, tail_max_rows: 400 };
    let mut index = filled(TieredIndex::new(64, tiers), &vectors);
    let queries = clustered(&mut random, 40, 64, 60);
    let mut more = true;
    while more {
        let found = recall(&index, &vectors, &queries, 10);
        assert!(found >= 0.97, "{found} with {} rows linked", index.linked_rows());
        more = index.grow(700);
    }
    assert_eq!(index.linked_rows(), 3_000);
}

#[test]
fn below_the_threshold_there_is_nothing_to_grow() {
    let mut index = filled(TieredIndex::new(8, Tiers::AUTO), &clustered(&mut Random(3), 200, 8, 5));
    assert!(!index.grow(1_000));
    assert_eq!(index.linked_rows(), 0);
}

#[test]
fn the_graph_does_not_depend_on_how_it_was_sliced() {
    let vectors = clustered(&mut Random(5), 1_500, 32, 30);
    let queries = clustered(&mut Random(6), 30, 32, 30);
    let mut whole = filled(TieredIndex::new(32, Tiers::HNSW), &vectors);
    let mut sliced = filled(TieredIndex::new(32, Tiers::HNSW), &vectors);
    assert!(!whole.grow(usize::MAX));
    while sliced.grow(7) {}
    for query in &queries {
        assert_eq!(whole.search(query, 20, None).unwrap(), sliced.search(query, 20, None).unwrap());
    }
}

#[test]
fn tombstones_are_dropped_above_their_share_and_memory_is_reused() {
    let vectors = clustered(&mut Random(8), 4_000, 32, 40);
    let mut index = filled(TieredIndex::new(32, Tiers::HNSW), &vectors);
    index.grow(usize::MAX);
    let full_bytes = index.memory_bytes();
    for id in 0..1_000 {
        assert!(index.remove(id));
    }
    assert_eq!(index.linked_rows(), 4_000, "a quarter removed: still way-marks");
    for id in 1_000..2_000 {
        assert!(index.remove(id));
    }
    assert_eq!((index.linked_rows(), index.len()), (0, 2_000), "dropped, and the graph with them");
    while index.grow(500) {}
    assert!(index.memory_bytes() < full_bytes * 4 / 5, "{} {full_bytes}", index.memory_bytes());
    let (kept, queries) = (&vectors[2_000..], clustered(&mut Random(9), 30, 32, 40));
    for query in &queries {
        let expected: Vec<u32> = brute_force(kept, query, 10).iter().map(|row| row.id + 2_000).collect();
        let found: Vec<u32> = index.search(query, 10, None).unwrap().iter().map(|row| row.id).collect();
        assert!(found.iter().filter(|id| expected.contains(id)).count() >= 8);
    }
}

#[test]
fn twins_do_not_cut_the_graph_apart() {
    // 3,000 rows said the same thing, 300 did not: both kinds are found through the graph.
    let mut random = Random(21);
    let same = clustered(&mut random, 1, 48, 1).remove(0);
    let others = clustered(&mut random, 300, 48, 300);
    let mut index = TieredIndex::new(48, Tiers::HNSW);
    for id in 0..3_300u32 {
        let vector = if id % 11 == 0 { &others[id as usize / 11] } else { &same };
        index.insert(id, vector).unwrap();
    }
    while index.grow(1_000) {}
    for (position, vector) in others.iter().enumerate() {
        assert_eq!(index.search(vector, 1, None).unwrap()[0].id, position as u32 * 11);
    }
    let ids: Vec<u32> = index.search(&same, 50, None).unwrap().iter().map(|row| row.id).collect();
    let expected: Vec<u32> = (0..3_300).filter(|id| id % 11 != 0).take(50).collect();
    assert_eq!(ids, expected);
    index.remove(1);
    assert_eq!(index.search(&same, 1, None).unwrap()[0].id, 2, "the first of the twins may go");
}

/// Enough rows that filters are sampled, and asked lazily where they let many through.
#[test]
fn filters_are_exact_and_lose_nothing_on_every_way() {
    let mut random = Random(31);
    let vectors = clustered(&mut random, 9_000, 64, 80);
    let queries = clustered(&mut random, 25, 64, 80);
    let codes = Tiers { exact_max_rows: 0, graph_min_rows: usize::MAX, ..Tiers::HNSW };
    let in_order: Vec<Vec<u32>> =
        queries.iter().map(|query| brute_force(&vectors, query, 9_000).iter().map(|row| row.id).collect()).collect();
    for tiers in [Tiers::HNSW, codes, Tiers::EXACT] {
        let mut index = filled(TieredIndex::new(64, tiers), &vectors);
        while index.grow(1_000) {}
        for id in (0..9_000).step_by(5) {
            index.remove(id);
        }
        for divisor in [1, 2, 3, 7, 100, 1_000] {
            let may = |id: u32| id.is_multiple_of(divisor);
            let allowed: Vec<u32> =
                (0..9_000).rev().filter(|id| may(*id)).chain([3, 3]).filter(|id| may(*id)).collect();
            let (mut hits, mut wanted) = (0, 0);
            for (query, all) in queries.iter().zip(&in_order) {
                let expected: Vec<u32> = all.iter().copied().filter(|id| may(*id) && id % 5 != 0).take(10).collect();
                for found in [index.search(query, 10, Some(&may)), index.search_among(query, 10, &allowed)] {
                    let found = found.unwrap();
                    assert!(found.iter().all(|row| may(row.id) && row.id % 5 != 0));
                    assert_eq!(found.len(), expected.len());
                    hits += found.iter().filter(|row| expected.contains(&row.id)).count();
                    wanted += expected.len();
                }
            }
            let recall = f64::from(hits as u32) / wanted.max(1) as f64;
            assert!(recall >= 0.97 || wanted == 0, "{tiers:?}, every {divisor}: {recall}");
        }
    }
}

#[test]
fn a_filter_that_refuses_few_rows_is_asked_late_and_loses_nothing() {
    let mut random = Random(31);
    let vectors = clustered(&mut random, 9_000, 48, 60);
    let codes = Tiers { exact_max_rows: 0, graph_min_rows: usize::MAX, ..Tiers::AUTO };
    let index = filled(TieredIndex::new(48, codes), &vectors);
    for refused in [0, 9, 20] {
        let asked = std::cell::Cell::new(0);
        let allowed = |id: u32| {
            asked.set(asked.get() + 1);
            refused == 0 || !id.is_multiple_of(refused)
        };
        let mut hits = 0;
        for query in vectors.iter().step_by(450) {
            let found = index.search(query, 10, Some(&allowed)).unwrap();
            assert!(found.len() == 10 && found.iter().all(|one| refused == 0 || !one.id.is_multiple_of(refused)));
            let all = brute_force(&vectors, query, 60);
            let truth = all.iter().filter(|one| refused == 0 || !one.id.is_multiple_of(refused)).take(10);
            hits += truth.filter(|one| found.iter().any(|other| other.id == one.id)).count();
        }
        assert!(hits >= 195, "{refused}: {hits} of 200");
        // A sample of 256, and then those that would be found: not the 600 candidates.
        assert!(asked.get() <= 20 * 450, "{refused}: {}", asked.get());
    }
}

#[test]
fn a_filter_that_lets_many_rows_through_is_asked_of_few() {
    let vectors = clustered(&mut Random(41), 20_000, 32, 50);
    let codes = Tiers { exact_max_rows: 0, graph_min_rows: usize::MAX, ..Tiers::HNSW };
    for tiers in [codes, Tiers::EXACT] {
        let index = filled(TieredIndex::new(32, tiers), &vectors);
        let asked = std::cell::Cell::new(0);
        let allowed = |id: u32| {
            asked.set(asked.get() + 1);
            id > 500
        };
        assert_eq!(index.search(&vectors[7_000], 10, Some(&allowed)).unwrap()[0].id, 7_000);
        assert!(asked.get() < 2_000, "{asked:?} of 20,000");
    }
}
