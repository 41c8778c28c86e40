//! The site's side: find what changed, fingerprint it, and send only the metadata.
//!
//! [`run`] attaches to a coordinator and carries out its assignments; `sync` is one of them, start to end: walk, ask the
//! cache what is unchanged, read and fingerprint the rest on a bounded pool, and push batches whose acknowledgements mean
//! that they are durable. A bad file is a fact to count and to report, never a reason to stop.
//!
//! This crate knows nothing of how similarity is found.

mod attach;
mod backoff;
mod board;
mod cache;
mod census;
mod compaction;
pub mod control;
mod daemon;
mod document;
pub mod enrolment;
mod error;
mod estimate;
mod extraction;
mod failpoint;
mod file_hash;
pub mod ledger;
mod lists;
mod numbered;
mod outbox;
mod outgoing;
mod pace;
pub mod policy;
mod push;
mod refine;
pub mod rehearsal;
mod root;
mod site;
mod stamp;
pub mod state;
mod sync;
mod texts;
mod walk;

pub use attach::run;
pub use board::{Doing, Done, SessionStatus, Status, Unreadable, left_behind};
pub use daemon::{DaemonConfig, Dialer, Dialling, run_daemon};
pub use error::{SiteError, SyncError};
pub use extraction::Extraction;
pub use outgoing::Uplink;
pub use site::{Presence, Site, SiteConfig};
pub use sync::Counters;

pub(crate) use failpoint::failpoint;
