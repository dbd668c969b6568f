//! Message groups: a hit with the messages around it, in whole turn groups, no message twice.

use super::message_index::Hit;
use crate::message::Seq;
use crate::sorted_map::SortedSet;

/// A range of messages of one conversation, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The conversation's number.
    pub conversation: u32,
    /// First message.
    pub first_seq: Seq,
    /// Last message.
    pub last_seq: Seq,
}

/// How hits are made into groups.
#[derive(Clone, Copy)]
pub struct Expansion<'a> {
    /// Messages before a hit that go with it.
    pub before: u32,
    /// Messages after a hit that go with it.
    pub after: u32,
    /// First and last message of the turn group that a message is in. A message that is in no group is its own.
    pub turn_group: &'a dyn Fn(u32, Seq) -> (Seq, Seq),
    /// The newest message of a conversation; 0 when it has none.
    pub last_seq: &'a dyn Fn(u32) -> Seq,
    /// What is in the context already: the recent window, messages behind a summary that is shown whole.
    pub present: &'a [Range],
    /// Content hashes ([`crate::lexical::Analyzer::content_hash`]) of texts that are in the context already.
    pub present_texts: &'a [u64],
}

/// Hits and what goes with them.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageGroup {
    /// Its messages.
    pub range: Range,
    /// The best score of its hits.
    pub score: f32,
    /// Its hits, in order of seq.
    pub hits: Vec<Hit>,
}

/// Makes hits into groups, best first.
///
/// A group is a hit with [`Expansion::before`] and [`Expansion::after`] messages, widened to whole turn groups.
/// Overlapping and adjacent groups of one conversation are one. Left out are turn groups of which any message is present
/// already, and hits whose text, but for form, is present already or belongs to a better hit.
#[must_use]
pub fn expand(hits: &[Hit], expansion: &Expansion<'_>) -> Vec<MessageGroup> {
    let mut seen: SortedSet<u64> = expansion.present_texts.iter().copied().collect();
    let mut pieces = Vec::new();
    for hit in hits {
        let is_repeat = hit.content_hash != 0 && !seen.insert(hit.content_hash);
        if let Some(range) = around(hit, expansion).filter(|_| !is_repeat) {
            pieces.push(MessageGroup { range, score: hit.score, hits: vec![*hit] });
        }
    }
    crate::sorting::sort_by_key(&mut pieces, &|group| (group.range.conversation, group.range.first_seq, group.range.last_seq));
    let mut groups: Vec<MessageGroup> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match groups.last_mut().filter(|group| touches(&group.range, &piece.range)) {
            Some(group) => {
                group.range.last_seq = group.range.last_seq.max(piece.range.last_seq);
                group.score = group.score.max(piece.score);
                group.hits.extend(piece.hits);
            }
            None => groups.push(piece),
        }
    }
    for group in &mut groups {
        crate::sorting::sort_by_key(&mut group.hits, &|hit| hit.seq);
        group.hits.dedup_by_key(|hit| hit.seq);
    }
    crate::sorting::sort_by(&mut groups, &|left, right| {
        let place = |group: &MessageGroup| (group.range.conversation, group.range.first_seq);
        right.score.total_cmp(&left.score).then_with(|| place(left).cmp(&place(right)))
    });
    groups
}

fn touches(left: &Range, right: &Range) -> bool {
    left.conversation == right.conversation && right.first_seq <= left.last_seq.saturating_add(1)
}

