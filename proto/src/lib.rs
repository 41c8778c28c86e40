//! What crosses the wire, and the one place where trust is established: nothing enters either daemon unchecked.
//!
//! The `.proto` files are the source, [`v1`] is generated from them and committed. Beside it stand the types that the
//! daemons work with: names and paths that exist only if they are valid ([`name`], [`path`]), batches that are checked
//! as they are taken apart ([`batch`]), the root by which two sides see that they hold the same ([`root`]), and every
//! limit of the wire in one file ([`limits`]).
//!
//! Who is at the other end is known from certificates ([`identity`]), which are had for an invitation ([`invitation`]);
//! workers and operators reach the coordinator in the same way ([`dial`]).
//!
//! This crate knows nothing of storage.

pub mod batch;
pub mod dial;
pub mod file_hash;
pub mod identity;
pub mod invitation;
pub mod limits;
pub mod name;
pub mod path;
pub mod root;
pub mod scope;
pub mod selection;
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
