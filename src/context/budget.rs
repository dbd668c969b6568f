//! Dividing the window: what is stable between turns is decided from stable quantities, so that the prefix holds.

use super::correction::Correction;
use crate::config::{BudgetPolicy, CompactionPolicy, RecentPolicy};
use crate::error::{Code, Error, Result};

/// The room of each section in one call, in counted tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// `window - reserve`: what the whole prompt may take.
    pub limit: u32,
    /// User memory.
    pub memory: u32,
    /// Rolling summary.
    pub summary: u32,
    /// The notes: a quarter of what memory and summary leave at most, so that every section has its room.
    pub notes: u32,
    /// What is known from other sessions: as much at most, and a twentieth of the limit.
    pub episodes: u32,
    /// Retrieved groups.
    pub retrieved: u32,
    /// Left for the recent window and whatever it does not use.
    pub rest: u32,
}

/// What the call itself brings.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Context window.
    pub window_tokens: u32,
    /// Kept for the answer.
    pub reserve_tokens: u32,
    /// The app's system text and the per-request overhead.
    pub system_tokens: u32,
    /// The newest turn as it must be sent: never cut.
    pub question_tokens: u32,
    /// How the model bills what is counted: window and reserve are as it bills, everything else as it is counted.
    pub correction: Correction,
}

/// The share of the limit that a question may take before other sections notice: an ordinary question moves nothing
/// in the prefix.
const QUESTION_SHARE: u32 = 8;
/// What is known from other sessions takes this share of the limit at most: it is there whatever is asked.
const EPISODES_SHARE: u32 = 20;

impl Room {
    /// Divides a window. The caps hold while there is room for all of them; else they shrink in proportion.
    ///
    /// # Errors
    /// `budget_infeasible` when the system text and the question alone do not fit `window - reserve`.
    pub fn divide(demand: Demand, policy: &BudgetPolicy) -> Result<Self> {
        let Demand { window_tokens, reserve_tokens, system_tokens, question_tokens, correction } = demand;
        let limit = correction.limit(window_tokens, reserve_tokens);
        let fixed = system_tokens.saturating_add(question_tokens);
        if limit == 0 || fixed > limit {
            return Err(Error::new(
                Code::BudgetInfeasible,
                format!(
                    "the system text and the question need {} tokens, but a window of {window_tokens} with \
                     {reserve_tokens} kept for the answer leaves {}; use a larger window, a smaller reserve, or \
                     shorter texts",
                    correction.billed(fixed),
                    window_tokens.saturating_sub(reserve_tokens)
                ),
            ));
        }
        let allowance = question_tokens.max(limit / QUESTION_SHARE);
        let rest = limit.saturating_sub(system_tokens).saturating_sub(allowance);
        let wanted = policy.memory_tokens + policy.summary_tokens + policy.retrieved_tokens + policy.recent_tokens;
        let shrink = |cap: u32| {
            if wanted == 0 || rest >= wanted {
                cap
            } else {
                u32::try_from(u64::from(cap) * u64::from(rest) / u64::from(wanted)).unwrap_or(cap)
            }
        };
        let (memory, summary) = (shrink(policy.memory_tokens), shrink(policy.summary_tokens));
        let quarter = rest.saturating_sub(memory).saturating_sub(summary) / 4;
        Ok(Self {
            limit,
            memory,
            summary,
            notes: policy.notes_tokens.min(quarter),
            episodes: policy.episodes_tokens.min(quarter).min(limit / EPISODES_SHARE),
            retrieved: shrink(policy.retrieved_tokens),
            rest,
        })
    }

    /// Room of the recent window, given what memory (with what else is about more than this conversation, and the notes) and
    /// summary really take. It may hold everything that is not
    /// summarised yet (the recent cap and the compaction mark together) where the window allows.
    #[must_use]
    pub fn recent(
        &self,
        memory_tokens: u32,
        summary_tokens: u32,
        budget: &BudgetPolicy,
        compaction: &CompactionPolicy,
    ) -> u32 {
        self.rest
            .saturating_sub(memory_tokens)
            .saturating_sub(summary_tokens)
            .saturating_sub(self.retrieved)
            .min(budget.recent_tokens.saturating_add(compaction.high_water_tokens))
    }
}

/// A turn group as the cut sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSize {
    /// Tokens, message overhead included.
    pub tokens: u32,
    /// Messages in it.
    pub messages: u32,
}

