//! The main index: one set of rows, three ways to read it, and the choice between them.

use super::bits::Bits;
use super::graph::{Graph, Wish};
use super::quantise::Query;
use super::rows::Rows;
use super::top::Top;
use super::{Allowed, Neighbour, RowSegment, VectorIndex, check_vector};
use crate::config::VectorIndexChoice;
use crate::error::Result;
use crate::sorted_map::SortedSet;

/// Tombstones are dropped when they are more than this share of the rows, in percent. At 30 % a search through the
/// graph takes 1.7 times as long.
const MAX_TOMBSTONE_PERCENT: usize = 35;
/// efSearch: rows kept while walking the graph.
const EF_SEARCH: usize = 100;
/// Candidates by code that are rescored: 2.5 % of the rows seen, within these bounds. Recall was at least .994 of the
/// exact scan's on two sets of real vectors.
const RESCORE_MIN: usize = 200;
const RESCORE_MAX: usize = 1_000;

/// Where the ways of searching cross. "Rows seen" are live rows that the filter allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tiers {
    /// Up to so many rows seen, each is compared: the best recall there is (.996 on real vectors; by code .985 at
    /// 10,000 rows and .995 at 40,000). 16 ns a row in wasm, so half a millisecond at the default.
    pub exact_max_rows: usize,
    /// From so many rows on, [`VectorIndex::grow`] builds the graph. Below, codes answer in less than half a
    /// millisecond, and the graph's 0.2 ms and 145 bytes a row buy nothing that could be noticed.
    pub graph_min_rows: usize,
    /// The graph answers where the filter lets at least this share of the rows through, 0 to 1; else codes do. The
    /// graph's time grows as the share shrinks (.07 ms to .23 ms at a half of 40,000 rows, in wasm), that of the codes
    /// shrinks with it (.28 to .17).
    pub graph_min_share: f32,
    /// The graph answers while at most so many rows are not in it yet; those are compared one by one.
    pub tail_max_rows: usize,
}

impl Tiers {
    /// The tiers of a configured choice.
    #[must_use]
    pub fn of(choice: VectorIndexChoice) -> Self {
        let auto = Self { exact_max_rows: 32_768, graph_min_rows: 65_536, graph_min_share: 0.5, tail_max_rows: 8_192 };
        match choice {
            VectorIndexChoice::Auto => auto,
            VectorIndexChoice::Exact => Self { exact_max_rows: usize::MAX, graph_min_rows: usize::MAX, ..auto },
            VectorIndexChoice::Hnsw => {
                Self { exact_max_rows: 0, graph_min_rows: 0, graph_min_share: 0.1, tail_max_rows: usize::MAX }
            }
        }
    }
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
    /// Rows without direction: counted, never found.
    zeros: SortedSet<u32>,
}

impl TieredIndex {
    /// An empty index over vectors of this length.
    #[must_use]
    pub fn new(dimensions: usize, choice: VectorIndexChoice) -> Self {
        Self::with_tiers(dimensions, Tiers::of(choice))
    }

