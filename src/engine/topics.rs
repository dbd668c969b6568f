//! The tree of a conversation's summary: chunks, the topics above them, and what is shown of it.
//!
//! A node is in force where the active path reaches its end, since that names the path in front of it. So an edit, a new
//! answer or another branch takes nodes out of force without a write, and going back puts them in force again; a removed
//! message takes away every node that may say what it said. What a topic was made from is kept as hashes: where its chunks
//! are others now, it is made again, after them.

use super::Engine;
use super::compaction::entries_of;
use super::jobs::Progress;
use super::loading::job_key;
use super::projects::project_view;
use super::stored::{Stored, decode, encode};
use crate::error::{Code, Result};
use crate::key;
use crate::message::{Role, Seq};
use crate::ports::{Check, Commit, KeyPart, LanguageModel, Query, Store};
use crate::records::{JobKind, SummaryHead, SummaryNode, SummarySection, Trust};
use crate::summary::{self, Entry, Task};
use serde::Serialize;
use std::ops::Range;

/// Answers that are asked of a model for one topic.
const MOST_ANSWERS: u32 = 2;

/// A node of the tree as the app sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SummaryTreeNode {
    /// `chunk`, `topic`, `conversation` or `project`.
    pub level: &'static str,
    /// First and last position covered, both inclusive; a project's node covers no positions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[Seq; 2]>,
    /// First positions of the nodes right below.
    pub children: Vec<Seq>,
    /// A project's conversations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conversation_ids: Vec<String>,
    /// The text by named sections. A chunk has what its messages added to the notes.
    pub sections: Vec<SummarySection>,
    /// What is below it has changed since it was made: it is made again in the background.
    pub dirty: bool,
    /// The lowest trust of what it was made from, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
}

/// The nodes in force, by position.
pub(super) struct Nodes {
    pub(super) chunks: Vec<SummaryNode>,
    pub(super) topics: Vec<SummaryNode>,
    /// The first chunk that cannot be read: where it begins, and the check that it is still so.
    damaged: Option<(Seq, Check)>,
}

impl Engine {
    pub(super) async fn nodes_in_force(&self, id: &str) -> Result<Nodes> {
        let mut nodes = Nodes { chunks: Vec::new(), topics: Vec::new(), damaged: None };
        for (key, record) in self.scan(Query::between(Store::Summaries, key![id], 0_u32, 1_u32)).await? {
            let Ok(node) = decode::<SummaryNode>(Store::Summaries, &record) else {
                // A topic is made again where it is missing.
                if let [_, KeyPart::Number(0), KeyPart::Number(first)] = key.0.as_slice() {
                    let first = Seq::try_from(*first).unwrap_or(0);
                    let check = Check { store: Store::Summaries, key, body: Some(record.body) };
                    nodes.damaged.get_or_insert((first, check));
                }
                continue;
            };
            let is_in_force = {
                let state = self.state.borrow();
                let conversation = state.conversation(id);
                conversation
                    .is_some_and(|one| node.last_seq <= one.summarized_until_seq() && one.is_active(node.last_seq))
            };
            if is_in_force {
                if node.level == 0 { nodes.chunks.push(node) } else { nodes.topics.push(node) }
            }
        }
        Ok(nodes)
    }

    /// Makes the first topic that is over and was not made from its chunks as they are.
    pub(super) async fn redo_next_topic(&self, id: &str) -> Result<Progress> {
        let Some(model) = self.host.model.clone() else { return Ok(Progress::Made) };
        let (mut job, job_check) = self.job(JobKind::Compact, id)?;
        let Nodes { chunks, topics, damaged } = self.nodes_in_force(id).await?;
        if let Some((first, check)) = damaged {
            return self.redo_chunk(id, &*model, first, &chunks, vec![check, job_check]).await;
        }
        let is_missing = |range: &Range<usize>| {
            let chunks = chunks.get(range.clone()).unwrap_or_default();
            !topics.iter().any(|topic| summary::is_topic_of(topic, chunks))
        };
        let Some(range) = summary::topic_ranges(&chunks).into_iter().find(is_missing) else {
            return self.drop_old_topics(id, &topics, &chunks, job_check).await;
        };
        let chunks = chunks.get(range).unwrap_or_default();
        let entries: Vec<Entry> = chunks.iter().map(part).collect();
        let task = Task::merging(&self.options.policy.compaction);
        let refused = self.state.borrow().conversation(id).map_or(0, |conversation| conversation.topic_tries.0);
        let sections = match self.fold(&*model, &task, Vec::new(), &entries).await {
            // Asked again, it would answer as before: then the topic says what its chunks say, as far as there is room.
            Err(error) if error.code == Code::ModelOutputInvalid && refused + 1 >= MOST_ANSWERS => {
                let counter = self.counter();
                summary::joined(chunks, task.max_tokens, &|text| counter.count(text))
            }
            sections => sections?,
        };
        let node = summary::topic_node(chunks, sections);
        (job.attempts, job.not_before, job.last_error) = (0, 0.0, None);
        let stored_job = Stored::new(job)?;
        let commit = Commit {
            // The epoch of the job rises with every turn of the path and every removal.
            checks: vec![job_check],
            puts: vec![
                (Store::Summaries, key![id, u32::from(node.level), node.first_seq], encode(&node)?),
                (Store::Jobs, job_key(JobKind::Compact, id), stored_job.record()),
            ],
            ..Commit::default()
        };
        self.ensure_open()?;
        if !self.commit_work(commit).await? {
            return Ok(Progress::Overtaken);
        }
        self.put_job(id, stored_job);
        Ok(Progress::Made)
    }

