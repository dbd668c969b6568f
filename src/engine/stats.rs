//! Numbers about what is kept, what it costs, and what is still to do.

use super::Engine;
use super::backup::{LAST_EXPORT, exported_at};
use super::damage::Damage;
use super::failed_jobs::FailedJob;
use super::segment_catalogue::Segment;
use super::state::Conversation;
use super::state::Spending;
use super::stored_vectors::model_of;
use super::usage::ModelUsage;
use crate::error::Result;
use crate::key;
use crate::ports::Store;
use crate::records::{JobKind, SegmentKind};
use serde::Serialize;

/// What is sealed of the search index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SegmentStats {
    /// Segments.
    pub count: u32,
    /// Messages that they cover.
    pub messages: u64,
    /// Rows of vectors in them.
    pub vectors: u64,
    /// Their bytes in storage.
    pub bytes: u64,
}

/// What `stats()` answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Conversations kept.
    pub conversations: u64,
    /// Messages kept, those of every branch.
    pub messages: u64,
    /// Tokens of all messages.
    pub tokens: u64,
    /// Vectors kept; a long message has several.
    pub vectors: u64,
    /// Facts kept, tombstones and history included.
    pub facts: u64,
    /// Background jobs due now.
    pub jobs: usize,
    /// Messages that are still to be embedded, those among them whose vectors were found missing or damaged in storage.
    pub waiting_for_vectors: u64,
    /// Background jobs that failed and have not succeeded since.
    pub failed_jobs: Vec<FailedJob>,
    /// When a failed job is tried again, milliseconds since 1970.
    pub next_retry_at: Option<f64>,
    /// Bytes in use by this site, where the platform tells.
    pub storage_bytes: Option<f64>,
    /// Bytes that this site may use, where the platform tells.
    pub quota_bytes: Option<f64>,
    /// The browser promised not to evict it.
    pub persisted: Option<bool>,
    /// When the last backup of what is stored here was made, milliseconds since 1970; `None` where none was.
    pub last_export_at: Option<f64>,
    /// Damage of storage that was found and is not acknowledged.
    pub damage: Option<Damage>,
    /// Records outlive the process.
    pub durable: bool,
    /// A newer version wrote the data: it can be read, and each write fails with `schema_too_new`.
    pub read_only: bool,
    /// Memory of the search index's words and metadata, in bytes, about.
    pub index_bytes: usize,
    /// Sealed segments of the search index, as they are in storage.
    pub segments: SegmentStats,
    /// Calls, tokens and milliseconds spent on model calls, by purpose.
    pub spent: Spending,
    /// What providers billed, as it was reported: the model reported last first.
    pub usage: Vec<ModelUsage>,
    /// `o200k_base/1` and so on: how tokens are counted now.
    pub counted_with: String,
}

impl Engine {
    async fn segment_stats(&self) -> Result<SegmentStats> {
        let mut stats = SegmentStats::default();
        for Segment { record, .. } in &self.segment_catalogue().await?.segments {
            stats.count += 1;
            stats.messages += if record.kind == SegmentKind::Messages { u64::from(record.messages) } else { 0 };
            stats.vectors += u64::from(record.rows);
            stats.bytes += record.parts.iter().map(|bytes| u64::from(*bytes)).sum::<u64>();
        }
        Ok(stats)
    }

    /// Memory of the search index's words and metadata, in bytes, about, as it is now: storage is not asked.
    #[must_use]
    pub fn index_bytes(&self) -> usize {
        self.state.borrow().index.memory_bytes()
    }

    /// Numbers as they are now.
    pub async fn stats(&self) -> Result<Stats> {
        self.ensure_open()?;
        self.refresh_conversations().await?;
        let storage = &self.host.storage;
        let used = storage.usage().await?;
        let usage = self.model_usage().await?;
        let vectors = storage.count(Store::Embeddings, key![]).await?;
        let facts = storage.count(Store::Facts, key![]).await?;
        let last_export = storage.get(vec![(Store::Meta, key![LAST_EXPORT])]).await?.pop().flatten();
        let segments = self.segment_stats().await?;
        let jobs = self.due_jobs();
        let failed_jobs = self.failed_jobs();
        let state = self.state.borrow();
        let records = || state.conversations.values().map(|conversation| &conversation.stored.value);
        let model = self.host.embedder.as_ref().map(|embedder| model_of(&**embedder));
        let remembered = state.conversations.values().filter(|conversation| conversation.stored.value.remember);
        let waiting = |conversation: &Conversation| {
            let job = conversation.jobs.get(&JobKind::Embed).filter(|job| job.value.model == model);
            let done = job.map_or(0, |job| job.value.done_until_seq);
            let missing = job.map_or(0, |_| conversation.missing_vectors.len() as u64);
            u64::from(conversation.stored.value.last_seq.saturating_sub(done)) + missing
        };
        let waiting_for_vectors =
            if model.is_some() { remembered.map(|conversation| waiting(conversation)).sum() } else { 0 };
        Ok(Stats {
            conversations: state.conversations.len() as u64,
            messages: records().map(|record| u64::from(record.last_seq - record.removed.min(record.last_seq))).sum(),
            tokens: records().map(|record| record.tokens).sum(),
            vectors,
            facts,
            jobs,
            failed_jobs,
            waiting_for_vectors,
            next_retry_at: self.next_retry_at(),
            storage_bytes: used.bytes,
            quota_bytes: used.quota_bytes,
            persisted: used.persisted,
            last_export_at: last_export.as_ref().and_then(exported_at),
            damage: self.damage(),
            durable: storage.is_durable(),
            read_only: self.read_only,
            index_bytes: self.index_bytes(),
            segments,
            spent: state.spending.clone(),
            usage,
            counted_with: self.counter().id().to_owned(),
        })
    }
}
