//! The site's side: find what changed, fingerprint it, and send only the metadata.
//!
//! [`run`] attaches to a coordinator and carries out its assignments; `sync` is one of them, start to end: walk, ask the
//! cache what is unchanged, read and fingerprint the rest on a bounded pool, and push batches whose acknowledgements mean
//! that they are durable. A bad file is a fact to count and to report, never a reason to stop.
//!
//! This crate knows nothing of how similarity is found.

mod attach;
mod cache;
mod census;
mod document;
mod error;
mod lists;
mod outbox;
mod push;
mod root;
mod stamp;
mod sync;
mod walk;

pub use attach::run;
pub use error::{SiteError, SyncError};
pub use sync::{Counters, Site, SiteConfig};
