//! Vectors that are made up, and which of them are nearest.

use throughline::vector::kernel::dot_f32;
use wasm_bindgen::prelude::wasm_bindgen;

/// Directions in which the vectors differ.
const LATENT: usize = 64;
/// Rows per cluster, about.
const CLUSTER: usize = 50;
/// How far a row is from its cluster's centre, where centres are 1 apart.
const SPREAD: f32 = 0.6;
/// How far rows leave the latent directions.
const NOISE: f32 = 0.15;
/// What all rows share, as the vectors of one model do.
const OFFSET: f32 = 0.5;

/// A stream of unit vectors: a mixture of clusters in latent directions of falling weight, a common offset, some noise.
///
/// Such vectors are kinder to graphs and codes than those of a model: what is measured on them is time and memory, and
/// recall only for lack of real ones.
#[wasm_bindgen]
pub struct VectorSource {
    random: Random,
    dimensions: usize,
    clusters: usize,
    seed: u64,
    /// A row of latent directions per dimension.
    directions: Vec<f32>,
    offset: Vec<f32>,
}

#[wasm_bindgen]
impl VectorSource {
    /// Vectors for an index of `total` rows. Streams of one `space` share its clusters; `stream` tells them apart.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(dimensions: usize, total: usize, space: u32, stream: u32) -> Self {
        let seed = u64::from(space);
        let mut random = Random(seed.wrapping_add(1));
        let directions = (0..dimensions * LATENT).map(|_| random.normal()).collect();
        let offset = (0..dimensions).map(|_| random.normal() * OFFSET).collect();
        let stream = Random((u64::from(stream) << 32) ^ seed ^ 0x5bd1_e995);
        Self { random: stream, dimensions, clusters: (total / CLUSTER).max(1), seed, directions, offset }
    }

    /// The next rows, one after the other.
    pub fn next(&mut self, count: usize) -> Vec<f32> {
        let mut rows = Vec::with_capacity(count * self.dimensions);
        for _ in 0..count {
            let latent = self.latent();
            let start = rows.len();
            for (directions, offset) in self.directions.chunks_exact(LATENT).zip(&self.offset) {
                rows.push(dot_f32(&latent, directions) + offset + self.random.normal() * NOISE);
            }
            let row = &mut rows[start..];
            let length = dot_f32(row, row).sqrt();
            row.iter_mut().for_each(|value| *value /= length);
        }
        rows
    }

    fn latent(&mut self) -> [f32; LATENT] {
        let cluster = self.random.next() % self.clusters as u64;
        let mut centre = Random(self.seed ^ (cluster + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        std::array::from_fn(|at| {
            let weight = 1.0 / ((at + 4) as f32).sqrt();
            (centre.normal() + SPREAD * self.random.normal()) * weight
        })
    }
}

/// The exact nearest rows of some queries, learned while rows go by: no copy of them is kept.
#[wasm_bindgen]
pub struct Nearest {
    queries: Vec<f32>,
    dimensions: usize,
    limit: usize,
    step: u32,
    /// Per query, best first.
    found: Vec<Vec<(f32, u32)>>,
}

#[wasm_bindgen]
impl Nearest {
    /// For these queries; of every `step`-th row.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(queries: Vec<f32>, dimensions: usize, limit: usize, step: u32) -> Self {
        let found = vec![Vec::new(); queries.len() / dimensions];
        Self { queries, dimensions, limit, step, found }
    }

    /// Rows numbered from `first` on.
    pub fn see(&mut self, first: u32, rows: &[f32]) {
        let numbered = (first..).zip(rows.chunks_exact(self.dimensions)).filter(|(number, _)| number % self.step == 0);
        for (number, row) in numbered {
            for (query, found) in self.queries.chunks_exact(self.dimensions).zip(&mut self.found) {
                let similarity = dot_f32(query, row);
                if found.len() == self.limit && found.last().is_some_and(|last| similarity <= last.0) {
                    continue;
                }
                let at = found.partition_point(|other| other.0 >= similarity);
                found.insert(at, (similarity, number));
                found.truncate(self.limit);
            }
        }
    }

    /// The numbers, `limit` per query.
    #[must_use]
    pub fn numbers(&self) -> Vec<u32> {
        self.found.iter().flatten().map(|(_, number)| *number).collect()
    }
}

/// splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Near enough normal: a sum of eight bytes has their bell, mean 0 and variance 1.
    fn normal(&mut self) -> f32 {
        let sum: u32 = self.next().to_le_bytes().iter().map(|byte| u32::from(*byte)).sum();
        // Eight uniform bytes: mean 1,020, variance 8 * (256^2 - 1) / 12.
        (sum as f32 - 1_020.0) / 209.0
    }
}
