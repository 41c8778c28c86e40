//! Fine chunks: a chunk that two documents do not share is cut once more, into pieces of about seven bytes.
//!
//! Source of the idea: the coarse and the fine comparison of Forman, Eshghi, Chiocchetti (KDD 2005), section 4. Every chunk is
//! cut by itself, so that one cut of it serves every pair of documents that asks for it.
//!
//! A position has a value: `SipHash`-1-3 of its byte and the two before it, where the bytes before the chunk count as zeros. Lengths leave a
//! site, and each tells how values compare: with a hash that is linear in its secret, some thousands of them would be equations that give the
//! secret away (ePrint 2025/558 does so with chunkers that cut by bits of a rolling hash). A fine chunk ends where the value is less than
//! those of the three positions before and not more than those of the three after, or after [`FINE_BYTES_MAX`] bytes. So the
//! lengths are far more even than those of a rolling hash that is compared with a bound, and an edit moves no cut that is
//! more than five bytes away from it. (Local minima as cuts: Teodosiu et al., "Optimizing file replication over limited
//! bandwidth networks using remote differential compression", Microsoft Research 2006, section 3.)
//!
//! The tag of a fine chunk has eight bits: three for its first four bytes, three for its last four, and two for all of it.
//! Alone it says little, to a reader of the tags as well; two documents have bytes in common where fine chunks that
//! follow each other agree, and at the ends of such a run where a first or a last part agrees (`similarity::fine`).

mod as_text;
#[cfg(target_arch = "x86_64")]
mod wide;

pub use as_text::{fine_of_text, fine_to_text};

use std::fmt;

#[cfg(target_arch = "x86_64")]
use self::wide::Wide;
use crate::key::Key;
use crate::sip::SipHash;

/// The greatest length of a fine chunk.
pub const FINE_BYTES_MAX: u8 = 16;
/// The greatest mean of chunks that are cut into fine ones: it bounds the fine chunks of one chunk.
pub const FINE_CHUNK_BYTES_MOST: u32 = 16 << 10;
/// Fine chunks of a chunk of so many bytes: at most one in four bytes, and a few at the ends.
pub const fn fine_chunks_max(chunk_bytes: u32) -> u32 {
    chunk_bytes / 4 + 4
}

/// The bytes at either end of a fine chunk that have bits of its tag to themselves.
const END_BYTES: usize = 4;
/// The bits of a tag for either end.
const END_BITS: u32 = 3;
const END_MASK: u8 = (1 << END_BITS) - 1;
/// The bytes that are hashed for the bits of all bytes: sixteen, and their number.
const ALL_BYTES: u64 = FINE_BYTES_MAX as u64 + 1;

/// The positions on either side that a cut is compared with.
const RADIUS: usize = 3;
/// The positions that are looked at together.
const BLOCK: usize = 256;

/// A fine chunk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FineChunk {
    /// From the lowest bit on: three bits of the first four bytes, three of the last, two of all bytes, filled up with zeros to sixteen
    /// and followed by their number. Each part is the lowest bits of `SipHash`-1-3 under a key of its own, derived from the
    /// federation key.
    pub tag: u8,
    /// Its length: 1 to [`FINE_BYTES_MAX`].
    pub length_bytes: u8,
}

impl FineChunk {
    /// True if the first four bytes of both agree by their tags.
    pub fn begins_like(self, other: FineChunk) -> bool {
        (self.tag ^ other.tag) & END_MASK == 0
    }

    /// True if the last four bytes of both agree by their tags.
    pub fn ends_like(self, other: FineChunk) -> bool {
        (self.tag ^ other.tag) & END_MASK << END_BITS == 0
    }
}

/// The keyed hashes of a cutter.
#[derive(Clone, Copy)]
struct Sips {
    /// For the values of positions.
    cuts: SipHash,
    /// For the first bytes, the last bytes, and all bytes of a fine chunk.
    tags: [SipHash; 3],
}

/// The bytes that a value depends on, as the hash counts them.
const WINDOW_BYTES: u64 = 3;

impl Sips {
    /// The value of a position, by its byte, the one before it and the one before that.
    #[inline]
    fn value(&self, [latest, before, before_that]: [u8; 3]) -> i32 {
        let window = u32::from_le_bytes([latest, before, before_that, 0]);
        let [a, b, c, d, ..] = self.cuts.hash_words([WINDOW_BYTES << 56 | u64::from(window)]).to_le_bytes();
        i32::from_le_bytes([a, b, c, d])
    }
}

