//! Limits of the cost of one document.

use std::time::Duration;

/// Limits of one document with all its members. Parts that exceed them are left out, and the outcome gives the reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of the output of all decompression together at most.
    pub expanded_bytes_max: u64,
    /// Size of a member at most, in multiples of its compressed size (beyond its first megabyte).
    pub ratio_max: u32,
    /// Documents that it may contain, all depths together.
    pub members_max: u32,
    /// Depth of archives within archives.
    pub depth_max: u32,
    /// Bytes of text that one part may have.
    pub text_bytes_max: u64,
    /// Processor time of its extraction.
    pub time_max: Duration,
    /// Memory of the process that reads it.
    pub memory_bytes_max: u64,
    /// Pictures of pages that it may hand over for their text to be recognised; 0: such pages are counted alone.
    pub picture_pages_max: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            expanded_bytes_max: 4 << 30,
            ratio_max: 200,
            members_max: 100_000,
            depth_max: 8,
            text_bytes_max: 1 << 30,
            time_max: Duration::from_secs(60),
            memory_bytes_max: 448 << 20,
            picture_pages_max: 0,
        }
    }
}
