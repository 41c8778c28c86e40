//! Measures of a link between two contents: exact if features are chunks, else an estimate with its interval.
//!
//! The engine weighs features and knows nothing else. Chunks weigh their bytes. Features of a fair sample (`mod`, `bsw`,
//! `shingle`) weigh 1, so that its ratio of weights estimates the ratio of bytes. Of samples of a fixed size
//! (`min`, `sketch`) and of candidates it finds only the pairs; their measures are stored next to the links.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use cognate_fingerprint::{interval_of_selected, within_tenth};
use cognate_similarity::{Link, Relation, Resemblance, Thresholds};

use crate::coverage::Coverage;
use crate::freeze::FrozenContent;
use crate::link_figures::{Estimate, LinkFigures};
use crate::ratio::Fraction;
use crate::spec::{Comparison, Layer};
use crate::verify::VerifiedPair;

/// Interpretation of the links of a layer.
pub(crate) struct Measures {
    kind: Kind,
    /// By part and whole: many links agree in both.
    precisions: Mutex<HashMap<(u64, u64), Precision>>,
}

/// How close an estimate is to the true resemblance, in ten-thousandths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Precision {
    /// Holds the true resemblance in 95 of 100 cases.
    pub(crate) interval: [i64; 2],
    /// The probability that an estimate from such a sample is within a tenth of such a resemblance.
    pub(crate) within_tenth: i64,
}

enum Kind {
    /// By what the engine weighs: chunks.
    Chunks,
    /// By what the engine weighs: features of a fair sample, which may be all there are.
    Samples(Estimate),
    /// By what was found of each pair, by (a, b).
    Pairs(Vec<VerifiedPair>),
}

impl Measures {
    /// Links that the engine measures by the bytes of chunks.
    pub(crate) fn of_chunks() -> Measures {
        Measures { kind: Kind::Chunks, precisions: Mutex::default() }
    }

    /// Links that the engine measures by the number of features.
    pub(crate) fn of_samples(estimate: Estimate) -> Measures {
        Measures { kind: Kind::Samples(estimate), precisions: Mutex::default() }
    }

    /// Links of which each was compared by itself.
    pub(crate) fn of_pairs(pairs: Vec<VerifiedPair>) -> Measures {
        Measures { kind: Kind::Pairs(pairs), precisions: Mutex::default() }
    }

    /// Source of the overlap.
    pub(crate) fn coverage(&self) -> Coverage {
        match self.kind {
            Kind::Chunks => Coverage::Chunks,
            Kind::Samples(_) => Coverage::Samples,
            Kind::Pairs(_) => Coverage::Links,
        }
    }

    /// Measures of a link between contents that come in the order of their numbers.
    pub(crate) fn of(&self, contents: &[FrozenContent], link: &Link) -> LinkFigures {
        let [a, b] = [link.a, link.b].map(|content| contents[content.0 as usize]);
        match &self.kind {
            Kind::Chunks => by_weights(link.shared_bytes, a, b, None),
            Kind::Samples(estimate) => by_weights(link.shared_bytes, a, b, Some(*estimate)),
            Kind::Pairs(all) => {
                let place = all.binary_search_by_key(&(link.a, link.b), |one| (one.a, one.b));
                let verified = &all[place.expect("every link of such a layer was looked at")];
                verified.measured(a.size_bytes, b.size_bytes)
            }
        }
    }

    /// The resemblance alone, as the engine has it.
    pub(crate) fn resemblance(&self, contents: &[FrozenContent], link: &Link) -> Resemblance {
        let Fraction { part, whole } = self.of(contents, link).resemblance;
        Resemblance { shared: part, union: whole.max(1) }
    }

    /// How close an estimate is; nothing where that is not known.
    pub(crate) fn precision(&self, measured: &LinkFigures) -> Option<Precision> {
        let Fraction { part, whole } = measured.resemblance;
        match measured.estimate {
            Some(Estimate::Sample) if whole > 0 => {}
            Some(Estimate::Whole) => {
                return Some(Precision { interval: [measured.resemblance.rounded(); 2], within_tenth: 10_000 });
            }
            _ => return None,
        }
        let mut known = self.precisions.lock().unwrap_or_else(PoisonError::into_inner);
        let precision = known.entry((part, whole)).or_insert_with(|| Precision {
            interval: interval_of_selected(part, whole).map(rounded),
            within_tenth: rounded(within_tenth(part, whole)),
        });
        Some(*precision)
    }
}

fn by_weights(shared: u64, a: FrozenContent, b: FrozenContent, estimate: Option<Estimate>) -> LinkFigures {
    let Resemblance { shared: part, union: whole } = Resemblance::of(shared, a.weight, b.weight);
    let contained = [a, b].map(|content| Fraction { part: shared, whole: content.weight });
    let shared_bytes = match estimate {
        None => [shared; 2],
        Some(_) => [contained[0].of_bytes(a.size_bytes), contained[1].of_bytes(b.size_bytes)],
    };
    LinkFigures {
        shared_bytes,
        resemblance: Fraction { part, whole },
        contained: Some(contained),
        relation: Relation::of(shared, a.weight, b.weight),
        estimate,
    }
}

/// A share of 0 to 1 in ten-thousandths.
#[expect(clippy::cast_possible_truncation, reason = "a share is 0 to 1")]
pub(crate) fn rounded(share: f64) -> i64 {
    (share * 10_000.0).round() as i64
}

/// The thresholds by which the engine decides what a link is: it weighs chunks by their bytes, and counts the features of samples.
pub(crate) fn engine_thresholds(layer: &Layer, comparison: Comparison) -> Thresholds {
    let thresholds = layer.thresholds;
    let min_shared_bytes = match (comparison, u64::from(layer.method.chunk_bytes())) {
        (Comparison::Samples(_), 0) => u64::MAX,
        (Comparison::Samples(_), bytes) => thresholds.min_shared_bytes.div_ceil(bytes),
        _ => thresholds.min_shared_bytes,
    };
    Thresholds { min_shared_bytes, ..thresholds }
}
