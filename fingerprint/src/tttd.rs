//! Two thresholds, two divisors (TTTD): content-defined chunks, whose ends follow from the bytes themselves.
//!
//! Source: Forman, Eshghi, Chiocchetti, "Finding similar files in large document repositories" (KDD 2005), section 2.2,
//! with the authors' published setting (460, 2800, 540, 270), whose mean is 985 bytes, scaled to the mean that is asked for.
//!
//! A rolling fingerprint of the last 64 bytes is taken at every position. Past `chunk_bytes_min`, the first position
//! where it is below 2^64 / D is a cut. If there is none up to `chunk_bytes_max`, the last position where it was below
//! 2^64 / D' is the cut (D' is half of D, so such a position is twice as likely). If there is none of these either, the chunk
//! ends at `chunk_bytes_max`. The document's end ends its last chunk, whatever its length.
//!
//! The fingerprint is `h = 2 h + table[byte]` modulo 2^64: a byte is shifted out of the word after 64 further ones, so
//! that the value depends on the last 64 bytes alone and need not be computed over the bytes before
//! `chunk_bytes_min - 64`. It is never restarted at a cut, so equal runs of bytes meet the same cuts wherever the chunk before
//! them began. The comparison looks at the high bits, which depend on all of the 64 bytes.

use crate::key::Key;

/// The least mean that can be asked for, in bytes.
pub const CHUNK_BYTES_LEAST: u32 = 80;
/// The greatest mean that can be asked for: 1 MiB.
pub const CHUNK_BYTES_MOST: u32 = 1 << 20;
/// The number of bytes that the fingerprint of a position depends on.
pub const WINDOW_BYTES: usize = 64;

/// The mean of the published setting, to which the four parameters are scaled.
const PUBLISHED_MEAN: u64 = 985;

/// The two thresholds and the two divisors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// The least length of a chunk, except for the last one of a document.
    pub chunk_bytes_min: u32,
    /// The greatest length of a chunk.
    pub chunk_bytes_max: u32,
    /// D: one position in so many is a cut.
    pub divisor_main: u32,
    /// D': one position in so many is a backup, which is used if there is no better one.
    pub divisor_backup: u32,
}

impl Parameters {
    /// The published setting scaled to a mean of `chunk_bytes`, which is within [`CHUNK_BYTES_LEAST`] and
    /// [`CHUNK_BYTES_MOST`]. Each parameter is rounded to the nearest integer; D' is half of D, rounded down.
    pub fn for_mean(chunk_bytes: u32) -> Parameters {
        let scaled = |published: u64| {
            let rounded = (2 * published * u64::from(chunk_bytes) + PUBLISHED_MEAN) / (2 * PUBLISHED_MEAN);
            u32::try_from(rounded).expect("2800 MiB / 985 is below 2^32")
        };
        let divisor_main = scaled(540);
        Parameters {
            chunk_bytes_min: scaled(460),
            chunk_bytes_max: scaled(2800),
            divisor_main,
            divisor_backup: (divisor_main / 2).max(1),
        }
    }
}

/// The chunker: parameters, the fingerprint's table under a key, and the two bounds.
#[derive(Clone)]
pub struct Tttd {
    parameters: Parameters,
    table: Box<[u64; 256]>,
    bound_main: u64,
    bound_backup: u64,
}

impl Tttd {
    /// A chunker for a mean of `chunk_bytes`, which is within [`CHUNK_BYTES_LEAST`] and [`CHUNK_BYTES_MOST`].
    pub fn new(chunk_bytes: u32, key: &Key) -> Tttd {
        let parameters = Parameters::for_mean(chunk_bytes);
        Tttd {
            parameters,
            table: table(key),
            bound_main: bound(parameters.divisor_main),
            bound_backup: bound(parameters.divisor_backup),
        }
    }

    /// The same with other bounds, of which that of D' is the greater one.
    #[cfg(test)]
    pub(crate) fn with_bounds(self, bound_main: u64, bound_backup: u64) -> Tttd {
        Tttd { bound_main, bound_backup, ..self }
    }

    /// The thresholds and divisors in force.
    pub fn parameters(&self) -> Parameters {
        self.parameters
    }

