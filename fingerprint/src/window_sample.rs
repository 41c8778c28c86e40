//! Window samples: windows of 32 bytes of a content, in proportion to its length, by which two contents that have much in common are
//! noticed, even if an edit in every chunk leaves them no chunk in common, or one is a small part of the other.
//!
//! The rolling fingerprint of TTTD has, in its low 32 bits, a function of the last [`SAMPLE_WINDOW_BYTES`] bytes alone. Of all windows of
//! so many bytes, those may be sampled whose function is below 2^32 / 32. The keyed mix of the function gives a window its *level*: the
//! zeros that it begins with, fifteen at most. So the windows of level l and above are one in 32 · 2^l, and the same window has the same
//! level in every content (Broder, "On the resemblance and containment of documents", SEQUENCES 1997, section 3: the fingerprints that are
//! 0 modulo m, which estimate containment as well as resemblance).
//!
//! What a site sends of a window is its *value*: its level and 36 bits of the keyed hash of its bytes. The sample of a content has the
//! values of level l and above, each once, where l is the least level with at most [`values_max`] of them: 16 of the densest, then 64
//! and 512, 8,192 of the others. So contents of half a kilobyte are sampled by one window in 32, those of up to 4 kB by one in 64, up to 64 kB by one
//! in 128, then by one in 256, and from two megabytes on more sparsely.
//!
//! The mix decides only which windows are sampled. It is keyed, but it is no cipher, and need not be one, since no value of it leaves a
//! site but for its level (`docs/decisions/0017-methods.md` argues the same for samples).

use std::fmt;

use crate::key::Key;
use crate::mix::Mix;
use crate::sip::SipHash;

/// The bytes of a window.
pub const SAMPLE_WINDOW_BYTES: usize = 32;
/// The levels of windows.
const SAMPLE_LEVELS: usize = 16;
/// The most values of a sample.
pub const SAMPLE_VALUES_MAX: usize = 8192;
/// The bytes of a value on the wire and on disk.
pub const SAMPLE_VALUE_BYTES: usize = 5;

/// One window in so many has a level.
const LEVELLED_ONE_IN: u32 = 32;
/// The highest bits of a function, which are 0 if the window has a level.
pub(crate) const LEVELLED_BITS: u32 = LEVELLED_ONE_IN.ilog2();
/// A window has a level if its function is below this.
const LEVELLED_BELOW: u32 = 1 << (u32::BITS - LEVELLED_BITS);
/// The bits of a value that are hash. Those above are the level.
const HASH_BITS: u32 = 36;
const LEVEL_BITS: u32 = SAMPLE_LEVELS.ilog2();
const _: () = assert!(LEVELLED_ONE_IN.is_power_of_two() && SAMPLE_LEVELS.is_power_of_two());
const _: () = assert!((HASH_BITS + LEVEL_BITS) as usize == 8 * SAMPLE_VALUE_BYTES);
// A bit of the function depends on as many bytes as its number, from one on.
const _: () = assert!(SAMPLE_WINDOW_BYTES == u32::BITS as usize);
const HIGHEST_LEVEL: usize = SAMPLE_LEVELS - 1;

/// The most values of a sample whose least level is `level`.
///
/// A content of S bytes is to share S / 2 of them with another. Of as many windows, one in S / 16 misses all once in three thousand; but the
/// other may be longer, and then its density counts. `docs/decisions/0061-window-samples.md` has what other densities find.
const fn values_max(level: usize) -> usize {
    match level {
        0 => 16,
        1 => 64,
        2 => 512,
        _ => SAMPLE_VALUES_MAX,
    }
}

/// The level of the window with this value, 0 to 15.
#[must_use]
#[inline]
pub fn sample_level(value: u64) -> usize {
    usize::try_from(value >> HASH_BITS).map_or(HIGHEST_LEVEL, |level| level.min(HIGHEST_LEVEL))
}

/// The part of `parts` in which the window with this value is: chance decides, and equal windows are in one.
#[must_use]
#[inline]
pub fn sample_part(value: u64, parts: u64) -> u64 {
    let hash = u128::from(value & ((1 << HASH_BITS) - 1));
    u64::try_from((hash * u128::from(parts)) >> HASH_BITS).expect("it is less than the number of parts")
}

/// The share of the values of one of two relatives that they have in common, at least: one in so many.
const SHARE_MIN: u64 = 10;

/// The bytes of content for each value of a sample of this level and above.
#[must_use]
#[inline]
pub fn sample_bytes_per_value(level: usize) -> u64 {
    u64::from(LEVELLED_ONE_IN) << level
}

