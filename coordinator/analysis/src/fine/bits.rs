//! A bit for each fine chunk of a chunk.

use std::ops::Range;

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

    /// Sets the bits that are set in these words.
    pub(super) fn add(&mut self, words: &[u64]) {
        self.0.iter_mut().zip(words).for_each(|(word, other)| *word |= other);
    }

    pub(super) fn holds(&self, place: usize) -> bool {
        holds(&self.0, place)
    }

    /// The places of the bits that are set, ascending.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(number, word)| {
            let lowest_gone = |word: &u64| Some(word & (word - 1)).filter(|rest| *rest != 0);
            let words = std::iter::successors(Some(*word).filter(|word| *word != 0), lowest_gone);
            words.map(move |word| 64 * number + word.trailing_zeros() as usize)
        })
    }

    /// The places at which `count` bits in a row begin that are set in these words; 1 to 64 of them.
    pub(super) fn in_a_row(words: &[u64], count: usize) -> Bits {
        let mut begins = Bits(words.into());
        for distance in 1..count {
            for (number, begins) in begins.0.iter_mut().enumerate() {
                let next = words.get(number + 1).map_or(0, |next| next << (64 - distance));
                *begins &= words[number] >> distance | next;
            }
        }
        begins
    }

    /// The bits as words, the first in the lowest bit.
    pub(super) fn words(&self) -> &[u64] {
        &self.0
    }
}

/// The bits of many chunks, one after the other: a memory for each would take as much again.
#[derive(Default)]
pub(super) struct BitsPool {
    words: Vec<u64>,
}

/// The place of the bits of a chunk in a pool.
#[derive(Clone, Copy)]
pub(super) struct PooledBits {
    start: u32,
    words: u32,
}

impl PooledBits {
    fn range(self) -> Range<usize> {
        self.start as usize..self.start as usize + self.words as usize
    }

    /// The place in a pool that has taken in the pool of this place, whose words begin at `start` there.
    pub(super) fn moved_by(self, start: u32) -> PooledBits {
        PooledBits { start: self.start + start, ..self }
    }
}

impl BitsPool {
    fn end(&self) -> u32 {
        u32::try_from(self.words.len()).expect("bits of less than 32 GB are in memory")
    }

    /// Keeps the bits of one more chunk.
    pub(super) fn put(&mut self, bits: &Bits) -> PooledBits {
        let start = self.end();
        self.words.extend_from_slice(&bits.0);
        PooledBits { start, words: self.end() - start }
    }

    /// The words of a chunk.
    pub(super) fn words(&self, at: PooledBits) -> &[u64] {
        &self.words[at.range()]
    }

    /// Sets the bits that are set in the others.
    pub(super) fn add(&mut self, at: PooledBits, bits: &Bits) {
        self.words[at.range()].iter_mut().zip(&bits.0).for_each(|(word, other)| *word |= other);
    }

    /// Sets the bits that are set at another place.
    pub(super) fn add_from(&mut self, at: PooledBits, other: PooledBits) {
        for (word, other) in at.range().zip(other.range()) {
            self.words[word] |= self.words[other];
        }
    }

    /// Takes in another pool, and tells where its words begin now.
    pub(super) fn absorb(&mut self, other: BitsPool) -> u32 {
        let start = self.end();
        if self.words.is_empty() {
            *self = other;
        } else {
            self.words.extend(other.words);
        }
        // The places of all words must fit their numbers.
        self.end();
        start
    }

    /// The number of bits that are set in all chunks.
    pub(super) fn count(&self, chunks: impl Iterator<Item = PooledBits>) -> u64 {
        chunks.flat_map(|at| self.words(at)).map(|word| u64::from(word.count_ones())).sum()
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
            assert_eq!([&bits, &all].map(set), [count.div_ceil(3), count]);
            for (length, distance) in [(1, 1), (2, 1), (4, 1), (2, 3), (70, 1)] {
                let counted: Vec<u8> = (0..count).map(|place| u8::from(place % (length + distance) < length)).collect();
                let bits = Bits::of(&counted);
                for wanted in [1, 2, 3, 4, 63, 64] {
                    let begins = Bits::in_a_row(bits.words(), wanted);
                    for place in 0..count + 70 {
                        let expected = (place..place + wanted).all(|place| bits.holds(place));
                        assert_eq!(begins.holds(place), expected, "{wanted} from {place} of {count}, {length}");
                    }
                }
            }
            bits.add(all.words());
            assert_eq!([bits, Bits::none(count)].each_ref().map(set), [count, 0]);
        }
    }

    /// The number of bits that are set.
    fn set(bits: &Bits) -> usize {
        let places: Vec<usize> = bits.places().collect();
        let expected: Vec<usize> = (0..64 * bits.words().len()).filter(|place| bits.holds(*place)).collect();
        assert_eq!(places, expected);
        places.len()
    }

    #[test]
    fn pools_keep_the_bits_of_each_chunk_apart() {
        let bits = |step: usize, count: usize| {
            Bits::of(&(0..count).map(|place| u8::from(place % step == 0)).collect::<Vec<_>>())
        };
        let mut pools = [BitsPool::default(), BitsPool::default()];
        let [first, second] = &mut pools;
        let mut places = vec![first.put(&bits(2, 100)), first.put(&bits(3, 0)), first.put(&bits(3, 130))];
        let others = [second.put(&bits(5, 130)), second.put(&bits(7, 65))];
        first.add(places[0], &bits(5, 100));
        let [mut pool, other] = pools;
        let start = pool.absorb(other);
        places.extend(others.map(|at| at.moved_by(start)));
        pool.add_from(places[2], places[3]);
        let holds = |number: usize, place: usize| holds(pool.words(places[number]), place);
        for place in 0..200 {
            let is_one_of = |steps: &[usize], count: usize| place < count && steps.iter().any(|step| place % step == 0);
            let expected =
                [is_one_of(&[2, 5], 100), false, is_one_of(&[3, 5], 130), is_one_of(&[5], 130), is_one_of(&[7], 65)];
            assert_eq!([0, 1, 2, 3, 4].map(|number| holds(number, place)), expected, "{place}");
        }
        assert_eq!(pool.count(places.into_iter()), 60 + 61 + 26 + 10);
        let mut empty = BitsPool::default();
        assert_eq!((empty.absorb(pool), empty.count([].into_iter())), (0, 0));
    }
}