    /// The table of the rolling fingerprint.
    pub(crate) fn table(&self) -> &[u64; 256] {
        &self.table
    }

    /// A place whose fingerprint is below this may be a cut.
    pub(crate) fn bound_main(&self) -> u64 {
        self.bound_main
    }

    /// A place whose fingerprint is below this may be a backup.
    pub(crate) fn bound_backup(&self) -> u64 {
        self.bound_backup
    }

    /// The fingerprint before the byte at `place`.
    pub(crate) fn before(&self, data: &[u8], place: usize) -> u64 {
        self.roll(0, &data[place.saturating_sub(WINDOW_BYTES)..place])
    }

    /// The length of the chunk that begins at `start`, or `None` if the decision needs more of the document.
    ///
    /// `data[..start]` holds at least the [`WINDOW_BYTES`] bytes before the chunk, or all bytes before it. `at_end` is true
    /// if the document ends where `data` does. The result does not depend on how much more of the document `data` holds.
    pub fn cut(&self, data: &[u8], start: usize, at_end: bool) -> Option<usize> {
        let (min, max) = (self.parameters.chunk_bytes_min as usize, self.parameters.chunk_bytes_max as usize);
        let available = data.len() - start;
        if available < max && !at_end {
            return None;
        }
        let longest = available.min(max);
        if longest <= min {
            return Some(longest);
        }
        let first = start + min;
        let mut fingerprint = self.roll(0, &data[first.saturating_sub(WINDOW_BYTES)..first - 1]);
        let mut backup = None;
        for (step, &byte) in data[first - 1..start + longest].iter().enumerate() {
            fingerprint = (fingerprint << 1).wrapping_add(self.table[usize::from(byte)]);
            // The bound of D' is never the lower one, so one rare test guards both.
            if fingerprint < self.bound_backup {
                if fingerprint < self.bound_main {
                    return Some(min + step);
                }
                backup = Some(min + step);
            }
        }
        if longest < max { Some(longest) } else { Some(backup.unwrap_or(max)) }
    }

    fn roll(&self, fingerprint: u64, bytes: &[u8]) -> u64 {
        bytes.iter().fold(fingerprint, |h, &byte| (h << 1).wrapping_add(self.table[usize::from(byte)]))
    }
}

/// The fingerprint's table: 256 little-endian words from the key, so that cuts differ from key to key.
fn table(key: &Key) -> Box<[u64; 256]> {
    let mut bytes = [0; 256 * 8];
    key.derive_into("cognate chunker v1", &mut bytes);
    let mut table = Box::new([0; 256]);
    for (word, bytes) in table.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    }
    table
}

