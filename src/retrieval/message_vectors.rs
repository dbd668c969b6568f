//! Vectors by message: one row for a short message, one for each part of a long one.

use crate::error::Result;
use crate::sorted_map::SortedMap;
use crate::vector::{Allowed, Neighbour, RowSegment, VectorIndex};

/// Rows below are documents' first parts, under the document's number; from here on come further parts.
const FIRST_PART_ID: u32 = 1 << 31;

/// A vector index whose rows are parts of messages. A message is as near as its nearest part.
pub(super) struct MessageVectors {
    rows: Box<dyn VectorIndex>,
    /// The parts behind the first and their row ids, by document.
    further: SortedMap<u32, Vec<(u32, u32)>>,
    /// The document of each row id from [`FIRST_PART_ID`] on.
    owners: Vec<u32>,
}

impl MessageVectors {
    pub fn new(rows: Box<dyn VectorIndex>) -> Self {
        Self { rows, further: SortedMap::new(), owners: Vec::new() }
    }

    pub fn rows(&self) -> &dyn VectorIndex {
        &*self.rows
    }

    pub fn grow(&mut self, budget: usize) -> bool {
        self.rows.grow(budget)
    }

    /// The row of a part, made known where it is new.
    fn row_id(&mut self, document: u32, part: u32) -> u32 {
        if part == 0 {
            return document;
        }
        let parts = self.further.get_or_default(document);
        if let Some((_, id)) = parts.iter().find(|(known, _)| *known == part) {
            return *id;
        }
        let id = FIRST_PART_ID + self.owners.len() as u32;
        parts.push((part, id));
        self.owners.push(document);
        id
    }

    pub fn set(&mut self, document: u32, part: u32, vector: &[f32]) -> Result<()> {
        let id = self.row_id(document, part);
        self.rows.insert(id, vector)
    }

    pub fn attach(&mut self, segment: &RowSegment, parts: &dyn Fn(u32) -> Option<(u32, u32)>) -> Result<()> {
        let id = |row| parts(row).map(|(document, part)| self.row_id(document, part));
        let ids: Vec<Option<u32>> = (0..segment.len() as u32).map(id).collect();
        self.rows.attach(segment, &|row| ids.get(row as usize).copied().flatten())
    }

    pub fn remove(&mut self, document: u32) {
        self.rows.remove(document);
        for (_, id) in self.further.remove(&document).unwrap_or_default() {
            self.rows.remove(id);
        }
    }

    pub fn sweep(&mut self) {
        self.rows.sweep();
    }

    fn owner(&self, id: u32) -> u32 {
        id.checked_sub(FIRST_PART_ID).and_then(|at| self.owners.get(at as usize).copied()).unwrap_or(id)
    }

    /// The `k` messages nearest to `query`, nearest first, by their nearest part.
    pub fn search(&self, query: &[f32], k: usize, allowed: Option<Allowed<'_>>) -> Result<Vec<Neighbour>> {
        let by_row = |id: u32| allowed.is_none_or(|allowed| allowed(self.owner(id)));
        let allowed: Option<Allowed<'_>> = allowed.is_some().then_some(&by_row);
        self.by_message(k, &|wanted| self.rows.search(query, wanted, allowed))
    }

    /// The same, among these messages.
    pub fn search_among(&self, query: &[f32], k: usize, documents: &[u32]) -> Result<Vec<Neighbour>> {
        if self.further.is_empty() {
            return self.rows.search_among(query, k, documents);
        }
        let further = |document: &u32| self.further.get(document).into_iter().flatten().map(|(_, id)| *id);
        let ids: Vec<u32> = documents.iter().copied().chain(documents.iter().flat_map(further)).collect();
        self.by_message(k, &|wanted| self.rows.search_among(query, wanted, &ids))
    }

    /// Rows by message: as many as it takes for `k` messages, or all.
    fn by_message(&self, k: usize, search: &dyn Fn(usize) -> Result<Vec<Neighbour>>) -> Result<Vec<Neighbour>> {
        let mut wanted = k;
        loop {
            let mut found = search(wanted)?;
            if self.further.is_empty() {
                return Ok(found);
            }
            let is_all = found.len() < wanted;
            found.iter_mut().for_each(|neighbour| neighbour.id = self.owner(neighbour.id));
            keep_first(&mut found);
            if is_all || found.len() >= k {
                found.truncate(k);
                return Ok(found);
            }
            // Messages of many parts took the places of others.
            wanted = wanted.saturating_mul(4);
        }
    }

    /// The cosine of each message's nearest part, in order; `None` where there is no vector.
    pub fn similarities(&self, query: &[f32], documents: &[u32]) -> Result<Vec<Option<f32>>> {
        let mut similarities = self.rows.similarities(query, documents)?;
        if !self.further.is_empty() {
            for (document, best) in documents.iter().zip(&mut similarities) {
                if let Some(parts) = self.further.get(document) {
                    let ids: Vec<u32> = parts.iter().map(|(_, id)| *id).collect();
                    let parts = self.rows.similarities(query, &ids)?;
                    *best = parts.into_iter().flatten().chain(*best).reduce(f32::max);
                }
            }
        }
        Ok(similarities)
    }
}

/// Leaves only the first of each id, in order.
fn keep_first(found: &mut Vec<Neighbour>) {
    let mut seen = crate::sorted_map::SortedSet::new();
    found.retain(|neighbour| seen.insert(neighbour.id));
}
