//! Ratios in ten-thousandths.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A ratio in ten-thousandths, written as a number with at most four decimals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Ratio(pub i64);

impl Ratio {
    /// The ratio of two numbers of bytes, rounded.
    pub fn of(part: u64, whole: u64) -> Ratio {
        Ratio(ten_thousandths(part, whole))
    }

    /// The ratio that a decimal says, rounded.
    pub fn parse(text: &str) -> Ratio {
        Ratio::rounded(text.parse().unwrap_or_default())
    }

    fn rounded(share: f64) -> Ratio {
        #[expect(clippy::cast_possible_truncation, reason = "a share is between 0 and 1")]
        Ratio((share * 10_000.0).round() as i64)
    }

    /// The ratio as a number.
    pub fn to_f64(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a ratio is 0 to 1")]
        let number = self.0 as f64 / 10_000.0;
        number
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Ratio, D::Error> {
        f64::deserialize(deserializer).map(Ratio::rounded)
    }
}

impl Serialize for Ratio {
    /// Integers without a point, as in RFC 8785.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 % 10_000 == 0 {
            serializer.serialize_i64(self.0 / 10_000)
        } else {
            serializer.serialize_f64(self.to_f64())
        }
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
