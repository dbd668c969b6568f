//! The compact job: old turn groups are folded into the rolling summary, piece by piece, each committed whole.

use super::Engine;
use super::append::parse_stored;
use super::build_context::turn_groups;
use super::event::Event;
use super::jobs::Progress;
use super::loading::job_key;
use super::state::Conversation;
use super::stored::{Stored, encode};
use super::topics::SummaryTreeNode;
use crate::config::CompactionPolicy;
use crate::context::{Item, MessageRange, SystemPart};
use crate::error::{Code, Error, Result};
use crate::key;
use crate::message::{Format, Role, Seq};
use crate::ports::{Check, Commit, LanguageModel, Store};
use crate::records::{JobKind, MessageRecord, SummaryHead, SummarySection, Trust};
use crate::secrets::without_secrets;
use crate::summary::{self, AnswerLimits, Entry, MessageMeta, Plan, PlanInput, Reach, Task};
use crate::tokens::overhead;
use futures_util::future::{Either, select};
use serde::Serialize;
use serde_json::json;
use std::pin::pin;

/// However much fits the model, a chunk covers no more than this, or than what makes compaction start where that is more: a
/// long import becomes chunks as large as those of a conversation that grew here, so that one is found by what it is about.
const LARGEST_CHUNK_TOKENS: u32 = 8_000;
/// The identifier ledger may take this share of the longest summary.
const LEDGER_SHARE: u32 = 4;

/// The rolling summary as the app sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SummaryView {
    /// The text as it stands in a context.
    pub text: String,
    /// The text by named sections.
    pub sections: Vec<SummarySection>,
    /// Identifiers found in the summarised range.
    pub identifiers: Vec<String>,
    /// Everything up to this position, inclusive, is covered; 0: nothing.
    pub summarized_until_seq: Seq,
    /// Rises by one with every compaction.
    pub version: u32,
    /// Milliseconds since 1970; 0: never.
    pub updated_at: f64,
    /// The lowest trust of what it was made from, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// What the summary is made of, lowest first: chunks, topics, the conversation, and its project.
    pub tree: Vec<SummaryTreeNode>,
}

/// When compaction is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// When the high mark is passed.
    AtTheMark,
    /// When the share of the mark is passed that is enough once the provider's cache is cold.
    WhenCold,
    /// Whatever the marks say.
    Now,
}

impl From<&SummaryHead> for SummaryView {
    fn from(head: &SummaryHead) -> Self {
        Self {
            text: summary::render(head),
            sections: head.sections.clone(),
            identifiers: head.identifiers.clone(),
            summarized_until_seq: head.summarized_until_seq,
            version: head.version,
            updated_at: head.updated_at,
            trust: head.trust,
            tree: Vec::new(),
        }
    }
}

