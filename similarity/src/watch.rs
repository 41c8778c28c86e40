//! How an analysis is followed and stopped from outside.

use std::sync::atomic::AtomicBool;

/// How the caller follows and stops an analysis.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Told about each finished piece of work, from whichever thread did it.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Set to end the analysis with [`crate::Error::Cancelled`].
    pub cancelled: &'a AtomicBool,
}

/// What an analysis is doing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// Reading shards and counting tags.
    Tags,
    /// Ordering the tags of contents from rare to common.
    Prefixes,
    /// Finding which contents could be linked.
    Components,
    /// Sharing out what could be linked.
    Partitions,
    /// Finding links, clusters and families.
    Join,
}

/// How far an analysis has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The phase; phases follow each other in the order of [`Phase`].
    pub phase: Phase,
    /// Finished parts of the phase.
    pub done: u64,
    /// All parts of the phase.
    pub total: u64,
}