/// Index of the first turn group of the recent window.
///
/// The groups are walked from the oldest that is not summarised. When they overflow the room, the start moves forward
/// until `keep_ratio` of the room is used; then it rests until the next overflow. The result depends on nothing but the
/// groups and the room, so it is the same after a reload, and the prefix stays as it is for many turns.
#[must_use]
pub fn recent_start(groups: &[GroupSize], room_tokens: u32, policy: &RecentPolicy) -> usize {
    let keep = |limit: u32| (f64::from(limit) * policy.keep_ratio).floor();
    let mut start = 0;
    let (mut tokens, mut messages) = (0_u64, 0_u64);
    for (index, group) in groups.iter().enumerate() {
        tokens += u64::from(group.tokens);
        messages += u64::from(group.messages);
        let too_many = policy.max_messages.is_some_and(|most| messages > u64::from(most));
        if tokens <= u64::from(room_tokens) && !too_many {
            continue;
        }
        let keep_tokens = keep(room_tokens);
        let keep_messages = policy.max_messages.map_or(f64::INFINITY, keep);
        // The newest group stays as long as it fits by itself.
        while start < index && (tokens as f64 > keep_tokens || messages as f64 > keep_messages) {
            tokens -= u64::from(groups[start].tokens);
            messages -= u64::from(groups[start].messages);
            start += 1;
        }
        if tokens > u64::from(room_tokens) {
            start = index + 1;
            (tokens, messages) = (0, 0);
        }
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn demand(window: u32, reserve: u32, system: u32, question: u32) -> Demand {
        Demand {
            window_tokens: window,
            reserve_tokens: reserve,
            system_tokens: system,
            question_tokens: question,
            correction: Correction::NONE,
        }
    }

    #[test]
    fn a_large_window_gives_every_cap() {
        let room = Room::divide(demand(128_000, 4_000, 500, 20), &BudgetPolicy::default()).unwrap();
        assert_eq!((room.memory, room.summary, room.retrieved), (1_000, 2_000, 3_000));
        let recent = room.recent(0, 0, &BudgetPolicy::default(), &CompactionPolicy::default());
        assert_eq!(recent, 14_000);
    }

    #[test]
    fn a_question_that_does_not_fit_is_refused_with_the_numbers() {
        for (window, reserve) in [(0, 0), (100, 100), (100, 200), (100, 10)] {
            let error = Room::divide(demand(window, reserve, 50, 60), &BudgetPolicy::default()).unwrap_err();
            assert_eq!(error.code, Code::BudgetInfeasible);
        }
    }

    #[test]
    fn an_ordinary_question_does_not_move_the_caps() {
        let short = Room::divide(demand(8_000, 1_000, 100, 10), &BudgetPolicy::default()).unwrap();
        let longer = Room::divide(demand(8_000, 1_000, 100, 800), &BudgetPolicy::default()).unwrap();
        assert_eq!(short, longer);
    }

    #[test]
    fn the_start_rests_between_overflows() {
        let groups: Vec<GroupSize> = (0..40).map(|_| GroupSize { tokens: 100, messages: 2 }).collect();
        let starts: Vec<usize> =
            (0..=40).map(|count| recent_start(&groups[..count], 1_000, &RecentPolicy::default())).collect();
        assert_eq!(starts[10], 0);
        assert_eq!(starts[11], 6);
        assert!(starts[11..16].iter().all(|&start| start == 6));
        assert_eq!(starts[17], 12);
    }

    #[test]
    fn by_number_of_messages() {
        let groups: Vec<GroupSize> = (0..9).map(|_| GroupSize { tokens: 1, messages: 2 }).collect();
        let policy = RecentPolicy { max_messages: Some(8), keep_ratio: 1.0 };
        assert_eq!(recent_start(&groups, 1_000, &policy), 5);
    }

    proptest! {
        #[test]
        fn the_window_fits_and_only_moves_forward(
            sizes in prop::collection::vec(0_u32..400, 0..60), room in 0_u32..1_500, keep in 0.1_f64..1.0,
        ) {
            let groups: Vec<GroupSize> = sizes.iter().map(|&tokens| GroupSize { tokens, messages: 1 }).collect();
            let policy = RecentPolicy { max_messages: None, keep_ratio: keep };
            let mut last = 0;
            for count in 0..=groups.len() {
                let start = recent_start(&groups[..count], room, &policy);
                prop_assert!(start >= last && start <= count);
                let used: u32 = sizes[start..count].iter().sum();
                prop_assert!(used <= room);
                last = start;
            }
        }
    }
}
