//! Message groups: a hit with the messages around it, in whole turn groups, no message twice.

use super::message_index::Hit;
use crate::message::Seq;
use crate::sorted_map::SortedSet;
use crate::sorting;

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
pub struct GroupRequest<'a> {
    /// Messages before a hit that go with it.
    pub before: u32,
    /// Messages after a hit that go with it.
    pub after: u32,
    /// First and last message of the turn group that a message is in. A message that is in no group is its own.
    pub turn_group: &'a dyn Fn(u32, Seq) -> (Seq, Seq),
    /// The newest message of a conversation that may be in a group: the newest there is, or the last one before the
    /// recent window; 0 for none.
    pub last_seq: &'a dyn Fn(u32) -> Seq,
}

/// What is in the context already.
#[derive(Clone, Copy, Debug, Default)]
pub struct Present<'a> {
    /// Messages: the recent window, or what stands behind a summary that is shown whole.
    pub ranges: &'a [Range],
    /// Content hashes ([`crate::lexical::Imprint::content_hash`]) of texts.
    pub texts: &'a [u64],
}

/// Hits and what goes with them.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageGroup {
    /// The conversation's number.
    pub conversation: u32,
    /// Its messages, without a gap, oldest first.
    pub seqs: Vec<Seq>,
    /// The best score of its hits.
    pub score: f32,
    /// Its hits, in order of seq.
    pub hits: Vec<Hit>,
}

/// Makes hits into groups, best first.
///
/// A group is a hit with [`GroupRequest::before`] and [`GroupRequest::after`] messages, widened to whole turn groups.
/// Overlapping and adjacent groups of one conversation are one, so that no message comes twice.
#[must_use]
pub fn expand(hits: &[Hit], request: &GroupRequest<'_>) -> Vec<MessageGroup> {
    join(hits.iter().filter_map(|hit| Some((around(hit, request, &[])?, *hit))).collect())
}

/// The same without what is present: left out are turn groups of which any message is present, and hits whose text, but
/// for form, is present or belongs to a better hit.
#[must_use]
pub fn expand_without(hits: &[Hit], request: &GroupRequest<'_>, present: &Present<'_>) -> Vec<MessageGroup> {
    let mut seen: SortedSet<u64> = present.texts.iter().copied().collect();
    let mut pieces = Vec::new();
    for hit in hits {
        let is_repeat = hit.content_hash != 0 && !seen.insert(hit.content_hash);
        if let Some(range) = around(hit, request, present.ranges).filter(|_| !is_repeat) {
            pieces.push((range, *hit));
        }
    }
    join(pieces)
}

fn join(mut pieces: Vec<(Range, Hit)>) -> Vec<MessageGroup> {
    sorting::sort_by_key(&mut pieces, &|(range, _)| (range.conversation, range.first_seq, range.last_seq));
    let mut joined: Vec<(Range, Vec<Hit>)> = Vec::with_capacity(pieces.len());
    for (range, hit) in pieces {
        match joined.last_mut().filter(|(other, _)| touches(other, &range)) {
            Some((other, hits)) => {
                other.last_seq = other.last_seq.max(range.last_seq);
                hits.push(hit);
            }
            None => joined.push((range, vec![hit])),
        }
    }
    let mut groups: Vec<MessageGroup> = joined
        .into_iter()
        .map(|(range, mut hits)| {
            sorting::sort_by_key(&mut hits, &|hit| hit.seq);
            hits.dedup_by_key(|hit| hit.seq);
            MessageGroup {
                conversation: range.conversation,
                seqs: (range.first_seq..=range.last_seq).collect(),
                score: hits.iter().map(|hit| hit.score).fold(0.0, f32::max),
                hits,
            }
        })
        .collect();
    sorting::sort_by(&mut groups, &|left, right| {
        let place = |group: &MessageGroup| (group.conversation, group.seqs.first().copied());
        right.score.total_cmp(&left.score).then_with(|| place(left).cmp(&place(right)))
    });
    groups
}

fn touches(left: &Range, right: &Range) -> bool {
    left.conversation == right.conversation && right.first_seq <= left.last_seq.saturating_add(1)
}

