//! Background work: embedding, compaction, extraction, off the critical path.
//!
//! The queue is durable without a write per append: each conversation has one job record per kind that says how far
//! the work is done and when it may be tried again; a job is due while the conversation is further than its record.

use super::Engine;
use super::event::Event;
use super::loading::job_key;
use super::staging::NEXT_SWEEP_MS;
use super::state::Conversation;
use super::stored::Stored;
use super::stored_vectors::model_of;
use crate::error::{Code, Error, Result};
use crate::message::Role;
use crate::ports::{Check, Commit, Store};
use crate::records::{JobKind, JobRecord};
use crate::sorted_map::SortedMap;
use futures_util::future::{Either, select};
use serde_json::json;
use std::cell::Cell;
use std::pin::pin;

/// How long to leave the work to another tab before looking again.
const OTHER_TAB_MS: f64 = 200.0;
/// Longest wait between tries.
pub(super) const LONGEST_WAIT_MS: f64 = 3_600_000.0;

/// How long the vector graph grows before the page gets its turn; the last step may take 1 or 2 ms more.
const GROWTH_SLICE_MS: f64 = 6.0;
/// Rows that it grows by before the clock is looked at.
const GROWTH_STEP_ROWS: usize = 2;
/// Steps of a slice where the app's clock stands still.
const MOST_GROWTH_STEPS: usize = 64;

/// What became of one try.
pub(super) enum Progress {
    /// Something was done; there may be more.
    Made,
    /// Another tab changed the record first: what is there must be read again.
    Overtaken,
}

/// A call that waits until everything was read.
struct Asking<'a>(&'a Cell<u32>);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

impl Engine {
    /// Works until no job is due. One call works at a time; others return at once.
    pub async fn work(&self) {
        if self.working.get() || self.read_only {
            return;
        }
        if let Err(error) = self.work_alone().await
            && error.code != Code::Closed
        {
            self.emit(&Event::error(&error, error.is_retryable(), json!({})));
        }
    }

    /// Resolves when no background job is due (all done, given up, or waiting for its next try) and no import is running
    /// or has left anything behind.
    ///
    /// # Errors
    /// What keeps the queue from being worked at all: `storage_*`, `closed`.
    pub async fn settled(&self) -> Result<()> {
        if self.searches_outside() {
            // Messages that have no entry get one when they are read.
            self.load_all().await?;
        }
        loop {
            self.ensure_open()?;
            if self.read_only {
                return Ok(());
            }
            if self.working.get() {
                self.host.clock.sleep(5.0).await;
            } else if self.next_due().is_some() || self.is_sealing_due() {
                self.work_alone().await?;
            } else if self.sweep_leftovers().await? {
                return self.write_fact_uses(true).await;
            } else {
                self.host.clock.sleep(OTHER_TAB_MS).await;
            }
        }
    }

    /// As [`Self::settled`], and what waits for more messages to be read together with does not wait any longer.
    ///
    /// # Errors
    /// As for [`Self::settled`].
    pub async fn all_settled(&self) -> Result<()> {
        self.reads_at_once.set(self.reads_at_once.get() + 1);
        // Whoever asks may give up waiting.
        let _asking = Asking(&self.reads_at_once);
        self.settled().await
    }

    /// Works, with the mark set that keeps others from it.
    async fn work_alone(&self) -> Result<()> {
        self.working.set(true);
        let ended = self.work_until_done().await;
        self.working.set(false);
        ended
    }

    /// Jobs come first: the graph grows while none is due.
    async fn work_until_done(&self) -> Result<()> {
        self.sweep_leftovers().await?;
        loop {
            self.work_due_jobs().await?;
            self.audit_facts_if_due().await?;
            self.write_fact_uses(false).await?;
            self.ensure_open()?;
            if !self.grow_vector_graph() {
                return self.count_later().await;
            }
            self.host.clock.sleep(0.0).await;
        }
    }

    async fn work_due_jobs(&self) -> Result<()> {
        let lock = format!("throughline:{}:work", self.options.user_id);
        while self.next_due().is_some() || self.is_sealing_due() {
            self.ensure_open()?;
            let Some(_guard) = self.host.locks.try_lock(&lock).await? else {
                self.host.clock.sleep(OTHER_TAB_MS).await;
                self.refresh_due().await?;
                continue;
            };
            let Some(_working) = self.take_lease().await? else { continue };
            self.refresh_due().await?;
            while self.has_lease()
                && let Some((kind, conversation_id)) = self.next_due()
            {
                self.ensure_open()?;
                self.run_job(kind, &conversation_id).await?;
            }
            if self.has_lease()
                && self.is_sealing_due()
                && let Either::Right((sealed, _)) = select(pin!(self.any_erasure()), pin!(self.seal())).await
            {
                sealed?;
            }
        }
        Ok(())
    }

