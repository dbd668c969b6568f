//! Sealed segments of the search index: pure functions of stored messages and vectors, as bytes.
//!
//! A segment covers runs of whole messages. It is a cache, never the truth: whatever is missing, damaged, or made by
//! another version is made again from the messages. Here is what its bytes are, which messages segments cover and when
//! they are merged; `engine::sealing` writes them and `engine::attaching` reads them.

mod bytes;
mod chunks;
mod coverage;
mod line;
mod row_places;
mod table;

pub use chunks::{Assembly, CHUNK_BYTES, chunk_checksum, chunks};
pub use coverage::{Stretch, Wanted, merge_due, stretches};
pub use line::{Line, line_to_bytes, pieces};
pub use row_places::{RowPlace, row_places_from_bytes, row_places_to_bytes};
pub use table::{RowDocument, Table, TableBuilder, TableRow};
