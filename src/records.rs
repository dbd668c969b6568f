//! What is kept in storage: one type per store. Every type here is a wire format: changing one needs a migration.

use crate::json_reader::{Fields, FromFields};
use crate::message::{Format, Role, Seq, VariableParts};
use crate::session_records::EpisodeMark;
use serde::Serialize;

/// A conversation: its own fields, and the counters that an append checks and moves.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationRecord {
    /// The conversation's id.
    pub id: String,
    /// Number of its creation, never used twice: tells it from an erased one of the same id.
    pub born: u32,
    /// Set by the app; when absent, the title is the first user text, cut at 50 characters, else "Untitled".
    pub title: Option<String>,
    /// A group of conversations that belong together.
    pub project_id: Option<String>,
    /// False: nothing of it is embedded, summarised across conversations or extracted (a temporary chat).
    pub remember: bool,
    /// Milliseconds since 1970.
    pub created_at: f64,
    /// Milliseconds since 1970, of the last append or rename; where messages were imported, of the newest of them.
    pub updated_at: f64,
    /// The newest message's position; 0 when there is none.
    pub last_seq: Seq,
    /// Sum of the messages' token counts, those of every branch.
    pub tokens: u64,
    /// First user text of the active path, cut at 50 characters: the title where none was set.
    pub first_text: Option<String>,
    /// Where the active path ends; 0: before the first message. Absent as long as each message follows the one before it
    /// and none was removed: then it is `last_seq`, and positions, path and storage are one and the same list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_leaf: Option<Seq>,
    /// Messages that were removed: their positions stay taken. It only rises, so it also tells another tab.
    #[serde(skip_serializing_if = "is_zero")]
    pub removed: Seq,
    /// The newest position that came from an import; 0: none. No model is asked about the conversation by itself until
    /// something newer is said.
    #[serde(skip_serializing_if = "is_zero")]
    pub imported_until_seq: Seq,
    /// A message of it stays on this device, or did.
    #[serde(skip_serializing_if = "is_false")]
    pub has_local: bool,
    /// The app that it was imported from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The conversation that it does a part of the work of. What is said in it is found by nobody else; only the result,
    /// which the app appends to that conversation, is part of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// Rises with every change of its notes; 0: it never had any.
    #[serde(skip_serializing_if = "is_zero")]
    pub notes: u32,
    /// Its sessions that have an episode, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub episodes: Vec<EpisodeMark>,
    /// Hash of what was imported, given by the importer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import_hash: Option<String>,
    /// When title, project or `remember` were last set, milliseconds since 1970; 0: when it was made.
    #[serde(skip_serializing_if = "is_no_time")]
    pub settings_at: f64,
    /// When the active path was last turned or cut, milliseconds since 1970; 0: never.
    #[serde(skip_serializing_if = "is_no_time")]
    pub turned_at: f64,
    /// Other times at which it was made: on devices that were apart, under the same id. `created_at` is the earliest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub creations: Vec<f64>,
}

impl ConversationRecord {
    /// Where the active path ends; 0: before the first message.
    #[must_use]
    pub fn leaf(&self) -> Seq {
        self.active_leaf.unwrap_or(self.last_seq)
    }

    /// What is said in it may be found and used elsewhere: it is remembered, and no part of another's work.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.remember && self.parent_id.is_none()
    }

    /// Every time at which it was made.
    pub fn made_at(&self) -> impl Iterator<Item = f64> + '_ {
        std::iter::once(self.created_at).chain(self.creations.iter().copied())
    }

    /// Each message follows the one before it, and none was removed.
    #[must_use]
    pub fn is_linear(&self) -> bool {
        self.active_leaf.is_none()
    }
}

/// Most records of one backup, and so positions of one of its conversations.
pub const MAX_BACKUP_RECORDS: u32 = 1_000_000;

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_no_time(time: &f64) -> bool {
    *time == 0.0
}

pub(crate) fn is_false(flag: &bool) -> bool {
    !*flag
}

