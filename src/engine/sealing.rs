//! Sealing: what is not in a segment of the search index yet is read from storage and written as one, in the background.
//!
//! A segment is made of stored records alone, so any tab can do it. Small segments are merged into larger ones from their
//! bytes, each message a few times in all. Every change is one commit, refused when messages were removed or another tab
//! changed segments since the records were read; then it is begun anew.

use super::Engine;
use super::event::Event;
use super::loading::{document_of, is_indexed, is_unusable};
use super::missing_vectors::EmbeddedParts;
use super::outside::{row_document, table_row};
use super::segment_catalogue::{Catalogue, SEGMENT_LAYOUT, Segment, delete_segment};
use super::stored::decode;
use super::stored_vectors::vector_from_bytes;
use crate::error::{Code, Result};
use crate::key;
use crate::lexical::{ANALYZER_VERSION, LexicalSegment, SegmentBuilder};
use crate::message::Seq;
use crate::ports::{Key, KeyPart, Query, Store};
use crate::records::{
    ConversationRecord, EmbeddingRecord, JobRecord, MessageRecord, MessageStatus, SegmentKind, SegmentRecord,
    SegmentRun,
};
use crate::retrieval::{Document, digest, searchable_text};
use crate::secrets::without_secrets;
use crate::segments::{
    RowPlace, Stretch, Table, TableBuilder, Wanted, merge_due, row_places_from_bytes, row_places_to_bytes, stretches,
};
use crate::vector::{RowSegment, RowSegmentBuilder};
use serde_json::json;

/// So many messages, or messages with vectors, outside segments are worth a segment. What is outside is read when the
/// store is: 512 messages take about 50 ms.
pub(super) const LEAST_SEALED: u32 = 512;
/// Most messages that are read into one new segment.
const MOST_READ: u32 = 4_096;
/// Segments of this size are merged no further: an erasure, which deletes whole segments, makes no more work than that.
const MOST_MERGED: u32 = 8_192;
/// Longest stretch of work before the page gets its turn, in milliseconds.
const SLICE_MS: f64 = 6.0;
/// How long after opening it is looked whether anything is outside: what the page asks for first has the storage to itself.
const FIRST_LOOK_MS: f64 = 300.0;
/// Records read in one go.
const PAGE: Seq = 256;
/// Changes that other tabs may overtake before it is left for later.
const TRIES: u32 = 5;

/// What made the content of message segments.
pub(super) fn message_maker() -> String {
    format!("analyzer/{ANALYZER_VERSION}")
}

/// Gives the page its turn now and then.
struct Pace<'a> {
    engine: &'a Engine,
    until_ms: f64,
}

impl<'a> Pace<'a> {
    fn new(engine: &'a Engine) -> Self {
        Self { engine, until_ms: engine.now_ms() + SLICE_MS }
    }

    async fn step(&mut self) -> Result<()> {
        if self.engine.now_ms() >= self.until_ms {
            self.engine.host.clock.sleep(0.0).await;
            self.engine.ensure_open()?;
            self.until_ms = self.engine.now_ms() + SLICE_MS;
        }
        Ok(())
    }
}

/// What one look at the segments led to.
enum Sealed {
    /// Something was changed: there may be more to do.
    Changed,
    /// Another tab was faster.
    Overtaken,
    /// Nothing is due. So many messages are outside.
    Rest(u32),
}

impl Engine {
    /// Whether it is worth looking for messages outside segments. A store that ends with the process needs none, and
    /// neither does one that searches by itself.
    pub(super) fn is_sealing_due(&self) -> bool {
        self.unsealed.get() >= LEAST_SEALED && self.host.storage.is_durable() && !self.searches_outside()
    }

    /// There may be so many more messages, or vectors, outside segments.
    pub(super) fn count_unsealed(&self, more: u32) {
        self.unsealed.set(self.unsealed.get().saturating_add(more));
    }

    /// Seals and merges until nothing is due. Segments are a cache: what goes wrong is told, and left for later.
    pub(super) async fn seal(&self) -> Result<()> {
        if self.unsealed.get() == u32::MAX {
            self.host.clock.sleep(FIRST_LOOK_MS).await;
            drop(self.attaching.enter().await);
        }
        let mut tries = 0;
        while tries < TRIES {
            self.ensure_open()?;
            match self.seal_next().await {
                Ok(Sealed::Changed) => tries = 0,
                Ok(Sealed::Overtaken) => tries += 1,
                Ok(Sealed::Rest(outside)) => {
                    self.unsealed.set(outside.min(LEAST_SEALED - 1));
                    return Ok(());
                }
                Err(error) if error.code == Code::Closed => return Err(error),
                Err(error) => {
                    self.emit(&Event::error(&error, true, json!({ "job": "seal" })));
                    break;
                }
            }
        }
        self.unsealed.set(0);
        Ok(())
    }

