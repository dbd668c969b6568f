//! Searching where the storage searches (see [`crate::store::search`]): lines in place of messages, and what is found for a
//! question in place of an index.
//!
//! What goes to the storage with a message is made here ([`message_entry`]), and what comes back is put into the index for as
//! long as one question is answered. A message without an entry (stored by an earlier version, or by a tool that knows the
//! records alone) is read as ever, and stored again with its entry.

use super::Engine;
use super::attaching::meta_of;
use super::loading::{document_of, is_indexed};
use super::message_ids::given_id;
use super::readable::read_message;
use super::state::{Conversation, MessageMeta, State};
use super::stored_vectors::{embedded_until, embedded_with};
use crate::error::Result;
use crate::lexical::{Analyzer, term_counts};
use crate::message::Seq;
use crate::ports::{Check, Commit, Key, Record, SearchPort, Store};
use crate::records::{MessageRecord, MessageStatus};
use crate::retrieval::{Digest, Document, Found, LineDocument, SealedDocument, Sought, digest, searchable_text};
use crate::secrets::without_secrets;
use crate::segments::{Line, RowDocument, TableRow, line_to_bytes, pieces};
use crate::store::search::{Finding, FindingKind, LineRange, Lookup, MessageEntry};
use std::cell::Ref;
use std::rc::Rc;

/// Positions whose lines are read in one go.
const MOST_LINES: u32 = 50_000;

/// What the storage found for one text; `None` where the engine searches an index of its own.
pub(super) type Findings = Option<FoundFor>;

/// What was asked, and what came.
pub(super) struct FoundFor {
    terms: Vec<u64>,
    dimensions: Option<usize>,
    /// By request: words may be asked for before there is a vector.
    answers: Vec<Rc<Vec<Finding>>>,
}

/// What a storage that searches keeps of a stored message; `None`: the record cannot be read.
#[must_use]
pub fn message_entry(record: &Record, analyzer: &Analyzer) -> Option<MessageEntry> {
    let (record, _) = read_message(record).ok().filter(|(_, is_whole)| *is_whole)?;
    let text = without_secrets(&record.text, " ");
    let kept = is_indexed(&record).then(|| {
        let (terms, counts) =
            term_counts(analyzer, &searchable_text(&Document { text: &text, ..document_of(0, &record) }));
        (terms, counts, digest(analyzer, &text))
    });
    let document = kept.as_ref().map(|(_, _, kept)| row_document(&record, kept, &[]));
    let line = Line {
        terms: kept.as_ref().map_or(0, |(terms, ..)| *terms),
        is_streaming: record.status == MessageStatus::Streaming,
        row: table_row(&record, document),
    };
    let line = line_to_bytes(record.seq, &line);
    let (terms, marks) = kept.map(|(_, counts, kept)| (counts, kept.imprint.marks)).unwrap_or_default();
    Some(MessageEntry { line, marks, terms })
}

/// What the index keeps of a text, as a table has it.
pub(super) fn row_document<'a>(record: &'a MessageRecord, kept: &Digest, marks: &'a [u8]) -> RowDocument<'a> {
    RowDocument {
        speaker: record.name.as_deref(),
        asks: kept.asks,
        told: kept.told,
        content_hash: kept.imprint.content_hash,
        marks,
    }
}

/// A message as a table has it.
pub(super) fn table_row<'a>(record: &'a MessageRecord, document: Option<RowDocument<'a>>) -> TableRow<'a> {
    TableRow {
        id: (record.id != given_id(record.seq)).then_some(record.id.as_str()),
        parent_seq: record.parent_seq,
        role: record.role,
        created_at: record.created_at,
        tokens: record.tokens,
        variable: record.variable,
        opens_group: record.opens_group,
        imported: record.imported,
        local_only: record.local_only,
        is_removed: record.removed,
        document,
    }
}

impl Engine {
    /// The search port, where it is used.
    fn port(&self) -> Option<&dyn SearchPort> {
        self.host.storage.search().filter(|_| self.searches_outside())
    }

    /// Whether the storage searches, and the index is none of postings.
    pub(super) fn searches_outside(&self) -> bool {
        self.state.borrow().index.is_outside()
    }

