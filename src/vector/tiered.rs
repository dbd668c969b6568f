//! The main index: one set of rows, three ways to read it, and the choice between them.

use super::graph::{Graph, Wish};
use super::quantise::Query;
use super::rows::Rows;
use super::top::Top;
use super::{Allowed, Neighbour, RowSegment, VectorIndex, check_vector};
use throughline_tokens::error::Result;

/// Tombstones are dropped when they are more than this share of the rows, in percent. At 30 % a search through the
/// graph takes 1.7 times as long.
const MAX_TOMBSTONE_PERCENT: usize = 35;
/// efSearch: rows kept while walking the graph.
const EF_SEARCH: usize = 100;
/// Candidates by code that are rescored: 2.5 % of the rows seen, within these bounds.
const RESCORE_MIN: usize = 600;
const RESCORE_MAX: usize = 1_000;
/// Candidates by code for each row wanted, at least.
const RESCORE_PER_FOUND: usize = 4;
/// Rows of which a filter is asked to learn how many it lets through.
const SAMPLE_ROWS: u32 = 256;
/// Up to so many rows a filter is asked of each.
const ASK_ALL_ROWS: usize = 4_096;
/// A filter that lets one row in so many through, or more, is asked only of those that would be found.
const MOST_PER_ALLOWED: usize = 8;
/// A filter that refuses at most one row in so many is asked of candidates by code only when they are rescored.
const LATE_PART: usize = 8;

/// Where the ways of searching cross. "Rows seen" are live rows that the filter allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tiers {
    /// Up to so many rows to compare, each is: the best recall there is (.996 on 40,000 real vectors; by code .994). 16 ns
    /// a row in wasm, so half a millisecond at the default.
    pub exact_max_rows: usize,
    /// From so many rows on, [`VectorIndex::grow`] builds the graph. Below, codes answer in about a millisecond (6 ns a
    /// row in wasm), and the graph's 0.4 ms and 145 bytes a row buy nothing that could be noticed.
    pub graph_min_rows: usize,
    /// The graph answers where the filter lets at least this share of the rows through, 0 to 1; else codes do: the
    /// graph's time grows as the share shrinks.
    pub graph_min_share: f32,
    /// The graph answers while at most so many rows are not in it yet; those are compared one by one.
    pub tail_max_rows: usize,
}

impl Tiers {
    /// By the number of rows seen, where the ways cross.
    pub const AUTO: Self =
        Self { exact_max_rows: 32_768, graph_min_rows: 200_000, graph_min_share: 0.5, tail_max_rows: 8_192 };
    /// Always a scan.
    pub const EXACT: Self = Self { exact_max_rows: usize::MAX, graph_min_rows: usize::MAX, ..Self::AUTO };
    /// Always the graph, as far as it is grown; rows that are not in it are scanned.
    pub const HNSW: Self =
        Self { exact_max_rows: 0, graph_min_rows: 0, graph_min_share: 0.1, tail_max_rows: usize::MAX };
}

/// How one search is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    /// Compare every row seen.
    Exact,
    /// So many candidates by code, then compare those.
    Codes(usize),
    /// Walk the graph, keeping so many rows.
    Graph(usize),
}

/// SQ8 rows with 1-bit codes, tombstones and an HNSW graph above a threshold.
///
/// Memory per row at 384 dimensions: 384 B values, 48 B code, 12 B scale, id and row of the id, and
/// 145 B of links once the graph is grown. Inserting costs microseconds; the graph is grown apart, by
/// [`VectorIndex::grow`], at about 0.1 to 0.4 ms per row.
pub struct TieredIndex {
    dimensions: usize,
    tiers: Tiers,
    rows: Rows,
    graph: Graph,
    /// Ids of rows without direction, in order: counted, never found.
    zeros: Vec<u32>,
}

impl TieredIndex {
    /// An empty index over vectors of this length.
    #[must_use]
    pub fn new(dimensions: usize, tiers: Tiers) -> Self {
        Self { dimensions, tiers, rows: Rows::new(dimensions), graph: Graph::new(), zeros: Vec::new() }
    }

    /// Drops tombstones now, and with them the last trace of removed vectors in memory. The graph is grown anew.
    pub fn compact(&mut self) {
        if self.rows.dead_count() > 0 {
            self.rows.compact();
            self.graph = Graph::new();
        }
    }

