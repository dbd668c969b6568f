//! Episodes: what happened in a session, said once it is over, and shown at the start of later conversations.
//!
//! A session is what was said without a longer pause. The record of a conversation has the marks of its episodes, so that
//! they are found, and go with what they are about, without a search.

use super::Engine;
use super::event::Event;
use super::jobs::Progress;
use super::loading::job_key;
use super::projects::forget_project;
use super::session_words::{session_words, take_out};
use super::state::Conversation;
use super::stored::{Stored, decode, encode};
use crate::error::{Code, Error, Result};
use crate::facts::{is_buried_at, sensitive_category};
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::message::Seq;
use crate::ports::{Check, Commit, Key, KeyPart, LanguageModel, Store};
use crate::records::{FactStatus, JobKind, SummarySection, Trust};
use crate::session_records::{EpisodeMark, EpisodeRecord};
use crate::sorting;
use crate::summary::{self, Entry, Task};
use futures_util::future::{Either, select};
use serde::Serialize;
use std::pin::pin;

/// Which episodes are listed.
#[derive(Clone, Debug, Default)]
pub struct EpisodeFilter {
    /// Only those of this conversation.
    pub conversation_id: Option<String>,
    /// Most episodes; 20 by default.
    pub limit: Option<u32>,
}

impl FromFields for EpisodeFilter {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self { conversation_id: fields.take("conversationId"), limit: fields.take("limit") }
    }
}

/// An episode as the app sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EpisodeView {
    /// Its id.
    pub id: String,
    /// The conversation.
    pub conversation_id: String,
    /// First and last position of the session, both inclusive.
    pub range: [Seq; 2],
    /// When its first message was said, milliseconds since 1970.
    pub started_at: f64,
    /// When its last message was said.
    pub ended_at: f64,
    /// The text as it stands in a context.
    pub text: String,
    /// The text by named sections.
    pub sections: Vec<SummarySection>,
    /// The lowest trust of what it was made from.
    pub trust: Trust,
}

impl From<EpisodeRecord> for EpisodeView {
    fn from(record: EpisodeRecord) -> Self {
        Self {
            id: episode_id(&record.conversation_id, record.last_seq),
            text: summary::one_line(&record.sections),
            range: [record.first_seq, record.last_seq],
            conversation_id: record.conversation_id,
            started_at: record.started_at,
            ended_at: record.ended_at,
            sections: record.sections,
            trust: record.trust,
        }
    }
}

/// A session that has no episode.
pub(super) struct Session {
    first_seq: Seq,
    last_seq: Seq,
    /// When it is over, milliseconds since 1970.
    pub(super) over_at: f64,
}

/// What became of one try.
pub(super) enum Made {
    /// The session has its episode; none where nothing was said in it.
    Episode(Option<EpisodeView>),
    /// The conversation changed meanwhile.
    Overtaken,
    /// There is no session without an episode.
    Nothing,
}

impl Made {
    pub(super) fn progress(&self) -> Progress {
        if matches!(self, Self::Episode(_)) { Progress::Made } else { Progress::Overtaken }
    }
}

fn episode_id(conversation_id: &str, last_seq: Seq) -> String {
    format!("{conversation_id}:{last_seq}")
}

/// Key of an episode.
pub(super) fn episode_key(conversation_id: &str, mark: &EpisodeMark) -> Key {
    let ended_at = KeyPart::Number(mark.ended_at.clamp(0.0, 9e15) as u64);
    Key(vec![ended_at, KeyPart::Text(episode_id(conversation_id, mark.last_seq))])
}

