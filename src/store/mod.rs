//! The storage port: ordered records in named stores, read by key or range, written in one checked transaction.
//!
//! Every write of the engine is a [`Commit`]: what must still be as it was read ([`Check`]), what is put, what is
//! removed. A store carries it out in ONE transaction, whole or not at all. Sequence numbers, the summary's optimistic
//! lock and idempotent appends are all checks; so a store needs no domain knowledge, and two tabs cannot collide.

use crate::ports::Pending;
use std::cmp::Ordering;

pub mod conformance;
pub mod encrypted;
pub mod faulty;
pub mod memory;
pub mod range;
pub mod read_only;
pub mod reserve;
pub mod search;

#[cfg(feature = "wasm")]
pub mod indexed_db;

/// The named stores (spec of each: `records.rs` and ARCHITECTURE.md, "Storage").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Store {
    /// Schema version, embedder id and dimension, counters, settings; key: name.
    Meta,
    /// [`crate::records::ConversationRecord`]; key: id.
    Conversations,
    /// [`crate::records::MessageRecord`]; key: conversation, seq.
    Messages,
    /// Message id to seq; key: conversation, message id.
    MessageIds,
    /// [`crate::records::SummaryNode`]; key: conversation, level, first seq. And the last few
    /// [`crate::records::SummaryHead`]s, for the day when the active path turns; key: conversation, `head`, cursor.
    Summaries,
    /// [`crate::records::SummaryHead`]; key: conversation.
    SummaryHeads,
    /// [`crate::records::FactRecord`]; key: id.
    Facts,
    /// Links from facts to messages; key: fact, conversation, seq.
    FactSources,
    /// Session summaries; key: ended at, id.
    Episodes,
    /// Structured notes; key: conversation, id.
    Notes,
    /// Vectors; key: conversation, seq, part. The blob holds little-endian f32.
    Embeddings,
    /// Sealed index segments; key: id.
    Segments,
    /// Their chunks; key: id, number.
    SegmentChunks,
    /// [`crate::records::JobRecord`]; key: kind, conversation.
    Jobs,
    /// [`crate::records::AuditRecord`]; key: number.
    Audit,
    /// Change feed for other tabs; key: number.
    Changes,
}

impl Store {
    /// Every store, in the order in which a schema creates them.
    pub const ALL: [Self; 16] = [
        Self::Meta,
        Self::Conversations,
        Self::Messages,
        Self::MessageIds,
        Self::Summaries,
        Self::SummaryHeads,
        Self::Facts,
        Self::FactSources,
        Self::Episodes,
        Self::Notes,
        Self::Embeddings,
        Self::Segments,
        Self::SegmentChunks,
        Self::Jobs,
        Self::Audit,
        Self::Changes,
    ];

    /// Whether keys end in a number and all have as many components, so that nothing stands between two numbers.
    pub(crate) fn has_keys_of_one_length(self) -> bool {
        matches!(self, Self::Messages | Self::Embeddings | Self::SegmentChunks)
    }

    /// The store's name in the database.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Conversations => "conversations",
            Self::Messages => "messages",
            Self::MessageIds => "message_ids",
            Self::Summaries => "summaries",
            Self::SummaryHeads => "summary_heads",
            Self::Facts => "facts",
            Self::FactSources => "fact_sources",
            Self::Episodes => "episodes",
            Self::Notes => "notes",
            Self::Embeddings => "embeddings",
            Self::Segments => "segments",
            Self::SegmentChunks => "segment_chunks",
            Self::Jobs => "jobs",
            Self::Audit => "audit",
            Self::Changes => "changes",
        }
    }
}

/// One component of a key. Numbers sort before text, text by UTF-16 code units: IndexedDB's own order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyPart {
    /// A whole number; in a stored key at most [`range::MAX_KEY_NUMBER`].
    Number(u64),
    /// Text of any content.
    Text(String),
}

impl Ord for KeyPart {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.cmp(b),
            (Self::Number(_), Self::Text(_)) => Ordering::Less,
            (Self::Text(_), Self::Number(_)) => Ordering::Greater,
            (Self::Text(a), Self::Text(b)) => a.encode_utf16().cmp(b.encode_utf16()),
        }
    }
}

impl PartialOrd for KeyPart {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<u32> for KeyPart {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<&str> for KeyPart {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A record's key: its components in order, compared component by component.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub Vec<KeyPart>);

impl Key {
    /// The key of one component. A call of its own, since keys are made in hundreds of places.
    #[inline(never)]
    pub fn of(part: impl Into<KeyPart>) -> Self {
        Self(vec![part.into()])
    }