impl FromFields for ConversationRecord {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            id: fields.take("id"),
            born: fields.take("born"),
            title: fields.take("title"),
            project_id: fields.take("projectId"),
            remember: fields.take("remember"),
            created_at: fields.take("createdAt"),
            updated_at: fields.take("updatedAt"),
            last_seq: fields.take("lastSeq"),
            tokens: fields.take("tokens"),
            first_text: fields.take("firstText"),
            active_leaf: fields.take("activeLeaf"),
            removed: fields.take_or("removed", 0),
            imported_until_seq: fields.take_or("importedUntilSeq", 0),
            has_local: fields.take_or("hasLocal", false),
            source: fields.take("source"),
            parent_id: fields.take("parentId"),
            notes: fields.take_or("notes", 0),
            episodes: fields.take_or("episodes", Vec::new()),
            import_hash: fields.take("importHash"),
            settings_at: fields.take_or("settingsAt", 0.0),
            turned_at: fields.take_or("turnedAt", 0.0),
            creations: fields.take_or("creations", Vec::new()),
        }
    }
}

/// Whether a message is whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageStatus {
    /// It is as it will stay.
    #[default]
    Complete,
    /// Parts of it are still arriving.
    Streaming,
    /// It ended before it was whole; what arrived is kept.
    Aborted,
}

crate::json_reader::json_names!(MessageStatus { Complete: "complete", Streaming: "streaming", Aborted: "aborted" });

impl MessageStatus {
    fn is_complete(&self) -> bool {
        *self == Self::Complete
    }
}

/// A message as stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageRecord {
    /// The conversation.
    pub conversation_id: String,
    /// Position in it.
    pub seq: Seq,
    /// The caller's id, or `seq:<position>`.
    pub id: String,
    /// Position of the message that this one follows, always a lower one; 0: none. Records from before there were
    /// branches do not have it: there a message follows the one before it.
    pub parent_seq: Seq,
    /// Who speaks.
    pub role: Role,
    /// The speaker's name, where the message has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The format of `raw`.
    pub format: Format,
    /// The caller's object as JSON text, byte-exact.
    pub raw: String,
    /// The visible text (see [`crate::message::Message::text`]).
    pub text: String,
    /// Tokens of the message as it is sent, without the per-message overhead.
    pub tokens: u32,
    /// What of `tokens` may be others in a request; none in records of earlier versions.
    #[serde(skip_serializing_if = "VariableParts::is_none")]
    pub variable: VariableParts,
    /// Encoding and counter version that `tokens` was counted with, e.g. `o200k_base/1`; `estimate/1` for an estimate.
    /// Empty while a message that is streaming has grown since it was counted.
    pub counted_with: String,
    /// 64-bit hash of `raw`, hexadecimal: the same id with the same hash is a repeat, with another a conflict. While the
    /// message is streaming, the hash of how it began.
    pub content_hash: String,
    /// Milliseconds since 1970: the message's own time, else the time of arrival.
    pub created_at: f64,
    /// Something in the projection had to be replaced; `raw` is intact.
    pub normalized: bool,
    /// A user message that says something: it opens a turn group (see [`crate::message::Message::opens_group`]).
    pub opens_group: bool,
    /// It came from an import: no model is asked about it by itself.
    #[serde(skip_serializing_if = "is_false")]
    pub imported: bool,
    /// The user removed it: only its position is left.
    #[serde(skip_serializing_if = "is_false")]
    pub removed: bool,
    /// It stays on this device: nothing of it goes to a model elsewhere.
    #[serde(skip_serializing_if = "is_false")]
    pub local_only: bool,
    /// Whether it is whole; left out where it is.
    #[serde(skip_serializing_if = "MessageStatus::is_complete")]
    pub status: MessageStatus,
    /// While it is streaming: when its writer was last heard of, milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard_at: Option<f64>,
}

