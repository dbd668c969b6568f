//! Which messages segments cover, and which they do not.

use crate::message::Seq;
use crate::records::SegmentRun;

/// A conversation whose messages are wanted from one position to another, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted<'a> {
    /// The conversation.
    pub conversation_id: &'a str,
    /// What a run must have been made of.
    pub born: u32,
    /// Likewise.
    pub removed: Seq,
    /// First position wanted.
    pub first_seq: Seq,
    /// Last position wanted, inclusive.
    pub last_seq: Seq,
}

impl Wanted<'_> {
    fn is_met_by(&self, run: &SegmentRun) -> bool {
        run.born == self.born && run.removed == self.removed
    }
}

/// A stretch of wanted messages, both ends inclusive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// The run that has it, by the numbers of its segment and of the run in it; `None`: no run does.
    pub run: Option<(usize, usize)>,
    /// Index of the conversation among those wanted.
    pub wanted: usize,
    /// First position.
    pub first_seq: Seq,
    /// Last position, inclusive.
    pub last_seq: Seq,
}

impl Stretch {
    /// Messages in it.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.last_seq + 1 - self.first_seq
    }

    /// Never.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }
}

/// Divides what is wanted, conversations in order of their ids, into stretches that runs cover and stretches that none
/// does: in order, without gaps and overlaps.
#[must_use]
pub fn stretches(segments: &[&[SegmentRun]], wanted: &[Wanted<'_>]) -> Vec<Stretch> {
    let mut runs: Vec<(&SegmentRun, (usize, usize))> = Vec::new();
    for (segment, list) in segments.iter().enumerate() {
        runs.extend(list.iter().enumerate().map(|(index, run)| (run, (segment, index))));
    }
    crate::sorting::sort_by(&mut runs, &|(a, _), (b, _)| {
        a.conversation_id.cmp(&b.conversation_id).then(a.first_seq.cmp(&b.first_seq))
    });
    let mut found = Vec::new();
    let mut runs = runs.into_iter().peekable();
    for (index, conversation) in wanted.iter().enumerate() {
        let mut next = conversation.first_seq;
        let mut add = |run, first_seq: Seq, last_seq: Seq| {
            if first_seq <= last_seq {
                found.push(Stretch { run, wanted: index, first_seq, last_seq });
            }
        };
        while let Some((run, place)) =
            runs.next_if(|(run, _)| run.conversation_id.as_str() <= conversation.conversation_id)
        {
            let is_met = run.conversation_id == conversation.conversation_id && conversation.is_met_by(run);
            let last_seq = run.last_seq.min(conversation.last_seq);
            if !is_met || last_seq < next || run.first_seq > conversation.last_seq {
                continue;
            }
            if run.first_seq > next {
                add(None, next, run.first_seq - 1);
            }
            add(Some(place), next.max(run.first_seq), last_seq);
            next = last_seq + 1;
        }
        add(None, next, conversation.last_seq);
    }
    found
}

/// Segments of one tier that are merged into one of the next.
const FAN: usize = 4;

/// Which segments of these sizes to merge: the oldest four of one tier, or as many as make up `most`. Each tier is of
/// segments four times as large as the one before, from `least` on, so that every message is written once a tier; from
/// `most` on they stay as they are.
#[must_use]
pub fn merge_due(sizes: &[u32], least: u32, most: u32) -> Option<Vec<usize>> {
    let (mut lower, mut upper) = (0, least.max(1).saturating_mul(FAN as u32));
    while lower < most {
        let mut merged = Vec::new();
        let mut sum = 0_u32;
        for (index, size) in sizes.iter().enumerate().filter(|(_, size)| **size >= lower && **size < upper.min(most)) {
            merged.push(index);
            sum = sum.saturating_add(*size);
            if merged.len() == FAN || (merged.len() > 1 && sum >= most) {
                return Some(merged);
            }
        }
        (lower, upper) = (upper, upper.saturating_mul(FAN as u32));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(conversation_id: &str, born: u32, first_seq: Seq, last_seq: Seq) -> SegmentRun {
        SegmentRun { conversation_id: conversation_id.into(), born, removed: 0, first_seq, last_seq }
    }

    fn wanted(conversation_id: &str, last_seq: Seq) -> Wanted<'_> {
        Wanted { conversation_id, born: 1, removed: 0, first_seq: 1, last_seq }
    }

    #[test]
    fn runs_of_another_life_or_beyond_the_end_cover_nothing() {
        let runs = [run("a", 1, 1, 4), run("a", 2, 5, 9), run("b", 1, 3, 9), run("gone", 1, 1, 9)];
        let found = stretches(&[&runs], &[wanted("a", 6), wanted("b", 5), wanted("c", 2)]);
        let short: Vec<_> =
            found.iter().map(|one| (one.wanted, one.run.is_some(), one.first_seq, one.last_seq)).collect();
        assert_eq!(short, [(0, true, 1, 4), (0, false, 5, 6), (1, false, 1, 2), (1, true, 3, 5), (2, false, 1, 2)]);
    }

    #[test]
    fn segments_are_merged_by_fours_up_to_the_largest_size() {
        assert_eq!(merge_due(&[512; 3], 512, 8_192), None);
        assert_eq!(merge_due(&[8_192, 512, 512, 512, 600], 512, 8_192), Some(vec![1, 2, 3, 4]));
        assert_eq!(merge_due(&[8_192; 20], 512, 8_192), None);
        assert_eq!(merge_due(&[2_048, 512, 2_048, 512, 2_048, 2_048], 512, 8_192), Some(vec![0, 2, 4, 5]));
        assert_eq!(merge_due(&[4_096, 2_048, 4_096], 512, 8_192), Some(vec![0, 1, 2]));
    }

    #[test]
    fn each_message_is_written_a_few_times_and_segments_stay_few() {
        let mut sizes: Vec<u32> = Vec::new();
        let mut written = 0;
        for sealed in [512; 200] {
            sizes.push(sealed);
            written += sealed;
            while let Some(merged) = merge_due(&sizes, 512, 8_192) {
                let sum: u32 = merged.iter().map(|index| sizes[*index]).sum();
                for index in merged.iter().rev() {
                    sizes.remove(*index);
                }
                sizes.push(sum);
                written += sum;
            }
        }
        assert_eq!(sizes.iter().sum::<u32>(), 200 * 512);
        assert!(sizes.len() <= 100_000 / 8_192 + 6, "{sizes:?}");
        assert!(written <= 3 * 200 * 512, "{written}");
    }

    proptest! {
        #[test]
        fn every_wanted_position_is_in_one_stretch_and_where_a_run_has_it_in_that_run(
            spans in prop::collection::vec((0..3_usize, 0..3_u32, 1..30_u32, 0..12_u32), 0..20),
            lasts in prop::collection::vec(0..40_u32, 3),
        ) {
            let ids = ["a", "b", "c"];
            let segments: Vec<Vec<SegmentRun>> =
                spans.iter().map(|(id, born, first, more)| vec![run(ids[*id], *born, *first, first + more)]).collect();
            let lists: Vec<&[SegmentRun]> = segments.iter().map(Vec::as_slice).collect();
            let wanted: Vec<Wanted<'_>> = ids.iter().zip(&lasts).map(|(id, last)| wanted(id, *last)).collect();
            let found = stretches(&lists, &wanted);
            for (index, conversation) in wanted.iter().enumerate() {
                let mut next = 1;
                for one in found.iter().filter(|one| one.wanted == index) {
                    prop_assert_eq!(one.first_seq, next);
                    prop_assert!(one.last_seq >= one.first_seq);
                    next = one.last_seq + 1;
                    let covers = |run: &SegmentRun, seq: Seq| {
                        run.conversation_id == conversation.conversation_id
                            && run.born == 1
                            && run.first_seq <= seq
                            && seq <= run.last_seq
                    };
                    for seq in one.first_seq..=one.last_seq {
                        match one.run {
                            Some((segment, at)) => prop_assert!(covers(&lists[segment][at], seq)),
                            None => prop_assert!(!lists.iter().any(|list| list.iter().any(|run| covers(run, seq)))),
                        }
                    }
                }
                prop_assert_eq!(next, conversation.last_seq + 1);
            }
        }
    }
}
