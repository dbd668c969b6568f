//! The quantised rows that every way of searching reads: int8 values, 1-bit codes, ids and tombstones.

use super::bits::Bits;
use super::codes::{centre_of, encode, encode_unit, words};
use super::id_table::IdTable;
use super::kernel::{dot_i8, dot_i16_i8, hamming};
use super::quantise::{Query, quantise_row};
use super::segment::RowSegment;
use super::slabs::Slabs;
use super::top::{Scored, Top};

/// Rows are padded to whole SIMD loads.
const ROW_ALIGNMENT: usize = 16;
/// The centre of the codes is looked at again at this many rows, and at every doubling.
const FIRST_CENTRE_ROWS: usize = 256;
/// Rows whose codes are looked at together for whether one of them is near.
const NEAR_CHUNK: usize = 64;
/// Rows that are fetched before they are compared.
const FETCHED_TOGETHER: usize = 16;
/// Bytes that a processor reads at once.
const MEMORY_LINE: usize = 64;
/// Codes are made anew when the centre has moved by more than this share of a unit vector.
const CENTRE_DRIFT: f32 = 0.05;

/// Quantised rows, numbered from 0 in order of insertion. A removed row stays as a tombstone until [`Rows::compact`].
pub(super) struct Rows {
    dimensions: usize,
    values: Slabs<i8>,
    codes: Slabs<u64>,
    scales: Vec<f32>,
    ids: Vec<u32>,
    dead: Bits,
    dead_count: usize,
    /// The last row of every id; it may be a tombstone.
    by_id: IdTable,
    /// What the codes are relative to: a fixed mean, so that codes of one generation can be compared.
    centre: Vec<f32>,
    /// Rows at which the centre is looked at again; `None` once it is that of a segment.
    next_centre_rows: Option<usize>,
}

impl Rows {
    /// Length of a row's values in memory: zeros follow the dimensions.
    pub(super) fn padded(dimensions: usize) -> usize {
        dimensions.next_multiple_of(ROW_ALIGNMENT)
    }

