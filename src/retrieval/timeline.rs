//! Where each document stands: its conversation, its neighbours, its session.

use super::answer_kinds::AnswerKinds;
use crate::lexical::{NONE, Surroundings, WordMarks};
use crate::message::{Role, Seq};
use crate::sorted_map::SortedMap;
use crate::sorting::{sort, sort_by_key};

/// A pause of this length between two messages of a conversation begins a new session: 6 hours. People come back to a
/// chat after lunch and mean the same thing; after a night they mostly do not.
pub const SESSION_GAP_MS: f64 = 6.0 * 3_600_000.0;

/// A session also ends after this many messages, so that a chat without pauses (or an import without times) still has
/// sessions that say something.
pub const SESSION_MAX_MESSAGES: u32 = 48;

/// "No speaker", in [`Entry::speaker`].
pub(super) const NO_SPEAKER: u16 = u16::MAX;

/// What is kept of a message beside its postings and its vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub conversation: u32,
    pub seq: Seq,
    pub created_at_ms: f64,
    /// Index in the table of speakers, [`NO_SPEAKER`] for none.
    pub speaker: u16,
    pub role: Role,
    /// The text asks something.
    pub asks: bool,
    /// What kinds of answers the text tells.
    pub told: AnswerKinds,
    /// Hash of its text without regard to form.
    pub content_hash: u64,
    pub is_live: bool,
    /// Position in its session, from 0.
    pub place: u8,
    /// Terms in it.
    pub terms: u16,
}

impl Entry {
    /// What stands under the number of a document that is not there.
    pub fn gone() -> Self {
        Self {
            conversation: NONE,
            seq: 0,
            created_at_ms: 0.0,
            speaker: NO_SPEAKER,
            role: Role::System,
            asks: false,
            told: AnswerKinds::default(),
            content_hash: 0,
            is_live: false,
            place: 0,
            terms: 0,
        }
    }
}

/// One conversation's documents in order of seq, with sums.
#[derive(Clone, Debug, Default)]
pub(super) struct Track {
    pub documents: Vec<u32>,
    pub sessions: u32,
    pub terms: u64,
    /// Hash of the first document's text: kept here, as every search asks it of all conversations.
    pub first_hash: u64,
}

/// All documents by number, and by conversation in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    entries: Vec<Entry>,
    surroundings: Surroundings,
    marks: WordMarks,
    tracks: SortedMap<u32, Track>,
    sessions: u64,
}

impl Timeline {
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// The words of each document, in order.
    pub fn marks(&self) -> &WordMarks {
        &self.marks
    }

    pub fn entry(&self, document: u32) -> Option<&Entry> {
        self.entries.get(document as usize).filter(|entry| entry.is_live)
    }

    pub fn track(&self, conversation: u32) -> Option<&Track> {
        self.tracks.get(&conversation)
    }

    pub fn tracks(&self) -> impl Iterator<Item = (&u32, &Track)> {
        self.tracks.iter()
    }

    /// Puts these marks, by document, in place of all that were there.
    pub fn replace_marks(&mut self, given: &SortedMap<u32, Vec<u8>>) {
        self.marks = WordMarks::default();
        for document in 0..self.entries.len() as u32 {
            self.marks.push(given.get(&document).map_or(&[][..], |marks| marks));
        }
    }

    /// Forgets the numbers from this one on. They must be of removed documents.
    pub fn truncate(&mut self, documents: usize) {
        self.entries.truncate(documents);
        self.surroundings.truncate(documents);
        self.marks.truncate(documents);
    }

    /// Bytes held, near enough.
    pub fn memory_bytes(&self) -> usize {
        let documents: usize = self.tracks.iter().map(|(_, track)| track.documents.capacity()).sum();
        self.entries.capacity() * size_of::<Entry>()
            + self.surroundings.memory_bytes()
            + self.marks.memory_bytes()
            + documents * size_of::<u32>()
    }

    /// Sessions of all conversations.
    pub fn sessions(&self) -> u64 {
        self.sessions
    }

    pub fn find(&self, conversation: u32, seq: Seq) -> Option<u32> {
        let track = self.tracks.get(&conversation)?;
        let position = self.position(track, seq).ok()?;
        track.documents.get(position).copied()
    }

    fn position(&self, track: &Track, seq: Seq) -> Result<usize, usize> {
        track.documents.binary_search_by_key(&seq, |document| self.entries[*document as usize].seq)
    }

