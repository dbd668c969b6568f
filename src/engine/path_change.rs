//! What goes with a turn of the active path: the summary of another path, facts of a message that was edited away, the
//! title.
//!
//! A summary covers one path, from the root to its cursor. Since a message has one parent, the cursor names that path; so
//! earlier summaries are kept by cursor ([`checkpoint_key`]), and after a turn the furthest one on the new path is in
//! force again without any model call.

use super::Engine;
use super::conversations::title_from;
use super::episodes::cut_episodes;
use super::state::{Conversation, FactCounters, State};
use super::stored::{Stored, decode, encode};
use crate::error::{Error, Result};
use crate::facts::{self, Changes};
use crate::key;
use crate::message::{Role, Seq};
use crate::ports::{Check, Commit, Key, KeyPart, Query, Store};
use crate::records::{FactRecord, JobKind, SummaryHead};
use crate::session_records::EpisodeMark;
use serde::Serialize;

/// Summaries that are kept of a conversation, the one in force among them.
const CHECKPOINTS: usize = 8;

/// What an edit, a removal or a change of the active leaf made void.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Invalidated {
    /// The rolling summary was taken back: to the furthest earlier one that covers only what is still on the path, or to
    /// none. It is made again in the background.
    pub summary: bool,
    /// Messages that left the active path or were removed.
    pub messages: usize,
    /// Facts that were withdrawn, because the message that alone showed them was edited or removed.
    pub facts: usize,
    /// Vectors that left the search index.
    pub vectors: usize,
}

/// A turn of the active path, as it goes into a transaction.
#[derive(Default)]
pub(super) struct PathChange {
    /// Work that was begun on the former path is void.
    pub(super) turns: bool,
    pub(super) invalidated: Invalidated,
    head: Option<Stored<SummaryHead>>,
    /// The episodes that stay, where some of what they are about is on the path no longer.
    pub(super) episodes: Option<Vec<EpisodeMark>>,
    /// The first user text of the new path, where that is another one.
    pub(super) first_text: Option<Option<String>>,
}

/// Facts that some messages show.
pub(super) struct ShownFacts {
    /// Facts that nothing else shows.
    pub(super) sole: Vec<String>,
    /// Facts that name one of the messages as their source, with another one in its place.
    pub(super) moved: Vec<FactRecord>,
    /// The links from facts to the messages.
    links: Vec<Key>,
    /// Holds as long as facts are as they were looked at.
    check: Check,
}

/// Key of the summary that reaches up to a message.
pub(super) fn checkpoint_key(id: &str, cursor: Seq) -> Key {
    key![id, "head", cursor]
}

impl Engine {
    /// Adds what goes with a turn of the active path to a transaction: from then on it ends at `leaf`, without the
    /// messages that are `removed` (rising).
    pub(super) async fn change_path(
        &self,
        id: &str,
        leaf: Seq,
        removed: &[Seq],
        commit: &mut Commit,
    ) -> Result<PathChange> {
        let is_removed = |seq: &Seq| removed.binary_search(seq).is_ok();
        let (path, invalidated, head, keeps_first, episodes) = {
            let state = self.state.borrow();
            let conversation =
                state.conversation(id).ok_or_else(|| Error::not_found("the conversation was deleted"))?;
            let mut path = conversation.path_to(leaf);
            path.retain(|seq| !is_removed(seq));
            let stays = |seq: Seq| path.binary_search(&seq).is_ok();
            let mut left: Vec<Seq> = conversation.path().map(|one| one.seq).filter(|seq| !stays(*seq)).collect();
            left.extend(removed.iter().filter(|seq| !conversation.is_active(**seq)));
            let has_vector = |seq: &&Seq| self.has_vector(conversation, **seq);
            let vectors = left.iter().filter(has_vector).count();
            let invalidated = Invalidated { messages: left.len(), vectors, ..Invalidated::default() };
            let keeps_first = conversation.path().find(|one| one.role == Role::User && one.has_text);
            let keeps_first = keeps_first.is_some_and(|first| stays(first.seq));
            let first_removed = removed.first().copied().unwrap_or(Seq::MAX);
            let keeps = |mark: &EpisodeMark| mark.last_seq < first_removed && stays(mark.last_seq);
            let episodes = cut_episodes(conversation, &keeps, commit);
            (path, invalidated, conversation.summary.clone(), keeps_first, episodes)
        };
        let mut change = PathChange { turns: true, invalidated, head: None, episodes, first_text: None };
        // Where there is no summary, none may have been made meanwhile: it would be one of the former path.
        let body = head.as_ref().map(|head| head.body.clone());
        commit.checks.push(Check { store: Store::SummaryHeads, key: key![id], body });
        if let Some(head) = head {
            let (head, is_void) = self.summary_of_path(id, &head, &path, removed, commit).await?;
            change.head = head;
            change.invalidated.summary = is_void;
        }
        if !keeps_first {
            change.first_text = Some(self.read_first_text(id, &path).await?);
        }
        Ok(change)
    }