/// The hit's range: its own turn group, then turn groups before and after as far as wanted and not present.
fn around(hit: &Hit, expansion: &Expansion<'_>) -> Option<Range> {
    let conversation = hit.conversation;
    let newest = (expansion.last_seq)(conversation);
    let turn_group = |seq: Seq| {
        let (first, last) = (expansion.turn_group)(conversation, seq);
        (first.clamp(1, seq.max(1)), last.clamp(seq, newest.max(seq)))
    };
    let is_present = |first: Seq, last: Seq| {
        let overlaps = |range: &Range| range.first_seq <= last && first <= range.last_seq;
        expansion.present.iter().any(|range| range.conversation == conversation && overlaps(range))
    };
    let (mut first_seq, mut last_seq) = turn_group(hit.seq);
    if hit.seq == 0 || hit.seq > newest || is_present(first_seq, last_seq) {
        return None;
    }
    let wanted_first = hit.seq.saturating_sub(expansion.before).max(1);
    while first_seq > wanted_first {
        let (first, last) = turn_group(first_seq - 1);
        if is_present(first, last) {
            break;
        }
        first_seq = first;
    }
    let wanted_last = hit.seq.saturating_add(expansion.after).min(newest);
    while last_seq < wanted_last {
        let (first, last) = turn_group(last_seq + 1);
        if is_present(first, last) {
            break;
        }
        last_seq = last;
    }
    Some(Range { conversation, first_seq, last_seq })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieval::Scores;
    use proptest::prelude::*;

    fn hit(conversation: u32, seq: Seq, score: f32) -> Hit {
        let content_hash = u64::from(conversation) * 1_000 + u64::from(seq);
        Hit { document: seq, conversation, seq, score, content_hash, scores: Scores::default() }
    }

    /// Turn groups of three: 1-3, 4-6, ...
    fn of_three(_: u32, seq: Seq) -> (Seq, Seq) {
        let first = (seq - 1) / 3 * 3 + 1;
        (first, first + 2)
    }

    fn ranges(groups: &[MessageGroup]) -> Vec<(Seq, Seq)> {
        groups.iter().map(|group| (group.range.first_seq, group.range.last_seq)).collect()
    }

    const ALONE: Expansion<'_> = Expansion {
        before: 1,
        after: 1,
        turn_group: &|_, seq| (seq, seq),
        last_seq: &|_| 100,
        present: &[],
        present_texts: &[],
    };

    #[test]
    fn near_hits_are_one_group_with_the_best_score() {
        let groups = expand(&[hit(1, 20, 0.9), hit(1, 13, 0.5), hit(1, 10, 0.7), hit(2, 11, 0.6)], &ALONE);
        assert_eq!(ranges(&groups), [(19, 21), (9, 14), (10, 12)]);
        assert_eq!(groups[1].score, 0.7);
        assert_eq!(groups[1].hits.len(), 2);
    }

    #[test]
    fn what_is_present_is_left_out() {
        let present = [Range { conversation: 1, first_seq: 21, last_seq: 100 }];
        let expansion = Expansion { present: &present, present_texts: &[1_050, 2_003], ..ALONE };
        let hits = [hit(1, 20, 0.9), hit(1, 30, 0.8), hit(2, 3, 0.7), hit(2, 40, 0.6)];
        assert_eq!(ranges(&expand(&hits, &expansion)), [(19, 20), (39, 41)]);
    }

    #[test]
    fn the_same_text_comes_once() {
        let mut other = hit(2, 7, 0.5);
        other.content_hash = hit(1, 20, 0.0).content_hash;
        assert_eq!(expand(&[hit(1, 20, 0.9), other], &ALONE).len(), 1);
    }

    proptest! {
        #[test]
        fn turn_groups_stay_whole_and_no_message_comes_twice(
            seqs in prop::collection::vec((0_u32..3, 1_u32..61), 0..20),
            before in 0_u32..6, after in 0_u32..6,
            present in prop::collection::vec((0_u32..3, 0_u32..20, 0_u32..5), 0..4),
        ) {
            let present: Vec<Range> = present.iter().map(|(conversation, group, more)| Range {
                conversation: *conversation, first_seq: group * 3 + 1, last_seq: (group + more) * 3 + 3,
            }).collect();
            let hits: Vec<Hit> = seqs.iter().zip(0_u8..).map(|((conversation, seq), rank)| {
                hit(*conversation, *seq, 1.0 - f32::from(rank) / 100.0)
            }).collect();
            let expansion = Expansion {
                before, after, turn_group: &of_three, last_seq: &|_| 60, present: &present, present_texts: &[],
            };
            let groups = expand(&hits, &expansion);
            let mut messages = SortedSet::new();
            for group in &groups {
                let range = group.range;
                prop_assert_eq!((range.first_seq - 1) % 3, 0);
                prop_assert_eq!(range.last_seq % 3, 0);
                for seq in range.first_seq..=range.last_seq {
                    prop_assert!(messages.insert((range.conversation, seq)));
                    prop_assert!(!present.iter().any(|other| other.conversation == range.conversation
                        && (other.first_seq..=other.last_seq).contains(&seq)));
                }
            }
            for hit in &hits {
                let is_there = messages.contains(&(hit.conversation, hit.seq));
                let is_present = present.iter().any(|other| other.conversation == hit.conversation
                    && (other.first_seq..=other.last_seq).contains(&hit.seq));
                prop_assert_eq!(is_there, !is_present);
            }
            prop_assert!(groups.windows(2).all(|pair| pair[0].score >= pair[1].score));
        }

        #[test]
        fn a_nonsense_lookup_cannot_break_it(seq in any::<u32>(), bounds in any::<(u32, u32)>(), newest in any::<u32>()) {
            let expansion = Expansion {
                turn_group: &|_, _| bounds, last_seq: &|_| newest, ..ALONE
            };
            for group in expand(&[hit(1, seq, 0.5)], &expansion) {
                prop_assert!(group.range.first_seq <= seq && seq <= group.range.last_seq);
            }
        }
    }
}
