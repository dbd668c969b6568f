//! Rows as bytes that never change again: what is stored piece by piece instead of the whole index.
//!
//! A segment holds the rows as they are in memory, so that taking one in is little more than copying. It is a cache of
//! stored vectors: whatever does not fit is refused as `storage_corrupt`, and made again from them. Numbers are
//! little-endian. Layout: `TLVS`, version, dimensions, rows (u32 each), the centre (f32 per dimension), then per row its
//! scale (f32; 0: a zero vector), then per row its 1-bit code (u64 words), then per row its values (int8, padded with
//! zeros to whole SIMD loads). Whoever stores a segment adds a checksum.

use super::check_vector;
use super::codes::{centre_of, encode, words};
use super::kernel::signed;
use super::quantise::quantise_row;
use super::rows::Rows;
use throughline_tokens::error::{Error, Result};

const MAGIC: &[u8; 4] = b"TLVS";
/// Of the layout. Another one is refused, never guessed at.
const VERSION: u32 = 1;
/// Magic, version, dimensions, rows.
const HEADER_BYTES: usize = 16;

/// Makes a segment row by row. The same vectors and centre always give the same bytes.
pub struct RowSegmentBuilder {
    dimensions: usize,
    centre: Option<Vec<f32>>,
    scales: Vec<f32>,
    /// Padded rows, one after the other.
    values: Vec<i8>,
}

impl RowSegmentBuilder {
    /// A segment without rows. `centre` is what 1-bit codes are relative to: one of another length counts as none, and
    /// without one it is the mean of the segment's own rows. All segments of a store should have the same one (see
    /// [`super::VectorIndex::centre`] and [`RowSegment::centre`]), since rows of others are encoded anew when they are
    /// taken in.
    #[must_use]
    pub fn new(dimensions: usize, centre: Option<&[f32]>) -> Self {
        let centre = centre.filter(|centre| centre.len() == dimensions).map(<[f32]>::to_vec);
        Self { dimensions, centre, scales: Vec::new(), values: Vec::new() }
    }

    /// Appends a row. A zero vector keeps its place.
    ///
    /// # Errors
    /// As [`super::VectorIndex::insert`]; the segment is then as before.
    pub fn push(&mut self, vector: &[f32]) -> Result<()> {
        check_vector(self.dimensions, vector)?;
        let start = self.values.len();
        self.values.resize(start + Rows::padded(self.dimensions), 0);
        self.scales.push(quantise_row(vector, &mut self.values[start..]).unwrap_or(0.0));
        Ok(())
    }

    /// The bytes of the segment.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        let width = Rows::padded(self.dimensions);
        let row = |row: usize| &self.values[row * width..(row + 1) * width];
        let all = || self.scales.iter().enumerate().map(|(at, scale)| (row(at), *scale));
        let centre = self.centre.clone().unwrap_or_else(|| {
            let count = self.scales.iter().filter(|scale| **scale > 0.0).count();
            centre_of(self.dimensions, count, all().filter(|(_, scale)| *scale > 0.0))
        });
        let mut writer = Writer::new(self.dimensions, self.scales.len(), &centre);
        let mut code = vec![0; words(self.dimensions)];
        for (values, scale) in all() {
            encode(&centre, values, scale, &mut code);
            writer.push(scale, &code, values);
        }
        writer.bytes
    }
}

/// The bytes of a segment, of their whole size from the beginning: they are a megabyte or more, and what is copied while
/// growing would stay in wasm's memory, which never shrinks.
struct Writer {
    bytes: Vec<u8>,
    /// Where the next row's scale, code and values go.
    next: [usize; 3],
}

impl Writer {
    fn new(dimensions: usize, rows: usize, centre: &[f32]) -> Self {
        let code_bytes = 8 * words(dimensions);
        let scales = HEADER_BYTES + 4 * dimensions;
        let codes = scales + 4 * rows;
        let values = codes + code_bytes * rows;
        let end = values + Rows::padded(dimensions) * rows;
        let mut bytes = Vec::with_capacity(end);
        bytes.extend(MAGIC);
        [VERSION, dimensions as u32, rows as u32].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        centre.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
        bytes.resize(end, 0);
        Self { bytes, next: [scales, codes, values] }
    }

    fn push(&mut self, scale: f32, code: &[u64], values: &[i8]) {
        self.put(0, scale.to_le_bytes().into_iter());
        self.put(1, code.iter().flat_map(|word| word.to_le_bytes()));
        self.put(2, values.iter().map(|value| *value as u8));
    }

    fn put(&mut self, which: usize, bytes: impl Iterator<Item = u8>) {
        let Some(next) = self.next.get_mut(which) else { return };
        for (place, byte) in self.bytes.iter_mut().skip(*next).zip(bytes) {
            *place = byte;
            *next += 1;
        }
    }
}

/// A segment that was read back.
pub struct RowSegment {
    bytes: Vec<u8>,
    dimensions: usize,
    rows: usize,
    centre: Vec<f32>,
    codes_start: usize,
    values_start: usize,
}

