//! Removing messages on the person's word: the text is gone from every store and index, and so is what was made from it
//! alone. The position stays taken by a tombstone, so that positions stay dense.

use super::Engine;
use super::append::parse_stored;
use super::conversations::{WRITE_TRIES, overtaken};
use super::erasure::Counts;
use super::event::Event;
use super::message_ids::{is_given_id, put_mark, removed_id};
use super::path_change::Invalidated;
use super::readable::read_message;
use super::state::{Conversation, State};
use super::stored::{Stored, decode, encode};
use super::tree::Turned;
use crate::error::{Error, Result};
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::message::{Message, Part, Seq};
use crate::ports::{Check, Commit, Query, Store};
use crate::records::{MessageRecord, SummaryNode};
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
    /// The nearest message in front of each that stays; 0: none.
    parents: Vec<Seq>,
    /// Messages that follow a removed one and stay, and the message that they follow from now on.
    children: Vec<(Seq, Seq)>,
    /// Where the active path ends from now on.
    leaf: Seq,
}

impl Removal {
    fn plan(conversation: &Conversation, seqs: Vec<Seq>) -> Self {
        let goes = |seq: Seq| seqs.binary_search(&seq).is_ok();
        let stays = conversation.messages.iter().filter(|message| !message.is_removed && !goes(message.seq));
        let parent = |mut seq: Seq| {
            while goes(seq) {
                seq = conversation.message(seq).map_or(0, |message| message.parent_seq);
            }
            seq
        };
        let orphans = stays.clone().filter(|message| goes(message.parent_seq));
        let children = orphans.map(|message| (message.seq, parent(message.parent_seq))).collect();
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
            parents: seqs.iter().map(|seq| parent(*seq)).collect(),
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
            conversation.streaming.remove(seq);
        }
        for (seq, parent_seq) in &self.children {
            if let Some(message) = conversation.message_mut(*seq) {
                message.parent_seq = *parent_seq;
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
    /// Removes a message: it is in no list, history, context or search again, and what was made from it alone goes too,
    /// with the results that answer its tool calls.
    ///
    /// # Errors
    /// `not_found` (the conversation).
    pub async fn remove(&self, request: RemoveRequest) -> Result<Turned> {
        let (invalidated, _) =
            self.remove_messages(&request.conversation_id, &request.message_id, request.descendants, true).await?;
        Ok(Turned { invalidated })
    }

    /// As [`Self::remove`]; answers the removed records by store too. `decides`: where the path ends from then on is decided
    /// here, and not by the store that the removal comes from.
    pub(super) async fn remove_messages(
        &self,
        id: &str,
        message_id: &str,
        descendants: bool,
        decides: bool,
    ) -> Result<(Invalidated, Counts)> {
        self.ensure_open()?;
        let _turn = self.writes.enter().await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            self.ensure_open()?;
            self.refresh(id).await?;
            let known = self.located_ids(id, &[message_id], false).await?;
            let Some(located) = known.get(message_id) else { return Ok(Default::default()) };
            let answers = if descendants { Vec::new() } else { self.answers_to(id, located.seq).await? };
            let (removal, mut record, check) = {
                let state = self.state.borrow();
                let conversation =
                    state.conversation(id).ok_or_else(|| Error::not_found("the conversation was deleted"))?;
                if !conversation.is_loaded() {
                    // Another tab was faster than this look at the tree.
                    continue;
                }
                let mut seqs = if descendants { conversation.subtree(located.seq) } else { vec![located.seq] };
                seqs.extend(answers);
                let removal = Removal::plan(conversation, seqs);
                let check = conversation.stored.check(Store::Conversations, key![id]);
                (removal, conversation.stored.value.clone(), check)
            };
            let mut commit = Commit { checks: vec![check], strict: true, ..Commit::default() };
            let mut change = self.change_path(id, removal.leaf, &removal.seqs, &mut commit).await?;
            self.put_removal(id, record.born, &removal, &mut commit).await?;
            let is_meant = |other: &str, seq: Seq| other == id && removal.seqs.binary_search(&seq).is_ok();
            let facts = self.erase_facts_shown_by(&is_meant, &mut commit).await?;
            let mut erased = self.counts_of(&commit).await?;
            erased.insert(Store::Messages.name().to_owned(), removal.seqs.len().into());
            change.invalidated.facts = facts.gone.len();
            // The path is no older for what was removed from it.
            record.turned_at = self.leaf_at(id, record.leaf(), &record);
            if decides && record.leaf() != removal.leaf {
                record.turned_at = self.now_ms().max(record.turned_at + 1.0);
            }
            record.active_leaf = Some(removal.leaf);
            record.removed += removal.seqs.len() as Seq;
            // As storage has them: another tab may have counted a streamed message since. Whoever counts writes the
            // conversation too, which is checked.
            let tokens = self.read_seqs(id, &removal.seqs).await?.iter().map(|one| u64::from(one.tokens)).sum();
            record.tokens = record.tokens.saturating_sub(tokens);
            record.first_text = change.first_text.take().unwrap_or(record.first_text);
            if let Some(episodes) = &change.episodes {
                record.episodes.clone_from(episodes);
            }
            let stored = Stored::new(record)?;
            commit.puts.push((Store::Conversations, key![id], stored.record()));
            let jobs = self.change_jobs(id, &mut commit, &|job| job.epoch += 1)?;
            if self.commit(commit).await? {
                {
                    let state = &mut *self.state.borrow_mut();
                    state.put_conversation(stored);
                    removal.apply(state, id);
                    facts.apply(state);
                }
                for job in jobs {
                    self.put_job(id, job);
                }
                self.release_streams_of(id, Some(&removal.seqs));
                self.forget_losses_of(id, Some(&removal.seqs));
                self.erasures.raise(change.invalidated.facts > 0);
                let invalidated = self.take_path_change_in(id, change).await;
                self.emit(&Event::new("storage", json!({ "state": "message_removed", "conversationId": id })));
                return Ok((invalidated, erased));
            }
        }
        Err(overtaken())
    }

    /// Messages behind one that hold nothing but results of its tool calls, within the turn, on whichever branch.
    async fn answers_to(&self, id: &str, seq: Seq) -> Result<Vec<Seq>> {
        let call = self.read_seqs(id, &[seq]).await?.pop().and_then(|record| parse_stored(&record).ok());
        let Some(call) = call.filter(|call| call.call_ids().next().is_some()) else { return Ok(Vec::new()) };
        let behind: Vec<Seq> = {
            let state = self.state.borrow();
            let Some(conversation) = state.conversation(id) else { return Ok(Vec::new()) };
            let mut behind = vec![seq];
            for message in conversation.messages.iter().skip(seq as usize) {
                let follows = behind.binary_search(&message.parent_seq).is_ok();
                if follows && !message.is_removed && !message.opens_group {
                    behind.push(message.seq);
                }
            }
            behind
        };
        let answers = |message: &Message| {
            let is_answer = |part: &Part| matches!(part, Part::ToolResult { call_id, .. } if call.call_ids().any(|id| id == call_id));
            !message.parts.is_empty() && message.parts.iter().all(is_answer)
        };
        let records = self.read_seqs(id, &behind).await?;
        let is_answer = |record: &&MessageRecord| parse_stored(record).is_ok_and(|message| answers(&message));
        Ok(records.iter().filter(is_answer).map(|record| record.seq).collect())
    }

    /// Adds tombstones, the children's new parent and the end of everything kept of the messages to a transaction.
    async fn put_removal(&self, id: &str, born: u32, removal: &Removal, commit: &mut Commit) -> Result<()> {
        let children = removal.children.iter().map(|(seq, _)| (Store::Messages, key![id, *seq])).collect();
        for ((seq, parent_seq), record) in removal.children.iter().zip(self.host.storage.get(children).await?) {
            let Some(record) = record else { continue };
            let (child, _) = read_message(&record)?;
            // It may be streaming, in another tab.
            commit.checks.push(Check { store: Store::Messages, key: key![id, *seq], body: Some(record.body) });
            let child = MessageRecord { parent_seq: *parent_seq, ..child };
            commit.puts.push((Store::Messages, key![id, *seq], encode(&child)?));
        }
        let followed = removal.seqs.iter().copied().zip(removal.parents.iter().copied()).collect();
        self.mark_for_peers(id, born, &followed, commit).await?;
        let gone = removal.seqs.iter().zip(&removal.ids).zip(&removal.parents);
        for ((seq, message_id), parent_seq) in gone {
            let tombstone = encode(&MessageRecord::tombstone(id, *seq))?;
            commit.puts.push((Store::Messages, key![id, *seq], tombstone));
            commit.deletes.push((Store::MessageIds, key![id, message_id.as_str()]));
            if !is_given_id(message_id, *seq) {
                // An export or a backup that has it may come. What is left of the id is a hash.
                put_mark(id, &removed_id(message_id), *parent_seq, commit)?;
            }
            commit.delete_prefixes.push((Store::Embeddings, key![id, *seq]));
        }
        // A piece of a summary may say what any message in front of its end said.
        let first = removal.seqs.first().copied().unwrap_or(Seq::MAX);
        for (key, record) in self.scan(Query::between(Store::Summaries, key![id], 0_u32, u32::MAX)).await? {
            // One that cannot be read may say it.
            if decode::<SummaryNode>(Store::Summaries, &record).map_or(true, |node| node.last_seq >= first) {
                commit.deletes.push((Store::Summaries, key));
            }
        }
        self.forget_segments_of(id, None, commit).await
    }
}

crate::json_reader::deserialize_as_json!(RemoveRequest);
