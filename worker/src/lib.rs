//! The worker of a site: lists what changed, fingerprints it, and sends only metadata to the coordinator.
//!
//! **It promises** that the send log has every message before it is sent, that only what the policy allows leaves, and that a document that fails
//! is counted and reported and never ends a sync.
//!
//! **It must not know** how similarity is computed.
//!
//! Read `sync/syncs.rs` first. The `mod` lines have the order of the floors, from the ground up: the record of what leaves and rules for all →
//! files on this site's disk → from a folder to fingerprints → the plan → sending → sync → session → daemon. A module imports only its own floor
//! and those below.

#[cfg(test)]
mod fuzz;
mod off_tasks;
mod random;

mod error;
pub mod ledger;
mod pace;
pub mod policy;

mod records;
pub mod state;

mod documents;

mod plan;

pub mod enrolment;
mod sending;

mod sync;

mod config;
pub mod dry_run;
mod session;

pub mod control;
mod daemon;

pub use config::{Presence, SiteConfig};
pub use daemon::dialer::{DialFuture, Dialer};
pub use daemon::run::{DaemonConfig, run_daemon};
pub use documents::extraction::Extraction;
pub use error::{SiteError, SyncError};
pub use sending::connection::Connection;
pub use session::attach::run;
pub use session::site::Site;
pub use session::status::{IndexStatus, RunningSync, SessionStatus, SiteStatus, UnreadableDocument, saved_status};
pub use sync::job::Counters;

pub(crate) use cognate_durable::failpoint;
