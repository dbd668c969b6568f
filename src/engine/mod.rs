//! Orchestration over the ports: the only stateful module.
//!
//! Every public operation is an `async fn` over `&self`. State sits in cells that are never borrowed across an
//! `.await`; what a decision was based on is checked again inside the storage transaction that carries it out
//! ([`crate::store::Commit`]), so an operation that lost a race re-reads and decides again. Callbacks of the app are
//! never awaited inside a transaction.

mod active_path;
mod append;
mod append_group;
mod attaching;
mod backup;
mod build_context;
mod callback;
mod catching_up;
mod compaction;
mod consent;
mod conversation_stamp;
mod conversations;
mod damage;
mod descent;
mod durability;
mod embedding;
mod episodes;
mod erasure;
mod erasures;
mod event;
mod extraction;
mod fact_audit;
mod fact_uses;
mod fact_vectors;
mod facts;
mod failed_jobs;
mod history;
mod integrity;
mod jobs;
mod lease;
mod loading;
mod memory_part;
mod message_ids;
mod missing_vectors;
mod notes;
mod outside;
mod path_change;
mod projects;
mod readable;
mod recall;
mod removal;
mod restore;
mod restored_conversation;
mod restored_facts;
mod restored_merge;
mod restored_projects;
mod restoring;
mod sealing;
mod segment_catalogue;
mod session_words;
mod staging;
mod state;
mod stats;
mod stored;
mod stored_vectors;
mod streaming;
mod summary_work;
mod sync;
mod sync_conversation;
mod sync_facts;
mod sync_leaf;
mod sync_merge;
mod sync_messages;
mod sync_piece;
mod sync_removals;
mod topics;
mod tree;
mod turnstile;
mod usage;
mod withdrawal;

pub use append::{AppendRequest, Appended};
pub use backup::{BackupPage, BackupPart, BackupRequest, BackupSkipped};
pub use build_context::{ContextRequest, Destination};
pub use catching_up::CatchUp;
pub use compaction::SummaryView;
pub use consent::{Consent, ConsentRequest};
pub use conversations::{ConversationPage, ConversationUpdate, ConversationView, NewConversation};
pub use damage::{Damage, DamageKind, Figures, Unreadable};
pub use episodes::{EpisodeFilter, EpisodeView};
pub use erasure::{EraseRequest, Erased};
pub use event::Event;
pub use fact_audit::FactAudit;
pub use facts::{FactFilter, FactPlace, FactUpdate, NewFact};
pub use failed_jobs::FailedJob;
pub use history::HistoryEntry;
pub use integrity::{Mark, StorageCheck};
pub use notes::{NewNote, NoteView};
pub use outside::message_entry;
pub use path_change::Invalidated;
pub use recall::{RecallRequest, RecalledGroup};
pub use removal::RemoveRequest;
pub use restore::{RestoreRequest, RestoreStep, Restored};
pub use stats::{SegmentStats, Stats};
pub use streaming::StreamUpdate;
pub use sync::{SyncRequest, SyncStep, Taken};
pub use topics::SummaryTreeNode;
pub use tree::{EditRequest, Edited, LeafRequest, TreeNode, Turned};
pub use usage::{Lesson, ModelName, ModelUsage, UsageReport, UsageTaken};

use crate::config::Policy;
use crate::error::{Code, Error, Result};
use crate::ports::{Clock, Embedder, LanguageModel, Locks, Storage};
use crate::sorted_map::{SortedMap, SortedSet};
use crate::store::read_only::ReadOnlyStore;
use crate::tokens::{Estimator, ModelCounter, ModelFamily, TokenCounter, Tokenization};
use append_group::Waiting;
use conversation_stamp::ConversationStamp;
use damage::Losses;
use durability::Promises;
use erasures::Erasures;
use integrity::Evidence;
use lease::Lease;
use restore::Restore;
use state::State;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use streaming::Streams;
use turnstile::Turnstile;

/// Is told about everything that happens.
pub type Listener = dyn Fn(&Event);

/// The world as the engine sees it.
#[derive(Clone)]
pub struct Host {
    /// Where records are kept.
    pub storage: Rc<dyn Storage>,
    /// Turns texts into vectors; without it retrieval is lexical.
    pub embedder: Option<Rc<dyn Embedder>>,
    /// The language model; without it nothing is summarised or extracted.
    pub model: Option<Rc<dyn LanguageModel>>,
    /// Time.
    pub clock: Rc<dyn Clock>,
    /// Mutual exclusion between tabs.
    pub locks: Rc<dyn Locks>,
    /// Told about everything that happens.
    pub on_event: Rc<Listener>,
    /// Unicode NFKC: the host's own in a browser, a library's natively.
    pub normalize: fn(&str) -> String,
}

/// What one engine is opened with.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names the user: one database per user.
    pub user_id: String,
    /// An encoding (`o200k_base`, `cl100k_base`), a model's name, or `estimate`.
    pub tokenizer: String,
    /// Thresholds, caps, weights, opt-ins.
    pub policy: Policy,
}

