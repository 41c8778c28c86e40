//! The analysis of a scan, from frozen indexes to a result file.
//!
//! **It promises** the same result for the same frozen set and options, to the byte, whether a scan ran through, was interrupted, or began with
//! what an earlier one found. Memory stays within the budget.
//!
//! **It must not know** sessions, tasks, the calls of the wire, people, or readers of results.
//!
//! Read `layer` first, which has the steps of one view in order: `freeze` (numbered documents and contents) → `compare` (links and clusters, by
//! the engine; [`fine`] measures them again) or `propose` and `verify` (methods that only propose pairs) → [`alignment`] → `findings` →
//! [`mod@result`] (the file). [`analyser`] survives interruption: `checkpoint` keeps what the next attempt or scan can begin with.
//! [`suggest`] proposes templates: it leaves tags out and compares again.

pub mod alignment;
pub mod analyser;
mod by_tag;
mod checkpoint;
mod cluster_joins;
mod clusters;
mod compare;
mod content_numbers;
mod copies;
mod coverage;
mod crowds;
pub mod disjoint_sets;
mod earlier_scans;
mod error;
mod findings;
pub mod fine;
mod folders;
mod freeze;
mod histogram;
mod kinds;
mod label_reach;
mod layer;
mod layer_result;
mod link_figures;
mod manifests;
mod measure;
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
mod undecided;
mod verify;
mod versions;

pub use analyser::Analyser;
pub use error::Error;
pub use histogram::BUCKETS as HISTOGRAM_BUCKETS;
pub use spec::AnalysisLimits;
