//! The messages of the wire and their checks, and the trust between daemons: nothing enters either of them unchecked.
//!
//! The `.proto` files are the source, [`v1`] is generated from them and committed. Next to it are the types that the
//! daemons work with: names and paths that exist only if they are valid ([`name`], [`path`]), batches that are checked
//! as they are taken apart ([`batch`]), the documents of an index ([`documents`]) and the digest by which both ends see that they hold
//! the same ([`index_digest`]), and every limit of the wire in one file ([`limits`]).
//!
//! Certificates identify the peer ([`identity`]); a member gets one for an invitation ([`invitation`]). Workers and
//! operators connect to the coordinator in the same way ([`dial`]).
//!
//! This crate knows nothing of storage.

pub mod batch;
pub mod calls;
pub mod clock_times;
pub mod dial;
pub mod documents;
pub mod file_hash;
pub mod fine;
pub mod identity;
pub mod index_digest;
pub mod invitation;
pub mod limits;
pub mod measure;
pub mod name;
pub mod options;
pub mod path;
pub mod scope;
pub mod selection;
pub mod shown;
pub mod spec;

/// The messages and services, generated from `proto/cognate/v1/worker.proto`.
#[expect(
    missing_docs,
    clippy::all,
    clippy::doc_markdown,
    clippy::allow_attributes_without_reason,
    reason = "generated code"
)]
pub mod v1 {
    include!("generated/cognate.v1.rs");
}

/// The protocol versions that this build speaks, least and greatest.
pub const PROTOCOL: std::ops::RangeInclusive<u32> = 1..=1;
