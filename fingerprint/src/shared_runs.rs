//! The exact measure: every run of bytes that two documents share, found without a chunker.
//!
//! A byte of one document is shared if a window of `width` bytes around it occurs somewhere in the other. Windows are found by
//! a rolling hash and compared byte by byte, so the result is exact. It needs the bytes of both documents: experiments and
//! sites hold the estimates of chunks against it, and an estimate before a comparison looks for its windows.

use std::hash::{BuildHasher as _, RandomState};

use crate::split_mix::SplitMix64;

/// The window, in bytes, of the exact measure: shorter runs are phrases that documents of one kind have anyway.
pub const EXACT_WINDOW_BYTES: usize = 32;

const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Runs of bytes, ascending and apart from each other.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SharedRuns(Vec<(usize, usize)>);

impl SharedRuns {
    /// The number of bytes in all runs together.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(start, end)| end - start).sum()
    }

    /// The number of bytes from `start` up to `end` that are in a run.
    pub fn within(&self, start: usize, end: usize) -> usize {
        let first = self.0.partition_point(|run| run.1 <= start);
        let overlap = |run: &&(usize, usize)| run.0 < end;
        self.0[first..].iter().take_while(overlap).map(|run| run.1.min(end) - run.0.max(start)).sum()
    }
}

/// An index of the windows of a document, each with its first place: 11 to 22 bytes of memory for each byte of it.
pub struct WindowIndex<'a> {
    bytes: &'a [u8],
    width: usize,
    /// A number that nobody knows beforehand: whoever writes a document could otherwise fill one stretch of the table with all of its windows. No
    /// result depends on it.
    multiplier: u64,
    /// By the highest bits of the hash, multiplied; where several windows belong into one slot, the later ones are in the next free slots. A quarter
    /// of the slots or more stay free.
    slots: Vec<Slot>,
}

/// A window with its first place.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// The lower half of its hash.
    check: u32,
    /// Its first byte, counted from 1; 0 in a free slot.
    place: u32,
}

