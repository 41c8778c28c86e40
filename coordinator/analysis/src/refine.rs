//! The contents that a refinement selects in each repository of a scan.

use std::sync::Arc;

use cognate_proto::scope::{Scope, ScopeId};

/// The contents that are selected in one repository.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The contents that were selected.
    pub scope: Arc<Scope>,
    /// The number of documents that have these contents.
    pub documents: u64,
    /// The total size of those documents in bytes.
    pub size_bytes: u64,
}

/// The choice for each repository of a scan, in the order of its specification; nothing if all documents are meant.
pub type Choices = Vec<Option<Choice>>;

/// The digest over what a repository is asked for.
pub fn scope_of(choice: Option<&Choice>) -> Option<ScopeId> {
    choice.map(|choice| choice.scope.id())
}
