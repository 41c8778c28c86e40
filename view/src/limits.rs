//! How much one document may cost.

use std::time::Duration;

/// How much one document may cost, all that it holds included. What goes beyond is left out, and the document says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How many bytes all decompression together may give.
    pub expanded_bytes_max: u64,
    /// How many times its compressed size a member may become (beyond its first megabyte).
    pub ratio_max: u32,
    /// How many documents it may hold, all depths together.
    pub members_max: u32,
    /// How deep archives may lie in archives.
    pub depth_max: u32,
    /// How much text one part may have.
    pub text_bytes_max: u64,
    /// How long it may take.
    pub time_max: Duration,
    /// How much memory the process that does it may take.
    pub memory_bytes_max: u64,
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
        }
    }
}
