//! What the engine holds in memory: small per-message metadata, the indexes, facts, and how far background work is.

use super::Host;
use super::conversations::jobs_anew;
use super::fact_uses::FactUses;
use super::loading::fact_number;
use super::memory_part::KeptFacts;
use super::message_ids::{given_id, is_given_id};
use super::stored::Stored;
use super::usage::{Billing, UsageRecord};
use crate::config::Policy;
use crate::json_reader::{Fields, FromFields};
use crate::lexical::Analyzer;
use crate::message::{Role, Seq, VariableParts};
use crate::ports::{Purpose, Record, Store};
use crate::records::{ConversationRecord, FactRecord, JobKind, JobRecord, SummaryHead};
use crate::retrieval::MessageIndex;
use crate::session_records::{EpisodeMark, NoteRecord};
use crate::sorted_map::{SortedMap, SortedSet};
use crate::vector::{TieredIndex, VectorIndex};
use serde::Serialize;
use std::num::NonZeroU32;

/// All of it.
pub(crate) struct State {
    /// Conversations by id. Boxed, so that one more among thousands moves little.
    pub(crate) conversations: SortedMap<String, Box<Conversation>>,
    /// Conversations that may have background work: those that changed since it was last looked for, and those that have
    /// some. Looking through all of them for every message would make an import quadratic.
    pub(crate) unsettled: SortedSet<String>,
    /// Number of a conversation in the index to its id.
    pub(crate) conversation_ids: Vec<String>,
    /// The search index over loaded conversations.
    pub(crate) index: MessageIndex,
    /// Facts by number.
    pub(crate) facts: SortedMap<u32, FactRecord>,
    /// Vectors of facts, by number, each with the fingerprint that it was made of.
    pub(crate) fact_vectors: SortedMap<u32, (String, Vec<f32>)>,
    /// How often facts were put into contexts, as far as it is not written yet.
    pub(crate) fact_uses: FactUses,
    /// Counters of facts and audit; its record is the lock of every change of facts.
    pub(crate) fact_counters: Option<Stored<FactCounters>>,
    /// What providers billed.
    pub(crate) usage: Option<Stored<UsageRecord>>,
    /// Calls and tokens per purpose.
    pub(crate) spending: Spending,
    /// Sum of the positions given in all conversations.
    pub(crate) positions: u64,
    /// Number of the newest conversation met.
    pub(crate) born: u32,
    /// Number in the index of the conversation in which something was said last, or that was begun since.
    pub(crate) spoken_in: u32,
    /// Messages that stay on this device have no vector: the embedder is elsewhere.
    pub(crate) embeds_elsewhere: bool,
    /// The summaries of projects that were met, by project, as hashes of what they were made from.
    pub(crate) projects: SortedMap<String, String>,
}

impl State {
    pub(crate) fn new(host: &Host, policy: &Policy) -> Self {
        let analyzer = Analyzer::new(host.normalize);
        let vectors = host.embedder.as_ref().map(|embedder| {
            Box::new(TieredIndex::new(embedder.dimensions(), policy.vector_index.tiers())) as Box<dyn VectorIndex>
        });
        let has_embedder = host.embedder.is_some();
        let is_outside = host.storage.search().is_some_and(|port| port.compares_vectors() || !has_embedder);
        let index = if is_outside { MessageIndex::outside(analyzer) } else { MessageIndex::new(analyzer, vectors) };
        Self {
            conversations: SortedMap::new(),
            unsettled: SortedSet::new(),
            conversation_ids: Vec::new(),
            index,
            facts: SortedMap::new(),
            fact_vectors: SortedMap::new(),
            fact_uses: FactUses::default(),
            fact_counters: None,
            usage: None,
            spending: Spending::default(),
            positions: 0,
            born: 0,
            spoken_in: 0,
            embeds_elsewhere: host.embedder.as_ref().is_some_and(|embedder| embedder.is_remote()),
            projects: SortedMap::new(),
        }
    }