    /// One slice of the vector graph, where there are so many vectors that it pays; true while there is more to do.
    fn grow_vector_graph(&self) -> bool {
        let end_ms = self.now_ms() + GROWTH_SLICE_MS;
        for _ in 0..MOST_GROWTH_STEPS {
            if !self.state.borrow_mut().index.grow_vectors(GROWTH_STEP_ROWS) {
                return false;
            }
            if self.now_ms() >= end_ms {
                break;
            }
        }
        true
    }

    /// Another tab may have done it.
    async fn refresh_due(&self) -> Result<()> {
        if let Some((_, conversation_id)) = self.next_due() {
            match self.refresh(&conversation_id).await {
                Err(error) if error.code == Code::NotFound => {}
                result => return result,
            }
        }
        Ok(())
    }

    async fn run_job(&self, kind: JobKind, conversation_id: &str) -> Result<()> {
        let work = async {
            match kind {
                JobKind::Embed => self.embed_next_batch(conversation_id).await,
                JobKind::Compact => self.work_on_summaries(conversation_id).await,
                JobKind::Extract => self.extract_next_batch(conversation_id).await,
            }
        };
        // What it is about may be erased: then it ends where it is, its callback too, with all that it had read.
        let erasure = pin!(self.erasure_of(conversation_id, kind == JobKind::Extract));
        let outcome = match select(erasure, pin!(work)).await {
            Either::Left(_) => Ok(Progress::Overtaken),
            Either::Right((outcome, _)) => outcome,
        };
        self.ensure_open()?;
        match outcome {
            Ok(Progress::Made) => {
                self.emit(&Event::new(
                    "job",
                    json!({ "kind": kind, "conversationId": conversation_id, "state": "done" }),
                ));
                Ok(())
            }
            Ok(Progress::Overtaken) => self.refresh_or_forget(conversation_id).await,
            Err(error) if error.code == Code::NotFound => self.refresh_or_forget(conversation_id).await,
            Err(error) => self.record_failure(kind, conversation_id, &error).await,
        }
    }

    async fn refresh_or_forget(&self, conversation_id: &str) -> Result<()> {
        match self.refresh(conversation_id).await {
            Err(error) if error.code == Code::NotFound => Ok(()),
            result => result,
        }
    }

    /// Nothing but the job's own record changes; it is tried again later.
    async fn record_failure(&self, kind: JobKind, conversation_id: &str, error: &Error) -> Result<()> {
        let (mut job, check) = match self.job(kind, conversation_id) {
            Ok(found) => found,
            Err(_) => return Ok(()),
        };
        (job.attempts, job.not_before) = self.next_try(&job, error.is_final);
        job.last_error = Some(error.code.as_str().to_owned());
        let attempts = job.attempts;
        let given_up = attempts >= self.options.policy.limits.job_attempts;
        let stored = Stored::new(job)?;
        let commit = Commit {
            checks: vec![check],
            puts: vec![(Store::Jobs, job_key(kind, conversation_id), stored.record())],
            ..Commit::default()
        };
        if self.commit_work(commit).await? {
            self.put_job(conversation_id, stored);
        } else {
            self.refresh_or_forget(conversation_id).await?;
        }
        let details = json!({ "job": kind, "conversationId": conversation_id, "attempts": attempts });
        self.emit(&Event::error(error, error.is_retryable() && !given_up, details));
        Ok(())
    }

    /// Failed tries, and from when on there is another one. What is said to be of no use is not tried again; but of several
    /// texts one may be refused, so those of a batch are tried by themselves first, as in any last try.
    fn next_try(&self, job: &JobRecord, is_final: bool) -> (u32, f64) {
        let most = self.options.policy.limits.job_attempts;
        let attempts = job.attempts.saturating_add(1);
        match is_final {
            true if job.kind == JobKind::Embed && attempts < most => (most - 1, self.now_ms()),
            true => (most.max(attempts), self.now_ms()),
            false => (attempts, self.now_ms() + self.wait_ms(attempts)),
        }
    }

