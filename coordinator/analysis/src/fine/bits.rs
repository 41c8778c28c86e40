//! A bit for each fine chunk of a chunk.

/// A bit for each fine chunk of a chunk.
#[derive(Clone)]
pub(super) struct Bits(Box<[u64]>);

impl Bits {
    /// Bits of which none is set.
    pub(super) fn none(count: usize) -> Bits {
        Bits(vec![0; count.div_ceil(64)].into())
    }

    /// Bits that are all set.
    pub(super) fn all(count: usize) -> Bits {
        let word = |first: usize| u64::MAX >> (64 - (count - first).min(64));
        Bits((0..count).step_by(64).map(word).collect())
    }

    /// A bit for each fine chunk of which some bytes count.
    pub(super) fn of(counted: &[u8]) -> Bits {
        let word = |counted: &[u8]| {
            let (eights, rest) = counted.as_chunks();
            let rest = rest.iter().rev().fold(0, |word, bytes| word << 1 | u64::from(*bytes > 0));
            eights.iter().rev().fold(rest, |word, eight| word << 8 | u64::from(are_set(*eight)))
        };
        Bits(counted.chunks(64).map(word).collect())
    }

    /// Sets the bits that the other has.
    pub(super) fn add(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    pub(super) fn holds(&self, place: usize) -> bool {
        holds(&self.0, place)
    }

    /// The places at which `count` set bits in a row begin; 1 to 64 of them.
    pub(super) fn in_a_row(&self, count: usize) -> Bits {
        let mut begins = self.clone();
        for distance in 1..count {
            for (number, begins) in begins.0.iter_mut().enumerate() {
                let next = self.0.get(number + 1).map_or(0, |next| next << (64 - distance));
                *begins &= self.0[number] >> distance | next;
            }
        }
        begins
    }

    /// The bits as words, the first in the lowest bit.
    pub(super) fn words(&self) -> &[u64] {
        &self.0
    }

    /// The number of bits that are set.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// A bit for each of eight numbers below 128 that is not 0, the first in the lowest bit.
fn are_set(numbers: [u8; 8]) -> u8 {
    const HIGHEST: u64 = 0x8080_8080_8080_8080;
    let highest = (u64::from_le_bytes(numbers) + (HIGHEST - HIGHEST / 0x80)) & HIGHEST;
    // Of each byte the highest bit is left; the product has all of them next to each other, in its highest byte.
    (highest / 0x80).wrapping_mul(0x0102_0408_1020_4080).to_le_bytes()[7]
}

/// True if a bit is set in these words.
pub(super) fn holds(words: &[u64], place: usize) -> bool {
    words.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_what_counts_whatever_their_number() {
        for count in [0, 1, 63, 64, 65, 127, 128, 200] {
            let counted: Vec<u8> = (0..count).map(|place| u8::from(place % 3 == 0) * 7).collect();
            let (mut bits, all) = (Bits::of(&counted), Bits::all(count));
            for place in 0..count + 70 {
                assert_eq!(bits.holds(place), place < count && place % 3 == 0, "{place} of {count}");
                assert_eq!(all.holds(place), place < count, "{place} of {count}");
            }
            assert_eq!((bits.count(), all.count()), (count.div_ceil(3) as u64, count as u64));
            for (length, distance) in [(1, 1), (2, 1), (4, 1), (2, 3), (70, 1)] {
                let counted: Vec<u8> = (0..count).map(|place| u8::from(place % (length + distance) < length)).collect();
                let bits = Bits::of(&counted);
                for wanted in [1, 2, 3, 4, 63, 64] {
                    let begins = bits.in_a_row(wanted);
                    for place in 0..count + 70 {
                        let expected = (place..place + wanted).all(|place| bits.holds(place));
                        assert_eq!(begins.holds(place), expected, "{wanted} from {place} of {count}, {length}");
                    }
                }
            }
            bits.add(&all);
            assert_eq!((bits.count(), Bits::none(count).count()), (count as u64, 0));
        }
    }
}
