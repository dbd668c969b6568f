//! Taking segments in: what a search over many messages needs, as it was sealed, in place of reading and analyzing every
//! message again.
//!
//! Messages of a conversation are taken in order of position, from the first that is not here on, as far as runs of its
//! present life follow each other; what comes after is read from storage. So it makes no difference to any answer whether
//! a message came from a segment. Whatever cannot be read of a segment is left out, and the segment is made again.

use super::Engine;
use super::outside::sealed;
use super::sealing::{LEAST_SEALED, message_maker};
use super::segment_catalogue::{Catalogue, Segment, SegmentReader};
use super::state::{Conversation, MessageMeta, State};
use super::stored::Stored;
use super::stored_vectors::{embedded_until, embedded_with, unread_vectors};
use crate::error::Result;
use crate::key;
use crate::lexical::LexicalSegment;
use crate::message::Seq;
use crate::ports::{KeyPart, Query, Store};
use crate::records::{SegmentKind, SegmentRecord, SegmentRun};
use crate::retrieval::SealedDocument;
use crate::segments::{Stretch, Table, TableRow, Wanted, row_places_from_bytes, stretches};
use crate::vector::RowSegment;

/// A message segment that was read and found whole.
struct OpenSegment {
    runs: Vec<SegmentRun>,
    /// The first document of each run.
    first_documents: Vec<u32>,
    table: Vec<u8>,
    lexical: LexicalSegment,
}

/// What is taken of one run.
struct Taken {
    segment: usize,
    run: usize,
    first_seq: Seq,
    last_seq: Seq,
}

impl Engine {
    /// Takes the message segments in, once, where many messages of a conversation, or of all, are to be read.
    pub(super) async fn attach_messages_for(&self, only: Option<&str>) -> Result<()> {
        let unread = |one: &Conversation| one.stored.value.last_seq.saturating_sub(one.loaded_until_seq());
        if self.searches_outside() {
            return if self.sum(only, &unread) > 0 { self.attach_lines(only).await } else { Ok(()) };
        }
        if self.messages_attached.get() || self.sum(only, &unread) <= LEAST_SEALED {
            return Ok(());
        }
        let _turn = self.attaching.enter().await;
        if !self.messages_attached.get() {
            let catalogue = self.segment_catalogue().await?;
            self.attach_messages(&catalogue).await?;
            self.messages_attached.set(true);
            self.repair(&catalogue);
        }
        Ok(())
    }

    /// Takes the vector segments in, once, where vectors of many messages of a conversation, or of all, are to be read.
    /// The messages should be here.
    pub(super) async fn attach_vectors_for(&self, only: Option<&str>) -> Result<()> {
        if self.searches_outside() {
            self.pass_vectors_over(only);
            return Ok(());
        }
        let model = self.model();
        let unread = |one: &Conversation| unread_vectors(one, model.as_deref());
        if self.vectors_attached.get() || self.sum(only, &unread) <= LEAST_SEALED {
            return Ok(());
        }
        let _turn = self.attaching.enter().await;
        if !self.vectors_attached.get() {
            let catalogue = self.segment_catalogue().await?;
            self.attach_vectors(&catalogue).await?;
            self.vectors_attached.set(true);
            self.repair(&catalogue);
        }
        Ok(())
    }

    /// The sum over one conversation, or over all that are remembered.
    fn sum(&self, only: Option<&str>, of: &dyn Fn(&Conversation) -> u32) -> u32 {
        let state = self.state.borrow();
        match only {
            Some(id) => state.conversation(id).map_or(0, of),
            None => {
                let remembered = state.conversations.values().filter(|one| one.stored.value.remember);
                remembered.fold(0_u32, |sum, one| sum.saturating_add(of(one)))
            }
        }
    }

    /// What was found damaged is deleted and made again by the next background work.
    fn repair(&self, catalogue: &Catalogue) {
        if !catalogue.unreadable.is_empty() || !self.damaged_segments.borrow().is_empty() {
            self.count_unsealed(LEAST_SEALED);
        }
    }

    fn mark_damaged(&self, segment: &Segment) {
        self.damaged_segments.borrow_mut().insert(segment.number);
    }

    async fn attach_messages(&self, catalogue: &Catalogue) -> Result<()> {
        let mut open = Vec::new();
        let segments = catalogue.made_by(SegmentKind::Messages, &message_maker());
        let mut reader = SegmentReader::new(self, &segments);
        for segment in &segments {
            match reader.next().await?.and_then(|parts| OpenSegment::new(&segment.record, parts)) {
                Some(segment) => open.push(segment),
                None => self.mark_damaged(segment),
            }
        }
        if open.is_empty() {
            return Ok(());
        }
        take_messages_in(&mut self.state.borrow_mut(), open);
        self.attach_heads().await
    }

    /// Reads the heads of summaries that are not here.
    pub(super) async fn attach_heads(&self) -> Result<()> {
        let heads = self.scan(Query::prefix(Store::SummaryHeads, key![])).await?;
        let state = &mut *self.state.borrow_mut();
        for (key, record) in heads {
            let Some(KeyPart::Text(id)) = key.0.first() else { continue };
            if let Some(conversation) = state.conversations.get_mut(id.as_str()).filter(|found| found.summary.is_none())
            {
                // One that cannot be read is looked into when the conversation is.
                conversation.summary = Stored::read(Store::SummaryHeads, &record).ok();
            }
        }
        Ok(())
    }