impl MessageRecord {
    /// What is left of a message that the user removed.
    #[must_use]
    pub fn tombstone(conversation_id: &str, seq: Seq) -> Self {
        Self {
            conversation_id: conversation_id.to_owned(),
            seq,
            id: String::new(),
            parent_seq: 0,
            role: Role::System,
            name: None,
            format: Format::OpenAi,
            raw: String::new(),
            text: String::new(),
            tokens: 0,
            variable: VariableParts::default(),
            counted_with: String::new(),
            content_hash: String::new(),
            created_at: 0.0,
            normalized: false,
            opens_group: false,
            imported: false,
            removed: true,
            local_only: false,
            status: MessageStatus::Complete,
            heard_at: None,
        }
    }
}

impl FromFields for MessageRecord {
    fn from_fields(fields: &mut Fields) -> Self {
        let seq: Seq = fields.take("seq");
        Self {
            conversation_id: fields.take("conversationId"),
            seq,
            id: fields.take("id"),
            // A parent that does not come first could send a walk up the tree in circles.
            parent_seq: fields.take_or("parentSeq", Seq::MAX).min(seq.saturating_sub(1)),
            role: fields.take("role"),
            name: fields.take("name"),
            format: fields.take("format"),
            raw: fields.take("raw"),
            text: fields.take("text"),
            tokens: fields.take("tokens"),
            variable: fields.take_or("variable", VariableParts::default()),
            counted_with: fields.take("countedWith"),
            content_hash: fields.take("contentHash"),
            created_at: fields.take("createdAt"),
            normalized: fields.take("normalized"),
            opens_group: fields.take("opensGroup"),
            imported: fields.take_or("imported", false),
            removed: fields.take_or("removed", false),
            local_only: fields.take_or("localOnly", false),
            status: fields.take_or("status", MessageStatus::default()),
            heard_at: fields.take("heardAt"),
        }
    }
}

/// Where a message id is: what makes an append idempotent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageIdRecord {
    /// Position in the conversation.
    pub seq: Seq,
    /// See [`MessageRecord::content_hash`].
    pub content_hash: String,
}

impl FromFields for MessageIdRecord {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { seq: fields.take("seq"), content_hash: fields.take("contentHash") }
    }
}

/// What an embedding's bytes are.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EmbeddingRecord {
    /// The embedder, `<id>/<dimensions>`.
    pub model: String,
    /// In how many parts the message was embedded; a record of before there were parts says none, and is the only one.
    pub parts: u32,
    /// Of the bytes and of `parts`. A record of before there were checksums has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}

impl EmbeddingRecord {
    /// The record of one vector of a message.
    #[must_use]
    pub fn of(model: &str, parts: u32, bytes: &[u8]) -> Self {
        Self { model: model.to_owned(), parts, checksum: Some(vector_checksum(parts, bytes)) }
    }

    /// Whether these are the bytes that were written, as far as one can know.
    #[must_use]
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        self.checksum.as_ref().is_none_or(|known| *known == vector_checksum(self.parts, bytes))
    }
}

fn vector_checksum(parts: u32, bytes: &[u8]) -> String {
    format!("{:016x}", crate::hash::checksum(bytes) ^ u64::from(parts))
}

impl FromFields for EmbeddingRecord {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { model: fields.take("model"), parts: fields.take_or("parts", 1), checksum: fields.take("checksum") }
    }
}

/// The rolling summary of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SummaryHead {
    /// The text by named sections, in a fixed order.
    pub sections: Vec<SummarySection>,
    /// Identifiers (paths, ports, error codes, numbers, commands, names) found in the summarised range.
    pub identifiers: Vec<String>,
    /// Everything up to this position, inclusive, is covered; 0: nothing.
    pub summarized_until_seq: Seq,
    /// Rises by one with every commit; the optimistic lock.
    pub version: u32,
    /// Milliseconds since 1970.
    pub updated_at: f64,
    /// The lowest trust of what it was made from; older records do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
}

impl FromFields for SummaryHead {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            sections: fields.take("sections"),
            identifiers: fields.take("identifiers"),
            summarized_until_seq: fields.take("summarizedUntilSeq"),
            version: fields.take("version"),
            updated_at: fields.take("updatedAt"),
            trust: fields.take("trust"),
        }
    }
}

