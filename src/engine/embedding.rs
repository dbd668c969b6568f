//! The embed job: vectors for messages that have none, a batch at a time, each batch durable before the next is asked.

use super::Engine;
use super::jobs::Progress;
use super::loading::{job_key, model_of};
use super::stored::{Stored, encode};
use crate::error::{Error, Result};
use crate::key;
use crate::message::{Role, Seq};
use crate::ports::{Commit, Record, Store};
use crate::records::{EmbeddingRecord, JobKind};

impl Engine {
    /// Embeds the next batch of a conversation.
    pub(super) async fn embed_next_batch(&self, id: &str) -> Result<Progress> {
        let Some(embedder) = self.host.embedder.clone() else { return Ok(Progress::Made) };
        self.refresh(id).await?;
        let (mut job, check) = self.job(JobKind::Embed, id)?;
        let model = model_of(&*embedder);
        if job.model.as_deref() != Some(model.as_str()) {
            job.model = Some(model.clone());
            job.done_until_seq = 0;
            if let Some(conversation) = self.state.borrow_mut().conversations.get_mut(id) {
                conversation.vectors_until_seq = 0;
            }
        }
        let from = job.done_until_seq + 1;
        let batch = u32::try_from(embedder.max_batch_size().max(1)).unwrap_or(u32::MAX);
        let until = from.saturating_add(batch - 1).min(self.whole_until_seq(id));
        let records = self.read_messages(id, from, until, None).await?;
        let Some(last) = records.last().map(|record| record.seq) else { return Ok(Progress::Overtaken) };
        let embedded: Vec<(Seq, String)> = records
            .into_iter()
            .filter(|record| !record.text.trim().is_empty() && record.role != Role::System)
            .map(|record| (record.seq, record.text))
            .collect();
        let vectors = match embedded.is_empty() {
            true => Vec::new(),
            false => self.embed(&*embedder, embedded.iter().map(|(_, text)| text.clone()).collect()).await?,
        };
        let mut commit = Commit { checks: vec![check], ..Commit::default() };
        let body = encode(&EmbeddingRecord { model })?.body;
        for ((seq, _), vector) in embedded.iter().zip(&vectors) {
            let blob = vector.iter().flat_map(|number| number.to_le_bytes()).collect();
            commit.puts.push((
                Store::Embeddings,
                key![id, *seq, 0_u32],
                Record { body: body.clone(), blob: Some(blob) },
            ));
        }
        job.done_until_seq = last;
        (job.attempts, job.not_before, job.last_error) = (0, 0.0, None);
        let stored = Stored::new(job)?;
        commit.puts.push((Store::Jobs, job_key(JobKind::Embed, id), stored.record()));
        self.ensure_open()?;
        if !self.host.storage.commit(commit).await? {
            return Ok(Progress::Overtaken);
        }
        self.put_job(id, stored);
        self.take_new_vectors_in(id, &embedded, &vectors, last)?;
        Ok(Progress::Made)
    }

    fn take_new_vectors_in(&self, id: &str, embedded: &[(Seq, String)], vectors: &[Vec<f32>], last: Seq) -> Result<()> {
        let state = &mut *self.state.borrow_mut();
        let conversation =
            state.conversations.get_mut(id).ok_or_else(|| Error::not_found("the conversation was deleted"))?;
        for ((seq, _), vector) in embedded.iter().zip(vectors) {
            if let Some(document) = conversation.message(*seq).and_then(|message| message.document) {
                state.index.set_vector(document, vector)?;
            }
        }
        conversation.vectors_until_seq = conversation.vectors_until_seq.max(last);
        Ok(())
    }
}
