//! One stable sort for every list that is not on a hot path.
//!
//! The standard library's sorts are generic: each list type brings about 4 KB of WebAssembly. Here only the comparison
//! and the swaps are; the merging knows nothing but positions.

use std::cmp::Ordering;

/// Sorts stably, O(n log n) comparisons; a list that is in order already costs n - 1.
pub(crate) fn sort_by<T>(items: &mut [T], compare: &dyn Fn(&T, &T) -> Ordering) {
    let mut order = order_by(items.len(), &|one, other| match (items.get(one), items.get(other)) {
        (Some(one), Some(other)) => compare(one, other),
        _ => Ordering::Equal,
    });
    apply(&mut order, &mut |one, other| items.swap(one, other));
}

/// Sorts stably by the elements' own order.
pub(crate) fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, &T::cmp);
}

/// Sorts stably by a key.
pub(crate) fn sort_by_key<T, K: Ord>(items: &mut [T], key: &dyn Fn(&T) -> K) {
    sort_by(items, &|one, other| key(one).cmp(&key(other)));
}

/// The positions `0..len` in sorted order.
#[inline(never)]
fn order_by(len: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    if (1..len).all(|at| compare(at - 1, at) != Ordering::Greater) {
        return order;
    }
    let mut width = 1;
    while width < len {
        let mut out = Vec::with_capacity(len);
        order.chunks(width.saturating_mul(2)).for_each(|pair| merge(pair, width, compare, &mut out));
        order = out;
        width = width.saturating_mul(2);
    }
    order
}

/// Appends two sorted runs, the first `width` long, as one.
fn merge(runs: &[usize], width: usize, compare: &dyn Fn(usize, usize) -> Ordering, out: &mut Vec<usize>) {
    let (mut left, mut right) = runs.split_at(width.min(runs.len()));
    while let ([one, left_rest @ ..], [other, right_rest @ ..]) = (left, right) {
        if compare(*one, *other) == Ordering::Greater {
            out.push(*other);
            right = right_rest;
        } else {
            out.push(*one);
            left = left_rest;
        }
    }
    out.extend_from_slice(left);
    out.extend_from_slice(right);
}

/// Moves what stands at `order[at]` to `at`, for every `at`, by swaps along the cycles.
#[inline(never)]
fn apply(order: &mut [usize], swap: &mut dyn FnMut(usize, usize)) {
    for start in 0..order.len() {
        let mut at = start;
        while let Some(place) = order.get_mut(at) {
            let from = std::mem::replace(place, at);
            if from == start || from == at {
                break;
            }
            swap(at, from);
            at = from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_the_stable_sort_of_the_standard_library(keys in prop::collection::vec(0_u8..20, 0..200)) {
            let mut sorted: Vec<(u8, usize)> = keys.into_iter().zip(0..).collect();
            let mut expected = sorted.clone();
            expected.sort_by_key(|(key, _)| *key);
            sort_by(&mut sorted, &|one, other| one.0.cmp(&other.0));
            prop_assert_eq!(sorted, expected);
        }

        #[test]
        fn sorts_values_that_own_memory(texts in prop::collection::vec("[a-c]{0,3}", 0..50)) {
            let (mut sorted, mut expected) = (texts.clone(), texts);
            expected.sort();
            sort(&mut sorted);
            prop_assert_eq!(sorted, expected);
        }
    }
}
