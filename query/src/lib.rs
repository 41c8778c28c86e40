//! The documents of a query, fingerprinted as lines: what `cognate fingerprint --format ndjson` writes and a find takes.
//!
//! [`Machine`] fingerprints bytes, [`documents_inside`] the text of a document and of those inside it, and [`write_line`] writes a
//! line. The command line uses them natively. Built for `wasm32-unknown-unknown`, the same code runs in the browser of a person
//! who drops files on the page of finds (`browser.rs`; `browser/build` makes the file that the pages serve).
//!
//! This crate does not know files, the wire, or what a find answers.

#[cfg(target_arch = "wasm32")]
pub mod browser;
mod inside;
mod line;
mod machine;

pub use inside::{Found, documents_inside};
pub use line::{Under, write_line};
pub use machine::{Became, FineOfChunks, Machine, Terms, verifier};
