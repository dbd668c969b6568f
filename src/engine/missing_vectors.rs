//! Vectors that should be in storage and are not: deleted, damaged, or lost with a part of the disk.
//!
//! Which ones these are is noticed when vectors are read, when a segment is taken in or made, and kept in memory only: the
//! next reading notices them again. The embed job makes them again when nothing new waits, a batch at a time, with its own
//! limit of tries. What the embedder refuses is written down in the job's record and left alone from then on.

use super::Engine;
use super::embedding::{Batch, put_vectors};
use super::jobs::Progress;
use super::loading::job_key;
use super::readable::seq_of;
use super::state::State;
use super::stored::Stored;
use super::stored_vectors::model_of;
use crate::error::Result;
use crate::key;
use crate::message::Seq;
use crate::ports::{Check, Commit, Embedder, Key, Store};
use crate::records::{JobKind, JobRecord, SegmentKind};
use crate::sorted_map::SortedMap;

/// Which messages have all their vectors, by what was read of them.
#[derive(Default)]
pub(super) struct EmbeddedParts(SortedMap<Seq, (u32, u32)>);

impl EmbeddedParts {
    /// Takes note of a record: of how many parts its message has, where it is usable.
    pub(super) fn see(&mut self, key: &Key, parts: Option<u32>) {
        if let (Some(seq), Some(parts)) = (seq_of(key), parts) {
            let (seen, all) = self.0.get_or_default(seq);
            *seen += 1;
            *all = parts;
        }
    }

    pub(super) fn has(&self, seq: Seq) -> bool {
        self.0.get(&seq).is_some_and(|(seen, all)| seen >= all)
    }
}

impl State {
    /// Notes which messages of a range should have a vector and have none. `has` is asked of rising positions.
    pub(crate) fn note_missing_vectors(&mut self, id: &str, from: Seq, to: Seq, has: &mut dyn FnMut(Seq) -> bool) {
        let embeds_elsewhere = self.embeds_elsewhere;
        let Some(conversation) = self.conversations.get_mut(id) else { return };
        let job = conversation.jobs.get(&JobKind::Embed);
        let refused = job.map(|job| job.value.skipped.as_slice()).unwrap_or_default();
        let mut missing = Vec::new();
        for seq in from..=to {
            let has_vector = has(seq);
            let is_wanted = conversation.message(seq).is_some_and(|message| {
                message.has_text && !message.is_removed && !(message.local_only && embeds_elsewhere)
            });
            if is_wanted && !has_vector && refused.binary_search(&seq).is_err() {
                missing.push(seq);
            }
        }
        if !missing.is_empty() {
            self.unsettled.insert(id.to_owned());
        }
        conversation.missing_vectors.extend(missing);
    }
}

/// Writes down messages that go without a vector: they are no longer missing.
pub(super) fn refuse(job: &mut JobRecord, seqs: impl Iterator<Item = Seq>) {
    job.skipped.extend(seqs);
    crate::sorting::sort(&mut job.skipped);
    job.skipped.dedup();
}

impl Engine {
    pub(super) fn is_missing_vectors(&self, id: &str) -> bool {
        self.state.borrow().conversation(id).is_some_and(|one| !one.missing_vectors.is_empty())
    }

    /// Makes a batch of the vectors again that were found missing. Where another tab did it meanwhile, they are taken in.
    pub(super) async fn embed_missing(
        &self,
        id: &str,
        mut job: JobRecord,
        check: Check,
        embedder: &dyn Embedder,
    ) -> Result<Progress> {
        let model = model_of(embedder);
        let (is_last_try, most) = self.batch_size(&job, embedder);
        let missing: Vec<Seq> = {
            let state = self.state.borrow();
            state.conversation(id).map_or_else(Vec::new, |one| one.missing_vectors.iter().copied().take(most).collect())
        };
        let mut records = self.read_seqs(id, &missing).await?;
        let mut stored = EmbeddedParts::default();
        for (key, record) in self.read_vectors(id, &records).await? {
            stored.see(&key, self.take_vector_in(id, &key, &record, &model)?);
        }
        records.retain(|record| !stored.has(record.seq));
        let batch = self.embed_batch(embedder, Batch::of(&records, embedder, most), is_last_try);
        let (batch, vectors) = batch.await?;
        let done = if batch.last == 0 { missing.last().copied().unwrap_or(0) } else { batch.last };
        let again = records.iter().map(|record| record.seq).filter(|seq| *seq <= done);
        refuse(&mut job, again.filter(|seq| !batch.has(*seq)));
        let first_parts = batch.parts.iter().filter(|part| part.part == 0);
        let former = first_parts.map(|part| (Store::Embeddings, key![id, part.seq])).collect();
        let mut commit = Commit { checks: vec![check], delete_prefixes: former, ..Commit::default() };
        put_vectors(id, &model, &batch, &vectors, &mut commit)?;
        (job.attempts, job.not_before, job.last_error) = (0, 0.0, None);
        let job = Stored::new(job)?;
        commit.puts.push((Store::Jobs, job_key(JobKind::Embed, id), job.record()));
        // Segments were made without them.
        self.forget_segments_of(id, Some(SegmentKind::Vectors), &mut commit).await?;
        self.ensure_open()?;
        if !self.host.storage.commit(commit).await? {
            return Ok(Progress::Overtaken);
        }
        self.put_job(id, job);
        self.take_new_vectors_in(id, &batch, &vectors)?;
        if let Some(conversation) = self.state.borrow_mut().conversations.get_mut(id) {
            for seq in missing.iter().take_while(|seq| **seq <= done) {
                conversation.missing_vectors.remove(seq);
            }
        }
        Ok(Progress::Made)
    }
}
