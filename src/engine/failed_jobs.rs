//! Background work that failed: what it is told as, and trying it again before its time.

use super::Engine;
use super::state::Conversation;
use crate::error::Result;
use crate::ports::Commit;
use crate::records::{JobKind, JobRecord};
use serde::Serialize;

/// A job that failed and has not succeeded since.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedJob {
    /// What it does.
    pub job: JobKind,
    /// Its conversation.
    pub conversation_id: String,
    /// Code of the last failure.
    pub code: String,
    /// How often it failed.
    pub attempts: u32,
    /// When it is tried again, milliseconds since 1970; `None`: not by itself.
    pub retry_at: Option<f64>,
}

impl Engine {
    fn has_failed(job: &JobRecord) -> bool {
        job.attempts > 0
    }

    /// The jobs that failed, by conversation.
    pub(super) fn failed_jobs(&self) -> Vec<FailedJob> {
        let most = self.options.policy.limits.job_attempts;
        let told = |job: &JobRecord| FailedJob {
            job: job.kind,
            conversation_id: job.conversation_id.clone(),
            code: job.last_error.clone().unwrap_or_default(),
            attempts: job.attempts,
            retry_at: (job.attempts < most).then_some(job.not_before),
        };
        let state = self.state.borrow();
        let jobs = state.conversations.values().flat_map(|conversation| conversation.jobs.values());
        jobs.map(|job| &job.value).filter(|job| Self::has_failed(job)).map(told).collect()
    }

    /// Makes every job that failed due again, as if it had not been tried. Answers how many there were.
    ///
    /// # Errors
    /// What the storage reports.
    pub async fn retry_jobs(&self) -> Result<u32> {
        self.ensure_open()?;
        self.refresh_conversations().await?;
        let is_meant = |conversation: &Conversation| {
            conversation.digest_tries.0 + conversation.topic_tries.0 > 0
                || conversation.jobs.values().any(|job| Self::has_failed(&job.value))
        };
        let ids: Vec<String> = {
            let state = self.state.borrow();
            state.conversations.iter().filter(|(_, found)| is_meant(found)).map(|(id, _)| id.clone()).collect()
        };
        let mut retried = 0;
        for id in &ids {
            let mut commit = Commit::default();
            let changed = self.change_jobs(id, &mut commit, &|job| {
                if Self::has_failed(job) {
                    (job.attempts, job.not_before, job.last_error) = (0, 0.0, None);
                }
            })?;
            // Where another tab works on it, it is being tried.
            let is_changed = changed.is_empty() || self.commit(commit).await?;
            let state = &mut *self.state.borrow_mut();
            let Some(conversation) = state.conversations.get_mut(id).filter(|_| is_changed) else { continue };
            retried += u32::from(conversation.digest_tries.0 > 0) + u32::from(conversation.topic_tries.0 > 0);
            retried += changed.len() as u32;
            (conversation.digest_tries, conversation.topic_tries) = ((0, 0.0), (0, 0.0));
            for job in changed {
                conversation.jobs.insert(job.value.kind, job);
            }
            state.unsettled.insert(id.clone());
        }
        Ok(retried)
    }
}
