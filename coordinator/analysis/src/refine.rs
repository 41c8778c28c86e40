//! A refinement as an option of a scan: which documents of an earlier scan are read again.

use std::sync::Arc;

use cognate_proto::name::ScanId;
use cognate_proto::scope::{Scope, ScopeId};
use cognate_proto::v1::{self, RefineWhat};

/// Which documents of which scan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refine {
    /// The earlier scan.
    pub scan: ScanId,
    /// Which of its documents.
    pub what: RefineWhat,
    /// No smaller ones of those that are unmatched.
    pub size_bytes_min: u64,
}

impl Refine {
    /// Whether documents in clusters are chosen.
    pub fn linked(&self) -> bool {
        matches!(self.what, RefineWhat::Linked | RefineWhat::Both)
    }

    /// Whether documents that are unique are chosen.
    pub fn unmatched(&self) -> bool {
        matches!(self.what, RefineWhat::Unmatched | RefineWhat::Both)
    }

    /// What is chosen, in one word.
    pub fn word(&self) -> &'static str {
        match self.what {
            RefineWhat::Linked => "linked",
            RefineWhat::Unmatched => "unmatched",
            RefineWhat::Both | RefineWhat::Unspecified => "both",
        }
    }

    /// Checks what somebody asks for.
    pub(crate) fn from_wire(refine: &v1::Refine) -> Result<Refine, &'static str> {
        let what = refine.what();
        if what == RefineWhat::Unspecified {
            return Err("it does not say which documents: linked, unmatched, or both");
        }
        Ok(Refine { scan: ScanId(refine.scan), what, size_bytes_min: refine.size_bytes_min })
    }
}

impl From<&Refine> for v1::Refine {
    fn from(refine: &Refine) -> v1::Refine {
        v1::Refine { scan: refine.scan.0, what: refine.what.into(), size_bytes_min: refine.size_bytes_min }
    }
}

/// What of one repository is chosen.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The contents that were chosen.
    pub scope: Arc<Scope>,
    /// The number of documents that have these contents.
    pub documents: u64,
    /// The total size of those documents in bytes.
    pub size_bytes: u64,
}

/// What each repository of a scan is asked for, in the order of its specification; nothing where it is all there is.
pub type Choices = Vec<Option<Choice>>;

/// The digest over what a repository is asked for.
pub fn scope_of(choice: Option<&Choice>) -> Option<ScopeId> {
    choice.map(|choice| choice.scope.id())
}
