//! Fine chunks: a chunk that two documents do not share is cut once more, much smaller.
//!
//! Source of the idea: the coarse and the fine comparison of Forman, Eshghi, Chiocchetti (KDD 2005), section 4.
//!
//! A position is a cut, first, wherever TTTD may end a chunk: two documents with the same bytes may have chunks that end at
//! different positions, since the least length hides some, and their fine chunks must agree all the same. Otherwise a rolling
//! fingerprint decides: `h = 2^5 h + table[byte]` modulo 2^64. A byte is shifted out of the word after 13 further ones,
//! so that cuts are the same again soon after an edit. From [`FINE_BYTES_MIN`] on, the first position where the
//! fingerprint is below 2^64 / 24 is a cut; [`FINE_BYTES_MAX`] ends a fine chunk that has none. So the mean is about 30 bytes.
//!
//! Neither fingerprint restarts at a chunk: the 64 bytes before a chunk take part in where its first cuts are.

use std::fmt;
use std::io::{self, Read};

use crate::chunk::{Chunk, Content, Tag};
use crate::chunk_reader::{Bytes, ChunkReader, Chunker};
use crate::key::Key;
use crate::tttd::{Tttd, WINDOW_BYTES};

/// The least length of a fine chunk, except for the last one of its chunk.
pub const FINE_BYTES_MIN: u8 = 8;
/// The greatest length of a fine chunk.
pub const FINE_BYTES_MAX: u8 = 128;
/// The greatest mean of chunks that are cut into fine ones: it bounds the fine chunks of one chunk.
pub const FINE_CHUNK_BYTES_MOST: u32 = 16 << 10;
/// The length of a fine tag.
pub const FINE_TAG_BYTES: usize = 6;

/// The number of bits by which the fingerprint shifts at each byte.
const SHIFT: u32 = 5;
/// One position in so many is a cut.
const DIVISOR: u64 = 24;

/// A fine chunk: the keyed hash of its bytes, and their number.
///
/// The hash is short. It is only compared within one pair of documents: among 10,000 fine chunks a side, two different ones
/// meet by chance with a probability of 3.6 · 10^-7.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FineChunk {
    /// The first 6 bytes of keyed BLAKE3 over the bytes, under a key of its own derived from the federation key.
    pub tag: [u8; FINE_TAG_BYTES],
    /// Its length: 1 to [`FINE_BYTES_MAX`].
    pub length_bytes: u8,
}

/// Cuts chunks into fine chunks.
#[derive(Clone)]
pub struct FineCutter {
    tttd: Tttd,
    table: Box<[u64; 256]>,
    tag_key: [u8; 32],
}

impl FineCutter {
    /// A cutter for the chunks of TTTD with a mean of `chunk_bytes`, [`CHUNK_BYTES_LEAST`](crate::tttd::CHUNK_BYTES_LEAST) to
    /// [`FINE_CHUNK_BYTES_MOST`].
    pub fn new(chunk_bytes: u32, key: &Key) -> FineCutter {
        let mut bytes = [0; 256 * 8];
        key.derive_into("cognate fine chunker v1", &mut bytes);
        let mut table = Box::new([0; 256]);
        for (word, bytes) in table.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        }
        FineCutter { tttd: Tttd::new(chunk_bytes, key), table, tag_key: key.derive("cognate fine tag v1") }
    }

    /// Cuts a chunk and hands every fine chunk, in order, to `each`. `before` has the bytes of the document before the chunk: at
    /// least [`WINDOW_BYTES`], or all.
    pub fn cut(&self, before: &[u8], chunk: &[u8], mut each: impl FnMut(FineChunk)) {
        let next = |(coarse, fine): (u64, u64), byte: u8| {
            let fine = (fine << SHIFT).wrapping_add(self.table[usize::from(byte)]);
            (self.tttd.next(coarse, byte), fine)
        };
        let lookback = &before[before.len().saturating_sub(WINDOW_BYTES)..];
        let mut fingerprints = lookback.iter().fold((0, 0), |both, byte| next(both, *byte));
        let (mut start, mut length) = (0, 0_u8);
        for (place, byte) in chunk.iter().enumerate() {
            fingerprints = next(fingerprints, *byte);
            length += 1;
            let is_fine_cut = length >= FINE_BYTES_MIN && fingerprints.1 < u64::MAX / DIVISOR;
            if is_fine_cut || length == FINE_BYTES_MAX || self.tttd.may_cut(fingerprints.0) {
                each(self.tagged(&chunk[start..=place], length));
                (start, length) = (place + 1, 0);
            }
        }
        if length > 0 {
            each(self.tagged(&chunk[start..], length));
        }
    }

    fn tagged(&self, bytes: &[u8], length_bytes: u8) -> FineChunk {
        let hash = blake3::keyed_hash(&self.tag_key, bytes);
        let mut tag = [0; FINE_TAG_BYTES];
        tag.copy_from_slice(&hash.as_bytes()[..FINE_TAG_BYTES]);
        FineChunk { tag, length_bytes }
    }
}

