//! Sealed segments: the same documents give the same bytes and the same answers, however they were put together.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use proptest::prelude::*;
use throughline::error::Code;
use throughline::lexical::{Analyzer, LexicalIndex, LexicalSegment, SegmentBuilder, hash_term};

const WORDS: [&str; 10] =
    ["alpha", "beta", "the", "src/main.rs", "数据库", "서버를", "running", "runs", "Ünïcode", "42"];

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(0..WORDS.len(), 0..8)
        .prop_map(|words| words.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" "))
}

fn sealed<'a>(texts: impl IntoIterator<Item = &'a String>) -> LexicalSegment {
    let mut builder = SegmentBuilder::new();
    for text in texts {
        builder.add(&Analyzer::default(), text);
    }
    LexicalSegment::open(builder.finish()).unwrap()
}

/// One way in which documents reach an index. The numbers choose among what is there.
#[derive(Clone, Debug)]
enum Step {
    Add(String),
    Attach(Vec<(String, bool)>),
    AttachMerged(Vec<(String, bool)>, Vec<(String, bool)>),
    Remove(prop::sample::Index),
    Sweep,
}

fn step() -> impl Strategy<Value = Step> {
    let documents = || prop::collection::vec((text(), prop::bool::weighted(0.8)), 0..12);
    prop_oneof![
        4 => text().prop_map(Step::Add),
        2 => documents().prop_map(Step::Attach),
        1 => (documents(), documents()).prop_map(|(one, other)| Step::AttachMerged(one, other)),
        4 => any::<prop::sample::Index>().prop_map(Step::Remove),
        1 => Just(Step::Sweep),
    ]
}

fn attach(index: &mut LexicalIndex, live: &mut Vec<(u32, String)>, documents: &[(String, bool)]) {
    let first = index.attach(sealed(documents.iter().map(|(text, _)| text)), &|number| documents[number as usize].1);
    live.extend((first..).zip(documents).filter(|(_, (_, keeps))| *keeps).map(|(at, (text, _))| (at, text.clone())));
}