impl Engine {
    /// The next session that is to have an episode by itself; of a conversation that is not loaded it is known only that
    /// there may be one.
    pub(super) fn session_due(&self, conversation: &Conversation) -> Option<Session> {
        let policy = &self.options.policy.episodes;
        let record = &conversation.stored.value;
        if !record.is_shared() || record.imported_until_seq >= record.last_seq {
            return None;
        }
        if let Some(mark) = conversation.damaged_episode.as_ref().filter(|mark| record.episodes.contains(mark)) {
            return Some(Session { first_seq: mark.first_seq, last_seq: mark.last_seq, over_at: 0.0 });
        }
        if conversation.is_loaded() {
            return self.next_session(conversation, policy.min_messages, policy.max_age_ms);
        }
        let covered = record.episodes.last().map_or(0, |mark| mark.last_seq).max(record.imported_until_seq);
        let over_at = self.end_of_wait(record.updated_at + policy.idle_ms, policy.idle_ms);
        let is_recent = self.now_ms() - record.updated_at <= policy.max_age_ms;
        let unread = record.leaf().saturating_sub(covered);
        (unread >= policy.min_messages && is_recent).then_some(Session { first_seq: 0, last_seq: 0, over_at })
    }

    /// The oldest session behind the last episode that has so many messages and ended not longer ago than `max_age_ms`.
    fn next_session(&self, conversation: &Conversation, min_messages: u32, max_age_ms: f64) -> Option<Session> {
        let idle_ms = self.options.policy.episodes.idle_ms;
        let record = &conversation.stored.value;
        let covered = record.episodes.last().map_or(0, |mark| mark.last_seq).max(record.imported_until_seq);
        let now = self.now_ms();
        let whole_until_seq = conversation.whole_until_seq();
        let mut messages =
            conversation.path_from(covered + 1).take_while(|message| message.seq <= whole_until_seq).peekable();
        let (mut first_seq, mut count) = (None, 0);
        while let Some(message) = messages.next() {
            let first = *first_seq.get_or_insert(message.seq);
            count += 1;
            let next_at = messages.peek().map(|next| next.created_at);
            if next_at.is_some_and(|next_at| next_at - message.created_at <= idle_ms) {
                continue;
            }
            // The newest message may have been said elsewhere, long before it was appended here.
            let said_at = if next_at.is_some() { message.created_at } else { record.updated_at };
            if count >= min_messages && now - said_at <= max_age_ms {
                let over_at = self.end_of_wait(said_at + idle_ms, idle_ms);
                return Some(Session { first_seq: first, last_seq: message.seq, over_at });
            }
            (first_seq, count) = (None, 0);
        }
        None
    }

    /// Ends the session of a conversation now: whatever has no episode yet has one then. Answers the newest one that was
    /// made; `None` where nothing was said since the last.
    ///
    /// # Errors
    /// `invalid_config` without a language model; `not_found`; `model_failed`, `model_output_invalid`, `timeout`: nothing
    /// was changed then.
    pub async fn end_episode(&self, id: &str) -> Result<Option<EpisodeView>> {
        self.ensure_open()?;
        if self.host.model.is_none() {
            return Err(Error::new(
                Code::InvalidConfig,
                "an episode needs a language model; give createMemory a `languageModel`",
            ));
        }
        let mut newest = None;
        loop {
            self.refresh(id).await?;
            let making = pin!(self.make_episode(id, true));
            match select(pin!(self.erasure_of(id, false)), making).await {
                Either::Left(_) => {}
                Either::Right((made, _)) => match made? {
                    Made::Episode(made) => newest = made.or(newest),
                    Made::Overtaken => {}
                    Made::Nothing => return Ok(newest),
                },
            }
        }
    }

