//! Measures the vector index on real vectors: recall against the exact nearest neighbours, and times.
//!
//! `cargo run --release --example vectors -- --data DIR` where DIR holds `paragraphs/` and `locomo/` (float16 rows of
//! 384 numbers). With `--features instant-distance` the crate of that name is measured beside ours.
#![allow(clippy::print_stdout, clippy::disallowed_methods, missing_docs)] // a measuring program prints and takes time

use std::path::{Path, PathBuf};
use std::time::Instant;
use throughline::vector::kernel::dot_f32;
use throughline::vector::{TieredIndex, Tiers, VectorIndex};

const DIMENSIONS: usize = 384;
type Vectors = Vec<Vec<f32>>;
type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let folder = data_folder();
    let paragraphs = read_f16(&folder.join("paragraphs/vectors.minilm384.f16"))?;
    let queries = read_f16(&folder.join("paragraphs/queries.minilm384.f16"))?;
    println!("paragraphs: {} rows, {} queries", paragraphs.len(), queries.len());
    let given = read_neighbours(&folder.join("paragraphs/neighbours10.i32"))?;
    measure(&paragraphs, &queries, &given);
    println!("\npaths at smaller sizes (first rows of paragraphs), p50 in microseconds, recall@10");
    for rows in [2_000, 5_000, 10_000, 20_000] {
        let few: Vectors = paragraphs.iter().take(rows).cloned().collect();
        let some: Vectors = queries.iter().take(200).cloned().collect();
        let nearest = exact_neighbours(&few, &some);
        println!("{rows} rows");
        for (name, tiers) in [ways()[0], ways()[1]] {
            report(name, &filled(tiers, &few), &some, &nearest);
        }
    }
    let turns = read_f16(&folder.join("locomo/turns.minilm384.f16"))?;
    let questions = read_f16(&folder.join("locomo/questions.minilm384.f16"))?;
    println!("\nLoCoMo: {} turns, {} questions", turns.len(), questions.len());
    let nearest = exact_neighbours(&turns, &questions);
    measure(&turns, &questions, &nearest);
    Ok(())
}

