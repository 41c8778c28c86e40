//! Errors of the desk, by kind.

use cognate_proto::name::ScanId;
use cognate_storage::ErrorKind;

/// An error of the desk.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Storage failed.
    #[error(transparent)]
    Storage(#[from] cognate_storage::Error),
    /// A published result is not there, or was altered.
    #[error(transparent)]
    Analysis(#[from] cognate_analysis::Error),
    /// A result cannot be read.
    #[error(transparent)]
    Result(#[from] cognate_result::Error),
    /// A request makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The peer sends what this version does not know.
    #[error("{0}")]
    Protocol(String),
    /// It exists already, with other content.
    #[error("{0}")]
    Exists(String),
    /// The present state does not allow it.
    #[error("{0}")]
    Refused(String),
    /// There is no such thing.
    #[error("{0}")]
    Unknown(String),
    /// There is no such scan.
    #[error("no scan {0}")]
    UnknownScan(ScanId),
}

impl Error {
    /// The reaction that it allows.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Storage(error) => error.kind(),
            Error::Analysis(error) => error.kind(),
            Error::Result(error) => error.kind(),
            Error::Invalid(_) => ErrorKind::Invalid,
            Error::Protocol(_) | Error::Refused(_) => ErrorKind::Precondition,
            Error::Exists(_) => ErrorKind::Exists,
            Error::Unknown(_) | Error::UnknownScan(_) => ErrorKind::NotFound,
        }
    }
}
