//! The extract job: what the user said becomes candidate facts, the judge decides, and the whole outcome is applied in
//! one transaction with the job's cursor.

use super::Engine;
use super::append::parse_stored;
use super::event::Event;
use super::jobs::Progress;
use super::loading::job_key;
use super::state::MessageMeta;
use super::stored::Stored;
use crate::error::Result;
use crate::facts::{
    self, ApplyInput, Candidate, Decision, FactOperation, JudgeItem, Neighbour, Rejection, Resolution, SourceMessage,
};
use crate::message::{Role, Seq};
use crate::ports::{Commit, LanguageModel, Store};
use crate::records::{FactRecord, FactStatus, JobKind, JobRecord, MessageRecord};
use crate::retrieval::calendar_day;
use crate::sorting;
use serde_json::json;

/// Share of the model's window that messages may take; the rest is for instructions, known facts and the answer.
const INPUT_SHARE: f64 = 0.5;
/// Most tokens of messages in one call: facts of a long stretch are better found piece by piece.
const MOST_INPUT_TOKENS: u32 = 6_000;
/// Messages read for one batch.
const BATCH_MESSAGES: usize = 100;
/// Messages with results of tools in front of a batch that are read beside it.
const RESULTS_BEFORE: usize = 20;

impl Engine {
    /// Extracts facts from the next messages of a conversation.
    pub(super) async fn extract_next_batch(&self, id: &str) -> Result<Progress> {
        let Some(model) = self.host.model.clone() else { return Ok(Progress::Made) };
        self.refresh(id).await?;
        self.refresh_facts().await?;
        let (mut job, job_check) = self.job(JobKind::Extract, id)?;
        let batch = self.unread_batch(id, &job);
        let records = self.read_seqs(id, &batch).await?;
        let policy = &self.fact_policy();
        let messages = source_messages(&records, model.is_remote(), &policy.categories)?;
        let existing = self.all_facts();
        let counter = self.counter();
        let room = ((f64::from(model.context_window_tokens()) * INPUT_SHARE) as u32).min(MOST_INPUT_TOKENS);
        let extraction = facts::extract_request(&messages, &self.facts_for(model.is_remote()), policy, room, &|text| {
            counter.count(text)
        });
        if extraction.covered_until_seq == 0 {
            return Ok(Progress::Overtaken);
        }
        let (candidates, rejections) = match extraction.request {
            Some(request) => {
                let answer = self.generate(&*model, request).await?;
                let mut messages = messages;
                messages.extend(self.brought_before(id, batch.first().copied().unwrap_or(0)).await?);
                facts::parse_candidates(&answer, &messages, &existing, policy)?
            }
            None => (Vec::new(), Vec::new()),
        };
        let (decisions, rejections) = self.judge(&*model, &candidates, rejections, &existing).await?;
        let (counters, counters_check) = self.fact_counters();
        let numbers = counters.next_numbers();
        let mut changes = facts::apply(&ApplyInput {
            conversation_id: id,
            candidates: &candidates,
            decisions: &decisions,
            rejections: &rejections,
            existing: &existing,
            policy,
            numbers,
            now_ms: self.now_ms(),
        });
        self.bound_sources(&mut changes).await?;
        for entry in &mut changes.audit {
            entry.model = model.id().map(str::to_owned);
        }
        job.skipped.retain(|seq| *seq > extraction.covered_until_seq || batch.binary_search(seq).is_err());
        if extraction.covered_until_seq > job.done_until_seq {
            self.pass(id, extraction.covered_until_seq, &mut job);
        }
        (job.attempts, job.not_before, job.last_error) = (0, 0.0, None);
        let stored = Stored::new(job)?;
        let mut commit = Commit {
            checks: vec![job_check],
            puts: vec![(Store::Jobs, job_key(JobKind::Extract, id), stored.record())],
            ..Commit::default()
        };
        let written = if changes.is_empty() {
            None
        } else {
            commit.strict = true;
            commit.checks.push(counters_check);
            Some(self.put_changes(&changes, &mut commit).await?)
        };
        self.ensure_open()?;
        if !self.commit_work(commit).await? {
            self.refresh_facts().await?;
            return Ok(Progress::Overtaken);
        }
        self.put_job(id, stored);
        if let Some(counters) = written {
            self.take_changes_in(&changes, counters);
            for entry in changes.audit.iter().filter(|entry| entry.operation != "NOOP") {
                let payload = json!({ "operation": entry.operation, "factId": entry.fact_id });
                self.emit(&Event::new("fact", payload));
            }
        }
        Ok(Progress::Made)
    }

    /// The messages of the active path to read next: those that were passed while they were on no active path, then the
    /// ones behind the cursor. What was imported is not read.
    fn unread_batch(&self, id: &str, job: &JobRecord) -> Vec<Seq> {
        let state = self.state.borrow();
        let Some(conversation) = state.conversation(id) else { return Vec::new() };
        let returned = job.skipped.iter().copied().filter(|seq| conversation.is_active(*seq));
        let whole_until_seq = conversation.whole_until_seq();
        let unread = conversation
            .path_from(job.done_until_seq.saturating_add(1))
            .take_while(|message| message.seq <= whole_until_seq)
            .filter(|message| !message.imported);
        returned.chain(unread.map(|message| message.seq)).take(BATCH_MESSAGES).collect()
    }

