//! Floor 4: the only way out of this site. Every message is written to the send log before it is sent.
//!
//! - [`send_log`]: the ledger of the site, or the file of a dry run ([`dry_run_file`]).
//! - [`outgoing`]: one stream of messages.
//! - [`connection`]: the calls of the coordinator.
//! - [`push`]: one push of an index, with its window and its acknowledgements.
//! - [`backoff`]: the waits between attempts.

pub(crate) mod backoff;
pub(crate) mod connection;
pub(crate) mod dry_run_file;
pub(crate) mod outgoing;
pub(crate) mod push;
pub(crate) mod send_log;
