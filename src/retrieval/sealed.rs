//! Messages that come into the index from a sealed segment: their postings are there, and what else is kept of them was
//! worked out when they were sealed.

use super::answer_kinds::AnswerKinds;
use super::message_index::{Document, MessageIndex};
use super::question::asks;
use super::timeline::{Entry, NO_SPEAKER};
use crate::lexical::{Analyzer, Imprint, LexicalSegment};
use crate::message::{Role, Seq};
use std::borrow::Cow;

/// What is kept of a text beside its postings.
#[derive(Clone, Debug, PartialEq)]
pub struct Digest {
    /// It asks something.
    pub asks: bool,
    /// Kinds of answers that it tells, as bits: 1 a time, 2 a number, 4 a name.
    pub told: u8,
    /// Its words.
    pub imprint: Imprint,
}

/// A message whose text is in a segment.
#[derive(Clone, Copy, Debug)]
pub struct SealedDocument<'a> {
    /// The conversation's number, given by the caller.
    pub conversation: u32,
    /// Position in the conversation.
    pub seq: Seq,
    /// Who speaks.
    pub role: Role,
    /// The speaker's name, where there is one.
    pub speaker: Option<&'a str>,
    /// Milliseconds since 1970.
    pub created_at_ms: f64,
    /// As [`digest`] gave it for the text, like the others.
    pub asks: bool,
    /// [`Digest::told`].
    pub told: u8,
    /// [`Imprint::content_hash`].
    pub content_hash: u64,
    /// [`Imprint::marks`].
    pub marks: &'a [u8],
}

/// The digest of a text.
#[must_use]
pub fn digest(analyzer: &Analyzer, text: &str) -> Digest {
    Digest { asks: asks(text), told: AnswerKinds::told(text).bits(), imprint: analyzer.imprint(text) }
}

/// What is indexed of a message: its text, with the speaker's name in front.
#[must_use]
pub fn searchable_text<'a>(document: &Document<'a>) -> Cow<'a, str> {
    match document.speaker {
        Some(speaker) => Cow::Owned(format!("{speaker}: {}", document.text)),
        None => Cow::Borrowed(document.text),
    }
}

impl MessageIndex {
    /// Takes the documents of a segment in, in order, and answers the number of the first. `documents` has one entry for
    /// each; those without a message are left out. Their places (conversation and seq) must be free.
    pub fn attach(&mut self, segment: LexicalSegment, documents: &[Option<SealedDocument<'_>>]) -> u32 {
        let is_kept = |document: u32| documents.get(document as usize).is_some_and(Option::is_some);
        let count = segment.len();
        let first = self.lexical.attach(segment, &is_kept);
        let entries: Vec<Entry> = (0..count)
            .map(|index| match documents.get(index as usize).copied().flatten() {
                Some(document) => self.sealed_entry(first + index, &document),
                None => Entry::gone(),
            })
            .collect();
        let marks = (0..count as usize).map(|at| documents.get(at).copied().flatten().map_or(&[][..], |one| one.marks));
        self.timeline.add_all(first, entries, marks);
        first
    }

    pub(super) fn sealed_entry(&mut self, number: u32, document: &SealedDocument<'_>) -> Entry {
        let speaker = document.speaker.map_or(NO_SPEAKER, |name| self.speaker(name));
        Entry {
            conversation: document.conversation,
            seq: document.seq,
            created_at_ms: document.created_at_ms,
            speaker,
            role: document.role,
            asks: document.asks,
            told: AnswerKinds::from_bits(document.told),
            content_hash: document.content_hash,
            is_live: true,
            terms: self.lexical.length(number),
            ..Entry::gone()
        }
    }
}
