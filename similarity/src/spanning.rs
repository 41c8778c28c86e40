//! The links that join contents best, by the bytes that they share.

use crate::forest::{Forest, StrongLink};
use crate::members::Pair;

/// A maximum spanning forest by shared bytes, of links that stream past in any order. Memory is linear in the contents.
pub struct SpanningForest {
    forest: Forest,
}

impl SpanningForest {
    /// A forest of contents, numbered from 0, without links.
    pub fn new(contents: usize) -> SpanningForest {
        SpanningForest { forest: Forest::new(contents) }
    }

    /// Adds a link between two different contents.
    #[inline]
    pub fn add(&mut self, a: u32, b: u32, shared_bytes: u64) {
        let pair = Pair { smaller: a.min(b), larger: a.max(b), shared_bytes };
        self.forest.add(StrongLink { pair, weight: shared_bytes });
    }

    /// For each link of the forest its contents, the smaller number first, and the bytes that it shares.
    pub fn finish(self) -> impl Iterator<Item = (u32, u32, u64)> {
        self.forest.finish().0.into_iter().map(|pair| (pair.smaller, pair.larger, pair.shared_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_of_links_counts_without_its_weakest() {
        for (links, expected) in [
            (&[][..], 0),
            (&[(0, 1, 5)], 5),
            (&[(0, 1, 5), (1, 2, 3), (2, 0, 4)], 9),
            (&[(2, 0, 3), (1, 2, 4), (0, 1, 5)], 9),
            (&[(0, 1, 5), (2, 3, 3)], 8),
        ] {
            let mut forest = SpanningForest::new(4);
            links.iter().for_each(|&(a, b, shared)| forest.add(a, b, shared));
            assert_eq!(forest.finish().map(|(.., shared)| shared).sum::<u64>(), expected, "{links:?}");
        }
    }
}