    /// Adds the next document, with the marks of its words. The caller made sure that its place (conversation, seq) is free.
    pub fn add(&mut self, entry: Entry, marks: &[u8]) {
        let document = u32::try_from(self.entries.len()).unwrap_or(NONE);
        self.entries.push(entry);
        self.surroundings.push(entry.asks);
        self.marks.push(marks);
        let mut track = self.tracks.remove(&entry.conversation).unwrap_or_default();
        let position = self.position(&track, entry.seq).unwrap_or_else(|position| position);
        let is_last = position == track.documents.len();
        track.documents.insert(position, document);
        self.link(&mut track, if is_last { position } else { 0 });
        self.tracks.insert(entry.conversation, track);
    }

    /// Adds the next documents, of which the first has this number. The caller made sure that their places are free.
    pub fn add_all<'a>(&mut self, first: u32, entries: Vec<Entry>, marks: impl Iterator<Item = &'a [u8]> + Clone) {
        let mut added: Vec<(u32, Seq, u32)> = (first..)
            .zip(&entries)
            .filter(|(_, entry)| entry.is_live)
            .map(|(document, entry)| (entry.conversation, entry.seq, document))
            .collect();
        sort(&mut added);
        self.entries.reserve_exact(entries.len());
        entries.iter().for_each(|entry| self.surroundings.push(entry.asks));
        self.marks.reserve(entries.len(), marks.clone().map(<[u8]>::len).sum());
        marks.for_each(|marks| self.marks.push(marks));
        self.entries.extend(entries);
        for documents in added.chunk_by(|left, right| left.0 == right.0) {
            let Some((conversation, seq, _)) = documents.first() else { continue };
            let mut track = self.tracks.remove(conversation).unwrap_or_default();
            let position = self.position(&track, *seq).unwrap_or_else(|position| position);
            let is_last = position == track.documents.len();
            track.documents.reserve_exact(documents.len());
            track.documents.extend(documents.iter().map(|(_, _, document)| document));
            if !is_last {
                sort_by_key(&mut track.documents, &|document| self.entries[*document as usize].seq);
            }
            self.link(&mut track, if is_last { position } else { 0 });
            self.tracks.insert(*conversation, track);
        }
    }

    /// Takes a document out; false when it was not there.
    pub fn remove(&mut self, document: u32) -> bool {
        let Some(conversation) = self.entry(document).map(|entry| entry.conversation) else { return false };
        self.remove_all(conversation, &[document]);
        true
    }

    /// Takes documents of one conversation out.
    pub fn remove_all(&mut self, conversation: u32, documents: &[u32]) {
        if documents.is_empty() {
            return;
        }
        let Some(mut track) = self.tracks.remove(&conversation) else { return };
        for document in documents {
            if let Some(entry) = self.entries.get_mut(*document as usize) {
                (entry.is_live, entry.content_hash) = (false, 0);
                self.marks.wipe(*document);
            }
        }
        track.documents.retain(|document| self.entries[*document as usize].is_live);
        self.link(&mut track, 0);
        if !track.documents.is_empty() {
            self.tracks.insert(conversation, track);
        }
    }

    /// Takes a whole conversation out and answers its documents.
    pub fn remove_conversation(&mut self, conversation: u32) -> Vec<u32> {
        let Some(track) = self.tracks.remove(&conversation) else { return Vec::new() };
        for document in &track.documents {
            let entry = &mut self.entries[*document as usize];
            (entry.is_live, entry.content_hash) = (false, 0);
            self.marks.wipe(*document);
        }
        self.sessions -= u64::from(track.sessions);
        track.documents
    }

    /// Sets links, sessions and sums of a track from this position on; what comes before it must be right.
    fn link(&mut self, track: &mut Track, from: usize) {
        self.sessions -= u64::from(track.sessions);
        if from == 0 {
            track.sessions = 0;
            track.terms = 0;
            let first = track.documents.first().map(|document| &self.entries[*document as usize]);
            track.first_hash = first.map_or(0, |entry| entry.content_hash);
        }
        for position in from..track.documents.len() {
            let document = track.documents[position];
            let before = position.checked_sub(1).map(|position| track.documents[position]);
            let joined = before.filter(|before| self.continues(*before, document));
            let place = match joined {
                Some(before) => self.entries[before as usize].place + 1,
                None => {
                    track.sessions += 1;
                    0
                }
            };
            let entry = &mut self.entries[document as usize];
            entry.place = place;
            let terms = entry.terms;
            self.surroundings.put(document, joined.unwrap_or(NONE), terms);
            track.terms += u64::from(terms);
        }
        self.sessions += u64::from(track.sessions);
    }

    fn continues(&self, before: u32, document: u32) -> bool {
        let (before, entry) = (&self.entries[before as usize], &self.entries[document as usize]);
        let gap = (entry.created_at_ms - before.created_at_ms).abs();
        u32::from(before.place) + 1 < SESSION_MAX_MESSAGES && (gap.is_nan() || gap <= SESSION_GAP_MS)
    }
}
