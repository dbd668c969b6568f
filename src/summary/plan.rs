//! Which range of messages is summarised next.

use crate::config::CompactionPolicy;
use crate::message::Seq;

/// What planning needs to know of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageMeta {
    /// Position in the conversation.
    pub seq: Seq,
    /// Tokens of the message.
    pub tokens: u32,
    /// It opens a turn group (see [`crate::message::Message::opens_group`]).
    pub opens_group: bool,
}

/// How much of what is outside the recent window is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Only when the high-water mark is passed; then down to the low one.
    #[default]
    Watermark,
    /// Everything outside the recent window, whatever the marks say.
    All,
    /// Goes on with a run whose first [`Plan::until_seq`] this was, although the mark is no longer passed.
    Until(Seq),
}

/// What a plan is made from.
#[derive(Clone, Copy, Debug)]
pub struct PlanInput<'a> {
    /// Everything up to this position is summarised; 0: nothing.
    pub summarized_until_seq: Seq,
    /// The messages after the cursor in rising order, those of the recent window too. Where one is missing, planning
    /// ends before the gap.
    pub messages: &'a [MessageMeta],
    /// First position of the recent window, which stays as it was said. Past the last message: there is no window, and
    /// the end of the conversation counts as the end of a group.
    pub recent_start_seq: Seq,
    /// The marks.
    pub policy: &'a CompactionPolicy,
    /// Message tokens that fit one call of the model (see [`super::room_tokens`]).
    pub fit_tokens: u32,
    /// How far to go.
    pub reach: Reach,
}

/// A range to summarise in one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// First position, inclusive: the one after the cursor.
    pub first_seq: Seq,
    /// Last position, inclusive: the last of a turn group.
    pub last_seq: Seq,
    /// Tokens of the range. More than `fit_tokens` only where one group alone is larger; [`super::pieces`] cuts it.
    pub tokens: u64,
    /// Where the whole run ends, inclusive. Beyond `last_seq`: plan again with [`Reach::Until`] after the commit.
    pub until_seq: Seq,
}

/// The next range to summarise, or `None` when nothing is due.
///
/// A run starts when the tokens after the cursor and before the recent window pass `high_water_tokens`, and takes whole
/// turn groups, oldest first, until at most `low_water_ratio` of that mark is left. One plan takes as many groups as fit
/// the model, and at least one.
#[must_use]
pub fn plan(input: &PlanInput<'_>) -> Option<Plan> {
    let groups = complete_groups(input);
    let outside_tokens: u64 = groups.iter().map(|group| group.tokens).sum();
    let high = u64::from(input.policy.high_water_tokens);
    let groups_wanted = match input.reach {
        Reach::All => groups.len(),
        Reach::Until(until_seq) => groups.iter().take_while(|group| group.last_seq <= until_seq).count(),
        Reach::Watermark if outside_tokens <= high => 0,
        Reach::Watermark => {
            let low = (f64::from(input.policy.high_water_tokens) * input.policy.low_water_ratio.clamp(0.0, 1.0)) as u64;
            let mut left_tokens = outside_tokens;
            let is_wanted = |group: &&Group| {
                let is_above = left_tokens > low;
                left_tokens -= group.tokens;
                is_above
            };
            groups.iter().take_while(is_wanted).count()
        }
    };
    let wanted = groups.get(..groups_wanted)?;
    let until_seq = wanted.last()?.last_seq;
    let mut taken = *wanted.first()?;
    for group in wanted.iter().skip(1) {
        if taken.tokens + group.tokens > u64::from(input.fit_tokens) {
            break;
        }
        taken = Group { last_seq: group.last_seq, tokens: taken.tokens + group.tokens };
    }
    Some(Plan {
        first_seq: input.summarized_until_seq.saturating_add(1),
        last_seq: taken.last_seq,
        tokens: taken.tokens,
        until_seq,
    })
}

#[derive(Clone, Copy)]
struct Group {
    last_seq: Seq,
    tokens: u64,
}

/// The turn groups that begin right after the cursor, have no gap, and end before the recent window.
fn complete_groups(input: &PlanInput<'_>) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut open: Option<Group> = None;
    let mut expected = input.summarized_until_seq.checked_add(1);
    for message in input.messages {
        if expected != Some(message.seq) {
            // What follows the gap is unknown, so the group before it may go on there.
            return groups;
        }
        if message.opens_group {
            groups.extend(open.take());
        }
        if message.seq >= input.recent_start_seq {
            return groups;
        }
        let before_tokens = open.map_or(0, |group| group.tokens);
        open = Some(Group { last_seq: message.seq, tokens: before_tokens + u64::from(message.tokens) });
        expected = message.seq.checked_add(1);
    }
    groups.extend(open);
    groups
}