    /// How long to wait after so many failures.
    pub(super) fn wait_ms(&self, attempts: u32) -> f64 {
        let wait_ms = self.options.policy.limits.job_retry_ms * f64::from(1_u32 << attempts.saturating_sub(1).min(16));
        wait_ms.min(LONGEST_WAIT_MS)
    }

    /// The end of a wait, milliseconds since 1970. One that is further away than the wait was long was set before the clock
    /// was put back, and is over.
    pub(super) fn end_of_wait(&self, end_ms: f64, longest_ms: f64) -> f64 {
        if end_ms - self.now_ms() > longest_ms + 1.0 { 0.0 } else { end_ms }
    }

    /// When the next failed job may be tried again, milliseconds since 1970; `None` when none waits.
    #[must_use]
    pub fn next_retry_at(&self) -> Option<f64> {
        let now = self.now_ms();
        let is_waiting = |job: &JobRecord| job.not_before > now || job.kind == JobKind::Extract;
        self.earliest(&|job, conversation| {
            self.due_from(job, conversation).filter(|from_ms| *from_ms > now && is_waiting(job))
        })
    }

    /// Milliseconds until there may be work again: a failed job, one whose time has not come, what an import left, or uses of
    /// facts that are not written; `None` when nothing waits.
    #[must_use]
    pub fn due_in_ms(&self) -> Option<f64> {
        let now = self.now_ms();
        let from =
            |job: &JobRecord, conversation: &Conversation| self.due_from(job, conversation).filter(|at| *at > now);
        let job = self.earliest(&from).map(|at| at - now);
        let sweep = self.has_staged.get().then_some(NEXT_SWEEP_MS);
        let uses = self.state.borrow().fact_uses.due_at().map(|at| (at - now).max(0.0));
        job.into_iter().chain(sweep).chain(uses).min_by(f64::total_cmp)
    }

    fn earliest(&self, time: &dyn Fn(&JobRecord, &Conversation) -> Option<f64>) -> Option<f64> {
        let state = self.state.borrow();
        let unsettled = state.unsettled.iter().filter_map(|id| state.conversation(id));
        let jobs =
            unsettled.flat_map(|conversation| conversation.jobs.values().map(move |job| (&job.value, conversation)));
        let tried = jobs.filter(|(job, _)| job.attempts < self.options.policy.limits.job_attempts);
        tried.filter_map(|(job, conversation)| time(job, conversation)).min_by(f64::total_cmp)
    }

    /// Number of jobs that are due now.
    pub(super) fn due_jobs(&self) -> usize {
        let now = self.now_ms();
        let state = self.state.borrow();
        let due = |conversation: &Conversation| {
            conversation.jobs.values().filter(|job| self.is_due(&job.value, conversation, now)).count()
        };
        state.conversations.values().map(|conversation| due(conversation)).sum()
    }

    /// The most urgent due job: embedding before compaction before extraction. Conversations without any work left are not
    /// looked at again until they change.
    fn next_due(&self) -> Option<(JobKind, String)> {
        let now = self.now_ms();
        let mut due: Option<(JobKind, String)> = None;
        let mut settled = Vec::new();
        let state = self.state.borrow();
        for id in state.unsettled.iter() {
            let Some(conversation) = state.conversation(id) else { continue };
            let mut is_settled = true;
            for job in conversation.jobs.values().map(|job| &job.value) {
                is_settled &= !self.is_behind(job, conversation);
                if self.is_due(job, conversation, now) && due.as_ref().is_none_or(|(kind, _)| job.kind < *kind) {
                    due = Some((job.kind, id.clone()));
                }
            }
            if is_settled {
                settled.push(id.clone());
            }
            if due.as_ref().is_some_and(|(kind, _)| *kind == JobKind::Embed) {
                break;
            }
        }
        drop(state);
        let state = &mut *self.state.borrow_mut();
        for id in &settled {
            state.unsettled.remove(id);
        }
        due
    }

    fn is_due(&self, job: &JobRecord, conversation: &Conversation, now_ms: f64) -> bool {
        job.attempts < self.options.policy.limits.job_attempts
            && self.due_from(job, conversation).is_some_and(|from_ms| from_ms <= now_ms)
    }

    /// When a conversation counts as idle, where extraction waits for that or for more messages. One that the user left for
    /// another is read at once: what was said there may be needed here.
    fn idle_at(&self, job: &JobRecord, conversation: &Conversation) -> Option<f64> {
        let policy = &self.options.policy.facts;
        let waits = self.reads_at_once.get() == 0
            && self.unread_user_messages(job, conversation) < policy.batch_messages as usize
            && self.state.borrow().spoken_in == conversation.number;
        waits.then(|| self.end_of_wait(conversation.stored.value.updated_at + policy.idle_ms, policy.idle_ms))
    }

