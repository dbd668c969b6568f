//! A [`TieredIndex`] as chunks of bytes, and back. A cache of what the stored vectors would give: whatever does not fit
//! is refused as `storage_corrupt`, and the caller inserts the vectors anew.
//!
//! The first chunk holds the header, every other one up to half a megabyte of rows; numbers are little-endian, and each
//! chunk ends with a checksum (FNV-1a, 64 bits). Codes are made again from the rows and the stored centre. Removed rows
//! are never written: where there are any, the graph, which they hold together, is left out and grown anew.

use super::VectorIndex;
use super::graph::Graph;
use super::rows::Rows;
use super::tiered::{TieredIndex, Tiers};
use crate::error::{Error, Result};

const HEADER_MAGIC: &[u8; 4] = b"TLVH";
const ROWS_MAGIC: &[u8; 4] = b"TLVR";
/// Of the layout below. Another one is refused, never guessed at.
const VERSION: u32 = 1;
/// A chunk of rows is closed when it has reached this size.
const CHUNK_BYTES: usize = 512 * 1_024;
/// "No row" in the layout.
const NONE: u32 = u32::MAX;

impl TieredIndex {
    /// The index as chunks of at most about half a megabyte, made one by one, so that no second copy of the whole is
    /// ever in memory. [`Restoration`] takes them back in this order.
    pub fn snapshot(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        let mut live = self.rows.live().peekable();
        let header = std::iter::once_with(|| self.header());
        header.chain(std::iter::from_fn(move || {
            live.peek()?;
            let mut chunk = ROWS_MAGIC.to_vec();
            while chunk.len() < CHUNK_BYTES {
                let Some(row) = live.next() else { break };
                self.write_row(row, &mut chunk);
            }
            Some(sealed(chunk))
        }))
    }

    /// Rows whose links are written.
    fn saved_links(&self) -> usize {
        if self.rows.dead_count() == 0 { self.graph.len() } else { 0 }
    }

    fn header(&self) -> Vec<u8> {
        let (centre, next_centre_rows) = self.rows.centre();
        let (entry, level) = self.graph.entry().filter(|_| self.saved_links() > 0).unwrap_or((NONE, 0));
        let mut chunk = HEADER_MAGIC.to_vec();
        let numbers = [
            VERSION,
            centre.len() as u32,
            self.rows.live_count() as u32,
            self.saved_links() as u32,
            entry,
            level as u32,
            u32::try_from(next_centre_rows).unwrap_or(u32::MAX),
            self.zeros.len() as u32,
        ];
        numbers.iter().chain(&self.zeros).for_each(|number| chunk.extend(number.to_le_bytes()));
        centre.iter().for_each(|value| chunk.extend(value.to_le_bytes()));
        sealed(chunk)
    }

    fn write_row(&self, row: u32, chunk: &mut Vec<u8>) {
        chunk.extend(self.rows.id(row).to_le_bytes());
        chunk.extend(self.rows.scale(row).to_le_bytes());
        let (centre, _) = self.rows.centre();
        chunk.extend(self.rows.values(row).iter().take(centre.len()).map(|value| *value as u8));
        if (row as usize) < self.saved_links() {
            chunk.extend(self.graph.twin(row).unwrap_or(NONE).to_le_bytes());
            chunk.push(self.graph.upper_layers(row) as u8);
            for layer in 0..=self.graph.upper_layers(row) {
                let links = self.graph.links(layer, row);
                chunk.push(links.len() as u8);
                links.iter().for_each(|link| chunk.extend(link.to_le_bytes()));
            }
        }
    }
}

/// An index being put together from its chunks, given in the order of [`TieredIndex::snapshot`].
pub struct Restoration {
    index: TieredIndex,
    header: Option<Header>,
}

/// What the first chunk says about the others.
#[derive(Clone, Copy)]
struct Header {
    rows: usize,
    /// Rows with links, from the first on.
    links: usize,
    /// Where searches start, and its top layer.
    entry: Option<(u32, usize)>,
}

impl Restoration {
    /// Begins to restore an index over vectors of this length.
    #[must_use]
    pub fn new(dimensions: usize, tiers: Tiers) -> Self {
        Self { index: TieredIndex::with_tiers(dimensions, tiers), header: None }
    }

    /// Takes the next chunk.
    ///
    /// # Errors
    /// `storage_corrupt` where it is not the chunk that was written; the restoration is then of no more use.
    pub fn push(&mut self, chunk: &[u8]) -> Result<()> {
        let mut reader = Reader::open(chunk)?;
        match self.header {
            None => self.read_header(&mut reader),
            Some(header) => {
                reader.expect(ROWS_MAGIC)?;
                while !reader.is_at_end() {
                    self.read_row(&mut reader, header)?;
                }
                Ok(())
            }
        }
    }

