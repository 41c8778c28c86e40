//! Content sketches: a few numbers of a content by which two contents that have much in common are noticed, even if an edit in
//! every chunk leaves them no chunk in common.
//!
//! The rolling fingerprint of TTTD has, in its low 32 bits, a function of the last [`SKETCH_WINDOW_BYTES`] bytes alone. Of all
//! windows of so many bytes, those count whose function is below 2^32 / [`SAMPLED_ONE_IN`]. The keyed mix of the function names one
//! of [`SKETCH_SLOTS`] slots, and in each slot the window with the smallest mix is the winner. What a site sends is the keyed
//! hash of each winner's bytes. So two contents agree in a slot with a probability that is about the resemblance of
//! their sampled windows in it (Broder, "On the resemblance and containment of documents", SEQUENCES 1997; one permutation with
//! slots: Li, Owen, Zhang, "One permutation hashing", NIPS 2012).
//!
//! The order decides only which window wins. It is keyed, but it is no cipher, and need not be one, since no value of it
//! leaves a site (`docs/decisions/0017-methods.md` argues the same for samples). Hashing winners alone is what makes a sketch cheap.

use std::fmt;

use crate::key::Key;
use crate::mix::Mix;
use crate::sip::SipHash;

/// The slots of a sketch.
pub const SKETCH_SLOTS: usize = 16;
/// The bytes of a window.
pub const SKETCH_WINDOW_BYTES: usize = 32;
/// One window in so many is sampled.
const SAMPLED_ONE_IN: u32 = 32;
/// The highest bits of a function, which are 0 if the window is sampled.
pub(crate) const SAMPLED_BITS: u32 = SAMPLED_ONE_IN.ilog2();
/// A window is sampled if its function is below this.
const SAMPLED_BELOW: u32 = 1 << (u32::BITS - SAMPLED_BITS);
/// The slot of a window is in so many highest bits of its mix.
const SLOT_BITS: u32 = SKETCH_SLOTS.ilog2();
/// The value of a slot without a window.
const EMPTY: u32 = 0;
const _: () = assert!(SAMPLED_ONE_IN.is_power_of_two());
const _: () = assert!(SKETCH_SLOTS.is_power_of_two() && SKETCH_SLOTS <= 16);
// A bit of the function depends on as many bytes as its number, from one on.
const _: () = assert!(SKETCH_WINDOW_BYTES == u32::BITS as usize);

/// The sketch of a content: for each slot the keyed hash of the window that won it, or nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ContentSketch {
    values: [u32; SKETCH_SLOTS],
}

impl ContentSketch {
    /// The sketch without any window: that of a short content, or of one whose site sends no sketches.
    pub const NONE: ContentSketch = ContentSketch { values: [EMPTY; SKETCH_SLOTS] };

    /// A sketch of the slots whose bits are set in `filled`, with their values in the order of the slots. `None` if the values are
    /// not as many, or one is 0.
    pub fn new(filled: u16, values: impl IntoIterator<Item = u32>) -> Option<ContentSketch> {
        let mut sketch = ContentSketch::NONE;
        let mut values = values.into_iter();
        for slot in (0..SKETCH_SLOTS).filter(|slot| filled >> slot & 1 == 1) {
            sketch.values[slot] = values.next().filter(|value| *value != EMPTY)?;
        }
        values.next().is_none().then_some(sketch)
    }

    /// The filled slots, ascending, with their values, none of which is 0.
    pub fn slots(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.values.iter().copied().enumerate().filter(|(_, value)| *value != EMPTY)
    }

    /// The value of a slot, if it is filled.
    pub fn value(&self, slot: usize) -> Option<u32> {
        Some(self.values[slot]).filter(|value| *value != EMPTY)
    }

    /// A bit for each filled slot, the lowest for the first.
    pub fn filled(&self) -> u16 {
        self.slots().fold(0, |filled, (slot, _)| filled | 1 << slot)
    }

    /// True if no slot is filled.
    pub fn is_empty(&self) -> bool {
        *self == ContentSketch::NONE
    }

    /// The number of slots that both have filled with the same value.
    pub fn agreement(&self, other: &ContentSketch) -> usize {
        let both = self.values.iter().zip(&other.values);
        both.filter(|(a, b)| a == b && **a != EMPTY).count()
    }

    /// A short digest of the sketch, 0 if it is empty: enough to notice that two ends hold different ones.
    pub fn digest(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let bytes: Vec<u8> = self.values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let hash = blake3::hash(&bytes);
        u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("a hash is longer"))
    }
}

impl fmt::Debug for ContentSketch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.slots()).finish()
    }
}

/// Makes sketches under a key.
#[derive(Clone)]
pub(crate) struct Sketcher {
    mix: Mix,
    sip: SipHash,
}

