//! The thresholds that a link must reach, as exact integers and decimals.
//!
//! A share such as `0.333` stays the decimal 333/1000 that the user wrote: a pair that meets it exactly is a link on
//! every machine, which no binary floating point number could promise.

use std::fmt;
use std::str::FromStr;

/// Most digits after the point: 10^18 times a 64-bit size still fits 128 bits.
const FRACTION_DIGITS_MAX: usize = 18;

/// A share between 0 and 1, both included, as an exact decimal.
///
/// ```
/// let half: cognate_similarity::Containment = "0.50".parse()?;
/// assert_eq!(half.to_string(), "0.5");
/// assert_eq!(half.share_of_bytes(3), 2);
/// # Ok::<(), cognate_similarity::ContainmentError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Containment {
    /// The digits after the point, without trailing zeros; 1 with `digits` 0 is one.
    numerator: u64,
    digits: u8,
}

/// The error of a text that is no [`Containment`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a decimal between 0 and 1 such as 0.5, with at most 18 digits after the point")]
pub struct ContainmentError {
    text: String,
}

impl Containment {
    /// Four fifths, the share from which two contents are near and one contains another.
    pub const FOUR_FIFTHS: Containment = Containment { numerator: 8, digits: 1 };

    /// The smallest number of bytes that is at least this share of `size_bytes` (rounded up).
    pub fn share_of_bytes(self, size_bytes: u64) -> u64 {
        let product = u128::from(self.numerator) * u128::from(size_bytes);
        let bytes = product.div_ceil(self.denominator());
        u64::try_from(bytes).expect("a share of at most 1 is at most the size")
    }

    /// True if `part` of `whole` is at least this share.
    #[inline]
    pub fn is_reached_by(self, part_bytes: u64, whole_bytes: u64) -> bool {
        let small = (part_bytes | whole_bytes) < 1 << 60;
        if small && self == Containment::FOUR_FIFTHS {
            return part_bytes * 10 >= whole_bytes * 8;
        }
        u128::from(part_bytes) * self.denominator() >= u128::from(self.numerator) * u128::from(whole_bytes)
    }

    /// True if this share is at most `other`.
    pub fn is_at_most(self, other: Containment) -> bool {
        u128::from(self.numerator) * other.denominator() <= u128::from(other.numerator) * self.denominator()
    }

    /// A fifth of this share; digits beyond those that a share can have are cut off.
    #[must_use]
    pub fn fifth(self) -> Containment {
        let (mut numerator, mut digits) = match usize::from(self.digits) < FRACTION_DIGITS_MAX {
            true => (self.numerator * 2, self.digits + 1),
            false => (self.numerator / 5, self.digits),
        };
        while digits > 0 && numerator % 10 == 0 {
            (numerator, digits) = (numerator / 10, digits - 1);
        }
        Containment { numerator, digits }
    }

    fn denominator(self) -> u128 {
        10u128.pow(u32::from(self.digits))
    }
}

impl FromStr for Containment {
    type Err = ContainmentError;

    fn from_str(text: &str) -> Result<Containment, ContainmentError> {
        parse(text).ok_or_else(|| ContainmentError { text: text.to_owned() })
    }
}

fn parse(text: &str) -> Option<Containment> {
    let (whole, fraction) = match text.split_once('.') {
        Some((_, "")) => return None,
        Some(parts) => parts,
        None => (text, ""),
    };
    if fraction.len() > FRACTION_DIGITS_MAX || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    match (whole, fraction) {
        ("1", "") => Some(Containment { numerator: 1, digits: 0 }),
        ("0", "") => Some(Containment { numerator: 0, digits: 0 }),
        ("0", digits) => {
            Some(Containment { numerator: digits.parse().ok()?, digits: u8::try_from(digits.len()).ok()? })
        }
        _ => None,
    }
}

impl fmt::Display for Containment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.digits == 0 {
            return write!(f, "{}", self.numerator);
        }
        write!(f, "0.{:0width$}", self.numerator, width = usize::from(self.digits))
    }
}

/// The bytes that a pair of contents must share to be linked: either threshold is enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thresholds {
    /// Shared bytes that make a link whatever the sizes.
    pub min_shared_bytes: u64,
    /// Share of the smaller content that makes a link whatever the bytes.
    pub min_containment: Containment,
}

impl Thresholds {
    /// Both thresholds at a fifth: a pair that does not reach these is far from a link.
    #[must_use]
    pub fn fifth(&self) -> Thresholds {
        Thresholds { min_shared_bytes: self.min_shared_bytes / 5, min_containment: self.min_containment.fifth() }
    }