    /// Takes a conversation record in, new or changed. True: there was an erased one of the same id.
    pub(crate) fn put_conversation(&mut self, stored: Stored<ConversationRecord>) -> bool {
        let id = stored.value.id.clone();
        // Erased and made again elsewhere: nothing that is known of the old one holds.
        let is_other = self.conversations.get(&id).is_some_and(|known| known.stored.value.born != stored.value.born)
            && self.remove_conversation(&id);
        self.unsettled.insert(id.clone());
        self.born = self.born.max(stored.value.born);
        self.positions += u64::from(stored.value.last_seq);
        if let Some(conversation) = self.conversations.get_mut(&id) {
            self.positions -= u64::from(conversation.stored.value.last_seq);
            if conversation.stored.value.notes != stored.value.notes {
                conversation.notes = None;
            }
            if conversation.stored.value.last_seq != stored.value.last_seq {
                conversation.digest_tries.0 = 0;
                self.spoken_in = conversation.number;
            }
            conversation.stored = stored;
            return is_other;
        }
        let number = u32::try_from(self.conversation_ids.len()).unwrap_or(u32::MAX);
        self.spoken_in = number;
        self.conversation_ids.push(id.clone());
        self.conversations.insert(id, Box::new(Conversation::new(number, stored)));
        is_other
    }

    /// One conversation.
    pub(crate) fn conversation(&self, id: &str) -> Option<&Conversation> {
        self.conversations.get(id).map(|conversation| &**conversation)
    }

    /// One conversation, by its number in the index.
    pub(crate) fn numbered(&self, number: u32) -> Option<&Conversation> {
        self.conversation(self.conversation_ids.get(number as usize)?)
    }

    /// Makes the active path end where the conversation's record says, and takes what is not on it out of the index.
    /// False: nothing that was on it left.
    pub(crate) fn follow_leaf(&mut self, id: &str) -> bool {
        let Some(conversation) = self.conversations.get_mut(id) else { return false };
        let documents = conversation.follow_leaf();
        self.index.remove_all(conversation.number, &documents);
        !documents.is_empty()
    }

    /// Forgets the messages of a conversation, so that they are read again.
    pub(crate) fn unload(&mut self, id: &str) {
        let Some(conversation) = self.conversations.get_mut(id) else { return };
        self.index.remove_conversation(conversation.number);
        conversation.summary = None;
        conversation.has_topics = false;
        conversation.notes = None;
        conversation.messages.clear();
        conversation.path.clear();
        conversation.returned.clear();
        conversation.placed_until_seq = 0;
        conversation.vectors_until_seq = 0;
        conversation.missing_vectors.clear();
        conversation.removed = conversation.stored.value.removed;
    }

    /// Takes a fact in, new or changed.
    pub(crate) fn put_fact(&mut self, fact: FactRecord) {
        if let Some(number) = fact_number(&fact.id) {
            if self.fact_vectors.get(&number).is_some_and(|(print, _)| *print != fact.fingerprint) {
                self.fact_vectors.remove(&number);
            }
            self.facts.insert(number, fact);
        }
    }

    /// Forgets a conversation and everything indexed from it, its name too; false where it was not here.
    pub(crate) fn remove_conversation(&mut self, id: &str) -> bool {
        self.unsettled.remove(id);
        let Some(conversation) = self.conversations.remove(id) else { return false };
        self.positions -= u64::from(conversation.stored.value.last_seq);
        self.index.remove_conversation(conversation.number);
        if let Some(name) = self.conversation_ids.get_mut(conversation.number as usize) {
            *name = String::new();
        }
        self.unsettle_project(conversation.stored.value.project_id.as_deref());
        true
    }
}

