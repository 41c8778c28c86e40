//! `mod`: the fingerprints that are 0 modulo n, one window in n.
//!
//! Source: A. Broder, "On the resemblance and containment of documents" (1997), `MOD_m`; Cherkasova et al., "Applying
//! syntactic similarity algorithms for enterprise information management" (KDD 2009), `Mod_n`, over windows of w bytes. "0
//! modulo n" is decided on the keyed value of the fingerprint, as "among the smallest 2^64 / n values". The sample grows
//! with the document; resemblance and containment can be estimated from it.

use crate::sampler::{Distinct, Sampler, one_in};
use crate::signature::{Feature, Tagger};

/// Keeps one value in n.
pub(crate) struct ModN {
    last: u64,
    values: Distinct,
}

impl ModN {
    pub(crate) fn new(n: u32) -> ModN {
        ModN { last: one_in(n), values: Distinct::default() }
    }
}

impl Sampler for ModN {
    type Seen = ();

    fn begin(&self) {}

    #[inline(always)]
    fn see(&mut self, (): &mut (), _: usize, value: u64) {
        if value <= self.last {
            self.values.insert(value);
        }
    }

    fn end(&mut self, (): (), _: u64) {}

    fn finish(&mut self, tagger: &Tagger) -> Vec<Feature> {
        self.values.features(tagger)
    }
}
