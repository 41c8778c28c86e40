//! Rabin fingerprints: a run of bytes as a polynomial over GF(2), modulo an irreducible polynomial of degree 64.
//!
//! Source: M. O. Rabin, "Fingerprinting by random polynomials" (1981); A. Broder, "Some applications of Rabin's
//! fingerprinting method" (1993). The bits of a run, the highest of each byte first, are the coefficients of a polynomial
//! A(x); its fingerprint is A(x) mod P(x), 64 bits, the highest bit being the coefficient of x^63. P is irreducible and
//! drawn at random under the key, as the method asks: only those who know the key know P.
//!
//! A polynomial of degree 64 is written as the 64 bits below its leading one.

use crate::key::Key;

/// The remainder of `x^64` and below: `P(x) - x^64` for an irreducible P of degree 64.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Polynomial(u64);

impl Polynomial {
    /// The first irreducible polynomial among the key's pseudo-random words, the lowest bit of each set to 1 (otherwise x
    /// would be a factor). About one word in 32 is irreducible.
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
    /// The test is Ben-Or's ("Probabilistic algorithms in finite fields", 1981): a polynomial is irreducible if it has no
    /// factor in common with `x^(2^i) - x`, the product of all irreducible polynomials whose degrees divide i, for any i up
    /// to half its degree. Most others fail early.
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

    /// True if P and `other` have no factor in common, by Euclid's algorithm.
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
    /// The remainder of each byte that leaves the word at its high end: `byte * x^64 mod P`.
    carry: Box<[u64; 256]>,
}

impl Rabin {
    pub(crate) fn new(polynomial: Polynomial) -> Rabin {
        let carry = |byte: u64| (0..64).fold(byte, |power, _| polynomial.times_x(power));
        Rabin { polynomial, carry: table(carry) }
    }

    /// The fingerprint of a run followed by `byte`, given that of the run.
    #[inline(always)]
    pub(crate) fn push(&self, fingerprint: u64, byte: u8) -> u64 {
        (fingerprint << 8 ^ u64::from(byte)) ^ self.carry[(fingerprint >> 56) as usize]
    }

    /// The fingerprint of a run followed by `bytes`, given that of the run.
    pub(crate) fn extend(&self, fingerprint: u64, bytes: &[u8]) -> u64 {
        bytes.iter().fold(fingerprint, |fingerprint, &byte| self.push(fingerprint, byte))
    }

    /// The remainder of each byte that leaves the word at its high end.
    pub(crate) fn carry(&self) -> &[u64; 256] {
        &self.carry
    }

    /// The remainder of each byte followed by `window_bytes` zero bytes: it is added when the byte leaves the window.
    pub(crate) fn leaving(&self, window_bytes: usize) -> Box<[u64; 256]> {
        table(|byte| (0..8 * window_bytes).fold(byte, |power, _| self.polynomial.times_x(power)))
    }
}

/// Shifts words by a fixed number of bits: `word * x^bits mod P`, by a table for each byte of a word.
#[derive(Clone)]
pub(crate) struct Shift {
    tables: Box<[[u64; 256]; 8]>,
}

impl Shift {
    pub(crate) fn new(rabin: &Rabin, bits: usize) -> Shift {
        let power = (0..bits).fold(1, |power, _| rabin.polynomial.times_x(power));
        let mut tables = Box::new([[0; 256]; 8]);
        for (place, of_byte) in tables.iter_mut().enumerate() {
            *of_byte = *table(|byte| rabin.polynomial.product(power, byte << (8 * place)));
        }
        Shift { tables }
    }

    #[inline(always)]
    pub(crate) fn of(&self, word: u64) -> u64 {
        self.tables.iter().zip(word.to_le_bytes()).fold(0, |sum, (table, byte)| sum ^ table[usize::from(byte)])
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, bit by bit.
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
    fn known_polynomials_are_accepted_or_refused() {
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
        fn a_shifted_word_is_the_word_followed_by_zeros(word in any::<u64>(), bytes in 8..100_usize) {
            let mut shifted = word.to_be_bytes().to_vec();
            shifted.resize(8 + bytes, 0);
            let rabin = rabin();
            prop_assert_eq!(Shift::new(&rabin, 8 * bytes).of(word), rabin.extend(0, &shifted));
        }

        /// The fingerprint of polynomials is linear.
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