    /// Bytes held in memory for rows, codes and links.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.rows.memory_bytes() + self.graph.memory_bytes()
    }

    /// Rows that are in the graph, tombstones included.
    #[must_use]
    pub fn linked_rows(&self) -> usize {
        self.graph.len()
    }

    /// Takes a row out, of whichever kind it is.
    fn take_out(&mut self, id: u32) -> bool {
        match self.zeros.binary_search(&id) {
            Ok(at) => {
                self.zeros.remove(at);
                true
            }
            Err(_) => self.rows.remove(id),
        }
    }

    fn add_zero(&mut self, id: u32) {
        if let Err(at) = self.zeros.binary_search(&id) {
            self.zeros.insert(at, id);
        }
    }

    fn compact_if_due(&mut self) {
        if self.rows.dead_count() * 100 > self.rows.len() * MAX_TOMBSTONE_PERCENT {
            self.compact();
        }
    }

    /// Chooses the way for a search.
    fn plan(&self, k: usize, wanted: &Wanted<'_>) -> Plan {
        let seen = wanted.seen;
        let tail = self.rows.len() - self.graph.len();
        let ef = EF_SEARCH.max(k.saturating_mul(2));
        // A filter that is asked late does not spare the rows that it refuses from being compared.
        let compared = if wanted.among.is_some() { seen } else { self.rows.live_count() };
        let rescored = (seen / 40).clamp(RESCORE_MIN, RESCORE_MAX).max(k.saturating_mul(RESCORE_PER_FOUND));
        let is_open =
            wanted.among.is_none() && seen as f32 >= self.rows.live_count() as f32 * self.tiers.graph_min_share;
        if compared <= self.tiers.exact_max_rows {
            Plan::Exact
        } else if self.graph.len() > 0 && is_open && tail <= self.tiers.tail_max_rows && ef < seen / 4 {
            Plan::Graph(ef)
        } else if rescored < seen / 4 {
            Plan::Codes(rescored)
        } else {
            Plan::Exact
        }
    }

    fn scan(&self, query: &Query, wanted: &Wanted<'_>, top: &mut Top) {
        match wanted.among {
            None => self.rows.scan(query, 0..self.rows.len() as u32, wanted.accept, top),
            Some(rows) => self.rows.scan(query, rows.iter().copied(), wanted.accept, top),
        }
    }

    fn nearest(&self, query: &Query, k: usize, wanted: &Wanted<'_>) -> Vec<Neighbour> {
        let mut top = Top::new(k);
        let plan = self.plan(k, wanted);
        match plan {
            Plan::Exact => {}
            Plan::Graph(ef) => {
                let similarity = |row| self.rows.similarity(query, row);
                self.graph.search(&self.rows, &similarity, &Wish { ef, accept: wanted.accept }, &mut top);
                self.rows.scan(query, self.graph.len() as u32..self.rows.len() as u32, wanted.accept, &mut top);
            }
            Plan::Codes(count) => {
                let (all, seen) = (wanted.among.map_or(self.rows.len(), <[u32]>::len), wanted.seen.max(1));
                if all - all / LATE_PART <= seen {
                    // What lets nearly all through is asked only of those that would be found.
                    let near = self.rows.nearest_codes(query, wanted.among, &|_| true, count * all / seen, 1);
                    self.rows.scan_apart(query, &near, wanted.accept, &mut top);
                } else {
                    let per_accepted = all.div_ceil(seen);
                    let near = self.rows.nearest_codes(query, wanted.among, wanted.accept, count, per_accepted);
                    self.rows.scan_apart(query, &near, &|_| true, &mut top);
                }
            }
        }
        if top.len() < k {
            // The plan, or what is left to do where an accelerator did not reach enough rows.
            top = Top::new(k);
            self.scan(query, wanted, &mut top);
        }
        top.into_neighbours()
    }

    /// About how many live rows are allowed, by a sample of them.
    fn about_allowed(&self, allowed: Allowed<'_>) -> usize {
        let (mut asked, mut admitted) = (0, 0);
        for at in 1..=SAMPLE_ROWS {
            // Spread by the golden ratio: what comes at regular distances is neither always nor never met.
            let spread = u64::from(at.wrapping_mul(0x9e37_79b9));
            let row = ((spread * self.rows.len() as u64) >> 32) as u32;
            if self.rows.is_live(row) {
                asked += 1;
                admitted += usize::from(allowed(self.rows.id(row)));
            }
        }
        self.rows.live_count() * admitted / asked.max(1)
    }

    /// With a filter: asked lazily where it lets many rows through, of every row once where it does not.
    fn search_filtered(&self, query: &Query, k: usize, allowed: Allowed<'_>) -> Vec<Neighbour> {
        let live = self.rows.live_count();
        let about = if live <= ASK_ALL_ROWS { 0 } else { self.about_allowed(allowed) };
        if about * MOST_PER_ALLOWED >= live {
            let accept = |row| self.rows.is_live(row) && allowed(self.rows.id(row));
            let found = self.nearest(query, k, &Wanted { among: None, accept: &accept, seen: about });
            if found.len() == k {
                return found;
            }
        }
        let rows: Vec<u32> = self.rows.live().filter(|row| allowed(self.rows.id(*row))).collect();
        self.nearest(query, k, &Wanted { among: Some(&rows), accept: &|_| true, seen: rows.len() })
    }
}

