//! The embed job: vectors for messages that have none, a batch at a time, each batch durable before the next is asked.
//!
//! A message longer than the model reads is embedded in parts, each its own record; a message is embedded whole or not
//! at all. Where the model is another than before, the first batch takes the place of all that the former one made.

use super::Engine;
use super::event::Event;
use super::jobs::Progress;
use super::loading::job_key;
use super::missing_vectors::refuse;
use super::stored::{Stored, encode_plain};
use super::stored_vectors::model_of;
use crate::error::{Code, Error, Result};
use crate::key;
use crate::message::{Role, Seq};
use crate::ports::{Commit, Embedder, Record, Store};
use crate::records::{EmbeddingRecord, JobKind, JobRecord, MessageRecord, SegmentKind};
use crate::secrets::{LEFT_OUT, without_secrets};
use crate::text_parts::parts_of;
use serde_json::json;
use std::borrow::Cow;

/// Texts of the last try of a batch, at least: a second one tells a text that is refused from a model that fails.
const LEAST_TRIED: usize = 4;

/// Messages whose vectors are made together.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) parts: Vec<Part>,
    /// The newest message, with or without text.
    pub(super) last: Seq,
}

/// One text to embed.
pub(super) struct Part {
    pub(super) seq: Seq,
    /// From 0.
    pub(super) part: u32,
    /// Parts of its message.
    parts: u32,
    text: String,
}

impl Batch {
    /// As many whole messages as have so many parts, and at least one.
    pub(super) fn of(records: &[MessageRecord], embedder: &dyn Embedder, most: usize) -> Self {
        let mut batch = Self::default();
        for record in records {
            let text = match record.role {
                Role::System => Cow::Borrowed(""),
                _ if record.local_only && embedder.is_remote() => Cow::Borrowed(""),
                _ => without_secrets(&record.text, LEFT_OUT),
            };
            let texts = parts_of(&text, embedder.max_input_tokens());
            if !batch.parts.is_empty() && batch.parts.len() + texts.len() > most {
                break;
            }
            let parts = texts.len() as u32;
            batch.parts.extend((0..).zip(texts).map(|(part, text)| Part {
                seq: record.seq,
                part,
                parts,
                text: text.to_owned(),
            }));
            batch.last = record.seq;
        }
        batch
    }

    /// Whether a message is in it, with a text.
    pub(super) fn has(&self, seq: Seq) -> bool {
        self.parts.binary_search_by(|part| part.seq.cmp(&seq)).is_ok()
    }
}

/// Adds the records of a batch to a commit.
pub(super) fn put_vectors(
    id: &str,
    model: &str,
    batch: &Batch,
    vectors: &[Vec<f32>],
    commit: &mut Commit,
) -> Result<()> {
    for (part, vector) in batch.parts.iter().zip(vectors) {
        let blob: Vec<u8> = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
        let body = encode_plain(&EmbeddingRecord::of(model, part.parts, &blob))?.body;
        commit.puts.push((Store::Embeddings, key![id, part.seq, part.part], Record { body, blob: Some(blob) }));
    }
    Ok(())
}

impl Engine {
    /// Embeds the next batch of a conversation.
    pub(super) async fn embed_next_batch(&self, id: &str) -> Result<Progress> {
        let Some(embedder) = self.host.embedder.clone() else { return Ok(Progress::Made) };
        self.refresh(id).await?;
        let (mut job, check) = self.job(JobKind::Embed, id)?;
        let mut commit = Commit { checks: vec![check], ..Commit::default() };
        let model = model_of(&*embedder);
        if job.model.as_deref() != Some(model.as_str()) {
            if job.model.is_some() {
                commit.delete_prefixes.push((Store::Embeddings, key![id]));
                self.forget_segments_of(id, Some(SegmentKind::Vectors), &mut commit).await?;
            }
            job.model = Some(model.clone());
            job.done_until_seq = 0;
            job.skipped.clear();
            if let Some(conversation) = self.state.borrow_mut().conversations.get_mut(id) {
                conversation.vectors_until_seq = 0;
                conversation.missing_vectors.clear();
            }
        }
        let from = job.done_until_seq + 1;
        if from > self.whole_until_seq(id) {
            return match commit.checks.pop() {
                Some(check) if self.is_missing_vectors(id) => self.embed_missing(id, job, check, &*embedder).await,
                _ => Ok(Progress::Overtaken),
            };
        }
        let (is_last_try, most) = self.batch_size(&job, &*embedder);
        let messages = u32::try_from(most).unwrap_or(u32::MAX);
        let until = from.saturating_add(messages - 1).min(self.whole_until_seq(id));
        let batch = Batch::of(&self.read_messages(id, from, until, None).await?, &*embedder, most);
        if batch.last == 0 {
            return Ok(Progress::Overtaken);
        }
        let with_text: Vec<Seq> = batch.parts.iter().filter(|part| part.part == 0).map(|part| part.seq).collect();
        let (batch, vectors) = self.embed_batch(&*embedder, batch, is_last_try).await?;
        put_vectors(id, &model, &batch, &vectors, &mut commit)?;
        refuse(&mut job, with_text.into_iter().filter(|seq| *seq <= batch.last && !batch.has(*seq)));
        job.done_until_seq = batch.last;
        (job.attempts, job.not_before, job.last_error) = (0, 0.0, None);
        let stored = Stored::new(job)?;
        commit.puts.push((Store::Jobs, job_key(JobKind::Embed, id), stored.record()));
        self.ensure_open()?;
        if !self.commit_work(commit).await? {
            return Ok(Progress::Overtaken);
        }
        self.put_job(id, stored);
        self.count_unsealed(batch.last + 1 - from);
        self.take_new_vectors_in(id, &batch, &vectors)?;
        Ok(Progress::Made)
    }

