//! Messages found by words and by meaning.

use super::answer_kinds::AnswerKinds;
use super::message_vectors::MessageVectors;
use super::question::name_words;
use super::rerank::{HitFigures, Scores};
use super::sealed::{Digest, digest, searchable_text};
use super::search::Search;
use super::timeline::{Entry, NO_SPEAKER, Timeline};
use crate::config::{RetrievalPolicy, Scope as RetrievalScope};
use crate::error::{Code, Error, Result};
use crate::lexical::{Analyzer, LexicalIndex, Scope, Workspace, term_counts};
use crate::message::{Role, Seq};
use crate::secrets::without_secrets;
use crate::vector::{RowSegment, VectorIndex};
use std::cell::RefCell;

/// A message to index.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    /// The conversation's number, given by the caller.
    pub conversation: u32,
    /// Position in the conversation.
    pub seq: Seq,
    /// Who speaks.
    pub role: Role,
    /// The speaker's name, where there is one. It is indexed with the text.
    pub speaker: Option<&'a str>,
    /// Milliseconds since 1970.
    pub created_at_ms: f64,
    /// The visible text.
    pub text: &'a str,
}

/// What to look for, and where.
#[derive(Clone, Copy)]
pub struct SearchRequest<'a> {
    /// The question, as it was asked.
    pub text: &'a str,
    /// Its vector, from the same model as the messages' vectors. Without it the search is lexical.
    pub vector: Option<&'a [f32]>,
    /// Only this conversation.
    pub conversation: Option<u32>,
    /// Where the question is asked: hits elsewhere are scaled by [`RetrievalPolicy::other_conversation_factor`].
    pub current_conversation: Option<u32>,
    /// Only messages that fit.
    pub filter: MessageFilter<'a>,
    /// Whether a message may be a hit, by conversation and seq; `None` admits all. Asked last, of what would be found. What is not admitted (the recent
    /// window, say) still counts as the surroundings of what is.
    pub admits: Option<&'a dyn Fn(u32, Seq) -> bool>,
    /// Most hits.
    pub top_k: usize,
    /// Hits below this score are left out, 0 to 1.
    pub min_score: f32,
    /// The time of asking, milliseconds since 1970.
    pub now_ms: f64,
    /// Weights, half-life, factor for other conversations.
    pub policy: &'a RetrievalPolicy,
}

/// Which messages may be hits; by default all.
#[derive(Clone, Copy, Default)]
pub struct MessageFilter<'a> {
    /// Whether messages of a conversation may be.
    pub conversations: Option<&'a dyn Fn(u32) -> bool>,
    /// Only messages of these roles.
    pub roles: Option<&'a [Role]>,
    /// Only messages from this time on, milliseconds since 1970.
    pub since_ms: Option<f64>,
    /// Only messages up to this time, inclusive, milliseconds since 1970.
    pub until_ms: Option<f64>,
}

impl MessageFilter<'_> {
    pub(super) fn admits(&self, entry: &Entry) -> bool {
        self.conversations.is_none_or(|admits| admits(entry.conversation))
            && self.roles.is_none_or(|roles| roles.contains(&entry.role))
            && self.since_ms.is_none_or(|since| entry.created_at_ms >= since)
            && self.until_ms.is_none_or(|until| entry.created_at_ms <= until)
    }
}

/// How a search was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By words and vectors.
    Hybrid,
    /// By words only: there is no embedder, no vector of the question, or no vector to compare it with.
    Lexical,
}

impl Mode {
    /// The name in receipts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Lexical => "lexical",
        }
    }
}

/// A message found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Its document number.
    pub document: u32,
    /// Its conversation.
    pub conversation: u32,
    /// Its position there.
    pub seq: Seq,
    /// 0 to 1.
    pub score: f32,
    /// Hash of its text without regard to form; 0 for a text without words.
    pub content_hash: u64,
    /// What the score is made of.
    pub scores: Scores,
    /// What the scores were computed from; [`score_hits`](super::score_hits) computes them again, by other weights.
    pub figures: HitFigures,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// Best first; among equals the newest, then the highest document number.
    pub hits: Vec<Hit>,
    /// How it was answered.
    pub mode: Mode,
    /// Messages that were scored by all signals.
    pub candidates: usize,
    /// How sure it is that anything found is meant, 0 to 1; part of every score.
    pub confidence: f32,
}

pub(super) struct Speaker {
    name: String,
    /// Hashes of the words of the name.
    pub words: Vec<u64>,
}

/// The index over messages: words, vectors, and where each message stands.
///
/// Useful for: "where did we talk about this", over all conversations or one, in about a millisecond for ten thousand
/// messages. It keeps no text. Results depend only on the messages that are in it, not on the order in which they came
/// or on what was removed; document numbers do.
pub struct MessageIndex {
    pub(super) analyzer: Analyzer,
    pub(super) lexical: LexicalIndex,
    pub(super) vectors: Option<MessageVectors>,
    pub(super) timeline: Timeline,
    pub(super) speakers: Vec<Speaker>,
    /// Postings, marks and vectors are elsewhere, see `outside.rs`.
    pub(super) is_outside: bool,
    /// Memory that one search leaves to the next.
    workspace: RefCell<Workspace>,
}