fn attach_merged(
    index: &mut LexicalIndex,
    live: &mut Vec<(u32, String)>,
    one: &[(String, bool)],
    other: &[(String, bool)],
) {
    let (first, second) = (sealed(one.iter().map(|(text, _)| text)), sealed(other.iter().map(|(text, _)| text)));
    let bytes = LexicalSegment::merged(&[
        (&first, &|number| one[number as usize].1),
        (&second, &|number| other[number as usize].1),
    ]);
    let kept: Vec<&String> = one.iter().chain(other).filter(|(_, keeps)| *keeps).map(|(text, _)| text).collect();
    assert_eq!(bytes, sealed(kept.iter().copied()).bytes(), "merged is the same as built from what is kept");
    let first = index.attach(LexicalSegment::open(bytes).unwrap(), &|_| true);
    live.extend((first..).zip(kept).map(|(at, text)| (at, text.clone())));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn however_it_was_put_together_an_index_answers_the_same(
        steps in prop::collection::vec(step(), 1..30),
        question in text(),
    ) {
        let analyzer = Analyzer::default();
        let mut index = LexicalIndex::new();
        let mut live: Vec<(u32, String)> = Vec::new();
        for step in &steps {
            match step {
                Step::Add(text) => live.push((index.add(&analyzer, text), text.clone())),
                Step::Attach(documents) => attach(&mut index, &mut live, documents),
                Step::AttachMerged(one, other) => attach_merged(&mut index, &mut live, one, other),
                Step::Remove(which) if !live.is_empty() => {
                    let (document, _) = live.remove(which.index(live.len()));
                    prop_assert!(index.contains(document) && index.remove(document));
                    prop_assert!(!index.contains(document) && !index.remove(document));
                }
                Step::Remove(_) => {}
                Step::Sweep => index.sweep(),
            }
        }
        let mut fresh = LexicalIndex::new();
        for (_, text) in &live {
            fresh.add(&analyzer, text);
        }
        let position = |document: u32| live.iter().position(|(other, _)| *other == document);
        let found: Vec<_> = index.search(&analyzer, &question, 100).iter()
            .map(|hit| (position(hit.document), hit.score)).collect();
        let expected: Vec<_> = fresh.search(&analyzer, &question, 100).iter()
            .map(|hit| (Some(hit.document as usize), hit.score)).collect();
        prop_assert_eq!(found, expected);
        prop_assert_eq!((index.len(), index.mean_length()), (fresh.len(), fresh.mean_length()));
        for term in WORDS.map(hash_term) {
            prop_assert_eq!(index.document_frequency(term), fresh.document_frequency(term));
        }
        for (document, text) in &live {
            prop_assert_eq!(index.length(*document), sealed([text]).bytes()[16..18].iter().rev().fold(0, |sum, byte| sum << 8 | u16::from(*byte)));
        }
    }

    #[test]
    fn damaged_bytes_are_refused_or_read_without_harm(
        texts in prop::collection::vec(text(), 0..12),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
        question in text(),
    ) {
        let analyzer = Analyzer::default();
        let mut bytes = sealed(&texts).bytes().to_vec();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        match LexicalSegment::open(bytes) {
            Err(error) => prop_assert_eq!(error.code, Code::StorageCorrupt),
            Ok(segment) => {
                let merged = LexicalSegment::merged(&[(&segment, &|document| document % 2 == 0), (&segment, &|_| true)]);
                prop_assert!(LexicalSegment::open(merged).is_ok());
                let mut index = LexicalIndex::new();
                let documents = segment.len();
                index.attach(segment, &|document| document % 3 != 0);
                for document in (0..documents).step_by(2) {
                    index.remove(document);
                }
                prop_assert!(index.search(&analyzer, &question, 10).len() <= 10);
                index.sweep();
                prop_assert!(index.search(&analyzer, &question, 10).len() <= documents as usize);
            }
        }
    }
}

#[test]
fn what_is_no_segment_is_refused() {
    for bytes in [vec![], vec![0; 15], vec![0; 16], vec![255; 64], b"TLX1".to_vec()] {
        assert_eq!(LexicalSegment::open(bytes).unwrap_err().code, Code::StorageCorrupt);
    }
    let mut longer = sealed(&["alpha".to_owned()]).bytes().to_vec();
    longer.push(0);
    assert_eq!(LexicalSegment::open(longer).unwrap_err().code, Code::StorageCorrupt);
    let mut huge = sealed(&[]).bytes().to_vec();
    huge[4..12].fill(0xFF);
    assert_eq!(LexicalSegment::open(huge).unwrap_err().code, Code::StorageCorrupt);
}

#[test]
fn an_empty_segment_is_a_segment() {
    let segment = sealed(&[]);
    assert!(segment.is_empty() && LexicalSegment::merged(&[]) == segment.bytes());
    let mut index = LexicalIndex::new();
    index.add(&Analyzer::default(), "alpha");
    assert_eq!(index.attach(segment, &|_| true), 1);
    assert_eq!(index.add(&Analyzer::default(), "beta"), 1);
}

#[test]
fn long_lists_come_back_whole() {
    let texts: Vec<String> =
        (0..3_000).map(|number| format!("common {} {}", "often ".repeat(number % 9), number % 7)).collect();
    let mut index = LexicalIndex::new();
    index.attach(sealed(&texts), &|_| true);
    let mut seen = Vec::new();
    index.for_each_posting(hash_term("often"), |document, frequency| seen.push((document, frequency)));
    let expected: Vec<(u32, u16)> =
        (0..3_000_u32).filter(|number| number % 9 != 0).map(|number| (number, (number % 9) as u16)).collect();
    assert_eq!(seen, expected);
    assert_eq!(index.document_frequency(hash_term("common")), 3_000);
}
