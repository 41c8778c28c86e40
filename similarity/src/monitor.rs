//! Progress of an analysis, and its cancellation.

use std::sync::atomic::AtomicBool;

/// Lets the caller follow and stop an analysis.
#[derive(Clone, Copy)]
pub struct Monitor<'a> {
    /// Called after each finished piece of work, by the thread that did it.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Set to end the analysis with [`crate::Error::Cancelled`].
    pub cancelled: &'a AtomicBool,
}

/// The phases of an analysis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// Reading shards and counting tags.
    Tags,
    /// Ordering the tags of contents from rare to common.
    Prefixes,
    /// Finding contents that could be linked.
    Components,
    /// Packing these into partitions.
    Partitions,
    /// Finding links, clusters and families.
    Join,
}

/// The progress of an analysis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The phase; phases follow each other in the order of [`Phase`].
    pub phase: Phase,
    /// Finished parts of the phase.
    pub done: u64,
    /// All parts of the phase.
    pub total: u64,
}
