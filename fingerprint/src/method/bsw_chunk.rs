//! `bsw-chunk`: the basic sliding window. A chunk ends where a window's fingerprint is 0 modulo n.
//!
//! Source: Muthitacharoen, Chen, Mazières, "A low-bandwidth network file system" (2001), in the form that Cherkasova et
//! al. 2009 describe and name as worth investigation: hashes of whole chunks, an exact lower bound of what two files share.
//!
//! Two guards keep it usable on documents that repeat themselves, and leave others alone. A window that equals the one a
//! byte before it, which is so only inside a run of one byte, ends no chunk; and no chunk is longer than 64 n (16 MiB at
//! most), which one chunk in 10^27 of random bytes would be.

use super::bsw::Boundary;
use crate::mix::Mix;
use crate::rolling::Rolling;

/// How much longer than the mean a chunk may become.
const MEANS_MAX: u32 = 64;
/// How long it may become at most, in bytes.
const CHUNK_BYTES_MAX: u32 = 16 << 20;

/// The chunker.
#[derive(Clone)]
pub(crate) struct BswChunk {
    rolling: Rolling,
    mix: Mix,
    boundary: Boundary,
    chunk_bytes_max: u32,
}

/// No chunk is longer, at a mean of `n`.
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

    /// How many bytes before a position its fingerprint depends on, and the one before that, with which it is compared.
    pub(crate) fn lookback_bytes(&self) -> usize {
        self.rolling.window_bytes() + 1
    }

    /// The length of the chunk that begins at `start`, or `None` when more of the document must be seen first. The terms
    /// are those of [`Tttd::cut`](crate::tttd::Tttd::cut).
    pub(crate) fn cut(&self, data: &[u8], start: usize, at_end: bool) -> Option<usize> {
        let (window_bytes, max) = (self.rolling.window_bytes(), self.chunk_bytes_max as usize);
        let available = data.len() - start;
        if available < max && !at_end {
            return None;
        }
        let longest = available.min(max);
        // From the window that ends just before the chunk's first byte, or the document's first bytes.
        let from = start.saturating_sub(window_bytes);
        let mut fingerprint = 0;
        for (place, &byte) in data[..start + longest].iter().enumerate().skip(from) {
            let out = if place >= from + window_bytes { data[place - window_bytes] } else { 0 };
            let before = std::mem::replace(&mut fingerprint, 0);
            fingerprint = self.rolling.roll(before, out, byte);
            let is_whole = place + 1 >= window_bytes && place >= start;
            let repeats = fingerprint == before && place >= window_bytes;
            if is_whole && !repeats && self.boundary.is_at(self.mix.value(fingerprint)) {
                return Some(place + 1 - start);
            }
        }
        Some(longest)
    }
}