/// Cuts chunks into fine chunks.
#[derive(Clone)]
pub struct FineCutter {
    sips: Sips,
    #[cfg(target_arch = "x86_64")]
    wide: Option<Wide>,
}

impl FineCutter {
    /// A cutter under a key.
    pub fn new(key: &Key) -> FineCutter {
        let (mut of_cuts, mut of_tags) = ([0; 16], [[0; 16]; 3]);
        key.derive_into("cognate fine chunker v2", &mut of_cuts);
        key.derive_into("cognate fine tag v1", of_tags.as_flattened_mut());
        FineCutter {
            sips: Sips { cuts: SipHash::new(of_cuts), tags: of_tags.map(SipHash::new) },
            #[cfg(target_arch = "x86_64")]
            wide: Wide::detect(),
        }
    }

    /// Cuts a chunk and hands every fine chunk, in order, to `each`.
    pub fn cut(&self, chunk: &[u8], each: impl FnMut(FineChunk)) {
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = &self.wide {
            return wide.cut(&self.sips, chunk, each);
        }
        self.cut_place_by_place(chunk, each);
    }

    fn cut_place_by_place(&self, chunk: &[u8], mut each: impl FnMut(FineChunk)) {
        let mut start = 0;
        self.each_end(chunk, |end| {
            while start < end {
                let length = (end - start).min(usize::from(FINE_BYTES_MAX));
                each(self.tagged(words(&chunk[start..]), length));
                start += length;
            }
        });
    }

    /// Hands over the places after which values are least, ascending, and then the end.
    fn each_end(&self, chunk: &[u8], mut each: impl FnMut(usize)) {
        let mut values = [0; BLOCK + 2 * RADIUS];
        let mut least = [false; BLOCK];
        let mut ends = [0; BLOCK];
        for start in (0..chunk.len()).step_by(BLOCK) {
            self.values(chunk, start, &mut values);
            for (place, least) in least.iter_mut().enumerate() {
                let window = values[place..].first_chunk().expect("there are values on both sides");
                *least = is_least(window);
            }
            // Without a branch: where the next cut is cannot be guessed.
            let mut count = 0;
            for (place, least) in least.into_iter().take(chunk.len() - start).enumerate() {
                ends[count] = place + 1;
                count += usize::from(least);
            }
            ends[..count].iter().for_each(|end| each(start + end));
        }
        each(chunk.len());
    }

    /// The values of the positions of a block, and of [`RADIUS`] positions on both sides; the greatest where the chunk has none.
    fn values(&self, chunk: &[u8], start: usize, values: &mut [i32; BLOCK + 2 * RADIUS]) {
        let first = start.saturating_sub(RADIUS);
        let end = chunk.len().min(start + BLOCK + RADIUS);
        let place = first + RADIUS - start;
        values[..place].fill(i32::MAX);
        values[place + end - first..].fill(i32::MAX);
        let byte = |back: usize| first.checked_sub(back).map_or(0, |place| chunk[place]);
        let (mut before, mut before_that) = (byte(1), byte(2));
        for (value, byte) in values[place..].iter_mut().zip(&chunk[first..end]) {
            *value = self.sips.value([*byte, before, before_that]);
            (before, before_that) = (*byte, before);
        }
    }

    /// The fine chunk of so many bytes at the beginning of some.
    #[inline]
    fn tagged(&self, bytes: u128, length: usize) -> FineChunk {
        let bytes = bytes & (u128::MAX >> (8 * (usize::from(FINE_BYTES_MAX) - length)));
        let [low, high] = [bytes, bytes >> 64].map(low_word);
        let end = length.min(END_BYTES);
        let of_end = |word: u64| (end as u64) << 56 | word & u64::from(u32::MAX);
        let last = low_word(bytes >> (8 * (length - end)));
        let parts = [
            self.sips.tags[0].hash_words([of_end(low)]),
            self.sips.tags[1].hash_words([of_end(last)]),
            self.sips.tags[2].hash_words([low, high, ALL_BYTES << 56 | length as u64]),
        ];
        let [first, last, all] = parts.map(|hash| hash.to_le_bytes()[0]);
        let tag = first & END_MASK | (last & END_MASK) << END_BITS | all << (2 * END_BITS);
        FineChunk { tag, length_bytes: length.to_le_bytes()[0] }
    }
}

