//! The tree of a conversation's messages: editing one, choosing a branch, seeing the branches.

use super::Engine;
use super::append::{AppendRequest, no_such_message};
use super::conversations::{WRITE_TRIES, no_conversation, overtaken};
use super::event::Event;
use super::path_change::Invalidated;
use super::stored::Stored;
use crate::error::Result;
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::message::{Role, Seq};
use crate::ports::{Commit, Store};
use crate::records::JobKind;
use crate::sorted_map::SortedMap;
use serde::Serialize;

/// A message to be said in another way.
#[derive(Clone, Debug, Default)]
pub struct EditRequest {
    /// The conversation.
    pub conversation_id: String,
    /// The message whose place the new one takes.
    pub message_id: String,
    /// The new message as JSON text.
    pub message: String,
    /// As for `append`.
    pub format: Option<String>,
    /// As for `append`.
    pub call: Option<String>,
}

impl FromFields for EditRequest {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            conversation_id: fields.take("conversationId"),
            message_id: fields.take("messageId"),
            message: fields.take("message"),
            format: fields.take("format"),
            call: fields.take("call"),
        }
    }
}

/// An edited message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Edited {
    /// The new message's id: its own, or `seq:<position>`.
    pub id: String,
    /// Its position in the conversation.
    pub seq: Seq,
    /// See [`super::Appended::durable`].
    pub durable: bool,
    /// What the edit made void.
    pub invalidated: Invalidated,
}

/// Where the active path is to end.
#[derive(Clone, Debug, Default)]
pub struct LeafRequest {
    /// The conversation.
    pub conversation_id: String,
    /// The message.
    pub message_id: String,
    /// Goes on from it to the newest message below: what a person means who picks a branch. Default false.
    pub descend: bool,
}

impl FromFields for LeafRequest {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            conversation_id: fields.take("conversationId"),
            message_id: fields.take("messageId"),
            descend: fields.take_or("descend", false),
        }
    }
}

/// What a turn of the active path, or a removal, did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Turned {
    /// What it made void.
    pub invalidated: Invalidated,
}

/// A message of the tree, without its text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeNode {
    /// The message's id.
    pub id: String,
    /// Its position in the conversation.
    pub seq: Seq,
    /// The message that it follows.
    pub parent_id: Option<String>,
    /// Who speaks.
    pub role: Role,
    /// On the active path.
    pub active: bool,
    /// Milliseconds since 1970.
    pub created_at: f64,
    /// The messages that follow it, oldest first: more than one where there are branches.
    pub children: Vec<String>,
}

impl Engine {
    /// Says a message in another way: the new one is stored beside it, under the same parent, and the active path ends
    /// with it. The old one and what followed it stay as a branch. Facts that only the old one shows are withdrawn.
    ///
    /// A new message whose id is stored already with the same content changes nothing.
    ///
    /// # Errors
    /// As for [`Self::append`]; `not_found` for the message.
    pub async fn edit(&self, request: EditRequest) -> Result<Edited> {
        self.ensure_open()?;
        let append = AppendRequest {
            conversation_id: request.conversation_id,
            messages: vec![request.message],
            format: request.format,
            call: request.call,
            ..AppendRequest::default()
        };
        let mut prepared = self.prepare_all(&append)?;
        let _turn = self.writes.enter().await;
        self.overtaken.set(0);
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            self.ensure_open()?;
            if let Some((appended, invalidated)) =
                self.try_append(&append, &mut prepared, Some(&request.message_id)).await?
                && let Some(one) = appended.into_iter().next()
            {
                return Ok(Edited { id: one.id, seq: one.seq, durable: one.durable, invalidated });
            }
        }
        Err(overtaken())
    }

    /// Makes the active path end at a message of any branch. Nothing is stored or removed; facts stay.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn set_active_leaf(&self, request: LeafRequest) -> Result<Turned> {
        self.turn_path(&request.conversation_id, &request.message_id, request.descend, None).await
    }

    /// The same, as it was decided `at` a time: by default now, and later than all that was seen.
    pub(super) async fn turn_path(&self, id: &str, message_id: &str, descend: bool, at: Option<f64>) -> Result<Turned> {
        self.ensure_open()?;
        let _turn = self.writes.enter().await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            self.ensure_open()?;
            self.refresh(id).await?;
            let known = self.located_ids(id, &[message_id], false).await?;
            let located = known.get(message_id).ok_or_else(no_such_message)?;
            let (mut record, check, leaf) = {
                let state = self.state.borrow();
                let conversation = state.conversation(id).ok_or_else(no_such_message)?;
                if !conversation.is_loaded() {
                    // Another tab was faster than this look at the tree.
                    continue;
                }
                let below = if descend { conversation.subtree(located.seq).pop() } else { None };
                let check = conversation.stored.check(Store::Conversations, key![id]);
                (conversation.stored.value.clone(), check, below.unwrap_or(located.seq))
            };
            if record.leaf() == leaf {
                return Ok(Turned { invalidated: Invalidated::default() });
            }
            let mut commit = Commit { checks: vec![check], strict: true, ..Commit::default() };
            let mut change = self.change_path(id, leaf, &[], &mut commit).await?;
            let now = self.now_ms().max(self.leaf_at(id, record.leaf(), &record) + 1.0);
            record.active_leaf = Some(leaf);
            record.turned_at = at.unwrap_or(now);
            record.first_text = change.first_text.take().unwrap_or(record.first_text);
            if let Some(episodes) = &change.episodes {
                record.episodes.clone_from(episodes);
            }
            let stored = Stored::new(record)?;
            commit.puts.push((Store::Conversations, key![id], stored.record()));
            let jobs = self.change_jobs(id, &mut commit, &|job| {
                job.epoch += u32::from(job.kind != JobKind::Embed);
            })?;
            if self.commit(commit).await? {
                self.state.borrow_mut().put_conversation(stored);
                for job in jobs {
                    self.put_job(id, job);
                }
                let invalidated = self.take_path_change_in(id, change).await;
                self.emit(&Event::conversation(id, "turned"));
                return Ok(Turned { invalidated });
            }
        }
        Err(overtaken())
    }

    /// Every message of a conversation in order of position, without text.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn tree(&self, id: &str) -> Result<Vec<TreeNode>> {
        self.ensure_open()?;
        self.refresh(id).await?;
        let state = self.state.borrow();
        let conversation = state.conversation(id).ok_or_else(no_conversation)?;
        let mut nodes: Vec<TreeNode> = Vec::with_capacity(conversation.messages.len());
        for message in conversation.messages.iter().filter(|message| !message.is_removed) {
            let parent = nodes.binary_search_by_key(&message.parent_seq, |node| node.seq).ok();
            let parent = parent.and_then(|index| nodes.get_mut(index));
            let parent_id = parent.map(|parent| {
                parent.children.push(message.id());
                parent.id.clone()
            });
            nodes.push(TreeNode {
                id: message.id(),
                seq: message.seq,
                parent_id,
                role: message.role,
                active: conversation.is_active(message.seq),
                created_at: message.created_at,
                children: Vec::new(),
            });
        }
        // An import stores the branch that was shown last first.
        let times: SortedMap<String, f64> = nodes.iter().map(|node| (node.id.clone(), node.created_at)).collect();
        for node in nodes.iter_mut().filter(|node| node.children.len() > 1) {
            let time = |id: &String| times.get(id).copied().unwrap_or(0.0);
            crate::sorting::sort_by(&mut node.children, &|a, b| time(a).total_cmp(&time(b)));
        }
        Ok(nodes)
    }
}

crate::json_reader::deserialize_as_json!(EditRequest, LeafRequest);