    /// Takes the lines in of what is not here of a conversation, or of all that are remembered.
    pub(super) async fn attach_lines(&self, only: Option<&str>) -> Result<()> {
        let _turn = self.attaching.enter().await;
        let Some(port) = self.port() else { return Ok(()) };
        let mut is_any = false;
        loop {
            let wanted = self.lines_wanted(only);
            let lives: Vec<Option<(u32, Seq)>> =
                wanted.iter().map(|range| self.life_of(&range.conversation_id)).collect();
            if wanted.is_empty() {
                break;
            }
            let found = port.lines(wanted.clone()).await?;
            for ((range, life), bytes) in wanted.iter().zip(lives).zip(&found) {
                if life == self.life_of(&range.conversation_id) {
                    take_lines_in(&mut self.state.borrow_mut(), range, bytes);
                }
            }
            is_any = true;
            if wanted == self.lines_wanted(only) {
                // What is left has none.
                break;
            }
        }
        if is_any && only.is_none() { self.attach_heads().await } else { Ok(()) }
    }

    /// So many of the lines that are not here as are read in one go.
    fn lines_wanted(&self, only: Option<&str>) -> Vec<LineRange> {
        let state = self.state.borrow();
        let mut room = MOST_LINES;
        let mut wanted = Vec::new();
        let mut see = |one: &Conversation| {
            let record = &one.stored.value;
            let (from, to) = (one.loaded_until_seq() + 1, record.last_seq);
            if from <= to && room > 0 && one.removed == record.removed {
                let to = to.min(from.saturating_add(room - 1));
                room -= to + 1 - from;
                wanted.push(LineRange { conversation_id: record.id.clone(), from, to });
            }
        };
        match only {
            Some(id) => state.conversation(id).into_iter().for_each(&mut see),
            None => state.conversations.values().filter(|one| one.stored.value.is_shared()).for_each(|one| see(one)),
        }
        wanted
    }

    /// Vectors are where they are searched: none is read.
    pub(super) fn pass_vectors_over(&self, only: Option<&str>) {
        let Some(model) = self.model() else { return };
        let state = &mut *self.state.borrow_mut();
        for conversation in state.conversations.values_mut() {
            let is_meant = only.is_none_or(|only| only == conversation.stored.value.id);
            if is_meant && embedded_with(conversation) == Some(model.as_str()) {
                let until = embedded_until(conversation).min(conversation.loaded_until_seq());
                conversation.vectors_until_seq = conversation.vectors_until_seq.max(until);
            }
        }
    }

    /// Stores messages again that have no entry, as they are, so that they get one.
    pub(super) async fn put_entries(&self, messages: &[(Key, Record)]) -> Result<()> {
        if !self.searches_outside() || self.read_only || messages.is_empty() {
            return Ok(());
        }
        let mut commit = Commit::default();
        for (key, record) in messages {
            commit.checks.push(Check { store: Store::Messages, key: key.clone(), body: Some(record.body.clone()) });
            commit.puts.push((Store::Messages, key.clone(), record.clone()));
        }
        // Where one was changed meanwhile, whoever did it stored the entry too; the others are met again.
        self.host.storage.commit(commit).await.map(|_| ())
    }

    /// Looks up what a search for a text reads; `known`: what was found for its words, which are not asked for again.
    pub(super) async fn look_up(
        &self,
        text: &str,
        vector: Option<&[f32]>,
        known: Option<&FoundFor>,
    ) -> Result<Findings> {
        let Some(port) = self.port() else { return Ok(None) };
        let sought = known.is_none().then(|| Sought::new(self.state.borrow().index.analyzer(), text));
        let Sought { terms, marks } = sought.unwrap_or_default();
        let vector = vector.and_then(|vector| Some((self.model()?, vector.to_vec())));
        let mut found = FoundFor {
            terms: known.map_or_else(|| terms.clone(), |known| known.terms.clone()),
            dimensions: vector.as_ref().map(|(_, vector)| vector.len()),
            answers: known.map_or_else(Vec::new, |known| known.answers.clone()),
        };
        if !terms.is_empty() || vector.is_some() {
            found.answers.push(Rc::new(port.find(Lookup { terms, marks, vector }).await?));
        }
        Ok(Some(found))
    }

