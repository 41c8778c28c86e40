//! Durable storage of a coordinator.
//!
//! **It promises** that the *journal* (members, scans, schedules, templates, verdicts) and the *segments* (batches that sites sent) survive a
//! crash, and that damage is found and named. The *store* is a view of both, and the *runs* of postings are derived from segments: both can be
//! deleted and cost time.
//!
//! **It must not know** the steps of a scan, results, sessions, or the wire. sled is named here and in the worker's cache alone.
//!
//! Read [`journal`] first, then from the ground up: [`segment`] (append-only files) → [`store`] (rows) → [`indexes`] (segments, runs and rows of
//! what a site sent) → [`maintenance`] (open, check, back up, rebuild, forget).

pub mod clock;
pub mod disk;
mod error;
#[cfg(test)]
mod fuzz;
#[cfg(any(test, feature = "harness"))]
pub mod harness;
mod index;
pub mod indexes;
pub mod journal;
pub mod maintenance;
pub mod records;
mod rows;
pub mod sample;
pub mod segment;
pub mod store;
pub mod template;
pub mod verdict;

pub use cognate_durable::failpoint;
pub use error::{Error, ErrorKind, engine_kind};
pub use index::{Contents, Index, IndexedContent};
