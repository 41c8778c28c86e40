//! Two contents compared on demand, from their postings alone: any link of a cluster that keeps only some of them.

use std::cmp::Ordering;

use crate::measure::{Relation, Resemblance};
use crate::posting::Posting;
use crate::threshold::Thresholds;

/// What two contents have in common.
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
    /// Compares two contents by all their postings, in any order; which content a posting names does not matter.
    ///
    /// Equal to what an analysis says of the pair. Takes time and memory in proportion to the postings.
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

    /// Whether the pair is a link under these thresholds, an across rule apart.
    pub fn is_link(&self, thresholds: &Thresholds) -> bool {
        let smaller_bytes = self.a_payload_bytes.min(self.b_payload_bytes);
        self.shared_bytes >= thresholds.least_shared_bytes(smaller_bytes)
    }

    /// How much the two resemble each other.
    pub fn resemblance(&self) -> Resemblance {
        Resemblance::of(self.shared_bytes, self.a_payload_bytes, self.b_payload_bytes)
    }

    /// How the first lies to the second.
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
