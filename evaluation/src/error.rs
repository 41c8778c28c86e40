//! Why an experiment came to no end.

use std::io;
use std::path::{Path, PathBuf};

/// Why an experiment came to no end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something could not be read or written.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was to be done.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The corpus does not have what the experiment needs.
    #[error("`{}` has {found}; the experiment needs {needed}", corpus.display())]
    Corpus {
        /// The folder.
        corpus: PathBuf,
        /// What it has.
        found: String,
        /// What is needed.
        needed: &'static str,
    },
    /// A method refused a parameter or a document.
    #[error("{0}")]
    Method(String),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] cognate_similarity::Error),
    /// Somebody stopped it.
    #[error("stopped")]
    Stopped,
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { action, path: path.to_owned(), source }
    }
}
