//! The summaries of projects: what the sessions of a project's conversations have come to, for the next one of them.
//!
//! A project's summary is made anew from the episodes whenever those are others than it was made from; a commit that takes
//! an episode away takes it away too. It is in the store of summaries, under a conversation that has no id.

use super::Engine;
use super::jobs::Progress;
use super::loading::job_key;
use super::state::{Conversation, State};
use super::stored::{Stored, content_hash, decode};
use super::topics::SummaryTreeNode;
use crate::context::{Dropped, Item, SystemPart, day};
use crate::error::Result;
use crate::key;
use crate::message::Role;
use crate::ports::{Check, Commit, Key, KeyPart, Query, Store};
use crate::prompt_text::{EPISODES_HEADER, json_line};
use crate::records::{ConversationRecord, JobKind, SummarySection};
use crate::session_records::{EpisodeRecord, ProjectRecord};
use crate::sorting;
use crate::summary::{self, Entry, Task};

/// Most episodes that a project's summary is made from; the last ones.
const MOST_EPISODES: usize = 50;
/// Fewer are no more than what they say themselves.
const FEWEST_EPISODES: usize = 2;

pub(super) fn project_key(project_id: &str) -> Key {
    key!["", project_id]
}

/// Adds the end of a project's summary to a commit.
pub(super) fn forget_project(project_id: Option<&str>, commit: &mut Commit) {
    commit.deletes.extend(project_id.map(|project_id| (Store::Summaries, project_key(project_id))));
}

impl State {
    /// What a project's summary would be made from, as a hash; `None`: from too little.
    fn project_sources(&self, project_id: &str) -> Option<String> {
        let of_project = self.conversations.values().filter(|one| is_of_project(one, project_id));
        sources_hash(of_project.flat_map(|one| source_names(&one.stored.value)).collect())
    }

    /// Whether there is anything that a project's summary could be made from.
    pub(super) fn knows_project(&self, project_id: &str) -> bool {
        self.conversations.values().any(|one| is_of_project(one, project_id))
    }

    /// The summary of a conversation's project is to be made again, by whichever of its conversations is looked at.
    pub(super) fn unsettle_project(&mut self, project_id: Option<&str>) {
        let Some(project_id) = project_id else { return };
        self.projects.remove(project_id);
        let of_project = self.conversations.iter().filter(|(_, one)| is_of_project(one, project_id));
        let ids: Vec<String> = of_project.map(|(id, _)| id.clone()).collect();
        self.unsettled.extend(ids);
    }
}

impl State {
    /// The same of the project that a conversation is in.
    pub(super) fn unsettle_project_of(&mut self, id: &str) {
        let project_id = self.conversation(id).and_then(|one| one.stored.value.project_id.clone());
        self.unsettle_project(project_id.as_deref());
    }
}

/// The episodes of a conversation as sources of its project's summary.
pub(super) fn source_names(record: &ConversationRecord) -> Vec<String> {
    record.episodes.iter().map(|mark| format!("{} {} {}", mark.ended_at, record.id, mark.last_seq)).collect()
}

/// Hash of what a project's summary is made from; `None`: that is too little.
pub(super) fn sources_hash(mut names: Vec<String>) -> Option<String> {
    sorting::sort(&mut names);
    (names.len() >= FEWEST_EPISODES).then(|| content_hash(&names.join("\n")))
}

pub(super) fn is_of_project(conversation: &Conversation, project_id: &str) -> bool {
    let record = &conversation.stored.value;
    record.is_shared() && record.project_id.as_deref() == Some(project_id)
}

impl Engine {
    /// The summary of a project was made from other episodes than there are.
    pub(super) fn is_project_behind(&self, project_id: Option<&str>) -> bool {
        let Some(project_id) = project_id else { return false };
        let state = self.state.borrow();
        let sources = state.project_sources(project_id);
        sources.is_some() && sources.as_ref() != state.projects.get(project_id)
    }

    /// What the summaries of projects were made from.
    pub(super) async fn load_projects(&self) -> Result<()> {
        for (key, record) in self.scan(Query::prefix(Store::Summaries, key![""])).await? {
            // One that cannot be read is made again.
            if let (Some(KeyPart::Text(id)), Ok(project)) =
                (key.0.get(1), decode::<ProjectRecord>(Store::Summaries, &record))
            {
                self.state.borrow_mut().projects.insert(id.clone(), project.source_hash);
            }
        }
        Ok(())
    }

