//! `min`: the n smallest fingerprints under a random order.
//!
//! Source: Broder 1997, `MIN_s`; Cherkasova et al. 2009, `Min_n`. The order is that of [`Feature::order`]: rarest first, then
//! by the keyed hash. Only values that are rare enough to get in are hashed: about `2 n ln(N/n)` of N windows.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::chunk::Tag;
use crate::sampler::{Recent, Sampler};
use crate::signature::{Feature, Tagger};

/// Keeps the n smallest.
pub(crate) struct MinN {
    n: usize,
    /// The greatest value that is rare enough.
    last: u64,
    /// The greatest value that is ever taken: MIN of MOD.
    last_ever: u64,
    smallest: BTreeSet<(Reverse<u8>, Tag)>,
    recent: Recent,
    tagger: Tagger,
}

impl MinN {
    pub(crate) fn new(n: u32, last_ever: u64, tagger: Tagger) -> MinN {
        let n = n as usize;
        MinN { n, last: last_ever, last_ever, smallest: BTreeSet::new(), recent: Recent::new(), tagger }
    }

    #[inline(never)]
    fn insert(&mut self, value: u64) {
        if self.recent.knows(value) || !self.smallest.insert(self.tagger.sampled(value).order()) {
            return;
        }
        if self.smallest.len() > self.n {
            self.smallest.pop_last();
        }
        if self.smallest.len() == self.n
            && let Some((Reverse(worst), _)) = self.smallest.last()
        {
            // A value of a lower rank than the worst has no chance; one of the same rank may have.
            self.last = self.last_ever.min(u64::MAX.checked_shr(u32::from(*worst)).unwrap_or(0));
        }
    }
}

impl Sampler for MinN {
    type Seen = ();

    fn begin(&self) {}

    #[inline(always)]
    fn see(&mut self, (): &mut (), _: usize, value: u64) {
        if value <= self.last {
            self.insert(value);
        }
    }

    fn end(&mut self, (): (), _: u64) {}

    fn finish(&mut self, _: &Tagger) -> Vec<Feature> {
        self.last = self.last_ever;
        self.recent.clear();
        let smallest = std::mem::take(&mut self.smallest);
        let mut features: Vec<Feature> = smallest.into_iter().map(|(_, tag)| Feature { tag, weight: 1 }).collect();
        features.sort_unstable();
        features
    }
}
