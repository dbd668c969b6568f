//! The segments that storage has: their records, their bytes, and the one record that guards every change of them.
//!
//! That record, the counters, is written with every change of segments and with every removal of messages. So what was
//! sealed from messages that were removed meanwhile is refused, and a removal knows every segment that it must take along.

use super::Engine;
use super::sealing::LEAST_SEALED;
use super::stored::{Stored, decode, encode};
use crate::error::{Code, Result};
use crate::key;
use crate::ports::{Check, Commit, Key, KeyPart, Pending, Query, Record, Store};
use crate::records::{SegmentCounters, SegmentKind, SegmentRecord};
use crate::segments::{Assembly, chunk_checksum, chunks};
use futures_util::future::{MaybeDone, maybe_done};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// Name of the counters' record.
pub(super) const SEGMENT_COUNTERS: &str = "segments";
/// Layout of a segment's bytes. It rises when they mean something else; others are made again from the messages.
pub(super) const SEGMENT_LAYOUT: u32 = 1;

/// A segment and its number.
pub(super) struct Segment {
    pub(super) number: u32,
    pub(super) record: SegmentRecord,
}

/// All segments, as they were read.
pub(super) struct Catalogue {
    /// Whole records, in order of their numbers.
    pub(super) segments: Vec<Segment>,
    /// Keys of records that cannot be read, or are of another layout.
    pub(super) unreadable: Vec<Key>,
    counters: SegmentCounters,
    check: Check,
}

impl Catalogue {
    /// The segments of one kind that were made so.
    pub(super) fn made_by(&self, kind: SegmentKind, maker: &str) -> Vec<&Segment> {
        let is_meant = |segment: &&Segment| segment.record.kind == kind && segment.record.maker == maker;
        self.segments.iter().filter(is_meant).collect()
    }

    /// The segments that hold something of a conversation.
    fn covering(&self, conversation_id: &str) -> impl Iterator<Item = &Segment> {
        let covers =
            move |segment: &&Segment| segment.record.runs.iter().any(|run| run.conversation_id == conversation_id);
        self.segments.iter().filter(covers)
    }

    /// A commit that changes segments, if nobody else has changed any or removed messages since this was read.
    pub(super) fn change(&self) -> Result<Commit> {
        let counters = SegmentCounters { last: self.counters.last.saturating_add(1), ..self.counters };
        Ok(Commit {
            checks: vec![self.check.clone()],
            puts: vec![(Store::Meta, key![SEGMENT_COUNTERS], encode(&counters)?)],
            ..Commit::default()
        })
    }

    /// Adds a new segment to a change. Its record is given without chunks and lengths of parts.
    pub(super) fn put(&self, mut record: SegmentRecord, parts: &[Vec<u8>], commit: &mut Commit) -> Result<()> {
        let number = self.counters.last.saturating_add(1);
        record.parts = parts.iter().map(|part| part.len() as u32).collect();
        for (index, chunk) in (0_u32..).zip(chunks(parts)) {
            record.chunks.push(chunk_checksum(chunk));
            let chunk = Record { body: "{}".to_owned(), blob: Some(chunk.to_vec()) };
            commit.puts.push((Store::SegmentChunks, key![number, index], chunk));
        }
        commit.puts.push((Store::Segments, key![number], encode(&record)?));
        Ok(())
    }
}

/// Adds the end of a segment to a commit.
pub(super) fn delete_segment(number: u32, commit: &mut Commit) {
    commit.deletes.push((Store::Segments, key![number]));
    commit.delete_prefixes.push((Store::SegmentChunks, key![number]));
}

/// Segments that are asked for at once.
const READ_AHEAD: usize = 3;

/// The chunks of a segment, asked for.
type Asked<'a> = MaybeDone<Pending<'a, Vec<Option<Record>>>>;

/// Reads segments one after the other. The next ones are asked for before the answer for this one is waited for: so storage
/// reads while the caller takes in what came.
pub(super) struct SegmentReader<'a> {
    engine: &'a Engine,
    /// Those that are not asked for yet.
    segments: &'a [&'a Segment],
    asked: VecDeque<(&'a Segment, Asked<'a>)>,
}

impl<'a> SegmentReader<'a> {
    pub(super) fn new(engine: &'a Engine, segments: &'a [&'a Segment]) -> Self {
        Self { engine, segments, asked: VecDeque::new() }
    }

    /// The parts of the next segment; `None` where a chunk is missing or is another one than was written.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Vec<u8>>>> {
        while self.asked.len() < READ_AHEAD
            && let Some((segment, rest)) = self.segments.split_first()
        {
            self.segments = rest;
            let mut asked = self.ask(segment);
            // Requests go out at the first poll.
            poll_fn(|context| {
                let _ = Pin::new(&mut asked).poll(context);
                Poll::Ready(())
            })
            .await;
            self.asked.push_back((segment, asked));
        }
        let Some((segment, mut asked)) = self.asked.pop_front() else { return Ok(None) };
        (&mut asked).await;
        let chunks = match Pin::new(&mut asked).take_output() {
            Some(Err(error)) if error.code == Code::StorageCorrupt => return Ok(None),
            Some(chunks) => chunks?,
            None => return Ok(None),
        };
        let mut assembly = Assembly::new(&segment.record.parts, &segment.record.chunks);
        for chunk in chunks {
            let chunk = chunk.and_then(|record| record.blob).unwrap_or_default();
            if assembly.push(chunk).is_err() {
                return Ok(None);
            }
        }
        Ok(assembly.finish().ok())
    }

