//! The analysis of a scan, from frozen indexes to a result file: the second floor of a coordinator.
//!
//! The way of the data: `freeze` (documents and contents, numbered) → `compare` (links and clusters, by the engine) or
//! `propose` and `verify` (methods whose features do not add up) → `alignment` (folders at different paths) → `findings`
//! (status, partner, folders, coverage) → `result` (one `SQLite` file). `analyser` carries the steps out and survives interruption: `checkpoint` keeps what
//! the next attempt or scan can begin with. [`suggest`] proposes templates by leaving tags out and comparing again.
//!
//! This crate knows nothing of sites' sessions, the wire's calls, people, or readers of results.

pub mod alignment;
pub mod analyser;
mod by_tag;
mod checkpoint;
mod clusters;
mod compare;
mod copies;
mod coverage;
mod crowds;
pub mod disjoint_sets;
mod error;
mod findings;
pub mod fine;
mod folders;
mod freeze;
mod histogram;
mod joined;
mod kinds;
mod layered;
mod manifests;
mod measure;
mod measured;
mod numbered;
mod pairs;
mod part;
mod propose;
pub mod published;
mod ratio;
mod readings;
pub mod refine;
pub mod result;
pub mod second;
mod set_aside;
pub mod spark;
pub mod spec;
mod subject;
pub mod suggest;
#[cfg(test)]
mod test_support;
mod threads;
mod verify;
mod versions;

pub use analyser::Analyser;
pub use error::Error;
pub use histogram::BUCKETS as HISTOGRAM_BUCKETS;
pub use ratio::ten_thousandths;
pub use spec::AnalysisLimits;
