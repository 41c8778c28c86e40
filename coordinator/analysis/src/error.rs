//! Errors of an analysis, by kind.

use std::path::PathBuf;

use cognate_proto::name::{ScanId, SiteName};
use cognate_storage::{ErrorKind, engine_kind};

/// An error of an analysis.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Storage failed.
    #[error(transparent)]
    Storage(#[from] cognate_storage::Error),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] cognate_similarity::Error),
    /// The result file cannot be written.
    #[error("the result `{}`: {source}", path.display())]
    Result {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: rusqlite::Error,
    },
    /// The file of a result is not the one that was published.
    #[error(
        "the result of scan {scan}, `{}`, has changed since it was published: restore the file from a backup, or delete \
         the scan and launch it again",
        path.display()
    )]
    Altered {
        /// The scan.
        scan: ScanId,
        /// The file.
        path: PathBuf,
    },
    /// The options of a scan make no sense.
    #[error("{0}")]
    Invalid(String),
    /// The state does not allow it now.
    #[error("{0}")]
    Refused(String),
    /// Sites are away that the scan needs: it gives its memory back until one of them is there, or their time is over.
    #[error("it waits for {}", .0.iter().map(SiteName::as_str).collect::<Vec<_>>().join(", "))]
    Waiting(Vec<SiteName>),
    /// The scan was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl Error {
    /// Names the file that an I/O error is about.
    pub(crate) fn state(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let name = cognate_storage::Error::state(path);
        move |source| Error::Storage(name(source))
    }

    /// True if it only says that somebody cancelled the scan.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Error::Cancelled | Error::Engine(cognate_similarity::Error::Cancelled))
    }

    /// The reaction that it allows.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Storage(error) => error.kind(),
            Error::Engine(error) => engine_kind(error),
            Error::Result { source, .. } if source.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull) => {
                ErrorKind::Exhausted
            }
            Error::Result { .. } => ErrorKind::Internal,
            Error::Altered { .. } => ErrorKind::Corrupt,
            Error::Invalid(_) => ErrorKind::Invalid,
            Error::Refused(_) => ErrorKind::Precondition,
            Error::Waiting(_) | Error::Cancelled => ErrorKind::Unavailable,
        }
    }
}
