//! What people ask a coordinator and decide about its results: finds, watches, cases, verdicts.
//!
//! [`find`] has the questions and answers of finds. [`watch`] asks a question again whenever an index has changed, [`case`] keeps a
//! question with all its answers, and [`stored_query`] is both for programs. [`results`] opens results, and [`verdict`] takes in what people decide about them: verdicts,
//! labels, decisions by a rule, blind samples.
//!
//! Everything recorded goes through the journal of the storage. This crate knows no session, no certificate and no receiver of
//! notices: who searches is handed in as a [`find::Search`], and the callers have checked what the person may do.

pub mod case;
mod error;
pub mod find;
pub mod results;
pub mod stored_query;
pub mod verdict;
pub mod watch;

pub use error::Error;
