//! Candidates by the whole chunks that they share: links, and pairs near a link, whose chunks of at most [`NEAR_HOLDERS_MAX`]
//! contents come to a tenth of the containment threshold.
//!
//! Links come first, then the others, each by the bytes that they share, falling, of equal ones by their numbers. A pair is
//! taken as long as one of its contents has fewer than [`SHARING_MAX`] of them. A pair of which nothing is left is none.

use std::cmp::Reverse;

use cognate_similarity::fine::pairs_of_rare_chunks;
use cognate_similarity::{Link, Shards as _, SpillFolder};

use super::pair::Pair;
use crate::clusters::Links;
use crate::compare::Task;
use crate::error::Error;

/// The most candidates of a content by the bytes that they share.
pub(super) const SHARING_MAX: u32 = 4;
/// The most contents of a chunk that proposes pairs: a chunk that more contents have is boilerplate.
pub(super) const NEAR_HOLDERS_MAX: usize = 16;
/// Near pairs reach the threshold divided by this.
pub(super) const NEAR_SHARE: u64 = 10;

/// Pairs that share whole chunks.
#[derive(Default)]
pub(super) struct Sharing {
    /// The candidates.
    pub(super) taken: Vec<Pair>,
    /// Those that the bound leaves out.
    pub(super) cut: Vec<Pair>,
    /// Those of which nothing is left, ascending.
    pub(super) complete: Vec<Pair>,
    /// The links by whole chunks, ascending.
    links: Vec<Pair>,
}

impl Sharing {
    /// True if a pair is a link by whole chunks.
    pub(super) fn is_link(&self, pair: &Pair) -> bool {
        self.links.binary_search(pair).is_ok()
    }
}

impl Task<'_> {
    pub(super) fn sharing_pairs(&self, coarse: &Links) -> Result<Sharing, Error> {
        let mut links: Vec<Link> = Vec::new();
        coarse.for_each(|link| links.push(*link))?;
        links.sort_unstable_by_key(numbers);
        let mut near = self.near_pairs()?;
        near.retain(|near| links.binary_search_by_key(&numbers(near), numbers).is_err());
        // Links come first among equals: they are the pairs that people read.
        links.sort_unstable_by_key(strongest_first);
        near.sort_unstable_by_key(strongest_first);
        let mut counts = vec![0_u32; self.subject.frozen.contents.len()];
        let mut sharing = Sharing { links: links.iter().map(numbers).collect(), ..Sharing::default() };
        sharing.links.sort_unstable();
        for link in links.iter().chain(&near) {
            let (a, b) = numbers(link);
            if link.shared_bytes >= self.weight(a).max(self.weight(b)) {
                sharing.complete.push((a, b));
            } else if counts[a as usize].min(counts[b as usize]) >= SHARING_MAX {
                sharing.cut.push((a, b));
            } else {
                counts[a as usize] += 1;
                counts[b as usize] += 1;
                sharing.taken.push((a, b));
            }
        }
        sharing.complete.sort_unstable();
        Ok(sharing)
    }

    /// Pairs that share enough in chunks of few contents, linked or not.
    pub(super) fn near_pairs(&self) -> Result<Vec<Link>, Error> {
        let (spill, shards) = (SpillFolder::new(self.spill_dir), &self.subject.frozen.shards);
        let sums = self.pair_sums(&spill, shards.shard_count(), &|shard, visit| {
            pairs_of_rare_chunks(shards, shard, NEAR_HOLDERS_MAX, visit)
        })?;
        let mut near: Vec<Link> = Vec::new();
        self.each_pair_sum(&sums, &|link| self.is_near(&link).then_some(link), |link| near.push(link))?;
        Ok(near)
    }

    /// True if a pair shares a tenth of what would make it a link by containment.
    fn is_near(&self, link: &Link) -> bool {
        let smaller = self.weight(link.a.0).min(self.weight(link.b.0));
        let containment = self.scan.spec.layers[self.layer].thresholds.min_containment;
        containment.is_reached_by(link.shared_bytes.saturating_mul(NEAR_SHARE), smaller)
    }
}

fn numbers(link: &Link) -> Pair {
    (link.a.0, link.b.0)
}

fn strongest_first(link: &Link) -> (Reverse<u64>, Pair) {
    (Reverse(link.shared_bytes), numbers(link))
}
