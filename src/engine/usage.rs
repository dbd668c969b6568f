//! What providers billed: sums for the app, and how far their bills are from what was counted.
//!
//! One record in `meta` holds both, for the models that were reported last; it names providers and models, and nothing of
//! what was said. It is written under the check that nobody else wrote it, so reports of several tabs add up. What a bill is
//! compared with, the count of the conversation's last context, is in memory alone: a bill that comes after a reload is
//! added up and teaches nothing.

use super::ContextRequest;
use super::Engine;
use super::conversations::{WRITE_TRIES, overtaken};
use super::stored::Stored;
use crate::context::correction::learn;
use crate::context::{Bill, Context, Correction, Count};
use crate::error::{Error, Result};
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::ports::{Check, Commit, Record, Store};
use crate::tokens::resolve;
use serde::Serialize;

/// Name of the record.
pub(super) const USAGE: &str = "usage";
/// Models whose sums are kept apart; those reported longest ago are summed up under one without a name.
const MOST_MODELS: usize = 64;

/// A model, as the app names it in its reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ModelName {
    /// Who runs it.
    pub provider: String,
    /// Its name there.
    pub model: String,
}

impl FromFields for ModelName {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self { provider: fields.take("provider"), model: fields.take("model") }
    }
}

/// What a provider billed for one call.
#[derive(Clone, Debug, Default)]
pub struct UsageReport {
    /// The conversation whose last context was sent.
    pub conversation_id: String,
    /// Who billed it.
    pub name: ModelName,
    /// Tokens of the request, those from the cache included.
    pub input_tokens: Option<u32>,
    /// Tokens of the answer.
    pub output_tokens: Option<u32>,
    /// Of the request's, those read from the provider's cache.
    pub cached_tokens: Option<u32>,
}

impl FromFields for UsageReport {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            conversation_id: fields.take("conversationId"),
            name: ModelName::from_fields(fields),
            input_tokens: fields.take("inputTokens"),
            output_tokens: fields.take("outputTokens"),
            cached_tokens: fields.take("cachedTokens"),
        }
    }
}

/// What a report taught.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lesson {
    /// It was compared with the count of the last context.
    Learned,
    /// The model counts as this memory does: there is nothing to correct.
    Exact,
    /// It does not say what the request took.
    NoInputTokens,
    /// No context was built here for this conversation that is not reported yet.
    NoContext,
    /// The context was too short to tell.
    TooShort,
    /// It is less than half or more than twice what was counted, so it is for something else.
    Implausible,
}

/// What became of a report.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UsageTaken {
    /// What it taught.
    pub lesson: Lesson,
    /// What is counted for this model is multiplied by this from now on.
    pub correction: f64,
}

/// Sums of one model's reports, and what they taught.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    /// Who runs it; empty, as the model: the sums of all that are not kept apart any more.
    pub provider: String,
    /// Its name there.
    pub model: String,
    /// When it was reported first, milliseconds since 1970.
    pub since: f64,
    /// When it was reported last.
    pub last_at: f64,
    /// Reports.
    pub calls: u64,
    /// Tokens of their requests, those from the cache included.
    pub input_tokens: u64,
    /// Tokens of their answers.
    pub output_tokens: u64,
    /// Tokens of their requests that came from the provider's cache.
    pub cached_tokens: u64,
    /// What is counted for it is multiplied by this.
    pub correction: f64,
    /// What counted the contexts that the correction comes from: with another counter it begins anew.
    pub counted_with: String,
    /// Thousandths of the count that the last contexts were billed as, oldest first; fifteen at most.
    pub billed_per_thousand: Vec<u32>,
}

impl FromFields for ModelUsage {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            provider: fields.take("provider"),
            model: fields.take("model"),
            since: fields.take("since"),
            last_at: fields.take("lastAt"),
            calls: fields.take("calls"),
            input_tokens: fields.take("inputTokens"),
            output_tokens: fields.take("outputTokens"),
            cached_tokens: fields.take("cachedTokens"),
            correction: fields.take("correction"),
            counted_with: fields.take("countedWith"),
            billed_per_thousand: fields.take("billedPerThousand"),
        }
    }
}

impl ModelUsage {
    fn new(name: &ModelName, now_ms: f64) -> Self {
        let ModelName { provider, model } = name.clone();
        Self { provider, model, since: now_ms, correction: 1.0, ..Self::default() }
    }

    fn is(&self, name: &ModelName) -> bool {
        self.provider == name.provider && self.model == name.model
    }

    fn is_without_name(&self) -> bool {
        self.model.is_empty()
    }

    fn correction(&self) -> Correction {
        Correction::from_factor(self.correction)
    }

