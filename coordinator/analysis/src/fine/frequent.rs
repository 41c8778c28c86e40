//! Values of window samples that crowds of contents have. They propose few of the pairs that have them in common, so that these are counted
//! pair by pair; what the others propose is counted already.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use super::by_content::ByContent;

/// Takes in values from several threads.
#[derive(Default)]
pub(super) struct FrequentValuesBuilder {
    next: AtomicU32,
    /// Contents, each with the number of a value.
    found: Mutex<Vec<(u32, u32)>>,
}

/// The numbers of the frequent values of each content.
pub(super) struct FrequentValues(ByContent);

impl FrequentValuesBuilder {
    /// Takes in a value by the contents that have it.
    pub(super) fn add(&self, contents: impl Iterator<Item = u32>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.found.lock().expect("nothing panics while it is held").extend(contents.map(|content| (content, number)));
    }

    /// The values of so many contents.
    pub(super) fn finish(self, content_count: usize) -> FrequentValues {
        let found = self.found.into_inner().expect("nothing panicked while it was held");
        FrequentValues(ByContent::of(found, content_count))
    }
}

impl FrequentValues {
    /// The number of values that two contents have in common.
    pub(super) fn in_common(&self, a: u32, b: u32) -> u64 {
        let mut others = self.0.numbers(b);
        let mut count = 0;
        for value in self.0.numbers(a) {
            while let Some((first, rest)) = others.split_first().filter(|(first, _)| *first <= value) {
                count += u64::from(first == value);
                others = rest;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_common_are_counted_whatever_the_order_in_which_they_were_found() {
        let builder = FrequentValuesBuilder::default();
        for contents in [&[1, 2, 5][..], &[5], &[2, 5, 1], &[], &[0, 5]] {
            builder.add(contents.iter().copied());
        }
        let values = builder.finish(7);
        assert_eq!([(1, 2), (1, 5), (2, 5), (0, 5), (0, 1)].map(|(a, b)| values.in_common(a, b)), [2, 2, 2, 1, 0]);
        assert_eq!([(5, 5), (3, 5), (6, 6), (4, 0)].map(|(a, b)| values.in_common(a, b)), [4, 0, 0, 0]);
    }
}
