//! The truth about two contents: the bytes of one in windows that occur in the other, by all windows.
//!
//! Windows of the same 64-bit hash count as equal, as in [`crate::truth`].

use crate::only_here::content::{Content, Window};
use crate::only_here::hashed::HashTable;

/// The windows of a content that is held against many others.
pub(super) struct ContentWindows<'c> {
    content: &'c Content,
    /// Each different window has a number.
    numbers: HashTable<u32>,
    /// All windows in order, with their numbers.
    places: Vec<(usize, u32)>,
}

impl ContentWindows<'_> {
    pub(super) fn of(content: &Content) -> ContentWindows<'_> {
        let mut numbers = HashTable::default();
        let mut places = Vec::with_capacity(content.bytes.len());
        for Window { start, hash } in content.windows() {
            let next = u32::try_from(numbers.len()).expect("a document has less than 4 GiB");
            places.push((start, *numbers.entry(hash).or_insert(next)));
        }
        ContentWindows { content, numbers, places }
    }

    /// The bytes of this content that are in windows which occur in the other.
    pub(super) fn shared_bytes(&self, other: &Content) -> usize {
        let mut is_shared = vec![false; self.numbers.len()];
        for window in other.windows() {
            if let Some(number) = self.numbers.get(&window.hash) {
                is_shared[*number as usize] = true;
            }
        }
        let shared = self.places.iter().filter(|(_, number)| is_shared[*number as usize]);
        self.content.covered_bytes(shared.map(|(start, _)| *start))
    }

    /// The same as a share of the bytes that count, 0 to 1.
    pub(super) fn share(&self, other: &Content) -> f64 {
        crate::statistics::share(self.shared_bytes(other), self.content.counted_bytes())
    }
}
