//! The errors of experiments.

use std::io;
use std::path::{Path, PathBuf};

/// The reason why an experiment did not finish.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// The action that failed.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The corpus does not have what the experiment needs.
    #[error("`{}` has {found}; the experiment needs {needed}", corpus.display())]
    Corpus {
        /// The folder of the corpus.
        corpus: PathBuf,
        /// The documents that it has.
        found: String,
        /// The documents that are needed.
        needed: &'static str,
    },
    /// A method refused a parameter or a document.
    #[error("{0}")]
    Method(String),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] cognate_similarity::Error),
    /// The caller ended the experiment.
    #[error("stopped")]
    Stopped,
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { action, path: path.to_owned(), source }
    }
}
