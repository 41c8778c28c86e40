//! The reader of results: reports, lists, explanations and plans.
//!
//! **It promises** that every reader counts alike: a report, a page and a plan take their figures from the same rows. It writes nothing but
//! temporary tables.
//!
//! **It must not know** sessions, calls, pages or output formats.
//!
//! Read [`report`] first: the rows of `cognate.report/1` in their order. [`browse`] answers the questions of pages, `join` joins decisions to the
//! clusters that they are about, [`marks`] shows them, [`plan`] decides which copies could go, [`explain`] compares two documents in detail.

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
