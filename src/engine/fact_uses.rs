//! How often a fact was put into a context, and when last: what its score decays by.
//!
//! Building a context writes nothing. Its facts are noted in memory, and the background work that follows writes the uses of
//! many contexts at once, at most once in [`NEXT_WRITE_MS`]. A page that ends before loses counts, nothing else.

use super::Engine;
use super::loading::fact_number;
use super::stored::{decode, encode};
use crate::context::Context;
use crate::error::Result;
use crate::key;
use crate::ports::{Commit, Store};
use crate::records::{FactRecord, FactStatus};
use crate::sorted_map::SortedMap;

/// How long uses are gathered before they are written, in milliseconds.
const NEXT_WRITE_MS: f64 = 60_000.0;

/// Uses that are not written yet.
#[derive(Default)]
pub(crate) struct FactUses {
    /// By the fact's number: how often, and when last, milliseconds since 1970.
    by_fact: SortedMap<u32, (u32, f64)>,
    /// When the first of them was noted.
    since: f64,
}

impl FactUses {
    fn add(&mut self, number: u32, count: u32, at: f64) {
        let uses = self.by_fact.get_or_default(number);
        *uses = (uses.0.saturating_add(count), uses.1.max(at));
    }

    /// When they are to be written, milliseconds since 1970; `None` where there are none.
    pub(super) fn due_at(&self) -> Option<f64> {
        (!self.by_fact.is_empty()).then_some(self.since + NEXT_WRITE_MS)
    }
}

/// A fact that was used so often more.
fn used(mut fact: FactRecord, (count, at): (u32, f64)) -> FactRecord {
    fact.access_count = fact.access_count.saturating_add(count);
    fact.last_accessed_at = Some(fact.last_accessed_at.map_or(at, |before| before.max(at)));
    fact
}

impl Engine {
    /// Notes the facts of a context that was given out.
    pub(super) fn note_fact_uses(&self, context: &Context) {
        let now_ms = self.now_ms();
        let uses = &mut self.state.borrow_mut().fact_uses;
        if uses.by_fact.is_empty() {
            uses.since = now_ms;
        }
        let items = context.receipt.sections.iter().flat_map(|section| &section.items);
        for number in items.filter(|item| item.kind == "fact").filter_map(|item| fact_number(&item.id)) {
            uses.add(number, 1, now_ms);
        }
    }

    /// Writes the uses that are due; with `all`, those that are not due yet, too. Where another tab changed facts meanwhile,
    /// they are written the next time.
    pub(super) async fn write_fact_uses(&self, all: bool) -> Result<()> {
        let now_ms = self.now_ms();
        let is_due = |at: f64| all || at <= now_ms;
        if self.read_only || !self.state.borrow().fact_uses.due_at().is_some_and(is_due) {
            return Ok(());
        }
        let _turn = self.writes.enter().await;
        let taken = std::mem::take(&mut self.state.borrow_mut().fact_uses);
        let (_, check) = self.fact_counters();
        let keys = taken.by_fact.keys().map(|number| (Store::Facts, key![format!("f{number}").as_str()])).collect();
        let records = self.host.storage.get(keys).await?;
        let mut commit = Commit { checks: vec![check], ..Commit::default() };
        let mut written = Vec::new();
        for ((number, uses), record) in taken.by_fact.iter().zip(records) {
            let fact = record.and_then(|record| decode::<FactRecord>(Store::Facts, &record).ok());
            let Some(fact) = fact.filter(|fact| fact.status != FactStatus::Forgotten) else { continue };
            let fact = used(fact, *uses);
            commit.puts.push((Store::Facts, key![fact.id.as_str()], encode(&fact)?));
            written.push((*number, fact.access_count, fact.last_accessed_at));
        }
        let is_written = written.is_empty() || self.commit_work(commit).await?;
        let state = &mut *self.state.borrow_mut();
        if !is_written {
            taken.by_fact.iter().for_each(|(number, (count, at))| state.fact_uses.add(*number, *count, *at));
            state.fact_uses.since = now_ms;
            return Ok(());
        }
        for (number, count, at) in written {
            if let Some(fact) = state.facts.get_mut(&number) {
                (fact.access_count, fact.last_accessed_at) = (count, at);
            }
        }
        Ok(())
    }
}
