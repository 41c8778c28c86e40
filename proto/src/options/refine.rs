//! The option that makes a scan a refinement of an earlier one.

use serde::{Deserialize, Serialize};

use crate::name::ScanId;

/// The selection that a refinement makes from an earlier scan: its documents are read again under another method.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refine {
    /// The earlier scan.
    #[serde(with = "super::texts::scan_id")]
    pub scan: ScanId,
    /// The kinds of documents.
    pub what: RefineWhat,
    /// The least size of unmatched documents.
    pub size_min_bytes: u64,
}

/// The kinds of documents that a refinement selects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RefineWhat {
    /// Those in clusters.
    Linked,
    /// Those that are unique.
    Unmatched,
    /// Either.
    Both,
}

impl Refine {
    /// True if documents in clusters are selected.
    pub fn linked(&self) -> bool {
        matches!(self.what, RefineWhat::Linked | RefineWhat::Both)
    }

    /// True if documents that are unique are selected.
    pub fn unmatched(&self) -> bool {
        matches!(self.what, RefineWhat::Unmatched | RefineWhat::Both)
    }

    /// The selection in one word.
    pub fn word(&self) -> &'static str {
        match self.what {
            RefineWhat::Linked => "linked",
            RefineWhat::Unmatched => "unmatched",
            RefineWhat::Both => "both",
        }
    }
}
