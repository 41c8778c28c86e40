//! The foundation of the tests of the complete system: a sandbox for real processes, folders made from a seed, a brute-force twin of the
//! comparison, the canonical form of JSON.
//!
//! **It promises** that what a test expects is computed a second time, from the definitions.
//!
//! **It must not know** the product's own crates: it runs programs and reads what they write.
//!
//! Read [`sandbox`] first, then `tests/it/main.rs`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

pub mod advisories;
pub mod binary;
pub mod browser;
pub mod browser_sources;
pub mod brute_force;
pub mod campaign;
pub mod canonical;
pub mod clock;
pub mod deadline;
pub mod dice;
pub mod federation;
pub mod invitation;
mod metrics;
pub mod proxy;
pub mod rows;
pub mod sandbox;
pub mod soak;
pub mod tree;

use std::io::Write as _;

pub use browser::Browser;
pub use brute_force::{Corpus, Rules};
pub use dice::Dice;
pub use federation::Federation;
pub use sandbox::{Run, Running, Sandbox};
pub use tree::Files;

/// Says where everybody sees it, though the test succeeds, that something was not checked. `.ci/run` counts these lines, and
/// fails for them where everything can be installed.
pub fn not_checked(what: &str) {
    let _ = writeln!(std::io::stderr(), "\nNOT CHECKED: {what}\n");
}