    fn has_vector(&self, conversation: &Conversation, seq: Seq) -> bool {
        let embedded = conversation.jobs.get(&JobKind::Embed).map_or(0, |job| job.value.done_until_seq);
        self.host.embedder.is_some()
            && seq <= embedded
            && conversation.message(seq).is_some_and(|message| message.has_text)
    }

    /// The furthest summary that covers only messages of a path, where that is not the one in force, and whether the one
    /// in force covers others. Summaries that cover removed messages are deleted.
    async fn summary_of_path(
        &self,
        id: &str,
        current: &Stored<SummaryHead>,
        path: &[Seq],
        removed: &[Seq],
        commit: &mut Commit,
    ) -> Result<(Option<Stored<SummaryHead>>, bool)> {
        let mut kept = self.checkpoints(id, Some(commit)).await?;
        kept.push(current.value.clone());
        {
            let state = self.state.borrow();
            let covers_removed = |head: &SummaryHead| {
                let covered = state.conversation(id).map(|found| found.path_to(head.summarized_until_seq));
                covered.is_some_and(|covered| removed.iter().any(|seq| covered.binary_search(seq).is_ok()))
            };
            kept.retain(|head| {
                let is_void = !removed.is_empty() && covers_removed(head);
                if is_void {
                    commit.deletes.push((Store::Summaries, checkpoint_key(id, head.summarized_until_seq)));
                }
                !is_void && path.binary_search(&head.summarized_until_seq).is_ok()
            });
        }
        let cursor = current.value.summarized_until_seq;
        let is_void = cursor > 0 && !kept.iter().any(|head| head.summarized_until_seq == cursor);
        let furthest = kept.into_iter().max_by_key(|head| head.summarized_until_seq).unwrap_or_default();
        // What cannot be read may say what was removed.
        if furthest.summarized_until_seq == cursor && current.is_readable(Store::SummaryHeads) {
            return Ok((None, is_void));
        }
        let version = current.value.version.saturating_add(1);
        let stored = Stored::new(SummaryHead { version, updated_at: self.now_ms(), ..furthest })?;
        commit.puts.push((Store::SummaryHeads, key![id], stored.record()));
        Ok((Some(stored), is_void))
    }

    /// The summaries that are kept. One that cannot be read is as good as none, and goes with the next commit.
    async fn checkpoints(&self, id: &str, mut commit: Option<&mut Commit>) -> Result<Vec<SummaryHead>> {
        let mut kept = Vec::new();
        for (key, record) in self.scan(Query::prefix(Store::Summaries, key![id, "head"])).await? {
            match (decode(Store::Summaries, &record), &mut commit) {
                (Ok(head), _) => kept.push(head),
                (Err(_), Some(commit)) => commit.deletes.push((Store::Summaries, key)),
                (Err(_), None) => {}
            }
        }
        Ok(kept)
    }

    /// In place of a summary that cannot be read stands the furthest kept one of the path, which nearly always says the
    /// same; where there is none, it is made anew. The next compaction writes it over the damaged record.
    pub(super) async fn mend_summary(&self, id: &str) -> Result<()> {
        let is_damaged = |head: &Stored<SummaryHead>| head.value.version == 0;
        let head = |state: &State| state.conversation(id)?.summary.as_ref().map(is_damaged);
        if head(&self.state.borrow()) != Some(true) {
            return Ok(());
        }
        let mut kept = self.checkpoints(id, None).await?;
        let state = &mut *self.state.borrow_mut();
        let Some(conversation) = state.conversations.get_mut(id) else { return Ok(()) };
        kept.retain(|head| conversation.is_active(head.summarized_until_seq));
        let furthest = kept.into_iter().max_by_key(|head| head.summarized_until_seq);
        if let (Some(head), Some(furthest)) = (conversation.summary.as_mut().filter(|head| is_damaged(head)), furthest)
        {
            head.value = furthest;
        }
        Ok(())
    }

    /// Keeps a new summary for the day when the path turns, and drops the oldest.
    pub(super) async fn put_checkpoint(&self, id: &str, head: &SummaryHead, commit: &mut Commit) -> Result<()> {
        let kept = self.checkpoints(id, Some(commit)).await?;
        if kept.len() >= CHECKPOINTS
            && let Some(oldest) = kept.iter().min_by_key(|one| one.version)
        {
            commit.deletes.push((Store::Summaries, checkpoint_key(id, oldest.summarized_until_seq)));
        }
        commit.puts.push((Store::Summaries, checkpoint_key(id, head.summarized_until_seq), encode(head)?));
        Ok(())
    }

