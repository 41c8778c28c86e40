//! The coordinator: takes in what sites push, analyses frozen sets of indexes, and keeps the results.
//!
//! Segments are the record, sled is the small transactional view of them, runs and results are derived. The way of the
//! data: `session` (who is attached) → `ingest` (batches in, acknowledgements out) → `indexes` → `scan` (freeze, analyse)
//! → `result` (one `SQLite` file per scan) → [`report`] (what is read from it). [`find`] searches
//! the indexes for documents that somebody has.
//!
//! This crate never sees the contents of a file.

mod audit;
mod authorize;
pub mod browse;
mod case;
mod coordinator;
mod error;
pub mod explain;
mod failpoint;
pub mod find;
#[cfg(test)]
mod harness;
mod http;
mod identity;
mod index;
mod indexes;
mod ingest;
mod journal;
mod listener;
pub mod maintenance;
mod metrics;
mod operator;
mod pages;
pub mod plan;
pub mod report;
mod result;
mod scan;
mod schedule;
mod segment;
mod server;
mod session;
mod store;
mod template;
mod verdict;
mod watch;
mod webhook;
mod worker_service;

pub use audit::{VerifyError, verify as verify_signed};
pub use cognate_similarity::{Containment, ContainmentError, Thresholds};
pub use coordinator::{Coordinator, CoordinatorConfig, KeepFor};
pub use error::{Error, ErrorKind};
pub(crate) use failpoint::failpoint;
pub use http::{Export, Exported, HttpListener, HttpSettings, HttpTls, PlanForm, Planned};
pub use identity::{Authority, PeerInfo, Refusal, Refusals, addresses, init};
pub use listener::{Listener, Tls};
pub use operator::OperatorSettings;
pub use scan::{AnalysisLimits, AnalysisPhase, Layer, Refine, RepositoryProgress, ScanEnd, ScanProgress, ScanSpec};
pub use server::Peer;
