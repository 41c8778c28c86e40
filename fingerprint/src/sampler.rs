//! What the samplers have in common: the values of a document go in, features come out.

use crate::signature::{Feature, Tagger};

/// What a method keeps of the values of a document. Values are as good as random: those of fingerprints under the key.
///
/// They come in blocks of a few stretches that are read side by side: within a stretch values follow each other, where one
/// stretch ends the next begins, and so it is with blocks. A block may have its first stretch alone.
pub(crate) trait Sampler: Send {
    /// What is known of the stretches of a block so far; small enough for registers.
    type Seen;

    /// A block begins.
    fn begin(&self) -> Self::Seen;

    /// The next value of a stretch.
    fn see(&mut self, seen: &mut Self::Seen, stretch: usize, value: u64);

    /// The block has ended; its last value was this.
    fn end(&mut self, seen: Self::Seen, last: u64);

    /// The document has ended: its features, in ascending order. The sampler is as new afterwards.
    fn finish(&mut self, tagger: &Tagger) -> Vec<Feature>;
}

/// A sampler of whichever method, which takes values one after the other.
pub(crate) trait AnySampler: Send {
    /// The next values of the document.
    fn take(&mut self, values: &[u64]);

    /// As [`Sampler::finish`].
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

/// A growing set of values. It takes memory for twice what is distinct among them, however often they are repeated.
#[derive(Default)]
pub(crate) struct Distinct {
    values: Vec<u64>,
    /// How many there may be before repeats are dropped.
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

    pub(crate) fn retain(&mut self, kept: impl Fn(u64) -> bool) {
        self.values.retain(|value| kept(*value));
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

/// Values that were seen lately, so that a document that repeats itself costs no more than another.
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
        // No value is in the slot of another one.
        for (slot, value) in self.values.iter_mut().enumerate() {
            *value = !(slot as u64);
        }
    }

    /// Whether the value is among those seen lately; it is from now on.
    #[expect(clippy::cast_possible_truncation, reason = "the slot is below 512")]
    pub(crate) fn knows(&mut self, value: u64) -> bool {
        let slot = &mut self.values[(value % Recent::SLOTS as u64) as usize];
        std::mem::replace(slot, value) == value
    }
}
