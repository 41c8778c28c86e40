//! From two signatures to the likeness of their documents, with the interval that the estimate leaves open.

use crate::algorithm::Algorithm;
use crate::estimate::{Estimate, Likeness};
use crate::method::Method;
use crate::method::levels::{at_level, level_of};
use crate::method::shingle::Sample;
use crate::method::similarity_index::is_hit;
use crate::signature::{Feature, Signature};

impl Method {
    /// The likeness of two documents, from their signatures under this method and one key.
    pub fn likeness(&self, a: &Signature, b: &Signature) -> Likeness {
        match *self.algorithm() {
            Algorithm::Tttd { .. } | Algorithm::BswChunk(_) => by_weights(a, b),
            Algorithm::Mod(sampled) => by_sampled_sets(&a.features, &b.features, sampled.n == 1),
            Algorithm::Bsw(_) => by_sets(&a.features, &b.features, Estimate::dependent),
            Algorithm::Min(sampled) => by_smallest(a, b, sampled.n.into(), true),
            Algorithm::Sketch(sampled) => by_places(&a.features, &b.features, sampled.n.into()),
            Algorithm::Shingle(shingle) => by_shingles(shingle.sample, a, b),
            Algorithm::Fuzzy(_) | Algorithm::Terms => by_collision(&a.features, &b.features),
            Algorithm::SimilarityIndex(_) => by_range(a, b),
        }
    }
}

fn by_shingles(sample: Sample, a: &Signature, b: &Signature) -> Likeness {
    match sample {
        Sample::All => by_sampled_sets(&a.features, &b.features, true),
        Sample::Mod { m } => by_sampled_sets(&a.features, &b.features, m == 1),
        Sample::Min { s } | Sample::MinOfMod { m: 1, s } => by_smallest(a, b, s.into(), true),
        Sample::MinOfMod { s, .. } => by_smallest_of_mod(a, b, s.into()),
        Sample::Levels { s } => {
            let level = level_of(&a.features, s).max(level_of(&b.features, s));
            let (a, b) = (at_level(&a.features, level), at_level(&b.features, level));
            by_sampled_sets(&a, &b, level == 0)
        }
    }
}

/// The sizes of two lists of features, each ascending and without repeats, and of what they have in common.
struct Overlap {
    common: u64,
    a: u64,
    b: u64,
}

impl Overlap {
    fn of(a: &[Feature], b: &[Feature]) -> Overlap {
        let (mut rest, mut common) = (b, 0);
        for feature in a {
            let skipped = rest.iter().take_while(|other| *other < feature).count();
            rest = &rest[skipped..];
            common += u64::from(rest.first() == Some(feature));
        }
        Overlap { common, a: a.len() as u64, b: b.len() as u64 }
    }

    fn union(&self) -> u64 {
        self.a + self.b - self.common
    }
}

/// Samples that hold each window with the same chance, independently of the others (Broder 1997, `MOD_m`); `complete` if they
/// hold all windows.
fn by_sampled_sets(a: &[Feature], b: &[Feature], complete: bool) -> Likeness {
    by_sets(a, b, if complete { Estimate::exact } else { Estimate::binomial })
}

/// Samples that can be compared as sets; `ratio` makes an estimate of the part that agrees and of the whole.
fn by_sets(a: &[Feature], b: &[Feature], ratio: fn(u64, u64) -> Option<Estimate>) -> Likeness {
    let overlap = Overlap::of(a, b);
    Likeness {
        resemblance: ratio(overlap.common, overlap.union()),
        a_in_b: ratio(overlap.common, overlap.a),
        b_in_a: ratio(overlap.common, overlap.b),
        is_candidate: overlap.common > 0,
    }
}

