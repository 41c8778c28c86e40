//! Rabin fingerprints: a run of bytes as a polynomial over GF(2), modulo an irreducible polynomial of degree 64.
//!
//! Source: M. O. Rabin, "Fingerprinting by random polynomials" (1981); A. Broder, "Some applications of Rabin's
//! fingerprinting method" (1993). The bits of a run, the highest of each byte first, are the coefficients of a polynomial
//! A(x); its fingerprint is A(x) mod P(x), 64 bits, the highest bit being the coefficient of x^63. P is irreducible and
//! drawn at random under the key, as the method asks: who does not know the key does not know P.
//!
//! A polynomial of degree 64 is written as the 64 bits below its leading one.

use crate::key::Key;

/// The remainder of `x^64` and below: `P(x) - x^64` for an irreducible P of degree 64.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Polynomial(u64);

impl Polynomial {
    /// The first irreducible polynomial among the key's pseudo-random words, the lowest bit of each set to 1 (without it,
    /// x would be a factor). About one word in 32 is.
    pub(crate) fn of(key: &Key) -> Polynomial {
        let mut words = key.stream("cognate rabin v1");
        let mut bytes = [0; 8];
        loop {
            words.fill(&mut bytes);
            if let Some(polynomial) = Polynomial::new(u64::from_le_bytes(bytes) | 1) {
                return polynomial;
            }
        }
    }

    /// The polynomial whose coefficients below `x^64` are the bits of `low`, if it is irreducible.
    ///
    /// By Ben-Or's test: a polynomial is irreducible when it has no factor in common with `x^(2^i) - x`, the product of
    /// all irreducible polynomials whose degrees divide i, for any i up to half its degree. Most others fail early.
    pub(crate) fn new(low: u64) -> Option<Polynomial> {
        let polynomial = Polynomial(low);
        let mut power = 2;
        for _ in 0..32 {
            power = polynomial.product(power, power);
            if !polynomial.is_prime_to(power ^ 2) {
                return None;
            }
        }
        Some(polynomial)
    }

    /// `a * b mod P`.
    pub(crate) fn product(self, a: u64, b: u64) -> u64 {
        (0..64).rev().fold(0, |sum, bit| self.times_x(sum) ^ if b >> bit & 1 == 1 { a } else { 0 })
    }

    /// `a * x mod P`.
    pub(crate) fn times_x(self, a: u64) -> u64 {
        (a << 1) ^ if a >> 63 == 1 { self.0 } else { 0 }
    }

    /// Whether P and `other` have no factor in common, by Euclid's algorithm.
    fn is_prime_to(self, other: u64) -> bool {
        let (mut a, mut b) = (1 << 64 | u128::from(self.0), u128::from(other));
        while b != 0 {
            while a != 0 && a.leading_zeros() <= b.leading_zeros() {
                a ^= b << (b.leading_zeros() - a.leading_zeros());
            }
            (a, b) = (b, a);
        }
        a == 1
    }
}

/// Appends bytes to fingerprints: one look-up a byte.
#[derive(Clone)]
pub(crate) struct Rabin {
    polynomial: Polynomial,
    /// What the byte that leaves the word at its high end comes to: `byte * x^64 mod P`.
    carry: Box<[u64; 256]>,
}

impl Rabin {
    pub(crate) fn new(polynomial: Polynomial) -> Rabin {
        let carry = |byte: u64| (0..64).fold(byte, |power, _| polynomial.times_x(power));
        Rabin { polynomial, carry: table(carry) }
    }

    /// The fingerprint of a run with `byte` behind it, given that of the run.
    #[inline(always)]
    pub(crate) fn push(&self, fingerprint: u64, byte: u8) -> u64 {
        (fingerprint << 8 ^ u64::from(byte)) ^ self.carry[(fingerprint >> 56) as usize]
    }

    /// The same for all of `bytes`.
    pub(crate) fn extend(&self, fingerprint: u64, bytes: &[u8]) -> u64 {
        bytes.iter().fold(fingerprint, |fingerprint, &byte| self.push(fingerprint, byte))
    }

    /// What each byte comes to once `window_bytes` bytes stand behind it: to be added when it leaves the window.
    pub(crate) fn leaving(&self, window_bytes: usize) -> Box<[u64; 256]> {
        table(|byte| (0..8 * window_bytes).fold(byte, |power, _| self.polynomial.times_x(power)))
    }
}

/// A table over all bytes of a linear function, from its values at the eight powers of two.
fn table(function: impl Fn(u64) -> u64) -> Box<[u64; 256]> {
    let powers: [u64; 8] = std::array::from_fn(|bit| function(1 << bit));
    let mut table = Box::new([0; 256]);
    for (byte, value) in table.iter_mut().enumerate() {
        *value = (0..8).filter(|bit| byte >> bit & 1 == 1).fold(0, |sum, bit| sum ^ powers[bit]);
    }
    table
}