/// One named section of a summary.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SummarySection {
    /// `goal`, `confirmed`, `decisions`, `constraints`, `failed`, `open`, `next` or `identifiers`.
    pub name: String,
    /// The section's lines.
    pub items: Vec<String>,
}

impl FromFields for SummarySection {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { name: fields.take("name"), items: fields.take("items") }
    }
}

/// A node of the summary tree: the piece of text that one summary call covered.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SummaryNode {
    /// 0 = chunk, 1 = topic. The conversation's is its [`SummaryHead`], a project's a
    /// [`crate::session_records::ProjectRecord`].
    pub level: u8,
    /// First position covered, inclusive.
    pub first_seq: Seq,
    /// Last position covered, inclusive.
    pub last_seq: Seq,
    /// The text by named sections.
    pub sections: Vec<SummarySection>,
    /// First positions of the nodes below.
    pub children: Vec<Seq>,
    /// Content hashes of what it was made from: the messages of a chunk, the text of a topic's chunks.
    pub source_hashes: Vec<String>,
    /// Must be made again before it is used.
    pub dirty: bool,
    /// The lowest trust of what it was made from; older records do not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
}

impl FromFields for SummaryNode {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            level: fields.take("level"),
            first_seq: fields.take("firstSeq"),
            last_seq: fields.take("lastSeq"),
            sections: fields.take("sections"),
            children: fields.take("children"),
            source_hashes: fields.take("sourceHashes"),
            dirty: fields.take("dirty"),
            trust: fields.take("trust"),
        }
    }
}

/// How far a fact may be trusted, lowest first. Derived text takes the lowest of its sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// From a web page, a tool or a document.
    External,
    /// From an import.
    Imported,
    /// The model concluded it.
    AssistantInferred,
    /// The user said it.
    UserStated,
    /// The user wrote it down or confirmed it.
    UserConfirmed,
}

crate::json_reader::json_names!(Trust {
    External: "external",
    Imported: "imported",
    AssistantInferred: "assistant_inferred",
    UserStated: "user_stated",
    UserConfirmed: "user_confirmed"
});

/// Where a fact is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FactStatus {
    /// In use.
    Active,
    /// Waits for the user's approval.
    Proposed,
    /// Replaced by a newer fact.
    Superseded,
    /// Removed on a model's word; kept for history.
    Deleted,
    /// Forgotten by the user: id, trust and times are left, and 32 bits of a keyed hash of the text, so that it is not
    /// learned again.
    Forgotten,
}

crate::json_reader::json_names!(FactStatus {
    Active: "active",
    Proposed: "proposed",
    Superseded: "superseded",
    Deleted: "deleted",
    Forgotten: "forgotten"
});

/// Where a fact came from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FactSource {
    /// `explicit` (the user wrote it down), `statement` (extracted from what the user said), `inference`, or `quotation`
    /// (extracted from what the user pasted or quoted).
    #[serde(rename = "type")]
    pub kind: String,
    /// The conversation, for extracted facts.
    pub conversation_id: Option<String>,
    /// The message, for extracted facts.
    pub seq: Option<Seq>,
    /// Words of the message that show it, verbatim.
    pub quote: Option<String>,
}

impl FromFields for FactSource {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            kind: fields.take("type"),
            conversation_id: fields.take("conversationId"),
            seq: fields.take("seq"),
            quote: fields.take("quote"),
        }
    }
}

/// A durable fact about the user.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FactRecord {
    /// `f<number>`; numbers rise and are never used twice.
    pub id: String,
    /// Unique per user where given (`preferred_stack`): writing the same key again replaces.
    pub key: Option<String>,
    /// Whom or what it is about; `user` by default.
    pub subject: String,
    /// `preference`, `identity`, `project`, `constraint`, `style`, `decision` or another name that the app allows.
    pub category: String,
    /// The fact in words. Empty once forgotten.
    pub fact: String,
    /// 0 to 1.
    pub confidence: f64,
    /// How far it may be trusted.
    pub trust: Trust,
    /// Where it is in its life.
    pub status: FactStatus,
    /// Where it came from.
    pub source: FactSource,
    /// The fact that this one replaced.
    pub supersedes: Option<String>,
    /// Hash of the normalised text: what a tombstone is recognised by.
    pub fingerprint: String,
    /// Injected before others, and never dropped for relevance.
    pub pinned: bool,
    /// It stays on this device: no model elsewhere is shown it.
    #[serde(skip_serializing_if = "is_false")]
    pub local_only: bool,
    /// Milliseconds since 1970; not used from then on.
    pub expires_at: Option<f64>,
    /// How often it was put into a context.
    pub access_count: u32,
    /// Milliseconds since 1970.
    pub last_accessed_at: Option<f64>,
    /// Milliseconds since 1970.
    pub created_at: f64,
    /// Milliseconds since 1970.
    pub updated_at: f64,
    /// Its name among stores that exchange, where it was first written in another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