    /// Adds the sums of another.
    fn add(&mut self, other: &Self) {
        self.since = self.since.min(other.since);
        self.last_at = self.last_at.max(other.last_at);
        self.calls = self.calls.saturating_add(other.calls);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
    }

    /// Compares a bill with what was counted.
    fn learn(&mut self, input_tokens: Option<u32>, count: Option<&Count>) -> Lesson {
        let Some(billed) = input_tokens else { return Lesson::NoInputTokens };
        let Some(count) = count else { return Lesson::NoContext };
        let counts_alike =
            |found: crate::tokens::Tokenization| found.is_exact() && found.counter_id() == count.counted_with;
        if count.is_exact && resolve(&self.model).is_some_and(counts_alike) {
            return Lesson::Exact;
        }
        let ratio = match Bill::compare(billed, count.tokens) {
            Bill::Ratio(ratio) => ratio,
            Bill::TooShort => return Lesson::TooShort,
            Bill::Implausible => return Lesson::Implausible,
        };
        if self.counted_with != count.counted_with {
            self.counted_with.clone_from(&count.counted_with);
            self.correction = 1.0;
            self.billed_per_thousand.clear();
        }
        let before = self.correction();
        self.correction = learn(&mut self.billed_per_thousand, ratio, before).factor();
        Lesson::Learned
    }
}

/// What is stored: models in the order of their last report, newest first, and last the one without a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct UsageRecord {
    models: Vec<ModelUsage>,
}

impl FromFields for UsageRecord {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { models: fields.take("models") }
    }
}

impl UsageRecord {
    /// Takes a report in. `count`: that of the context it is for.
    fn take_in(&mut self, report: &UsageReport, count: Option<&Count>, now_ms: f64) -> UsageTaken {
        let known = self.models.iter().position(|model| model.is(&report.name));
        let mut model = known.map_or_else(|| ModelUsage::new(&report.name, now_ms), |at| self.models.remove(at));
        model.add(&ModelUsage {
            since: model.since,
            last_at: now_ms,
            calls: 1,
            input_tokens: report.input_tokens.unwrap_or(0).into(),
            output_tokens: report.output_tokens.unwrap_or(0).into(),
            cached_tokens: report.cached_tokens.unwrap_or(0).into(),
            ..ModelUsage::default()
        });
        let lesson = model.learn(report.input_tokens, count);
        let taken = UsageTaken { lesson, correction: model.correction };
        self.models.insert(0, model);
        self.sum_up_oldest();
        taken
    }

    fn sum_up_oldest(&mut self) {
        let Some(oldest) = self.models.get(MOST_MODELS).filter(|oldest| !oldest.is_without_name()).cloned() else {
            return;
        };
        self.models.remove(MOST_MODELS);
        if self.models.len() == MOST_MODELS {
            self.models.push(ModelUsage::new(&ModelName::default(), oldest.since));
        }
        if let Some(others) = self.models.last_mut() {
            others.add(&oldest);
        }
    }
}

/// What is known of the calls that a conversation made.
#[derive(Debug, Default)]
pub(crate) struct Billing {
    /// The count of its last context, until that is reported.
    count: Option<Count>,
    /// Who billed it last.
    name: Option<ModelName>,
}