    /// Makes a chunk that cannot be read again, from its messages: those up to the next chunk, or to the summary's cursor. On
    /// another path it may not be known what they were; then it goes.
    async fn redo_chunk(
        &self,
        id: &str,
        model: &dyn LanguageModel,
        first: Seq,
        chunks: &[SummaryNode],
        checks: Vec<Check>,
    ) -> Result<Progress> {
        let until = {
            let state = self.state.borrow();
            let conversation = state.conversation(id).filter(|one| one.is_active(first));
            let next = chunks.iter().map(|chunk| chunk.first_seq).find(|next| *next > first);
            conversation.map_or(0, |one| next.map_or(one.summarized_until_seq(), |next| next - 1))
        };
        let records = self.read_path(id, first, until, None).await?;
        let mut commit = Commit { checks, ..Commit::default() };
        if let Some(last) = records.last() {
            let (entries, trust) = entries_of(&records)?;
            let task = Task::rolling(&self.options.policy.compaction);
            let sections = self.fold(model, &task, Vec::new(), &entries).await?;
            let hashes = records.iter().map(|record| record.content_hash.clone()).collect();
            let node = summary::node(first, last.seq, &[], &sections, hashes, trust);
            commit.puts.push((Store::Summaries, key![id, 0_u32, first], encode(&node)?));
        } else {
            commit.deletes.push((Store::Summaries, key![id, 0_u32, first]));
        }
        self.ensure_open()?;
        Ok(if self.commit_work(commit).await? { Progress::Made } else { Progress::Overtaken })
    }

    /// Every topic that is over is made: takes away those of chunks that are others now.
    async fn drop_old_topics(
        &self,
        id: &str,
        topics: &[SummaryNode],
        chunks: &[SummaryNode],
        job_check: Check,
    ) -> Result<Progress> {
        let old = topics.iter().filter(|topic| !is_made(topic, chunks));
        let deletes: Vec<_> = old.map(|topic| (Store::Summaries, key![id, 1_u32, topic.first_seq])).collect();
        let commit = Commit { checks: vec![job_check], deletes, ..Commit::default() };
        if !commit.deletes.is_empty() && !self.commit_work(commit).await? {
            return Ok(Progress::Overtaken);
        }
        if let Some(conversation) = self.state.borrow_mut().conversations.get_mut(id) {
            conversation.has_topics = true;
        }
        Ok(Progress::Made)
    }

    /// The tree, lowest first; empty where nothing is summarised.
    pub(super) async fn summary_tree(&self, id: &str, head: &SummaryHead) -> Result<Vec<SummaryTreeNode>> {
        let project_id = self.state.borrow().conversation(id).and_then(|one| one.stored.value.project_id.clone());
        let mut tree = Vec::new();
        if head.summarized_until_seq > 0 {
            let Nodes { chunks, topics, .. } = self.nodes_in_force(id).await?;
            let mut open: Vec<Seq> = chunks.iter().map(|chunk| chunk.first_seq).collect();
            open.retain(|seq| !topics.iter().any(|topic| topic.children.contains(seq)));
            let children = topics.iter().map(|topic| topic.first_seq).chain(open).collect();
            tree.extend(chunks.iter().map(|chunk| view("chunk", chunk, false)));
            tree.extend(topics.iter().map(|topic| view("topic", topic, !is_made(topic, &chunks))));
            tree.push(SummaryTreeNode {
                level: "conversation",
                range: Some([1, head.summarized_until_seq]),
                children,
                conversation_ids: Vec::new(),
                sections: head.sections.clone(),
                dirty: false,
                trust: head.trust,
            });
        }
        if let Some(project_id) = project_id {
            let project = self.read_project(&project_id).await?;
            tree.extend(project.map(|project| project_view(project, self.is_project_behind(Some(&project_id)))));
        }
        Ok(tree)
    }
}

/// Whether a topic is that of chunks as they are.
fn is_made(topic: &SummaryNode, chunks: &[SummaryNode]) -> bool {
    let of = |range: Range<usize>| summary::is_topic_of(topic, chunks.get(range).unwrap_or_default());
    summary::topic_ranges(chunks).into_iter().any(of)
}

fn view(level: &'static str, node: &SummaryNode, dirty: bool) -> SummaryTreeNode {
    SummaryTreeNode {
        level,
        range: Some([node.first_seq, node.last_seq]),
        children: node.children.clone(),
        conversation_ids: Vec::new(),
        sections: node.sections.clone(),
        dirty,
        trust: node.trust,
    }
}

/// A chunk as a part of what is folded together.
fn part(chunk: &SummaryNode) -> Entry {
    Entry { seq: chunk.first_seq, role: Role::Assistant, text: summary::one_line(&chunk.sections), slice: None }
}
