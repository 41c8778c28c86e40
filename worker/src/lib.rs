//! The worker of a site: lists what changed, fingerprints it, and sends only metadata to the coordinator.
//!
//! The crate is built in floors. A module imports only modules of its own floor and of the floors below it, and no modules
//! import each other in a circle. The `mod` lines have the order of the floors, from the ground up:
//!
//! | floor | modules | purpose |
//! |---|---|---|
//! | 7 daemon | `daemon`, `control` | connects again and again, schedules, answers requests on this machine |
//! | 6 session | `session`, `config`, `dry_run` | a site with its services; one session with the coordinator |
//! | 5 sync | `sync` | executes the plan: walk, readers, collector |
//! | 4 sending | `sending`, `enrolment` | the only way out: send log, connection, push |
//! | 3 plan | `plan` | pure decisions: read, send again, keep, remove |
//! | 2 documents | `documents` | from a folder to fingerprints |
//! | 1 records | `records`, `state` | files on this site's own disk |
//! | 0 ground | `ledger`, `error`, `policy`, `pace` | the record of what leaves, and rules for all floors |
//!
//! A session receives an assignment; a sync reads documents as the plan decides; the send log records every message before
//! it is sent; the coordinator acknowledges what is durable. A failure of a document is counted and reported, and never ends
//! a sync. This crate does not know how similarity is computed.

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
