//! The server of a coordinator: identity, sessions, ingest, scans, and the calls of workers and operators.
//!
//! **It promises** that nothing is acknowledged before it is durable, that every call is checked against one table of permissions, and that
//! no peer, however slow, stops the others.
//!
//! **It must not know** the contents of a file, or pages.
//!
//! Read [`authorize`] first, then `scan`. The path of the data: `session` (attached sites) → `ingest` (batches in, acknowledgements out) → `scan`
//! (sync, freeze, analyse, publish) → [`operator`] (the calls of people). Each service has the handles that it uses; [`Services`] lists them, and
//! only [`Coordinator`] builds them.

mod agreement;
mod audit;
pub mod authorize;
mod caller;
mod connection;
mod coordinator;
mod error;
mod find;
#[cfg(any(test, feature = "harness"))]
pub mod harness;
mod health;
pub mod identity;
mod ingest;
mod listener;
pub mod logins;
mod metrics;
pub mod operator;
pub mod places;
mod removal;
mod scan;
mod schedule;
mod server;
mod services;
mod session;
mod silence;
mod storing;
pub mod streams;
mod tasks;
mod template;
mod tls;
mod watching;
mod webhook;
mod worker_service;

pub use audit::{VerifyError, verify as verify_signed};
pub use cognate_analysis::AnalysisLimits;
pub use connection::Connection;
pub use coordinator::{Coordinator, CoordinatorConfig};
pub use error::Error;
pub use identity::{Authority, First, PeerInfo, Refusal, Refusals, init};
pub use listener::{Listener, next_connection};
pub use operator::{OperatorService, OperatorSettings};
pub use removal::KeepFor;
pub use scan::{RepositoryProgress, ScanEnd, ScanProgress};
pub use server::Peer;
pub use services::Services;
pub use tls::Tls;
