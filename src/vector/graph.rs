//! Hierarchical navigable small world graph (Malkov and Yashunin, 2016, arXiv 1603.09320) over the quantised rows.
//!
//! Grown one row at a time, in row order. A row's layer is a hash of its number, so the same rows always give the same
//! graph. Rows that are equal to the last bit ("ok", "thanks") hang on one of them as a chain of twins: they would
//! otherwise link only to each other and cut the graph apart. Tombstones stay as way-marks and are never found.

use super::bits::Bits;
use super::rows::Rows;
use super::slabs::Slabs;
use super::top::{Scored, Top};
use std::collections::BinaryHeap;

/// M: links per row and upper layer; twice as many on the base layer. The paper names 5 to 48; 16 gives recall .991 at
/// ef 100 on 40,000 real vectors, of the .996 that quantised rows can give.
const M: usize = 16;
/// Links on the base layer.
const BASE_LINKS: usize = 2 * M;
/// efConstruction: rows looked at for links; 200 costs 70 % more time for .001 recall.
const EF_CONSTRUCTION: usize = 100;
/// "No row", "no upper layers".
const NONE: u32 = u32::MAX;
/// A base record: number of links, place of the upper layers, next twin, then the links.
const HEADER: usize = 3;

/// The graph over rows `0..len`.
pub(super) struct Graph {
    base: Slabs<u32>,
    /// Upper layers of the rows that have any: per layer the number of links and `M` places.
    upper: Vec<u32>,
    entry: Option<u32>,
    entry_level: usize,
}

/// What a search through the graph wants.
pub(super) struct Wish<'a> {
    /// Rows kept while searching; more finds more and takes longer.
    pub(super) ef: usize,
    /// Which rows may be found; every row is walked over all the same.
    pub(super) accept: &'a dyn Fn(u32) -> bool,
}

impl Graph {
    pub(super) fn new() -> Self {
        Self { base: Slabs::new(HEADER + BASE_LINKS), upper: Vec::new(), entry: None, entry_level: 0 }
    }

    /// Rows that are in the graph: all below this number.
    pub(super) fn len(&self) -> usize {
        self.base.len()
    }

