//! Outcome of the comparison of a pair that the engine only proposed.

use cognate_similarity::{ContentIndex, Relation, Resemblance, Thresholds};

use crate::link_figures::{Estimate, LinkFigures};
use crate::ratio::Fraction;

/// A pair that was looked at by itself, and is a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct VerifiedPair {
    /// The content with the smaller number.
    pub(crate) a: ContentIndex,
    pub(crate) b: ContentIndex,
    pub(crate) found: PairOutcome,
}

/// Outcome of the comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PairOutcome {
    /// Of a sample of both together, how much is in both; it may be all there is.
    Sample { agreeing: u64, sample: u64, whole: bool },
    /// Of two samples that can be compared, how many features each has, and how many both have.
    Sets { common: u64, a: u64, b: u64, whole: bool },
    /// The cosine of the angle between the two, in millionths.
    Cosine(u32),
    /// Bytes of chunks: of both, and of each.
    Chunks { shared: u64, a: u64, b: u64 },
}

impl VerifiedPair {
    /// The outcome for two contents in any order.
    pub(crate) fn of(a: u32, b: u32, found: PairOutcome) -> VerifiedPair {
        let turned = match found {
            PairOutcome::Chunks { shared, a, b } => PairOutcome::Chunks { shared, a: b, b: a },
            PairOutcome::Sets { common, a, b, whole } => PairOutcome::Sets { common, a: b, b: a, whole },
            same => same,
        };
        let (a, b, found) = if a < b { (a, b, found) } else { (b, a, turned) };
        VerifiedPair { a: ContentIndex(a), b: ContentIndex(b), found }
    }

    /// Measures for contents of these sizes.
    pub(crate) fn measured(&self, a_bytes: u64, b_bytes: u64) -> LinkFigures {
        let of = |part, whole| Fraction { part, whole };
        match self.found {
            PairOutcome::Chunks { shared, a, b } => {
                let Resemblance { shared: part, union: whole } = Resemblance::of(shared, a, b);
                LinkFigures {
                    shared_bytes: [shared; 2],
                    resemblance: of(part, whole),
                    contained: Some([of(shared, a), of(shared, b)]),
                    relation: Relation::of(shared, a, b),
                    estimate: None,
                }
            }
            PairOutcome::Sets { common, a, b, whole } => LinkFigures {
                shared_bytes: [of(common, a).of_bytes(a_bytes), of(common, b).of_bytes(b_bytes)],
                resemblance: of(common, a + b - common),
                contained: Some([of(common, a), of(common, b)]),
                relation: Relation::of(common, a, b),
                estimate: Some(Estimate::of(whole)),
            },
            PairOutcome::Sample { agreeing, sample, whole } => {
                alike(of(agreeing, sample), a_bytes, b_bytes, Estimate::of(whole))
            }
            PairOutcome::Cosine(millionths) => {
                alike(of(millionths.into(), 1_000_000), a_bytes, b_bytes, Estimate::Comparison)
            }
        }
    }
}

/// True if the outcome makes the pair a link: by containment, or if that is unknown by
/// resemblance.
pub(crate) fn is_link(measured: &LinkFigures, thresholds: &Thresholds) -> bool {
    let Thresholds { min_shared_bytes, min_containment } = thresholds;
    match measured.contained {
        None => min_containment.is_reached_by(measured.resemblance.part, measured.resemblance.whole),
        Some(both) => {
            both.iter().any(|of| of.part > 0 && min_containment.is_reached_by(of.part, of.whole))
                || measured.shared_bytes.iter().any(|shared| *shared > 0 && shared >= min_shared_bytes)
        }
    }
}

/// Estimate from resemblance alone: r (a + b) / (1 + r) bytes are in both.
fn alike(resemblance: Fraction, a_bytes: u64, b_bytes: u64, estimate: Estimate) -> LinkFigures {
    let Fraction { part, whole } = resemblance;
    let shared = Fraction { part, whole: whole + part }.of_bytes(a_bytes.saturating_add(b_bytes));
    LinkFigures {
        shared_bytes: [shared; 2],
        resemblance,
        contained: None,
        relation: if resemblance.is_near() { Relation::Near } else { Relation::Shares },
        estimate: Some(estimate),
    }
}