impl RowSegment {
    /// Reads a segment. Its bytes are kept as they are.
    ///
    /// # Errors
    /// `storage_corrupt` for anything that [`RowSegmentBuilder`] cannot have written.
    pub fn open(bytes: Vec<u8>) -> Result<Self> {
        let header = bytes.get(..HEADER_BYTES).and_then(|header| header.strip_prefix(MAGIC));
        let (numbers, _) = header.ok_or_else(|| corrupt("has no header"))?.as_chunks::<4>();
        let [version, dimensions, rows] =
            [0, 1, 2].map(|at| numbers.get(at).map_or(0, |four| u32::from_le_bytes(*four)));
        if version != VERSION {
            return Err(corrupt("has another layout"));
        }
        let (dimensions, rows) = (dimensions as usize, rows as usize);
        // In 64 bits: nothing that a header claims may overflow.
        let scales_start = HEADER_BYTES as u64 + 4 * dimensions as u64;
        let codes_start = scales_start + 4 * rows as u64;
        let values_start = codes_start.saturating_add(8 * words(dimensions) as u64 * rows as u64);
        let end = values_start.saturating_add((Rows::padded(dimensions) as u64).saturating_mul(rows as u64));
        if end != bytes.len() as u64 {
            return Err(corrupt("has another length than it says"));
        }
        let (codes_start, values_start) = (codes_start as usize, values_start as usize);
        let numbers = bytes.get(HEADER_BYTES..codes_start).unwrap_or_default().as_chunks::<4>().0;
        let mut floats: Vec<f32> = numbers.iter().map(|four| f32::from_le_bytes(*four)).collect();
        let is_scale = |scale: &f32| (0.0..=1.0).contains(scale);
        if !floats.iter().all(|value| value.is_finite()) || !floats.iter().skip(dimensions).all(is_scale) {
            return Err(corrupt("holds numbers that cannot be"));
        }
        floats.truncate(dimensions);
        Ok(Self { bytes, dimensions, rows, centre: floats, codes_start, values_start })
    }

    /// Rows, zero vectors included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Length of every vector.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// What its 1-bit codes are relative to.
    #[must_use]
    pub fn centre(&self) -> &[f32] {
        &self.centre
    }

    /// The segment of the rows to keep, segment after segment, in order. It has the first one's centre.
    ///
    /// # Errors
    /// `invalid_argument` where there is no segment, `embedding_dimension_mismatch` where they differ in dimensions.
    pub fn merged(parts: &[(&Self, &dyn Fn(u32) -> bool)]) -> Result<Vec<u8>> {
        let Some((first, _)) = parts.first() else {
            return Err(Error::invalid_argument("there is no segment to merge; give at least one"));
        };
        let mut kept = Vec::new();
        for (segment, keep) in parts {
            segment.check_dimensions(first.dimensions)?;
            kept.extend((0..segment.rows as u32).filter(|row| keep(*row)).map(|row| (*segment, row)));
        }
        let mut writer = Writer::new(first.dimensions, kept.len(), &first.centre);
        let mut code = vec![0; words(first.dimensions)];
        for (segment, row) in kept {
            segment.code(row, &first.centre, &mut code);
            writer.push(segment.scale(row), &code, segment.values(row));
        }
        Ok(writer.bytes)
    }

    /// That its vectors have the length of an index's.
    pub(super) fn check_dimensions(&self, dimensions: usize) -> Result<()> {
        if self.dimensions == dimensions { Ok(()) } else { Err(super::dimension_mismatch(self.dimensions, dimensions)) }
    }

    /// A row's vector, as far as quantisation keeps it: of length 1, or zero.
    pub(super) fn vector(&self, row: u32) -> Vec<f32> {
        let scale = self.scale(row);
        self.values(row).iter().take(self.dimensions).map(|value| f32::from(*value) * scale).collect()
    }

    /// A row's scale; 0 for a zero vector.
    pub(super) fn scale(&self, row: u32) -> f32 {
        let start = HEADER_BYTES + 4 * (self.dimensions + row as usize);
        self.bytes.get(start..).and_then(|rest| rest.first_chunk()).map_or(0.0, |four| f32::from_le_bytes(*four))
    }

    /// A row's values, padded.
    pub(super) fn values(&self, row: u32) -> &[i8] {
        let width = Rows::padded(self.dimensions);
        let start = self.values_start + row as usize * width;
        signed(self.bytes.get(start..start + width).unwrap_or_default())
    }

    /// A row's code relative to a centre: the stored one where that is the segment's.
    pub(super) fn code(&self, row: u32, centre: &[f32], code: &mut [u64]) {
        if centre != self.centre {
            return encode(centre, self.values(row), self.scale(row), code);
        }
        let start = self.codes_start + row as usize * code.len() * 8;
        let stored = self.bytes.get(start..start + code.len() * 8).unwrap_or_default().as_chunks::<8>().0;
        code.iter_mut().zip(stored).for_each(|(word, bytes)| *word = u64::from_le_bytes(*bytes));
    }
}

fn corrupt(what: &str) -> Error {
    Error::corrupt(format!("a stored segment of vectors {what}; it is made again from the stored vectors"))
}
