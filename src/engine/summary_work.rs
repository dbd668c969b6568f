//! What is to be done next about the summaries that a conversation has a part in: one job for all of them, lowest first.

use super::Engine;
use super::compaction::Wanted;
use super::event::Event;
use super::jobs::{LONGEST_WAIT_MS, Progress};
use super::state::Conversation;
use crate::error::{Code, Error, Result};
use crate::records::JobKind;
use serde_json::json;

/// A piece of that work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SummaryWork {
    /// Folding old messages into the rolling summary, as a chunk.
    Chunk,
    /// Folding chunks into a topic.
    Topic,
    /// Saying what happened in a session.
    Episode,
    /// Folding the episodes of a project into its summary.
    Project,
}

impl Engine {
    /// The next piece, and from when on it is to be done, milliseconds since 1970.
    pub(super) fn summary_work(&self, conversation: &Conversation) -> Option<(SummaryWork, f64)> {
        self.host.model.as_ref()?;
        let policy = &self.options.policy;
        let record = &conversation.stored.value;
        let mut next: Option<(SummaryWork, f64)> = None;
        let later = |(failed, wait_until): (u32, f64), from_ms: f64| {
            let wait_until = self.end_of_wait(wait_until, LONGEST_WAIT_MS);
            (failed < policy.limits.job_attempts).then(|| from_ms.max(wait_until))
        };
        let mut offer = |work: SummaryWork, from_ms: Option<f64>| {
            let from_ms = match work {
                SummaryWork::Chunk => from_ms,
                SummaryWork::Topic => from_ms.and_then(|from_ms| later(conversation.topic_tries, from_ms)),
                _ => from_ms.and_then(|from_ms| later(conversation.digest_tries, from_ms)),
            };
            if let Some(from_ms) = from_ms.filter(|from_ms| next.is_none_or(|(_, earliest)| *from_ms < earliest)) {
                next = Some((work, from_ms));
            }
        };
        if policy.compaction.automatic && record.imported_until_seq < record.last_seq {
            let from_ms = match self.compaction_plan(conversation, Wanted::AtTheMark) {
                Some(_) => Some(0.0),
                None => self.compaction_plan(conversation, Wanted::WhenCold).map(|_| self.cold_from(conversation)),
            };
            offer(SummaryWork::Chunk, from_ms);
            let has_chunks = conversation.is_loaded() && conversation.summarized_until_seq() > 0;
            offer(SummaryWork::Topic, (has_chunks && !conversation.has_topics).then_some(0.0));
        }
        if policy.episodes.automatic {
            offer(SummaryWork::Episode, self.session_due(conversation).map(|session| session.over_at));
            offer(SummaryWork::Project, self.is_project_behind(record.project_id.as_deref()).then_some(0.0));
        }
        next
    }

    /// Does the next piece of it.
    pub(super) async fn work_on_summaries(&self, id: &str) -> Result<Progress> {
        let (work, project_id) = {
            let state = self.state.borrow();
            let conversation =
                state.conversation(id).ok_or_else(|| Error::not_found("the conversation was deleted"))?;
            let due = self.summary_work(conversation).filter(|(_, from_ms)| *from_ms <= self.now_ms());
            let Some((work, _)) = due else { return Ok(Progress::Overtaken) };
            (work, conversation.stored.value.project_id.clone())
        };
        let done = match work {
            SummaryWork::Chunk => return self.compact_next_piece(id, false).await,
            SummaryWork::Topic => self.redo_next_topic(id).await,
            SummaryWork::Episode => self.make_episode(id, false).await.map(|made| made.progress()),
            SummaryWork::Project => self.redo_project(id, &project_id.unwrap_or_default()).await,
        };
        let failed = match &done {
            Err(error) if matches!(error.code, Code::Closed | Code::NotFound) => return done,
            Err(error) => Some(error.clone()),
            Ok(_) => None,
        };
        let attempts = self.count_digest_try(id, work, failed.as_ref());
        let Some(error) = failed else { return done };
        let is_retried = error.is_retryable() && attempts < self.options.policy.limits.job_attempts;
        let details = json!({ "job": JobKind::Compact, "conversationId": id, "attempts": attempts });
        self.emit(&Event::error(&error, is_retried, details));
        Ok(Progress::Overtaken)
    }

    /// Failed tries since the last success.
    fn count_digest_try(&self, id: &str, work: SummaryWork, failed: Option<&Error>) -> u32 {
        let mut state = self.state.borrow_mut();
        let Some(conversation) = state.conversations.get_mut(id) else { return 0 };
        let tries = match work {
            SummaryWork::Topic => &mut conversation.topic_tries,
            _ => &mut conversation.digest_tries,
        };
        let attempts = match failed {
            None => 0,
            Some(error) if error.is_final => self.options.policy.limits.job_attempts,
            Some(_) => tries.0 + 1,
        };
        *tries = (attempts, if attempts > 0 { self.now_ms() + self.wait_ms(attempts) } else { 0.0 });
        attempts
    }
}
