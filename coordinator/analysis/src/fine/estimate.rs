//! An estimate of what two places have in common.

/// An estimate of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct EstimatedBytes {
    pub(crate) bytes: u64,
    /// The distance to the truth that is to be expected, either way: two standard errors of the sample, all that short runs and the ends of
    /// runs count for, and what fine chunks of the other place that are not known may show.
    pub(crate) error_bytes: u64,
}

impl EstimatedBytes {
    /// Both together.
    pub(crate) fn plus(self, other: EstimatedBytes) -> EstimatedBytes {
        EstimatedBytes {
            bytes: self.bytes + other.bytes,
            error_bytes: self.error_bytes.saturating_add(other.error_bytes),
        }
    }
}
