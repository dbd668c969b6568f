//! Recall on real embeddings of chat turns. The data is named by the environment variable THROUGHLINE_DATA (else
//! `../shared/data`); where it is absent, vectors made here stand in, which are easier to search.
#![allow(clippy::unwrap_used, clippy::print_stderr)] // test code outside of test functions, and it says what it lacks

#[path = "vector_index/suite.rs"]
#[allow(dead_code)] // each test program uses its share of the suite
mod suite;

use std::path::PathBuf;
use suite::{Random, clustered};
use throughline::vector::kernel::dot_f32;
use throughline::vector::{TieredIndex, Tiers, VectorIndex};

const DIMENSIONS: usize = 384;
/// Vectors made here.
const STAND_INS: usize = 3_000;

fn read_f16(path: PathBuf) -> Option<Vec<Vec<f32>>> {
    let half = |pair: &[u8; 2]| {
        let bits = u16::from_le_bytes(*pair);
        let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1_023) / 1_024.0);
        let magnitude =
            if exponent == 0 { fraction * 2f32.powi(-14) } else { (1.0 + fraction) * 2f32.powi(exponent - 15) };
        if bits >> 15 == 1 { -magnitude } else { magnitude }
    };
    let numbers: Vec<f32> = std::fs::read(path).ok()?.as_chunks::<2>().0.iter().map(half).collect();
    Some(numbers.chunks_exact(DIMENSIONS).map(<[f32]>::to_vec).collect())
}

/// Turns and questions of LoCoMo, or vectors made here, of length 1.
fn vectors() -> (Vec<Vec<f32>>, Vec<Vec<f32>>) {
    let (mut turns, mut questions) = read_vectors();
    for vector in turns.iter_mut().chain(&mut questions) {
        let length = dot_f32(vector, vector).sqrt();
        vector.iter_mut().for_each(|value| *value /= length);
    }
    (turns, questions.into_iter().step_by(2).collect())
}

fn read_vectors() -> (Vec<Vec<f32>>, Vec<Vec<f32>>) {
    let folder = std::env::var_os("THROUGHLINE_DATA").map_or_else(|| "../shared/data".into(), PathBuf::from);
    let read = |name| read_f16(folder.join("locomo").join(name));
    match (read("turns.minilm384.f16"), read("questions.minilm384.f16")) {
        (Some(turns), Some(questions)) => (turns, questions.into_iter().step_by(8).collect()),
        _ => {
            eprintln!("LoCoMo is not in {}: measured on vectors made here", folder.display());
            (clustered(&mut Random(1), STAND_INS, DIMENSIONS, 60), clustered(&mut Random(2), 100, DIMENSIONS, 60))
        }
    }
}

/// The recall that is asked for. Rows of one made-up cluster are so alike that eight bits cannot always tell them apart.
fn goal(turns: &[Vec<f32>]) -> f64 {
    if turns.len() > STAND_INS { 0.99 } else { 0.98 }
}

fn ways() -> [(&'static str, Tiers); 3] {
    let codes = Tiers { exact_max_rows: 0, graph_min_rows: usize::MAX, ..Tiers::HNSW };
    [("exact", Tiers::EXACT), ("codes", codes), ("graph", Tiers::HNSW)]
}

fn filled(tiers: Tiers, turns: &[Vec<f32>]) -> TieredIndex {
    let mut index = TieredIndex::new(DIMENSIONS, tiers);
    for (id, turn) in turns.iter().enumerate() {
        index.insert(id as u32, turn).unwrap();
    }
    while index.grow(1_000) {}
    index
}

/// The nearest of the rows that are left and allowed, per question.
fn truth(turns: &[Vec<f32>], questions: &[Vec<f32>], may: &dyn Fn(u32) -> bool) -> Vec<Vec<u32>> {
    let left: Vec<(u32, &Vec<f32>)> = (0..).zip(turns).filter(|(id, _)| may(*id)).collect();
    let nearest = |question: &Vec<f32>| -> Vec<u32> {
        let mut all: Vec<(f32, u32)> = left.iter().map(|(id, turn)| (dot_f32(question, turn), *id)).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        all.iter().take(10).map(|(_, id)| *id).collect()
    };
    questions.iter().map(nearest).collect()
}

fn recall_of(index: &TieredIndex, questions: &[Vec<f32>], truth: &[Vec<u32>], may: &dyn Fn(u32) -> bool) -> f64 {
    let (mut hits, mut wanted) = (0, 0);
    for (question, expected) in questions.iter().zip(truth) {
        let found = index.search(question, 10, Some(may)).unwrap();
        hits += found.iter().filter(|row| expected.contains(&row.id)).count();
        wanted += expected.len();
    }
    f64::from(hits as u32) / wanted as f64
}

#[test]
fn every_way_finds_the_true_neighbours_with_and_without_filters() {
    let (turns, questions) = vectors();
    let indexes = ways().map(|(name, tiers)| (name, filled(tiers, &turns)));
    for divisor in [1, 2, 10, 100, 1_000] {
        let may = |id: u32| id.is_multiple_of(divisor);
        let truth = truth(&turns, &questions, &may);
        for (name, index) in &indexes {
            let found = recall_of(index, &questions, &truth, &may);
            assert!(found >= goal(&turns), "{name}, one in {divisor}: {found}");
        }
    }
}

#[test]
fn deletions_lose_no_recall_before_or_after_the_rebuild() {
    let (turns, questions) = vectors();
    let mut indexes = ways().map(|(name, tiers)| (name, filled(tiers, &turns)));
    // Three in ten: tombstones. Four in ten: dropped, and the graph grown anew.
    for gone in [3, 4] {
        let may = |id: u32| id % 10 >= gone;
        let truth = truth(&turns, &questions, &may);
        for (name, index) in &mut indexes {
            (0..turns.len() as u32).filter(|id| !may(*id)).for_each(|id| {
                index.remove(id);
            });
            if gone == 4 {
                assert_eq!(index.linked_rows(), 0);
                while index.grow(500) {}
            }
            let found = recall_of(index, &questions, &truth, &may);
            assert!(found >= goal(&turns), "{name}, {gone} in ten removed: {found}");
        }
    }
}
