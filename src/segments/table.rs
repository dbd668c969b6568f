//! The table of a message segment: what the engine and the index keep of each message beside the postings of its text.
//!
//! `names: count, texts; runs: per run the length of its rows in bytes; rows, run by run`. The runs themselves, which say
//! whose messages these are and at which positions, stand in the segment's record.

use super::bytes::{Reader, put_number, put_text};
use crate::message::{Role, Seq, VariableParts};
use crate::records::SegmentRun;
use crate::sorted_map::SortedMap;

/// One message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableRow<'a> {
    /// The message's id; `None`: the one that the engine gives by position.
    pub id: Option<&'a str>,
    /// The message that it follows; 0: none.
    pub parent_seq: Seq,
    /// Who speaks.
    pub role: Role,
    /// Milliseconds since 1970.
    pub created_at: f64,
    /// As stored.
    pub tokens: u32,
    /// What of `tokens` may be others in a request.
    pub variable: VariableParts,
    /// It opens a turn group.
    pub opens_group: bool,
    /// It came from an import.
    pub imported: bool,
    /// It stays on this device.
    pub local_only: bool,
    /// Only its position is left.
    pub is_removed: bool,
    /// What the index keeps of its text; `None`: it has nothing to be found by, and no document in the segment.
    pub document: Option<RowDocument<'a>>,
}

/// What the index keeps of a message's text beside its postings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowDocument<'a> {
    /// The speaker's name.
    pub speaker: Option<&'a str>,
    /// The text asks something.
    pub asks: bool,
    /// Kinds of answers that the text tells, three bits.
    pub told: u8,
    /// Hash of the text without regard to form.
    pub content_hash: u64,
    /// A byte for each of its words, in order.
    pub marks: &'a [u8],
}

/// Bits of a row's first two bytes. The lowest two are the role.
const OPENS_GROUP: u16 = 1 << 2;
const IMPORTED: u16 = 1 << 3;
const REMOVED: u16 = 1 << 4;
const DOCUMENT: u16 = 1 << 5;
const ASKS: u16 = 1 << 6;
const VARIABLE: u16 = 1 << 7;
const OWN_ID: u16 = 1 << 8;
const FOLLOWS: u16 = 1 << 9;
const SPEAKER: u16 = 1 << 10;
const LOCAL_ONLY: u16 = 1 << 11;
/// The highest three are the kinds of answers.
const TOLD_SHIFT: u32 = 13;

const ROLES: [Role; 4] = [Role::System, Role::User, Role::Assistant, Role::Tool];

/// Writes a table, row by row.
#[derive(Debug, Default)]
pub struct TableBuilder {
    names: SortedMap<String, u32>,
    /// Bytes of the rows of each run.
    runs: Vec<usize>,
    rows: Vec<u8>,
}

impl TableBuilder {
    /// Begins the next run.
    pub fn begin_run(&mut self) {
        self.runs.push(self.rows.len());
    }

    /// Adds the next message of the run that was begun last.
    pub fn push(&mut self, seq: Seq, row: &TableRow<'_>) {
        let document = row.document;
        let speaker = document.and_then(|document| document.speaker);
        let role = ROLES.iter().position(|role| *role == row.role).unwrap_or(0) as u16;
        let flags = [
            (row.opens_group, OPENS_GROUP),
            (row.imported, IMPORTED),
            (row.is_removed, REMOVED),
            (document.is_some(), DOCUMENT),
            (document.is_some_and(|document| document.asks), ASKS),
            (!row.variable.is_none(), VARIABLE),
            (row.id.is_some(), OWN_ID),
            (row.parent_seq + 1 == seq, FOLLOWS),
            (speaker.is_some(), SPEAKER),
            (row.local_only, LOCAL_ONLY),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).fold(role, |flags, (_, bit)| flags | bit);
        let flags = flags | document.map_or(0, |document| u16::from(document.told) << TOLD_SHIFT);
        let speaker = speaker.map(|name| self.name(name));
        let bytes = &mut self.rows;
        bytes.extend(flags.to_le_bytes());
        bytes.extend(row.created_at.to_le_bytes());
        put_number(bytes, row.tokens);
        if let Some(id) = row.id {
            put_text(bytes, id);
        }
        if row.parent_seq + 1 != seq {
            put_number(bytes, row.parent_seq);
        }
        if let Some(speaker) = speaker {
            put_number(bytes, speaker);
        }
        if let Some(document) = document {
            bytes.extend(document.content_hash.to_le_bytes());
            put_number(bytes, document.marks.len() as u32);
            bytes.extend(document.marks);
        }
        if !row.variable.is_none() {
            let VariableParts { results, result_tokens, images, audio, files } = row.variable;
            [results, result_tokens, images, audio, files].iter().for_each(|number| put_number(bytes, *number));
        }
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(number) = self.names.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.insert(name.to_owned(), number);
        number
    }

