//! Removing messages on the person's word: the text is gone from every store and index, and so is what was made from it
//! alone. The position stays taken by a tombstone, so that positions stay dense.

use super::Engine;
use super::append::removed_id;
use super::conversations::{WRITE_TRIES, overtaken};
use super::erasure::forget_in_memory;
use super::event::Event;
use super::path_change::Invalidated;
use super::state::{Conversation, State};
use super::stored::{Stored, decode, encode};
use super::tree::Turned;
use crate::error::{Error, Result};
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::message::Seq;
use crate::ports::{Commit, Query, Store};
use crate::records::{MessageIdRecord, MessageRecord, SummaryNode};
use serde_json::json;

/// A message to be removed.
#[derive(Clone, Debug, Default)]
pub struct RemoveRequest {
    /// The conversation.
    pub conversation_id: String,
    /// The message. One that is not there (any more) is no error.
    pub message_id: String,
    /// With everything that follows it, on every branch. Default false: what follows it follows its parent then.
    pub descendants: bool,
}

impl FromFields for RemoveRequest {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            conversation_id: fields.take("conversationId"),
            message_id: fields.take("messageId"),
            descendants: fields.take_or("descendants", false),
        }
    }
}

/// What goes, and what changes with it.
struct Removal {
    /// Rising.
    seqs: Vec<Seq>,
    ids: Vec<String>,
    tokens: u64,
    /// Messages that follow a removed one and stay, and the message that they follow from now on.
    children: Vec<Seq>,
    parent_seq: Seq,
    /// Where the active path ends from now on.
    leaf: Seq,
}

impl Removal {
    fn plan(conversation: &Conversation, seq: Seq, descendants: bool) -> Self {
        let seqs = if descendants { conversation.subtree(seq) } else { vec![seq] };
        let goes = |seq: Seq| seqs.binary_search(&seq).is_ok();
        let stays = conversation.messages.iter().filter(|message| !message.is_removed && !goes(message.seq));
        let children = stays.clone().filter(|message| goes(message.parent_seq)).map(|message| message.seq).collect();
        let leaf = conversation.leaf_seq();
        let leaf = if goes(leaf) {
            let before = conversation.path().rev().find(|message| !goes(message.seq));
            before.or_else(|| stays.clone().next_back()).map_or(0, |message| message.seq)
        } else {
            leaf
        };
        let gone = || seqs.iter().filter_map(|seq| conversation.message(*seq));
        Self {
            ids: gone().map(|message| message.id()).collect(),
            tokens: gone().map(|message| u64::from(message.tokens)).sum(),
            parent_seq: conversation.message(seq).map_or(0, |message| message.parent_seq),
            children,
            leaf,
            seqs,
        }
    }

    /// Carries it out on what is in memory.
    fn apply(&self, state: &mut State, id: &str) {
        let Some(conversation) = state.conversations.get_mut(id) else { return };
        let mut documents = Vec::new();
        for seq in &self.seqs {
            if let Some(message) = conversation.message_mut(*seq) {
                documents.extend(message.take_document());
                message.remove();
            }
        }
        for seq in &self.children {
            if let Some(message) = conversation.message_mut(*seq) {
                message.parent_seq = self.parent_seq;
            }
        }
        conversation.path.retain(|seq| self.seqs.binary_search(seq).is_err());
        conversation.returned.retain(|seq| self.seqs.binary_search(seq).is_err());
        conversation.removed = conversation.stored.value.removed;
        state.index.remove_all(conversation.number, &documents);
        state.index.sweep();
    }
}

impl Engine {
    /// Removes a message: it is in no list, history, context or search again, and what was made from it alone goes too.
    ///
    /// # Errors
    /// `not_found` (the conversation).
    pub async fn remove(&self, request: RemoveRequest) -> Result<Turned> {
        let (invalidated, _) =
            self.remove_messages(&request.conversation_id, &request.message_id, request.descendants).await?;
        Ok(Turned { invalidated })
    }

