//! Floor 4: the only way out of this site. Every message is written to the send log before it is sent.
//!
//! - [`send_log`]: the ledger of the site, or the file of a dry run ([`dry_run_file`]).
//! - [`outgoing`]: one stream of messages.
//! - [`connection`]: the calls of the coordinator.
//! - [`push`]: one push of an index, with its window and its acknowledgements.
//! - [`window`]: the bytes of a push that may be under way.
//! - [`padding`]: zeros that hide the size of a message.
//! - [`backoff`]: the waits between attempts.

pub(crate) mod backoff;
pub(crate) mod connection;
pub(crate) mod dry_run_file;
mod fine_upload;
#[cfg(test)]
mod interleavings;
pub(crate) mod outgoing;
mod padding;
pub(crate) mod push;
pub(crate) mod send_log;
#[cfg(test)]
mod tests;
mod window;

/// The credit of `window`.
mod sync {
    pub(super) use std::sync::Arc;
    pub(super) use std::sync::atomic::{AtomicU64, Ordering};
}