    /// The table.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        let mut names: Vec<&str> = vec![""; self.names.len()];
        for (name, number) in self.names.iter() {
            names[*number as usize] = name;
        }
        let mut bytes = Vec::new();
        put_number(&mut bytes, names.len() as u32);
        names.iter().for_each(|name| put_text(&mut bytes, name));
        for (index, start) in self.runs.iter().enumerate() {
            let end = self.runs.get(index + 1).copied().unwrap_or(self.rows.len());
            put_number(&mut bytes, (end - start) as u32);
        }
        bytes.extend(self.rows);
        bytes
    }
}

/// A table that is read.
#[derive(Debug)]
pub struct Table<'a> {
    names: Vec<&'a str>,
    runs: Vec<&'a [u8]>,
}

impl<'a> Table<'a> {
    /// Looks through a table of so many runs. `None`: it is another one.
    #[must_use]
    pub fn open(bytes: &'a [u8], runs: usize) -> Option<Self> {
        let mut reader = Reader(bytes);
        let count = reader.number()? as usize;
        // Every name takes a byte at least: what cannot be there is not made room for.
        let mut names = Vec::with_capacity(count.min(bytes.len()));
        for _ in 0..count {
            names.push(reader.text()?);
        }
        let lengths: Vec<u32> = (0..runs).map(|_| reader.number()).collect::<Option<_>>()?;
        let runs = lengths.iter().map(|length| reader.take(*length as usize)).collect::<Option<_>>()?;
        reader.0.is_empty().then_some(Self { names, runs })
    }

    /// The messages of a run, in order of position. The iterator ends early where the bytes are others than were written.
    pub fn rows(&self, index: usize, run: &SegmentRun) -> impl Iterator<Item = (Seq, TableRow<'a>)> + '_ {
        let mut reader = Reader(self.runs.get(index).copied().unwrap_or_default());
        (run.first_seq..=run.last_seq).map_while(move |seq| Some((seq, self.row(&mut reader, seq)?)))
    }

    /// The row of a table of one message.
    pub(super) fn only_row(&self, seq: Seq) -> Option<TableRow<'a>> {
        self.row(&mut Reader(self.runs.first()?), seq)
    }

    fn row(&self, reader: &mut Reader<'a>, seq: Seq) -> Option<TableRow<'a>> {
        let flags = u16::from_le_bytes([reader.byte()?, reader.byte()?]);
        let has = |bit: u16| flags & bit != 0;
        let created_at = f64::from_le_bytes(reader.eight()?);
        let tokens = reader.number()?;
        let id = if has(OWN_ID) { Some(reader.text()?) } else { None };
        // A parent that does not come first could send a walk up the tree in circles.
        let parent_seq = if has(FOLLOWS) { seq.checked_sub(1)? } else { reader.number().filter(|one| *one < seq)? };
        let speaker = if has(SPEAKER) { Some(*self.names.get(reader.number()? as usize)?) } else { None };
        let document = if has(DOCUMENT) {
            let told = (flags >> TOLD_SHIFT) as u8;
            let content_hash = u64::from_le_bytes(reader.eight()?);
            let marks = reader.number()?;
            Some(RowDocument { speaker, asks: has(ASKS), told, content_hash, marks: reader.take(marks as usize)? })
        } else {
            None
        };
        let mut variable = VariableParts::default();
        if has(VARIABLE) {
            let VariableParts { results, result_tokens, images, audio, files } = &mut variable;
            for number in [results, result_tokens, images, audio, files] {
                *number = reader.number()?;
            }
        }
        Some(TableRow {
            id,
            parent_seq,
            role: ROLES[usize::from(flags & 3)],
            created_at,
            tokens,
            variable,
            opens_group: has(OPENS_GROUP),
            imported: has(IMPORTED),
            local_only: has(LOCAL_ONLY),
            is_removed: has(REMOVED),
            document,
        })
    }
}