/// What a search may find.
struct Wanted<'a> {
    /// Only these rows, which are live.
    among: Option<&'a [u32]>,
    /// Whether a row may be found; asked late.
    accept: &'a dyn Fn(u32) -> bool,
    /// How many rows that are, about.
    seen: usize,
}

impl VectorIndex for TieredIndex {
    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn len(&self) -> usize {
        self.rows.live_count() + self.zeros.len()
    }

    fn insert(&mut self, id: u32, vector: &[f32]) -> Result<()> {
        check_vector(self.dimensions, vector)?;
        self.take_out(id);
        if !self.rows.push(id, vector) {
            self.add_zero(id);
        }
        self.compact_if_due();
        Ok(())
    }

    fn remove(&mut self, id: u32) -> bool {
        let was_there = self.take_out(id);
        self.compact_if_due();
        was_there
    }

    /// Tombstones keep their places in the graph, and lead nowhere better than elsewhere.
    fn sweep(&mut self) {
        self.rows.blank_dead();
    }

    fn search(&self, query: &[f32], k: usize, allowed: Option<Allowed<'_>>) -> Result<Vec<Neighbour>> {
        check_vector(self.dimensions, query)?;
        let Some(query) = self.rows.query(query).filter(|_| k > 0) else {
            return Ok(Vec::new());
        };
        let seen = self.rows.live_count();
        Ok(match allowed {
            Some(allowed) => self.search_filtered(&query, k, allowed),
            None if self.rows.dead_count() == 0 => {
                self.nearest(&query, k, &Wanted { among: None, accept: &|_| true, seen })
            }
            None => self.nearest(&query, k, &Wanted { among: None, accept: &|row| self.rows.is_live(row), seen }),
        })
    }

    fn search_among(&self, query: &[f32], k: usize, ids: &[u32]) -> Result<Vec<Neighbour>> {
        check_vector(self.dimensions, query)?;
        let Some(query) = self.rows.query(query).filter(|_| k > 0) else {
            return Ok(Vec::new());
        };
        // As wide as the lexical index sorts its hashes: the sort of another width would be 3 KB of its own.
        let mut rows: Vec<u64> = ids.iter().filter_map(|id| self.rows.row_of(*id).map(u64::from)).collect();
        rows.sort_unstable();
        rows.dedup();
        let rows: Vec<u32> = rows.into_iter().map(|row| row as u32).collect();
        Ok(self.nearest(&query, k, &Wanted { among: Some(&rows), accept: &|_| true, seen: rows.len() }))
    }

    fn similarities(&self, query: &[f32], ids: &[u32]) -> Result<Vec<Option<f32>>> {
        check_vector(self.dimensions, query)?;
        let Some(query) = self.rows.query(query) else {
            return Ok(vec![None; ids.len()]);
        };
        let rows: Vec<Option<u32>> = ids.iter().map(|id| self.rows.row_of(*id)).collect();
        let known: Vec<u32> = rows.iter().copied().flatten().collect();
        let mut similarities = Vec::with_capacity(known.len());
        self.rows.similarities(&query, &known, &mut |_, similarity| similarities.push(similarity));
        let mut similarities = similarities.into_iter();
        Ok(rows.into_iter().map(|row| row.and_then(|_| similarities.next())).collect())
    }

    fn attach(&mut self, segment: &RowSegment, ids: &dyn Fn(u32) -> Option<u32>) -> Result<()> {
        segment.check_dimensions(self.dimensions)?;
        self.rows.adopt_centre(segment.centre());
        for row in 0..segment.len() as u32 {
            let Some(id) = ids(row) else { continue };
            self.take_out(id);
            if segment.scale(row) > 0.0 {
                self.rows.push_sealed(id, segment, row);
            } else {
                self.add_zero(id);
            }
        }
        self.compact_if_due();
        Ok(())
    }

    fn centre(&self) -> Option<&[f32]> {
        Some(self.rows.centre()).filter(|centre| centre.iter().any(|value| *value != 0.0))
    }

    fn grow(&mut self, budget: usize) -> bool {
        if self.rows.live_count() < self.tiers.graph_min_rows {
            return false;
        }
        let end = self.rows.len().min(self.graph.len().saturating_add(budget));
        while self.graph.len() < end {
            self.graph.push(&self.rows);
        }
        self.graph.len() < self.rows.len()
    }
}