    /// Makes the episode of the next session: one that is over, or with `ends` the one that goes on as well.
    pub(super) async fn make_episode(&self, id: &str, ends: bool) -> Result<Made> {
        let Some(model) = self.host.model.clone() else { return Ok(Made::Nothing) };
        self.refresh(id).await?;
        self.refresh_facts().await?;
        let (allowed, taken_back) = (self.opted_in(), self.facts_taken_back());
        let (session, mut record, check) = {
            let state = self.state.borrow();
            let conversation =
                state.conversation(id).ok_or_else(|| Error::not_found("the conversation was deleted"))?;
            let session = match ends {
                true => self.next_session(conversation, 1, f64::INFINITY),
                false => self.session_due(conversation).filter(|session| session.over_at <= self.now_ms()),
            };
            let Some(session) = session else { return Ok(Made::Nothing) };
            let check = conversation.stored.check(Store::Conversations, key![id]);
            (session, conversation.stored.value.clone(), check)
        };
        let (mut job, job_check) = self.job(JobKind::Compact, id)?;
        let records = self.read_path(id, session.first_seq, session.last_seq, None).await?;
        let (entries, trust) = session_words(&records, &allowed, &|seq| self.is_taken_back(id, seq))?;
        let mut sections = self.session_sections(&*model, &entries).await?;
        take_out(&mut sections, &|item| sensitive_category(item, &allowed).is_some());
        self.refresh_facts().await?;
        if self.facts_taken_back() != taken_back || self.opted_in() != allowed {
            // What the user took back meanwhile, or agrees to no more, is in what the model was given.
            return Ok(Made::Overtaken);
        }
        let (_, facts_check) = self.fact_counters();
        let at = |record: Option<&crate::records::MessageRecord>| record.map_or(0.0, |record| record.created_at);
        let known = record.episodes.iter().find(|mark| mark.last_seq == session.last_seq).cloned();
        let is_new = known.is_none();
        let (first_seq, last_seq) = (session.first_seq, session.last_seq);
        let mark = known.unwrap_or_else(|| EpisodeMark { ended_at: at(records.last()), first_seq, last_seq });
        let key = episode_key(id, &mark);
        let episode = EpisodeRecord {
            conversation_id: id.to_owned(),
            first_seq: mark.first_seq,
            last_seq: mark.last_seq,
            started_at: at(records.first()),
            ended_at: mark.ended_at,
            // One that is made again is shown where the damaged one was.
            made_at: if is_new { self.now_ms() } else { mark.ended_at },
            sections,
            trust,
            redo: false,
        };
        if is_new {
            record.episodes.push(mark);
        }
        (job.attempts, job.not_before, job.last_error) = (0, 0.0, None);
        let (stored, stored_job) = (Stored::new(record)?, Stored::new(job)?);
        let mut commit = Commit {
            checks: vec![check, job_check, facts_check],
            puts: vec![
                (Store::Conversations, key![id], stored.record()),
                (Store::Jobs, job_key(JobKind::Compact, id), stored_job.record()),
            ],
            strict: true,
            ..Commit::default()
        };
        if !is_new {
            forget_project(stored.value.project_id.as_deref(), &mut commit);
        }
        let has_text = !episode.sections.is_empty();
        if has_text {
            commit.puts.push((Store::Episodes, key, encode(&episode)?));
        } else {
            commit.deletes.push((Store::Episodes, key));
        }
        let _turn = self.writes.enter().await;
        self.ensure_open()?;
        if !self.commit_work(commit).await? {
            return Ok(Made::Overtaken);
        }
        self.state.borrow_mut().put_conversation(stored);
        self.put_job(id, stored_job);
        if let Some(conversation) = self.state.borrow_mut().conversations.get_mut(id) {
            conversation.damaged_episode.take_if(|damaged| damaged.last_seq == last_seq);
        }
        if !is_new {
            self.state.borrow_mut().unsettle_project_of(id);
        }
        self.emit(&Event::conversation(id, "episode"));
        Ok(Made::Episode(has_text.then(|| episode.into())))
    }

    /// What the model says happened; nothing where nothing was said that it may be shown.
    async fn session_sections(&self, model: &dyn LanguageModel, entries: &[Entry]) -> Result<Vec<SummarySection>> {
        let policy = &self.options.policy;
        self.fold(model, &Task::episode(&policy.episodes, &policy.compaction), Vec::new(), entries).await
    }