    /// Makes the summary of a project again, in the name of one of its conversations.
    pub(super) async fn redo_project(&self, id: &str, project_id: &str) -> Result<Progress> {
        let Some(model) = self.host.model.clone() else { return Ok(Progress::Made) };
        self.refresh_conversations().await?;
        let Some(source_hash) = self.state.borrow().project_sources(project_id) else { return Ok(Progress::Overtaken) };
        let key = project_key(project_id);
        let found = self.host.storage.get(vec![(Store::Summaries, key.clone())]).await?.pop().flatten();
        let known = found.as_ref().and_then(|record| decode::<ProjectRecord>(Store::Summaries, record).ok());
        if known.is_some_and(|known| known.source_hash == source_hash) {
            // Another tab made it.
            self.state.borrow_mut().projects.insert(project_id.to_owned(), source_hash);
            return Ok(Progress::Made);
        }
        let (mut job, job_check) = self.job(JobKind::Compact, id)?;
        let mut episodes = self.read_episodes(&|one| is_of_project(one, project_id), MOST_EPISODES).await?;
        episodes.retain(|(_, episode)| episode.value.trust >= self.options.policy.episodes.min_trust);
        episodes.reverse();
        let entries: Vec<Entry> =
            (1..).zip(&episodes).map(|(number, (_, episode))| part(number, &episode.value)).collect();
        let task = Task::merging(&self.options.policy.compaction);
        let sections = self.fold(&*model, &task, Vec::new(), &entries).await?;
        let mut conversation_ids: Vec<String> =
            episodes.iter().map(|(_, episode)| episode.value.conversation_id.clone()).collect();
        sorting::sort(&mut conversation_ids);
        conversation_ids.dedup();
        let project = ProjectRecord { sections, source_hash, conversation_ids, updated_at: self.now_ms() };
        (job.attempts, job.not_before, job.last_error) = (0, 0.0, None);
        let (stored, stored_job) = (Stored::new(project)?, Stored::new(job)?);
        let mut checks: Vec<Check> = episodes.into_iter().map(|(check, _)| check).collect();
        checks.push(Check { store: Store::Summaries, key: key.clone(), body: found.map(|record| record.body) });
        checks.push(job_check);
        let commit = Commit {
            checks,
            puts: vec![
                (Store::Summaries, key, stored.record()),
                (Store::Jobs, job_key(JobKind::Compact, id), stored_job.record()),
            ],
            ..Commit::default()
        };
        self.ensure_open()?;
        if !self.commit_work(commit).await? {
            return Ok(Progress::Overtaken);
        }
        self.state.borrow_mut().projects.insert(project_id.to_owned(), stored.value.source_hash);
        self.put_job(id, stored_job);
        Ok(Progress::Made)
    }

    pub(super) async fn read_project(&self, project_id: &str) -> Result<Option<ProjectRecord>> {
        let key = vec![(Store::Summaries, project_key(project_id))];
        let found = self.host.storage.get(key).await?.pop().flatten();
        // One that cannot be read is made again.
        Ok(found.and_then(|record| decode(Store::Summaries, &record).ok()))
    }

    /// What is known from other sessions: the project's summary and, until the conversation has a summary of its own, the
    /// last episodes of before it began. Nothing of it changes while a conversation goes on but by a compaction.
    pub(super) async fn episodes_part(&self, id: &str, cap: u32) -> Result<SystemPart> {
        let mut part = SystemPart { cap, ..SystemPart::default() };
        let policy = &self.options.policy.episodes;
        let (project_id, is_new, created_at) = {
            let state = self.state.borrow();
            let Some(conversation) = state.conversation(id) else { return Ok(part) };
            let record = &conversation.stored.value;
            if record.parent_id.is_some() {
                return Ok(part);
            }
            (record.project_id.clone(), conversation.summarized_until_seq() == 0, record.created_at)
        };
        if let Some(project_id) = project_id {
            let project = self.read_project(&project_id).await?;
            self.put_project(&project_id, &project.map(|project| project.sections).unwrap_or_default(), &mut part);
        }
        if is_new && policy.shown > 0 {
            let is_meant = |one: &Conversation| one.stored.value.id != id && one.stored.value.is_shared();
            // Some may have been made later, or from what is not trusted.
            let mut episodes = self.read_episodes(&is_meant, policy.shown as usize * 4).await?;
            episodes
                .retain(|(_, episode)| episode.value.made_at < created_at && episode.value.trust >= policy.min_trust);
            episodes.truncate(policy.shown as usize);
            self.put_episodes(episodes.into_iter().map(|(_, episode)| episode.value), &mut part);
        }
        Ok(part)
    }

    /// It may take half of the section.
    fn put_project(&self, project_id: &str, sections: &[SummarySection], part: &mut SystemPart) {
        let counter = self.counter();
        part.text = summary::render_project(sections, part.cap / 2, &|text| counter.count(text));
        if !part.text.is_empty() {
            let (id, tokens) = (project_id.to_owned(), counter.count(&part.text));
            part.items.push(Item { kind: "project", id, tokens, reason: "same_project", ..Item::default() });
        }
    }

    /// The last ones that fit, in the order of time. Where one does not, neither do those before it.
    fn put_episodes(&self, newest_first: impl Iterator<Item = EpisodeRecord>, part: &mut SystemPart) {
        let counter = self.counter();
        let used: u32 = part.items.iter().map(|item| item.tokens).sum();
        let mut left = part.cap.saturating_sub(used).saturating_sub(counter.count(EPISODES_HEADER) + 2);
        let mut shown = Vec::new();
        for episode in newest_first {
            let line = json_line(&format!("{}: {}", day(episode.ended_at), summary::one_line(&episode.sections)));
            let id = format!("{}:{}", episode.conversation_id, episode.last_seq);
            let tokens = counter.count(&line) + 1;
            if tokens > left || !part.dropped.is_empty() {
                part.dropped.push(Dropped { id, tokens, reason: "no_room" });
                continue;
            }
            left -= tokens;
            shown.push((line, Item { kind: "episode", id, tokens, reason: "last_session", ..Item::default() }));
        }
        if shown.is_empty() {
            return;
        }
        let separator = if part.text.is_empty() { "" } else { "\n\n" };
        part.text.push_str(separator);
        part.text.push_str(EPISODES_HEADER);
        for (line, item) in shown.into_iter().rev() {
            part.text.push('\n');
            part.text.push_str(&line);
            part.items.push(item);
        }
    }
}

/// A project's node of the tree.
pub(super) fn project_view(project: ProjectRecord, dirty: bool) -> SummaryTreeNode {
    SummaryTreeNode {
        level: "project",
        range: None,
        children: Vec::new(),
        conversation_ids: project.conversation_ids,
        sections: project.sections,
        dirty,
        trust: None,
    }
}

/// An episode as a part of what is folded together.
fn part(number: u32, episode: &EpisodeRecord) -> Entry {
    let text = format!("{}: {}", day(episode.ended_at), summary::one_line(&episode.sections));
    Entry { seq: number, role: Role::Assistant, text, slice: None }
}