impl MessageIndex {
    /// An empty index. Without `vectors` every search is lexical.
    #[must_use]
    pub fn new(analyzer: Analyzer, vectors: Option<Box<dyn VectorIndex>>) -> Self {
        let vectors = vectors.map(MessageVectors::new);
        Self {
            analyzer,
            lexical: LexicalIndex::new(),
            vectors,
            timeline: Timeline::default(),
            speakers: Vec::new(),
            is_outside: false,
            workspace: RefCell::default(),
        }
    }

    /// The analyzer in use.
    #[must_use]
    pub fn analyzer(&self) -> &Analyzer {
        &self.analyzer
    }

    /// Messages in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lexical.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lexical.is_empty()
    }

    /// The rows of vectors, where there is an index of them. A message's first row has its document number as id.
    #[must_use]
    pub fn vectors(&self) -> Option<&dyn VectorIndex> {
        self.vectors.as_ref().map(MessageVectors::rows)
    }

    /// Grows what makes searching many vectors faster, see [`VectorIndex::grow`]; true while there is more to do.
    pub fn grow_vectors(&mut self, budget: usize) -> bool {
        self.vectors.as_mut().is_some_and(|vectors| vectors.grow(budget))
    }

    /// Puts another vector index in place (another embedder), or none. It must be empty.
    pub fn replace_vectors(&mut self, vectors: Option<Box<dyn VectorIndex>>) {
        self.vectors = vectors.map(MessageVectors::new);
    }

    /// Bytes held by words and metadata, without the vectors.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.lexical.memory_bytes() + self.timeline.memory_bytes() + self.workspace.borrow().memory_bytes()
    }

    /// The document of a message.
    #[must_use]
    pub fn find(&self, conversation: u32, seq: Seq) -> Option<u32> {
        self.timeline.find(conversation, seq)
    }

    /// Hash of a document's normalised text: equal where two messages say the same but for form. 0 for one that is not here.
    #[must_use]
    pub fn content_hash(&self, document: u32) -> u64 {
        self.timeline.entry(document).map_or(0, |entry| entry.content_hash)
    }

    /// Where a document stands: conversation and seq.
    #[must_use]
    pub fn place(&self, document: u32) -> Option<(u32, Seq)> {
        self.timeline.entry(document).map(|entry| (entry.conversation, entry.seq))
    }

    /// Adds a message and answers its document number; `None` for a text without anything to read. A message that was
    /// there under the same conversation and seq is replaced. Messages may come in any order; in order is fastest.
    pub fn add(&mut self, document: &Document<'_>) -> Option<u32> {
        if let Some(old) = self.timeline.find(document.conversation, document.seq) {
            self.remove(old);
        }
        if document.text.trim().is_empty() {
            return None;
        }
        // What is secret is not found, nor are its words kept.
        let text = without_secrets(document.text, " ");
        let document = &Document { text: &text, ..*document };
        let searchable = searchable_text(document);
        let number = match self.is_outside {
            true => self.lexical.add_unread(term_counts(&self.analyzer, &searchable).0),
            false => self.lexical.add(&self.analyzer, &searchable),
        };
        let Digest { asks, told, imprint } = digest(&self.analyzer, document.text);
        let speaker = document.speaker.map_or(NO_SPEAKER, |name| self.speaker(name));
        let entry = Entry {
            conversation: document.conversation,
            seq: document.seq,
            created_at_ms: document.created_at_ms,
            speaker,
            role: document.role,
            asks,
            told: AnswerKinds::from_bits(told),
            content_hash: imprint.content_hash,
            is_live: true,
            place: 0,
            terms: self.lexical.length(number),
        };
        self.timeline.add(entry, if self.is_outside { &[] } else { &imprint.marks });
        Some(number)
    }

    pub(super) fn speaker(&mut self, name: &str) -> u16 {
        // A name that nobody has any more left its place empty.
        let place = |wanted: &str| self.speakers.iter().position(|speaker| speaker.name == wanted);
        let (known, empty) = (place(name), place("").unwrap_or(self.speakers.len()));
        let position = known.unwrap_or_else(|| {
            let speaker = Speaker { name: name.to_owned(), words: name_words(&self.analyzer, name) };
            match self.speakers.get_mut(empty) {
                Some(place) => *place = speaker,
                None => self.speakers.push(speaker),
            }
            empty
        });
        // More names than that are not asked for by name.
        u16::try_from(position).unwrap_or(NO_SPEAKER)
    }

    /// Gives a message its vector.
    ///
    /// # Errors
    /// [`Code::NotFound`] for a document that is not there, [`Code::InvalidArgument`] when there is no vector index, and
    /// the errors of [`VectorIndex::insert`].
    pub fn set_vector(&mut self, document: u32, vector: &[f32]) -> Result<()> {
        self.set_part_vector(document, 0, vector)
    }

    /// Gives a part of a long message its vector; parts count from 0. The message is as near to a question as its
    /// nearest part.
    ///
    /// # Errors
    /// As [`MessageIndex::set_vector`].
    pub fn set_part_vector(&mut self, document: u32, part: u32, vector: &[f32]) -> Result<()> {
        if self.timeline.entry(document).is_none() {
            return Err(Error::not_found(format!("document {document} is not in the index; it was removed meanwhile")));
        }
        match &mut self.vectors {
            // Those outside are in storage, where the next question finds it.
            _ if self.is_outside => Ok(()),
            Some(vectors) => vectors.set(document, part, vector),
            None => Err(no_vectors()),
        }
    }

    /// Takes the vectors of a segment in. `parts` says which document and part a row is of; rows without one, and those
    /// of documents that are not there, are left out.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`] when there is no vector index, and the errors of [`VectorIndex::attach`].
    pub fn attach_vectors(&mut self, segment: &RowSegment, parts: &dyn Fn(u32) -> Option<(u32, u32)>) -> Result<()> {
        let timeline = &self.timeline;
        match &mut self.vectors {
            Some(vectors) => {
                vectors.attach(segment, &|row| parts(row).filter(|(document, _)| timeline.entry(*document).is_some()))
            }
            None => Err(no_vectors()),
        }
    }

    /// Forgets a message; false when it was not there.
    pub fn remove(&mut self, document: u32) -> bool {
        if let Some(vectors) = &mut self.vectors {
            vectors.remove(document);
        }
        let was_there = self.timeline.remove(document) && self.lexical.remove(document);
        self.timeline.truncate(self.lexical.capacity());
        was_there
    }

    /// Forgets messages of one conversation, in one go.
    pub fn remove_all(&mut self, conversation: u32, documents: &[u32]) {
        self.timeline.remove_all(conversation, documents);
        self.drop_documents(documents);
    }

    fn drop_documents(&mut self, documents: &[u32]) {
        for document in documents {
            self.lexical.remove(*document);
            if let Some(vectors) = &mut self.vectors {
                vectors.remove(*document);
            }
        }
        self.timeline.truncate(self.lexical.capacity());
    }

    /// Forgets a conversation and answers how many messages that were.
    pub fn remove_conversation(&mut self, conversation: u32) -> usize {
        let documents = self.timeline.remove_conversation(conversation);
        self.drop_documents(&documents);
        documents.len()
    }

    /// How many messages a search could bring that are not shown: those of this conversation before `from_seq`, and with
    /// [`RetrievalScope::User`] those of all others.
    #[must_use]
    pub fn messages_outside(&self, conversation: u32, from_seq: Seq, scope: RetrievalScope) -> usize {
        let Some(track) = self.timeline.track(conversation) else {
            return if scope == RetrievalScope::User { self.len() } else { 0 };
        };
        let entries = self.timeline.entries();
        let before = track.documents.partition_point(|document| entries[*document as usize].seq < from_seq);
        match scope {
            RetrievalScope::Conversation => before,
            RetrievalScope::User => self.len() - track.documents.len() + before,
        }
    }

    /// What a search by words sees: all messages, or those of a conversation.
    pub(super) fn scope(&self, conversation: Option<u32>) -> Scope<'_> {
        let surroundings = self.timeline.surroundings();
        let Some(conversation) = conversation else {
            return Scope::all(&self.lexical, surroundings, self.timeline.sessions());
        };
        let (documents, sessions, terms) = self
            .timeline
            .track(conversation)
            .map_or((&[][..], 0, 0), |track| (&track.documents[..], track.sessions, track.terms));
        Scope::only(&self.lexical, surroundings, documents, sessions, terms)
    }

    /// Drops every trace of removed messages from memory; call it after an erasure.
    pub fn sweep(&mut self) {
        self.lexical.sweep();
        self.timeline.truncate(self.lexical.capacity());
        if let Some(vectors) = &mut self.vectors {
            vectors.sweep();
        }
        let mut is_used = vec![false; self.speakers.len()];
        for entry in self.timeline.entries().iter().filter(|entry| entry.is_live) {
            if let Some(used) = is_used.get_mut(usize::from(entry.speaker)) {
                *used = true;
            }
        }
        for (speaker, _) in self.speakers.iter_mut().zip(is_used).filter(|(_, is_used)| !is_used) {
            *speaker = Speaker { name: String::new(), words: Vec::new() };
        }
    }

    /// Searches.
    ///
    /// # Errors
    /// Those of [`VectorIndex::search`]: a question vector of another length, or with NaN or infinity in it.
    pub fn search(&self, request: &SearchRequest<'_>) -> Result<SearchResult> {
        let mut workspace = self.workspace.take();
        let result = Search::new(self, request).run(&mut workspace);
        self.workspace.replace(workspace);
        result
    }
}

fn no_vectors() -> Error {
    Error::new(Code::InvalidArgument, "there is no vector index; configure an embedder first")
}
