//! Fixed-width records in slabs of 1,024: no doubling, so neither slack nor a second copy while growing. That matters
//! in wasm, whose memory never shrinks.

/// Records in one slab.
const SLAB_RECORDS: usize = 1_024;

/// A growing sequence of records of `width` values each.
#[derive(Clone, Debug)]
pub(super) struct Slabs<T> {
    width: usize,
    len: usize,
    slabs: Vec<Box<[T]>>,
}

impl<T: Copy + Default> Slabs<T> {
    /// No records of `width` values.
    pub(super) fn new(width: usize) -> Self {
        Self { width, len: 0, slabs: Vec::new() }
    }

    /// Records.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Values in a record.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The record's values.
    #[inline]
    pub(super) fn get(&self, record: u32) -> &[T] {
        let record = record as usize;
        let start = record % SLAB_RECORDS * self.width;
        &self.slabs[record / SLAB_RECORDS][start..start + self.width]
    }

    /// All records, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[T]> {
        self.slabs.iter().flat_map(|slab| slab.chunks_exact(self.width)).take(self.len)
    }

    /// All records, in order, a slab at a time.
    pub(super) fn slabs(&self) -> impl Iterator<Item = &[T]> {
        let values = self.len * self.width;
        let slab_values = (SLAB_RECORDS * self.width).max(1);
        self.slabs.iter().enumerate().map(move |(at, slab)| &slab[..slab.len().min(values - at * slab_values)])
    }

    /// The record's values, to change.
    pub(super) fn get_mut(&mut self, record: u32) -> &mut [T] {
        let record = record as usize;
        let start = record % SLAB_RECORDS * self.width;
        &mut self.slabs[record / SLAB_RECORDS][start..start + self.width]
    }

    /// Appends a record of default values and hands it out to be filled.
    pub(super) fn push(&mut self) -> &mut [T] {
        if self.len.is_multiple_of(SLAB_RECORDS) {
            self.slabs.push(vec![T::default(); SLAB_RECORDS * self.width].into_boxed_slice());
        }
        let record = self.len as u32;
        self.len += 1;
        self.get_mut(record)
    }

    /// Copies record `from` over record `to`.
    pub(super) fn move_record(&mut self, from: u32, to: u32) {
        if from == to {
            return;
        }
        let (width, from, to) = (self.width, from as usize, to as usize);
        let (from_start, to_start) = (from % SLAB_RECORDS * width, to % SLAB_RECORDS * width);
        if from / SLAB_RECORDS == to / SLAB_RECORDS {
            self.slabs[to / SLAB_RECORDS].copy_within(from_start..from_start + width, to_start);
            return;
        }
        let source = std::mem::take(&mut self.slabs[from / SLAB_RECORDS]);
        self.slabs[to / SLAB_RECORDS][to_start..to_start + width]
            .copy_from_slice(&source[from_start..from_start + width]);
        self.slabs[from / SLAB_RECORDS] = source;
    }

    /// Keeps the first `len` records and zeroes what is left of the last slab, so that nothing erased stays readable.
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        self.slabs.truncate(self.len.div_ceil(SLAB_RECORDS));
        let used = self.len % SLAB_RECORDS;
        if let (Some(last), true) = (self.slabs.last_mut(), used > 0) {
            last[used * self.width..].fill(T::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_stay_what_they_are_across_slabs() {
        let mut slabs = Slabs::<u32>::new(3);
        for number in 0..3_000 {
            slabs.push().fill(number);
        }
        slabs.move_record(2_999, 5);
        slabs.move_record(7, 6);
        slabs.truncate(1_500);
        assert_eq!((slabs.len(), slabs.get(5), slabs.get(6)), (1_500, &[2_999; 3][..], &[7; 3][..]));
        assert_eq!(slabs.get(1_499), &[1_499; 3]);
        assert!(slabs.iter().eq((0..1_500).map(|record| slabs.get(record))));
        assert_eq!(slabs.push(), &[0; 3]);
    }
}