/// The memory engine of one user.
pub struct Engine {
    host: Host,
    options: Options,
    state: RefCell<State>,
    conversation_stamp: RefCell<ConversationStamp>,
    evidence: RefCell<Evidence>,
    losses: RefCell<Losses>,
    /// Messages that were acknowledged before they were on disk.
    promises: Promises,
    tokenization: Tokenization,
    counter: RefCell<Rc<dyn TokenCounter>>,
    writes: Turnstile,
    /// Messages that are streamed through this engine.
    streams: Streams,
    working: Cell<bool>,
    /// Calls that wait until everything was read.
    reads_at_once: Cell<u32>,
    lease: Lease,
    /// How often the append or edit whose turn it is was overtaken by other tabs.
    overtaken: Cell<u32>,
    /// Appends that wait for their turn.
    waiting: Waiting,
    /// The named calls that were last answered, by conversation: one, or those that were stored together.
    calls: RefCell<SortedMap<String, Vec<String>>>,
    /// A newer version wrote the data: nothing is written.
    read_only: bool,
    /// Segments are taken in by one call at a time, and only once.
    attaching: Turnstile,
    messages_attached: Cell<bool>,
    vectors_attached: Cell<bool>,
    /// Segments that were found damaged: they are to be deleted.
    damaged_segments: RefCell<SortedSet<u32>>,
    /// At most so many messages, or messages' vectors, are outside segments.
    unsealed: Cell<u32>,
    closed: Cell<bool>,
    erasures: Erasures,
    /// The import of a backup that is running.
    restoring: RefCell<Option<Box<Restore>>>,
    /// An import may have left what nobody sees.
    has_staged: Cell<bool>,
}

impl Engine {
    /// Opens a user's memory: reads the small records (conversations, jobs, facts); messages are read when needed.
    ///
    /// # Errors
    /// `invalid_config` for a policy or user id that cannot work, `schema_too_new` when a newer version wrote the
    /// data in a way that cannot be read, and whatever the storage reports. Where it can be read, each write fails with
    /// `schema_too_new`, and there is no background work.
    pub async fn open(host: Host, options: Options) -> Result<Self> {
        options.policy.validate()?;
        if options.user_id.is_empty() || options.user_id.len() > options.policy.limits.id_bytes as usize {
            return Err(Error::new(
                Code::InvalidConfig,
                format!("userId must have 1 to {} bytes", options.policy.limits.id_bytes),
            ));
        }
        let tokenization = crate::tokens::resolve(&options.tokenizer).ok_or_else(|| {
            Error::new(
                Code::InvalidConfig,
                "this tokenizer is not known; name an encoding (o200k_base, cl100k_base), a model, or estimate",
            )
        })?;
        let state = State::new(&host, &options.policy);
        let mut engine = Self {
            host,
            options,
            state: RefCell::new(state),
            conversation_stamp: RefCell::default(),
            evidence: RefCell::default(),
            losses: RefCell::default(),
            promises: Promises::default(),
            tokenization,
            counter: RefCell::new(counter_for(tokenization, Rc::new(Estimator::new()))),
            writes: Turnstile::default(),
            streams: Streams::default(),
            working: Cell::new(false),
            reads_at_once: Cell::default(),
            lease: Lease::default(),
            overtaken: Cell::default(),
            waiting: Waiting::default(),
            calls: RefCell::default(),
            read_only: false,
            attaching: Turnstile::default(),
            messages_attached: Cell::new(false),
            vectors_attached: Cell::new(false),
            damaged_segments: RefCell::default(),
            unsealed: Cell::new(u32::MAX),
            closed: Cell::new(false),
            erasures: Erasures::default(),
            restoring: RefCell::default(),
            has_staged: Cell::new(false),
        };
        if engine.is_schema_newer().await? {
            engine.read_only = true;
            engine.host.storage = Rc::new(ReadOnlyStore(Rc::clone(&engine.host.storage)));
        }
        engine.load_small_records().await?;
        engine.notice_staged().await?;
        Ok(engine)
    }

    /// Counts with this from now on, times the model's factor where the tokenizer is a model without a vocabulary of its
    /// own. Until it is called, counts are estimates and say so.
    pub fn set_counter(&self, counter: Rc<dyn TokenCounter>) {
        *self.counter.borrow_mut() = counter_for(self.tokenization, counter);
    }

    /// The policy in force.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.options.policy
    }

    /// Later calls fail with `closed`. Work in flight ends at its next step and changes nothing half-way.
    pub fn close(&self) {
        if !self.closed.replace(true) {
            self.host.storage.close();
        }
    }

    /// Whether `close` was called.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.get()
    }

    fn ensure_open(&self) -> Result<()> {
        if self.closed.get() {
            return Err(Error::new(Code::Closed, "this memory was closed; open it again with createMemory"));
        }
        Ok(())
    }

    fn counter(&self) -> Rc<dyn TokenCounter> {
        Rc::clone(&self.counter.borrow())
    }

    fn now_ms(&self) -> f64 {
        self.host.clock.now_ms()
    }

    fn emit(&self, event: &Event) {
        (self.host.on_event)(event);
    }

    fn check_id(&self, what: &str, id: &str) -> Result<()> {
        let most = self.options.policy.limits.id_bytes as usize;
        if id.is_empty() || id.len() > most {
            return Err(Error::invalid_argument(format!(
                "{what} must have 1 to {most} bytes, this one has {}",
                id.len()
            )));
        }
        Ok(())
    }
}

fn counter_for(tokenization: Tokenization, raw: Rc<dyn TokenCounter>) -> Rc<dyn TokenCounter> {
    if tokenization.family == ModelFamily::OpenAi { raw } else { Rc::new(ModelCounter::new(raw, tokenization)) }
}
