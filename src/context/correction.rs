//! How contexts are counted where a provider bills another number of tokens than was counted.
//!
//! A context is put together in counted tokens, as messages are stored; its limits are divided by the correction before, and
//! its receipt is multiplied by it at the end, both to the safe side. So what is counted stays within the window as it is
//! billed, and no stored count is touched.

use super::receipt::Context;
use crate::config::BudgetPolicy;
use crate::sorting;

/// Steps of a factor of 1: fine enough that rounding up costs less than one token in a hundred.
const ONE: u32 = 128;
/// The ratios of bill and count that are believed, in thousandths. No two tokenizers are further apart on a whole request
/// (measured: 0.6 to 1.94); beyond them the bill was for something else.
const BELIEVED: std::ops::RangeInclusive<u64> = 500..=2_000;
/// Counted tokens from which on a bill says something about the tokenizer: in a shorter one the frame that providers add to
/// a request weighs too much.
const SHORTEST: u32 = 500;
/// So many ratios are kept: up to seven wild ones among them change nothing.
const MOST_RATIOS: usize = 15;
/// A correction may be so many steps too high before it follows: with bills that differ by two in a hundred it then moves once
/// in a hundred turns, and is a hundredth off.
const SLACK: u32 = 2;
/// A count without any correction stands beside the first ratios, so that a wild one is worth half.
const FIRST_RATIOS: usize = 3;

/// Billed tokens for one that was counted, in whole steps from 0.5 to 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Correction(u32);

impl Correction {
    /// What is counted is billed.
    pub const NONE: Self = Self(ONE);

    /// The nearest that there is to so many steps.
    fn from_steps(steps: u32) -> Self {
        Self(steps.clamp(ONE / 2, ONE * 2))
    }

    /// From what [`Correction::factor`] told; another number is taken as the nearest that can be.
    #[must_use]
    pub fn from_factor(factor: f64) -> Self {
        // The cast saturates.
        Self::from_steps((factor * f64::from(ONE)).round() as u32)
    }

    /// Billed tokens for one that was counted.
    #[must_use]
    pub fn factor(self) -> f64 {
        f64::from(self.0) / f64::from(ONE)
    }

    /// The most counted tokens that are billed as `billed` or fewer.
    #[must_use]
    pub fn counted(self, billed: u32) -> u32 {
        narrow(u64::from(billed) * u64::from(ONE) / u64::from(self.0))
    }

    /// What a prompt may take, counted, in a window of which `reserve_tokens` are kept for the answer, both in billed tokens.
    #[must_use]
    pub fn limit(self, window_tokens: u32, reserve_tokens: u32) -> u32 {
        self.counted(window_tokens.saturating_sub(reserve_tokens))
    }

    /// The tokens that `counted` ones are billed as, rounded up.
    #[must_use]
    pub fn billed(self, counted: u32) -> u32 {
        narrow(self.billed_of_many(u64::from(counted)))
    }

    fn billed_of_many(self, counted: u64) -> u64 {
        counted.saturating_mul(u64::from(self.0)).div_ceil(u64::from(ONE))
    }

    /// The caps of a policy, which are in billed tokens, in counted ones.
    #[must_use]
    pub fn budget(self, policy: &BudgetPolicy) -> BudgetPolicy {
        let mut budget = policy.clone();
        for cap in [
            &mut budget.system_tokens,
            &mut budget.memory_tokens,
            &mut budget.summary_tokens,
            &mut budget.retrieved_tokens,
            &mut budget.documents_tokens,
            &mut budget.notes_tokens,
            &mut budget.episodes_tokens,
            &mut budget.recent_tokens,
        ] {
            *cap = self.counted(*cap);
        }
        budget
    }

    /// Turns every number of a context from counted tokens into billed ones, but for `window` and `reserve`, which are so
    /// already.
    pub(super) fn bill(self, context: &mut Context) {
        let receipt = &mut context.receipt;
        receipt.tokens.correction = self.factor();
        if self == Self::NONE {
            return;
        }
        let bill = |tokens: &mut u32| *tokens = self.billed(*tokens);
        let mut listed = 0_i64;
        for section in &mut receipt.sections {
            bill(&mut section.cap);
            let items = section.items.iter().map(|item| item.tokens);
            let mut counted = section.tokens.saturating_sub(items.sum());
            section.tokens = self.billed(counted);
            for item in &mut section.items {
                // By sums, so that what is rounded up of each does not add up beyond the cap.
                counted = counted.saturating_add(item.tokens);
                let sum = self.billed(counted);
                item.tokens = sum - section.tokens;
                section.tokens = sum;
                if let Some(reduced) = &mut item.reduced {
                    bill(&mut reduced.from);
                    bill(&mut reduced.to);
                }
            }
            section.dropped.iter_mut().for_each(|dropped| bill(&mut dropped.tokens));
            listed += i64::from(section.tokens);
        }
        context.cache_breakpoints.iter_mut().for_each(|breakpoint| bill(&mut breakpoint.tokens));
        bill(&mut context.tokens);
        let tokens = &mut receipt.tokens;
        tokens.total = context.tokens;
        bill(&mut tokens.prefix);
        tokens.overhead = i32::try_from(i64::from(tokens.total) - listed).unwrap_or(0);
        tokens.full_history = self.billed_of_many(tokens.full_history);
        tokens.exact = false;
    }
}

