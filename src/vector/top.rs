//! The best rows seen so far.

use super::Neighbour;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A row with its similarity. Greater is nearer; of equals the lower id.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scored {
    pub(super) similarity: f32,
    pub(super) id: u32,
    pub(super) row: u32,
}

impl Ord for Scored {
    fn cmp(&self, other: &Self) -> Ordering {
        self.similarity.total_cmp(&other.similarity).then(other.id.cmp(&self.id)).then(other.row.cmp(&self.row))
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scored {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scored {}

/// The `limit` greatest of what was offered. `limit` is at least 1.
pub(super) struct Top {
    limit: usize,
    heap: BinaryHeap<Reverse<Scored>>,
}

impl Top {
    /// Keeps the `limit` greatest. Room is taken as rows come, so that a huge limit costs nothing.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, heap: BinaryHeap::with_capacity(limit.min(1_024)) }
    }

    /// Rows kept.
    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    /// The similarity that a row must reach to have a chance, where the limit is reached.
    #[inline]
    pub(super) fn floor(&self) -> f32 {
        match self.heap.peek() {
            Some(Reverse(worst)) if self.heap.len() >= self.limit => worst.similarity,
            _ => f32::NEG_INFINITY,
        }
    }

    /// Takes the row in if it is among the greatest; says whether it did.
    pub(super) fn offer(&mut self, scored: Scored) -> bool {
        if self.heap.len() < self.limit {
            self.heap.push(Reverse(scored));
            return true;
        }
        match self.heap.peek_mut() {
            Some(mut worst) if scored > worst.0 => {
                worst.0 = scored;
                true
            }
            _ => false,
        }
    }

    /// The rows, greatest first.
    pub(super) fn into_sorted(self) -> Vec<Scored> {
        self.heap.into_sorted_vec().into_iter().map(|Reverse(scored)| scored).collect()
    }

    /// The rows as the public type, nearest first.
    pub(super) fn into_neighbours(self) -> Vec<Neighbour> {
        let neighbour = |scored: Scored| Neighbour { id: scored.id, similarity: scored.similarity };
        self.into_sorted().into_iter().map(neighbour).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_are_kept_and_ties_go_to_the_lower_id() {
        let mut top = Top::new(3);
        for (id, similarity) in [(9, 0.5), (4, 0.5), (7, 0.9), (2, 0.1), (3, 0.5)] {
            top.offer(Scored { similarity, id, row: id });
        }
        assert_eq!(top.floor(), 0.5);
        let ids: Vec<u32> = top.into_neighbours().iter().map(|neighbour| neighbour.id).collect();
        assert_eq!(ids, [7, 3, 4]);
    }
}