impl fmt::Debug for FineCutter {
    /// Never shows what is derived from the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FineCutter").finish_non_exhaustive()
    }
}

/// The chunks of which a reader makes fine chunks.
pub type Wanted = dyn Fn(&Tag) -> bool + Send + Sync;

/// Reads documents under TTTD once more, and cuts those chunks that are wanted into fine chunks.
pub(crate) struct FineReader {
    chunks: ChunkReader,
    cutter: FineCutter,
    wanted: Box<Wanted>,
}

impl FineReader {
    pub(crate) fn new(chunk_bytes: u32, key: &Key, wanted: Box<Wanted>) -> FineReader {
        let chunks = ChunkReader::new(Chunker::Tttd(Tttd::new(chunk_bytes, key)), key);
        FineReader { chunks, cutter: FineCutter::new(chunk_bytes, key), wanted }
    }

    /// Reads `document` to its end. `each` gets every wanted chunk, and after it its fine chunks, whose lengths add up to
    /// its own.
    pub(crate) fn read(
        &mut self,
        document: &mut impl Read,
        mut each: impl FnMut(Chunk) -> io::Result<()>,
    ) -> io::Result<Content> {
        let FineReader { chunks, cutter, wanted } = self;
        chunks.read_with(document, |chunk, bytes| {
            let mut result = Ok(());
            if wanted(&chunk.tag) {
                expand(cutter, chunk, bytes, |chunk| {
                    if result.is_ok() {
                        result = each(chunk);
                    }
                });
            }
            result
        })
    }

    /// Does the same for a document in memory.
    pub(crate) fn slice(&self, document: &[u8], mut each: impl FnMut(Chunk)) -> Content {
        self.chunks.slice_with(document, |chunk, bytes| {
            if (self.wanted)(&chunk.tag) {
                expand(&self.cutter, chunk, bytes, &mut each);
            }
        })
    }
}

