//! The interface of samplers, which turn the values of a document into features.

use crate::signature::{Feature, Tagger};

/// Keeps a sample of a document's values, which are as good as random: they are keyed values of fingerprints.
///
/// Values come in blocks of a few stretches that are read in parallel. Within a stretch values follow each other; each
/// stretch continues the previous one, and each block the previous block. A block may have its first stretch only.
pub(crate) trait Sampler: Send {
    /// The state of the stretches of a block; small enough for registers.
    type Seen;

    /// Begins a block.
    fn begin(&self) -> Self::Seen;

    /// Takes the next value of a stretch.
    fn see(&mut self, seen: &mut Self::Seen, stretch: usize, value: u64);

    /// Ends the block, whose last value was `last`.
    fn end(&mut self, seen: Self::Seen, last: u64);

    /// Ends the document and returns its features, in ascending order. The sampler is ready for another document.
    fn finish(&mut self, tagger: &Tagger) -> Vec<Feature>;
}

/// A sampler of any method, which takes values one after the other.
pub(crate) trait AnySampler: Send {
    /// Takes the next values of the document.
    fn take(&mut self, values: &[u64]);

    /// Does the same as [`Sampler::finish`].
    fn finish(&mut self, tagger: &Tagger) -> Vec<Feature>;
}

impl<S: Sampler> AnySampler for S {
    fn take(&mut self, values: &[u64]) {
        let Some(last) = values.last() else { return };
        let mut seen = self.begin();
        values.iter().for_each(|value| self.see(&mut seen, 0, *value));
        self.end(seen, *last);
    }

    fn finish(&mut self, tagger: &Tagger) -> Vec<Feature> {
        Sampler::finish(self, tagger)
    }
}

/// A growing set of values. It takes memory for twice its distinct values, however often they are repeated.
#[derive(Default)]
pub(crate) struct Distinct {
    values: Vec<u64>,
    /// The number of values at which repeats are dropped.
    limit: usize,
}

impl Distinct {
    #[inline(never)]
    pub(crate) fn insert(&mut self, value: u64) {
        if self.values.len() >= self.limit {
            self.drop_repeats();
        }
        self.values.push(value);
    }

    pub(crate) fn retain(&mut self, remains: impl Fn(u64) -> bool) {
        self.values.retain(|value| remains(*value));
    }

    /// The features of all values; the set is empty afterwards.
    pub(crate) fn features(&mut self, tagger: &Tagger) -> Vec<Feature> {
        self.drop_repeats();
        let mut features: Vec<Feature> = self.values.drain(..).map(|value| tagger.sampled(value)).collect();
        features.sort_unstable();
        features
    }

    fn drop_repeats(&mut self) {
        self.values.sort_unstable();
        self.values.dedup();
        self.limit = (2 * self.values.len()).max(1024);
    }
}

/// The greatest value that one in `n` values does not exceed.
pub(crate) fn one_in(n: u32) -> u64 {
    let values = (1_u128 << 64) / u128::from(n.max(1));
    u64::try_from(values - 1).expect("at most 2^64 - 1")
}

/// The values of late, so that a document that repeats itself costs no more than another.
pub(crate) struct Recent {
    values: Box<[u64; Recent::SLOTS]>,
}

impl Recent {
    const SLOTS: usize = 512;

    pub(crate) fn new() -> Recent {
        let mut recent = Recent { values: Box::new([0; Recent::SLOTS]) };
        recent.clear();
        recent
    }

    pub(crate) fn clear(&mut self) {
        // A value that does not belong into the slot marks it as empty.
        for (slot, value) in self.values.iter_mut().enumerate() {
            *value = !(slot as u64);
        }
    }

    /// True if the value is among the recent ones. It is from now on.
    #[expect(clippy::cast_possible_truncation, reason = "the slot is below 512")]
    pub(crate) fn knows(&mut self, value: u64) -> bool {
        let slot = &mut self.values[(value % Recent::SLOTS as u64) as usize];
        std::mem::replace(slot, value) == value
    }
}

#[cfg(test)]
mod tests;
