//! `bsw`: in each run between two content-defined boundaries, the window with the smallest fingerprint.
//!
//! Source: Cherkasova et al. 2009, `BSW_n`: a place is a boundary when its fingerprint is 0 modulo n, and the run that it
//! ends is represented by one window, so that an edit elsewhere in the run does no harm. The low half of the keyed value
//! says where boundaries are, the whole of it which window is the smallest: with one and the same comparison for both,
//! every boundary would be its own run's smallest window.

use crate::sampler::{Distinct, Sampler};
use crate::signature::{Feature, Tagger};

/// Keeps the smallest value of each run.
pub(crate) struct Bsw {
    boundary: Boundary,
    smallest: Option<u64>,
    kept: Distinct,
}

/// Which values are boundaries: one in n, by their low halves.
#[derive(Clone, Copy)]
pub(crate) struct Boundary {
    last: u32,
}

impl Boundary {
    pub(crate) fn one_in(n: u32) -> Boundary {
        let values = (1_u64 << 32) / u64::from(n.max(1));
        Boundary { last: u32::try_from(values - 1).expect("at most 2^32 - 1") }
    }

    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the low half is what is wanted")]
    pub(crate) fn is_at(self, value: u64) -> bool {
        value as u32 <= self.last
    }
}

impl Bsw {
    pub(crate) fn new(n: u32) -> Bsw {
        Bsw { boundary: Boundary::one_in(n), smallest: None, kept: Distinct::default() }
    }
}

impl Sampler for Bsw {
    fn take(&mut self, values: &[u64]) {
        let mut smallest = self.smallest;
        for &value in values {
            smallest = Some(smallest.map_or(value, |least| least.min(value)));
            if self.boundary.is_at(value) {
                self.kept.insert(smallest.take().unwrap_or(value));
            }
        }
        self.smallest = smallest;
    }

    fn finish(&mut self, tagger: &Tagger) -> Vec<Feature> {
        if let Some(smallest) = self.smallest.take() {
            self.kept.insert(smallest);
        }
        self.kept.features(tagger)
    }
}