impl Engine {
    /// The rolling summary; version 0 and empty when nothing was summarised yet.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn summary(&self, id: &str) -> Result<SummaryView> {
        self.ensure_open()?;
        self.refresh(id).await?;
        let head = self.summary_head(id);
        Ok(SummaryView { tree: self.summary_tree(id, &head).await?, ..SummaryView::from(&head) })
    }

    /// Compacts now: what is due, or with `force` everything outside the recent window.
    ///
    /// # Errors
    /// `invalid_config` without a language model; `model_failed`, `model_output_invalid`, `timeout`: the summary and
    /// its cursor are as they were.
    pub async fn compact(&self, id: &str, force: bool) -> Result<SummaryView> {
        self.ensure_open()?;
        if self.host.model.is_none() {
            return Err(Error::new(
                Code::InvalidConfig,
                "compact needs a language model; give createMemory a `languageModel`",
            ));
        }
        self.refresh(id).await?;
        loop {
            let is_due = {
                let state = self.state.borrow();
                let wanted = |found| if force { Wanted::Now } else { self.wanted_now(found) };
                state.conversation(id).is_some_and(|found| self.compaction_plan(found, wanted(found)).is_some())
            };
            if !is_due {
                return self.summary(id).await;
            }
            let piece = pin!(self.compact_next_piece(id, force));
            let progress = match select(pin!(self.erasure_of(id, false)), piece).await {
                Either::Left(_) => Progress::Overtaken,
                Either::Right((progress, _)) => progress?,
            };
            if matches!(progress, Progress::Overtaken) {
                self.refresh(id).await?;
            }
        }
    }

    /// From when on the provider has the start of the conversation's prompt in its cache no longer.
    pub(super) fn cold_from(&self, conversation: &Conversation) -> f64 {
        let last_used = conversation.stored.value.updated_at.max(conversation.asked_at);
        let ttl_ms = self.options.policy.compaction.cache_ttl_ms;
        self.end_of_wait(last_used + ttl_ms, ttl_ms)
    }

    fn wanted_now(&self, conversation: &Conversation) -> Wanted {
        if self.now_ms() >= self.cold_from(conversation) { Wanted::WhenCold } else { Wanted::AtTheMark }
    }

    /// The next range to summarise; `None` when nothing is due or the conversation is not loaded.
    pub(super) fn compaction_plan(&self, conversation: &Conversation, wanted: Wanted) -> Option<Plan> {
        let model = self.host.model.as_ref()?;
        if conversation.path.is_empty() || !conversation.is_loaded() {
            return None;
        }
        let largest = self.options.policy.compaction.high_water_tokens.max(LARGEST_CHUNK_TOKENS);
        let (recent_start_seq, mut policy) = self.recent_start(conversation);
        if wanted == Wanted::WhenCold {
            policy.high_water_tokens = (f64::from(policy.high_water_tokens) * policy.cold_ratio) as u32;
        }
        let until = conversation.summarized_until_seq();
        let per_message_tokens = overhead(Format::OpenAi).per_message_tokens;
        // Planned in places of the active path, which have no gaps.
        let covered = conversation.place_of(until.saturating_add(1));
        let messages: Vec<MessageMeta> = conversation
            .path_from(until.saturating_add(1))
            .zip(covered + 1..)
            .map(|(message, place)| MessageMeta {
                seq: place,
                tokens: message.tokens + per_message_tokens,
                opens_group: message.opens_group,
            })
            .collect();
        let unsummarized: u64 = messages.iter().map(|message| u64::from(message.tokens)).sum();
        if wanted != Wanted::Now && unsummarized <= u64::from(policy.high_water_tokens) {
            return None;
        }
        let plan = summary::plan(&PlanInput {
            summarized_until_seq: covered,
            messages: &messages,
            recent_start_seq: conversation.place_of(recent_start_seq) + 1,
            policy: &policy,
            fit_tokens: self.fit_tokens(&**model, conversation).min(largest),
            reach: if wanted == Wanted::Now { Reach::All } else { Reach::Watermark },
        })?;
        Some(Plan {
            first_seq: conversation.at_place(plan.first_seq),
            last_seq: conversation.at_place(plan.last_seq),
            until_seq: conversation.at_place(plan.until_seq),
            ..plan
        })
    }

    /// Where the part that stays raw begins, and the marks: those of the policy, or smaller ones where the last context
    /// had too little room for them, so that nothing falls between summary and recent window.
    fn recent_start(&self, conversation: &Conversation) -> (Seq, CompactionPolicy) {
        let policy = &self.options.policy;
        let mut compaction = policy.compaction.clone();
        let mut recent_tokens = policy.budget.recent_tokens;
        if let Some(room) = conversation.recent_room_tokens
            && room < recent_tokens.saturating_add(compaction.high_water_tokens)
        {
            recent_tokens = recent_tokens.min((f64::from(room) * policy.recent.keep_ratio) as u32);
            compaction.high_water_tokens = compaction.high_water_tokens.min(room.saturating_sub(recent_tokens));
        }
        let per_message_tokens = overhead(Format::OpenAi).per_message_tokens;
        let groups = turn_groups(conversation, Seq::MAX, &|message| message.tokens + per_message_tokens);
        let mut used = 0_u32;
        let mut start = conversation.leaf_seq() + 1;
        for (index, group) in groups.iter().rev().enumerate() {
            used = used.saturating_add(group.size.tokens);
            if used > recent_tokens && index > 0 {
                break;
            }
            start = group.first_seq;
        }
        // A turn that is still being answered stays raw, however much was said behind it.
        let unfinished = groups.iter().rfind(|group| group.first_seq <= conversation.whole_until_seq() + 1);
        if !conversation.streaming.is_empty() {
            start = unfinished.map_or(start, |group| start.min(group.first_seq));
        }
        (start, compaction)
    }

    fn fit_tokens(&self, model: &dyn LanguageModel, conversation: &Conversation) -> u32 {
        let counter = self.counter();
        let sections = conversation.summary.as_ref().map(|head| head.value.sections.as_slice()).unwrap_or_default();
        let task = Task::rolling(&self.options.policy.compaction);
        summary::room_tokens(model.context_window_tokens(), &task, sections, &|text| counter.count(text))
    }

    pub(super) fn summary_version(&self, id: &str) -> u32 {
        let state = self.state.borrow();
        let head = state.conversations.get(id).and_then(|conversation| conversation.summary.as_ref());
        head.map_or(0, |head| head.value.version)
    }

    fn summary_head(&self, id: &str) -> SummaryHead {
        let state = self.state.borrow();
        let head = state.conversations.get(id).and_then(|conversation| conversation.summary.as_ref());
        head.map(|head| head.value.clone()).unwrap_or_default()
    }

    /// Plans, asks, checks, commits one range. Whatever fails, nothing is changed.
    pub(super) async fn compact_next_piece(&self, id: &str, force: bool) -> Result<Progress> {
        let Some(model) = self.host.model.clone() else { return Ok(Progress::Made) };
        let (plan, head_check) = {
            let state = self.state.borrow();
            let conversation =
                state.conversation(id).ok_or_else(|| Error::not_found("the conversation was deleted"))?;
            let wanted = if force { Wanted::Now } else { self.wanted_now(conversation) };
            let Some(plan) = self.compaction_plan(conversation, wanted) else { return Ok(Progress::Overtaken) };
            let check = Check {
                store: Store::SummaryHeads,
                key: key![id],
                body: conversation.summary.as_ref().map(|head| head.body.clone()),
            };
            (plan, check)
        };
        let (mut job, job_check) = self.job(JobKind::Compact, id)?;
        let before = self.summary_head(id);
        let head_is_damaged = head_check.body.is_some();
        let records = self.read_path(id, plan.first_seq, plan.last_seq, None).await?;
        let (entries, trust) = entries_of(&records)?;
        let task = Task::rolling(&self.options.policy.compaction);
        let sections = self.fold(&*model, &task, before.sections.clone(), &entries).await?;
        let after = self.advanced_head(&before, &plan, &records, &sections, trust);
        let hashes = records.iter().map(|record| record.content_hash.clone()).collect();
        let node = summary::node(plan.first_seq, plan.last_seq, &before.sections, &sections, hashes, trust);
        let stored = Stored::new(after)?;
        (job.attempts, job.not_before, job.last_error, job.done_until_seq) = (0, 0.0, None, plan.last_seq);
        let stored_job = Stored::new(job)?;
        let mut commit = Commit {
            checks: vec![head_check, job_check],
            puts: vec![
                (Store::SummaryHeads, key![id], stored.record()),
                (Store::Summaries, key![id, u32::from(node.level), node.first_seq], encode(&node)?),
                (Store::Jobs, job_key(JobKind::Compact, id), stored_job.record()),
            ],
            strict: true,
            ..Commit::default()
        };
        self.put_checkpoint(id, &stored.value, &mut commit).await?;
        if before.version == 0 && head_is_damaged {
            // What was made of the same messages before says it a second time.
            commit.delete_prefixes.extend([0_u32, 1].map(|level| (Store::Summaries, key![id, level])));
        }
        self.ensure_open()?;
        if !self.commit_work(commit).await? {
            return Ok(Progress::Overtaken);
        }
        self.put_job(id, stored_job);
        let version = stored.value.version;
        if let Some(conversation) = self.state.borrow_mut().conversations.get_mut(id) {
            conversation.summary = Some(stored);
            conversation.has_topics = false;
        }
        self.emit(&Event::new(
            "compaction",
            json!({ "conversationId": id, "version": version, "summarizedUntilSeq": plan.last_seq, "tokens": plan.tokens }),
        ));
        Ok(Progress::Made)
    }

    /// The new sections: each piece that fits the model is folded onto the sections of the one before.
    pub(super) async fn fold(
        &self,
        model: &dyn LanguageModel,
        task: &Task,
        mut sections: Vec<SummarySection>,
        entries: &[Entry],
    ) -> Result<Vec<SummarySection>> {
        let counter = self.counter();
        let count = |text: &str| counter.count(text);
        let room_tokens = summary::room_tokens(model.context_window_tokens(), task, &sections, &count);
        let mut pieces = summary::pieces(entries, room_tokens, &count);
        if pieces.len() > 1 {
            // What the first call answers goes into the second beside its piece.
            pieces = summary::pieces(entries, room_tokens.saturating_sub(task.max_tokens), &count);
        }
        for piece in pieces {
            let request = summary::request(task, &sections, &piece);
            let limits = AnswerLimits {
                input_tokens: summary::input_tokens(&sections, &piece, &count),
                max_summary_tokens: task.max_tokens,
            };
            let answer = self.generate(model, request).await?;
            sections = summary::parse_and_validate(&answer, limits, &count)?;
        }
        Ok(sections)
    }

    fn advanced_head(
        &self,
        before: &SummaryHead,
        plan: &Plan,
        records: &[MessageRecord],
        sections: &[SummarySection],
        trust: Option<Trust>,
    ) -> SummaryHead {
        let counter = self.counter();
        let mut found = Vec::new();
        for record in records.iter().filter(|record| is_summarized(record)) {
            found.extend(summary::identifiers(&without_secrets(&record.text, " ")));
        }
        let cap = self.options.policy.compaction.max_summary_tokens / LEDGER_SHARE;
        let identifiers = summary::merge_identifiers(&before.identifiers, &found, cap, &|text| counter.count(text));
        summary::advance(before, plan, sections.to_vec(), identifiers, trust, self.now_ms())
    }

    /// The summary section of a context.
    pub(super) fn summary_part(&self, id: &str, cap: u32) -> SystemPart {
        let head = self.summary_head(id);
        let counter = self.counter();
        let text = summary::render_within(&head, cap, &|text| counter.count(text));
        let mut part = SystemPart { cap, ..SystemPart::default() };
        if text.is_empty() {
            return part;
        }
        part.items.push(Item {
            kind: "summary",
            id: format!("summary:{}", head.version),
            range: Some(MessageRange { conversation_id: id.to_owned(), from: 1, to: head.summarized_until_seq }),
            tokens: counter.count(&text),
            reason: "covers_earlier",
            ..Item::default()
        });
        part.text = text;
        part
    }
}

/// Whether a message may go into a summary. What stays on this device does not, whoever makes it: summaries go wherever
/// contexts do.
pub(super) fn is_summarized(record: &MessageRecord) -> bool {
    record.role != Role::System && !record.local_only
}

/// Messages as the model sees them, without system messages, and the lowest trust of what it makes of them.
pub(super) fn entries_of(records: &[MessageRecord]) -> Result<(Vec<Entry>, Option<Trust>)> {
    let mut entries = Vec::with_capacity(records.len());
    let mut trust = Trust::AssistantInferred;
    for record in records.iter().filter(|record| is_summarized(record)) {
        let message = parse_stored(record)?;
        trust = trust.min(summary::trust_of(&message, record.imported));
        entries.push(Entry::new(record.seq, &message));
    }
    Ok((entries, Some(trust)))
}