/// The first sixteen bytes, filled up with zeros.
#[inline]
fn words(bytes: &[u8]) -> u128 {
    let padded = || {
        let mut padded = [0; FINE_BYTES_MAX as usize];
        padded[..bytes.len()].copy_from_slice(bytes);
        padded
    };
    u128::from_le_bytes(bytes.first_chunk().copied().unwrap_or_else(padded))
}

/// The lower half.
#[inline]
fn low_word(words: u128) -> u64 {
    u64::from_le_bytes(*words.to_le_bytes().first_chunk().expect("eight of sixteen bytes"))
}

/// True if the value in the middle is less than those before it and not more than those after it.
#[inline]
fn is_least(window: &[i32; 2 * RADIUS + 1]) -> bool {
    let value = window[RADIUS];
    let before = (value < window[0]) & (value < window[1]) & (value < window[2]);
    before & (value <= window[4]) & (value <= window[5]) & (value <= window[6])
}

impl fmt::Debug for FineCutter {
    /// Never shows what is derived from the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FineCutter").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::test_support::{documents, noise};

    fn fine(chunk: &[u8], key: &Key) -> Vec<FineChunk> {
        let mut all = Vec::new();
        FineCutter::new(key).cut(chunk, |fine| all.push(fine));
        all
    }

    fn ends(chunk: &[u8]) -> HashSet<usize> {
        let mut end = 0;
        let end_of = |fine: FineChunk| {
            end += usize::from(fine.length_bytes);
            end
        };
        fine(chunk, &Key::none()).into_iter().map(end_of).collect()
    }

    #[test]
    fn the_mean_length_of_noise_is_about_seven_bytes() {
        let all = fine(&noise("fine", 1 << 20), &Key::none());
        let mean_tenths = (10 << 20) / all.len();
        assert!((68..=72).contains(&mean_tenths), "{mean_tenths}");
    }

    /// The ends by their definition, from the values of all positions.
    fn ends_by_definition(cutter: &FineCutter, chunk: &[u8]) -> Vec<usize> {
        let byte = |place: usize, back: usize| place.checked_sub(back).map_or(0, |place| chunk[place]);
        let value = |place: usize| cutter.sips.value([0, 1, 2].map(|back| byte(place, back)));
        let values: Vec<i32> = (0..chunk.len()).map(value).collect();
        let (mut ends, mut start) = (Vec::new(), 0);
        for place in 0..chunk.len() {
            let before = values[place.saturating_sub(RADIUS)..place].iter().all(|other| values[place] < *other);
            let after = values[place + 1..].iter().take(RADIUS).all(|other| values[place] <= *other);
            if before && after || place + 1 == chunk.len() {
                let longest = usize::from(FINE_BYTES_MAX);
                ends.extend((start + longest..=place).step_by(longest));
                ends.push(place + 1);
                start = place + 1;
            }
        }
        ends
    }

    proptest! {
        #[test]
        fn cuts_are_those_of_the_definition_at_every_length(
            bytes in prop::collection::vec(any::<u8>(), 3 * BLOCK + 7),
            letters in 1_u8..=255,
            length in prop_oneof![0..3 * BLOCK + 7, BLOCK - 4..BLOCK + 4, 2 * BLOCK - 4..2 * BLOCK + 4],
        ) {
            let chunk: Vec<u8> = bytes[..length].iter().map(|byte| byte % letters).collect();
            let cutter = FineCutter::new(&Key::none());
            let (mut end, mut found) = (0, Vec::new());
            cutter.cut(&chunk, |fine| {
                end += usize::from(fine.length_bytes);
                found.push(end);
            });
            prop_assert_eq!(found, ends_by_definition(&cutter, &chunk));
        }
    }