    /// The state, to be searched for what the findings are of. They are those of the borrow alone: another call may put
    /// others in place as soon as this one waits.
    pub(super) fn searchable(&self, findings: &Findings) -> Ref<'_, State> {
        if let Some(found) = findings {
            let state = &mut *self.state.borrow_mut();
            let found = found_in(state, found);
            state.index.take_found(found);
        }
        self.state.borrow()
    }

    /// Whether there are vectors to compare with.
    pub(super) fn has_vectors(&self, state: &State) -> bool {
        match state.index.is_outside() {
            true => state.conversations.values().any(|one| one.vectors_until_seq > 0),
            false => state.index.vectors().is_some_and(|vectors| !vectors.is_empty()),
        }
    }
}

/// Takes lines in that follow what is here of their conversation, up to the first that is missing or cannot be read.
fn take_lines_in(state: &mut State, range: &LineRange, bytes: &[u8]) {
    let Some(conversation) = state.conversations.get_mut(&range.conversation_id) else { return };
    let first_seq = conversation.loaded_until_seq() + 1;
    let is_linear = conversation.stored.value.is_linear();
    let mut lines = Vec::new();
    for (seq, bytes) in pieces(bytes) {
        if seq < first_seq {
            continue;
        }
        let line = Line::from_bytes(seq, bytes).filter(|_| seq == conversation.loaded_until_seq() + 1);
        let Some(line) = line else { break };
        let mut message = meta_of(seq, &line.row);
        conversation.place_if_linear(seq);
        if line.is_streaming {
            conversation.streaming.insert(seq);
        }
        // As for a message that is read: which branch it is on is known when all are there.
        if let Some(kept) = line.row.document.filter(|_| seq <= conversation.stored.value.leaf()) {
            message.set_document(Some(lines.len() as u32));
            lines
                .push(LineDocument { document: sealed(conversation.number, seq, &line.row, &kept), terms: line.terms });
        }
        conversation.messages.push(message);
    }
    let first = state.index.attach_lines(&lines);
    for message in conversation.messages.iter_mut().skip(first_seq as usize - 1) {
        message.set_document(message.document().map(|document| first + document));
    }
    if !is_linear {
        state.follow_leaf(&range.conversation_id);
    }
}

/// A message's document as the index takes it in.
pub(super) fn sealed<'a>(
    conversation: u32,
    seq: Seq,
    row: &TableRow<'a>,
    kept: &RowDocument<'a>,
) -> SealedDocument<'a> {
    SealedDocument {
        conversation,
        seq,
        role: row.role,
        speaker: kept.speaker,
        created_at_ms: row.created_at,
        asks: kept.asks,
        told: kept.told,
        content_hash: kept.content_hash,
        marks: kept.marks,
    }
}

/// Findings by document. What is of messages that are not here is left out, as it is not searched.
fn found_in(state: &State, found: &FoundFor) -> Found {
    let mut sorted = Found { near: found.dimensions.map(|length| (length, Vec::new())), ..Found::default() };
    sorted.postings = found.terms.iter().map(|term| (*term, Vec::new())).collect();
    for finding in found.answers.iter().flat_map(|answer| &**answer) {
        let Some(conversation) = state.conversation(&finding.conversation_id) else { continue };
        let document = |seq: [u8; 4]| conversation.message(Seq::from_be_bytes(seq)).and_then(MessageMeta::document);
        match finding.kind {
            FindingKind::Term(at) => {
                let Some((_, postings)) = sorted.postings.get_mut(at) else { continue };
                for [a, b, c, d, high, low] in finding.bytes.as_chunks::<6>().0 {
                    postings.extend(document([*a, *b, *c, *d]).map(|one| (one, u16::from_be_bytes([*high, *low]))));
                }
            }
            FindingKind::Near => {
                let Some((_, near)) = &mut sorted.near else { continue };
                for [a, b, c, d, e, f, g, h] in finding.bytes.as_chunks::<8>().0 {
                    let similarity = f32::from_be_bytes([*e, *f, *g, *h]).clamp(-1.0, 1.0);
                    near.extend(
                        document([*a, *b, *c, *d]).filter(|_| !similarity.is_nan()).map(|one| (one, similarity)),
                    );
                }
            }
            FindingKind::Marks => {
                for (seq, marks) in pieces(&finding.bytes) {
                    if let Some(document) = document(seq.to_be_bytes()) {
                        sorted.marks.insert(document, marks.to_vec());
                    }
                }
            }
        }
    }
    sorted
}