    /// Whether this is the last try of a job's batch, and how many texts it has.
    pub(super) fn batch_size(&self, job: &JobRecord, embedder: &dyn Embedder) -> (bool, usize) {
        let is_last_try = job.attempts > 0 && job.attempts + 1 >= self.options.policy.limits.job_attempts;
        (is_last_try, embedder.max_batch_size().max(if is_last_try { LEAST_TRIED } else { 1 }))
    }

    /// The vectors of a batch, and what of it has some.
    pub(super) async fn embed_batch(
        &self,
        embedder: &dyn Embedder,
        batch: Batch,
        is_last_try: bool,
    ) -> Result<(Batch, Vec<Vec<f32>>)> {
        if is_last_try {
            self.embed_one_by_one(embedder, batch).await
        } else {
            self.embed_together(embedder, batch).await
        }
    }

    async fn embed_together(&self, embedder: &dyn Embedder, batch: Batch) -> Result<(Batch, Vec<Vec<f32>>)> {
        let mut vectors = Vec::with_capacity(batch.parts.len());
        for parts in batch.parts.chunks(embedder.max_batch_size().max(1)) {
            vectors.extend(self.embed(embedder, parts.iter().map(|part| part.text.clone()).collect()).await?);
        }
        Ok((batch, vectors))
    }

    /// The last try of a batch, message by message: one text that the model refuses must not keep all that follow it from
    /// being found by meaning. Where the first fails and the second does not, the first goes without a vector; a later one
    /// ends the batch and is the first of the next.
    async fn embed_one_by_one(&self, embedder: &dyn Embedder, batch: Batch) -> Result<(Batch, Vec<Vec<f32>>)> {
        let mut done = Batch { last: batch.last, ..Batch::default() };
        let mut vectors = Vec::new();
        let mut refused: Option<Error> = None;
        let mut parts = batch.parts.into_iter().peekable();
        while let Some(first) = parts.next() {
            let mut message = Batch { last: first.seq, parts: vec![first] };
            while let Some(part) = parts.next_if(|part| part.seq == message.last) {
                message.parts.push(part);
            }
            let seq = message.last;
            match self.embed_together(embedder, message).await {
                Ok((message, made)) => {
                    done.parts.extend(message.parts);
                    vectors.extend(made);
                }
                Err(error) if error.code == Code::Closed || refused.is_some() && done.parts.is_empty() => {
                    return Err(error);
                }
                Err(_) if !done.parts.is_empty() => {
                    done.last = seq - 1;
                    break;
                }
                Err(error) => refused = Some(error),
            }
        }
        if let Some(error) = refused {
            if done.parts.is_empty() {
                return Err(error);
            }
            self.emit(&Event::error(&error, false, json!({ "job": JobKind::Embed })));
        }
        Ok((done, vectors))
    }

    pub(super) fn take_new_vectors_in(&self, id: &str, batch: &Batch, vectors: &[Vec<f32>]) -> Result<()> {
        let state = &mut *self.state.borrow_mut();
        let conversation =
            state.conversations.get_mut(id).ok_or_else(|| Error::not_found("the conversation was deleted"))?;
        for (part, vector) in batch.parts.iter().zip(vectors) {
            if let Some(document) = conversation.message(part.seq).and_then(|message| message.document()) {
                state.index.set_part_vector(document, part.part, vector)?;
            }
        }
        conversation.vectors_until_seq = conversation.vectors_until_seq.max(batch.last);
        Ok(())
    }
}
