//! Which row an id has: pages of numbers, since ids lie close together and come in any order.

/// Ids of one page.
const PAGE: u32 = 1_024;
/// "No row".
const NONE: u32 = u32::MAX;

/// Row numbers by id, at 4 bytes an id where ids are dense.
#[derive(Default)]
pub(super) struct IdTable {
    /// By number, in order.
    pages: Vec<(u32, Box<[u32]>)>,
}

impl IdTable {
    fn page(&self, id: u32) -> Result<usize, usize> {
        self.pages.binary_search_by_key(&(id / PAGE), |(number, _)| *number)
    }

    pub(super) fn get(&self, id: u32) -> Option<u32> {
        let (_, page) = self.pages.get(self.page(id).ok()?)?;
        page.get((id % PAGE) as usize).copied().filter(|row| *row != NONE)
    }

    pub(super) fn set(&mut self, id: u32, row: u32) {
        let at = self.page(id).unwrap_or_else(|at| {
            self.pages.insert(at, (id / PAGE, vec![NONE; PAGE as usize].into_boxed_slice()));
            at
        });
        self.pages[at].1[(id % PAGE) as usize] = row;
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