/// Samples of the s smallest windows (Broder 1997, `MIN_s`): of the s smallest of both together, the share that is in both.
/// Lists of fewer than s hold everything, unless they are a sample themselves (`of_all` is false then).
fn by_smallest(a: &Signature, b: &Signature, s: u64, of_all: bool) -> Likeness {
    let overlap = Overlap::of(&a.features, &b.features);
    let is_complete = |signature: &Signature| of_all && (signature.features.len() as u64) < s;
    let resemblance = if is_complete(a) && is_complete(b) {
        // Both samples hold all windows of their documents.
        Estimate::exact(overlap.common, overlap.union())
    } else {
        let mut both: Vec<&Feature> = a.features.iter().chain(&b.features).collect();
        both.sort_unstable_by_key(|feature| feature.order());
        let (mut sample, mut agreeing) = (0, 0);
        let mut rest = both.as_slice();
        while let [first, after @ ..] = rest
            && sample < s
        {
            let is_common = after.first() == Some(first);
            agreeing += u64::from(is_common);
            sample += 1;
            rest = &after[usize::from(is_common)..];
        }
        // The sum of both documents' windows counts the common ones twice.
        let population = a.windows.saturating_add(b.windows).saturating_mul(sample) / (sample + agreeing).max(1);
        Estimate::drawn(agreeing, sample, population)
    };
    Likeness { resemblance, a_in_b: None, b_in_a: None, is_candidate: overlap.common > 0 }
}

/// Samples of the s smallest of one window in m: as [`by_smallest`], but fewer than s are not all windows.
fn by_smallest_of_mod(a: &Signature, b: &Signature, s: u64) -> Likeness {
    let likeness = by_smallest(a, b, s, false);
    let estimated = |estimate: Estimate| Estimate::binomial(estimate.agreeing, estimate.sample);
    Likeness { resemblance: likeness.resemblance.and_then(estimated), ..likeness }
}

/// Sketches of n places (Broder et al. 1998): the share of the places at which the two agree.
fn by_places(a: &[Feature], b: &[Feature], n: u64) -> Likeness {
    let common = Overlap::of(a, b).common;
    let sample = if a.is_empty() || b.is_empty() { 0 } else { n };
    Likeness { resemblance: Estimate::binomial(common, sample), a_in_b: None, b_in_a: None, is_candidate: common > 0 }
}

/// Chunks, with repeats: the bytes in common. They are exact as a lower bound of what the documents share.
fn by_weights(a: &Signature, b: &Signature) -> Likeness {
    let sorted = |signature: &Signature| {
        let mut features = signature.features.clone();
        features.sort_unstable();
        features
    };
    let (a, b) = (sorted(a), sorted(b));
    let mut rest = b.as_slice();
    let mut shared = 0;
    for feature in &a {
        let skipped = rest.iter().take_while(|other| *other < feature).count();
        rest = &rest[skipped..];
        if let [first, after @ ..] = rest
            && first == feature
        {
            shared += u64::from(feature.weight);
            rest = after;
        }
    }
    let bytes = |features: &[Feature]| features.iter().map(|feature| u64::from(feature.weight)).sum::<u64>();
    let (bytes_a, bytes_b) = (bytes(&a), bytes(&b));
    Likeness {
        resemblance: Estimate::exact(shared, bytes_a + bytes_b - shared),
        a_in_b: Estimate::exact(shared, bytes_a),
        b_in_a: Estimate::exact(shared, bytes_b),
        is_candidate: shared > 0,
    }
}

/// Coarse features: one in common makes the pair a candidate.
fn by_collision(a: &[Feature], b: &[Feature]) -> Likeness {
    let is_candidate = Overlap::of(a, b).common > 0;
    Likeness { resemblance: None, a_in_b: None, b_in_a: None, is_candidate }
}

/// Similarity Indexes: the second within 30 % of the first makes the pair a candidate.
fn by_range(a: &Signature, b: &Signature) -> Likeness {
    let is_candidate = matches!((a.index, b.index), (Some(query), Some(other)) if is_hit(query, other));
    Likeness { resemblance: None, a_in_b: None, b_in_a: None, is_candidate }
}

#[cfg(test)]
mod tests;
