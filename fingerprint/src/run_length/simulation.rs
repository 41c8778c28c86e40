//! Simulates chunkers on two documents that share a run of bytes without repeats.
//!
//! Each document has a history of its own before the run, so that its chunks come into the run at a position of their own;
//! the two must agree on a cut before they have a chunk in common. The seed is fixed and only additions and multiplications
//! are done, so that every machine finds the same numbers.

use crate::run_length::lengths::RunLengths;
use crate::split_mix::SplitMix64;
use crate::tttd::{self, Parameters};

/// The number of trials: the share of 99 % is then right to a fifth of a percent.
const TRIALS: usize = 4096;
/// The greatest length of a run that is followed, in greatest chunks.
const REACH_CHUNKS: i64 = 64;
/// The length of the history before the run, in greatest chunks: after it a chunker has forgotten its start.
const HISTORY_CHUNKS: i64 = 4;
const SEED: u64 = 0x436f_676e_6174_6521;

/// The result of one trial.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Trial {
    /// The length that the run needs so that a common chunk is found.
    pub(super) run_bytes: u64,
    /// The part of it that the two chunkers need until they agree on a cut.
    pub(super) alignment_bytes: u64,
}

impl Trial {
    fn of(run: i64, alone: i64) -> Trial {
        let bytes = |length: i64| u64::try_from(length).unwrap_or(0);
        Trial { run_bytes: bytes(run), alignment_bytes: bytes(run - alone) }
    }
}

/// Simulates [`TRIALS`] runs that two documents share.
pub(super) fn simulate(chunker: &RandomChunker) -> Vec<Trial> {
    let mut rng = SplitMix64::new(SEED);
    (0..TRIALS).map(|_| trial(chunker, &mut rng)).collect()
}

/// The lengths at which 50, 95 and 99 % of the trials find the run.
pub(super) fn quantiles(trials: &[Trial]) -> RunLengths {
    let mut lengths: Vec<u64> = trials.iter().map(|trial| trial.run_bytes).collect();
    lengths.sort_unstable();
    let quantile = |hundredths: usize| lengths.get((lengths.len() * hundredths).div_ceil(100).max(1) - 1).copied();
    RunLengths { p50: quantile(50), p95: quantile(95), p99: quantile(99) }
}

/// Draws two documents with a common run that begins at 0.
fn trial(chunker: &RandomChunker, rng: &mut SplitMix64) -> Trial {
    let (begin, reach) = (-HISTORY_CHUNKS * chunker.max, REACH_CHUNKS * chunker.max.min(64 << 20));
    // A longer run is seldom needed, and costs time.
    let mut end = 8 * chunker.max;
    let own = [chunker.candidates(rng, begin, chunker.window), chunker.candidates(rng, begin, chunker.window)];
    let mut common = chunker.candidates(rng, chunker.window, end);
    loop {
        let [a, b] = own.each_ref().map(|own| chunks(chunker, &[own.as_slice(), &common].concat(), begin, end));
        let alone = a.first().map_or(end, |chunk| chunk.2);
        let in_common = a.iter().find(|chunk| b.binary_search(chunk).is_ok());
        match in_common {
            Some((_, _, known)) => return Trial::of(*known, alone),
            None if end >= reach => return Trial::of(end, alone),
            None => {
                common.extend(chunker.candidates(rng, end, 2 * end));
                end *= 2;
            }
        }
    }
}

/// The complete chunks from 0 on: start, end, and the position up to which the bytes must be known.
fn chunks(chunker: &RandomChunker, candidates: &[(i64, bool)], begin: i64, end: i64) -> Vec<(i64, i64, i64)> {
    let (mut start, mut chunks) = (begin, Vec::new());
    while start + chunker.max < end {
        let (cut, known) = chunker.cut(candidates, start);
        if start >= 0 {
            chunks.push((start, cut, known));
        }
        start = cut;
    }
    chunks
}

/// A chunker whose fingerprints are random numbers.
pub(super) struct RandomChunker {
    /// The number of bytes that a position's fingerprint depends on.
    window: i64,
    min: i64,
    max: i64,
    /// The chance that a position is a candidate for a cut.
    candidate: Chance,
    /// The share of candidates that are a cut at once, in units of 2^-32.
    main: u64,
}

impl RandomChunker {
    /// TTTD with these parameters.
    pub(super) fn tttd(parameters: Parameters) -> RandomChunker {
        let Parameters { chunk_bytes_min, chunk_bytes_max, divisor_main, divisor_backup } = parameters;
        RandomChunker {
            window: i64::try_from(tttd::WINDOW_BYTES).expect("a few bytes"),
            min: chunk_bytes_min.into(),
            max: chunk_bytes_max.into(),
            candidate: Chance::one_in(divisor_backup),
            main: (u64::from(divisor_backup) << 32) / u64::from(divisor_main),
        }
    }

