//! The lifetime of tool results: those of old turns, and those of a newest turn that alone is too long, are shortened
//! inside their envelopes (R8). Ids, names and the stored messages stay as they are.

use super::assemble::{StoredMessage, message_tokens};
use crate::config::ToolResultPolicy;
use crate::error::Result;
use crate::formats::{self, FormatChoice, STUB_OUTPUT};
use crate::tokens::TokenCounter;
use std::cell::Cell;

/// The boundary between shortened and full results moves by at least so many turns at once, so that it changes the prefix
/// of the prompt in at most one turn of ten.
const LEAST_STEP: u32 = 10;
/// A result of a newest turn that does not fit is not made shorter than this; then older ones are left out.
const LEAST_TOKENS: u32 = 32;

/// What the receipt says of results of old turns.
const OLD: &str = "tool results shortened, as they are older than policy.toolResults.fullTurns turns";
/// What it says of those of the newest turn.
const TOO_LONG: &str = "tool results shortened, as the newest turn alone is longer than the window";

/// Index of the first turn group whose results are full, of `groups` groups before the newest turn, counted from the
/// start of the conversation. At least `full_turns` groups in front of the newest turn are full.
///
/// A function of positions alone: the same after a reload. It rises in steps of `full_turns`, at least ten; with
/// `full_turns` 0 every group is shortened as soon as it is not the newest, which changes nothing that was in a prefix.
#[must_use]
pub fn first_full_group(groups: u32, policy: &ToolResultPolicy) -> u32 {
    match policy.full_turns {
        None => 0,
        Some(0) => groups,
        Some(full_turns) => {
            let step = full_turns.max(LEAST_STEP);
            groups.saturating_sub(full_turns) / step * step
        }
    }
}

/// A message of an old turn with its results shortened to `max_tokens` each.
///
/// # Errors
/// `invalid_argument` when what is stored cannot be read.
pub fn shorten_old(stored: StoredMessage, max_tokens: u32, counter: &dyn TokenCounter) -> Result<StoredMessage> {
    shorten(stored, OLD, counter, &|text| shortened(text, max_tokens, counter))
}

fn shorten(
    mut stored: StoredMessage,
    why: &'static str,
    counter: &dyn TokenCounter,
    cut: &dyn Fn(&str) -> String,
) -> Result<StoredMessage> {
    if stored.message.result_ids().next().is_none() {
        return Ok(stored);
    }
    let format = stored.record.format;
    let Some(raw) = formats::shrink_tool_results(&stored.record.raw, format, 0, &|text, _| cut(text))? else {
        return Ok(stored);
    };
    stored.message = formats::parse(&raw, FormatChoice::Exact(format))?.message;
    stored.record.tokens = message_tokens(&stored.message, counter);
    counter.id().clone_into(&mut stored.record.counted_with);
    stored.record.raw = raw;
    stored.shortened = Some(why);
    Ok(stored)
}

/// The start of a text that is longer than `max_tokens`, with a mark; together they are not.
fn shortened(text: &str, max_tokens: u32, counter: &dyn TokenCounter) -> String {
    if counter.count(text) <= max_tokens {
        return text.to_owned();
    }
    let mark = format!("\n[shortened from {} bytes]", text.len());
    let mut room = max_tokens.saturating_sub(counter.count(&mark));
    loop {
        let head = counter.truncate(text, room);
        let short = format!("{}{mark}", head.trim_end());
        if room == 0 || counter.count(&short) <= max_tokens {
            return short;
        }
        // Joined texts can take a token more.
        room -= 1;
    }
}

/// A newest turn that is made shorter step by step: first its results to half the room and half of that again, then all
/// but those of the last round to a stub. What was said, and asked, is never touched.
pub(super) struct NewestTurn {
    messages: Vec<StoredMessage>,
    max_tokens: u32,
    /// Results in it, and of them in its last round.
    results: u32,
    last_round: u32,
    stubs: u32,
}

