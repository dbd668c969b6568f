//! A map and a set in one sorted list.
//!
//! The standard library's trees bring about 5 KB of WebAssembly for every pair of key and value types; these bring a
//! tenth. Look-ups are O(log n), an insertion at the end is O(1), one elsewhere moves what follows: for maps of up to
//! some thousands of entries, or whose keys rise.

use serde::{Serialize, Serializer};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::ops::{Bound, Range};

/// A map whose entries stand in the order of their keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortedMap<K, V> {
    entries: Vec<(K, V)>,
}

/// A set whose elements stand in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortedSet<T> {
    entries: SortedMap<T, ()>,
}

/// Where an entry is, or where it would go. `compare` says how the entry at a position stands to the one looked for.
#[inline(never)]
fn position(len: usize, compare: &dyn Fn(usize) -> Ordering) -> Result<usize, usize> {
    let (mut low, mut high) = (0, len);
    let mut middle = len.saturating_sub(1);
    while low < high {
        match compare(middle) {
            Ordering::Less => low = middle + 1,
            Ordering::Equal => return Ok(middle),
            Ordering::Greater => high = middle,
        }
        middle = low + (high - low) / 2;
    }
    Err(low)
}

impl<K: Ord, V> SortedMap<K, V> {
    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    fn position<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        position(self.entries.len(), &|at| {
            self.entries.get(at).map_or(Ordering::Greater, |(other, _)| other.borrow().cmp(key))
        })
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.entries.get(self.position(key).ok()?).map(|(_, value)| value)
    }

    /// The value of a key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let at = self.position(key).ok()?;
        self.entries.get_mut(at).map(|(_, value)| value)
    }

    /// Whether the key is there.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.position(key).is_ok()
    }

    /// Sets a key's value and answers the former one.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.position(&key) {
            Ok(at) => self.entries.get_mut(at).map(|(_, former)| std::mem::replace(former, value)),
            Err(at) => {
                self.entries.insert(at, (key, value));
                None
            }
        }
    }

    /// The value of a key, which is the default value where the key is new.
    pub fn get_or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let at = self.position(&key).unwrap_or_else(|at| {
            self.entries.insert(at, (key, V::default()));
            at
        });
        &mut self.entries[at].1
    }

    /// Removes a key and answers its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let at = self.position(key).ok()?;
        Some(self.entries.remove(at).1)
    }

    /// The positions of the keys between two bounds.
    fn span(&self, lower: Bound<&K>, upper: Bound<&K>) -> Range<usize> {
        let start = match lower {
            Bound::Included(key) => self.position(key).unwrap_or_else(|at| at),
            Bound::Excluded(key) => self.position(key).map_or_else(|at| at, |at| at + 1),
            Bound::Unbounded => 0,
        };
        let end = match upper {
            Bound::Included(key) => self.position(key).map_or_else(|at| at, |at| at + 1),
            Bound::Excluded(key) => self.position(key).unwrap_or_else(|at| at),
            Bound::Unbounded => self.entries.len(),
        };
        start..end.max(start)
    }

    /// The entries whose keys are between two bounds, in order.
    pub fn range(&self, lower: Bound<&K>, upper: Bound<&K>) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        let found = self.entries.get(self.span(lower, upper)).unwrap_or_default();
        found.iter().map(|(key, value)| (key, value))
    }

    /// Removes the entries whose keys are between two bounds.
    pub fn remove_range(&mut self, lower: Bound<&K>, upper: Bound<&K>) {
        let span = self.span(lower, upper);
        self.entries.drain(span);
    }

    /// Keeps the entries that `keep` answers true for.
    pub fn retain(&mut self, keep: &dyn Fn(&K, &V) -> bool) {
        self.entries.retain(|(key, value)| keep(key, value));
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Keys and values in the order of the keys.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> + Clone {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// The keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + Clone {
        self.entries.iter().map(|(key, _)| key)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + Clone {
        self.entries.iter().map(|(_, value)| value)
    }

    /// The values in the order of their keys, to be changed.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// The values in the order of their keys, by value.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> {
        self.entries.into_iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::new();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

impl<K: Serialize, V: Serialize> Serialize for SortedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.entries.iter().map(|(key, value)| (key, value)))
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<T: Ord> SortedSet<T> {
    /// An empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self { entries: SortedMap::new() }
    }

    /// Whether the element is there.
    pub fn contains<Q: Ord + ?Sized>(&self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.entries.contains_key(element)
    }

    /// Adds an element; false: it was there.
    pub fn insert(&mut self, element: T) -> bool {
        self.entries.insert(element, ()).is_none()
    }

    /// Removes an element; false: it was not there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, element: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.entries.remove(element).is_some()
    }

    /// Keeps the elements that this says.
    pub fn retain(&mut self, keep: &dyn Fn(&T) -> bool) {
        self.entries.retain(&|element, ()| keep(element));
    }

    /// Removes all elements.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The elements in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + Clone {
        self.entries.keys()
    }
}

impl<T: Ord> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        for element in elements {
            self.insert(element);
        }
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        let mut set = Self::new();
        set.extend(elements);
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    proptest! {
        #[test]
        fn does_what_the_tree_does(steps in prop::collection::vec((0_u8..4, 0_u8..30, any::<u16>()), 0..200)) {
            let (mut map, mut tree) = (SortedMap::new(), BTreeMap::new());
            for (step, key, value) in steps {
                match step {
                    0 => prop_assert_eq!(map.remove(&key), tree.remove(&key)),
                    1 => {
                        *map.get_or_default(key) |= value;
                        *tree.entry(key).or_default() |= value;
                    }
                    _ => prop_assert_eq!(map.insert(key, value), tree.insert(key, value)),
                }
                prop_assert_eq!(map.get(&key), tree.get(&key));
                prop_assert_eq!(map.len(), tree.len());
            }
            prop_assert!(map.iter().eq(tree.iter()));
            prop_assert!(map.keys().rev().eq(tree.keys().rev()));
            for (low, high) in [(5, 20), (7, 7), (0, 40)] {
                for (lower, upper) in [
                    (Bound::Included(&low), Bound::Excluded(&high)),
                    (Bound::Excluded(&low), Bound::Included(&high)),
                    (Bound::Unbounded, Bound::Included(&high)),
                    (Bound::Included(&low), Bound::Unbounded),
                ] {
                    if low < high {
                        prop_assert!(map.range(lower, upper).eq(tree.range((lower, upper))));
                        let mut rest = map.clone();
                        rest.remove_range(lower, upper);
                        let keys: Vec<&u8> = tree.range((lower, upper)).map(|(key, _)| key).collect();
                        prop_assert!(rest.iter().eq(tree.iter().filter(|(key, _)| !keys.contains(key))));
                    }
                }
            }
            prop_assert!(map.into_values().eq(tree.into_values()));
        }

        #[test]
        fn a_set_holds_what_a_tree_set_holds(texts in prop::collection::vec("[a-d]{0,2}", 0..60), gone in "[a-d]{0,2}") {
            let (mut set, mut tree): (SortedSet<String>, BTreeSet<String>) =
                (texts.iter().cloned().collect(), texts.into_iter().collect());
            prop_assert_eq!(set.remove(gone.as_str()), tree.remove(&gone));
            prop_assert!(!set.contains(gone.as_str()));
            prop_assert_eq!(set.insert("b".to_owned()), tree.insert("b".to_owned()));
            prop_assert!(set.iter().eq(tree.iter()));
        }
    }
}