/// The sketch of one content while it is read.
#[cfg_attr(test, derive(Clone))]
pub(crate) struct Sketching {
    /// The bytes of the content so far.
    added: u64,
    winners: [Option<Winner>; SKETCH_SLOTS],
}

#[derive(Clone, Copy)]
struct Winner {
    mixed: u64,
    /// The bytes of the content up to the end of the window.
    end: u64,
    window: [u8; SKETCH_WINDOW_BYTES],
}

/// The function of the last window, which is in the low bits of a rolling fingerprint.
#[inline(always)]
fn function(fingerprint: u64) -> u64 {
    fingerprint & u64::from(u32::MAX)
}

/// True if the window that ends with this fingerprint is sampled.
#[inline(always)]
pub(crate) fn is_sampled(fingerprint: u64) -> bool {
    function(fingerprint) < u64::from(SAMPLED_BELOW)
}

impl Sketcher {
    /// A sketcher under a key. The functions are those of the rolling fingerprint of TTTD under the same key.
    pub(crate) fn new(key: &Key) -> Sketcher {
        let mut sip_key = [0; 16];
        key.derive_into("cognate sketch v1", &mut sip_key);
        Sketcher { mix: Mix::of(key), sip: SipHash::new(sip_key) }
    }

    /// Begins a content.
    pub(crate) fn begin(&self) -> Sketching {
        Sketching { added: 0, winners: [None; SKETCH_SLOTS] }
    }

    /// The order of windows.
    pub(crate) fn mix(&self) -> Mix {
        self.mix
    }

    /// Offers the window of `data` that ends with the byte at `place`, where the fingerprint is `fingerprint`. The bytes from `from` on
    /// are not yet added. Windows may come in any order. Returns slot and mix if the window is the winner now.
    #[inline]
    pub(crate) fn offer(
        &self,
        sketching: &mut Sketching,
        fingerprint: u64,
        data: &[u8],
        from: usize,
        place: usize,
    ) -> Option<(usize, u64)> {
        let mixed = self.mix.value(function(fingerprint));
        let slot = usize::try_from(mixed >> (u64::BITS - SLOT_BITS)).expect("a few bits");
        let end = sketching.added + (place + 1 - from) as u64;
        let winner = &mut sketching.winners[slot];
        if winner.is_some_and(|winner| (winner.mixed, winner.end) <= (mixed, end)) {
            return None;
        }
        let window: &[u8; SKETCH_WINDOW_BYTES] = data[..=place].last_chunk().expect("the window is complete");
        // A window of one repeated byte is no evidence of anything.
        if window.iter().all(|byte| *byte == window[0]) {
            return None;
        }
        *winner = Some(Winner { mixed, end, window: *window });
        Some((slot, mixed))
    }

    /// Ends a content.
    pub(crate) fn finish(&self, sketching: &Sketching) -> ContentSketch {
        let value = |winner: Winner| {
            let hash = hashed(&self.sip, &winner.window);
            // A value of 0 would be an empty slot.
            u32::try_from(hash & u64::from(u32::MAX)).expect("it has 32 bits").max(EMPTY + 1)
        };
        ContentSketch { values: sketching.winners.map(|winner| winner.map_or(EMPTY, value)) }
    }
}

fn hashed(sip: &SipHash, window: &[u8; SKETCH_WINDOW_BYTES]) -> u64 {
    let word = |at: usize| u64::from_le_bytes(*window[at..].first_chunk().expect("a window has four words"));
    sip.hash_words([word(0), word(8), word(16), word(24), (SKETCH_WINDOW_BYTES as u64) << 56])
}

impl Sketching {
    /// Begins with a later place of the content, as if its windows before had been offered: another sketching has those.
    pub(crate) fn begin_at(&mut self, place: u64) {
        self.added = place;
    }

    /// Takes over the winners of another part of the same content. Both may have been offered a window.
    pub(crate) fn merge(&mut self, other: &Sketching) {
        for (winner, other) in self.winners.iter_mut().zip(other.winners) {
            let order = |winner: &Winner| (winner.mixed, winner.end);
            *winner = [*winner, other].into_iter().flatten().min_by_key(order);
        }
    }

    /// Counts bytes whose windows were offered.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.added += bytes as u64;
    }

    /// The number of next bytes at which no window ends, since the content begins within it.
    pub(crate) fn lacking(&self) -> usize {
        usize::try_from(self.added).map_or(0, |added| (SKETCH_WINDOW_BYTES - 1).saturating_sub(added))
    }

    /// For each slot, the greatest mix with which a window after those that were added may win it.
    pub(crate) fn limits(&self) -> [u64; SKETCH_SLOTS] {
        self.winners.map(|winner| winner.map_or(u64::MAX, |winner| winner.mixed.saturating_sub(1)))
    }
}

#[cfg(test)]
mod tests;