/// The hit's range: its own turn group, then turn groups before and after as far as wanted and not present.
fn around(hit: &Hit, request: &GroupRequest<'_>, present: &[Range]) -> Option<Range> {
    let conversation = hit.conversation;
    let newest = (request.last_seq)(conversation);
    let turn_group = |seq: Seq| {
        let (first, last) = (request.turn_group)(conversation, seq);
        (first.clamp(1, seq.max(1)), last.clamp(seq, newest.max(seq)))
    };
    let is_present = |first: Seq, last: Seq| {
        let overlaps = |range: &Range| range.first_seq <= last && first <= range.last_seq;
        present.iter().any(|range| range.conversation == conversation && overlaps(range))
    };
    let (mut first_seq, mut last_seq) = turn_group(hit.seq);
    if hit.seq == 0 || hit.seq > newest || is_present(first_seq, last_seq) {
        return None;
    }
    let wanted_first = hit.seq.saturating_sub(request.before).max(1);
    while first_seq > wanted_first {
        let (first, last) = turn_group(first_seq - 1);
        if is_present(first, last) {
            break;
        }
        first_seq = first;
    }
    let wanted_last = hit.seq.saturating_add(request.after).min(newest);
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
    use crate::retrieval::{HitFigures, Scores};
    use proptest::prelude::*;

    fn hit(conversation: u32, seq: Seq, score: f32) -> Hit {
        let content_hash = u64::from(conversation) * 1_000 + u64::from(seq);
        Hit {
            document: seq,
            conversation,
            seq,
            score,
            content_hash,
            scores: Scores::default(),
            figures: HitFigures::default(),
        }
    }

    /// Turn groups of three: 1-3, 4-6, ...
    fn of_three(_: u32, seq: Seq) -> (Seq, Seq) {
        let first = (seq - 1) / 3 * 3 + 1;
        (first, first + 2)
    }

    fn ranges(groups: &[MessageGroup]) -> Vec<(Seq, Seq)> {
        groups.iter().map(|group| (group.seqs[0], *group.seqs.last().unwrap())).collect()
    }

    const ALONE: GroupRequest<'_> =
        GroupRequest { before: 1, after: 1, turn_group: &|_, seq| (seq, seq), last_seq: &|_| 100 };

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
        let present = Present { ranges: &present, texts: &[1_050, 2_003] };
        let hits = [hit(1, 20, 0.9), hit(1, 30, 0.8), hit(2, 3, 0.7), hit(2, 40, 0.6)];
        assert_eq!(ranges(&expand_without(&hits, &ALONE, &present)), [(19, 20), (39, 41)]);
    }

    #[test]
    fn the_same_text_comes_once() {
        let mut other = hit(2, 7, 0.5);
        other.content_hash = hit(1, 20, 0.0).content_hash;
        let hits = [hit(1, 20, 0.9), other];
        assert_eq!(expand_without(&hits, &ALONE, &Present::default()).len(), 1);
        assert_eq!(expand(&hits, &ALONE).len(), 2);
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
            let request = GroupRequest { before, after, turn_group: &of_three, last_seq: &|_| 60 };
            let groups = expand_without(&hits, &request, &Present { ranges: &present, texts: &[] });
            let mut messages = SortedSet::new();
            for group in &groups {
                prop_assert_eq!((group.seqs[0] - 1) % 3, 0);
                prop_assert_eq!(group.seqs.last().unwrap() % 3, 0);
                for seq in group.seqs.iter().copied() {
                    prop_assert!(messages.insert((group.conversation, seq)));
                    prop_assert!(!present.iter().any(|other| other.conversation == group.conversation
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
        fn a_nonsense_lookup_cannot_break_it(seq in 0_u32..99, bounds in (0_u32..99, 0_u32..99), newest in 0_u32..99) {
            let request = GroupRequest { turn_group: &|_, _| bounds, last_seq: &|_| newest, ..ALONE };
            for group in expand(&[hit(1, seq, 0.5)], &request) {
                prop_assert!(group.seqs.contains(&seq));
            }
        }
    }
}
