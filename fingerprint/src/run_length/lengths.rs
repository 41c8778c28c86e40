//! The lengths of shared runs that a method finds with a given probability.

/// The lengths of shared runs, in bytes, that are found with a probability of 50, 95 and 99 %. `None` if no run that fits
/// into the documents is found so often.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RunLengths {
    /// One run in two is found.
    pub p50: Option<u64>,
    /// One run in twenty is missed.
    pub p95: Option<u64>,
    /// One run in a hundred is missed.
    pub p99: Option<u64>,
}

impl RunLengths {
    /// The length for each of the three shares.
    pub(super) fn each(mut length: impl FnMut(f64) -> Option<u64>) -> RunLengths {
        RunLengths { p50: length(0.5), p95: length(0.95), p99: length(0.99) }
    }
}