    proptest! {
        #[test]
        fn every_processor_cuts_the_same_fine_chunks(
            bytes in prop::collection::vec(any::<u8>(), 3 * BLOCK + 7),
            letters in 1_u8..=255,
            key in any::<[u8; 32]>(),
            length in prop_oneof![0..3 * BLOCK + 7, 0..20_usize, BLOCK - 4..BLOCK + 4, BLOCK / 4 - 4..BLOCK / 4 + 4],
        ) {
            let chunk: Vec<u8> = bytes[..length].iter().map(|byte| byte % letters).collect();
            let cutter = FineCutter::new(&Key::parse(&key).unwrap());
            let (mut found, mut expected) = (Vec::new(), Vec::new());
            cutter.cut(&chunk, |fine| found.push(fine));
            cutter.cut_place_by_place(&chunk, |fine| expected.push(fine));
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn cuts_and_tags_depend_on_the_key() {
        let (chunk, key) = (noise("fine", 4000), Key::parse(&[7; 32]).unwrap());
        let lengths = |key| fine(&chunk, key).into_iter().map(|fine| fine.length_bytes).collect::<Vec<_>>();
        assert_ne!(lengths(&Key::none()), lengths(&key));
        let tag = |key| fine(b"Cognate", key)[0].tag;
        assert_ne!(tag(&Key::none()), tag(&key));
    }

    #[test]
    fn fine_chunks_of_a_public_text_never_change() {
        let text = b"Cognates are words of different languages that descend from one: the documents that we look for.";
        let all: Vec<(u8, u8)> =
            fine(text, &Key::none()).into_iter().map(|fine| (fine.length_bytes, fine.tag)).collect();
        let expected = [
            (1, 38),
            (5, 149),
            (4, 197),
            (6, 196),
            (4, 187),
            (7, 107),
            (7, 204),
            (9, 101),
            (8, 140),
            (11, 2),
            (9, 46),
            (7, 222),
            (6, 153),
            (4, 181),
            (7, 83),
            (1, 111),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_tag_says_of_either_end_whether_its_four_bytes_agree() {
        let cutter = FineCutter::new(&Key::none());
        let tagged = |text: String| {
            let mut bytes = [0; 16];
            bytes[..text.len()].copy_from_slice(text.as_bytes());
            cutter.tagged(u128::from_le_bytes(bytes), text.len())
        };
        let (mut begin_alike, mut end_alike) = (0, 0);
        for number in 1000..2000 {
            let one = tagged(format!("{number} and {number}"));
            assert!(one.begins_like(tagged(format!("{number}"))) && one.ends_like(tagged(format!("{number}"))));
            begin_alike += usize::from(one.begins_like(tagged(format!("{}", number + 1000))));
            end_alike += usize::from(one.ends_like(tagged(format!("{}", number + 1000))));
        }
        // Of ends that differ, one in eight agrees by chance.
        assert!((90..160).contains(&begin_alike) && (90..160).contains(&end_alike), "{begin_alike} {end_alike}");
    }

    #[test]
    fn a_run_of_one_byte_is_cut_at_the_greatest_length() {
        let lengths: Vec<u8> = fine(&[b' '; 50], &Key::none()).into_iter().map(|fine| fine.length_bytes).collect();
        // The first three values differ from the others, because they are of fewer bytes.
        assert_eq!(lengths, [2, 16, 16, 16]);
    }

    proptest! {
        #[test]
        fn fine_chunks_tile_their_chunk_within_their_bounds(document in documents()) {
            let all = fine(&document, &Key::none());
            let sum: usize = all.iter().map(|fine| usize::from(fine.length_bytes)).sum();
            prop_assert_eq!(sum, document.len());
            prop_assert!(all.iter().all(|fine| (1..=FINE_BYTES_MAX).contains(&fine.length_bytes)));
            prop_assert!(all.len() <= fine_chunks_max(document.len().try_into().unwrap()) as usize);
        }

        /// Of tables of bytes that are joined, by xor or by addition, one of the two would always be zero.
        #[test]
        fn no_value_follows_from_those_of_windows_with_some_of_its_bytes(
            key in any::<[u8; 32]>(), window in any::<[u8; 3]>(), other in any::<[u8; 3]>(),
        ) {
            prop_assume!(window[0] != other[0] && window[1] != other[1]);
            let sips = FineCutter::new(&Key::parse(&key).unwrap()).sips;
            let value = |first: [u8; 3], second: [u8; 3]| sips.value([first[0], second[1], window[2]]);
            let (a, b, c, d) = (value(window, window), value(other, window), value(window, other), value(other, other));
            prop_assert_ne!(a ^ b ^ c ^ d, 0);
            prop_assert_ne!(a.wrapping_sub(b).wrapping_sub(c).wrapping_add(d), 0);
        }

        #[test]
        fn an_edit_moves_only_cuts_that_are_near(seed in 0_u64..1000, place in 100_usize..1900) {
            let mut before = vec![0; 2000];
            blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut before);
            let mut after = before.clone();
            after[place] ^= 1;
            let (before, after) = (ends(&before), ends(&after));
            // Three bytes of the value, three of the comparison, and the rest of a fine chunk that is full.
            prop_assert!(before.symmetric_difference(&after).all(|end| (place - 3..=place + 32).contains(end)));
        }
    }
}
