//! A hash table by term.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Terms are hashed already: the table takes them as they are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TermHasher(u64);

impl Hasher for TermHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// Values by term.
pub(crate) type TermTable<V> = HashMap<u64, V, BuildHasherDefault<TermHasher>>;
