//! Ratios of integers, rounded without floating point.

use cognate_result_file::ten_thousandths;
use cognate_similarity::Containment;

/// A fraction, as its numerator and denominator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fraction {
    pub(crate) part: u64,
    pub(crate) whole: u64,
}

impl Fraction {
    /// Rounded to ten-thousandths.
    pub(crate) fn rounded(self) -> i64 {
        ten_thousandths(self.part, self.whole)
    }

    /// This part of a number of bytes, rounded.
    pub(crate) fn of_bytes(self, bytes: u64) -> u64 {
        if self.whole == 0 {
            return 0;
        }
        let (part, whole) = (u128::from(self.part), u128::from(self.whole));
        u64::try_from((2 * part * u128::from(bytes) + whole) / (2 * whole)).unwrap_or(u64::MAX)
    }

    pub(crate) fn is_near(self) -> bool {
        Containment::FOUR_FIFTHS.is_reached_by(self.part, self.whole)
    }
}
