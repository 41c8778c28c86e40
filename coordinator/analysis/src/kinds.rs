//! Kinds of contents: versions of one document count as one, and so do near-duplicates however many, where it is counted in
//! how many otherwise unlike contents something occurs.

use cognate_similarity::{Cluster, Link};

use crate::disjoint_sets::DisjointSets;

/// Means "in no cluster".
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Of every content its cluster, or [`NOWHERE`].
pub(crate) fn cluster_of_each(contents: usize, clusters: &[Cluster]) -> Vec<u32> {
    let mut cluster_of = vec![NOWHERE; contents];
    for (cluster, number) in clusters.iter().zip(0..) {
        cluster.members.iter().for_each(|member| cluster_of[member.0 as usize] = number);
    }
    cluster_of
}

/// True if these bytes are four fifths of all bytes, as those are that two documents share which are called near.
pub(crate) fn is_most(bytes: u64, of: u64) -> bool {
    bytes.saturating_mul(5) >= of.saturating_mul(4)
}

/// Contents put together, each in one kind.
pub(crate) struct Kinds(DisjointSets);

impl Kinds {
    /// Contents of which each is a kind of its own.
    pub(crate) fn apart(contents: usize) -> Kinds {
        Kinds(DisjointSets::apart(contents))
    }

    /// Contents that have most of each other's bytes, put together.
    pub(crate) fn of(links: &[Link], payload_bytes: &[u64]) -> Kinds {
        let mut kinds = Kinds::apart(payload_bytes.len());
        for link in links {
            let half_of = |content: u32| link.shared_bytes.saturating_mul(2) >= payload_bytes[content as usize];
            if half_of(link.a.0) && half_of(link.b.0) {
                kinds.join(link.a.0, link.b.0);
            }
        }
        kinds
    }

    /// Puts the kinds of two contents together, under the least of their numbers.
    pub(crate) fn join(&mut self, a: u32, b: u32) {
        self.0.join(a, b);
    }

    /// The kind of a content: the least number of a content of it.
    pub(crate) fn find(&mut self, content: u32) -> u32 {
        self.0.find(content)
    }

    /// The kind of every content.
    pub(crate) fn finish(self) -> Vec<u32> {
        self.0.finish()
    }
}

/// Notes the numbers that it has seen since its last restart, in the time of that alone.
pub(crate) struct NumberSet {
    round: u32,
    last: Vec<u32>,
}

impl NumberSet {
    pub(crate) fn new(count: usize) -> NumberSet {
        NumberSet { round: 0, last: vec![0; count] }
    }

    pub(crate) fn begin(&mut self) {
        if self.round == u32::MAX {
            self.last.fill(0);
            self.round = 0;
        }
        self.round += 1;
    }

    /// True if it is new.
    pub(crate) fn show(&mut self, number: u32) -> bool {
        std::mem::replace(&mut self.last[number as usize], self.round) != self.round
    }

    pub(crate) fn has(&self, number: u32) -> bool {
        self.last[number as usize] == self.round
    }
}
