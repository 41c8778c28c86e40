//! The truth about two contents: the bytes of one in windows that occur in the other, by all windows.
//!
//! Windows of the same 64-bit hash count as equal, as in [`crate::truth`].

use crate::only_here::content::{Content, Window};
use crate::only_here::hashed::HashTable;

/// The windows of a content that is held against many others.
pub(super) struct ContentWindows<'c> {
    content: &'c Content,
    /// For each different window its first place in `places`.
    first_places: HashTable<u32>,
    /// All windows in order.
    places: Vec<Place>,
    /// Bits by hashes, in which those of all windows are set: most windows of others are in no window here, and cost one look.
    filter: Vec<u64>,
}

/// A window with the place of the first window that is equal to it.
struct Place {
    start: usize,
    hash: u64,
    first: u32,
}

impl ContentWindows<'_> {
    pub(super) fn of(content: &Content) -> ContentWindows<'_> {
        let mut first_places = HashTable::default();
        let mut places = Vec::with_capacity(content.bytes.len());
        let mut filter = vec![0_u64; (content.bytes.len() / 8).next_power_of_two()];
        for Window { start, hash } in content.windows() {
            let next = u32::try_from(places.len()).expect("a document has less than 4 GiB");
            places.push(Place { start, hash, first: *first_places.entry(hash).or_insert(next) });
            let [word, bit] = filter_place(&filter, hash);
            filter[word] |= 1 << bit;
        }
        ContentWindows { content, first_places, places, filter }
    }

    /// The bytes of this content that are in windows which occur in the other.
    pub(super) fn shared_bytes(&self, other: &Content) -> usize {
        let mut is_shared = vec![false; self.places.len()];
        // The place of the window before. The next one is next to it here as well, within what both share.
        let mut before = self.places.len();
        for Window { hash, .. } in other.windows() {
            if self.places.get(before + 1).is_some_and(|place| place.hash == hash) {
                before += 1;
            } else {
                let [word, bit] = filter_place(&self.filter, hash);
                let found = if self.filter[word] >> bit & 1 == 0 { None } else { self.first_places.get(&hash) };
                let Some(place) = found else { continue };
                before = *place as usize;
            }
            is_shared[self.places[before].first as usize] = true;
        }
        let shared = self.places.iter().filter(|place| is_shared[place.first as usize]);
        self.content.covered_bytes(shared.map(|place| place.start))
    }

    /// The same as a share of the bytes that count, 0 to 1.
    pub(super) fn share(&self, other: &Content) -> f64 {
        crate::statistics::share(self.shared_bytes(other), self.content.counted_bytes())
    }
}

/// The word of a hash in a filter, and the bit in the word.
fn filter_place(filter: &[u64], hash: u64) -> [usize; 2] {
    let place = usize::try_from(hash >> 20 & (64 * filter.len() as u64 - 1)).expect("it is within the filter");
    [place / 64, place % 64]
}
