//! Files that survive a crash.
//!
//! [`log`] is an append-only file of records: after a crash it has all records that were synced, and the rest of a
//! record that was being written is found. [`whole`] is a file that appears under its name only when it is complete:
//! after a crash it has the old or the new content. [`private`] is such a file that only its owner may read. [`closing`] is for
//! things of others that may panic as they are closed. [`failpoint!`] is a point at which tests cause a crash.
//!
//! This crate does not know the content of any file.

pub mod closing;
pub mod failpoint;
pub mod log;
pub mod private;
pub mod whole;