    /// As [`Self::remove`]; answers the removed records by store too.
    pub(super) async fn remove_messages(
        &self,
        id: &str,
        message_id: &str,
        descendants: bool,
    ) -> Result<(Invalidated, serde_json::Map<String, serde_json::Value>)> {
        self.ensure_open()?;
        let _turn = self.writes.enter().await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            self.ensure_open()?;
            self.refresh(id).await?;
            let known = self.located_ids(id, &[message_id]).await?;
            let Some(located) = known.get(message_id) else { return Ok(Default::default()) };
            let (removal, mut record, check) = {
                let state = self.state.borrow();
                let conversation =
                    state.conversation(id).ok_or_else(|| Error::not_found("the conversation was deleted"))?;
                if !conversation.is_loaded() {
                    // Another tab was faster than this look at the tree.
                    continue;
                }
                let removal = Removal::plan(conversation, located.seq, descendants);
                let check = conversation.stored.check(Store::Conversations, key![id]);
                (removal, conversation.stored.value.clone(), check)
            };
            let mut commit = Commit { checks: vec![check], strict: true, ..Commit::default() };
            let mut erased = serde_json::Map::new();
            let mut change = self.change_path(id, removal.leaf, &removal.seqs, &mut commit).await?;
            self.put_removal(id, &removal, &mut commit, &mut erased).await?;
            let facts = self.facts_shown_by(id, &removal.seqs).await?;
            let (sole, moved) = facts.as_ref().map_or((&[][..], &[][..]), |shown| (&shown.sole, &shown.moved));
            if let Some(shown) = &facts {
                shown.unlink(&mut commit);
            }
            let counters = self.delete_facts(sole, moved, &mut commit).await?;
            change.invalidated.facts = sole.len();
            record.active_leaf = Some(removal.leaf);
            record.removed += removal.seqs.len() as Seq;
            record.tokens = record.tokens.saturating_sub(removal.tokens);
            record.first_text = change.first_text.take().unwrap_or(record.first_text);
            let stored = Stored::new(record)?;
            commit.puts.push((Store::Conversations, key![id], stored.record()));
            let jobs = self.change_jobs(id, &mut commit, &|job| job.epoch += 1)?;
            if self.commit(commit).await? {
                {
                    let state = &mut *self.state.borrow_mut();
                    state.put_conversation(stored);
                    removal.apply(state, id);
                    forget_in_memory(state, sole, counters);
                    for fact in moved {
                        state.put_fact(fact.clone());
                    }
                }
                for job in jobs {
                    self.put_job(id, job);
                }
                self.erasures.set(self.erasures.get() + 1);
                if !sole.is_empty() {
                    erased.insert(Store::Facts.name().to_owned(), sole.len().into());
                }
                let invalidated = self.take_path_change_in(id, change).await;
                self.emit(&Event::new("storage", json!({ "state": "message_removed", "conversationId": id })));
                return Ok((invalidated, erased));
            }
        }
        Err(overtaken())
    }

    /// Adds tombstones, the children's new parent and the end of everything kept of the messages to a transaction.
    async fn put_removal(
        &self,
        id: &str,
        removal: &Removal,
        commit: &mut Commit,
        erased: &mut serde_json::Map<String, serde_json::Value>,
    ) -> Result<()> {
        let is_imported = self.state.borrow().conversation(id).is_some_and(|found| found.stored.value.source.is_some());
        for mut child in self.read_seqs(id, &removal.children).await? {
            child.parent_seq = removal.parent_seq;
            commit.puts.push((Store::Messages, key![id, child.seq], encode(&child)?));
        }
        let mut vectors = 0;
        for (seq, message_id) in removal.seqs.iter().zip(&removal.ids) {
            let tombstone = encode(&MessageRecord::tombstone(id, *seq))?;
            commit.puts.push((Store::Messages, key![id, *seq], tombstone));
            commit.deletes.push((Store::MessageIds, key![id, message_id.as_str()]));
            if is_imported {
                // The same export may come again. What is left of the id is a hash.
                let gone = MessageIdRecord { seq: removal.parent_seq, content_hash: String::new() };
                commit.puts.push((Store::MessageIds, key![id, removed_id(message_id).as_str()], encode(&gone)?));
            }
            commit.delete_prefixes.push((Store::Embeddings, key![id, *seq]));
            vectors += self.host.storage.count(Store::Embeddings, key![id, *seq]).await?;
        }
        // A piece of a summary may say what any message in front of its end said.
        let first = removal.seqs.first().copied().unwrap_or(Seq::MAX);
        let mut pieces = 0;
        for (key, record) in self.scan(Query::between(Store::Summaries, key![id], 0_u32, u32::MAX)).await? {
            if decode::<SummaryNode>(Store::Summaries, &record)?.last_seq >= first {
                commit.deletes.push((Store::Summaries, key));
                pieces += 1;
            }
        }
        let counted = [
            (Store::Messages, removal.seqs.len() as u64),
            (Store::MessageIds, removal.seqs.len() as u64),
            (Store::Embeddings, vectors),
            (Store::Summaries, pieces),
            (Store::Segments, self.forget_segments_of(id, None, commit).await?),
        ];
        for (store, count) in counted.into_iter().filter(|(_, count)| *count > 0) {
            erased.insert(store.name().to_owned(), count.into());
        }
        Ok(())
    }
}

crate::json_reader::deserialize_as_json!(RemoveRequest);