    async fn seal_next(&self) -> Result<Sealed> {
        let catalogue = self.segment_catalogue().await?;
        let conversations = self.sealed_conversations().await?;
        let model = self.model();
        if let Some(done) = self.drop_useless(&catalogue, &conversations, model.as_deref()).await? {
            return Ok(done);
        }
        let (done, outside) =
            self.seal_kind(&catalogue, SegmentKind::Messages, &message_maker(), &conversations).await?;
        let (None, Some(model)) = (&done, &model) else { return Ok(done.unwrap_or(Sealed::Rest(outside))) };
        let embedded = self.embedded(&conversations, model).await?;
        let (done, without) = self.seal_kind(&catalogue, SegmentKind::Vectors, model, &embedded).await?;
        Ok(done.unwrap_or(Sealed::Rest(outside.max(without))))
    }

    /// Remembered conversations as storage has them, in order of their ids.
    async fn sealed_conversations(&self) -> Result<Vec<ConversationRecord>> {
        let records = self.scan(Query::prefix(Store::Conversations, key![])).await?;
        let mut conversations = Vec::with_capacity(records.len());
        for (_, record) in &records {
            let Ok(record) = decode::<ConversationRecord>(Store::Conversations, record) else { continue };
            if record.remember && record.last_seq > 0 {
                conversations.push(record);
            }
        }
        crate::sorting::sort_by(&mut conversations, &|a, b| a.id.cmp(&b.id));
        Ok(conversations)
    }

    /// The same as far as they are embedded with a model.
    async fn embedded(&self, conversations: &[ConversationRecord], model: &str) -> Result<Vec<ConversationRecord>> {
        let mut embedded = Vec::new();
        for (_, record) in self.scan(Query::prefix(Store::Jobs, key!["embed"])).await? {
            // One that cannot be read is begun anew.
            let Ok(job) = decode::<JobRecord>(Store::Jobs, &record) else { continue };
            let at = conversations.binary_search_by(|one| one.id.cmp(&job.conversation_id));
            if let (Ok(at), Some(made_with)) = (at, &job.model)
                && made_with == model
                && conversations[at].born == job.born
            {
                let last_seq = job.done_until_seq.min(conversations[at].last_seq);
                embedded.push(ConversationRecord { last_seq, ..conversations[at].clone() });
            }
        }
        crate::sorting::sort_by(&mut embedded, &|a, b| a.id.cmp(&b.id));
        Ok(embedded)
    }

    /// Deletes segments that nobody can use: damaged ones, those of another version or another embedder, and those of
    /// which nothing is in force.
    async fn drop_useless(
        &self,
        catalogue: &Catalogue,
        conversations: &[ConversationRecord],
        model: Option<&str>,
    ) -> Result<Option<Sealed>> {
        let mut commit = catalogue.change()?;
        for key in &catalogue.unreadable {
            commit.deletes.push((Store::Segments, key.clone()));
            commit.delete_prefixes.push((Store::SegmentChunks, key.clone()));
        }
        let damaged = self.damaged_segments.borrow().clone();
        for segment in &catalogue.segments {
            let maker = segment.record.maker.as_str();
            let is_foreign = match segment.record.kind {
                SegmentKind::Messages => maker != message_maker(),
                SegmentKind::Vectors => model.is_some_and(|model| maker != model),
            };
            let is_void = !segment.record.runs.iter().any(|run| is_in_force(conversations, run));
            if is_foreign || is_void || damaged.contains(&segment.number) {
                delete_segment(segment.number, &mut commit);
            }
        }
        if commit.deletes.is_empty() {
            self.damaged_segments.borrow_mut().clear();
            return Ok(None);
        }
        Ok(Some(self.carry_out(commit).await?))
    }

    async fn carry_out(&self, commit: crate::ports::Commit) -> Result<Sealed> {
        self.ensure_open()?;
        Ok(if self.commit_work(commit).await? { Sealed::Changed } else { Sealed::Overtaken })
    }