/// The three ways, each forced.
fn ways() -> [(&'static str, Tiers); 3] {
    let hnsw = Tiers::HNSW;
    [
        ("exact SQ8", Tiers::EXACT),
        ("1-bit, SQ8 rescoring", Tiers { exact_max_rows: 0, graph_min_rows: usize::MAX, ..hnsw }),
        ("HNSW, ef 100", hnsw),
    ]
}

fn measure(vectors: &Vectors, queries: &Vectors, nearest: &[Vec<u32>]) {
    for (name, tiers) in ways() {
        let start = Instant::now();
        let mut index = filled(tiers, vectors);
        let inserted = start.elapsed();
        while index.grow(1_000) {}
        let grown = start.elapsed() - inserted;
        println!(
            "  {name}: insert {:.2} us, graph {:.3} ms a row; {} bytes a row",
            inserted.as_secs_f64() * 1e6 / vectors.len() as f64,
            grown.as_secs_f64() * 1e3 / vectors.len() as f64,
            index.memory_bytes() / vectors.len()
        );
        report(name, &index, queries, nearest);
        for divisor in [10, 2] {
            filtered(&format!("{name}, 1/{divisor} allowed"), &index, vectors, queries, divisor);
        }
    }
    #[cfg(feature = "instant-distance")]
    measure_instant_distance(vectors, queries, nearest);
}

#[cfg(feature = "instant-distance")]
fn measure_instant_distance(vectors: &Vectors, queries: &Vectors, nearest: &[Vec<u32>]) {
    let mut index = throughline::vector::InstantIndex::new(DIMENSIONS);
    insert_all(&mut index, vectors);
    let start = Instant::now();
    let _ = index.search(&queries[0], 10, None); // builds
    println!(
        "  instant-distance: build {:.3} ms a row (wall, all cores)",
        start.elapsed().as_secs_f64() * 1e3 / vectors.len() as f64
    );
    report("instant-distance, ef 100", &index, queries, nearest);
}

fn filled(tiers: Tiers, vectors: &Vectors) -> TieredIndex {
    let mut index = TieredIndex::new(DIMENSIONS, tiers);
    insert_all(&mut index, vectors);
    index
}

fn insert_all(index: &mut dyn VectorIndex, vectors: &Vectors) {
    for (id, vector) in vectors.iter().enumerate() {
        if let Err(error) = index.insert(id as u32, vector) {
            println!("row {id}: {error}");
        }
    }
}

/// Recall@10 and the time of a query: the best of three runs of each, then percentiles.
fn report(name: &str, index: &dyn VectorIndex, queries: &Vectors, nearest: &[Vec<u32>]) {
    let (mut hits, mut wanted, mut times_us) = (0usize, 0usize, Vec::new());
    for (query, expected) in queries.iter().zip(nearest) {
        let mut best_us = f64::INFINITY;
        for _ in 0..3 {
            let start = Instant::now();
            let found = index.search(query, expected.len(), None).unwrap_or_default();
            best_us = best_us.min(start.elapsed().as_secs_f64() * 1e6);
            hits += found.iter().filter(|row| expected.contains(&row.id)).count();
            wanted += expected.len();
        }
        times_us.push(best_us);
    }
    times_us.sort_by(f64::total_cmp);
    let at = |share: f64| times_us.get((times_us.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN);
    let recall = hits as f64 / wanted as f64;
    println!("  {name}: recall@10 {recall:.4}, p50 {:.0} us, p95 {:.0} us", at(0.5), at(0.95));
}

/// Recall and time where only every `divisor`-th row may be found.
fn filtered(name: &str, index: &TieredIndex, vectors: &Vectors, queries: &Vectors, divisor: u32) {
    let (mut hits, mut time_us) = (0, 0.0);
    let some = &queries[..queries.len().min(100)];
    for query in some {
        let (mut best_us, mut found) = (f64::INFINITY, Vec::new());
        for _ in 0..3 {
            let start = Instant::now();
            found = index.search(query, 10, Some(&|id| id.is_multiple_of(divisor))).unwrap_or_default();
            best_us = best_us.min(start.elapsed().as_secs_f64() * 1e6);
        }
        time_us += best_us;
        let expected = nearest_of(vectors, query, divisor as usize);
        hits += found.iter().filter(|row| expected.contains(&row.id)).count();
    }
    let count = some.len() as f64;
    println!("  {name}: recall@10 {:.4}, mean {:.0} us", f64::from(hits as u32) / (count * 10.0), time_us / count);
}

fn exact_neighbours(vectors: &Vectors, queries: &Vectors) -> Vec<Vec<u32>> {
    queries.iter().map(|query| nearest_of(vectors, query, 1)).collect()
}

fn nearest_of(vectors: &Vectors, query: &[f32], step: usize) -> Vec<u32> {
    let scored = vectors.iter().enumerate().step_by(step);
    let mut all: Vec<(f32, u32)> = scored.map(|(id, vector)| (dot_f32(query, vector), id as u32)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    all.into_iter().take(10).map(|(_, id)| id).collect()
}

/// `--data DIR`, else the environment variable THROUGHLINE_DATA, else `../shared/data`.
fn data_folder() -> PathBuf {
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if let (true, Some(folder)) = (argument == "--data", arguments.next()) {
            return folder.into();
        }
    }
    std::env::var_os("THROUGHLINE_DATA").map_or_else(|| "../shared/data".into(), PathBuf::from)
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| format!("{}: {error}; give the folder with --data", path.display()).into())
}

fn read_f16(path: &Path) -> Result<Vectors, Failure> {
    let numbers: Vec<f32> = read(path)?.as_chunks::<2>().0.iter().map(|pair| f16(u16::from_le_bytes(*pair))).collect();
    Ok(numbers.chunks_exact(DIMENSIONS).map(<[f32]>::to_vec).collect())
}

fn read_neighbours(path: &Path) -> Result<Vec<Vec<u32>>, Failure> {
    let ids: Vec<u32> = read(path)?.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
    Ok(ids.chunks_exact(10).map(<[u32]>::to_vec).collect())
}

/// IEEE half precision; the data holds no infinities.
fn f16(bits: u16) -> f32 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1_023));
    let magnitude = match exponent {
        0 => fraction * 2f32.powi(-24),
        _ => (1.0 + fraction / 1_024.0) * 2f32.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}