fn expand(cutter: &FineCutter, chunk: Chunk, bytes: Bytes<'_>, mut each: impl FnMut(Chunk)) {
    each(chunk);
    let mut offset = chunk.offset;
    cutter.cut(bytes.before, bytes.bytes, |fine| {
        let mut tag = [0; 16];
        tag[..FINE_TAG_BYTES].copy_from_slice(&fine.tag);
        let length_bytes = u32::from(fine.length_bytes);
        each(Chunk { offset, length_bytes, tag: Tag(tag), repeated_byte: false });
        offset += u64::from(length_bytes);
    });
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::test_support::{documents, noise};
    use crate::{Method, View};

    fn fine(chunk: &[u8], key: &Key) -> Vec<FineChunk> {
        fine_after(&[], chunk, key)
    }

    fn fine_after(before: &[u8], chunk: &[u8], key: &Key) -> Vec<FineChunk> {
        let mut all = Vec::new();
        FineCutter::new(1000, key).cut(before, chunk, |fine| all.push(fine));
        all
    }

    #[test]
    fn the_mean_length_of_noise_is_about_30_bytes() {
        let all = fine(&noise("fine", 1 << 20), &Key::none());
        let mean = (1 << 20) / all.len();
        assert!((28..=32).contains(&mean), "{mean}");
    }

    #[test]
    fn cuts_and_tags_depend_on_the_key() {
        let (chunk, key) = (noise("fine", 4000), Key::parse(&[7; 32]).unwrap());
        let tags = |key| fine(&chunk, key).into_iter().map(|fine| fine.tag).collect::<HashSet<_>>();
        assert!(tags(&Key::none()).is_disjoint(&tags(&key)));
        let lengths = |key| fine(&chunk, key).into_iter().map(|fine| fine.length_bytes).collect::<Vec<_>>();
        assert_ne!(lengths(&Key::none()), lengths(&key));
    }

    #[test]
    fn fine_chunks_of_a_public_text_never_change() {
        let text = b"Cognates are words of different languages that descend from one: the documents that we look for.";
        let all = fine(text, &Key::none());
        let lengths: Vec<u8> = all.iter().map(|fine| fine.length_bytes).collect();
        let tag: String = all[0].tag.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!((lengths, tag.as_str()), (vec![10, 86], "f0efcefe643a"));
    }

    #[test]
    fn a_reader_expands_wanted_chunks_and_no_others() {
        let (method, key, document) = (Method::tttd(View::Raw, 80).unwrap(), Key::none(), noise("fine", 5000));
        let mut coarse = Vec::new();
        let content = method.fingerprinter(&key).slice(&document, |chunk| coarse.push(chunk));
        let wanted: HashSet<Tag> = coarse.iter().skip(3).step_by(5).map(|chunk| chunk.tag).collect();
        let expected: Vec<Chunk> = coarse.iter().filter(|chunk| wanted.contains(&chunk.tag)).copied().collect();
        let mut reader = method.fine_fingerprinter(&key, Box::new(move |tag| wanted.contains(tag))).unwrap();
        let (mut read, mut sliced) = (Vec::new(), Vec::new());
        let same = reader.read(&mut document.as_slice(), |chunk| {
            read.push(chunk);
            Ok(())
        });
        assert_eq!((same.unwrap(), reader.slice(&document, |chunk| sliced.push(chunk))), (content, content));
        assert_eq!(read, sliced);
        let mut rest = read.iter();
        for coarse in expected {
            assert_eq!(rest.next(), Some(&coarse));
            let (start, end) = (coarse.offset as usize, coarse.offset as usize + coarse.length_bytes as usize);
            let mut cut = Vec::new();
            FineCutter::new(80, &key).cut(&document[..start], &document[start..end], |fine| cut.push(fine));
            for fine in cut {
                let found = rest.next().unwrap();
                assert_eq!((&found.tag.0[..6], found.length_bytes), (&fine.tag[..], u32::from(fine.length_bytes)));
            }
        }
        assert_eq!(rest.next(), None);
    }

    #[test]
    fn fine_chunks_agree_where_chunks_of_the_same_bytes_end_at_different_positions() {
        let (document, key) = (noise("fine", 40_000), Key::none());
        let ends = |chunks: &[&[u8]]| {
            let (mut before, mut ends) = (Vec::new(), HashSet::new());
            for chunk in chunks {
                let mut end = before.len();
                for fine in fine_after(&before, chunk, &key) {
                    end += usize::from(fine.length_bytes);
                    ends.insert(end);
                }
                before.extend_from_slice(chunk);
            }
            ends
        };
        let method = Method::tttd(View::Raw, 1000).unwrap();
        let mut cuts = Vec::new();
        method.fingerprinter(&key).slice(&document, |chunk| cuts.push(chunk.offset as usize));
        let cut = cuts[cuts.len() / 2];
        // No chunk ends there, as after an edit before it.
        assert_eq!(ends(&[&document]), ends(&[&document[..cut], &document[cut..]]));
    }

    #[test]
    fn methods_without_chunks_have_no_fine_chunks() {
        let method = Method::parse("mod", View::Raw, None, "").unwrap();
        assert!(method.fine_fingerprinter(&Key::none(), Box::new(|_| true)).is_none());
    }

    proptest! {
        #[test]
        fn fine_chunks_tile_their_chunk_within_their_bounds(document in documents()) {
            let all = fine(&document, &Key::none());
            let sum: usize = all.iter().map(|fine| usize::from(fine.length_bytes)).sum();
            prop_assert_eq!(sum, document.len());
            prop_assert!(all.iter().all(|fine| (1..=FINE_BYTES_MAX).contains(&fine.length_bytes)));
        }

        #[test]
        fn cuts_are_the_same_again_soon_after_an_edit(seed in 0_u64..1000, place in 100_usize..300) {
            let mut before = vec![0; 2000];
            blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut before);
            let mut after = before.clone();
            after[place] ^= 1;
            let ends = |bytes: &[u8]| {
                let mut end = 0;
                fine(bytes, &Key::none()).into_iter().map(|fine| { end += usize::from(fine.length_bytes); end })
                    .collect::<HashSet<usize>>()
            };
            let (before, after) = (ends(&before), ends(&after));
            // Once both have a cut at the same place and the edit is out of both windows, all later cuts are the same.
            let first = before.intersection(&after).filter(|end| **end > place + WINDOW_BYTES).min().copied().unwrap_or(0);
            prop_assert!(first > 0 && first < place + 700, "{first}");
            prop_assert!(before.symmetric_difference(&after).all(|end| *end < first));
        }
    }
}