    /// Bytes held in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        (self.base.len().next_multiple_of(1_024) * self.base.width() + self.upper.capacity()) * 4
    }

    /// Links the next row, which must exist in `rows`.
    pub(super) fn push(&mut self, rows: &Rows) {
        let row = self.base.len() as u32;
        let record = self.base.push();
        (record[1], record[2]) = (NONE, NONE);
        if !rows.is_live(row) {
            return; // a tombstone before it was linked leads nowhere
        }
        let level = level_of(row);
        let Some(entry) = self.entry else {
            self.open_layers(row, level);
            (self.entry, self.entry_level) = (Some(row), level);
            return;
        };
        let similarity = |other: u32| rows.similarity_of_rows(row, other);
        let mut nearest = Scored { similarity: similarity(entry), id: rows.id(entry), row: entry };
        for layer in (level + 1..=self.entry_level).rev() {
            nearest = self.descend(rows, layer, nearest, &similarity);
        }
        let mut candidates: Vec<Vec<Scored>> = Vec::new();
        let mut starts = vec![nearest];
        for layer in (0..=level.min(self.entry_level)).rev() {
            let found = self.explore(rows, layer, &starts, EF_CONSTRUCTION, &similarity);
            starts.clone_from(&found);
            candidates.push(found);
        }
        if let Some(twin) = starts.first().filter(|first| rows.is_twin(first.row, row)) {
            self.base.get_mut(row)[2] = self.base.get(twin.row)[2];
            self.base.get_mut(twin.row)[2] = row;
            return;
        }
        self.open_layers(row, level);
        for (layer, found) in candidates.iter().rev().enumerate() {
            self.connect(rows, layer, row, found);
        }
        if level > self.entry_level {
            (self.entry, self.entry_level) = (Some(row), level);
        }
    }

    /// Rows near the query, found through the graph, offered to `top`.
    pub(super) fn search(&self, rows: &Rows, similarity: &dyn Fn(u32) -> f32, wish: &Wish<'_>, top: &mut Top) {
        let Some(entry) = self.entry else { return };
        let mut nearest = Scored { similarity: similarity(entry), id: rows.id(entry), row: entry };
        for layer in (1..=self.entry_level).rev() {
            nearest = self.descend(rows, layer, nearest, &similarity);
        }
        let mut visited = Bits::with_len(self.len());
        visited.insert(nearest.row);
        let mut frontier = BinaryHeap::from([nearest]);
        let mut found = Top::new(wish.ef);
        self.take(rows, nearest, wish, &mut found);
        while let Some(current) = frontier.pop() {
            if current.similarity < found.floor() {
                break;
            }
            for row in self.links(0, current.row) {
                if visited.insert(*row) {
                    let next = Scored { similarity: similarity(*row), id: rows.id(*row), row: *row };
                    if next.similarity >= found.floor() {
                        frontier.push(next);
                        self.take(rows, next, wish, &mut found);
                    }
                }
            }
        }
        for scored in found.into_sorted() {
            top.offer(scored);
        }
    }

    /// Keeps a row and its twins, as far as they are wanted.
    fn take(&self, rows: &Rows, scored: Scored, wish: &Wish<'_>, found: &mut Top) {
        let mut row = scored.row;
        while row != NONE {
            if (wish.accept)(row) {
                found.offer(Scored { similarity: scored.similarity, id: rows.id(row), row });
            }
            row = self.base.get(row)[2];
        }
    }

    /// The nearest row of a layer that steps to ever nearer neighbours lead to.
    fn descend(&self, rows: &Rows, layer: usize, from: Scored, similarity: &dyn Fn(u32) -> f32) -> Scored {
        let mut nearest = from;
        loop {
            let before = nearest.row;
            for row in self.links(layer, before) {
                let next = Scored { similarity: similarity(*row), id: rows.id(*row), row: *row };
                nearest = nearest.max(next);
            }
            if nearest.row == before {
                return nearest;
            }
        }
    }

    /// The `ef` nearest rows of a layer, nearest first, tombstones included.
    fn explore(
        &self,
        rows: &Rows,
        layer: usize,
        starts: &[Scored],
        ef: usize,
        similarity: &dyn Fn(u32) -> f32,
    ) -> Vec<Scored> {
        let mut visited = Bits::with_len(self.len());
        let mut found = Top::new(ef);
        let mut frontier = BinaryHeap::new();
        for start in starts {
            if visited.insert(start.row) {
                frontier.push(*start);
                found.offer(*start);
            }
        }
        while let Some(current) = frontier.pop() {
            if current.similarity < found.floor() {
                break;
            }
            for row in self.links(layer, current.row) {
                if visited.insert(*row) {
                    let next = Scored { similarity: similarity(*row), id: rows.id(*row), row: *row };
                    if found.offer(next) {
                        frontier.push(next);
                    }
                }
            }
        }
        found.into_sorted()
    }

    /// Chooses the row's links on a layer and links back.
    fn connect(&mut self, rows: &Rows, layer: usize, row: u32, found: &[Scored]) {
        let chosen: Vec<u32> = choose(rows, found, room(layer)).iter().map(|scored| scored.row).collect();
        self.set_links(layer, row, &chosen);
        for neighbour in chosen {
            self.link_back(rows, layer, neighbour, row);
        }
    }

    /// Adds one link. A row without room chooses anew among all its links, and then keeps a quarter of its room free:
    /// choosing costs far more than adding, and so happens once in eight times.
    fn link_back(&mut self, rows: &Rows, layer: usize, from: u32, to: u32) {
        let mut links = self.links(layer, from).to_vec();
        links.push(to);
        if links.len() > room(layer) {
            let scored = |other: &u32| Scored {
                similarity: rows.similarity_of_rows(from, *other),
                id: rows.id(*other),
                row: *other,
            };
            let candidates: BinaryHeap<Scored> = links.iter().map(scored).collect();
            let mut candidates = candidates.into_sorted_vec();
            candidates.reverse();
            links = choose(rows, &candidates, room(layer) * 3 / 4).iter().map(|scored| scored.row).collect();
        }
        self.set_links(layer, from, &links);
    }

    /// The links of a row on one of its layers, 0 being the base.
    fn links(&self, layer: usize, row: u32) -> &[u32] {
        let record = self.base.get(row);
        if layer == 0 {
            return &record[HEADER..HEADER + record[0] as usize];
        }
        let start = record[1] as usize + (layer - 1) * (1 + M);
        &self.upper[start + 1..start + 1 + self.upper[start] as usize]
    }

    fn set_links(&mut self, layer: usize, row: u32, links: &[u32]) {
        let record = self.base.get_mut(row);
        let (count, places) = if layer == 0 {
            let (header, places) = record.split_at_mut(HEADER);
            (&mut header[0], places)
        } else {
            let start = record[1] as usize + (layer - 1) * (1 + M);
            let (count, places) = self.upper[start..start + 1 + M].split_at_mut(1);
            (&mut count[0], places)
        };
        *count = links.len() as u32;
        for (place, link) in places.iter_mut().zip(links) {
            *place = *link;
        }
    }

    /// Makes room for the upper layers of a row.
    fn open_layers(&mut self, row: u32, level: usize) {
        if level > 0 {
            self.base.get_mut(row)[1] = self.upper.len() as u32;
            self.upper.resize(self.upper.len() + level * (1 + M), 0);
        }
    }
}

/// Links that a row has room for on a layer.
fn room(layer: usize) -> usize {
    if layer == 0 { BASE_LINKS } else { M }
}

/// The selection heuristic of the paper (algorithm 4): a candidate, nearest first, is left out when it is nearer to a
/// chosen one than to the row itself; free places are then filled with the nearest left out ("keepPrunedConnections").
fn choose(rows: &Rows, candidates: &[Scored], room: usize) -> Vec<Scored> {
    let mut chosen: Vec<Scored> = Vec::with_capacity(room);
    let mut left_out: Vec<Scored> = Vec::new();
    for candidate in candidates {
        if chosen.len() >= room {
            break;
        }
        let covers = |other: &Scored| rows.similarity_of_rows(candidate.row, other.row) > candidate.similarity;
        if chosen.iter().any(covers) {
            left_out.push(*candidate);
        } else {
            chosen.push(*candidate);
        }
    }
    let free = room - chosen.len();
    chosen.extend(left_out.into_iter().take(free));
    chosen
}

/// The top layer of a row: geometric with mean 1/ln M as in the paper, from a hash (splitmix64) of its number.
fn level_of(row: u32) -> usize {
    let mut hash = u64::from(row).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^= hash >> 31;
    // P(level >= n) = M^-n: four zero bits per layer, since M is 16.
    hash.leading_zeros() as usize / M.ilog2() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_thin_out_by_m() {
        let count = |level| (0..100_000).filter(|row| level_of(*row) >= level).count();
        assert!((5_900..6_600).contains(&count(1)) && (320..460).contains(&count(2)), "{} {}", count(1), count(2));
        assert!(count(17) == 0);
    }
}
