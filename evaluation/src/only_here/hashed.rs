//! Tables by hashes of windows, which are mixed already and need no second hash.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

pub(super) type HashTable<V> = HashMap<u64, V, BuildHasherDefault<WindowHasher>>;
pub(super) type WindowSet = HashSet<u64, BuildHasherDefault<WindowHasher>>;

/// Gives a 64-bit number as its own hash.
#[derive(Default)]
pub(super) struct WindowHasher(u64);

impl Hasher for WindowHasher {
    fn write(&mut self, bytes: &[u8]) {
        // Keys are numbers, so this is never called; it is right nevertheless.
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
