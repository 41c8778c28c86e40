//! Fine chunks: a chunk that two documents do not share is cut once more, into pieces of about seven bytes.
//!
//! Source of the idea: the coarse and the fine comparison of Forman, Eshghi, Chiocchetti (KDD 2005), section 4. Every chunk is
//! cut by itself, so that one cut of it serves every pair of documents that asks for it.
//!
//! A position has a value: a keyed hash of its byte and the two before it, where the bytes before the chunk count as zeros. A fine chunk ends where the value is less than
//! those of the three positions before and not more than those of the three after, or after [`FINE_BYTES_MAX`] bytes. So the
//! lengths are far more even than those of a rolling hash that is compared with a bound, and an edit moves no cut that is
//! more than five bytes away from it. (Local minima as cuts: Teodosiu et al., "Optimizing file replication over limited
//! bandwidth networks using remote differential compression", Microsoft Research 2006, section 3.)
//!
//! The tag of a fine chunk has eight bits: three for its first four bytes, three for its last four, and two for all of it.
//! Alone it says little, to a reader of the tags as well; two documents have bytes in common where fine chunks that
//! follow each other agree, and at the ends of such a run where a first or a last part agrees (`similarity::fine`).

use std::fmt;

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

/// The positions on either side that a cut is compared with.
const RADIUS: usize = 3;

/// A fine chunk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FineChunk {
    /// From the lowest bit on: three bits of the first four bytes, three of the last, two of all bytes. Each
    /// part is the lowest bits of `SipHash`-2-4 under a key of its own, derived from the federation key.
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

/// Cuts chunks into fine chunks.
#[derive(Clone)]
pub struct FineCutter {
    /// For each of the last three bytes, the latest first, a value of each byte.
    table: Box<[[u32; 256]; 3]>,
    /// For the first bytes, the last bytes, and all bytes of a fine chunk.
    sips: [SipHash; 3],
}

impl FineCutter {
    /// A cutter under a key.
    pub fn new(key: &Key) -> FineCutter {
        let mut bytes = [0; 3 * 256 * 4];
        key.derive_into("cognate fine chunker v1", &mut bytes);
        let mut table = Box::new([[0; 256]; 3]);
        for (word, bytes) in table.as_flattened_mut().iter_mut().zip(bytes.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        let mut sip_keys = [[0; 16]; 3];
        key.derive_into("cognate fine tag v1", sip_keys.as_flattened_mut());
        FineCutter { table, sips: sip_keys.map(SipHash::new) }
    }

    /// Cuts a chunk and hands every fine chunk, in order, to `each`.
    pub fn cut(&self, chunk: &[u8], mut each: impl FnMut(FineChunk)) {
        let values = self.values(chunk);
        let mut start = 0;
        for end in 1..=chunk.len() {
            let is_full = end - start == usize::from(FINE_BYTES_MAX);
            if is_full || is_least(&values, end - 1) || end == chunk.len() {
                each(self.tagged(&chunk[start..end]));
                start = end;
            }
        }
    }

    /// The value of each position, with [`RADIUS`] greatest values before the first and after the last.
    fn values(&self, chunk: &[u8]) -> Vec<u32> {
        let mut values = vec![u32::MAX; chunk.len() + 2 * RADIUS];
        let [latest, second, third] = &*self.table;
        let (mut before, mut before_that) = (0, 0);
        for (value, byte) in values[RADIUS..].iter_mut().zip(chunk) {
            let byte = usize::from(*byte);
            *value = latest[byte] ^ second[before] ^ third[before_that];
            (before, before_that) = (byte, before);
        }
        values
    }

    #[inline]
    fn tagged(&self, bytes: &[u8]) -> FineChunk {
        let end = bytes.len().min(END_BYTES);
        let parts = [&bytes[..end], &bytes[bytes.len() - end..], bytes];
        let [first, last, all] = [0, 1, 2].map(|part| self.sips[part].hash(parts[part]).to_le_bytes()[0]);
        let tag = first & END_MASK | (last & END_MASK) << END_BITS | all << (2 * END_BITS);
        FineChunk { tag, length_bytes: bytes.len().to_le_bytes()[0] }
    }
}

/// True if the value of a position is less than those before it and not more than those after it.
#[inline]
fn is_least(values: &[u32], place: usize) -> bool {
    let window = &values[place..=place + 2 * RADIUS];
    let value = window[RADIUS];
    let before = window[0].min(window[1]).min(window[2]);
    let after = window[4].min(window[5]).min(window[6]);
    value < before && value <= after
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
            (3, 172),
            (5, 153),
            (8, 192),
            (4, 108),
            (4, 246),
            (8, 17),
            (7, 248),
            (7, 254),
            (4, 111),
            (5, 7),
            (13, 137),
            (8, 158),
            (9, 182),
            (7, 33),
            (4, 181),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_tag_says_of_either_end_whether_its_four_bytes_agree() {
        let cutter = FineCutter::new(&Key::none());
        let tagged = |text: String| cutter.tagged(text.as_bytes());
        let (mut begin_alike, mut end_alike) = (0, 0);
        for number in 1000..2000 {
            let one = tagged(format!("{number} in between {number}"));
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
        assert_eq!(lengths, [3, 16, 16, 15]);
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

        #[test]
        fn a_cut_ends_where_the_value_is_least_by_definition(document in documents()) {
            let cutter = FineCutter::new(&Key::none());
            let document = &document[..document.len().min(500)];
            let byte = |place: Option<usize>| place.map_or(0, |place| usize::from(document[place]));
            let value = |place: usize| {
                cutter.table[0][byte(Some(place))]
                    ^ cutter.table[1][byte(place.checked_sub(1))]
                    ^ cutter.table[2][byte(place.checked_sub(2))]
            };
            let least = |place: usize| {
                (place.saturating_sub(3)..place).all(|before| value(place) < value(before))
                    && (place + 1..document.len().min(place + 4)).all(|after| value(place) <= value(after))
            };
            let ends = ends(document);
            for place in (0..document.len()).filter(|place| least(*place)) {
                // The greatest value itself is never less than the bound beyond the ends.
                prop_assert!(ends.contains(&(place + 1)) || value(place) == u32::MAX);
            }
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