/// The sample of a content: values of windows, ascending, and so by their levels.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct WindowSample {
    /// [`SAMPLE_VALUE_BYTES`] for each value, the lowest byte first.
    packed: Vec<u8>,
}

impl WindowSample {
    /// The sample without a window: that of a short content, or of one whose site sends no samples.
    pub const NONE: WindowSample = WindowSample { packed: Vec::new() };

    /// A sample of these values. `None` if they do not ascend, are too large or too many.
    #[must_use]
    pub fn new(values: &[u64]) -> Option<WindowSample> {
        let fits = values.iter().all(|value| value >> (8 * SAMPLE_VALUE_BYTES) == 0);
        fits.then(|| WindowSample::pack(values)).and_then(|sample| WindowSample::from_bytes(sample.packed))
    }

    /// A sample from its bytes: [`SAMPLE_VALUE_BYTES`] for each value, the lowest byte first.
    #[must_use]
    pub fn from_bytes(packed: Vec<u8>) -> Option<WindowSample> {
        let sample = WindowSample { packed };
        let ascends = sample
            .packed
            .as_chunks()
            .0
            .windows(2)
            .all(|pair| unpack_sample_value(&pair[0]) < unpack_sample_value(&pair[1]));
        let is_whole = sample.packed.len().is_multiple_of(SAMPLE_VALUE_BYTES) && sample.len() <= SAMPLE_VALUES_MAX;
        (ascends && is_whole).then_some(sample)
    }

    fn pack(values: &[u64]) -> WindowSample {
        let bytes = |value: &u64| value.to_le_bytes().into_iter().take(SAMPLE_VALUE_BYTES);
        let mut packed = Vec::with_capacity(values.len() * SAMPLE_VALUE_BYTES);
        values.iter().for_each(|value| packed.extend(bytes(value)));
        WindowSample { packed }
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.packed
    }

    /// The values, ascending.
    pub fn values(&self) -> impl ExactSizeIterator<Item = u64> + DoubleEndedIterator {
        self.packed.as_chunks().0.iter().map(unpack_sample_value)
    }

    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.packed.len() / SAMPLE_VALUE_BYTES
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// The number of its values by their levels.
    #[must_use]
    pub fn counts(&self) -> SampleCounts {
        SampleCounts::of(self.values())
    }

    /// A short digest of the sample, 0 if it is empty: enough to notice that two ends hold different ones.
    #[must_use]
    pub fn digest(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let hash = blake3::hash(&self.packed);
        u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("a hash is longer"))
    }
}

/// For each level, the number of values of it and above.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampleCounts([u16; SAMPLE_LEVELS]);

impl SampleCounts {
    /// Of the values of a sample.
    pub fn of(values: impl Iterator<Item = u64>) -> SampleCounts {
        let mut counts = [0; SAMPLE_LEVELS];
        values.for_each(|value| counts[..=sample_level(value)].iter_mut().for_each(|count| *count += 1));
        SampleCounts(counts)
    }

    /// The level of the first value, from which on all values of the content are in the sample.
    #[must_use]
    #[inline]
    pub fn lowest(&self) -> usize {
        (1..SAMPLE_LEVELS).take_while(|level| self.0[*level] == self.0[0]).last().unwrap_or(0)
    }

    /// The level from which on both samples have all values, and the number of values of each from there on.
    #[must_use]
    #[inline]
    pub fn at_common_level(&self, other: &SampleCounts) -> (usize, [u16; 2]) {
        let level = self.lowest().max(other.lowest());
        (level, [self.0[level], other.0[level]])
    }

    /// The bytes for which `common` values stand that two samples have in common, if these are a tenth of the values of one of them: windows
    /// see the less of what is in common, the more edits there are.
    #[must_use]
    #[inline]
    pub fn in_common_bytes(&self, other: &SampleCounts, common: u64) -> Option<u64> {
        let (level, [own, others]) = self.at_common_level(other);
        let may_be_relatives = common > 0 && common * SHARE_MIN >= u64::from(own.min(others));
        may_be_relatives.then(|| common * sample_bytes_per_value(level))
    }
}

/// A value from its bytes, the lowest first.
#[must_use]
#[inline]
pub fn unpack_sample_value(bytes: &[u8; SAMPLE_VALUE_BYTES]) -> u64 {
    let mut word = [0; 8];
    word[..SAMPLE_VALUE_BYTES].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

impl fmt::Debug for WindowSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values()).finish()
    }
}

/// Makes samples under a key.
#[derive(Clone)]
pub(crate) struct WindowSampler {
    mix: Mix,
    sip: SipHash,
}

