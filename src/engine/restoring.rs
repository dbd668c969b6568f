//! Making small records again that were lost: those of conversations whose messages are there, and of background work.

use super::Engine;
use super::conversations::{BIRTHS, Births, jobs_anew, title_from};
use super::loading::job_key;
use super::message_ids::put_id;
use super::readable::seq_of;
use super::stored::{Stored, decode, encode};
use crate::error::Result;
use crate::key;
use crate::message::{Role, Seq};
use crate::ports::{Check, Commit, KeyPart, Query, Store};
use crate::records::{ConversationRecord, MessageIdRecord};

/// Messages read in one go.
const PAGE: Seq = 256;

impl Engine {
    /// Makes the records of conversations again that have messages behind what their record says, or no record at all. What
    /// the app had set is gone then, so such a conversation counts as one that is not to be remembered.
    pub(super) async fn restore_conversations(&self) -> Result<()> {
        let mut from = String::new();
        loop {
            let start = Some(KeyPart::Text(from.clone()));
            let first = Query { from: start, limit: Some(1), ..Query::prefix(Store::Messages, key![]) };
            let Some((key, _)) = self.scan(first).await?.pop() else { return Ok(()) };
            let Some(KeyPart::Text(id)) = key.0.into_iter().next() else { return Ok(()) };
            self.restore_conversation(&id).await?;
            // The next text in the order of keys.
            from = id + "\0";
        }
    }

    async fn restore_conversation(&self, id: &str) -> Result<()> {
        let newest = Query { limit: Some(1), reverse: true, ..Query::prefix(Store::Messages, key![id]) };
        let newest = self.scan(newest).await?.pop().and_then(|(key, _)| seq_of(&key)).unwrap_or(0);
        let known = self.state.borrow().conversation(id).map(|conversation| conversation.stored.value.clone());
        if known.as_ref().is_some_and(|known| known.last_seq >= newest) {
            return Ok(());
        }
        let mut commit = Commit { strict: true, ..Commit::default() };
        let body = self.host.storage.get(vec![(Store::Conversations, key![id])]).await?.pop().flatten();
        let body = body.map(|record| record.body);
        commit.checks.push(Check { store: Store::Conversations, key: key![id], body });
        let record = match known {
            Some(known) => known,
            None => self.unknown_conversation(id, &mut commit).await?,
        };
        let record = Stored::new(self.counted_again(record, newest, &mut commit).await?)?;
        commit.puts.push((Store::Conversations, key![id], record.record()));
        if self.commit(commit).await? {
            self.state.borrow_mut().put_conversation(record);
        }
        Ok(())
    }

    async fn unknown_conversation(&self, id: &str, commit: &mut Commit) -> Result<ConversationRecord> {
        let found = self.host.storage.get(vec![(Store::Meta, key![BIRTHS])]).await?.pop().flatten();
        let births = found.as_ref().and_then(|record| decode::<Births>(Store::Meta, record).ok()).unwrap_or_default();
        let born = births.last.max(self.state.borrow().born).saturating_add(1);
        let check = Check { store: Store::Meta, key: key![BIRTHS], body: found.map(|record| record.body) };
        commit.checks.push(check);
        commit.puts.push((Store::Meta, key![BIRTHS], encode(&Births { last: born, ..births })?));
        Ok(ConversationRecord {
            id: id.to_owned(),
            born,
            title: None,
            project_id: None,
            remember: false,
            created_at: self.now_ms(),
            updated_at: 0.0,
            last_seq: 0,
            tokens: 0,
            first_text: None,
            active_leaf: None,
            removed: 0,
            imported_until_seq: 0,
            // It may.
            has_local: true,
            parent_id: None,
            notes: 0,
            episodes: Vec::new(),
            source: None,
            import_hash: None,
            settings_at: 0.0,
            turned_at: 0.0,
            creations: Vec::new(),
        })
    }

    /// The record with the counters that the messages give, and where their ids are.
    async fn counted_again(
        &self,
        mut record: ConversationRecord,
        last_seq: Seq,
        commit: &mut Commit,
    ) -> Result<ConversationRecord> {
        let id = record.id.clone();
        let mut is_linear = true;
        let mut from = record.last_seq.saturating_add(1);
        while from <= last_seq {
            let until = last_seq.min(from.saturating_add(PAGE - 1));
            let records = self.scan_messages(&id, from, until, None).await?;
            for message in self.readable(&id, from, until, &records) {
                is_linear &= !message.removed && message.parent_seq.saturating_add(1) == message.seq;
                if message.removed {
                    continue;
                }
                record.tokens += u64::from(message.tokens);
                record.created_at = record.created_at.min(message.created_at);
                record.updated_at = record.updated_at.max(message.created_at);
                if record.first_text.is_none() && message.role == Role::User {
                    record.first_text = title_from(&message.text);
                }
                let located = MessageIdRecord { seq: message.seq, content_hash: message.content_hash };
                put_id(&id, &message.id, &located, commit)?;
            }
            from = until.saturating_add(1);
        }
        record.last_seq = last_seq;
        if record.active_leaf.is_some() || !is_linear {
            record.active_leaf = Some(last_seq);
        }
        Ok(record)
    }

    /// Begins background work anew whose record is gone or cannot be read. What can be made again is no loss, and is not
    /// told.
    pub(super) async fn mend_jobs(&self) -> Result<()> {
        let mut commit = Commit::default();
        let mut mended = Vec::new();
        {
            let state = self.state.borrow();
            for (id, conversation) in state.conversations.iter() {
                let jobs = jobs_anew(&conversation.stored.value).into_iter();
                for job in jobs.filter(|job| !conversation.jobs.contains_key(&job.kind)) {
                    let job = Stored::new(job)?;
                    commit.checks.push(conversation.stored.check(Store::Conversations, key![id.as_str()]));
                    commit.puts.push((Store::Jobs, job_key(job.value.kind, id), job.record()));
                    mended.push((id.clone(), job));
                }
            }
        }
        if !mended.is_empty() && self.host.storage.commit(commit).await? {
            for (id, job) in mended {
                self.put_job(&id, job);
            }
        }
        Ok(())
    }
}
