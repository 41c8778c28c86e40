//! Durable storage of a coordinator: the bottom floor.
//!
//! The *journal* (members, scans, schedules, templates, verdicts) and the *segments* (batches that sites sent) are the
//! record. The *store* is a small transactional view of both; the sorted *runs* of postings are derived from segments.
//! Whatever is not a record can be deleted and costs time.
//!
//! The modules, from the ground up: [`journal`] and [`segment`] (append-only files) → [`store`] (rows in sled) →
//! [`indexes`] (what a site sent, as segments, runs and rows together) → [`maintenance`] (open, check, back up,
//! rebuild, forget). This crate knows nothing of scans' steps, results, sessions, or the wire.

pub mod clock;
mod error;
#[cfg(test)]
mod fuzz;
#[cfg(any(test, feature = "harness"))]
pub mod harness;
mod index;
pub mod indexes;
pub mod journal;
pub mod maintenance;
mod rows;
pub mod sample;
pub mod segment;
pub mod store;
pub mod template;
pub mod verdict;

pub use cognate_durable::failpoint;
pub use error::{Error, ErrorKind, engine_kind};
pub use index::{Contents, Index, IndexedContent};
