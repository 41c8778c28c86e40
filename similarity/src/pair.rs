//! Two contents compared on demand, from their postings alone: any link of a cluster that keeps only some of them.

use std::cmp::Ordering;

use crate::measure::{Relation, Resemblance};
use crate::posting::Posting;
use crate::threshold::Thresholds;

/// The bytes that two contents share, and their payloads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PairMeasure {
    /// The bytes of the chunks that both hold, templates apart.
    pub shared_bytes: u64,
    /// Bytes of the first, templates apart.
    pub a_payload_bytes: u64,
    /// Bytes of the second, templates apart.
    pub b_payload_bytes: u64,
}

impl PairMeasure {
    /// Compares two contents by all their postings, in any order; the content that a posting names does not matter.
    ///
    /// Equal to the measure that an analysis makes of the pair. Takes time and memory in proportion to the postings.
    pub fn of(a: &[Posting], b: &[Posting]) -> PairMeasure {
        let (a, b) = (chunks(a), chunks(b));
        let weigh = |chunks: &[Chunk]| chunks.iter().fold(0u64, |sum, chunk| sum.saturating_add(chunk.1.into()));
        let (mut at, mut bt, mut shared_bytes) = (0, 0, 0u64);
        while at < a.len() && bt < b.len() {
            match a[at].cmp(&b[bt]) {
                Ordering::Less => at += 1,
                Ordering::Greater => bt += 1,
                // Sorted multisets: each occurrence meets one of the other at most.
                Ordering::Equal => {
                    shared_bytes = shared_bytes.saturating_add(a[at].1.into());
                    at += 1;
                    bt += 1;
                }
            }
        }
        PairMeasure { shared_bytes, a_payload_bytes: weigh(&a), b_payload_bytes: weigh(&b) }
    }

    /// True if the pair is a link under these thresholds, without an across rule.
    pub fn is_link(&self, thresholds: &Thresholds) -> bool {
        let smaller_bytes = self.a_payload_bytes.min(self.b_payload_bytes);
        self.shared_bytes >= thresholds.least_shared_bytes(smaller_bytes)
    }

    /// The resemblance of the two.
    pub fn resemblance(&self) -> Resemblance {
        Resemblance::of(self.shared_bytes, self.a_payload_bytes, self.b_payload_bytes)
    }

    /// The relation of the first to the second.
    pub fn relation(&self) -> Relation {
        Relation::of(self.shared_bytes, self.a_payload_bytes, self.b_payload_bytes)
    }
}

/// Tag and length of an occurrence.
type Chunk = ([u8; 16], u32);

fn chunks(postings: &[Posting]) -> Vec<Chunk> {
    let counted = postings.iter().filter(|posting| !posting.template);
    let mut chunks: Vec<Chunk> = counted.map(|posting| (posting.tag.0, posting.length_bytes)).collect();
    chunks.sort_unstable();
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;
    use cognate_fingerprint::Tag;

    use crate::posting::ContentIndex;

    fn posting(tag: u8, length_bytes: u32) -> Posting {
        Posting { tag: Tag([tag; 16]), length_bytes, template: false, content: ContentIndex(0) }
    }

    #[test]
    fn each_occurrence_counts_against_one_of_the_other() {
        let (one, two, long) = (posting(1, 10), posting(2, 7), posting(1, 11));
        let template = Posting { template: true, ..one };
        for (a, b, expected) in [
            (vec![], vec![], (0, 0, 0)),
            (vec![one], vec![], (0, 10, 0)),
            (vec![one, two], vec![two], (7, 17, 7)),
            (vec![one, one, one], vec![one, one], (20, 30, 20)),
            // The same tag with another length is another chunk.
            (vec![one], vec![long], (0, 10, 11)),
            (vec![template, one], vec![one, one], (10, 10, 20)),
            (vec![template], vec![template], (0, 0, 0)),
        ] {
            let measure = PairMeasure::of(&a, &b);
            assert_eq!((measure.shared_bytes, measure.a_payload_bytes, measure.b_payload_bytes), expected);
            let reversed = PairMeasure::of(&b, &a);
            assert_eq!((reversed.shared_bytes, reversed.b_payload_bytes), (expected.0, expected.1));
        }
    }

    #[test]
    fn a_pair_is_a_link_exactly_from_its_threshold_on() {
        let measure = PairMeasure { shared_bytes: 50, a_payload_bytes: 100, b_payload_bytes: 400 };
        for (min_shared_bytes, min_containment, is_link) in
            [(50, "1", true), (51, "1", false), (51, "0.5", true), (51, "0.51", false), (0, "1", true), (51, "0", true)]
        {
            let thresholds = Thresholds { min_shared_bytes, min_containment: min_containment.parse().unwrap() };
            assert_eq!(measure.is_link(&thresholds), is_link, "{min_shared_bytes} {min_containment}");
        }
        assert_eq!(measure.relation(), Relation::Shares);
        assert_eq!((measure.resemblance().shared, measure.resemblance().union), (50, 450));
    }
}
