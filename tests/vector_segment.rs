//! Sealed rows: the same answers after as before, and nothing but an error from what is damaged.
#![allow(clippy::unwrap_used)] // test code outside of test functions

#[path = "vector_index/suite.rs"]
#[allow(dead_code)] // each test program uses its share of the suite
mod suite;

use proptest::prelude::*;
use suite::{Random, clustered};
use throughline::Code;
use throughline::vector::{RowSegment, RowSegmentBuilder, TieredIndex, Tiers, VectorIndex};

const DIMENSIONS: usize = 40;

/// Every tenth is a twin, every hundredth has no direction.
fn vectors(seed: u64, count: usize) -> Vec<Vec<f32>> {
    let odd = |(at, vector): (usize, Vec<f32>)| match at {
        _ if at % 100 == 1 => vec![0.0; DIMENSIONS],
        _ if at % 10 == 0 => vec![1.0; DIMENSIONS],
        _ => vector,
    };
    clustered(&mut Random(seed), count, DIMENSIONS, 50).into_iter().enumerate().map(odd).collect()
}

fn sealed(vectors: &[Vec<f32>], centre: Option<&[f32]>) -> Vec<u8> {
    let mut builder = RowSegmentBuilder::new(DIMENSIONS, centre);
    vectors.iter().for_each(|vector| builder.push(vector).unwrap());
    builder.finish()
}

fn codes_only() -> TieredIndex {
    let tiers = Tiers { exact_max_rows: 10, graph_min_rows: usize::MAX, ..Tiers::AUTO };
    TieredIndex::new(DIMENSIONS, tiers)
}

fn assert_same(a: &TieredIndex, b: &TieredIndex) {
    assert_eq!(a.len(), b.len());
    for query in clustered(&mut Random(5), 200, DIMENSIONS, 50) {
        assert_eq!(a.search(&query, 10, None).unwrap(), b.search(&query, 10, None).unwrap());
    }
}

#[test]
fn attached_rows_answer_as_inserted_ones() {
    let vectors = vectors(4, 6_000);
    for tiers in [Tiers::EXACT, Tiers::HNSW] {
        let mut inserted = TieredIndex::new(DIMENSIONS, tiers);
        for (id, vector) in vectors.iter().enumerate() {
            inserted.insert(id as u32 * 3, vector).unwrap();
        }
        let mut attached = TieredIndex::new(DIMENSIONS, tiers);
        for (start, rows) in vectors.chunks(2_500).enumerate() {
            let segment = RowSegment::open(sealed(rows, None)).unwrap();
            attached.attach(&segment, &|row| Some((start as u32 * 2_500 + row) * 3)).unwrap();
        }
        // Without its graph the second way answers by codes, which depend on the centre.
        inserted.grow(usize::MAX);
        attached.grow(usize::MAX);
        assert_same(&inserted, &attached);
    }
}

#[test]
fn codes_are_those_of_the_first_centre_whether_copied_or_made_anew() {
    let vectors = vectors(6, 5_000);
    let first = RowSegment::open(sealed(&vectors[..3_000], None)).unwrap();
    let same = RowSegment::open(sealed(&vectors[3_000..], Some(first.centre()))).unwrap();
    let other = RowSegment::open(sealed(&vectors[3_000..], None)).unwrap();
    assert!(same.centre() == first.centre() && other.centre() != first.centre());
    let [mut copied, mut made, mut late] = [codes_only(), codes_only(), codes_only()];
    for index in [&mut copied, &mut made] {
        index.attach(&first, &Some).unwrap();
    }
    copied.attach(&same, &|row| Some(3_000 + row)).unwrap();
    made.attach(&other, &|row| Some(3_000 + row)).unwrap();
    assert_eq!(made.centre(), Some(first.centre()));
    assert_same(&copied, &made);
    // Rows that were there before the first segment get its centre too, and keep it.
    for (id, vector) in (3_000..).zip(&vectors[3_000..]) {
        late.insert(id, vector).unwrap();
    }
    late.attach(&first, &Some).unwrap();
    assert_eq!(late.centre(), Some(first.centre()));
    for query in clustered(&mut Random(5), 200, DIMENSIONS, 50) {
        assert_eq!(late.search(&query, 10, None).unwrap(), copied.search(&query, 10, None).unwrap());
    }
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let vectors = vectors(7, 300);
    let bytes = sealed(&vectors, None);
    assert_eq!(bytes, sealed(&vectors, None));
    let scaled: Vec<Vec<f32>> = vectors.iter().map(|vector| vector.iter().map(|value| value * 4.0).collect()).collect();
    assert_eq!(bytes, sealed(&scaled, None), "only the direction counts");
}