/// One conversation.
pub(crate) struct Conversation {
    /// Its number in the index.
    pub(crate) number: u32,
    /// The record as last read or written.
    pub(crate) stored: Stored<ConversationRecord>,
    /// Metadata of the messages read so far, of every branch; index = seq - 1. Complete when its length is `last_seq`.
    pub(crate) messages: Vec<MessageMeta>,
    /// Positions of the active path, rising (see `active_path.rs`).
    pub(crate) path: Vec<Seq>,
    /// Messages of the path whose text must be read, to be in the index again.
    pub(crate) returned: Vec<Seq>,
    /// Up to here it is decided which messages are on the path; those behind are in the index for the time being.
    pub(crate) placed_until_seq: Seq,
    /// Removals that `messages` knows of.
    pub(crate) removed: Seq,
    /// The rolling summary's head, once read or written.
    pub(crate) summary: Option<Stored<SummaryHead>>,
    /// Messages whose parts are still arriving, here or in another tab.
    pub(crate) streaming: SortedSet<Seq>,
    /// Vectors are in the index up to this position, inclusive.
    pub(crate) vectors_until_seq: Seq,
    /// Messages that should have a vector of the embedder in use and were found to have none in storage.
    pub(crate) missing_vectors: SortedSet<Seq>,
    /// Background work, by kind.
    pub(crate) jobs: SortedMap<JobKind, Stored<JobRecord>>,
    /// Room of the recent window in the last built context: compaction keeps what is outside it covered.
    pub(crate) recent_room_tokens: Option<u32>,
    /// When a context was last built here, milliseconds since 1970; 0: never.
    pub(crate) asked_at: f64,
    /// The facts that its contexts hold, where not all have room.
    pub(crate) kept_facts: Option<KeptFacts>,
    /// Its topics are those of its chunks, as far as this tab knows.
    pub(crate) has_topics: bool,
    /// Failed tries of episodes and the project since the last success, and when the next one is. Apart from those
    /// of compaction, which goes on without them; another tab begins anew.
    pub(crate) digest_tries: (u32, f64),
    /// The same of topics alone. New messages change nothing about a topic, so they give it no new tries.
    pub(crate) topic_tries: (u32, f64),
    /// The episode of it that was found to be unreadable; it is made again.
    pub(crate) damaged_episode: Option<EpisodeMark>,
    /// What is known of the calls that were made with its contexts, once one was built.
    pub(crate) billing: Option<Box<Billing>>,
    /// Its notes, with the record's count of changes when they were read.
    pub(crate) notes: Option<(u32, Vec<NoteRecord>)>,
}

impl Conversation {
    pub(super) fn new(number: u32, stored: Stored<ConversationRecord>) -> Self {
        Self {
            number,
            removed: stored.value.removed,
            stored,
            messages: Vec::new(),
            path: Vec::new(),
            returned: Vec::new(),
            placed_until_seq: 0,
            streaming: SortedSet::new(),
            summary: None,
            vectors_until_seq: 0,
            missing_vectors: SortedSet::new(),
            jobs: SortedMap::new(),
            recent_room_tokens: None,
            asked_at: 0.0,
            kept_facts: None,
            has_topics: false,
            digest_tries: (0, 0.0),
            topic_tries: (0, 0.0),
            damaged_episode: None,
            billing: None,
            notes: None,
        }
    }

    /// Takes the record of a job in. One that cannot be read, or is another's, is begun anew and written over.
    pub(crate) fn put_job(&mut self, kind: JobKind, record: Record) {
        let read = Stored::<JobRecord>::read(Store::Jobs, &record).ok();
        let own = read.filter(|job| job.value.kind == kind && job.value.conversation_id == self.stored.value.id);
        let anew = || jobs_anew(&self.stored.value).into_iter().find(|job| job.kind == kind);
        if let Some(job) = own.or_else(|| anew().map(|value| Stored { value, body: record.body })) {
            self.jobs.insert(kind, job);
        }
    }

    /// Its birth, and how many of its messages were removed: another number of either, and what was read of it is void.
    pub(crate) fn life(&self) -> (u32, Seq) {
        (self.stored.value.born, self.stored.value.removed)
    }

    /// Newest position whose metadata is here.
    pub(crate) fn loaded_until_seq(&self) -> Seq {
        Seq::try_from(self.messages.len()).unwrap_or(Seq::MAX)
    }

    /// Every message up to this position is whole: background work goes no further.
    pub(crate) fn whole_until_seq(&self) -> Seq {
        self.streaming.iter().next().map_or(self.stored.value.last_seq, |seq| seq - 1)
    }

    /// Everything up to this position is in the rolling summary.
    pub(crate) fn summarized_until_seq(&self) -> Seq {
        self.summary.as_ref().map_or(0, |head| head.value.summarized_until_seq)
    }

    /// Whether a message stays on this device.
    pub(crate) fn is_local(&self, seq: Seq) -> bool {
        self.message(seq).is_some_and(|message| message.local_only)
    }

    /// The metadata of one message.
    pub(crate) fn message(&self, seq: Seq) -> Option<&MessageMeta> {
        self.messages.get(usize::try_from(seq).ok()?.checked_sub(1)?)
    }

    /// The same, to be changed.
    pub(crate) fn message_mut(&mut self, seq: Seq) -> Option<&mut MessageMeta> {
        self.messages.get_mut(usize::try_from(seq).ok()?.checked_sub(1)?)
    }
}