impl<'a> WindowIndex<'a> {
    /// The windows of a document of less than 4 GiB. `width` is at least 1.
    pub fn of(bytes: &'a [u8], width: usize) -> WindowIndex<'a> {
        WindowIndex::with(bytes, width, window_hashes(bytes, width))
    }

    fn with(bytes: &'a [u8], width: usize, hashes: impl Iterator<Item = u64>) -> WindowIndex<'a> {
        let windows = (bytes.len() + 1).saturating_sub(width);
        let slots = vec![Slot::default(); (windows + windows / 3 + 1).next_power_of_two().max(2)];
        let multiplier = RandomState::new().hash_one(0_u8) | 1;
        let mut index = WindowIndex { bytes, width, multiplier, slots };
        for (start, hash) in hashes.enumerate() {
            let number = index.number(hash, &bytes[start..start + width]);
            if index.slots[number].place == 0 {
                let place = u32::try_from(start + 1).expect("a document has less than 4 GiB");
                index.slots[number] = Slot { check: check(hash), place };
            }
        }
        index
    }

    /// The number of the slot that has a window, or that is free for it.
    fn number(&self, hash: u64, window: &[u8]) -> usize {
        let last = self.slots.len() - 1;
        let shift = u64::BITS - self.slots.len().trailing_zeros();
        let mut number = usize::try_from(hash.wrapping_mul(self.multiplier) >> shift).expect("a table has few bits");
        loop {
            let slot = self.slots[number];
            let is_same = || self.bytes[slot.place as usize - 1..].starts_with(window);
            if slot.place == 0 || (slot.check == check(hash) && is_same()) {
                return number;
            }
            number = (number + 1) & last;
        }
    }

    /// The first place where a window begins.
    fn find(&self, hash: u64, window: &[u8]) -> Option<usize> {
        let place = self.slots[self.number(hash, window)].place;
        (place as usize).checked_sub(1)
    }

    /// The runs of another document that occur here.
    pub fn shared_runs(&self, other: &[u8]) -> SharedRuns {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        // The place here of the window before. The next window follows there if one more byte is equal, so that nothing is looked up within a run.
        let mut before: Option<usize> = None;
        for (start, hash) in window_hashes(other, self.width).enumerate() {
            let end = start + self.width;
            let follows = |place: &usize| self.bytes.get(place + self.width) == Some(&other[end - 1]);
            before = match before.filter(follows) {
                Some(place) => Some(place + 1),
                None => self.find(hash, &other[start..end]),
            };
            match (before, runs.last_mut()) {
                (None, _) => {}
                (Some(_), Some(last)) if start <= last.1 => last.1 = end,
                (Some(_), _) => runs.push((start, end)),
            }
        }
        SharedRuns(runs)
    }
}

/// The lower half of a hash.
fn check(hash: u64) -> u32 {
    u32::try_from(hash & u64::from(u32::MAX)).expect("32 bits are left")
}

/// The bytes of each of two documents that are in windows of [`EXACT_WINDOW_BYTES`] which occur in the other.
pub fn exact_shared_bytes(a: &[u8], b: &[u8]) -> [u64; 2] {
    let of_first = |first, second| WindowIndex::of(second, EXACT_WINDOW_BYTES).shared_runs(first).bytes() as u64;
    [of_first(a, b), of_first(b, a)]
}

/// The hash of every window, in order: a polynomial in an odd base, modulo 2^64, mixed.
pub fn window_hashes(bytes: &[u8], width: usize) -> impl Iterator<Item = u64> {
    let leading = (1..width).fold(1_u64, |power, _| power.wrapping_mul(BASE));
    let value = |byte: &u8| u64::from(*byte) + 1;
    let first = bytes.get(..width.saturating_sub(1)).unwrap_or(&[]);
    let mut hash = first.iter().fold(0_u64, |hash, byte| hash.wrapping_mul(BASE).wrapping_add(value(byte)));
    bytes.windows(width).map(move |window| {
        hash = hash.wrapping_mul(BASE).wrapping_add(value(&window[width - 1]));
        let complete = hash;
        hash = hash.wrapping_sub(value(&window[0]).wrapping_mul(leading));
        SplitMix64::mix(complete)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The bytes of a document that are in windows which occur in the other, by comparing every window with every other.
    fn by_brute_force(other: &[u8], of: &[u8], width: usize) -> Vec<bool> {
        let mut shared = vec![false; other.len()];
        for (start, window) in other.windows(width).enumerate() {
            if of.windows(width).any(|known| known == window) {
                shared[start..start + width].fill(true);
            }
        }
        shared
    }

    #[test]
    fn shared_runs_are_those_of_brute_force() {
        let mut rng = SplitMix64::new(3);
        for round in 0..300 {
            let letters = 1 + round % 4;
            let mut text = |length: u64| -> Vec<u8> {
                (0..length).map(|_| b"abcd"[usize::try_from(rng.next() % letters).unwrap()]).collect()
            };
            let (of, other, width) = (text(60), text(round % 90), 1 + usize::try_from(round % 7).unwrap());
            let expected = by_brute_force(&other, &of, width);
            let runs = WindowIndex::of(&of, width).shared_runs(&other);
            let found: Vec<bool> = (0..other.len()).map(|at| runs.within(at, at + 1) == 1).collect();
            assert_eq!(found, expected, "{round}");
            assert_eq!(runs.bytes(), expected.iter().filter(|shared| **shared).count());
            assert_eq!(runs.within(0, other.len()), runs.bytes());
        }
    }

    #[test]
    fn windows_with_the_same_hash_and_other_bytes_are_different() {
        for hash in [0, 1, u64::MAX] {
            let windows = WindowIndex::with(b"abcabd", 3, [hash; 4].into_iter());
            let places = [b"abc", b"bca", b"cab", b"abd", b"bda"].map(|window| windows.find(hash, window));
            assert_eq!(places, [Some(0), Some(1), Some(2), Some(3), None], "{hash}");
            assert_eq!(windows.find(hash ^ 1, b"abc"), None, "{hash}");
        }
    }

    #[test]
    fn a_rolled_hash_is_that_of_the_window_alone() {
        let text = b"a rose is a rose is a rose";
        for (window, hash) in text.windows(5).zip(window_hashes(text, 5)) {
            assert_eq!(window_hashes(window, 5).next(), Some(hash));
        }
    }

    /// Two texts that share pieces of up to 60 bytes, some of them shorter than a window.
    fn related() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
        let piece = proptest::collection::vec(b'a'..=b'c', 0..60);
        let own = proptest::collection::vec(b'x'..=b'z', 0..20);
        let pieces = proptest::collection::vec((piece, own.clone(), own, any::<bool>()), 0..8);
        pieces.prop_map(|pieces| {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            for (piece, of_a, of_b, leads) in pieces {
                a.extend([of_a.as_slice(), &piece].concat());
                let both = [piece, of_b];
                b.extend(if leads { both.concat() } else { both.iter().rev().flatten().copied().collect() });
            }
            (a, b)
        })
    }

    proptest! {
        #[test]
        fn the_exact_measure_of_two_documents_is_a_naive_count((a, b) in related()) {
            let naive = |of: &[u8], other: &[u8]| {
                by_brute_force(of, other, EXACT_WINDOW_BYTES).iter().filter(|shared| **shared).count() as u64
            };
            prop_assert_eq!(exact_shared_bytes(&a, &b), [naive(&a, &b), naive(&b, &a)]);
        }

        #[test]
        fn runs_are_ascending_apart_and_at_least_a_window_long(
            a in proptest::collection::vec(b'a'..=b'b', 0..60),
            b in proptest::collection::vec(b'a'..=b'b', 0..60),
            width in 1..9_usize,
        ) {
            let runs = WindowIndex::of(&a, width).shared_runs(&b);
            prop_assert!(runs.0.iter().all(|(start, end)| end - start >= width && *end <= b.len()));
            prop_assert!(runs.0.windows(2).all(|pair| pair[0].1 < pair[1].0));
            for cut in 0..=b.len() {
                prop_assert_eq!(runs.within(0, cut) + runs.within(cut, b.len()), runs.bytes());
            }
            let own = WindowIndex::of(&b, width).shared_runs(&b).bytes();
            prop_assert_eq!(own, if b.len() < width { 0 } else { b.len() });
        }
    }
}
