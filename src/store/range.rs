//! Which keys a prefix and its bounds select, as one interval of the key order. Every implementation reads through this.

use super::{Key, KeyPart, Query, Store};
use crate::error::{Error, Result};
use std::ops::Bound;

/// The largest number a stored key may hold, 2^53 - 1: IndexedDB keeps numbers as f64, exact up to here.
pub const MAX_KEY_NUMBER: u64 = (1 << 53) - 1;

/// An interval of keys. Never inverted: whatever selects nothing has no range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The lowest key.
    pub lower: Bound<Key>,
    /// The highest key.
    pub upper: Bound<Key>,
}

impl KeyRange {
    /// Every key that begins with `prefix`, `prefix` itself included.
    #[must_use]
    pub fn prefix(prefix: &Key) -> Self {
        let lower = if prefix.0.is_empty() { Bound::Unbounded } else { Bound::Included(prefix.clone()) };
        Self { lower, upper: after_prefix(prefix) }
    }

    /// The keys that a query selects; `None`: none can, because its bounds are inverted or its limit is 0.
    ///
    /// With a bound, a key must have a component after the prefix: the prefix alone is not selected.
    #[must_use]
    pub fn of(query: &Query) -> Option<Self> {
        if query.limit == Some(0) || matches!((&query.from, &query.to), (Some(from), Some(to)) if from > to) {
            return None;
        }
        let lower = match (&query.from, &query.to) {
            (Some(from), _) => Bound::Included(extended(&query.prefix, from)),
            (None, Some(_)) => Bound::Excluded(query.prefix.clone()),
            (None, None) => return Some(Self::prefix(&query.prefix)),
        };
        let upper = match &query.to {
            Some(to) => after_prefix(&extended(&query.prefix, to)),
            None => after_prefix(&query.prefix),
        };
        Some(Self { lower, upper })
    }

    /// Whether every key is in it.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.lower == Bound::Unbounded && self.upper == Bound::Unbounded
    }
}

/// Places in a list of keys, from and to, that follow each other: same store, same components but the last, which is one
/// higher each time. A store may read such a run as one range, where its keys all have the same number of components.
#[must_use]
pub fn runs(keys: &[(Store, Key)]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::with_capacity(keys.len());
    for (place, key) in keys.iter().enumerate() {
        match runs.last_mut() {
            Some((_, end)) if follows(&keys[place - 1], key) => *end = place + 1,
            _ => runs.push((place, place + 1)),
        }
    }
    runs
}

fn follows((store, before): &(Store, Key), (next_store, next): &(Store, Key)) -> bool {
    let (Some((last, start)), Some((next_last, next_start))) = (before.0.split_last(), next.0.split_last()) else {
        return false;
    };
    let is_next =
        matches!((last, next_last), (KeyPart::Number(one), KeyPart::Number(two)) if one.checked_add(1) == Some(*two));
    is_next && store == next_store && start == next_start && store.has_keys_of_one_length()
}

/// `prefix` with one component more.
fn extended(prefix: &Key, part: &KeyPart) -> Key {
    let mut parts = prefix.0.clone();
    parts.push(part.clone());
    Key(parts)
}

/// The first key after all that begin with `prefix`: its last component replaced by the next value there is.
fn after_prefix(prefix: &Key) -> Bound<Key> {
    let mut parts = prefix.0.clone();
    let next = match parts.pop() {
        None => return Bound::Unbounded,
        Some(KeyPart::Number(u64::MAX)) => KeyPart::Text(String::new()),
        Some(KeyPart::Number(number)) => KeyPart::Number(number + 1),
        // Nothing sorts between a text and the same text with a NUL behind it.
        Some(KeyPart::Text(text)) => KeyPart::Text(text + "\0"),
    };
    parts.push(next);
    Bound::Excluded(Key(parts))
}

