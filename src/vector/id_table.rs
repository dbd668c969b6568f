//! Which row an id has: pages of numbers, since ids lie close together and come in any order.

use crate::sorted_map::SortedMap;

/// Ids of one page.
const PAGE: u32 = 1_024;
/// "No row".
const NONE: u32 = u32::MAX;

/// Row numbers by id, at 4 bytes an id where ids are dense.
#[derive(Default)]
pub(super) struct IdTable {
    pages: SortedMap<u32, Box<[u32]>>,
}

impl IdTable {
    pub(super) fn get(&self, id: u32) -> Option<u32> {
        let page = self.pages.get(&(id / PAGE))?;
        page.get((id % PAGE) as usize).copied().filter(|row| *row != NONE)
    }

    pub(super) fn set(&mut self, id: u32, row: u32) {
        let key = id / PAGE;
        if !self.pages.contains_key(&key) {
            self.pages.insert(key, vec![NONE; PAGE as usize].into_boxed_slice());
        }
        if let Some(place) = self.pages.get_mut(&key).and_then(|page| page.get_mut((id % PAGE) as usize)) {
            *place = row;
        }
    }

    /// Bytes held in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.pages.len() * PAGE as usize * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_any_size_in_any_order_have_the_row_given_last() {
        let mut table = IdTable::default();
        for (id, row) in [(5, 0), (u32::MAX, 1), (1 << 31, 2), (5, 3), (1_024, 4)] {
            table.set(id, row);
        }
        let found = [5, u32::MAX, 1 << 31, 1_024, 6, 2_048].map(|id| table.get(id));
        assert_eq!(found, [Some(3), Some(1), Some(2), Some(4), None, None]);
    }
}