    /// From when on a job is to be done, milliseconds since 1970; `None`: there is nothing to do.
    fn due_from(&self, job: &JobRecord, conversation: &Conversation) -> Option<f64> {
        if !self.is_behind(job, conversation) {
            return None;
        }
        let from_ms = match job.kind {
            JobKind::Compact => self.summary_work(conversation)?.1,
            JobKind::Extract => self.idle_at(job, conversation).unwrap_or(0.0),
            JobKind::Embed => 0.0,
        };
        Some(from_ms.max(self.end_of_wait(job.not_before, LONGEST_WAIT_MS)))
    }

    /// Whether there is work that the job's record does not cover.
    fn is_behind(&self, job: &JobRecord, conversation: &Conversation) -> bool {
        let record = &conversation.stored.value;
        let whole_until_seq = conversation.whole_until_seq();
        match job.kind {
            JobKind::Embed => self.host.embedder.as_ref().is_some_and(|embedder| {
                record.remember
                    && whole_until_seq > 0
                    && (job.done_until_seq < whole_until_seq
                        || !conversation.missing_vectors.is_empty()
                        || job.model.as_deref() != Some(model_of(&**embedder).as_str()))
            }),
            JobKind::Compact => self.summary_work(conversation).is_some(),
            JobKind::Extract => {
                self.host.model.is_some()
                    && self.options.policy.facts.extract
                    && record.is_shared()
                    && self.unread_user_messages(job, conversation) > 0
            }
        }
    }

    /// User messages of the active path that extraction has not read. Counted from what is loaded; a conversation that is
    /// not loaded yet counts as behind when its record says so.
    fn unread_user_messages(&self, job: &JobRecord, conversation: &Conversation) -> usize {
        if !conversation.is_loaded() {
            return conversation.stored.value.last_seq.saturating_sub(job.done_until_seq) as usize;
        }
        let whole_until_seq = conversation.whole_until_seq();
        let unread = conversation
            .path_from(job.done_until_seq.saturating_add(1))
            .take_while(|message| message.seq <= whole_until_seq);
        let returned = job.skipped.iter().filter(|seq| conversation.is_active(**seq)).count();
        unread.filter(|message| message.role == Role::User && !message.imported).count() + returned
    }

    /// A job's record, and the check that it is still so.
    pub(super) fn job(&self, kind: JobKind, conversation_id: &str) -> Result<(JobRecord, Check)> {
        let state = self.state.borrow();
        let job = state
            .conversations
            .get(conversation_id)
            .and_then(|conversation| conversation.jobs.get(&kind))
            .ok_or_else(|| Error::not_found("the conversation was deleted"))?;
        Ok((job.value.clone(), job.check(Store::Jobs, job_key(kind, conversation_id))))
    }

    pub(super) fn put_job(&self, conversation_id: &str, stored: Stored<JobRecord>) {
        let state = &mut *self.state.borrow_mut();
        if let Some(conversation) = state.conversations.get_mut(conversation_id) {
            conversation.jobs.insert(stored.value.kind, stored);
            state.unsettled.insert(conversation_id.to_owned());
        }
    }

    /// A job that was given up gets new tries, since there are new messages.
    pub(super) fn revive(&self, job: &mut JobRecord) {
        if job.attempts >= self.options.policy.limits.job_attempts {
            (job.attempts, job.not_before) = (0, 0.0);
        }
    }

    /// Changes the job records of a conversation in a transaction: those that `change` leaves another than they were.
    pub(super) fn change_jobs(
        &self,
        conversation_id: &str,
        commit: &mut Commit,
        change: &dyn Fn(&mut JobRecord),
    ) -> Result<Vec<Stored<JobRecord>>> {
        let state = self.state.borrow();
        let jobs = state.conversation(conversation_id).map(|conversation| &conversation.jobs);
        let mut changed = Vec::new();
        for (kind, job) in jobs.into_iter().flat_map(SortedMap::iter) {
            let mut record = job.value.clone();
            change(&mut record);
            if record != job.value {
                let key = job_key(*kind, conversation_id);
                let stored = Stored::new(record)?;
                commit.checks.push(job.check(Store::Jobs, key.clone()));
                commit.puts.push((Store::Jobs, key, stored.record()));
                changed.push(stored);
            }
        }
        Ok(changed)
    }
}