#[test]
fn merging_keeps_what_is_wanted_under_one_centre() {
    let vectors = vectors(8, 900);
    let [first, second, third] =
        [0..300, 300..600, 600..900].map(|rows| RowSegment::open(sealed(&vectors[rows], None)).unwrap());
    let even = |row: u32| row.is_multiple_of(2);
    let merged = RowSegment::merged(&[(&first, &even), (&second, &|_| false), (&third, &even)]).unwrap();
    let kept: Vec<Vec<f32>> = (0..300).chain(600..900).step_by(2).map(|at| vectors[at].clone()).collect();
    assert_eq!(merged, sealed(&kept, Some(first.centre())));
    assert_eq!(RowSegment::open(merged).unwrap().len(), 300);
    assert_eq!(RowSegment::merged(&[]).unwrap_err().code, Code::InvalidArgument);
    let other = RowSegment::open(RowSegmentBuilder::new(DIMENSIONS + 1, None).finish()).unwrap();
    let all = |_| true;
    assert_eq!(
        RowSegment::merged(&[(&first, &all), (&other, &all)]).unwrap_err().code,
        Code::EmbeddingDimensionMismatch
    );
}

#[test]
fn rows_take_the_place_of_their_ids_and_those_without_one_are_left_out() {
    let rows = vectors(9, 200);
    let segment = RowSegment::open(sealed(&rows, None)).unwrap();
    let mut index = TieredIndex::new(DIMENSIONS, Tiers::AUTO);
    // Row 1 is a zero vector: id 1 is there, and no longer found.
    (0..10).for_each(|id| index.insert(id, &[1.0; DIMENSIONS]).unwrap());
    index.attach(&segment, &|row| (row < 100).then_some(row)).unwrap();
    assert_eq!(index.len(), 100);
    let ids: Vec<u32> = (0..100).collect();
    let similarities = index.similarities(&rows[5], &ids).unwrap();
    assert!(similarities[1].is_none() && similarities[5].unwrap() > 0.999 && similarities[4].unwrap() < 0.999);
    let mut other = TieredIndex::new(DIMENSIONS + 1, Tiers::AUTO);
    assert_eq!(other.attach(&segment, &Some).unwrap_err().code, Code::EmbeddingDimensionMismatch);
    assert!(other.is_empty());
}

#[cfg(feature = "instant-distance")]
#[test]
fn other_indexes_take_segments_too() {
    let vectors = vectors(10, 300);
    let segment = RowSegment::open(sealed(&vectors, None)).unwrap();
    let mut index = throughline::vector::InstantIndex::new(DIMENSIONS);
    index.attach(&segment, &Some).unwrap();
    assert_eq!((index.len(), index.search(&vectors[5], 1, None).unwrap()[0].id), (300, 5));
}

#[test]
fn an_empty_segment_and_unusable_rows() {
    let segment = RowSegment::open(sealed(&[], None)).unwrap();
    assert!((segment.is_empty(), segment.dimensions()) == (true, DIMENSIONS));
    let mut builder = RowSegmentBuilder::new(2, None);
    assert_eq!(builder.push(&[1.0]).unwrap_err().code, Code::EmbeddingDimensionMismatch);
    assert_eq!(builder.push(&[1.0, f32::NAN]).unwrap_err().code, Code::EmbeddingFailed);
    builder.push(&[3.0, 4.0]).unwrap();
    assert_eq!(RowSegment::open(builder.finish()).unwrap().len(), 1);
}

#[test]
fn every_shortened_or_lengthened_segment_is_refused() {
    let bytes = sealed(&vectors(11, 5), None);
    for end in 0..bytes.len() {
        assert!(RowSegment::open(bytes[..end].to_vec()).is_err_and(|error| error.code == Code::StorageCorrupt));
    }
    assert!(RowSegment::open([bytes, vec![0]].concat()).is_err_and(|error| error.code == Code::StorageCorrupt));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Changed bytes: refused, or rows that answer within range and never panic. Headers are changed most.
    #[test]
    fn forged_segments_never_harm(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..6),
    ) {
        let mut bytes = sealed(&vectors(12, 120), None);
        let length = bytes.len();
        for (at, byte, is_header) in &changes {
            bytes[at.index(if *is_header { 16 } else { length })] = *byte;
        }
        match RowSegment::open(bytes) {
            Err(error) => prop_assert_eq!(error.code, Code::StorageCorrupt),
            Ok(segment) => {
                let mut index = TieredIndex::new(
                    segment.dimensions(),
                    Tiers { exact_max_rows: 10, graph_min_rows: 100, ..Tiers::HNSW },
                );
                index.attach(&segment, &Some).unwrap();
                index.grow(50);
                let found = index.search(&vec![1.0; segment.dimensions()], 20, None).unwrap();
                prop_assert!(found.len() <= 20 && found.iter().all(|row| (-1.0..=1.0).contains(&row.similarity)));
                let everything = |_| true;
                RowSegment::open(RowSegment::merged(&[(&segment, &everything), (&segment, &everything)]).unwrap()).unwrap();
            }
        }
    }
}
