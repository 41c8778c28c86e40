//! The statement of a link about its two contents: exact, or an estimate.

use cognate_similarity::Relation;

use crate::ratio::Fraction;

/// The statement of a link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct LinkFigures {
    /// Bytes in common, counted in the first and in the second: an estimate differs between the two.
    pub(crate) shared_bytes: [u64; 2],
    pub(crate) resemblance: Fraction,
    /// The share of the first in the second, and of the second in the first; none if the method does not measure it.
    pub(crate) contained: Option<[Fraction; 2]>,
    /// The relation of the first to the second.
    pub(crate) relation: Relation,
    /// The base of an estimate; none for an exact statement.
    pub(crate) estimate: Option<Estimate>,
}

/// The base of an estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Estimate {
    /// A sample of what the documents consist of.
    Sample,
    /// All that they consist of: only their bytes are estimated.
    Whole,
    /// Another comparison, of which no error is known.
    Comparison,
}

impl Estimate {
    pub(crate) fn of(whole: bool) -> Estimate {
        if whole { Estimate::Whole } else { Estimate::Sample }
    }
}

impl LinkFigures {
    /// The same statement from the other end.
    pub(crate) fn reversed(self) -> LinkFigures {
        let [of_a, of_b] = self.shared_bytes;
        LinkFigures {
            shared_bytes: [of_b, of_a],
            contained: self.contained.map(|[a_in_b, b_in_a]| [b_in_a, a_in_b]),
            relation: reversed(self.relation),
            ..self
        }
    }
}

/// The relation as it is seen from the other end of a link.
pub(crate) fn reversed(relation: Relation) -> Relation {
    match relation {
        Relation::Contains => Relation::Contained,
        Relation::Contained => Relation::Contains,
        same => same,
    }
}