    /// The basic sliding window of `w` bytes with a mean of `n` and a greatest length of `chunk_bytes_max`.
    pub(super) fn windows(w: u32, n: u32, chunk_bytes_max: u32) -> RandomChunker {
        RandomChunker {
            window: w.into(),
            min: 1,
            max: chunk_bytes_max.into(),
            candidate: Chance::one_in(n),
            main: 1 << 32,
        }
    }

    /// The candidates between two positions; the flag is true for a cut at once.
    fn candidates(&self, rng: &mut SplitMix64, from: i64, to: i64) -> Vec<(i64, bool)> {
        let mut candidates = Vec::new();
        let mut place = from;
        loop {
            place += self.candidate.failures(rng);
            if place >= to {
                return candidates;
            }
            candidates.push((place, rng.next() >> 32 < self.main));
            place += 1;
        }
    }

    /// The cut after one at `start`, and the position up to which the bytes must be known for it.
    fn cut(&self, candidates: &[(i64, bool)], start: i64) -> (i64, i64) {
        let (first, last) = (start + self.min, start + self.max);
        let from = candidates.partition_point(|(place, _)| *place < first);
        let within = candidates[from..].iter().take_while(|(place, _)| *place <= last);
        let mut backup = last;
        for (place, is_main) in within {
            if *is_main {
                return (*place, *place);
            }
            backup = *place;
        }
        (backup, last)
    }
}

/// A chance of 1 in some number, as powers of its complement, so that `failures` needs no logarithm.
struct Chance {
    /// The chance of 2^i failures in a row.
    powers: [f64; 40],
}

impl Chance {
    fn one_in(number: u32) -> Chance {
        let mut powers = [0.0; 40];
        let mut power = 1.0 - 1.0 / f64::from(number.max(1));
        for each in &mut powers {
            *each = power;
            power *= power;
        }
        Chance { powers }
    }

    /// Draws the number of failures before the next success.
    fn failures(&self, rng: &mut SplitMix64) -> i64 {
        let chance = unit(rng);
        let (mut failures, mut probability) = (0, 1.0);
        for (step, power) in self.powers.iter().enumerate().rev() {
            if probability * power > chance {
                probability *= power;
                failures += 1_i64 << step;
            }
        }
        failures
    }
}

/// A number above 0 and below 1.
fn unit(rng: &mut SplitMix64) -> f64 {
    let bits = u32::try_from(rng.next() >> 32).expect("32 bits");
    (f64::from(bits) + 0.5) / 4_294_967_296.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_before_a_success_have_the_mean_of_the_chance() {
        for number in [1, 2, 50, 1000] {
            let chance = Chance::one_in(number);
            let mut rng = SplitMix64::new(number.into());
            let total: i64 = (0..20_000).map(|_| chance.failures(&mut rng)).sum();
            let expected = 20_000 * (i64::from(number) - 1);
            // Four standard errors of the mean are about 3 %.
            assert!((total - expected).abs() * 100 <= 3 * expected, "{number} {total}");
        }
    }

    #[test]
    fn a_chunker_cuts_by_both_thresholds_and_both_divisors() {
        let parameters = Parameters { chunk_bytes_min: 10, chunk_bytes_max: 40, divisor_main: 20, divisor_backup: 10 };
        let chunker = RandomChunker::tttd(parameters);
        for (candidates, expected) in [
            (vec![(15, true)], (15, 15)),
            (vec![(9, true), (15, true)], (15, 15)),
            (vec![(10, true)], (10, 10)),
            // A backup is used only once the chunker has looked as far as the greatest length.
            (vec![(15, false)], (15, 40)),
            (vec![(15, false), (30, false), (41, true)], (30, 40)),
            (vec![(15, false), (30, true)], (30, 30)),
            (vec![(40, true)], (40, 40)),
            (vec![(41, true)], (40, 40)),
            (vec![], (40, 40)),
        ] {
            assert_eq!(chunker.cut(&candidates, 0), expected, "{candidates:?}");
        }
    }

    #[test]
    fn trials_are_the_same_every_time_and_a_run_is_longer_than_its_alignment() {
        let chunker = RandomChunker::windows(20, 100, 6400);
        let trials = simulate(&chunker);
        assert_eq!(trials, simulate(&chunker));
        assert!(trials.iter().all(|trial| trial.run_bytes > trial.alignment_bytes));
        let lengths = quantiles(&trials);
        assert!(lengths.p50 < lengths.p95 && lengths.p95 < lengths.p99);
        let shorter = trials.iter().filter(|trial| Some(trial.run_bytes) <= lengths.p95).count();
        assert!(shorter * 100 >= 95 * trials.len() && shorter * 100 <= 96 * trials.len(), "{shorter}");
    }
}