impl FromFields for FactRecord {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            id: fields.take("id"),
            key: fields.take("key"),
            subject: fields.take("subject"),
            category: fields.take("category"),
            fact: fields.take("fact"),
            confidence: fields.take("confidence"),
            trust: fields.take("trust"),
            status: fields.take("status"),
            source: fields.take("source"),
            supersedes: fields.take("supersedes"),
            fingerprint: fields.take("fingerprint"),
            pinned: fields.take("pinned"),
            local_only: fields.take_or("localOnly", false),
            expires_at: fields.take("expiresAt"),
            access_count: fields.take("accessCount"),
            last_accessed_at: fields.take("lastAccessedAt"),
            created_at: fields.take("createdAt"),
            updated_at: fields.take("updatedAt"),
            origin: fields.take("origin"),
        }
    }
}

/// What a background job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// Embed the messages of a conversation that have no vector yet.
    Embed,
    /// Fold old messages of a conversation into its rolling summary.
    Compact,
    /// Extract facts from new user messages of a conversation.
    Extract,
}

impl JobKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Embed, Self::Compact, Self::Extract];
}

crate::json_reader::json_names!(JobKind { Embed: "embed", Compact: "compact", Extract: "extract" });

/// A due piece of background work on a conversation. One record per kind and conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobRecord {
    /// What to do.
    pub kind: JobKind,
    /// The conversation.
    pub conversation_id: String,
    /// [`ConversationRecord::born`]: what was begun for an erased conversation is refused by one that took its id.
    pub born: u32,
    /// Work is done up to this position, inclusive (embed, extract).
    pub done_until_seq: Seq,
    /// The embedder that the work was done with (embed), `<id>/<dimensions>`: another one starts over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Failed tries since the last success.
    pub attempts: u32,
    /// Not before this time, milliseconds since 1970.
    pub not_before: f64,
    /// Code of the last failure.
    pub last_error: Option<String>,
    /// Rises when the messages that the work is about change under it (another branch, a removal): what was begun before
    /// is refused.
    #[serde(skip_serializing_if = "is_zero")]
    pub epoch: u32,
    /// Messages that the work passed, rising. Extract: those of the user that were on no active path; they are read when
    /// they are on it again. Embed: those that the embedder refuses, which go without a vector.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<Seq>,
}

impl FromFields for JobRecord {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            kind: fields.take("kind"),
            conversation_id: fields.take("conversationId"),
            born: fields.take("born"),
            done_until_seq: fields.take("doneUntilSeq"),
            model: fields.take("model"),
            attempts: fields.take("attempts"),
            not_before: fields.take("notBefore"),
            last_error: fields.take("lastError"),
            epoch: fields.take_or("epoch", 0),
            skipped: fields.take_or("skipped", Vec::new()),
        }
    }
}

/// One decision about a fact, with before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditRecord {
    /// Number of the entry, from 1.
    pub number: u32,
    /// Milliseconds since 1970.
    pub at: f64,
    /// `ADD`, `UPDATE`, `DELETE`, `NOOP`, `FORGET`, `REJECT`, `REVIEW`, `OPT_IN`, `OPT_OUT`.
    pub operation: String,
    /// On whose word: `user`, `model` (extraction and judge), `audit` or `import`. Entries of earlier versions do not say.
    pub by: Option<String>,
    /// The model's id, where it was a model and the app names it.
    pub model: Option<String>,
    /// The fact concerned, where there is one.
    pub fact_id: Option<String>,
    /// The text before.
    pub before: Option<String>,
    /// The text after.
    pub after: Option<String>,
    /// What the user changed of a fact, by the names of its fields.
    pub changed: Vec<String>,
    /// Why, for a rejected operation; the category of an agreement.
    pub reason: Option<String>,
}

