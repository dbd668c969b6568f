//! [`VectorIndex`] on the crate `instant-distance`, the one named on the project's card. Not the default because:
//!
//! - it is built in one blocking call and takes no row afterwards, so every change costs a whole build at the next
//!   search (2 to 20 times what [`super::TieredIndex`] needs for all its rows);
//! - it cannot delete or filter, and its ef is fixed when it is built: searches with a filter, or for more than its ef,
//!   are answered here by comparing all rows;
//! - its points must own their numbers in full precision: about 1,860 bytes a row at 384 dimensions instead of 600.
//!
//! It stays as an independent implementation that passes the same suite and is measured beside ours.

use super::kernel::dot_f32;
use super::top::{Scored, Top};
use super::{Allowed, Neighbour, VectorIndex, check_vector};
use instant_distance::{Builder, HnswMap, Point, Search};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use throughline_tokens::error::Result;

/// Results that the crate's search gives, fixed when it is built.
const EF_SEARCH: usize = 100;
/// Seed of the crate's layers: a fixed one, so that the same rows give the same graph on one thread.
const SEED: u64 = 0x7468_726f_7567_686c;

/// A unit vector shared with the map of rows.
#[derive(Clone)]
struct UnitVector(Arc<[f32]>);

impl Point for UnitVector {
    fn distance(&self, other: &Self) -> f32 {
        (1.0 - dot_f32(&self.0, &other.0)).clamp(0.0, 2.0)
    }
}

/// The index. The graph is built at the first search after a change.
pub struct InstantIndex {
    dimensions: usize,
    /// `None`: a zero vector.
    rows: BTreeMap<u32, Option<Arc<[f32]>>>,
    built: RefCell<Option<HnswMap<UnitVector, u32>>>,
}

impl InstantIndex {
    /// An empty index over vectors of this length.
    #[must_use]
    pub fn new(dimensions: usize) -> Self {
        Self { dimensions, rows: BTreeMap::new(), built: RefCell::new(None) }
    }

    fn search_graph(&self, query: &Arc<[f32]>, k: usize) -> Vec<Neighbour> {
        let mut built = self.built.borrow_mut();
        let map = built.get_or_insert_with(|| {
            let found = self.rows.iter().filter_map(|(id, unit)| unit.clone().map(|unit| (UnitVector(unit), *id)));
            let (points, ids): (Vec<_>, Vec<_>) = found.unzip();
            // Without the heuristic: a tenth to a fifth of the build time for .003 recall.
            Builder::default().seed(SEED).select_heuristic(None).ef_search(EF_SEARCH).build(points, ids)
        });
        let (mut search, mut top) = (Search::default(), Top::new(k));
        for item in map.search(&UnitVector(query.clone()), &mut search) {
            let similarity = dot_f32(query, &item.point.0).clamp(-1.0, 1.0);
            top.offer(Scored { similarity, id: *item.value, row: 0 });
        }
        top.into_neighbours()
    }

    fn scan(&self, query: &[f32], k: usize, allowed: Option<Allowed<'_>>) -> Vec<Neighbour> {
        let mut top = Top::new(k);
        for (id, unit) in &self.rows {
            if let Some(unit) = unit.as_ref().filter(|_| allowed.is_none_or(|allowed| allowed(*id))) {
                top.offer(Scored { similarity: dot_f32(query, unit).clamp(-1.0, 1.0), id: *id, row: 0 });
            }
        }
        top.into_neighbours()
    }
}

impl VectorIndex for InstantIndex {
    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn insert(&mut self, id: u32, vector: &[f32]) -> Result<()> {
        check_vector(self.dimensions, vector)?;
        self.rows.insert(id, unit(vector));
        self.built.take();
        Ok(())
    }

    fn remove(&mut self, id: u32) -> bool {
        let was_there = self.rows.remove(&id).is_some();
        if was_there {
            self.built.take();
        }
        was_there
    }

    /// A removed row is not kept.
    fn sweep(&mut self) {}

    fn search(&self, query: &[f32], k: usize, allowed: Option<Allowed<'_>>) -> Result<Vec<Neighbour>> {
        check_vector(self.dimensions, query)?;
        let Some(query) = unit(query).filter(|_| k > 0) else {
            return Ok(Vec::new());
        };
        if allowed.is_none() && k <= EF_SEARCH && self.rows.values().flatten().count() > EF_SEARCH {
            let found = self.search_graph(&query, k);
            if found.len() == k {
                return Ok(found);
            }
        }
        Ok(self.scan(&query, k, allowed))
    }

    fn similarities(&self, query: &[f32], ids: &[u32]) -> Result<Vec<Option<f32>>> {
        check_vector(self.dimensions, query)?;
        let Some(query) = unit(query) else {
            return Ok(vec![None; ids.len()]);
        };
        let similarity = |id| {
            let row: &Option<Arc<[f32]>> = self.rows.get(id)?;
            row.as_ref().map(|row| dot_f32(&query, row).clamp(-1.0, 1.0))
        };
        Ok(ids.iter().map(similarity).collect())
    }
}

/// The vector's direction; `None` for zero.
fn unit(vector: &[f32]) -> Option<Arc<[f32]>> {
    let largest = vector.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
    if largest == 0.0 {
        return None;
    }
    let length = vector.iter().map(|value| f64::from(value / largest).powi(2)).sum::<f64>().sqrt();
    Some(vector.iter().map(|value| (f64::from(value / largest) / length) as f32).collect())
}
