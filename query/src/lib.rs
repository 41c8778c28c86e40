//! The documents of a query, fingerprinted as lines: what `cognate fingerprint --format ndjson` writes and a find takes.
//!
//! **It promises** the same lines on the command line and in a browser: built for `wasm32-unknown-unknown`, this code runs on the page of finds
//! (`browser.rs`).
//!
//! **It must not know** files, the wire, or what a find answers.
//!
//! Read [`Machine`] first, which fingerprints bytes, then [`documents_inside`] (the text of a document and of those inside it) and [`write_line`].

#[cfg(target_arch = "wasm32")]
pub mod browser;
mod inside;
mod line;
mod machine;

pub use inside::{Found, documents_inside};
pub use line::{Under, write_line};
pub use machine::{Became, FineOfChunks, Machine, Terms, verifier};