impl FromFields for AuditRecord {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            number: fields.take("number"),
            at: fields.take("at"),
            operation: fields.take("operation"),
            by: fields.take("by"),
            model: fields.take("model"),
            fact_id: fields.take("factId"),
            before: fields.take("before"),
            after: fields.take("after"),
            changed: fields.take_or("changed", Vec::new()),
            reason: fields.take("reason"),
        }
    }
}

/// What a sealed segment of the search index holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SegmentKind {
    /// What is kept in memory of messages, and the postings of their texts.
    Messages,
    /// Quantised vectors.
    Vectors,
}

crate::json_reader::json_names!(SegmentKind { Messages: "messages", Vectors: "vectors" });

/// A sealed segment of the search index: a cache of what the messages or vectors of its runs would give. Its bytes are
/// in the store of chunks, part by part.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SegmentRecord {
    /// What it holds.
    pub kind: SegmentKind,
    /// Layout of its bytes; another one is not read.
    pub layout: u32,
    /// What made its content: the analyzer's version, or the embedder, `<id>/<dimensions>`.
    pub maker: String,
    /// Messages that it covers.
    pub messages: u32,
    /// Rows, for vectors.
    pub rows: u32,
    /// Bytes of each part.
    pub parts: Vec<u32>,
    /// Checksum of each chunk, hexadecimal, in the order of their numbers.
    pub chunks: Vec<String>,
    /// What it covers, in the order of its content.
    pub runs: Vec<SegmentRun>,
}

impl FromFields for SegmentRecord {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            kind: fields.take("kind"),
            layout: fields.take("layout"),
            maker: fields.take("maker"),
            messages: fields.take("messages"),
            rows: fields.take("rows"),
            parts: fields.take("parts"),
            chunks: fields.take("chunks"),
            runs: fields.take("runs"),
        }
    }
}

/// Successive messages of one conversation, whole and of every branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SegmentRun {
    /// The conversation.
    pub conversation_id: String,
    /// [`ConversationRecord::born`] when the messages were read.
    pub born: u32,
    /// [`ConversationRecord::removed`] then. Nothing but a removal changes messages that are whole.
    pub removed: Seq,
    /// First position.
    pub first_seq: Seq,
    /// Last position, inclusive.
    pub last_seq: Seq,
}

impl SegmentRun {
    /// Messages in it.
    #[must_use]
    pub fn len(&self) -> u32 {
        (self.last_seq + 1).saturating_sub(self.first_seq)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.last_seq < self.first_seq
    }
}

impl FromFields for SegmentRun {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            conversation_id: fields.take("conversationId"),
            born: fields.take("born"),
            removed: fields.take("removed"),
            first_seq: fields.take("firstSeq"),
            last_seq: fields.take::<Seq>("lastSeq").min(Seq::MAX - 1),
        }
    }
}

/// Counters of segments. Written with every change of segments and every removal of messages, so it is the optimistic
/// lock of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SegmentCounters {
    /// Number of the newest segment.
    pub last: u32,
    /// Removals of messages and conversations so far.
    pub removals: u32,
}

impl FromFields for SegmentCounters {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { last: fields.take("last"), removals: fields.take("removals") }
    }
}

crate::json_reader::deserialize_as_json!(
    ConversationRecord,
    MessageStatus,
    MessageRecord,
    MessageIdRecord,
    EmbeddingRecord,
    SummaryHead,
    SummarySection,
    SummaryNode,
    Trust,
    FactStatus,
    FactSource,
    FactRecord,
    JobKind,
    JobRecord,
    AuditRecord,
    SegmentKind,
    SegmentRecord,
    SegmentRun,
    SegmentCounters
);
