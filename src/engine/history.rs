//! Stored messages as the app reads them back: of the active path, or of every branch.

use super::Engine;
use crate::error::Result;
use crate::message::Seq;
use crate::records::{MessageRecord, MessageStatus};
use serde::Serialize;

/// A stored message as the app reads it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// The caller's id, or `seq:<position>`.
    pub id: String,
    /// Position in the conversation.
    pub seq: Seq,
    /// Whether it is whole.
    pub status: MessageStatus,
    /// It stays on this device. Left out where it does not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub local_only: bool,
    /// The caller's object as JSON text, byte-exact.
    pub message: String,
}

impl From<MessageRecord> for HistoryEntry {
    fn from(record: MessageRecord) -> Self {
        let MessageRecord { id, seq, status, local_only, raw: message, .. } = record;
        Self { id, seq, status, local_only, message }
    }
}

impl Engine {
    /// Raw messages of the active path by position, both ends inclusive, as the JSON texts that were given.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn history(
        &self,
        conversation_id: &str,
        from: Option<Seq>,
        to: Option<Seq>,
        limit: Option<u32>,
    ) -> Result<Vec<String>> {
        let entries = self.history_entries(conversation_id, from, to, limit).await?;
        Ok(entries.into_iter().map(|entry| entry.message).collect())
    }

    /// As [`Engine::history`], with each message's id, position and status.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn history_entries(
        &self,
        conversation_id: &str,
        from: Option<Seq>,
        to: Option<Seq>,
        limit: Option<u32>,
    ) -> Result<Vec<HistoryEntry>> {
        self.ensure_open()?;
        let (from, to) = (from.unwrap_or(1), to.unwrap_or(Seq::MAX));
        let mut records = if self.refresh_record(conversation_id).await?.is_linear() {
            self.read_messages(conversation_id, from, to, limit).await?
        } else {
            self.refresh(conversation_id).await?;
            self.read_path(conversation_id, from, to, limit).await?
        };
        self.end_lost_streams(&mut records).await?;
        Ok(records.into_iter().filter(|record| !record.removed).map(HistoryEntry::from).collect())
    }

    /// As [`Self::history`], with the messages of every branch.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn history_of_all_branches(
        &self,
        conversation_id: &str,
        from: Option<Seq>,
        to: Option<Seq>,
        limit: Option<u32>,
    ) -> Result<Vec<HistoryEntry>> {
        self.ensure_open()?;
        self.refresh_record(conversation_id).await?;
        let most = limit.map_or(usize::MAX, |limit| limit as usize);
        let (mut from, to) = (from.unwrap_or(1), to.unwrap_or(Seq::MAX));
        let mut entries = Vec::new();
        // What was removed is read over, so a limited range may take more than one look.
        loop {
            let mut records = self.read_messages(conversation_id, from, to, limit).await?;
            self.end_lost_streams(&mut records).await?;
            let last = records.last().map(|record| record.seq);
            entries.extend(records.into_iter().filter(|record| !record.removed).map(HistoryEntry::from));
            match last {
                Some(last) if limit.is_some() && entries.len() < most && last < to => from = last + 1,
                _ => break,
            }
        }
        entries.truncate(most);
        Ok(entries)
    }
}