/// Refuses a key that cannot be stored exactly. Keys that are only looked for need no such check: none is stored.
///
/// # Errors
/// [`crate::Code::InvalidArgument`] for a number above [`MAX_KEY_NUMBER`].
pub fn check_storable(key: &Key) -> Result<()> {
    if key.0.iter().any(|part| matches!(part, KeyPart::Number(number) if *number > MAX_KEY_NUMBER)) {
        return Err(Error::invalid_argument(format!(
            "a key holds a number above {MAX_KEY_NUMBER}, the largest that storage keeps exactly; use a smaller number or text"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key;
    use crate::store::Store;
    use proptest::prelude::*;
    use std::ops::RangeBounds;

    fn part() -> impl Strategy<Value = KeyPart> {
        prop_oneof![
            prop_oneof![0..4u64, Just(MAX_KEY_NUMBER), Just(u64::MAX)].prop_map(KeyPart::Number),
            prop_oneof![Just(""), Just("a"), Just("a\0"), Just("ab"), Just("\u{ffff}"), Just("😀")]
                .prop_map(KeyPart::from),
        ]
    }

    fn key(longest: usize) -> impl Strategy<Value = Key> {
        prop::collection::vec(part(), 0..=longest).prop_map(Key)
    }

    proptest! {
        #[test]
        fn selects_exactly_what_the_query_says(
            keys in prop::collection::vec(key(4), 0..40),
            prefix in key(2),
            from in prop::option::of(part()),
            to in prop::option::of(part()),
        ) {
            let query = Query { store: Store::Meta, prefix, from, to, limit: None, reverse: false };
            let range = KeyRange::of(&query);
            for key in keys {
                let next = key.0.get(query.prefix.0.len());
                let expected = key.0.starts_with(&query.prefix.0)
                    && query.from.as_ref().is_none_or(|from| next.is_some_and(|next| next >= from))
                    && query.to.as_ref().is_none_or(|to| next.is_some_and(|next| next <= to));
                let selected = range.as_ref().is_some_and(|range| {
                    (range.lower.as_ref(), range.upper.as_ref()).contains(&key)
                });
                prop_assert_eq!(selected, expected, "{:?} in {:?}", key, range);
            }
        }
    }

    #[test]
    fn inverted_bounds_and_a_limit_of_nothing_select_nothing() {
        assert_eq!(KeyRange::of(&Query::between(Store::Meta, key!["a"], 3, 2)), None);
        assert_eq!(KeyRange::of(&Query { limit: Some(0), ..Query::prefix(Store::Meta, key![]) }), None);
    }

    #[test]
    fn runs_are_of_one_store_and_one_higher_each_time() {
        let messages = |keys: &[Key]| keys.iter().map(|key| (Store::Messages, key.clone())).collect::<Vec<_>>();
        let mut keys = messages(&[key!["a", 4], key!["a", 5], key!["a", 6], key!["a", 6], key!["a", 8], key!["b", 9]]);
        keys.extend(messages(&[key!["b", "c"], key!["b", 3], key!["b", 2], key![], key![0], key!["a", 7]]));
        keys.push((Store::Embeddings, key!["a", 8]));
        assert_eq!(runs(&keys)[..2], [(0, 3), (3, 4)]);
        assert_eq!(runs(&keys).len(), keys.len() - 2);
        // Where keys may go on behind the number, something may stand between.
        let meta: Vec<(Store, Key)> = (0..3).map(|number| (Store::Meta, key!["a", number])).collect();
        assert_eq!(runs(&meta).len(), 3);
        assert!(runs(&[]).is_empty());
    }

    #[test]
    fn the_largest_exact_number_is_storable_and_the_next_is_not() {
        assert!(check_storable(&Key(vec![KeyPart::Number(MAX_KEY_NUMBER)])).is_ok());
        assert!(check_storable(&Key(vec![KeyPart::from("a"), KeyPart::Number(MAX_KEY_NUMBER + 1)])).is_err());
    }
}