/// The fingerprints of all windows of one width, whatever stands before them.
#[derive(Clone)]
pub(crate) struct Rolling {
    rabin: Rabin,
    leaving: Box<[u64; 256]>,
    window_bytes: usize,
}

impl Rolling {
    pub(crate) fn new(rabin: Rabin, window_bytes: usize) -> Rolling {
        Rolling { leaving: rabin.leaving(window_bytes), rabin, window_bytes }
    }

    pub(crate) fn window_bytes(&self) -> usize {
        self.window_bytes
    }

    /// The next window's fingerprint: `out` leaves it and `byte` enters.
    #[inline(always)]
    pub(crate) fn roll(&self, fingerprint: u64, out: u8, byte: u8) -> u64 {
        roll(&self.rabin.carry, &self.leaving, fingerprint, out, byte)
    }

    /// Puts the fingerprint of `bytes[i..i + window_bytes]`, as `finish` makes it, into `values[i]`, for every window of
    /// `bytes`, of which there is at least one.
    ///
    /// (This and [`Rolling::up_to`] are not inlined: by themselves they keep the tables' addresses in registers. And they
    /// are two loops, not one with a closure for the values: that one stored at half the speed.)
    #[inline(never)]
    #[expect(clippy::needless_range_loop, reason = "four stretches go on in step")]
    pub(crate) fn all(&self, bytes: &[u8], values: &mut [u64], finish: impl Fn(u64) -> u64 + Copy) {
        debug_assert_eq!(bytes.len() + 1, values.len() + self.window_bytes);
        let quarter = values.len() / 4;
        let rest = if quarter == 0 {
            values
        } else {
            let mut four = self.four(bytes, quarter);
            let (first, second) = values.split_at_mut(2 * quarter);
            let ((write_0, write_1), (write_2, rest)) = (first.split_at_mut(quarter), second.split_at_mut(quarter));
            let (write_3, rest) = rest.split_at_mut(quarter);
            let write = [write_0, write_1, write_2, write_3];
            for lane in 0..4 {
                write[lane][0] = finish(four.fingerprints[lane]);
            }
            let write = write.map(|write| &mut write[1..quarter]);
            for place in 0..quarter - 1 {
                for lane in 0..4 {
                    write[lane][place] = finish(four.roll(lane, place));
                }
            }
            rest
        };
        // What four does not divide.
        for (value, window) in rest.iter_mut().zip(bytes[4 * quarter..].windows(self.window_bytes)) {
            *value = finish(self.rabin.extend(0, window));
        }
    }

    /// The values of windows that are at most `bound`, in any order, are added to `found`.
    #[inline(never)]
    pub(crate) fn up_to(&self, bytes: &[u8], bound: u64, finish: impl Fn(u64) -> u64 + Copy, found: &mut Vec<u64>) {
        let mut keep = |value| {
            if value <= bound {
                found.push(value);
            }
        };
        let quarter = (bytes.len() + 1 - self.window_bytes) / 4;
        if quarter > 0 {
            let mut four = self.four(bytes, quarter);
            four.fingerprints.into_iter().for_each(|fingerprint| keep(finish(fingerprint)));
            for place in 0..quarter - 1 {
                for lane in 0..4 {
                    keep(finish(four.roll(lane, place)));
                }
            }
        }
        bytes[4 * quarter..].windows(self.window_bytes).for_each(|window| keep(finish(self.rabin.extend(0, window))));
    }

    /// Four stretches of `quarter` windows, at least 1, to be rolled side by side, since each step has to wait for the one
    /// before it.
    #[inline(always)]
    fn four<'a>(&'a self, bytes: &'a [u8], quarter: usize) -> Four<'a> {
        let stretch = [0, 1, 2, 3].map(|lane| &bytes[lane * quarter..]);
        Four {
            carry: &self.rabin.carry,
            leave: &self.leaving,
            leaving: stretch.map(|stretch| &stretch[..quarter - 1]),
            entering: stretch.map(|stretch| &stretch[self.window_bytes..][..quarter - 1]),
            fingerprints: stretch.map(|stretch| self.rabin.extend(0, &stretch[..self.window_bytes])),
        }
    }
}