/// floor(2^64 / divisor): one random word in `divisor` is below it.
fn bound(divisor: u32) -> u64 {
    let bound = (1_u128 << 64) / u128::from(divisor.max(2));
    u64::try_from(bound).expect("the divisor is at least 2")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_support::{documents, noise};

    #[test]
    fn the_published_setting_is_the_one_at_its_own_mean() {
        let published =
            Parameters { chunk_bytes_min: 460, chunk_bytes_max: 2800, divisor_main: 540, divisor_backup: 270 };
        assert_eq!(Parameters::for_mean(985), published);
    }

    #[test]
    fn parameters_are_rounded_to_the_nearest_integer() {
        // 460 * 1000 / 985 = 467.005, 2842.64, 548.22
        let at_1000 =
            Parameters { chunk_bytes_min: 467, chunk_bytes_max: 2843, divisor_main: 548, divisor_backup: 274 };
        assert_eq!(Parameters::for_mean(1000), at_1000);
        let at_80 = Parameters { chunk_bytes_min: 37, chunk_bytes_max: 227, divisor_main: 44, divisor_backup: 22 };
        assert_eq!(Parameters::for_mean(80), at_80);
    }

    #[test]
    fn the_rest_of_a_document_is_its_last_chunk() {
        let tttd = Tttd::new(1000, &Key::none());
        for length in [1, 466, 467] {
            assert_eq!(tttd.cut(&vec![b'x'; length], 0, true), Some(length));
            assert_eq!(tttd.cut(&vec![b'x'; length], 0, false), None);
        }
    }

    #[test]
    fn a_run_of_one_byte_is_cut_at_the_greatest_length_or_at_the_least() {
        let tttd = Tttd::new(1000, &Key::none());
        for byte in 0..=255 {
            let cut = tttd.cut(&vec![byte; 10_000], 0, true).unwrap();
            assert!(cut == 467 || cut == 2843, "{byte}: {cut}");
        }
    }

    #[test]
    fn parameters_keep_their_order_at_every_mean() {
        for mean in (CHUNK_BYTES_LEAST..=2000).chain([1 << 16, CHUNK_BYTES_MOST - 1, CHUNK_BYTES_MOST]) {
            let Parameters { chunk_bytes_min, chunk_bytes_max, divisor_main, divisor_backup } =
                Parameters::for_mean(mean);
            assert!(0 < chunk_bytes_min && chunk_bytes_min < mean && mean < chunk_bytes_max, "{mean}");
            assert_eq!(divisor_backup, divisor_main / 2, "{mean}");
            assert!(bound(divisor_main) <= bound(divisor_backup), "{mean}");
            // The mean of TTTD is close to the least length and one main divisor, less what the greatest length cuts off.
            assert!((chunk_bytes_min + divisor_main).abs_diff(mean) <= mean / 50 + 2, "{mean}");
        }
    }

    proptest! {
        #[test]
        fn a_cut_that_is_decided_does_not_depend_on_the_bytes_after_it(
            document in documents(),
            more in documents(),
            start in 0..3000_usize,
        ) {
            let tttd = Tttd::new(80, &Key::none());
            let start = start.min(document.len());
            let longer = [document.as_slice(), &more].concat();
            if let Some(length) = tttd.cut(&document, start, false) {
                prop_assert_eq!(tttd.cut(&longer, start, false), Some(length));
                prop_assert_eq!(tttd.cut(&longer, start, true), Some(length));
            }
        }

        #[test]
        fn bytes_before_the_window_do_not_matter(document in documents(), before in documents()) {
            // From 64 bytes after the seam on, a chunk that starts there is cut as without the bytes before.
            let tttd = Tttd::new(80, &Key::none());
            let start = WINDOW_BYTES.min(document.len());
            let joined = [before.as_slice(), &document].concat();
            prop_assert_eq!(tttd.cut(&document, start, true), tttd.cut(&joined, before.len() + start, true));
        }

        #[test]
        fn chunks_keep_to_both_thresholds(document in documents(), mean in 80..200_u32) {
            let tttd = Tttd::new(mean, &Key::none());
            let Parameters { chunk_bytes_min, chunk_bytes_max, .. } = tttd.parameters();
            let mut start = 0;
            while start < document.len() {
                let length = tttd.cut(&document, start, true).unwrap();
                let is_last = start + length == document.len();
                prop_assert!(length <= chunk_bytes_max as usize && (is_last || length >= chunk_bytes_min as usize));
                start += length;
            }
            prop_assert_eq!(start, document.len());
        }

        #[test]
        fn an_edit_changes_chunks_only_until_the_cuts_agree_again(seed: u64, place in 0..30_000_usize, inserted in documents()) {
            let before = noise(&seed.to_string(), 30_000);
            let place = place.min(before.len());
            let after = [&before[..place], &inserted, &before[place..]].concat();
            let tttd = Tttd::new(100, &Key::none());
            let cuts = |document: &[u8]| {
                let (mut cuts, mut start) = (vec![], 0);
                while start < document.len() {
                    start += tttd.cut(document, start, true).unwrap();
                    cuts.push(start);
                }
                cuts
            };
            let (old, new) = (cuts(&before), cuts(&after));
            // A cut is decided by bytes up to the greatest length of its chunk.
            let max = tttd.parameters().chunk_bytes_max as usize;
            let is_decided = |cut: &&usize| **cut + max <= place;
            prop_assert!(old.iter().take_while(is_decided).zip(&new).all(|(old, new)| old == new));
            // After some chunks the cuts of both agree again.
            let reach = place + 16 * max;
            let moved: std::collections::BTreeSet<usize> = new.iter().map(|cut| cut.saturating_sub(inserted.len())).collect();
            prop_assert!(old.iter().filter(|cut| **cut > reach).all(|cut| moved.contains(cut)));
        }
    }
}
