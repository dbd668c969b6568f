//! A set of row numbers, one bit each.

/// A growing bit set.
#[derive(Clone, Debug, Default)]
pub(super) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// An empty set with room for `len` members.
    pub(super) fn with_len(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(64)] }
    }

    /// Whether the row is in the set; rows beyond its room are not.
    pub(super) fn contains(&self, row: u32) -> bool {
        self.words.get(row as usize / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Puts the row in; true where it was not there before.
    pub(super) fn insert(&mut self, row: u32) -> bool {
        let word = row as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let bit = 1 << (row % 64);
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        is_new
    }

    /// Empties the set and gives its memory back.
    pub(super) fn clear(&mut self) {
        self.words = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_remembered_across_growth() {
        let mut bits = Bits::with_len(10);
        assert!(bits.insert(3) && !bits.insert(3) && bits.insert(1_000));
        assert!(bits.contains(3) && bits.contains(1_000) && !bits.contains(4) && !bits.contains(1_000_000));
        bits.clear();
        assert!(!bits.contains(3));
    }
}