    /// Seals what is outside, or else merges. Answers how many messages are outside, too.
    async fn seal_kind(
        &self,
        catalogue: &Catalogue,
        kind: SegmentKind,
        maker: &str,
        conversations: &[ConversationRecord],
    ) -> Result<(Option<Sealed>, u32)> {
        let segments = catalogue.made_by(kind, maker);
        let wanted: Vec<Wanted<'_>> = conversations.iter().map(wanted).collect();
        let runs: Vec<&[SegmentRun]> = segments.iter().map(|segment| segment.record.runs.as_slice()).collect();
        let mut outside = stretches(&runs, &wanted);
        outside.retain(|stretch| stretch.run.is_none());
        let count = outside.iter().fold(0_u32, |sum, stretch| sum.saturating_add(stretch.len()));
        if count >= LEAST_SEALED {
            let made = match kind {
                SegmentKind::Messages => self.message_segment(&wanted, &outside).await?,
                SegmentKind::Vectors => self.vector_segment(&wanted, &outside, maker).await?,
            };
            if let Some((record, parts)) = made {
                let mut commit = catalogue.change()?;
                catalogue.put(SegmentRecord { maker: maker.to_owned(), ..record }, &parts, &mut commit)?;
                return Ok((Some(self.carry_out(commit).await?), count));
            }
        }
        let sizes: Vec<u32> = segments.iter().map(|segment| segment.record.messages).collect();
        let Some(merged) = merge_due(&sizes, LEAST_SEALED, MOST_MERGED) else { return Ok((None, count)) };
        let merged: Vec<&Segment> = merged.into_iter().map(|index| segments[index]).collect();
        Ok((Some(self.merge(catalogue, kind, &merged, conversations).await?), count))
    }

    /// A segment of messages that are outside, as many as fit; `None` where too few of them are whole.
    async fn message_segment(
        &self,
        wanted: &[Wanted<'_>],
        outside: &[Stretch],
    ) -> Result<Option<(SegmentRecord, Vec<Vec<u8>>)>> {
        let mut pace = Pace::new(self);
        let (mut table, mut lexical) = (TableBuilder::default(), SegmentBuilder::new());
        let mut record = record_of(SegmentKind::Messages);
        for stretch in outside {
            let conversation = &wanted[stretch.wanted];
            let last = stretch.last_seq.min(stretch.first_seq.saturating_add(MOST_READ - 1 - record.messages));
            let mut next = stretch.first_seq;
            'run: while next <= last {
                let page =
                    self.read_messages(conversation.conversation_id, next, last.min(next + PAGE - 1), None).await?;
                let has_ended = page.is_empty();
                for message in page {
                    // What follows a message that is streaming is sealed when that is whole.
                    if message.seq != next || message.status == MessageStatus::Streaming {
                        break 'run;
                    }
                    if next == stretch.first_seq {
                        table.begin_run();
                        record.runs.push(run_of(conversation, next));
                    }
                    self.seal_message(&message, &mut table, &mut lexical);
                    if let Some(run) = record.runs.last_mut() {
                        run.last_seq = next;
                    }
                    record.messages += 1;
                    next += 1;
                    pace.step().await?;
                }
                if has_ended {
                    break;
                }
            }
            if record.messages >= MOST_READ {
                break;
            }
        }
        if record.messages < LEAST_SEALED / 2 {
            return Ok(None);
        }
        let parts = vec![table.finish(), lexical.finish()];
        Ok(Some((record, parts)))
    }

    fn seal_message(&self, record: &MessageRecord, table: &mut TableBuilder, lexical: &mut SegmentBuilder) {
        let state = self.state.borrow();
        let analyzer = state.index.analyzer();
        let kept = is_indexed(record).then(|| {
            let text = without_secrets(&record.text, " ");
            lexical.add(analyzer, &searchable_text(&Document { text: &text, ..document_of(0, record) }));
            digest(analyzer, &text)
        });
        let document = kept.as_ref().map(|kept| row_document(record, kept, &kept.imprint.marks));
        table.push(record.seq, &table_row(record, document));
    }