    /// One segment after the other: the index keeps its rows in a place of its own.
    async fn attach_vectors(&self, catalogue: &Catalogue) -> Result<()> {
        let Some(model) = self.model() else { return Ok(()) };
        let segments = catalogue.made_by(SegmentKind::Vectors, &model);
        let taken = {
            let runs: Vec<&[SegmentRun]> = segments.iter().map(|segment| segment.record.runs.as_slice()).collect();
            let state = self.state.borrow();
            let with_model = state.conversations.values().filter(|one| embedded_with(one) == Some(model.as_str()));
            let wanted = with_model
                .filter_map(|one| wanted(one, one.vectors_until_seq, embedded_until(one).min(one.loaded_until_seq())));
            first_stretches(&stretches(&runs, &wanted.collect::<Vec<_>>()))
        };
        let mut is_whole = vec![false; segments.len()];
        let taken_of = |index: usize| taken.iter().filter(move |one| one.segment == index);
        let read: Vec<usize> = (0..segments.len()).filter(|index| taken_of(*index).next().is_some()).collect();
        let wanted: Vec<&Segment> = read.iter().map(|index| segments[*index]).collect();
        let mut reader = SegmentReader::new(self, &wanted);
        for index in read {
            let (segment, taken) = (segments[index], taken_of(index).collect::<Vec<&Taken>>());
            let parts = reader.next().await?;
            let state = &mut *self.state.borrow_mut();
            is_whole[index] = parts.and_then(|parts| take_vectors_in(state, &segment.record, parts, &taken)).is_some();
            if !is_whole[index] {
                self.mark_damaged(segment);
            }
        }
        let state = &mut *self.state.borrow_mut();
        for one in taken.iter().filter(|one| is_whole[one.segment]) {
            let run = &segments[one.segment].record.runs[one.run];
            if let Some(conversation) = living(state, run)
                && conversation.vectors_until_seq + 1 >= one.first_seq
            {
                conversation.vectors_until_seq = conversation.vectors_until_seq.max(one.last_seq);
            }
        }
        Ok(())
    }
}

impl OpenSegment {
    /// `None`: it is not of the form that its record says.
    fn new(record: &SegmentRecord, parts: Vec<Vec<u8>>) -> Option<Self> {
        let [table, lexical] = <[Vec<u8>; 2]>::try_from(parts).ok()?;
        let lexical = LexicalSegment::open(lexical).ok()?;
        let read = Table::open(&table, record.runs.len())?;
        let mut documents = 0;
        let mut first_documents = Vec::with_capacity(record.runs.len());
        for (index, run) in record.runs.iter().enumerate() {
            first_documents.push(documents);
            let mut rows = 0;
            for (_, row) in read.rows(index, run) {
                rows += 1;
                documents += u32::from(row.document.is_some());
            }
            if rows != run.len() {
                return None;
            }
        }
        (documents == lexical.len()).then(|| Self { runs: record.runs.clone(), first_documents, table, lexical })
    }
}

/// What is wanted of a conversation: positions behind `here`, up to `last_seq`. `None`: nothing.
fn wanted(conversation: &Conversation, here: Seq, last_seq: Seq) -> Option<Wanted<'_>> {
    let record = &conversation.stored.value;
    (record.remember && conversation.removed == record.removed && here < last_seq).then(|| Wanted {
        conversation_id: &record.id,
        born: record.born,
        removed: record.removed,
        first_seq: here + 1,
        last_seq,
    })
}

/// The conversation of a run, if it is as it was when the run was sealed.
fn living<'a>(state: &'a mut State, run: &SegmentRun) -> Option<&'a mut Conversation> {
    let conversation = state.conversations.get_mut(&run.conversation_id)?;
    let record = &conversation.stored.value;
    let is_same = record.born == run.born && record.removed == run.removed && conversation.removed == run.removed;
    is_same.then_some(&mut **conversation)
}

/// The stretches that runs have, of each conversation up to the first that none has.
fn first_stretches(stretches: &[Stretch]) -> Vec<Taken> {
    let mut ended = None;
    let mut taken = Vec::new();
    for stretch in stretches {
        match stretch.run {
            None => ended = Some(stretch.wanted),
            Some(_) if ended == Some(stretch.wanted) => {}
            Some((segment, run)) => {
                taken.push(Taken { segment, run, first_seq: stretch.first_seq, last_seq: stretch.last_seq });
            }
        }
    }
    taken
}