    /// The key with one component more.
    #[must_use]
    #[inline(never)]
    pub fn and(mut self, part: impl Into<KeyPart>) -> Self {
        self.0.reserve_exact(1);
        self.0.push(part.into());
        self
    }
}

/// Builds a [`Key`] from texts and numbers: `key!["conversation", 5]`.
#[macro_export]
macro_rules! key {
    () => { $crate::store::Key(Vec::new()) };
    ($first:expr $(, $next:expr)* $(,)?) => { $crate::store::Key::of($first)$(.and($next))* };
}

/// A stored record: JSON text of its type, and bytes where it carries any (vectors, index chunks).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// JSON text of an object.
    pub body: String,
    /// Bytes beside it.
    pub blob: Option<Vec<u8>>,
}

/// A range of records whose keys begin with `prefix`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The store.
    pub store: Store,
    /// The first components, all equal. Empty: the whole store. Without bounds, the prefix itself is a key of the range.
    pub prefix: Key,
    /// Inclusive lower bound on the component after the prefix, which a key must then have.
    pub from: Option<KeyPart>,
    /// Inclusive upper bound on the component after the prefix, which a key must then have.
    pub to: Option<KeyPart>,
    /// Most records.
    pub limit: Option<usize>,
    /// Highest key first.
    pub reverse: bool,
}

impl Query {
    /// Everything under a prefix, in key order.
    #[must_use]
    pub fn prefix(store: Store, prefix: Key) -> Self {
        Self { store, prefix, from: None, to: None, limit: None, reverse: false }
    }

    /// Records whose next component is in `from..=to`.
    #[must_use]
    pub fn between(store: Store, prefix: Key, from: impl Into<KeyPart>, to: impl Into<KeyPart>) -> Self {
        Self { store, prefix, from: Some(from.into()), to: Some(to.into()), limit: None, reverse: false }
    }
}

/// What must hold for a commit to be carried out: the record's body is still exactly this text, or still absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The store.
    pub store: Store,
    /// The key.
    pub key: Key,
    /// The body as it was read; `None`: there was no record.
    pub body: Option<String>,
}

/// One transaction: checks, then writes. Later writes win over earlier ones on the same key.
///
/// Writes are carried out in this order: prefixes are removed, then single records, then puts are written in theirs. So
/// one commit can replace everything under a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// What must still hold.
    pub checks: Vec<Check>,
    /// Records to write, replacing what is there.
    pub puts: Vec<(Store, Key, Record)>,
    /// Single records to remove.
    pub deletes: Vec<(Store, Key)>,
    /// Whole prefixes to remove.
    pub delete_prefixes: Vec<(Store, Key)>,
    /// Ask for the platform's strongest durability before the answer.
    pub strict: bool,
}

/// Numbers about the storage as a whole, where the platform tells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StorageUsage {
    /// Bytes in use by the origin, or by this store where that is known.
    pub bytes: Option<f64>,
    /// Bytes that the origin may use.
    pub quota_bytes: Option<f64>,
    /// The browser promised not to evict it.
    pub persisted: Option<bool>,
}

/// Ordered records in named stores.
///
/// Implementations pass [`conformance::run`]. Futures may be polled and dropped in any order; a commit whose future is
/// dropped is carried out whole or not at all.
pub trait Storage {
    /// The records under these keys, in the order asked; `None` where there is none.
    fn get<'a>(&'a self, keys: Vec<(Store, Key)>) -> Pending<'a, Vec<Option<Record>>>;
    /// The records of a range with their keys, in key order (or reversed).
    fn scan<'a>(&'a self, query: Query) -> Pending<'a, Vec<(Key, Record)>>;
    /// How many records are under a prefix.
    fn count<'a>(&'a self, store: Store, prefix: Key) -> Pending<'a, u64>;
    /// One transaction. `Ok(true)`: done. `Ok(false)`: a check did not hold and nothing was changed.
    fn commit<'a>(&'a self, commit: Commit) -> Pending<'a, bool>;
    /// What the platform tells about space.
    fn usage<'a>(&'a self) -> Pending<'a, StorageUsage>;
    /// Removes everything of this user, the store itself included. Nothing may be called afterwards but `close`.
    fn destroy<'a>(&'a self) -> Pending<'a, ()>;
    /// Releases connections. Later calls fail with `closed`.
    fn close(&self);
    /// Whether records outlive the process.
    fn is_durable(&self) -> bool;
    /// Searches what is stored here, where the storage does that itself. A storage around another hides it, unless what
    /// crosses is readable there.
    fn search(&self) -> Option<&dyn search::SearchPort> {
        None
    }
}
