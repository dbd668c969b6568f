//! Recall on real embeddings of chat turns. The data is named by the environment variable THROUGHLINE_DATA (else
//! `../shared/data`); where it is absent, vectors made here stand in, which are easier to search.
#![allow(clippy::unwrap_used, clippy::print_stderr)] // test code outside of test functions, and it says what it lacks

#[path = "vector_index/suite.rs"]
#[allow(dead_code)] // each test program uses its share of the suite
mod suite;

use std::path::PathBuf;
use suite::{Random, clustered, recall};
use throughline::config::VectorIndexChoice;
use throughline::vector::{TieredIndex, Tiers, VectorIndex};

const DIMENSIONS: usize = 384;

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

/// Turns and questions of LoCoMo, or vectors made here.
fn vectors() -> (Vec<Vec<f32>>, Vec<Vec<f32>>) {
    let folder = std::env::var_os("THROUGHLINE_DATA").map_or_else(|| "../shared/data".into(), PathBuf::from);
    let read = |name| read_f16(folder.join("locomo").join(name));
    match (read("turns.minilm384.f16"), read("questions.minilm384.f16")) {
        (Some(turns), Some(questions)) => (turns, questions.into_iter().step_by(8).collect()),
        _ => {
            eprintln!("LoCoMo is not in {}: measured on vectors made here", folder.display());
            (clustered(&mut Random(1), 3_000, DIMENSIONS, 60), clustered(&mut Random(2), 100, DIMENSIONS, 60))
        }
    }
}

#[test]
fn every_way_finds_the_true_neighbours() {
    let (turns, questions) = vectors();
    let hnsw = Tiers::of(VectorIndexChoice::Hnsw);
    for (name, tiers) in [
        ("exact", Tiers::of(VectorIndexChoice::Exact)),
        ("codes", Tiers { exact_max_rows: 0, graph_min_rows: usize::MAX, ..hnsw }),
        ("graph", hnsw),
    ] {
        let mut index = TieredIndex::with_tiers(DIMENSIONS, tiers);
        for (id, turn) in turns.iter().enumerate() {
            index.insert(id as u32, turn).unwrap();
        }
        while index.grow(1_000) {}
        let found = recall(&index, &turns, &questions, 10);
        assert!(found >= 0.99, "{name}: {found}");
    }
}