    pub(super) fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            values: Slabs::new(Self::padded(dimensions)),
            codes: Slabs::new(words(dimensions)),
            scales: Vec::new(),
            ids: Vec::new(),
            dead: Bits::default(),
            dead_count: 0,
            by_id: IdTable::default(),
            centre: vec![0.0; dimensions],
            next_centre_rows: Some(FIRST_CENTRE_ROWS),
        }
    }

    /// Rows, tombstones included: the next row's number.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn live_count(&self) -> usize {
        self.ids.len() - self.dead_count
    }

    pub(super) fn dead_count(&self) -> usize {
        self.dead_count
    }

    pub(super) fn is_live(&self, row: u32) -> bool {
        !self.dead.contains(row)
    }

    pub(super) fn id(&self, row: u32) -> u32 {
        self.ids[row as usize]
    }

    /// The live row of an id.
    pub(super) fn row_of(&self, id: u32) -> Option<u32> {
        self.by_id.get(id).filter(|row| self.is_live(*row))
    }

    /// The numbers of the live rows.
    pub(super) fn live(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len() as u32).filter(|row| self.is_live(*row))
    }

    /// What the codes are relative to: zero until there are enough rows for a mean.
    pub(super) fn centre(&self) -> &[f32] {
        &self.centre
    }

    /// Takes the centre of a segment for good, unless that of another one is in use.
    pub(super) fn adopt_centre(&mut self, centre: &[f32]) {
        if self.next_centre_rows.take().is_some() && self.centre != centre {
            self.set_centre(centre.to_vec());
        }
    }

    /// The query in the form that rows are compared with; `None` where it has no direction.
    pub(super) fn query(&self, vector: &[f32]) -> Option<Query> {
        Query::new(vector, self.values.width())
    }

    /// Appends a row for an id that has none. False, and nothing stored, where the vector has no direction.
    pub(super) fn push(&mut self, id: u32, vector: &[f32]) -> bool {
        let mut values = vec![0; self.values.width()];
        let Some(scale) = quantise_row(vector, &mut values) else {
            return false;
        };
        self.push_quantised(id, &values, scale);
        true
    }

    /// Appends a row of a segment for an id that has none.
    pub(super) fn push_sealed(&mut self, id: u32, segment: &RowSegment, row: u32) {
        self.append(id, segment.values(row), segment.scale(row));
        segment.code(row, &self.centre, self.codes.push());
    }

    fn push_quantised(&mut self, id: u32, values: &[i8], scale: f32) {
        self.append(id, values, scale);
        encode(&self.centre, values, scale, self.codes.push());
        if self.next_centre_rows.is_some_and(|rows| self.len() >= rows) {
            self.next_centre_rows = Some(self.len().saturating_mul(2));
            self.recentre();
        }
    }

    /// Everything of a row but its code.
    fn append(&mut self, id: u32, values: &[i8], scale: f32) {
        self.by_id.set(id, self.ids.len() as u32);
        self.values.push().copy_from_slice(values);
        self.scales.push(scale);
        self.ids.push(id);
    }

    /// Makes the row of this id a tombstone; false where there is none.
    pub(super) fn remove(&mut self, id: u32) -> bool {
        let Some(row) = self.row_of(id) else {
            return false;
        };
        self.dead.insert(row);
        self.dead_count += 1;
        true
    }

    /// Zeroes what tombstones hold.
    pub(super) fn blank_dead(&mut self) {
        if self.dead_count == 0 {
            return;
        }
        for row in (0..self.ids.len() as u32).filter(|row| self.dead.contains(*row)) {
            self.values.get_mut(row).fill(0);
            self.codes.get_mut(row).fill(0);
            self.scales[row as usize] = 0.0;
        }
    }

    /// Drops tombstones by moving live rows down, in order. Row numbers change.
    pub(super) fn compact(&mut self) {
        let live: Vec<u32> = self.live().collect();
        for (to, from) in live.iter().enumerate() {
            self.values.move_record(*from, to as u32);
            self.codes.move_record(*from, to as u32);
            self.scales[to] = self.scales[*from as usize];
            self.ids[to] = self.ids[*from as usize];
        }
        self.values.truncate(live.len());
        self.codes.truncate(live.len());
        self.scales.truncate(live.len());
        self.ids.truncate(live.len());
        self.by_id = IdTable::default();
        self.ids.iter().zip(0..).for_each(|(id, row)| self.by_id.set(*id, row));
        self.dead.clear();
        self.dead_count = 0;
        if self.next_centre_rows.is_some() {
            self.next_centre_rows = Some(live.len().saturating_mul(2).max(FIRST_CENTRE_ROWS));
            self.recentre();
        }
    }

    /// The cosine of a query and a row, in -1..=1.
    #[inline]
    pub(super) fn similarity(&self, query: &Query, row: u32) -> f32 {
        let sum = dot_i16_i8(&query.values, self.values.get(row));
        (sum as f32 * query.scale * self.scales[row as usize]).clamp(-1.0, 1.0)
    }

    /// The cosine of two rows, in -1..=1.
    #[inline]
    pub(super) fn similarity_of_rows(&self, a: u32, b: u32) -> f32 {
        let sum = dot_i8(self.values.get(a), self.values.get(b));
        (sum as f32 * self.scales[a as usize] * self.scales[b as usize]).clamp(-1.0, 1.0)
    }

    /// [`Rows::scan`] of rows that lie anywhere.
    pub(super) fn scan_apart(&self, query: &Query, rows: &[u32], accept: &dyn Fn(u32) -> bool, top: &mut Top) {
        self.similarities(query, rows, &mut |row, similarity| self.offer(row, similarity, accept, top));
    }

    /// Compares the query with each of the rows exactly (as far as quantisation goes).
    pub(super) fn scan(
        &self,
        query: &Query,
        rows: impl Iterator<Item = u32>,
        accept: &dyn Fn(u32) -> bool,
        top: &mut Top,
    ) {
        for row in rows {
            self.offer(row, self.similarity(query, row), accept, top);
        }
    }

    /// Whether a row is accepted is asked last, of those that would be kept.
    #[inline]
    fn offer(&self, row: u32, similarity: f32, accept: &dyn Fn(u32) -> bool, top: &mut Top) {
        if similarity >= top.floor() && accept(row) {
            top.offer(Scored { similarity, id: self.id(row), row });
        }
    }

    /// The cosines of a query and rows that lie anywhere.
    pub(super) fn similarities(&self, query: &Query, rows: &[u32], see: &mut dyn FnMut(u32, f32)) {
        for together in rows.chunks(FETCHED_TOGETHER) {
            self.fetch(together);
            together.iter().for_each(|row| see(*row, self.similarity(query, *row)));
        }
    }

    /// Reads something of each memory line of the rows. These reads do not wait for one another; in the middle of a
    /// comparison each would be waited for.
    fn fetch(&self, rows: &[u32]) {
        let mut all = 0;
        for row in rows {
            for line in self.values.get(*row).chunks(MEMORY_LINE) {
                all ^= line[0];
            }
        }
        std::hint::black_box(all);
    }

    /// The `count` or some more of the accepted rows whose codes differ least from the query's, among these rows or all
    /// of them: a coarse ranking at a third of the price or less. Rows as far away as the last one are all in, so that
    /// order of insertion decides nothing. About one row in `per_accepted` is accepted; it is asked of the near ones only.
    pub(super) fn nearest_codes(
        &self,
        query: &Query,
        among: Option<&[u32]>,
        accept: &dyn Fn(u32) -> bool,
        count: usize,
        per_accepted: usize,
    ) -> Vec<u32> {
        let mut code = vec![0; self.codes.width()];
        encode_unit(&self.centre, query.unit.iter().copied(), &mut code);
        let differences = self.differences(&code, among);
        let mut histogram = vec![0u32; self.dimensions + 1];
        differences.iter().for_each(|difference| histogram[*difference as usize] += 1);
        let mut near = Vec::new();
        let (mut from, mut seen, mut wanted) = (0usize, 0usize, count.saturating_mul(per_accepted));
        while from < histogram.len() && near.len() < count {
            let mut end = from;
            while end < histogram.len() && seen < wanted {
                seen += histogram[end] as usize;
                end += 1;
            }
            let (first, width) = (from as u16, (end - from) as u16);
            let is_near = |difference: &u16| difference.wrapping_sub(first) < width;
            for (chunk, rows) in differences.chunks(NEAR_CHUNK).zip((0..).step_by(NEAR_CHUNK)) {
                // Mostly none is: that is seen without a branch for each.
                if chunk.iter().fold(false, |any, difference| any | is_near(difference)) {
                    let places = (rows..).zip(chunk).filter(|(_, difference)| is_near(difference));
                    let near_rows = places.map(|(at, _)| among.map_or(at as u32, |rows| rows[at]));
                    near.extend(near_rows.filter(|row| accept(*row)));
                }
            }
            from = end;
            wanted = wanted.saturating_mul(2);
        }
        near
    }

    /// In how many bits each row's code differs from this one, among these rows or all of them.
    fn differences(&self, code: &[u64], among: Option<&[u32]>) -> Vec<u16> {
        let Some(rows) = among else {
            // The widths of usual models: a loop of known length takes half the time.
            return match code.len() {
                4 => self.differences_of_all::<4>(code),
                6 => self.differences_of_all::<6>(code),
                8 => self.differences_of_all::<8>(code),
                12 => self.differences_of_all::<12>(code),
                _ => self.codes.iter().map(|row| hamming(code, row) as u16).collect(),
            };
        };
        rows.iter().map(|row| hamming(code, self.codes.get(*row)) as u16).collect()
    }

    fn differences_of_all<const WIDTH: usize>(&self, code: &[u64]) -> Vec<u16> {
        let mut differences = Vec::with_capacity(self.len());
        let Some(code) = code.first_chunk::<WIDTH>() else { return differences };
        for slab in self.codes.slabs() {
            differences.extend(slab.as_chunks::<WIDTH>().0.iter().map(|row| hamming(code, row) as u16));
        }
        differences
    }

    /// Whether two rows were quantised to the same numbers.
    pub(super) fn is_twin(&self, a: u32, b: u32) -> bool {
        self.values.get(a) == self.values.get(b)
    }

    /// Bytes held in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        let rows = self.values.len().next_multiple_of(1_024);
        let of_rows = rows * (self.values.width() + 8 * self.codes.width());
        of_rows + self.scales.capacity() * 4 + self.ids.capacity() * 4 + self.by_id.memory_bytes()
    }

    /// Takes the mean of the live rows as the centre of the codes, if it has moved, and makes all codes anew.
    fn recentre(&mut self) {
        let live = self.live().map(|row| (self.values.get(row), self.scales[row as usize]));
        let mean = centre_of(self.dimensions, self.live_count(), live);
        let drift: f32 = mean.iter().zip(&self.centre).map(|(new, old)| (new - old) * (new - old)).sum();
        if drift > CENTRE_DRIFT * CENTRE_DRIFT {
            self.set_centre(mean);
        }
    }

    /// Makes all codes anew.
    fn set_centre(&mut self, centre: Vec<f32>) {
        self.centre = centre;
        for row in 0..self.len() as u32 {
            encode(&self.centre, self.values.get(row), self.scales[row as usize], self.codes.get_mut(row));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(seed: u32) -> Vec<f32> {
        // A common offset, so that codes without a centre would be nearly all ones.
        (0..48u32).map(|d| 1.0 + ((seed * 7_919 + d * 104_729) % 1_000) as f32 / 500.0).collect()
    }

    #[test]
    fn compaction_keeps_rows_ids_and_similarities() {
        let mut rows = Rows::new(48);
        for id in 0..2_500 {
            assert!(rows.push(id, &vector(id)));
        }
        for id in (0..2_500).step_by(3) {
            assert!(rows.remove(id) && !rows.remove(id));
        }
        let query = rows.query(&vector(9_999)).unwrap();
        let similarity = |rows: &Rows, id| rows.row_of(id).map(|row| rows.similarity(&query, row));
        let before: Vec<_> = (0..2_500).map(|id| similarity(&rows, id)).collect();
        rows.compact();
        assert_eq!((rows.len(), rows.dead_count()), (rows.live_count(), 0));
        assert_eq!(before, (0..2_500).map(|id| similarity(&rows, id)).collect::<Vec<_>>());
        assert!(rows.live().all(|row| rows.row_of(rows.id(row)) == Some(row)));
    }

    #[test]
    fn codes_follow_the_centre_and_are_complete() {
        let mut rows = Rows::new(48);
        for id in 0..1_000 {
            rows.push(id, &vector(id));
        }
        let set: u32 = (0..1_000).map(|row| rows.codes.get(row)[0].count_ones()).sum();
        let share = f64::from(set) / 48_000.0;
        assert!((0.4..0.6).contains(&share), "bits are balanced around the centre: {share}");
        let query = rows.query(&vector(7)).unwrap();
        let (all, some): (Vec<u32>, Vec<u32>) = ((0..1_000).collect(), (0..1_000).step_by(10).collect());
        let nearest = |among, count| rows.nearest_codes(&query, among, &|_| true, count, 1);
        assert!(nearest(None, 1).contains(&7));
        assert!((50..200).contains(&nearest(None, 50).len()));
        assert_eq!((nearest(None, 1_000).len(), nearest(Some(&some), 5_000).len()), (1_000, 100));
        assert_eq!(nearest(None, 50), nearest(Some(&all), 50));
        // A filter is asked of the near ones, and of more of them as long as there are too few.
        let asked = std::cell::Cell::new(0);
        let accept = |row: u32| {
            asked.set(asked.get() + 1);
            row.is_multiple_of(4)
        };
        let found = rows.nearest_codes(&query, None, &accept, 20, 1);
        assert!(found.len() >= 20 && found.iter().all(|row| row.is_multiple_of(4)) && asked.get() < 500, "{asked:?}");
        assert!(rows.nearest_codes(&query, None, &|_| false, 20, 1).is_empty());
    }
}
