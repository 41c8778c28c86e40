//! Links between contents.

use crate::record::{Word, record};

record! {
    /// A link of two contents. The first is the one whose first document comes first.
    pub struct Link in "link" {
        /// The cluster.
        pub cluster: i64 = "REFERENCES cluster",
        /// The first content.
        pub a: i64 = "REFERENCES content",
        /// The second content.
        pub b: i64 = "REFERENCES content",
        /// Of a, where it is an estimate.
        pub shared_bytes: u64,
        /// Of a to b.
        pub relation: Word,
        /// Shared bytes by bytes of both; none if the method does not measure it.
        pub resemblance: Option<i64>,
        /// The share of the first that is in the second; none if the method does not measure it.
        pub a_in_b: Option<i64>,
        /// The share of the second that is in the first.
        pub b_in_a: Option<i64>,
        /// Whether the measures are estimates.
        pub estimated: bool,
        /// Of a sample: the lower end of the interval that holds the true resemblance in 95 of 100 cases.
        pub low: Option<i64>,
        /// The upper end of that interval.
        pub high: Option<i64>,
        /// Of a sample: the probability that an estimate from it is within a tenth of this resemblance.
        pub within_tenth: Option<i64>,
        /// Bytes shared outside of frames; none where no frame is part of it.
        pub outside_bytes: Option<u64>,
        /// Whether it would be no link without its frames.
        pub on_frame: bool,
    }
}

impl Link {
    /// The link between the places that a list gives its contents, from the one that comes first there; nothing if one of them has no place.
    pub fn placed(self, place: impl Fn(i64) -> Option<usize>) -> Option<([usize; 2], Link)> {
        let (a, b) = (place(self.a)?, place(self.b)?);
        Some(if a < b { ([a, b], self) } else { ([b, a], self.reversed()) })
    }

    /// The same link from its second content.
    pub fn reversed(self) -> Link {
        let relation = reversed(&self.relation).to_owned().into();
        Link { a: self.b, b: self.a, a_in_b: self.b_in_a, b_in_a: self.a_in_b, relation, ..self }
    }
}

/// The relation of the second of two documents to the first, where this is that of the first to the second.
pub fn reversed(relation: &str) -> &str {
    match relation {
        "contains" => "contained",
        "contained" => "contains",
        same => same,
    }
}