impl Engine {
    /// Adds up what a provider billed for a conversation's last context, and learns from it how the model counts.
    ///
    /// # Errors
    /// `not_found` (the conversation), `invalid_argument` (a name that is empty or too long, more cached than sent).
    pub async fn report_usage(&self, report: UsageReport) -> Result<UsageTaken> {
        self.ensure_open()?;
        self.check_id("provider", &report.name.provider)?;
        self.check_id("model", &report.name.model)?;
        if report.cached_tokens > report.input_tokens && report.input_tokens.is_some() {
            return Err(Error::invalid_argument(
                "cachedTokens is more than inputTokens, which counts tokens from the cache too; give both as the whole \
                 request was billed",
            ));
        }
        let id = report.conversation_id.as_str();
        let _turn = self.writes.enter().await;
        let mut count = None;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            self.ensure_open()?;
            let (_, check) = self.conversation_check(id).await?;
            self.refresh_usage().await?;
            // A context is billed once: what is reported next may be for the same with results of tools behind it.
            count = count.or_else(|| self.billing_of(id, |billing| billing.count.take()).flatten());
            let (stored, taken, usage_check) = self.with_report(&report, count.as_ref())?;
            let commit = Commit {
                checks: vec![check, usage_check],
                puts: vec![(Store::Meta, key![USAGE], stored.record())],
                ..Commit::default()
            };
            if self.commit(commit).await? {
                self.state.borrow_mut().usage = Some(stored);
                self.billing_of(id, |billing| billing.name = Some(report.name));
                return Ok(taken);
            }
        }
        Err(overtaken())
    }

    /// The record with a report in it, what that taught, and the check that nobody else writes the record.
    fn with_report(
        &self,
        report: &UsageReport,
        count: Option<&Count>,
    ) -> Result<(Stored<UsageRecord>, UsageTaken, Check)> {
        let state = self.state.borrow();
        let mut record = state.usage.as_ref().map(|stored| stored.value.clone()).unwrap_or_default();
        let taken = record.take_in(report, count, self.now_ms());
        let body = state.usage.as_ref().map(|stored| stored.body.clone());
        Ok((Stored::new(record)?, taken, Check { store: Store::Meta, key: key![USAGE], body }))
    }

    async fn refresh_usage(&self) -> Result<()> {
        let record = self.host.storage.get(vec![(Store::Meta, key![USAGE])]).await?.pop().flatten();
        self.take_usage_in(record);
        Ok(())
    }

    /// Takes the record in as it was read. One that cannot be read begins anew.
    pub(super) fn take_usage_in(&self, record: Option<Record>) {
        let state = &mut *self.state.borrow_mut();
        let known = state.usage.as_ref().map(|stored| &stored.body);
        if record.as_ref().map(|record| &record.body) != known {
            state.usage = record.map(|record| Stored::read_or_default(Store::Meta, record));
        }
    }

    /// The sums, that of the model reported last first.
    pub(super) async fn model_usage(&self) -> Result<Vec<ModelUsage>> {
        self.refresh_usage().await?;
        Ok(self.state.borrow().usage.as_ref().map(|stored| stored.value.models.clone()).unwrap_or_default())
    }

    /// How the model that a context is for bills what is counted: the one that the request names, else the one that billed
    /// the conversation last, else the one that billed any last.
    pub(super) fn correction(&self, request: &ContextRequest) -> Correction {
        let state = self.state.borrow();
        let own = state.conversation(&request.conversation_id).and_then(|one| one.billing.as_ref()?.name.as_ref());
        let name = request.model.as_ref().or(own);
        let mut models = state.usage.iter().flat_map(|stored| &stored.value.models);
        let found = models.find(|model| name.map_or(!model.is_without_name(), |name| model.is(name)));
        let counter = self.counter();
        found.filter(|model| model.counted_with == counter.id()).map_or(Correction::NONE, ModelUsage::correction)
    }

    /// Keeps the count of a context that was given out, for the bill.
    pub(super) fn note_count(&self, conversation_id: &str, context: &Context) {
        self.billing_of(conversation_id, |billing| billing.count = Some(context.count.clone()));
    }

    /// What is known of a conversation's calls, to be read or changed; `None`: there is no such conversation.
    fn billing_of<T>(&self, id: &str, change: impl FnOnce(&mut Billing) -> T) -> Option<T> {
        let state = &mut *self.state.borrow_mut();
        state.conversations.get_mut(id).map(|conversation| change(conversation.billing.get_or_insert_default()))
    }
}

crate::json_reader::deserialize_as_json!(UsageReport);

#[cfg(test)]
mod tests {
    use super::*;

    fn report(model: &str, input_tokens: u32) -> UsageReport {
        let name = ModelName { provider: "p".into(), model: model.into() };
        UsageReport { name, input_tokens: Some(input_tokens), output_tokens: Some(1), ..UsageReport::default() }
    }

    #[test]
    fn the_models_reported_longest_ago_are_summed_up() {
        let mut record = UsageRecord::default();
        for number in 0..100 {
            record.take_in(&report(&format!("m{number}"), 10), None, f64::from(number));
        }
        assert_eq!(record.models.len(), MOST_MODELS + 1);
        assert_eq!(record.models[0].model, "m99");
        let others = record.models.last().unwrap();
        assert!(others.is_without_name());
        assert_eq!((others.calls, others.since, others.last_at), (36, 0.0, 35.0));
        assert_eq!(record.models.iter().map(|model| model.input_tokens).sum::<u64>(), 1_000);
        // One that is still apart stays so, and nothing is summed up for it.
        record.take_in(&report("m50", 10), None, 100.0);
        assert_eq!((record.models.len(), record.models[0].calls), (MOST_MODELS + 1, 2));
    }

    #[test]
    fn another_counter_begins_anew() {
        let mut record = UsageRecord::default();
        let count = |with: &str| Count { tokens: 1_000, counted_with: with.into(), is_exact: false };
        for _ in 0..3 {
            record.take_in(&report("m", 1_500), Some(&count("estimate/1")), 0.0);
        }
        assert_eq!(record.models[0].correction, 1.5);
        let taken = record.take_in(&report("m", 1_250), Some(&count("o200k_base/1")), 0.0);
        assert_eq!(taken, UsageTaken { lesson: Lesson::Learned, correction: 1.125 });
    }
}
