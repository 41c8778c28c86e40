//! The messages of the wire and their checks, and the trust between daemons.
//!
//! **It promises** that nothing enters a daemon unchecked: a name, a path or a batch that exists is valid, and every limit of the wire is in
//! [`limits`].
//!
//! **It must not know** storage.
//!
//! Read [`batch`] first. The `.proto` files are the source, from which [`v1`] is generated and committed. [`documents`] has the rows of an index,
//! [`index_digest`] the digest by which both ends see that they hold the same, [`identity`] the certificates, [`invitation`] how a member gets
//! one, [`dial`] how workers and operators connect.

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
#[expect(missing_docs, clippy::all, clippy::doc_markdown, reason = "generated code")]
pub mod v1 {
    include!("generated/cognate.v1.rs");
}

/// The protocol versions that this build speaks, least and greatest.
pub const PROTOCOL: std::ops::RangeInclusive<u32> = 1..=1;
