//! `bsw-chunk`: the basic sliding window. A chunk ends where a window's fingerprint is 0 modulo n.
//!
//! Source: Muthitacharoen, Chen, Mazières, "A low-bandwidth network file system" (2001), in the form that Cherkasova et
//! al. 2009 describe and call worth investigation: hashes of entire chunks, an exact lower bound of the bytes that two files share.
//!
//! Two guards keep it usable on documents that repeat themselves, and change nothing elsewhere. A window that equals the one a
//! byte earlier, as inside a run of one byte, ends no chunk. No chunk is longer than 64 n (16 MiB at most); of random bytes
//! one chunk in 10^27 would be.

use crate::method::bsw::Boundary;
use crate::mix::Mix;
use crate::rolling::Rolling;

/// The length of the longest chunk, in means.
const MEANS_MAX: u32 = 64;
/// The length of the longest chunk at any mean, in bytes.
const CHUNK_BYTES_MAX: u32 = 16 << 20;

/// The chunker.
#[derive(Clone)]
pub(crate) struct BswChunk {
    rolling: Rolling,
    mix: Mix,
    boundary: Boundary,
    chunk_bytes_max: u32,
}

/// The length of the longest chunk at a mean of `n` bytes.
pub(crate) fn chunk_bytes_max(n: u32) -> u32 {
    n.saturating_mul(MEANS_MAX).min(CHUNK_BYTES_MAX)
}

impl BswChunk {
    pub(crate) fn new(rolling: Rolling, mix: Mix, n: u32) -> BswChunk {
        BswChunk { rolling, mix, boundary: Boundary::one_in(n), chunk_bytes_max: chunk_bytes_max(n) }
    }

    pub(crate) fn chunk_bytes_max(&self) -> u32 {
        self.chunk_bytes_max
    }

    /// The number of bytes that a position's fingerprint depends on, and one more for the fingerprint that it is compared
    /// with.
    pub(crate) fn lookback_bytes(&self) -> usize {
        self.rolling.window_bytes() + 1
    }

    /// The length of the chunk that begins at `start`, or `None` if the decision needs more of the document. The arguments
    /// are those of [`Tttd::cut`](crate::tttd::Tttd::cut).
    pub(crate) fn cut(&self, data: &[u8], start: usize, at_end: bool) -> Option<usize> {
        let (window_bytes, max) = (self.rolling.window_bytes(), self.chunk_bytes_max as usize);
        let available = data.len() - start;
        if available < max && !at_end {
            return None;
        }
        let longest = available.min(max);
        // The first window ends just before the chunk's first byte, unless the document begins later.
        let from = start.saturating_sub(window_bytes);
        let mut fingerprint = 0;
        for (place, &byte) in data[..start + longest].iter().enumerate().skip(from) {
            let out = if place >= from + window_bytes { data[place - window_bytes] } else { 0 };
            let earlier = fingerprint;
            fingerprint = self.rolling.roll(earlier, out, byte);
            let is_whole = place + 1 >= window_bytes && place >= start;
            let repeats = fingerprint == earlier && place >= window_bytes;
            if is_whole && !repeats && self.boundary.is_at(self.mix.value(fingerprint)) {
                return Some(place + 1 - start);
            }
        }
        Some(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use crate::rabin::{Polynomial, Rabin};
    use crate::test_support::noise;

    fn chunker(w: usize, n: u32) -> BswChunk {
        let key = Key::none();
        BswChunk::new(Rolling::new(Rabin::new(Polynomial::of(&key)), w), Mix::of(&key), n)
    }

    #[test]
    fn the_longest_chunk_is_64_means_and_16_mebibytes_at_most() {
        for (n, expected) in
            [(16, 1024), (1000, 64_000), (1 << 18, 16 << 20), (1 << 20, 16 << 20), (u32::MAX, 16 << 20)]
        {
            assert_eq!(chunk_bytes_max(n), expected, "{n}");
            assert_eq!(chunker(20, n).chunk_bytes_max(), expected, "{n}");
        }
    }

    #[test]
    fn a_cut_waits_for_the_longest_chunk_or_the_end() {
        let chunker = chunker(20, 16);
        for length in [1, 19, 20, 21, 1023] {
            let document = vec![b'x'; length];
            assert_eq!(chunker.cut(&document, 0, false), None, "{length}");
            assert!(chunker.cut(&document, 0, true).is_some_and(|cut| (1..=length).contains(&cut)), "{length}");
        }
        assert!(chunker.cut(&vec![b'x'; 1024], 0, false).is_some());
    }

    #[test]
    fn a_run_of_one_byte_ends_chunks_only_at_its_start_and_at_the_greatest_length() {
        for byte in 0..=255 {
            let chunker = chunker(20, 16);
            let document = vec![byte; 5000];
            let (mut start, mut lengths) = (0, vec![]);
            while start < document.len() {
                lengths.push(chunker.cut(&document, start, true).unwrap());
                start += lengths[lengths.len() - 1];
            }
            assert!(lengths.len() <= 6, "{byte} {lengths:?}");
        }
    }

    #[test]
    fn the_mean_chunk_of_noise_is_n() {
        let document = noise("mean", 400_000);
        for n in [16, 100, 1000] {
            let chunker = chunker(20, n);
            let (mut start, mut chunks) = (0, 0);
            while start < document.len() {
                start += chunker.cut(&document, start, true).unwrap();
                chunks += 1;
            }
            let mean = document.len() / chunks;
            assert!((n as usize * 8 / 10..n as usize * 12 / 10).contains(&mean), "{n} {mean}");
        }
    }
}
