//! `bsw`: in each run between two content-defined boundaries, the window with the smallest fingerprint.
//!
//! Source: Cherkasova et al. 2009, `BSW_n`: a position is a boundary if its fingerprint is 0 modulo n, and one window
//! represents the run that it ends, so that an edit elsewhere in the run does no harm. The low half of the keyed value
//! decides about boundaries, all of it about the smallest window: if both used the same comparison, every boundary would be
//! its own run's smallest window.

use crate::rolling::STRETCHES;
use crate::sampler::{Distinct, Sampler};
use crate::signature::{Feature, Tagger};

/// Keeps the smallest value of each run.
pub(crate) struct Bsw {
    boundary: Boundary,
    /// The smallest value of the run so far.
    smallest: u64,
    /// True if the last value was no boundary.
    is_open: bool,
    values: Distinct,
    /// The smallest values of the runs that ended in each stretch of a block.
    ended: [Vec<u64>; STRETCHES],
}

/// The values that are boundaries: one in n, by their low halves.
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
    #[expect(clippy::cast_possible_truncation, reason = "only the low half decides")]
    pub(crate) fn is_at(self, value: u64) -> bool {
        value as u32 <= self.last
    }
}

impl Bsw {
    pub(crate) fn new(n: u32) -> Bsw {
        Bsw {
            boundary: Boundary::one_in(n),
            smallest: u64::MAX,
            is_open: false,
            values: Distinct::default(),
            ended: Default::default(),
        }
    }
}

/// Runs are followed in all stretches of a block at once. A run that is open at the end of a stretch goes on in the next.
impl Sampler for Bsw {
    /// The smallest value of each stretch's open run.
    type Seen = [u64; STRETCHES];

    fn begin(&self) -> [u64; STRETCHES] {
        [u64::MAX; STRETCHES]
    }

    #[inline(always)]
    fn see(&mut self, smallest: &mut [u64; STRETCHES], stretch: usize, value: u64) {
        smallest[stretch] = smallest[stretch].min(value);
        if self.boundary.is_at(value) {
            self.ended[stretch].push(std::mem::replace(&mut smallest[stretch], u64::MAX));
        }
    }

    fn end(&mut self, smallest: [u64; STRETCHES], last: u64) {
        for (ended, smallest) in self.ended.iter_mut().zip(smallest) {
            for ended in ended.drain(..) {
                self.values.insert(self.smallest.min(ended));
                self.smallest = u64::MAX;
            }
            self.smallest = self.smallest.min(smallest);
        }
        self.is_open = !self.boundary.is_at(last);
    }

    fn finish(&mut self, tagger: &Tagger) -> Vec<Feature> {
        if std::mem::take(&mut self.is_open) {
            self.values.insert(self.smallest);
        }
        self.smallest = u64::MAX;
        self.values.features(tagger)
    }
}
