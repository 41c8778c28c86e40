//! The reader of results: the third floor of a coordinator, and the only one that knows the tables of a result file.
//!
//! [`report`] reads the rows of `cognate.report/1` in their order. [`browse`] answers the questions of pages: filtered and
//! sorted lists, one cluster, one document. `join` joins decisions to the clusters that they are about, and [`marks`] shows them. [`plan`] decides which copies
//! could go, and [`explain`] lays two documents next to each other.
//!
//! This crate writes nothing but temporary tables, and knows nothing of sessions, calls, pages, or output formats.

pub mod browse;
mod decided;
mod error;
pub mod explain;
mod join;
pub mod marks;
mod other_verdicts;
pub mod plan;
pub mod plan_preview;
pub mod report;

pub use error::Error;
