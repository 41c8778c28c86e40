//! `sketch`: the smallest value over all windows, for each of n hash functions.
//!
//! Source: Broder et al., "Min-wise independent permutations" (1998); Cherkasova et al. 2009, `Sketch_n`. The share of
//! places at which two sketches agree is an unbiased estimate of the resemblance.
//!
//! The n functions are not computed one by one. The value m of a window gives a sequence of random words r(0) = m, r(1),
//! r(2), …. Each word names a place, `floor(r n / 2^64)`, and the i-th function of the window is the pair (k, r(k)) of the
//! first word that names place i. For each place these pairs are independent random numbers, and equal for equal windows.
//! So the smallest pair over two documents belongs to either with the same chance, and the estimate is unbiased. After some
//! n ln n different windows every place holds a pair with k = 0; from then on a window costs one multiplication and one
//! comparison. (Ertl's `SuperMinHash`, 2017, has the same idea. Places are served without replacement within a k, so the
//! variance is at most that of n independent functions.)

use crate::sampler::{Recent, Sampler};
use crate::signature::{Feature, Tagger};
use crate::split_mix::SplitMix64;

/// The smallest pair of a place: k, then the rest of r(k) without its place, and the value of the window.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    round: u32,
    fraction: u64,
    value: u64,
}

/// No pair yet.
const EMPTY: Place = Place { round: u32::MAX, fraction: u64::MAX, value: u64::MAX };

/// Keeps the smallest of each of n functions.
pub(crate) struct Sketch {
    places: Vec<Place>,
    /// The greatest k that a place holds; `u32::MAX` while one is empty.
    round_max: u32,
    recent: Recent,
}

impl Sketch {
    pub(crate) fn new(n: u32) -> Sketch {
        Sketch { places: vec![EMPTY; n as usize], round_max: u32::MAX, recent: Recent::new() }
    }

    /// Offers the pairs of a window, as long as one of them could be smaller than the pair of some place.
    fn offer(&mut self, value: u64) {
        if self.recent.knows(value) {
            return;
        }
        let mut round = 0;
        let mut is_changed = false;
        while round <= self.round_max {
            let (place, fraction) = split(word(value, round), self.places.len());
            let pair = Place { round, fraction, value };
            if pair < self.places[place] {
                // The greatest k can have changed only if a place gave up a greater k.
                is_changed |= self.places[place].round > round;
                self.places[place] = pair;
                if is_changed && self.places.iter().all(|place| place.round <= round) {
                    break;
                }
            }
            round += 1;
        }
        if is_changed {
            self.round_max = self.places.iter().map(|place| place.round).max().unwrap_or(0);
        }
    }
}

/// The k-th random word of a value: the value itself, then the words of a generator that starts there.
fn word(value: u64, round: u32) -> u64 {
    round.checked_sub(1).map_or(value, |skipped| SplitMix64::nth(value, skipped.into()))
}

/// The place that a word names, and the rest of the word.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the place is below n, the fraction is the low half")]
fn split(word: u64, n: usize) -> (usize, u64) {
    let product = u128::from(word) * n as u128;
    ((product >> 64) as usize, product as u64)
}

impl Sampler for Sketch {
    type Seen = ();

    fn begin(&self) {}

    #[inline(always)]
    fn see(&mut self, (): &mut (), _: usize, value: u64) {
        if self.round_max > 0 {
            return self.offer(value);
        }
        let (place, fraction) = split(value, self.places.len());
        if fraction < self.places[place].fraction {
            self.places[place] = Place { round: 0, fraction, value };
        }
    }

    fn end(&mut self, (): (), _: u64) {}

    fn finish(&mut self, tagger: &Tagger) -> Vec<Feature> {
        self.round_max = u32::MAX;
        self.recent.clear();
        let mut features = Vec::new();
        for (place, smallest) in (0_u32..).zip(&mut self.places) {
            let smallest = std::mem::replace(smallest, EMPTY);
            if smallest != EMPTY {
                let mut bytes = [0; 12];
                bytes[..4].copy_from_slice(&place.to_le_bytes());
                bytes[4..].copy_from_slice(&smallest.value.to_le_bytes());
                features.push(tagger.feature(&bytes));
            }
        }
        features.sort_unstable();
        features
    }
}
