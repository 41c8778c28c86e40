//! Ratios of integers, rounded without floating point.

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

/// A ratio rounded to the nearest ten-thousandth, halves up, without floating point. Less than all is never rounded to all,
/// and more than nothing never to nothing.
pub fn ten_thousandths(part: u64, whole: u64) -> i64 {
    if whole == 0 {
        return 0;
    }
    let rounded = (u128::from(part) * 20_000 + u128::from(whole)) / (2 * u128::from(whole));
    let rounded = i64::try_from(rounded).unwrap_or(i64::MAX);
    match part {
        0 => 0,
        _ if part < whole => rounded.clamp(1, 9_999),
        _ => rounded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_rounded_without_floating_point() {
        assert_eq!(ten_thousandths(9, 11), 8182);
        assert_eq!(ten_thousandths(1, 3), 3333);
        assert_eq!(ten_thousandths(1, 1), 10_000);
        assert_eq!(ten_thousandths(1, 20_000), 1);
        assert_eq!([ten_thousandths(1, 1_000_000), ten_thousandths(999_999, 1_000_000)], [1, 9_999]);
        assert_eq!(ten_thousandths(u64::MAX, u64::MAX), 10_000);
        assert_eq!(ten_thousandths(0, 0), 0);
    }
}
