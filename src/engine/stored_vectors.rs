//! Vectors of messages from storage into the index.

use super::Engine;
use super::loading::PAGE;
use super::missing_vectors::EmbeddedParts;
use super::readable::seq_of;
use super::state::{Conversation, MessageMeta};
use super::stored::decode;
use crate::error::Result;
use crate::key;
use crate::message::Seq;
use crate::ports::{Embedder, Key, KeyPart, Query, Record, Store};
use crate::records::{EmbeddingRecord, JobKind, MessageRecord};
use crate::text_parts::MAX_PARTS;

impl Engine {
    /// The vectors of messages, of all their parts.
    pub(super) async fn read_vectors(&self, id: &str, messages: &[MessageRecord]) -> Result<Vec<(Key, Record)>> {
        let first_parts = messages.iter().map(|message| key![id, message.seq, 0_u32]).collect();
        let mut vectors = self.read_present(Store::Embeddings, first_parts).await?;
        let mut further = Vec::new();
        for (key, record) in &vectors {
            let parts = decode::<EmbeddingRecord>(Store::Embeddings, record).map_or(1, |record| record.parts);
            let parts = parts.min(MAX_PARTS as u32);
            further.extend(seq_of(key).into_iter().flat_map(|seq| (1..parts).map(move |part| key![id, seq, part])));
        }
        vectors.extend(self.read_present(Store::Embeddings, further).await?);
        Ok(vectors)
    }

    async fn read_present(&self, store: Store, keys: Vec<Key>) -> Result<Vec<(Key, Record)>> {
        let found = self.host.storage.get(keys.iter().map(|key| (store, key.clone())).collect()).await?;
        Ok(keys.into_iter().zip(found).filter_map(|(key, record)| Some((key, record?))).collect())
    }

    /// Reads the vectors that the embedder in use has made, as far as the messages are here.
    pub(super) async fn load_vectors(&self, id: &str) -> Result<()> {
        let Some(embedder) = self.host.embedder.clone() else { return Ok(()) };
        let model = model_of(&*embedder);
        loop {
            let (from, to) = {
                let state = self.state.borrow();
                let Some(conversation) = state.conversations.get(id) else { return Ok(()) };
                if embedded_with(conversation) != Some(model.as_str()) {
                    return Ok(());
                }
                let to = embedded_until(conversation).min(conversation.loaded_until_seq());
                (conversation.vectors_until_seq + 1, to)
            };
            if from > to {
                return Ok(());
            }
            let mut query = Query::between(Store::Embeddings, key![id], from, to);
            query.limit = Some(PAGE);
            let life = self.life_of(id);
            let page = self.scan(query).await?;
            if life != self.life_of(id) {
                continue;
            }
            // A page may end within the parts of a message: those are read again with the next.
            let reached =
                if page.len() < PAGE { Some(to) } else { page.last().and_then(|(key, _)| seq_of(key)?.checked_sub(1)) };
            let mut stored = EmbeddedParts::default();
            for (key, record) in &page {
                stored.see(key, self.take_vector_in(id, key, record, &model)?);
            }
            let reached = reached.unwrap_or(to).max(from);
            let state = &mut *self.state.borrow_mut();
            state.note_missing_vectors(id, from, reached, &mut |seq| stored.has(seq));
            if let Some(conversation) = state.conversations.get_mut(id) {
                conversation.vectors_until_seq = conversation.vectors_until_seq.max(reached);
            }
        }
    }

    /// Takes a stored vector into the index. Answers how many parts its message has; `None` where it is of another model,
    /// or damaged: it is one that is not there then, and the message is found by its words.
    pub(super) fn take_vector_in(&self, id: &str, key: &Key, record: &Record, model: &str) -> Result<Option<u32>> {
        let embedding = decode::<EmbeddingRecord>(Store::Embeddings, record).ok().filter(|one| one.model == model);
        let (Some(embedding), Some(blob)) = (embedding, record.blob.as_deref()) else { return Ok(None) };
        if !embedding.is_of(blob) {
            return Ok(None);
        }
        let vector = vector_from_bytes(blob);
        let dimensions = self.host.embedder.as_ref().map_or(0, |embedder| embedder.dimensions());
        if vector.len() != dimensions || vector.iter().any(|number| !number.is_finite()) {
            return Ok(None);
        }
        let state = &mut *self.state.borrow_mut();
        let document = seq_of(key)
            .and_then(|seq| state.conversations.get(id).and_then(|conversation| conversation.message(seq)))
            .and_then(MessageMeta::document);
        if let Some(document) = document {
            state.index.set_part_vector(document, part_of(key), &vector)?;
        }
        Ok(Some(embedding.parts))
    }
}

/// Names an embedder in records: vectors of another model, or of another length, are never compared.
pub(super) fn model_of(embedder: &dyn Embedder) -> String {
    format!("{}/{}", embedder.id(), embedder.dimensions())
}

/// Messages whose vectors, made with the embedder in use, are in storage and were not read.
pub(super) fn unread_vectors(conversation: &Conversation, model: Option<&str>) -> u32 {
    if model.is_none() || model != embedded_with(conversation) {
        return 0;
    }
    embedded_until(conversation).saturating_sub(conversation.vectors_until_seq)
}

pub(super) fn embedded_until(conversation: &Conversation) -> Seq {
    conversation.jobs.get(&JobKind::Embed).map_or(0, |job| job.value.done_until_seq)
}

pub(super) fn embedded_with(conversation: &Conversation) -> Option<&str> {
    conversation.jobs.get(&JobKind::Embed).and_then(|job| job.value.model.as_deref())
}

fn part_of(key: &Key) -> u32 {
    match key.0.get(2) {
        Some(KeyPart::Number(number)) => u32::try_from(*number).unwrap_or(0),
        _ => 0,
    }
}

pub(super) fn vector_from_bytes(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
}