    /// The fewest shared bytes that link a content of this payload with any larger one; at least 1.
    ///
    /// The larger of the two containments is the one of the smaller content, so the requirement on a pair depends on
    /// its smaller content alone. So each content can look for its partners by itself.
    pub fn least_shared_bytes(&self, smaller_payload_bytes: u64) -> u64 {
        self.min_shared_bytes.min(self.min_containment.share_of_bytes(smaller_payload_bytes)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_fifth_of_a_share_is_a_share() {
        for (whole, fifth) in [
            ("1", "0.2"),
            ("0.5", "0.1"),
            ("0.333", "0.0666"),
            ("0", "0"),
            ("0.000000000000000009", "0.000000000000000001"),
        ] {
            assert_eq!(whole.parse::<Containment>().unwrap().fifth(), fifth.parse().unwrap(), "{whole}");
        }
    }

    #[test]
    fn decimals_between_zero_and_one_are_read_exactly_and_shown_again() {
        for (text, shown) in [
            ("0", "0"),
            ("1", "1"),
            ("1.000", "1"),
            ("0.0", "0"),
            ("0.5", "0.5"),
            ("0.50", "0.5"),
            ("0.333", "0.333"),
            ("0.05", "0.05"),
            ("0.000000000000000001", "0.000000000000000001"),
        ] {
            let containment: Containment = text.parse().unwrap();
            assert_eq!(containment.to_string(), shown);
            assert_eq!(shown.parse(), Ok(containment));
        }
    }

    #[test]
    fn everything_else_is_refused_by_name() {
        for text in [
            "",
            ".",
            ".5",
            "0.",
            "1.1",
            "2",
            "-0.5",
            "+0.5",
            "0.5 ",
            "00.5",
            "5e-1",
            "0,5",
            "NaN",
            "1.0000000000000000001",
            "0.0000000000000000001",
        ] {
            let error = text.parse::<Containment>().unwrap_err();
            assert!(error.to_string().contains(&format!("{text:?}")), "{text}");
        }
    }

    #[test]
    fn a_share_is_rounded_up_to_whole_bytes() {
        let third: Containment = "0.333".parse().unwrap();
        assert_eq!(third.share_of_bytes(1000), 333);
        assert_eq!(third.share_of_bytes(1001), 334);
        assert_eq!(third.share_of_bytes(0), 0);
        let whole: Containment = "1".parse().unwrap();
        assert_eq!(whole.share_of_bytes(u64::MAX), u64::MAX);
        assert!(third.is_reached_by(333, 1000));
        assert!(!third.is_reached_by(332, 1000));
        assert!(third.is_at_most(Containment::FOUR_FIFTHS));
        assert!(!whole.is_at_most(Containment::FOUR_FIFTHS));
    }

    #[test]
    fn the_requirement_is_the_easier_threshold_and_never_nothing() {
        let thresholds = Thresholds { min_shared_bytes: 100, min_containment: "0.5".parse().unwrap() };
        for (payload_bytes, least) in [(0, 1), (1, 1), (101, 51), (200, 100), (1_000_000, 100)] {
            assert_eq!(thresholds.least_shared_bytes(payload_bytes), least);
        }
    }

    fn containment() -> impl Strategy<Value = Containment> {
        (0u64..=1_000_000)
            .prop_map(|millionths| format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000).parse().unwrap())
    }

    proptest! {
        #[test]
        fn the_share_of_bytes_is_the_least_that_reaches_the_share(share in containment(), size in 0..1u64 << 62) {
            let bytes = share.share_of_bytes(size);
            prop_assert!(bytes <= size);
            prop_assert!(share.is_reached_by(bytes, size));
            prop_assert!(bytes == 0 || !share.is_reached_by(bytes - 1, size));
        }

        #[test]
        fn a_greater_share_asks_for_more(a in containment(), b in containment(), size in any::<u64>()) {
            prop_assert!(a.is_at_most(b) || b.is_at_most(a));
            if a.is_at_most(b) {
                prop_assert!(a.share_of_bytes(size) <= b.share_of_bytes(size));
            }
        }

        #[test]
        fn a_share_comes_back_from_its_text_and_its_fifth_is_below_it(share in containment()) {
            prop_assert_eq!(share.to_string().parse(), Ok(share));
            prop_assert!(share.fifth().is_at_most(share));
        }

        #[test]
        fn a_larger_content_never_needs_fewer_bytes(
            share in containment(),
            min in any::<u64>(),
            a in any::<u64>(),
            b in any::<u64>(),
        ) {
            let thresholds = Thresholds { min_shared_bytes: min, min_containment: share };
            let (smaller, larger) = (a.min(b), a.max(b));
            prop_assert!(thresholds.least_shared_bytes(smaller) <= thresholds.least_shared_bytes(larger));
            let fifth = thresholds.fifth();
            prop_assert!(fifth.least_shared_bytes(a) <= thresholds.least_shared_bytes(a));
        }
    }

    #[test]
    fn four_fifths_are_exact_for_sizes_of_any_magnitude() {
        for size in [5u64, 10, 1 << 20, (1 << 60) - 4, 1 << 60, u64::MAX / 5 * 5] {
            let part = size / 5 * 4;
            let exact = size.is_multiple_of(5);
            assert_eq!(Containment::FOUR_FIFTHS.is_reached_by(part, size), exact, "{size}");
            assert!(Containment::FOUR_FIFTHS.is_reached_by(part + 4, size));
        }
    }
}