/// Takes in what segments have of the messages that are not here.
fn take_messages_in(state: &mut State, open: Vec<OpenSegment>) {
    let taken = {
        let runs: Vec<&[SegmentRun]> = open.iter().map(|segment| segment.runs.as_slice()).collect();
        let conversations = state.conversations.values();
        let wanted: Vec<Wanted<'_>> =
            conversations.filter_map(|one| wanted(one, one.loaded_until_seq(), one.stored.value.last_seq)).collect();
        first_stretches(&stretches(&runs, &wanted))
    };
    let mut branched = Vec::new();
    let mut tables = Vec::with_capacity(open.len());
    let mut lexical = Vec::with_capacity(open.len());
    for segment in open {
        tables.push((segment.runs, segment.first_documents, segment.table));
        lexical.push(segment.lexical);
    }
    let mut documents: Vec<Vec<Option<SealedDocument<'_>>>> =
        lexical.iter().map(|segment| vec![None; segment.len() as usize]).collect();
    for one in &taken {
        let (runs, first_documents, table) = &tables[one.segment];
        let run = &runs[one.run];
        let (Some(table), Some(conversation)) = (Table::open(table, runs.len()), living(state, run)) else { continue };
        take_run_in(conversation, &table, run, one, first_documents[one.run], &mut documents[one.segment]);
        if !conversation.stored.value.is_linear() {
            branched.push(run.conversation_id.clone());
        }
    }
    let firsts: Vec<u32> = lexical
        .into_iter()
        .zip(&documents)
        .map(|(segment, documents)| state.index.attach(segment, documents))
        .collect();
    for one in &taken {
        let Some(conversation) = living(state, &tables[one.segment].0[one.run]) else { continue };
        for seq in one.first_seq..=one.last_seq {
            if let Some(message) = conversation.message_mut(seq) {
                message.set_document(message.document().map(|document| firsts[one.segment] + document));
            }
        }
    }
    for id in &branched {
        state.follow_leaf(id);
    }
}

/// Takes the messages of a run in. Their documents are those of the segment for the time being.
fn take_run_in<'a>(
    conversation: &mut Conversation,
    table: &Table<'a>,
    run: &SegmentRun,
    taken: &Taken,
    first_document: u32,
    documents: &mut [Option<SealedDocument<'a>>],
) {
    let count = (taken.last_seq + 1 - taken.first_seq) as usize;
    conversation.messages.reserve_exact(count);
    let is_linear = conversation.stored.value.is_linear();
    if is_linear {
        conversation.path.reserve_exact(count);
    }
    let mut next_document = first_document;
    for (seq, row) in table.rows(taken.run, run) {
        let document = next_document;
        next_document += u32::from(row.document.is_some());
        if seq < taken.first_seq || seq > taken.last_seq {
            continue;
        }
        conversation.place_if_linear(seq);
        let mut message = meta_of(seq, &row);
        // As for a message that is read: which branch it is on is known when all are there.
        let may_be_active = seq <= conversation.stored.value.leaf();
        if let (Some(kept), true, Some(place)) = (row.document, may_be_active, documents.get_mut(document as usize)) {
            *place = Some(sealed(conversation.number, seq, &row, &kept));
            message.set_document(Some(document));
        }
        conversation.messages.push(message);
    }
}

/// What is kept of a message.
pub(super) fn meta_of(seq: Seq, row: &TableRow<'_>) -> MessageMeta {
    let mut message = MessageMeta::new(seq, row.id.unwrap_or_default());
    message.role = row.role;
    message.created_at = row.created_at;
    message.tokens = row.tokens;
    message.set_variable(row.variable);
    message.opens_group = row.opens_group;
    message.parent_seq = row.parent_seq;
    message.has_text = row.document.is_some();
    message.imported = row.imported;
    message.local_only = row.local_only;
    message.is_removed = row.is_removed;
    message
}

/// Takes in what is wanted of a vector segment; `None`: it is not of the form that its record says.
fn take_vectors_in(state: &mut State, record: &SegmentRecord, parts: Vec<Vec<u8>>, taken: &[&Taken]) -> Option<()> {
    let [places, rows] = <[Vec<u8>; 2]>::try_from(parts).ok()?;
    let places = row_places_from_bytes(&record.runs, &places)?;
    let rows = RowSegment::open(rows).ok().filter(|rows| rows.len() == places.len())?;
    let mut documents = vec![None; places.len()];
    let mut next = 0;
    for (index, run) in record.runs.iter().enumerate() {
        let count = places[next..].iter().take_while(|place| place.run == index).count();
        let range = next..next + count;
        next += count;
        let Some(conversation) = living(state, run) else { continue };
        for one in taken.iter().filter(|one| one.run == index) {
            for (place, document) in places[range.clone()].iter().zip(&mut documents[range.clone()]) {
                if (one.first_seq..=one.last_seq).contains(&place.seq) {
                    let found = conversation.message(place.seq).and_then(MessageMeta::document);
                    *document = found.map(|found| (found, place.part));
                }
            }
        }
        for one in taken.iter().filter(|one| one.run == index) {
            let mut places = places[range.clone()].iter().peekable();
            state.note_missing_vectors(&run.conversation_id, one.first_seq, one.last_seq, &mut |seq| {
                while places.next_if(|place| place.seq < seq).is_some() {}
                places.peek().is_some_and(|place| place.seq == seq)
            });
        }
    }
    state.index.attach_vectors(&rows, &|row| documents.get(row as usize).copied().flatten()).ok()
}