struct Four<'a> {
    carry: &'a [u64; 256],
    leave: &'a [u64; 256],
    leaving: [&'a [u8]; 4],
    entering: [&'a [u8]; 4],
    fingerprints: [u64; 4],
}

impl Four<'_> {
    /// The fingerprint of the window after the one at `place` of a stretch, which is where it stands.
    #[inline(always)]
    fn roll(&mut self, lane: usize, place: usize) -> u64 {
        let (out, byte) = (self.leaving[lane][place], self.entering[lane][place]);
        self.fingerprints[lane] = roll(self.carry, self.leave, self.fingerprints[lane], out, byte);
        self.fingerprints[lane]
    }
}

#[inline(always)]
fn roll(carry: &[u64; 256], leave: &[u64; 256], fingerprint: u64, out: u8, byte: u8) -> u64 {
    // The look-up that does not depend on the fingerprint is kept out of the chain of those that do.
    let change = u64::from(byte) ^ leave[usize::from(out)];
    (fingerprint << 8) ^ change ^ carry[(fingerprint >> 56) as usize]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition: bit by bit, with nothing kept from one window to the next.
    fn by_definition(polynomial: u64, bytes: &[u8]) -> u64 {
        let bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
        bits.fold(0, |rest, bit| {
            let carry = rest >> 63;
            let next = rest << 1 | u64::from(bit);
            if carry == 1 { next ^ polynomial } else { next }
        })
    }

    fn rabin() -> Rabin {
        Rabin::new(Polynomial::of(&Key::none()))
    }

    #[test]
    fn known_polynomials_are_told_apart() {
        // x^64 + x^4 + x^3 + x + 1 is irreducible (ISO 3309); x^64 + 1 is (x + 1)^64.
        assert_eq!(Polynomial::new(0x1b), Some(Polynomial(0x1b)));
        assert_eq!(Polynomial::new(1), None);
        // The product of x^32 + x^7 + x^3 + x^2 + 1 and itself, and with x^32 + x^22 + x^2 + x + 1, both irreducible.
        let product = |a: u64, b: u64| {
            (0..33).filter(|bit| b >> bit & 1 == 1).fold(0_u128, |sum, bit| sum ^ u128::from(a) << bit)
        };
        let (a, b) = (1 << 32 | 0b1000_1101, 1 << 32 | 1 << 22 | 0b111);
        for reducible in [product(a, a), product(a, b)] {
            assert_eq!(reducible >> 64, 1);
            assert_eq!(Polynomial::new(u64::try_from(reducible & u128::from(u64::MAX)).unwrap()), None);
        }
        // The published polynomials of the ECMA-182 checksum have a factor x + 1.
        assert_eq!(Polynomial::new(0x42f0_e1eb_a9ea_3693), None);
    }

    #[test]
    fn about_one_odd_word_in_32_is_irreducible() {
        let mut words = Key::none().stream("a test of polynomials");
        let found = (0..4096)
            .filter(|_| {
                let mut bytes = [0; 8];
                words.fill(&mut bytes);
                Polynomial::new(u64::from_le_bytes(bytes) | 1).is_some()
            })
            .count();
        // 128 are expected, give or take four times 11.
        assert!((84..172).contains(&found), "{found}");
    }

    #[test]
    fn keys_choose_polynomials() {
        let of = |byte| Polynomial::of(&Key::parse(&[byte; 32]).unwrap());
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert_ne!(of(1), Polynomial::of(&Key::none()));
    }

    proptest! {
        #[test]
        fn fingerprints_are_remainders(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let rabin = rabin();
            prop_assert_eq!(rabin.extend(0, &bytes), by_definition(rabin.polynomial.0, &bytes));
        }

        #[test]
        fn rolled_windows_have_the_fingerprints_of_their_bytes(
            bytes in proptest::collection::vec(any::<u8>(), 1..300),
            window_bytes in 1..70_usize,
        ) {
            prop_assume!(bytes.len() >= window_bytes);
            let rabin = rabin();
            let polynomial = rabin.polynomial.0;
            let mut values = vec![0; bytes.len() + 1 - window_bytes];
            Rolling::new(rabin, window_bytes).all(&bytes, &mut values, |value| value);
            let expected: Vec<u64> =
                bytes.windows(window_bytes).map(|window| by_definition(polynomial, window)).collect();
            prop_assert_eq!(values, expected);
        }

        /// What makes it a fingerprint of polynomials: it is linear.
        #[test]
        fn the_fingerprint_of_a_sum_is_the_sum_of_fingerprints(
            pairs in proptest::collection::vec((any::<u8>(), any::<u8>()), 0..100),
        ) {
            let of = |bytes: Vec<u8>| rabin().extend(0, &bytes);
            let (a, b) = pairs.iter().copied().unzip();
            let sum = of(pairs.iter().map(|(a, b)| a ^ b).collect());
            prop_assert_eq!(sum, of(a) ^ of(b));
        }
    }
}