    /// An empty index with its own thresholds, for measuring and for tests.
    #[must_use]
    pub fn with_tiers(dimensions: usize, tiers: Tiers) -> Self {
        Self { dimensions, tiers, rows: Rows::new(dimensions), graph: Graph::new(), zeros: SortedSet::new() }
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

    fn compact_if_due(&mut self) {
        if self.rows.dead_count() * 100 > self.rows.len() * MAX_TOMBSTONE_PERCENT {
            self.compact();
        }
    }

    /// Chooses the way for a search over `seen` rows.
    fn plan(&self, seen: usize, k: usize) -> Plan {
        let tail = self.rows.len() - self.graph.len();
        let ef = EF_SEARCH.max(k.saturating_mul(2));
        let rescored = (seen / 40).clamp(RESCORE_MIN, RESCORE_MAX).max(k.saturating_mul(10));
        let is_open = seen as f32 >= self.rows.live_count() as f32 * self.tiers.graph_min_share;
        if seen <= self.tiers.exact_max_rows {
            Plan::Exact
        } else if self.graph.len() > 0 && is_open && tail <= self.tiers.tail_max_rows && ef < seen / 4 {
            Plan::Graph(ef)
        } else if rescored < seen / 4 {
            Plan::Codes(rescored)
        } else {
            Plan::Exact
        }
    }

    fn search_graph(&self, query: &Query, ef: usize, seen: Option<&[u32]>, top: &mut Top) {
        let linked = self.graph.len() as u32;
        let similarity = |row| self.rows.similarity(query, row);
        match seen {
            None => {
                let wish = Wish { ef, accept: &|row| self.rows.is_live(row) };
                self.graph.search(&self.rows, &similarity, &wish, top);
                let tail = linked..self.rows.len() as u32;
                self.rows.scan(query, tail.filter(|row| self.rows.is_live(*row)), top);
            }
            Some(seen) => {
                let mut bits = Bits::with_len(self.rows.len());
                seen.iter().for_each(|row| {
                    bits.insert(*row);
                });
                let wish = Wish { ef, accept: &|row| bits.contains(row) };
                self.graph.search(&self.rows, &similarity, &wish, top);
                self.rows.scan(query, seen.iter().copied().filter(|row| *row >= linked), top);
            }
        }
    }
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
        self.zeros.remove(&id);
        self.rows.remove(id);
        if !self.rows.push(id, vector) {
            self.zeros.insert(id);
        }
        self.compact_if_due();
        Ok(())
    }

    fn remove(&mut self, id: u32) -> bool {
        if self.zeros.remove(&id) {
            return true;
        }
        let was_there = self.rows.remove(id);
        self.compact_if_due();
        was_there
    }

    fn search(&self, query: &[f32], k: usize, allowed: Option<Allowed<'_>>) -> Result<Vec<Neighbour>> {
        check_vector(self.dimensions, query)?;
        let Some(query) = self.rows.query(query).filter(|_| k > 0) else {
            return Ok(Vec::new());
        };
        let filtered: Option<Vec<u32>> =
            allowed.map(|allowed| self.rows.live().filter(|row| allowed(self.rows.id(*row))).collect());
        let seen = filtered.as_ref().map_or(self.rows.live_count(), Vec::len);
        let mut top = Top::new(k);
        match self.plan(seen, k) {
            Plan::Exact => {}
            Plan::Graph(ef) => self.search_graph(&query, ef, filtered.as_deref(), &mut top),
            Plan::Codes(count) => {
                let live: Vec<u32>;
                let rows = match &filtered {
                    Some(rows) => rows,
                    None => {
                        live = self.rows.live().collect();
                        &live
                    }
                };
                self.rows.scan(&query, self.rows.nearest_codes(&query, rows, count).into_iter(), &mut top);
            }
        }
        if top.len() < k.min(seen) {
            // The plan, or what is left to do when an accelerator did not reach enough rows.
            top = Top::new(k);
            match &filtered {
                Some(rows) => self.rows.scan(&query, rows.iter().copied(), &mut top),
                None => self.rows.scan(&query, self.rows.live(), &mut top),
            }
        }
        Ok(top.into_neighbours())
    }

    fn similarities(&self, query: &[f32], ids: &[u32]) -> Result<Vec<Option<f32>>> {
        check_vector(self.dimensions, query)?;
        let Some(query) = self.rows.query(query) else {
            return Ok(vec![None; ids.len()]);
        };
        let similarity = |id: &u32| self.rows.row_of(*id).map(|row| self.rows.similarity(&query, row));
        Ok(ids.iter().map(similarity).collect())
    }

    fn attach(&mut self, segment: &RowSegment, ids: &dyn Fn(u32) -> Option<u32>) -> Result<()> {
        segment.check_dimensions(self.dimensions)?;
        self.rows.adopt_centre(segment.centre());
        for row in 0..segment.len() as u32 {
            let Some(id) = ids(row) else { continue };
            self.zeros.remove(&id);
            self.rows.remove(id);
            if segment.scale(row) > 0.0 {
                self.rows.push_sealed(id, segment, row);
            } else {
                self.zeros.insert(id);
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
