//! Links between contents.

use crate::ratio::Ratio;
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
        pub resemblance: Option<Ratio>,
        /// The share of the first that is in the second; none if the method does not measure it.
        pub a_in_b: Option<Ratio>,
        /// The share of the second that is in the first.
        pub b_in_a: Option<Ratio>,
        /// Whether the measures are estimates.
        pub estimated: bool,
        /// Of a sample: the lower end of the interval that holds the true resemblance in 95 of 100 cases.
        pub low: Option<Ratio>,
        /// The upper end of that interval.
        pub high: Option<Ratio>,
        /// Of a sample: the probability that an estimate from it is within a tenth of this resemblance.
        pub within_tenth: Option<Ratio>,
        /// Bytes shared outside of frames; none where no frame is part of it.
        pub outside_bytes: Option<u64>,
        /// Whether it would be no link without its frames.
        pub on_frame: bool,
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