    /// A segment of vectors that are outside, as many messages' as fit; `None` where another model's are among them.
    async fn vector_segment(
        &self,
        wanted: &[Wanted<'_>],
        outside: &[Stretch],
        model: &str,
    ) -> Result<Option<(SegmentRecord, Vec<Vec<u8>>)>> {
        let Some(dimensions) = self.host.embedder.as_ref().map(|embedder| embedder.dimensions()) else {
            return Ok(None);
        };
        let centre = {
            let state = self.state.borrow();
            state.index.vectors().and_then(|vectors| vectors.centre()).map(<[f32]>::to_vec)
        };
        let mut pace = Pace::new(self);
        let mut rows = RowSegmentBuilder::new(dimensions, centre.as_deref());
        let mut record = record_of(SegmentKind::Vectors);
        let mut places = Vec::new();
        for stretch in outside {
            let conversation = &wanted[stretch.wanted];
            let id = conversation.conversation_id;
            let last = stretch.last_seq.min(stretch.first_seq.saturating_add(MOST_READ - 1 - record.messages));
            let mut next = stretch.first_seq;
            let mut embedded = EmbeddedParts::default();
            while next <= last {
                let until = last.min(next + PAGE - 1);
                for (key, stored) in self.scan(Query::between(Store::Embeddings, key![id], next, until)).await? {
                    // What is damaged is as good as not there: it is made again.
                    let Ok(embedding) = decode::<EmbeddingRecord>(Store::Embeddings, &stored) else { continue };
                    if embedding.model != model {
                        return Ok(None);
                    }
                    let (Some((seq, part)), Some(blob)) = (place_of(&key), stored.blob) else { continue };
                    if !embedding.is_of(&blob) {
                        continue;
                    }
                    match rows.push(&vector_from_bytes(&blob)) {
                        Err(error) if is_unusable(&error) => continue,
                        pushed => pushed?,
                    }
                    embedded.see(&key, Some(embedding.parts));
                    places.push(RowPlace { run: record.runs.len(), seq, part });
                    pace.step().await?;
                }
                next = until + 1;
            }
            let state = &mut *self.state.borrow_mut();
            state.note_missing_vectors(id, stretch.first_seq, last, &mut |seq| embedded.has(seq));
            record.runs.push(SegmentRun { last_seq: last, ..run_of(conversation, stretch.first_seq) });
            record.messages += last + 1 - stretch.first_seq;
            if record.messages >= MOST_READ {
                break;
            }
        }
        record.rows = places.len() as u32;
        let parts = vec![row_places_to_bytes(&record.runs, &places), rows.finish()];
        Ok(Some((record, parts)))
    }

    /// Makes one segment of several, of what is still in force in them.
    async fn merge(
        &self,
        catalogue: &Catalogue,
        kind: SegmentKind,
        merged: &[&Segment],
        conversations: &[ConversationRecord],
    ) -> Result<Sealed> {
        let mut parts = Vec::new();
        for segment in merged {
            match self.read_segment(segment).await? {
                Some(read) => parts.push(read),
                None => {
                    self.damaged_segments.borrow_mut().insert(segment.number);
                    return Ok(Sealed::Changed);
                }
            }
        }
        let runs: Vec<&[SegmentRun]> = merged.iter().map(|segment| segment.record.runs.as_slice()).collect();
        let is_kept = |run: &SegmentRun| is_in_force(conversations, run);
        let made = match kind {
            SegmentKind::Messages => merged_messages(&runs, parts, &is_kept),
            SegmentKind::Vectors => merged_vectors(&runs, parts, &is_kept),
        };
        let mut commit = catalogue.change()?;
        for segment in merged {
            delete_segment(segment.number, &mut commit);
        }
        match (made, merged.first()) {
            // Whole, but of another form than its record says: it goes, and is made again.
            (None, _) | (_, None) => {}
            (Some((record, parts)), Some(first)) if !record.runs.is_empty() => {
                let record = SegmentRecord { maker: first.record.maker.clone(), ..record };
                catalogue.put(record, &parts, &mut commit)?;
            }
            (Some(_), Some(_)) => {}
        }
        self.carry_out(commit).await
    }
}

fn wanted(record: &ConversationRecord) -> Wanted<'_> {
    Wanted {
        conversation_id: &record.id,
        born: record.born,
        removed: record.removed,
        first_seq: 1,
        last_seq: record.last_seq,
    }
}

/// Whether a conversation is as it was when a run of it was sealed.
fn is_in_force(conversations: &[ConversationRecord], run: &SegmentRun) -> bool {
    let at = conversations.binary_search_by(|one| one.id.cmp(&run.conversation_id));
    at.is_ok_and(|at| conversations[at].born == run.born && conversations[at].removed == run.removed)
}

fn record_of(kind: SegmentKind) -> SegmentRecord {
    SegmentRecord {
        kind,
        layout: SEGMENT_LAYOUT,
        maker: String::new(),
        messages: 0,
        rows: 0,
        parts: Vec::new(),
        chunks: Vec::new(),
        runs: Vec::new(),
    }
}

fn run_of(conversation: &Wanted<'_>, seq: Seq) -> SegmentRun {
    SegmentRun {
        conversation_id: conversation.conversation_id.to_owned(),
        born: conversation.born,
        removed: conversation.removed,
        first_seq: seq,
        last_seq: seq,
    }
}

