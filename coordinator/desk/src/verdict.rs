//! Verdicts of people on results, and the labels that they give to clusters. They are a record: every verdict goes through the journal, with its author and time,
//! and so does undoing it.
//!
//! A verdict is about a cluster, an identical set or a document, by properties that stay the same in later scans: the
//! cluster's view and id, the set's tier and id, the place of the document. It holds while that consists of the same
//! (`members_digest`, the places of a set's documents, the document's content); otherwise it is shown as changed, with
//! the reason. Documents are named by a hash of their place: the journal cannot forget a path.

mod bulk;
mod decide;
mod label;
mod named;
mod review;
mod sample;
mod saved;

use std::sync::Arc;

pub use decide::VerdictRequest;
pub use named::SubjectName;
pub use sample::SampleRequest;

use crate::error::Error;
use crate::results::Results;
use cognate_storage::records::Records;

/// Decisions of reviewers: setting them and taking them back.
pub struct Verdicts {
    records: Arc<Records>,
    results: Arc<Results>,
}

impl Verdicts {
    /// Decisions about results, which go into the record.
    pub fn new(records: Arc<Records>, results: Arc<Results>) -> Verdicts {
        Verdicts { records, results }
    }
}

/// An error for an impossible request, with the reason.
fn refused(field: &str, why: impl std::fmt::Display) -> Error {
    Error::Invalid(format!("`{field}`: {why}"))
}
