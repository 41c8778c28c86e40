//! The complete system as a user runs it: real processes on real folders. One test binary, since each costs a link.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod align;
mod audit;
mod compare;
mod deploy;
mod determinism;
mod disk;
mod documents;
mod doors;
mod evaluate;
mod explain;
mod exports;
mod faults;
mod federation;
mod find;
mod find_fine;
mod find_hashes;
mod fine;
mod hook;
mod hostile;
mod identity;
mod ledger;
mod levels;
mod lifecycle;
mod method_scans;
mod methods;
mod order;
mod pages;
mod plans;
mod proposals;
mod proxy;
mod refine;
mod roots;
mod state;
mod steps;
mod templates;
mod text;
mod tidy;
mod usage;
mod verdicts;
mod views;