/// Position and part of an embedding's key.
fn place_of(key: &Key) -> Option<(Seq, u32)> {
    match key.0.as_slice() {
        [_, KeyPart::Number(seq), KeyPart::Number(part)] => {
            Some((Seq::try_from(*seq).ok()?, u32::try_from(*part).ok()?))
        }
        _ => None,
    }
}

/// Adds a run; one that goes on where the last one ends becomes part of that. Answers its index, and whether it is new.
fn join(runs: &mut Vec<SegmentRun>, run: &SegmentRun) -> (usize, bool) {
    if let Some(last) = runs.last_mut()
        && last.conversation_id == run.conversation_id
        && (last.born, last.removed) == (run.born, run.removed)
        && last.last_seq + 1 == run.first_seq
    {
        last.last_seq = run.last_seq;
        return (runs.len() - 1, false);
    }
    runs.push(run.clone());
    (runs.len() - 1, true)
}

fn merged_messages(
    runs: &[&[SegmentRun]],
    parts: Vec<Vec<Vec<u8>>>,
    is_kept: &dyn Fn(&SegmentRun) -> bool,
) -> Option<(SegmentRecord, Vec<Vec<u8>>)> {
    let mut table = TableBuilder::default();
    let mut record = record_of(SegmentKind::Messages);
    let mut kept: Vec<(LexicalSegment, Vec<bool>)> = Vec::new();
    for (runs, parts) in runs.iter().zip(parts) {
        let [bytes, lexical] = <[Vec<u8>; 2]>::try_from(parts).ok()?;
        let read = Table::open(&bytes, runs.len())?;
        let mut documents = Vec::new();
        for (index, run) in runs.iter().enumerate() {
            let keep = is_kept(run);
            if keep && join(&mut record.runs, run).1 {
                table.begin_run();
            }
            for (seq, row) in read.rows(index, run) {
                documents.extend(row.document.map(|_| keep));
                if keep {
                    table.push(seq, &row);
                    record.messages += 1;
                }
            }
        }
        kept.push((LexicalSegment::open(lexical).ok()?, documents));
    }
    let keep: Vec<Box<dyn Fn(u32) -> bool + '_>> = kept
        .iter()
        .map(|(_, documents)| {
            Box::new(|document: u32| documents.get(document as usize).copied().unwrap_or(false))
                as Box<dyn Fn(u32) -> bool>
        })
        .collect();
    let segments: Vec<(&LexicalSegment, &dyn Fn(u32) -> bool)> =
        kept.iter().zip(&keep).map(|((segment, _), keep)| (segment, &**keep)).collect();
    Some((record, vec![table.finish(), LexicalSegment::merged(&segments)]))
}

fn merged_vectors(
    runs: &[&[SegmentRun]],
    parts: Vec<Vec<Vec<u8>>>,
    is_kept: &dyn Fn(&SegmentRun) -> bool,
) -> Option<(SegmentRecord, Vec<Vec<u8>>)> {
    let mut record = record_of(SegmentKind::Vectors);
    let mut places = Vec::new();
    let mut kept: Vec<(RowSegment, Vec<bool>)> = Vec::new();
    for (runs, parts) in runs.iter().zip(parts) {
        let [bytes, rows] = <[Vec<u8>; 2]>::try_from(parts).ok()?;
        let mut numbers = Vec::new();
        for run in runs.iter() {
            numbers.push(is_kept(run).then(|| join(&mut record.runs, run).0));
            record.messages += if is_kept(run) { run.len() } else { 0 };
        }
        let read = row_places_from_bytes(runs, &bytes)?;
        let number = |place: &RowPlace| numbers.get(place.run).copied().flatten();
        places.extend(read.iter().filter_map(|place| Some(RowPlace { run: number(place)?, ..*place })));
        let rows = RowSegment::open(rows).ok().filter(|rows| rows.len() == read.len())?;
        kept.push((rows, read.iter().map(|place| number(place).is_some()).collect()));
    }
    let keep: Vec<Box<dyn Fn(u32) -> bool + '_>> = kept
        .iter()
        .map(|(_, rows)| {
            Box::new(|row: u32| rows.get(row as usize).copied().unwrap_or(false)) as Box<dyn Fn(u32) -> bool>
        })
        .collect();
    let segments: Vec<(&RowSegment, &dyn Fn(u32) -> bool)> =
        kept.iter().zip(&keep).map(|((segment, _), keep)| (segment, &**keep)).collect();
    let rows = RowSegment::merged(&segments).ok()?;
    record.rows = places.len() as u32;
    Some((record.clone(), vec![row_places_to_bytes(&record.runs, &places), rows]))
}
