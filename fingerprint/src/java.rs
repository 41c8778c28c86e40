//! Java's `hashCode` of strings and arrays: the hash of the Similarity Index, signed 32-bit words that wrap.
//!
//! Source: the specification of `java.lang.String.hashCode`: the sum of `s[i] * 31^(n-1-i)` over UTF-16 code units.

/// The hash of a sequence of UTF-16 code units.
pub(crate) fn hash_code(units: impl IntoIterator<Item = u16>) -> i32 {
    units.into_iter().fold(0, push)
}

/// The hash of a string with one more code unit.
pub(crate) fn push(hash: i32, unit: u16) -> i32 {
    hash.wrapping_mul(31).wrapping_add(i32::from(unit))
}

/// The hash of an array of integers, `java.util.Arrays.hashCode(int[])`.
pub(crate) fn array_hash_code(values: &[i32]) -> i32 {
    values.iter().fold(1, |hash, value| 31_i32.wrapping_mul(hash).wrapping_add(*value))
}

/// The hash of a window over a string: code units are added at its end and removed from its front.
#[derive(Clone, Copy)]
pub(crate) struct RollingHash {
    hash: i32,
    /// 31 to the power of the window's length.
    power: i32,
}

/// The inverse of 31 modulo 2^32.
const INVERSE_OF_31: i32 = -1_108_378_657;
const _: () = assert!(INVERSE_OF_31.wrapping_mul(31) == 1);

impl RollingHash {
    pub(crate) const EMPTY: RollingHash = RollingHash { hash: 0, power: 1 };

    pub(crate) fn hash(self) -> i32 {
        self.hash
    }

    pub(crate) fn add(&mut self, unit: u16) {
        self.hash = push(self.hash, unit);
        self.power = self.power.wrapping_mul(31);
    }

    /// Removes the first code unit.
    pub(crate) fn remove(&mut self, unit: u16) {
        self.power = self.power.wrapping_mul(INVERSE_OF_31);
        self.hash = self.hash.wrapping_sub(self.power.wrapping_mul(i32::from(unit)));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn published_hashes_come_out() {
        let check = |text: &str, expected: i32| assert_eq!(hash_code(text.encode_utf16()), expected, "{text}");
        check("", 0);
        check("a", 97);
        check("abc", 96_354);
        check("hello", 99_162_322);
        check("Hello World", -862_545_276);
        // Equal hashes of different strings, and a string whose hash is the least integer.
        check("Aa", 2112);
        check("BB", 2112);
        check("polygenelubricants", i32::MIN);
        // U+1F600 is two code units.
        check("\u{1f600}", 55_357 * 31 + 56_832);
        assert_eq!(array_hash_code(&[1, 2, 3]), 30_817);
        assert_eq!(array_hash_code(&[]), 1);
    }

    proptest! {
        #[test]
        fn rolling_gives_the_hash_of_the_window(text in "\\PC{0,40}", width in 1..9_usize) {
            let units: Vec<u16> = text.encode_utf16().collect();
            let mut rolling = RollingHash::EMPTY;
            for end in 1..=units.len() {
                rolling.add(units[end - 1]);
                if end > width {
                    rolling.remove(units[end - 1 - width]);
                }
                prop_assert_eq!(rolling.hash(), hash_code(units[end.saturating_sub(width)..end].iter().copied()));
            }
        }
    }
}