/// The sample of one content while it is read.
#[cfg_attr(test, derive(Clone))]
pub(crate) struct OpenSample {
    /// The bytes of the content so far.
    added: u64,
    /// The least level that the sample can still have.
    level: usize,
    /// Of that level and above; some may be there several times.
    values: Vec<u64>,
    /// With so many values, it is time to look whether the level has too many.
    room: usize,
}

/// The function of the last window, which is in the low bits of a rolling fingerprint.
#[inline(always)]
fn function(fingerprint: u64) -> u64 {
    fingerprint & u64::from(u32::MAX)
}

/// True if the window that ends with this fingerprint has a level.
#[inline(always)]
pub(crate) fn has_level(fingerprint: u64) -> bool {
    function(fingerprint) < u64::from(LEVELLED_BELOW)
}

impl WindowSampler {
    /// A sampler under a key. The functions are those of the rolling fingerprint of TTTD under the same key.
    pub(crate) fn new(key: &Key) -> WindowSampler {
        let mut sip_key = [0; 16];
        key.derive_into("cognate sample v1", &mut sip_key);
        WindowSampler { mix: Mix::of(key), sip: SipHash::new(sip_key) }
    }

    /// The function from which levels follow.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn mix(&self) -> Mix {
        self.mix
    }

    /// Offers the window of `data` that ends with the byte at `place`, where the fingerprint is `fingerprint`. Windows may come in any
    /// order, and several times.
    #[inline]
    pub(crate) fn offer(&self, sample: &mut OpenSample, fingerprint: u64, data: &[u8], place: usize) {
        let mixed = self.mix.value(function(fingerprint));
        if mixed > sample.limit() {
            return;
        }
        let window: &[u8; SAMPLE_WINDOW_BYTES] = data[..=place].last_chunk().expect("the window is complete");
        // A window of one repeated byte is no evidence of anything.
        if window.iter().all(|byte| *byte == window[0]) {
            return;
        }
        let level = u64::from(mixed.leading_zeros()).min(HIGHEST_LEVEL as u64);
        sample.add_value(level << HASH_BITS | hashed(&self.sip, window) >> (u64::BITS - HASH_BITS));
    }
}

fn hashed(sip: &SipHash, window: &[u8; SAMPLE_WINDOW_BYTES]) -> u64 {
    let word = |at: usize| u64::from_le_bytes(*window[at..].first_chunk().expect("a window has four words"));
    sip.hash_words([word(0), word(8), word(16), word(24), (SAMPLE_WINDOW_BYTES as u64) << 56])
}

impl OpenSample {
    /// That of a content of which nothing was read.
    pub(crate) fn new() -> OpenSample {
        OpenSample { added: 0, level: 0, values: Vec::new(), room: 2 * values_max(0) }
    }

    /// Begins with a later place of the content, as if its windows before had been offered: another sample has those.
    pub(crate) fn begin_at(&mut self, place: u64) {
        self.added = place;
    }

    /// Takes over the values of another part of the same content. Both may have been offered a window.
    pub(crate) fn merge(&mut self, other: &OpenSample) {
        self.level = self.level.max(other.level);
        self.values.extend_from_slice(&other.values);
        self.settle();
    }

    /// Counts bytes whose windows were offered.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.added += bytes as u64;
    }

    /// The number of next bytes at which no window ends, since the content begins within it.
    pub(crate) fn lacking(&self) -> usize {
        usize::try_from(self.added).map_or(0, |added| (SAMPLE_WINDOW_BYTES - 1).saturating_sub(added))
    }

    /// The greatest mix of a window of which the sample may take the value.
    #[inline(always)]
    pub(crate) fn limit(&self) -> u64 {
        u64::MAX >> self.level
    }

    /// The sample of a content that was read to its end.
    pub(crate) fn finish(mut self) -> WindowSample {
        self.settle();
        WindowSample::pack(&self.values)
    }

    fn add_value(&mut self, value: u64) {
        self.values.push(value);
        if self.values.len() >= self.room {
            self.settle();
        }
    }

    /// Leaves each value once, and raises the level until it has no more values than it may. Windows that are still to come can only add
    /// to them, so no level is passed over that the whole content could have.
    fn settle(&mut self) {
        self.values.sort_unstable();
        self.values.dedup();
        loop {
            let from = self.values.partition_point(|value| sample_level(*value) < self.level);
            self.values.drain(..from);
            if self.values.len() <= values_max(self.level) || self.level == HIGHEST_LEVEL {
                break;
            }
            self.level += 1;
        }
        // Of the highest level there may be any number: its least values are as good a sample.
        self.values.truncate(SAMPLE_VALUES_MAX);
        self.room = 2 * self.values.len().max(values_max(self.level));
    }
}

#[cfg(test)]
mod tests;