    /// What tools brought shortly before a position: what repeats it is not the user's word.
    async fn brought_before(&self, id: &str, first: Seq) -> Result<Vec<SourceMessage>> {
        let seqs: Vec<Seq> = {
            let state = self.state.borrow();
            let Some(conversation) = state.conversation(id) else { return Ok(Vec::new()) };
            let has_results = |message: &&MessageMeta| message.role == Role::Tool || message.variable().results > 0;
            let before = conversation.path().rev().skip_while(|message| message.seq >= first);
            before.filter(has_results).take(RESULTS_BEFORE).map(|message| message.seq).collect()
        };
        let records = self.read_seqs(id, &seqs.into_iter().rev().collect::<Vec<_>>()).await?;
        let read = |record: &MessageRecord| {
            Ok(SourceMessage { text: String::new(), ..SourceMessage::new(record.seq, &parse_stored(record)?) })
        };
        records.iter().map(read).collect()
    }

    /// Moves the cursor up to the next message that is still to be read, and notes what other branches have in between.
    fn pass(&self, id: &str, covered_until_seq: Seq, job: &mut JobRecord) {
        let state = self.state.borrow();
        let Some(conversation) = state.conversation(id) else { return };
        let next = conversation.path_from(covered_until_seq + 1).find(|message| !message.imported);
        let until = next.map_or(conversation.loaded_until_seq(), |message| message.seq - 1);
        let passed = conversation.messages.iter().skip(job.done_until_seq as usize);
        let is_skipped = |message: &&MessageMeta| {
            message.role == Role::User
                && !message.imported
                && !message.is_removed
                && !conversation.is_active(message.seq)
        };
        let passed = passed.take_while(|message| message.seq <= until).filter(is_skipped);
        job.skipped.extend(passed.map(|message| message.seq));
        job.done_until_seq = until;
    }

    /// Decides what becomes of candidates: by rule where that is clear, else by the judge.
    async fn judge(
        &self,
        model: &dyn LanguageModel,
        candidates: &[Candidate],
        mut rejections: Vec<Rejection>,
        existing: &[FactRecord],
    ) -> Result<(Vec<Decision>, Vec<Rejection>)> {
        let most = self.options.policy.facts.judge_neighbours as usize;
        let shown = self.facts_for(model.is_remote());
        let texts = candidates.iter().map(|candidate| (candidate.fact.as_str(), candidate.local_only)).collect();
        let vectors = match candidates.is_empty() {
            true => None,
            false => self.fact_cosines(texts, &shown, false).await,
        };
        let mut decisions = Vec::new();
        let mut items: Vec<JudgeItem<'_>> = Vec::new();
        for (index, candidate) in candidates.iter().enumerate() {
            let cosines = vectors.as_ref().and_then(|vectors| vectors.get(index));
            let cosine = |fact: &FactRecord| cosines?.get(&fact.id).copied();
            let neighbours: Vec<Neighbour<'_>> = facts::similar(candidate.sought(), &shown, most, Some(&cosine));
            match facts::resolve(candidate, &neighbours, existing) {
                Resolution::Settled(operation) => decisions.push(Decision { candidate: index, operation }),
                Resolution::Rejected(reason) => rejections.push(Rejection { index, reason, target: None }),
                Resolution::AskJudge => items.push(JudgeItem {
                    index,
                    candidate,
                    neighbours: neighbours.iter().map(|neighbour| neighbour.fact).collect(),
                }),
            }
        }
        if !items.is_empty() {
            let answer = self.generate(model, facts::judge_request(&items)).await?;
            let active = existing.iter().filter(|fact| fact.status == FactStatus::Active).count();
            let (judged, refused) = facts::parse_operations(&answer, &items, active)?;
            decisions.extend(judged);
            rejections.extend(refused);
        }
        // What replaces comes before what adds, so that an ADD does not meet a fact that is about to go.
        sorting::sort_by_key(&mut decisions, &|decision| {
            (matches!(decision.operation, FactOperation::Add), decision.candidate)
        });
        Ok((decisions, rejections))
    }
}

/// Messages as the extracting model is shown them: nothing of what is to stay on this device goes elsewhere, and no
/// sentence of a special category that the user did not agree to goes to any model.
fn source_messages(records: &[MessageRecord], is_remote: bool, allowed: &[String]) -> Result<Vec<SourceMessage>> {
    let read = |record: &MessageRecord| {
        let mut message = SourceMessage::new(record.seq, &parse_stored(record)?);
        message.local_only = record.local_only;
        message.said_at = record.created_at;
        message.said_on = day_in_words(record.created_at);
        message.text = match record.local_only && is_remote {
            true => String::new(),
            false => facts::without_sensitive(&message.text, allowed).into_owned(),
        };
        Ok(message)
    };
    records.iter().map(read).collect()
}

/// A day as a model reads it: `Thursday 2026-01-29`. Empty for a time that is none.
fn day_in_words(time_ms: f64) -> String {
    const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    let Some((year, month, day)) = calendar_day(time_ms) else { return String::new() };
    // The first day of 1970 was a Thursday.
    let weekday = ((time_ms / 86_400_000.0).floor() as i64 + 3).rem_euclid(7);
    let weekday = usize::try_from(weekday).ok().and_then(|weekday| WEEKDAYS.get(weekday)).copied().unwrap_or_default();
    format!("{weekday} {year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::day_in_words;

    #[test]
    fn days_have_their_names() {
        assert_eq!(day_in_words(0.0), "Thursday 1970-01-01");
        assert_eq!(day_in_words(1_769_688_000_000.0), "Thursday 2026-01-29");
        assert_eq!(day_in_words(-1.0), "Wednesday 1969-12-31");
        assert_eq!(day_in_words(f64::NAN), "");
    }
}
