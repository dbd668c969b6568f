//! Of which message, and which part of it, each row of a vector segment is.
//!
//! `per run: how many rows; rows, run by run: positions since the row before (or since the run's first), part`.

use super::bytes::{Reader, put_number};
use crate::message::Seq;
use crate::records::SegmentRun;

/// A row's run, position and part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowPlace {
    /// Index of the run.
    pub run: usize,
    /// The message.
    pub seq: Seq,
    /// The part of it, from 0.
    pub part: u32,
}

/// The places as bytes. They are in order of runs, and of positions in each; runs without rows have none.
#[must_use]
pub fn row_places_to_bytes(runs: &[SegmentRun], places: &[RowPlace]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for run in 0..runs.len() {
        put_number(&mut bytes, places.iter().filter(|place| place.run == run).count() as u32);
    }
    let mut last = None;
    for place in places {
        let before = match last {
            Some((run, seq)) if run == place.run => seq,
            _ => runs.get(place.run).map_or(0, |run| run.first_seq),
        };
        put_number(&mut bytes, place.seq - before);
        put_number(&mut bytes, place.part);
        last = Some((place.run, place.seq));
    }
    bytes
}

/// The places that were written. `None`: these are other bytes.
#[must_use]
pub fn row_places_from_bytes(runs: &[SegmentRun], bytes: &[u8]) -> Option<Vec<RowPlace>> {
    let mut reader = Reader(bytes);
    let counts: Vec<u32> = runs.iter().map(|_| reader.number()).collect::<Option<_>>()?;
    let mut places = Vec::with_capacity(reader.0.len() / 2);
    for (index, (run, count)) in runs.iter().zip(counts).enumerate() {
        let mut seq = run.first_seq;
        for _ in 0..count {
            seq = seq.checked_add(reader.number()?).filter(|seq| *seq <= run.last_seq)?;
            places.push(RowPlace { run: index, seq, part: reader.number()? });
        }
    }
    reader.0.is_empty().then_some(places)
}