/// What is known of a message without reading it. There may be a hundred thousand, so it is kept small.
#[derive(Clone, Debug)]
pub(crate) struct MessageMeta {
    /// Milliseconds since 1970.
    pub(crate) created_at: f64,
    /// `None`: the id that the engine gives by position.
    id: Option<Box<str>>,
    variable: Option<Box<VariableParts>>,
    pub(crate) seq: Seq,
    /// As stored: without the per-message overhead.
    pub(crate) tokens: u32,
    /// The message that it follows; 0: none.
    pub(crate) parent_seq: Seq,
    /// One more than its document in the index.
    document: Option<NonZeroU32>,
    pub(crate) role: Role,
    /// A user message that says something: it opens a turn group.
    pub(crate) opens_group: bool,
    /// It has something to be found by.
    pub(crate) has_text: bool,
    /// It came from an import.
    pub(crate) imported: bool,
    /// It stays on this device.
    pub(crate) local_only: bool,
    /// Only its position is left.
    pub(crate) is_removed: bool,
}

impl MessageMeta {
    /// A message with its id; an empty one stands for the id that the engine gives by position.
    pub(crate) fn new(seq: Seq, id: &str) -> Self {
        let is_given = id.is_empty() || is_given_id(id, seq);
        Self {
            created_at: 0.0,
            id: (!is_given).then(|| id.into()),
            variable: None,
            seq,
            tokens: 0,
            parent_seq: 0,
            document: None,
            role: Role::System,
            opens_group: false,
            has_text: false,
            imported: false,
            local_only: false,
            is_removed: false,
        }
    }

    /// Its id; empty where only its position is left.
    pub(crate) fn id(&self) -> String {
        match &self.id {
            Some(id) => id.to_string(),
            None if self.is_removed => String::new(),
            None => given_id(self.seq),
        }
    }

    /// Leaves only its position.
    pub(crate) fn remove(&mut self) {
        *self = Self { is_removed: true, role: self.role, created_at: self.created_at, ..Self::new(self.seq, "") };
    }

    /// What of `tokens` may be others in a request.
    pub(crate) fn variable(&self) -> VariableParts {
        self.variable.as_deref().copied().unwrap_or_default()
    }

    pub(crate) fn set_variable(&mut self, variable: VariableParts) {
        self.variable = (!variable.is_none()).then(|| Box::new(variable));
    }

    /// Its document in the index; `None` where it has no text, or is not on the active path.
    pub(crate) fn document(&self) -> Option<u32> {
        self.document.map(|document| document.get() - 1)
    }

    pub(crate) fn set_document(&mut self, document: Option<u32>) {
        self.document = document.and_then(|document| NonZeroU32::new(document.wrapping_add(1)));
    }

    /// Its document, which it has no more.
    pub(crate) fn take_document(&mut self) -> Option<u32> {
        let document = self.document();
        self.document = None;
        document
    }
}

/// Counters of everything about facts. Written with every change of facts, so it is also their optimistic lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FactCounters {
    /// Number of the newest fact.
    pub(crate) last_fact: u32,
    /// Number of the newest audit entry.
    pub(crate) last_audit: u32,
    /// Rises with every change.
    pub(crate) version: u32,
    /// Special categories that the user agreed to have remembered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) opted_in: Vec<String>,
}

impl FromFields for FactCounters {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            last_fact: fields.take("lastFact"),
            last_audit: fields.take("lastAudit"),
            version: fields.take("version"),
            opted_in: fields.take_or("optedIn", Vec::new()),
        }
    }
}

/// Calls, tokens and time per purpose.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Spending {
    /// Keyed by purpose: `summarize`, `extract`, `judge`.
    pub(crate) by_purpose: SortedMap<&'static str, Spent>,
}

/// The sums of one purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Spent {
    calls: u32,
    input_tokens: u64,
    output_tokens: u64,
    ms: f64,
}

impl Spending {
    pub(crate) fn add(&mut self, purpose: Purpose, input_tokens: u32, output_tokens: u32, elapsed_ms: f64) {
        let spent = self.by_purpose.get_or_default(purpose.as_str());
        spent.calls += 1;
        spent.input_tokens += u64::from(input_tokens);
        spent.output_tokens += u64::from(output_tokens);
        spent.ms += elapsed_ms;
    }
}