    /// The index, once every chunk was given.
    ///
    /// # Errors
    /// `storage_corrupt` where chunks are missing or the links do not hold together.
    pub fn finish(mut self) -> Result<TieredIndex> {
        let Some(Header { rows, links, entry }) = self.header else {
            return Err(corrupt("has no header"));
        };
        let is_complete = self.index.rows.len() == rows && self.index.graph.len() == links;
        if !is_complete || !self.index.graph.restore_entry(entry) {
            return Err(corrupt("is incomplete or its links do not hold together"));
        }
        Ok(self.index)
    }

    fn read_header(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        reader.expect(HEADER_MAGIC)?;
        let [version, dimensions, rows, links, entry, level, next_centre_rows, zeros] = reader.numbers()?;
        if version != VERSION || dimensions as usize != self.index.dimensions() || links > rows {
            return Err(corrupt("is of another version, another model, or not a header"));
        }
        for _ in 0..zeros {
            let [id] = reader.numbers()?;
            self.index.zeros.insert(id);
        }
        let mut centre = Vec::with_capacity(dimensions as usize);
        for _ in 0..dimensions {
            centre.push(reader.float()?);
        }
        if !reader.is_at_end() {
            return Err(corrupt("has a header of another length"));
        }
        self.index.rows.restore_centre(centre, next_centre_rows as usize);
        let entry = (entry != NONE).then_some((entry, level as usize));
        self.header = Some(Header { rows: rows as usize, links: links as usize, entry });
        Ok(())
    }

    fn read_row(&mut self, reader: &mut Reader<'_>, header: Header) -> Result<()> {
        let [id] = reader.numbers()?;
        let scale = reader.float()?;
        let dimensions = self.index.dimensions();
        let mut values: Vec<i8> = reader.bytes(dimensions)?.iter().map(|byte| *byte as i8).collect();
        let is_new = self.index.rows.row_of(id).is_none() && !self.index.zeros.contains(&id);
        let row = self.index.rows.len();
        if !is_new || row >= header.rows || scale <= 0.0 || values.contains(&i8::MIN) {
            return Err(corrupt("holds a row that cannot be"));
        }
        values.resize(Rows::padded(dimensions), 0);
        self.index.rows.push_quantised(id, &values, scale);
        if row < header.links { read_links(reader, &mut self.index.graph) } else { Ok(()) }
    }
}

fn read_links(reader: &mut Reader<'_>, graph: &mut Graph) -> Result<()> {
    let [twin] = reader.numbers()?;
    let upper_layers = reader.byte()?;
    let mut layers = Vec::new();
    for _ in 0..=upper_layers {
        let mut links = Vec::new();
        for _ in 0..reader.byte()? {
            let [link] = reader.numbers()?;
            links.push(link);
        }
        layers.push(links);
    }
    let fits = graph.restore_row((twin != NONE).then_some(twin), &layers);
    if fits { Ok(()) } else { Err(corrupt("holds links that cannot be")) }
}

/// A chunk's bytes, read in order. Running out of them is an error, never a panic.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Checks the checksum.
    fn open(chunk: &'a [u8]) -> Result<Self> {
        match chunk.split_last_chunk::<8>() {
            Some((content, sum)) if checksum(content).to_le_bytes() == *sum => Ok(Self(content)),
            _ => Err(corrupt("has a chunk whose checksum does not fit")),
        }
    }

    fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or_else(|| corrupt("ends early"))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>().ok_or_else(|| corrupt("ends early"))?;
        self.0 = rest;
        Ok(*bytes)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn numbers<const N: usize>(&mut self) -> Result<[u32; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = u32::from_le_bytes(self.array()?);
        }
        Ok(numbers)
    }

    fn float(&mut self) -> Result<f32> {
        let value = f32::from_le_bytes(self.array()?);
        if value.is_finite() { Ok(value) } else { Err(corrupt("holds a number that is not finite")) }
    }

    fn expect(&mut self, magic: &[u8; 4]) -> Result<()> {
        if self.array()? == *magic { Ok(()) } else { Err(corrupt("has its chunks in another order")) }
    }
}

fn sealed(mut chunk: Vec<u8>) -> Vec<u8> {
    let sum = checksum(&chunk);
    chunk.extend(sum.to_le_bytes());
    chunk
}

/// FNV-1a over eight bytes at a time, which finds every single flipped bit at memory speed.
fn checksum(bytes: &[u8]) -> u64 {
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(0xcbf2_9ce4_8422_2325, |sum, word| mix(sum, u64::from_le_bytes(*word)));
    rest.iter().fold(sum, |sum, byte| mix(sum, u64::from(*byte)))
}

fn corrupt(what: &str) -> Error {
    Error::corrupt(format!("the vector index's snapshot {what}; it is rebuilt from the stored vectors"))
}