    /// Episodes, the one that ended last first.
    ///
    /// # Errors
    /// `not_found` (the conversation).
    pub async fn list_episodes(&self, filter: EpisodeFilter) -> Result<Vec<EpisodeView>> {
        self.ensure_open()?;
        match &filter.conversation_id {
            Some(id) => drop(self.refresh_record(id).await?),
            None => self.refresh_conversations().await?,
        }
        let only = filter.conversation_id.as_deref();
        let limit = filter.limit.unwrap_or(20) as usize;
        let is_meant = |conversation: &Conversation| only.is_none_or(|only| conversation.stored.value.id == only);
        let found = self.read_episodes(&is_meant, limit).await?;
        Ok(found.into_iter().map(|(_, episode)| episode.value.into()).collect())
    }

    /// How many facts the user has forgotten or erased.
    fn facts_taken_back(&self) -> usize {
        self.state.borrow().facts.values().filter(|fact| fact.status == FactStatus::Forgotten).count()
    }

    /// Whether a message told a fact that the user has forgotten or erased.
    fn is_taken_back(&self, id: &str, seq: Seq) -> bool {
        let state = self.state.borrow();
        let mut forgotten = state.facts.values().filter(|fact| fact.status == FactStatus::Forgotten);
        forgotten.any(|fact| is_buried_at(&fact.fingerprint, id, seq))
    }

    /// One that cannot be read, or told what was taken back, is made again.
    fn note_damaged_episode(&self, id: &str, key: &Key) {
        let state = &mut *self.state.borrow_mut();
        let Some(conversation) = state.conversations.get_mut(id) else { return };
        let mark = conversation.stored.value.episodes.iter().find(|mark| episode_key(id, mark) == *key);
        conversation.damaged_episode = mark.cloned();
        state.unsettled.insert(id.to_owned());
    }

    /// The episodes of some conversations with their checks, the one that ended last first.
    pub(super) async fn read_episodes(
        &self,
        is_meant: &dyn Fn(&Conversation) -> bool,
        limit: usize,
    ) -> Result<Vec<(Check, Stored<EpisodeRecord>)>> {
        let mut places: Vec<(Key, String)> = {
            let state = self.state.borrow();
            let meant = state.conversations.values().filter(|conversation| is_meant(conversation));
            let records = meant.map(|conversation| &conversation.stored.value);
            let place = |id: &str, mark| (episode_key(id, mark), id.to_owned());
            records.flat_map(|record| record.episodes.iter().map(|mark| place(&record.id, mark))).collect()
        };
        sorting::sort_by(&mut places, &|a, b| b.cmp(a));
        places.truncate(limit);
        let keys = places.iter().map(|(key, _)| (Store::Episodes, key.clone())).collect();
        let records = self.host.storage.get(keys).await?;
        let mut found = Vec::new();
        for ((key, id), record) in places.into_iter().zip(records) {
            // One that is gone costs only itself.
            let Some(record) = record else { continue };
            let value = match decode::<EpisodeRecord>(Store::Episodes, &record) {
                Ok(value) if !value.redo => value,
                _ => {
                    self.note_damaged_episode(&id, &key);
                    continue;
                }
            };
            let stored = Stored { value, body: record.body };
            found.push((stored.check(Store::Episodes, key), stored));
        }
        Ok(found)
    }
}

/// Adds to a commit the end of the episodes of a conversation that `stays` does not hold for, and of the summary of the
/// project that they are in. Answers those that stay, where some go.
pub(super) fn cut_episodes(
    conversation: &Conversation,
    stays: &dyn Fn(&EpisodeMark) -> bool,
    commit: &mut Commit,
) -> Option<Vec<EpisodeMark>> {
    let record = &conversation.stored.value;
    let (kept, cut): (Vec<EpisodeMark>, Vec<EpisodeMark>) = record.episodes.iter().cloned().partition(stays);
    if cut.is_empty() {
        return None;
    }
    commit.deletes.extend(cut.iter().map(|mark| (Store::Episodes, episode_key(&record.id, mark))));
    forget_project(record.project_id.as_deref(), commit);
    Some(kept)
}

crate::json_reader::deserialize_as_json!(EpisodeFilter);
