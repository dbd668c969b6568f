//! Turn groups: what a window is cut between.
//!
//! A group starts at a user message that says something; everything up to the next such message belongs to it. A user
//! message that says something *and* carries tool results stays in the group of its calls: cutting in front of it
//! would tear the results from the calls (R5). Messages before the first start are a group of their own.

use crate::message::{Message, Role};
use std::ops::Range;

/// What of a message decides where groups start: small enough to be kept for every message of a long conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupInput {
    /// Who speaks.
    pub role: Role,
    /// [`Message::opens_group`].
    pub opens_group: bool,
    /// Whether it carries any tool result.
    pub has_results: bool,
}

impl GroupInput {
    /// Read off a message.
    #[must_use]
    pub fn of(message: &Message) -> Self {
        Self {
            role: message.role,
            opens_group: message.opens_group(),
            has_results: message.result_ids().next().is_some(),
        }
    }

    fn starts(self) -> bool {
        self.role == Role::User && self.opens_group && !self.has_results
    }
}

/// The groups of a growing list of messages: four bytes per group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnGroups {
    starts: Vec<u32>,
    len: u32,
}

impl TurnGroups {
    /// Adds the next message. Lists longer than `u32::MAX` are not counted on.
    pub fn push(&mut self, input: GroupInput) {
        if self.len == 0 || input.starts() {
            self.starts.push(self.len);
        }
        self.len = self.len.saturating_add(1);
    }

    /// Forgets the messages from `len` on.
    pub fn truncate(&mut self, len: usize) {
        if len < self.message_count() {
            self.len = len as u32;
            self.starts.retain(|&start| (start as usize) < len);
        }
    }

    /// Messages so far.
    #[must_use]
    pub fn message_count(&self) -> usize {
        self.len as usize
    }

    /// Groups so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there is no group, which is to say no message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The messages of a group, by their position in the list; `None` beyond the last group.
    #[must_use]
    pub fn group(&self, group: usize) -> Option<Range<usize>> {
        let start = *self.starts.get(group)?;
        let end = self.starts.get(group + 1).copied().unwrap_or(self.len);
        Some(start as usize..end as usize)
    }

    /// The group that a message belongs to; `None` beyond the last message.
    #[must_use]
    pub fn group_of(&self, message: usize) -> Option<usize> {
        if message >= self.message_count() {
            return None;
        }
        self.starts.partition_point(|&start| start as usize <= message).checked_sub(1)
    }

    /// Every group in order; reversible, so that a window can be filled from the newest.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range<usize>> + ExactSizeIterator + '_ {
        (0..self.len()).map(|group| self.group(group).unwrap_or_default())
    }
}

/// The groups of a whole list: ranges that follow each other and cover it.
#[must_use]
pub fn turn_groups(messages: &[GroupInput]) -> Vec<Range<usize>> {
    let mut groups = TurnGroups::default();
    messages.iter().for_each(|&input| groups.push(input));
    groups.iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(role: Role, opens_group: bool, has_results: bool) -> GroupInput {
        GroupInput { role, opens_group, has_results }
    }

    #[test]
    fn groups_start_at_user_messages_that_say_something() {
        let system = input(Role::System, false, false);
        let user = input(Role::User, true, false);
        let assistant = input(Role::Assistant, false, false);
        let results = input(Role::User, false, true);
        let results_and_text = input(Role::User, true, true);
        let list = [system, assistant, user, assistant, results, assistant, results_and_text, user, assistant];
        assert_eq!(turn_groups(&list), [0..2, 2..7, 7..9]);
        assert_eq!(turn_groups(&[]), Vec::<Range<usize>>::new());
    }

    #[test]
    fn incremental_and_whole_agree_and_cover() {
        let user = input(Role::User, true, false);
        let assistant = input(Role::Assistant, false, false);
        let list: Vec<_> = (0..50).map(|n| if n % 7 == 3 { user } else { assistant }).collect();
        let mut groups = TurnGroups::default();
        for (index, &message) in list.iter().enumerate() {
            groups.push(message);
            assert_eq!(groups.iter().collect::<Vec<_>>(), turn_groups(&list[..=index]));
            let group = groups.group_of(index).unwrap();
            assert!(groups.group(group).unwrap().contains(&index));
        }
        assert_eq!(groups.group_of(50), None);
        groups.truncate(10);
        assert_eq!(groups.iter().collect::<Vec<_>>(), turn_groups(&list[..10]));
        groups.truncate(0);
        assert!(groups.is_empty());
    }
}
