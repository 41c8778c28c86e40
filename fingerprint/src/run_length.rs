//! The length that a run of bytes must have so that a method finds it in two documents that share it.
//!
//! **Methods that cut** find a run if it covers at least one chunk that both documents have. The cuts of a document depend on
//! the bytes around the run, so two chunkers that come from different bytes must first agree on a cut; then comes a complete
//! chunk. If fingerprints behave like random numbers, a position is a cut or a candidate for one by chance, and in both
//! documents alike as soon as its window is inside the run. [`Runs::of`] simulates that: two documents with histories of their
//! own and one common run, and the end of the first common chunk in it. A chunk that ends at a backup counts only if the run
//! reaches as far as the chunker looked for a better cut. [`Runs::of`] so speaks of bytes without repeats;
//! [`Runs::observed`] speaks of given documents: for positions spread evenly over them, the distance to the end of the first
//! complete chunk after the position by their own chunks, and the bytes for agreeing on a cut from one of the trials.
//!
//! **Methods that sample** (`mod`, `shingle` with MOD) find a run if they keep one of its windows: each of `L - w + 1` windows
//! is in the signature with a chance of 1 in n. **Methods whose signatures have a fixed size** find documents that are alike, not runs:
//! there is no such length.

mod lengths;
mod positions;
mod simulation;

pub use lengths::RunLengths;

use crate::algorithm::Algorithm;
use crate::method::Method;
use crate::method::bsw_chunk;
use crate::method::shingle::Sample;
use crate::run_length::positions::Positions;
use crate::run_length::simulation::{RandomChunker, quantiles, simulate};
use crate::tttd::Parameters;

/// The greatest number of positions of given documents that are examined.
const POSITIONS_MAX: u64 = 1 << 14;

/// The shared runs that a method finds.
#[derive(Clone, Debug)]
pub struct Runs {
    lengths: RunLengths,
    /// The bytes until two chunkers agreed on a cut, by trial; empty if the method does not cut.
    alignments: Vec<u64>,
}

impl Runs {
    /// The runs without repeats that a method finds; `None` if there is no such length.
    pub fn of(method: &Method) -> Option<Runs> {
        match *method.algorithm() {
            Algorithm::Tttd { chunk_bytes } => {
                Some(Runs::simulated(&RandomChunker::tttd(Parameters::for_mean(chunk_bytes))))
            }
            Algorithm::BswChunk(sampled) => {
                let longest = bsw_chunk::chunk_bytes_max(sampled.n);
                Some(Runs::simulated(&RandomChunker::windows(sampled.w, sampled.n, longest)))
            }
            // A run has no greatest length; hardly any is longer than 64 means.
            Algorithm::Bsw(sampled) => {
                let longest = sampled.n.saturating_mul(64);
                Some(Runs::simulated(&RandomChunker::windows(sampled.w, sampled.n, longest)))
            }
            Algorithm::Mod(sampled) => Some(Runs::sampled(sampled.n, sampled.w, 1)),
            Algorithm::Shingle(shingle) => {
                let one_in = match shingle.sample {
                    Sample::Mod { m } => m,
                    Sample::All => 1,
                    Sample::Min { .. } | Sample::MinOfMod { .. } | Sample::Levels { .. } => return None,
                };
                Some(Runs::sampled(one_in, shingle.w, shingle.tokens.mean_bytes()))
            }
            Algorithm::Min(_)
            | Algorithm::Sketch(_)
            | Algorithm::Fuzzy(_)
            | Algorithm::SimilarityIndex(_)
            | Algorithm::Terms => None,
        }
    }

    fn simulated(chunker: &RandomChunker) -> Runs {
        let trials = simulate(chunker);
        let alignments = trials.iter().map(|trial| trial.alignment_bytes).collect();
        Runs { lengths: quantiles(&trials), alignments }
    }

    /// One window of `w` units in `one_in` is in the signature; a unit has `unit_bytes`.
    fn sampled(one_in: u32, w: u32, unit_bytes: u64) -> Runs {
        let length = |p| Some((u64::from(w) - 1 + draws_until(one_in, p)) * unit_bytes);
        Runs { lengths: RunLengths::each(length), alignments: Vec::new() }
    }

    /// The lengths for bytes without repeats.
    pub fn lengths(&self) -> RunLengths {
        self.lengths
    }

    /// The lengths for runs of given documents, each given as the lengths of its chunks in order; those for bytes without
    /// repeats if the method does not cut.
    pub fn observed<'a>(&self, documents: impl Iterator<Item = &'a [u32]> + Clone) -> RunLengths {
        if self.alignments.is_empty() {
            return self.lengths;
        }
        let sizes = documents.clone().map(|lengths| lengths.iter().copied().map(u64::from).sum::<u64>());
        let mut positions = Positions::every(sizes.sum::<u64>().div_ceil(POSITIONS_MAX).max(1));
        documents.for_each(|lengths| positions.add(lengths, &self.alignments));
        positions.lengths()
    }
}

/// The number of draws, each successful with a chance of 1 in `one_in`, after which one has succeeded with probability `p`.
fn draws_until(one_in: u32, p: f64) -> u64 {
    let missed = 1.0 - 1.0 / f64::from(one_in.max(1));
    let (mut draws, mut none) = (0, 1.0);
    while none > 1.0 - p {
        none *= missed;
        draws += 1;
    }
    draws
}

#[cfg(test)]
mod tests;
