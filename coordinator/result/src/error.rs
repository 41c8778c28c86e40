//! Errors of reading a result, by kind.

use std::path::PathBuf;

use cognate_storage::ErrorKind;

/// An error of reading a result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Storage failed.
    #[error(transparent)]
    Storage(#[from] cognate_storage::Error),
    /// The result file cannot be read.
    #[error("the result `{}`: {source}", path.display())]
    Result {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: rusqlite::Error,
    },
    /// The file is not a result that this build reads.
    #[error("`{}` is damaged: {detail}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The problem.
        detail: String,
    },
    /// A filter or name makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The result has no such thing.
    #[error("{0}")]
    Unknown(String),
}

impl Error {
    /// Names the file that an I/O error is about.
    pub(crate) fn state(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let name = cognate_storage::Error::state(path);
        move |source| Error::Storage(name(source))
    }

    /// The reaction that it allows.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Storage(error) => error.kind(),
            Error::Result { source, .. } if source.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull) => {
                ErrorKind::Exhausted
            }
            Error::Result { .. } => ErrorKind::Internal,
            Error::Corrupt { .. } => ErrorKind::Corrupt,
            Error::Invalid(_) => ErrorKind::Invalid,
            Error::Unknown(_) => ErrorKind::NotFound,
        }
    }
}
