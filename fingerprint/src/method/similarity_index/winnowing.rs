//! Winnowing: of every w hashes in a row the smallest is selected.
//!
//! Source: Schleimer, Wilkerson, Aiken, "Winnowing: local algorithms for document fingerprinting" (SIGMOD 2003).

use std::collections::VecDeque;

/// Selects the smallest of every w hashes in a row, the last of several equal ones. A hash that is the smallest of several
/// windows is selected once.
pub(super) struct Winnowing {
    w: usize,
    seen: u64,
    /// The hashes that can still become the smallest, rising, each with its place.
    rising: VecDeque<(u64, i64)>,
    /// The place of the hash that was selected last.
    last: Option<u64>,
}

impl Winnowing {
    pub(super) fn new(w: usize) -> Winnowing {
        Winnowing { w, seen: 0, rising: VecDeque::new(), last: None }
    }

    /// Adds a hash. Returns the hash that the window selects, unless it was selected already.
    pub(super) fn take(&mut self, value: i64) -> Option<i64> {
        while self.rising.back().is_some_and(|(_, other)| *other >= value) {
            self.rising.pop_back();
        }
        self.rising.push_back((self.seen, value));
        self.seen += 1;
        let first = self.seen.checked_sub(self.w as u64)?;
        while self.rising.front().is_some_and(|(place, _)| *place < first) {
            self.rising.pop_front();
        }
        self.select()
    }

    fn select(&mut self) -> Option<i64> {
        let (place, value) = *self.rising.front()?;
        (self.last.replace(place) != Some(place)).then_some(value)
    }

    /// The smallest hash of a document with fewer than w.
    pub(super) fn finish(&mut self) -> Option<i64> {
        if self.last.is_none() { self.select() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn selected(values: &[i64], w: usize) -> Vec<i64> {
        let mut winnowing = Winnowing::new(w);
        let mut selected: Vec<i64> = values.iter().filter_map(|value| winnowing.take(*value)).collect();
        selected.extend(winnowing.finish());
        selected
    }

    #[test]
    fn the_example_of_the_paper_comes_out() {
        // Schleimer et al. 2003, Figure 2, windows of four hashes.
        let hashes = [77, 74, 42, 17, 98, 50, 17, 98, 8, 88, 67, 39, 77, 74, 42, 17, 98];
        assert_eq!(selected(&hashes, 4), [17, 17, 8, 39, 17]);
    }

    proptest! {
        #[test]
        fn every_window_has_a_selected_hash_and_w_1_selects_all(
            values in proptest::collection::vec(0..9_i64, 0..60),
            w in 1..8_usize,
        ) {
            prop_assert_eq!(selected(&values, 1), values.clone());
            let mut winnowing = Winnowing::new(w);
            for (place, value) in values.iter().enumerate() {
                let found = winnowing.take(*value);
                let window = &values[(place + 1).saturating_sub(w)..=place];
                prop_assert!(place + 1 >= w || found.is_none());
                prop_assert!(found.is_none_or(|found| Some(&found) == window.iter().min()));
            }
            let least = values.iter().min().copied();
            let shorter = values.len() < w;
            prop_assert_eq!(winnowing.finish(), least.filter(|_| shorter));
        }
    }
}