    fn ask(&self, segment: &Segment) -> MaybeDone<Pending<'a, Vec<Option<Record>>>> {
        let chunks = segment.record.chunks.len() as u32;
        let keys = (0..chunks).map(|chunk| (Store::SegmentChunks, key![segment.number, chunk])).collect();
        maybe_done(self.engine.host.storage.get(keys))
    }
}

impl Engine {
    /// Reads which segments there are.
    pub(super) async fn segment_catalogue(&self) -> Result<Catalogue> {
        let (counters, check) = self.segment_counters().await?;
        let mut catalogue = Catalogue { segments: Vec::new(), unreadable: Vec::new(), counters, check };
        for (key, record) in self.scan(Query::prefix(Store::Segments, key![])).await? {
            let number = match key.0.as_slice() {
                [KeyPart::Number(number)] => u32::try_from(*number).ok(),
                _ => None,
            };
            let record = decode::<SegmentRecord>(Store::Segments, &record);
            match (number, record) {
                (Some(number), Ok(record)) if record.layout == SEGMENT_LAYOUT => {
                    catalogue.segments.push(Segment { number, record });
                }
                _ => catalogue.unreadable.push(key),
            }
        }
        Ok(catalogue)
    }

    /// The counters, and the check that nobody has changed them since.
    async fn segment_counters(&self) -> Result<(SegmentCounters, Check)> {
        let key = key![SEGMENT_COUNTERS];
        let found = self.host.storage.get(vec![(Store::Meta, key.clone())]).await?.pop().flatten();
        // Counters that cannot be read are begun anew above every segment: nothing else depends on them.
        let counters = match found.as_ref().map(|record| decode::<SegmentCounters>(Store::Meta, record)) {
            Some(Ok(counters)) => counters,
            Some(Err(_)) => {
                let newest = Query { limit: Some(1), reverse: true, ..Query::prefix(Store::Segments, key![]) };
                let newest = self.scan(newest).await?.pop().and_then(|(key, _)| match key.0.first() {
                    Some(KeyPart::Number(number)) => u32::try_from(*number).ok(),
                    _ => None,
                });
                SegmentCounters { last: newest.unwrap_or(0), removals: 0 }
            }
            None => SegmentCounters::default(),
        };
        Ok((counters, Check { store: Store::Meta, key, body: found.map(|record| record.body) }))
    }

    /// The parts of a segment; `None` where a chunk is missing or is another one than was written.
    pub(super) async fn read_segment(&self, segment: &Segment) -> Result<Option<Vec<Vec<u8>>>> {
        SegmentReader::new(self, &[segment]).next().await
    }

    /// Adds to a commit that removes messages or vectors of a conversation what goes with them: every segment, or every one
    /// of a kind, that holds anything of it, and the mark that refuses segments that are being made of it now.
    pub(super) async fn forget_segments_of(
        &self,
        conversation_id: &str,
        only: Option<SegmentKind>,
        commit: &mut Commit,
    ) -> Result<()> {
        let catalogue = self.segment_catalogue().await?;
        let before = commit.deletes.len();
        let is_meant = |segment: &&Segment| only.is_none_or(|kind| segment.record.kind == kind);
        for segment in catalogue.covering(conversation_id).filter(is_meant) {
            delete_segment(segment.number, commit);
        }
        // What cannot be read may hold it.
        for key in &catalogue.unreadable {
            commit.deletes.push((Store::Segments, key.clone()));
            commit.delete_prefixes.push((Store::SegmentChunks, key.clone()));
        }
        if commit.deletes.len() > before {
            // What else they held is to be sealed again.
            self.count_unsealed(LEAST_SEALED);
        }
        commit.checks.push(catalogue.check.clone());
        self.put_removal_of_segments(catalogue.counters, commit)
    }

    /// Adds the mark that refuses every segment that is being made now to a commit that removes all messages.
    pub(super) async fn forget_all_segments(&self, commit: &mut Commit) -> Result<()> {
        let (counters, check) = self.segment_counters().await?;
        commit.checks.push(check);
        self.put_removal_of_segments(counters, commit)
    }

    fn put_removal_of_segments(&self, counters: SegmentCounters, commit: &mut Commit) -> Result<()> {
        let counters = Stored::new(SegmentCounters { removals: counters.removals.wrapping_add(1), ..counters })?;
        commit.puts.push((Store::Meta, key![SEGMENT_COUNTERS], counters.record()));
        Ok(())
    }
}
