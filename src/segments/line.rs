//! The line of a message: what the engine and the index keep of it in memory, where its words and vectors are searched by the
//! storage (see [`crate::store::search`]). And how lists of such pieces cross from there.
//!
//! A line is `terms of its text: two bytes, lowest first; whether it is streaming: a byte; a table of this one message`.

use super::bytes::Reader;
use super::table::{Table, TableBuilder, TableRow};
use crate::message::Seq;

/// What stands in a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line<'a> {
    /// Terms of the text, stop words left out.
    pub terms: u16,
    /// Parts of the message are still arriving.
    pub is_streaming: bool,
    /// The message; of its document, the marks are not here.
    pub row: TableRow<'a>,
}

/// The bytes of the line of the message at a position.
#[must_use]
pub fn line_to_bytes(seq: Seq, line: &Line<'_>) -> Vec<u8> {
    let mut table = TableBuilder::default();
    table.begin_run();
    table.push(seq, &line.row);
    let mut bytes = line.terms.to_le_bytes().to_vec();
    bytes.push(line.is_streaming.into());
    bytes.extend(table.finish());
    bytes
}

impl<'a> Line<'a> {
    /// Reads a line. `None`: these are other bytes.
    #[must_use]
    pub fn from_bytes(seq: Seq, bytes: &'a [u8]) -> Option<Self> {
        let (head, table) = bytes.split_first_chunk::<3>()?;
        let row = Table::open(table, 1)?.only_row(seq)?;
        Some(Self { terms: u16::from_le_bytes([head[0], head[1]]), is_streaming: head[2] != 0, row })
    }
}

/// Reads a list of pieces, each `position, length in bytes: four bytes each, highest first; bytes`. It ends early where the
/// bytes are others.
pub fn pieces(bytes: &[u8]) -> impl Iterator<Item = (Seq, &[u8])> {
    let mut reader = Reader(bytes);
    std::iter::from_fn(move || {
        let [a, b, c, d, e, f, g, h] = reader.eight()?;
        let (seq, length) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
        Some((seq, reader.take(length as usize)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Role, VariableParts};
    use crate::segments::RowDocument;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            seq in 1_u32..1_000, parent in any::<prop::sample::Index>(), terms in any::<u16>(), is_streaming: bool,
            id in prop::option::of(".{1,9}"), speaker in prop::option::of(".{1,9}"), has_text: bool, told in 0_u8..8,
        ) {
            let document = RowDocument { speaker: speaker.as_deref(), asks: true, told, content_hash: 7, marks: &[] };
            let row = TableRow {
                id: id.as_deref(), parent_seq: parent.index(seq as usize) as Seq, role: Role::Tool, created_at: 1.5, tokens: 300,
                variable: VariableParts { images: 2, ..VariableParts::default() }, opens_group: true, imported: false,
                local_only: true, is_removed: false, document: has_text.then_some(document),
            };
            let line = Line { terms, is_streaming, row };
            let bytes = line_to_bytes(seq, &line);
            prop_assert_eq!(Line::from_bytes(seq, &bytes), Some(line));
            let mut list = Vec::new();
            for at in [seq, seq + 1] {
                list.extend(at.to_be_bytes());
                list.extend((bytes.len() as u32).to_be_bytes());
                list.extend(&bytes);
            }
            prop_assert_eq!(pieces(&list).collect::<Vec<_>>(), vec![(seq, &bytes[..]), (seq + 1, &bytes[..])]);
            prop_assert_eq!(pieces(&list[..list.len() - 1]).count(), 1);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in any::<Vec<u8>>()) {
            let _ = Line::from_bytes(3, &bytes);
            for (seq, piece) in pieces(&bytes) {
                let _ = Line::from_bytes(seq, piece);
            }
        }
    }
}