impl NewestTurn {
    /// The turn as it is stored; `limit_tokens` is the room of the whole prompt.
    pub(super) fn new(messages: &[StoredMessage], limit_tokens: u32) -> Result<Self> {
        let results = results(messages)?;
        let last_call = messages.iter().rposition(|stored| stored.message.call_ids().next().is_some());
        let behind = last_call.and_then(|at| messages.get(at + 1..)).unwrap_or_default();
        // A message that holds both call and result shows no rounds.
        let last_round = self::results(behind)?.max(1);
        Ok(Self { messages: messages.to_vec(), max_tokens: limit_tokens, results, last_round, stubs: 0 })
    }

    /// The next shorter version; `None` when there is none.
    pub(super) fn shorter(&mut self, counter: &dyn TokenCounter) -> Result<Option<Vec<StoredMessage>>> {
        let most_stubs = self.results.saturating_sub(self.last_round);
        if self.results == 0 || self.max_tokens <= LEAST_TOKENS && self.stubs >= most_stubs {
            return Ok(None);
        }
        if self.max_tokens > LEAST_TOKENS {
            self.max_tokens = (self.max_tokens / 2).max(LEAST_TOKENS);
        } else {
            self.stubs = (self.stubs * 2 + 1).min(most_stubs);
        }
        self.version(counter).map(Some)
    }

    fn version(&self, counter: &dyn TokenCounter) -> Result<Vec<StoredMessage>> {
        let number = Cell::new(0);
        let cut = |text: &str| {
            number.set(number.get() + 1);
            match number.get() <= self.stubs {
                true => STUB_OUTPUT.to_owned(),
                false => shortened(text, self.max_tokens, counter),
            }
        };
        self.messages.iter().map(|stored| shorten(stored.clone(), TOO_LONG, counter, &cut)).collect()
    }
}

/// The newest turn as short as it can be made.
///
/// # Errors
/// `invalid_argument` when what is stored cannot be read.
pub fn shortest_turn(messages: &[StoredMessage], counter: &dyn TokenCounter) -> Result<Vec<StoredMessage>> {
    let mut turn = NewestTurn::new(messages, LEAST_TOKENS)?;
    turn.stubs = turn.results.saturating_sub(turn.last_round);
    turn.version(counter)
}

/// How many outputs may be shortened.
fn results(messages: &[StoredMessage]) -> Result<u32> {
    let number = Cell::new(0);
    for stored in messages {
        let count = |text: &str, _| {
            number.set(number.get() + 1);
            text.to_owned()
        };
        formats::shrink_tool_results(&stored.record.raw, stored.record.format, 0, &count)?;
    }
    Ok(number.get())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::Estimator;

    fn policy(full_turns: Option<u32>) -> ToolResultPolicy {
        ToolResultPolicy { full_turns, ..ToolResultPolicy::default() }
    }

    #[test]
    fn the_boundary_moves_in_jumps_and_leaves_the_newest_turns_full() {
        for full_turns in [1, 5, 10, 12, 40] {
            let bounds: Vec<u32> = (0..300).map(|groups| first_full_group(groups, &policy(Some(full_turns)))).collect();
            let moves = bounds.windows(2).filter(|pair| pair[0] != pair[1]).count() as u32;
            assert!(moves > 0 && moves <= 300 / full_turns.max(LEAST_STEP), "{full_turns}: {moves}");
            for (groups, bound) in (0..).zip(&bounds) {
                assert!(bound + full_turns <= groups || *bound == 0);
                assert!(groups - bound < full_turns + full_turns.max(LEAST_STEP));
            }
        }
        assert_eq!(first_full_group(24, &policy(Some(12))), 12);
        assert_eq!(first_full_group(23, &policy(Some(12))), 0);
        assert_eq!(first_full_group(7, &policy(Some(0))), 7);
        assert_eq!(first_full_group(1_000_000, &policy(None)), 0);
    }

    #[test]
    fn a_shortened_text_fits_and_says_what_it_was() {
        let counter = Estimator::new();
        let text = "A line of output, 안녕.\n".repeat(400);
        for max_tokens in [16, 32, 200, 1_000] {
            let short = shortened(&text, max_tokens, &counter);
            assert!(counter.count(&short) <= max_tokens, "{max_tokens}");
            assert!(short.ends_with(&format!("[shortened from {} bytes]", text.len())));
            assert_eq!(shortened(&short, max_tokens, &counter), short);
        }
        assert_eq!(shortened("short", 200, &counter), "short");
    }
}
