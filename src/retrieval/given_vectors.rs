//! Vectors that the storage compared: of each message only its similarity to the question at hand is here.

use crate::error::Result;
use crate::vector::{Allowed, Neighbour, VectorIndex};

/// What a search port found, as an index: every search of it is for the question that it was found for.
pub(super) struct GivenVectors {
    dimensions: usize,
    /// In order of id.
    rows: Vec<(u32, f32)>,
}

impl GivenVectors {
    /// Of similarities by document.
    pub fn new(dimensions: usize, mut rows: Vec<(u32, f32)>) -> Self {
        crate::sorting::sort_by_key(&mut rows, &|(id, _)| *id);
        Self { dimensions, rows }
    }

    fn similarity(&self, id: u32) -> Option<f32> {
        let at = self.rows.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(self.rows[at].1)
    }
}

impl VectorIndex for GivenVectors {
    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    /// New vectors are in storage, to be found by the next question.
    fn insert(&mut self, _id: u32, _vector: &[f32]) -> Result<()> {
        Ok(())
    }

    fn remove(&mut self, id: u32) -> bool {
        let before = self.rows.len();
        self.rows.retain(|(row, _)| *row != id);
        self.rows.len() < before
    }

    fn sweep(&mut self) {}

    fn search(&self, query: &[f32], k: usize, allowed: Option<Allowed<'_>>) -> Result<Vec<Neighbour>> {
        let ids = self.rows.iter().map(|(id, _)| *id).filter(|id| allowed.is_none_or(|allowed| allowed(*id)));
        self.search_among(query, k, &ids.collect::<Vec<_>>())
    }

    fn similarities(&self, _query: &[f32], ids: &[u32]) -> Result<Vec<Option<f32>>> {
        Ok(ids.iter().map(|id| self.similarity(*id)).collect())
    }
}