fn narrow(tokens: u64) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

/// What a bill says about the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bill {
    /// It is so many thousandths of what was counted, rounded up.
    Ratio(u32),
    /// The request was too short to tell.
    TooShort,
    /// It cannot be for what was counted.
    Implausible,
}

impl Bill {
    /// Compares what was billed with what was counted.
    #[must_use]
    pub fn compare(billed: u32, counted: u32) -> Self {
        if counted < SHORTEST {
            return Self::TooShort;
        }
        let ratio = (u64::from(billed) * 1_000).div_ceil(u64::from(counted));
        if BELIEVED.contains(&ratio) { Self::Ratio(narrow(ratio)) } else { Self::Implausible }
    }
}

/// Takes a ratio, in thousandths, in among the newest ones, and answers the correction that follows from all of them.
///
/// It is their median, so a few wild ones change nothing, rounded up to a step. It stays as it is while the median is no more
/// than [`SLACK`] steps below: a ratio that drifts must not move the prompt's prefix with every turn.
#[must_use]
pub fn learn(ratios: &mut Vec<u32>, ratio: u32, before: Correction) -> Correction {
    ratios.push(ratio);
    if ratios.len() > MOST_RATIOS {
        ratios.drain(..ratios.len() - MOST_RATIOS);
    }
    let mut sorted = ratios.clone();
    if sorted.len() < FIRST_RATIOS {
        sorted.push(1_000);
    }
    sorting::sort(&mut sorted);
    let at = |index: usize| sorted.get(index).map_or(1_000, |ratio| (*ratio).min(2_000));
    let twice_the_median = at((sorted.len() - 1) / 2) + at(sorted.len() / 2);
    let needed = Correction::from_steps((twice_the_median * ONE).div_ceil(2_000));
    if (needed.0..=needed.0 + SLACK).contains(&before.0) { before } else { needed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn learned(ratios: &[u32]) -> Vec<Correction> {
        let mut kept = Vec::new();
        let mut now = Correction::NONE;
        ratios
            .iter()
            .map(|ratio| {
                now = learn(&mut kept, *ratio, now);
                now
            })
            .collect()
    }

    #[test]
    fn the_first_bill_is_worth_half_the_second_all() {
        let factors: Vec<f64> = learned(&[1_250, 1_250, 1_250]).into_iter().map(Correction::factor).collect();
        assert_eq!(factors, [1.125, 1.25, 1.25]);
    }

    #[test]
    fn what_is_no_bill_of_this_context_is_told_apart() {
        assert_eq!(Bill::compare(1_200, 1_000), Bill::Ratio(1_200));
        assert_eq!(Bill::compare(500, 1_000), Bill::Ratio(500));
        assert_eq!(Bill::compare(2_001, 1_000), Bill::Implausible);
        assert_eq!(Bill::compare(499, 1_000), Bill::Implausible);
        assert_eq!(Bill::compare(0, 1_000), Bill::Implausible);
        assert_eq!(Bill::compare(499, 499), Bill::TooShort);
        assert_eq!(Bill::compare(u32::MAX, u32::MAX), Bill::Ratio(1_000));
    }

    #[test]
    fn a_drifting_ratio_moves_seldom() {
        // Two in a hundred up and down, in no order.
        let mut seed = 7_u32;
        let ratios: Vec<u32> = (0..500)
            .map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                1_180 + (seed >> 16) % 41
            })
            .collect();
        let steps = learned(&ratios);
        let moves = steps.windows(2).skip(5).filter(|pair| pair[0] != pair[1]).count();
        assert!(moves <= 10, "{moves} moves in 500 turns");
    }

    proptest! {
        /// The goal of the estimates after five answers: within two in a hundred, never below but for the noise.
        #[test]
        fn five_bills_are_enough_and_a_wild_one_ruins_nothing(
            truth in 600_u32..1_900, noise in prop::collection::vec(-10_i32..=10, 5..30), wild in 500_u32..=2_000, at in 0_usize..30,
        ) {
            let mut ratios: Vec<u32> = noise.iter().map(|noise| truth.saturating_add_signed(*noise)).collect();
            if let Some(ratio) = ratios.get_mut(at) {
                *ratio = wild;
            }
            let told = learned(&ratios);
            for factor in told.into_iter().skip(4).map(Correction::factor) {
                let truth = f64::from(truth) / 1_000.0;
                prop_assert!(factor >= truth - 0.010, "{factor} for {truth}");
                prop_assert!(factor <= truth + 0.010 + 3.0 / 128.0, "{factor} for {truth}");
            }
        }

        #[test]
        fn limits_hold_as_they_are_billed(steps in 0_u32..400, limit in any::<u32>(), counted in any::<u32>()) {
            let correction = Correction::from_steps(steps);
            prop_assert!(correction.billed(correction.counted(limit)) <= limit);
            prop_assert!(correction.counted(correction.billed(counted)) >= counted || correction.billed(counted) == u32::MAX);
            prop_assert_eq!(Correction::from_factor(correction.factor()), correction);
            prop_assert_eq!(Correction::NONE.billed(counted), counted);
            prop_assert_eq!(Correction::NONE.counted(limit), limit);
        }
    }
}
