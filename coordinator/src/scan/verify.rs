//! What was found of a pair that the engine only proposed.

#![expect(dead_code, reason = "methods that propose pairs come next")]

use cognate_similarity::{ContentIndex, Relation, Resemblance};

use super::measure::{Fraction, Measured};

/// A pair that was looked at by itself, and is a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Verified {
    /// The content with the smaller number.
    pub(crate) a: ContentIndex,
    pub(crate) b: ContentIndex,
    pub(crate) found: Found,
}

/// What was found of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// Of a sample of both together, how much is in both.
    Sample { agreeing: u64, sample: u64 },
    /// Of two samples that can be compared, how many features each has, and how many both have.
    Sets { common: u64, a: u64, b: u64 },
    /// The cosine of the angle between the two, in millionths.
    Cosine(u32),
    /// Bytes of chunks: of both, and of each.
    Chunks { shared: u64, a: u64, b: u64 },
}

impl Verified {
    /// What it says of contents of these sizes.
    pub(super) fn measured(&self, a_bytes: u64, b_bytes: u64) -> Measured {
        let of = |part, whole| Fraction { part, whole };
        match self.found {
            Found::Chunks { shared, a, b } => {
                let Resemblance { shared: part, union: whole } = Resemblance::of(shared, a, b);
                Measured {
                    shared_bytes: [shared; 2],
                    resemblance: of(part, whole),
                    contained: Some([of(shared, a), of(shared, b)]),
                    relation: Relation::of(shared, a, b),
                    is_estimated: false,
                    is_sample: false,
                }
            }
            Found::Sets { common, a, b } => Measured {
                shared_bytes: [of(common, a).of_bytes(a_bytes), of(common, b).of_bytes(b_bytes)],
                resemblance: of(common, a + b - common),
                contained: Some([of(common, a), of(common, b)]),
                relation: Relation::of(common, a, b),
                is_estimated: true,
                is_sample: true,
            },
            Found::Sample { agreeing, sample } => alike(of(agreeing, sample), a_bytes, b_bytes, true),
            Found::Cosine(millionths) => alike(of(millionths.into(), 1_000_000), a_bytes, b_bytes, false),
        }
    }
}

/// Where it is only known how alike two contents are: r (a + b) / (1 + r) bytes are in both.
fn alike(resemblance: Fraction, a_bytes: u64, b_bytes: u64, is_sample: bool) -> Measured {
    let Fraction { part, whole } = resemblance;
    let shared = Fraction { part, whole: whole + part }.of_bytes(a_bytes.saturating_add(b_bytes));
    Measured {
        shared_bytes: [shared; 2],
        resemblance,
        contained: None,
        relation: if resemblance.is_near() { Relation::Near } else { Relation::Shares },
        is_estimated: true,
        is_sample,
    }
}