    async fn read_first_text(&self, id: &str, path: &[Seq]) -> Result<Option<String>> {
        let said: Vec<Seq> = {
            let state = self.state.borrow();
            let message = |seq: &Seq| state.conversation(id).and_then(|found| found.message(*seq));
            let is_said =
                |seq: &Seq| message(seq).is_some_and(|one| one.role == Role::User && one.has_text && !one.local_only);
            path.iter().copied().filter(is_said).collect()
        };
        for seq in said {
            let records = self.read_messages(id, seq, seq, None).await?;
            if let Some(title) = records.first().and_then(|record| title_from(&record.text)) {
                return Ok(Some(title));
            }
        }
        Ok(None)
    }

    /// After the commit: the new path is in force. What came back onto it is read; if that fails, the next call reads it.
    pub(super) async fn take_path_change_in(&self, id: &str, change: PathChange) -> Invalidated {
        {
            let state = &mut *self.state.borrow_mut();
            if let Some(conversation) = state.conversations.get_mut(id) {
                conversation.has_topics = false;
                conversation.summary = change.head.or_else(|| conversation.summary.take());
            }
            if change.episodes.is_some() {
                state.unsettle_project_of(id);
            }
        }
        self.follow_leaf(id);
        let _ = self.index_returned(id).await;
        change.invalidated
    }

    /// Adds the withdrawal of the facts that a message alone shows to a transaction; what the user confirmed stays.
    pub(super) async fn withdraw_facts_of(
        &self,
        id: &str,
        seq: Seq,
        commit: &mut Commit,
    ) -> Result<Option<(Changes, Stored<FactCounters>)>> {
        let is_meant = |other: &str, other_seq: Seq| other == id && other_seq == seq;
        let shown = self.facts_shown_by(&is_meant).await?;
        if shown.is_empty() {
            return Ok(None);
        }
        let (counters, _) = self.fact_counters();
        let mut changes = facts::withdraw(&shown.sole, &self.all_facts(), counters.next_numbers(), self.now_ms());
        changes.puts.extend(shown.moved.iter().cloned());
        shown.unlink(commit);
        if changes.is_empty() {
            return Ok(None);
        }
        let stored = self.put_changes(&changes, commit).await?;
        Ok(Some((changes, stored)))
    }

    /// The facts that messages show, given by conversation and position.
    pub(super) async fn facts_shown_by(&self, is_meant: &dyn Fn(&str, Seq) -> bool) -> Result<ShownFacts> {
        self.refresh_facts().await?;
        let (_, check) = self.fact_counters();
        if self.state.borrow().facts.is_empty() {
            return Ok(ShownFacts { sole: Vec::new(), moved: Vec::new(), links: Vec::new(), check });
        }
        let mut links = Vec::new();
        let mut others: Vec<(String, String, Seq)> = Vec::new();
        for (key, _) in self.scan(Query::prefix(Store::FactSources, key![])).await? {
            let Some((fact, conversation_id, seq)) = link_parts(&key) else { continue };
            if is_meant(&conversation_id, seq) {
                links.push((fact, key));
            } else {
                others.push((fact, conversation_id, seq));
            }
        }
        let (mut sole, mut moved) = (Vec::new(), Vec::new());
        for fact in self.all_facts() {
            let is_source = match (&fact.source.conversation_id, fact.source.seq) {
                (Some(conversation_id), Some(seq)) => is_meant(conversation_id, seq),
                _ => false,
            };
            match others.iter().find(|(other, ..)| *other == fact.id) {
                _ if !is_source => {}
                None => sole.push(fact.id),
                Some((_, conversation_id, seq)) => {
                    let mut fact = fact.clone();
                    fact.source.conversation_id = Some(conversation_id.clone());
                    fact.source.seq = Some(*seq);
                    fact.source.quote = None;
                    moved.push(fact);
                }
            }
        }
        let links: Vec<Key> = links.into_iter().map(|(_, key)| key).collect();
        Ok(ShownFacts { sole, moved, links, check })
    }
}

impl ShownFacts {
    /// No fact is shown.
    pub(super) fn is_empty(&self) -> bool {
        self.links.is_empty() && self.sole.is_empty()
    }

    /// Adds the removal of the links to a transaction, and the check that nothing was learned meanwhile.
    pub(super) fn unlink(&self, commit: &mut Commit) {
        commit.checks.push(self.check.clone());
        commit.deletes.extend(self.links.iter().map(|link| (Store::FactSources, link.clone())));
    }
}

/// Fact, conversation and position of a link's key.
pub(super) fn link_parts(key: &Key) -> Option<(String, String, Seq)> {
    match key.0.as_slice() {
        [KeyPart::Text(fact), KeyPart::Text(conversation_id), KeyPart::Number(seq)] => {
            Some((fact.clone(), conversation_id.clone(), Seq::try_from(*seq).ok()?))
        }
        _ => None,
    }
}
