//! Nearest neighbours by cosine: one trait, one main implementation that reads the same quantised rows in three ways.
//!
//! A crate of its own because optimisation levels are set by crate: this one is built for speed.
//!
//! Useful for: "which of these messages mean something like this". Not useful for exact words: that is the lexical
//! index's part. The index is a cache over full vectors that live in storage: it can always be rebuilt from them.

mod bits;
mod codes;
mod graph;
mod id_table;
#[cfg(feature = "instant-distance")]
mod instant;
#[allow(unsafe_code)] // the one file with SIMD loads; each states why it is sound
pub mod kernel;
mod quantise;
mod rows;
mod segment;
mod slabs;
mod tiered;
mod top;

#[cfg(feature = "instant-distance")]
pub use instant::InstantIndex;
pub use segment::{RowSegment, RowSegmentBuilder};
pub use tiered::{TieredIndex, Tiers};

use throughline_tokens::error::{Code, Error, Result};

/// Which ids a search may return. It is asked for what would be found, and for a sample, rather than for every row.
pub type Allowed<'a> = &'a dyn Fn(u32) -> bool;

/// One row near a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// The row's id, as given to [`VectorIndex::insert`].
    pub id: u32,
    /// Cosine, clamped to -1..=1; 1 is the same direction.
    pub similarity: f32,
}

/// An index over vectors of one length and one model. Ids are the caller's.
///
/// Vectors need not be normalised: only their direction counts.
pub trait VectorIndex {
    /// Length of every vector.
    fn dimensions(&self) -> usize;

    /// Rows that were inserted and not removed, zero vectors included.
    fn len(&self) -> usize;

    /// Whether there is no row.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a row, or replaces the one of this id. A zero vector is accepted and never found, since it has no direction.
    ///
    /// # Errors
    /// [`Code::EmbeddingDimensionMismatch`] for another length, [`Code::EmbeddingFailed`] for NaN or infinity; the
    /// index is then as before.
    fn insert(&mut self, id: u32, vector: &[f32]) -> Result<()>;

    /// Forgets a row; false where there was none.
    fn remove(&mut self, id: u32) -> bool;

    /// Overwrites what is still held of rows that were forgotten; call it after an erasure.
    fn sweep(&mut self);

    /// The `k` rows nearest to `query`, nearest first, ties by lower id; fewer where fewer exist. Only ids for which
    /// `allowed` says yes are returned. A zero query finds nothing.
    ///
    /// # Errors
    /// As [`VectorIndex::insert`].
    fn search(&self, query: &[f32], k: usize, allowed: Option<Allowed<'_>>) -> Result<Vec<Neighbour>>;

    /// As [`VectorIndex::search`], among these ids only: the way where few are allowed and it is known which.
    ///
    /// # Errors
    /// As [`VectorIndex::insert`].
    fn search_among(&self, query: &[f32], k: usize, ids: &[u32]) -> Result<Vec<Neighbour>> {
        let found = self.similarities(query, ids)?;
        let known = ids.iter().zip(found).filter_map(|(id, found)| Some(Neighbour { id: *id, similarity: found? }));
        let mut known: Vec<Neighbour> = known.collect();
        known.sort_unstable_by(|a, b| b.similarity.total_cmp(&a.similarity).then(a.id.cmp(&b.id)));
        known.dedup_by_key(|neighbour| neighbour.id);
        known.truncate(k);
        Ok(known)
    }

    /// The cosine of each id, in order; `None` for an id that is not there or whose vector is zero.
    ///
    /// # Errors
    /// As [`VectorIndex::insert`].
    fn similarities(&self, query: &[f32], ids: &[u32]) -> Result<Vec<Option<f32>>>;

    /// Takes the rows of a segment in, each under the id that `ids` gives it, in place of what was there; rows without one
    /// are left out. Searches then find them as if they had been inserted.
    ///
    /// # Errors
    /// [`Code::EmbeddingDimensionMismatch`] for a segment of another length; the index is then as before.
    fn attach(&mut self, segment: &RowSegment, ids: &dyn Fn(u32) -> Option<u32>) -> Result<()> {
        segment.check_dimensions(self.dimensions())?;
        for row in 0..segment.len() as u32 {
            if let Some(id) = ids(row) {
                self.insert(id, &segment.vector(row))?;
            }
        }
        Ok(())
    }

    /// What 1-bit codes are relative to, for [`RowSegmentBuilder::new`]; `None` where there are none, or too few rows.
    fn centre(&self) -> Option<&[f32]> {
        None
    }

    /// Grows a pending accelerator by at most about `budget` insertions; true while there is more to do. Results do
    /// not depend on it, only speed does. Without an accelerator there is nothing to do.
    fn grow(&mut self, _budget: usize) -> bool {
        false
    }
}

/// The check that every implementation makes before it touches anything.
fn check_vector(dimensions: usize, vector: &[f32]) -> Result<()> {
    if vector.len() != dimensions {
        return Err(dimension_mismatch(vector.len(), dimensions));
    }
    match vector.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(position) => Err(Error::new(
            Code::EmbeddingFailed,
            format!("the vector's number at position {position} is not finite; embed the text again"),
        )),
    }
}

fn dimension_mismatch(given: usize, dimensions: usize) -> Error {
    Error::new(
        Code::EmbeddingDimensionMismatch,
        format!("the vector has {given} numbers and the index {dimensions}; give vectors of one model only"),
    )
}
