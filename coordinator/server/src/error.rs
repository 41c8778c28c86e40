//! Errors of the coordinator, by kind. One table turns the kinds into statuses of the wire.

use std::io;
use std::path::PathBuf;

use cognate_fingerprint::View;
use cognate_proto::name::{RepositoryName, ScanId, SiteName};
use cognate_proto::v1::FailureKind;

pub(crate) use cognate_storage::ErrorKind;

use crate::identity::refusal::Refusal;

/// An error of the coordinator.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Storage failed.
    #[error(transparent)]
    Storage(#[from] cognate_storage::Error),
    /// An analysis failed.
    #[error(transparent)]
    Analysis(#[from] cognate_analysis::Error),
    /// A result cannot be read.
    #[error(transparent)]
    Result(#[from] cognate_result::Error),
    /// A question or a decision of a person is not acceptable.
    #[error(transparent)]
    Desk(#[from] cognate_desk::Error),
    /// A report cannot be written.
    #[error(transparent)]
    Export(#[from] cognate_export::Error),
    /// The disk has no space for the data that a site sends.
    #[error("{0}")]
    Full(String),
    /// A message of the wire is not acceptable.
    #[error("{0}")]
    Invalid(String),
    /// The two sides have no protocol version in common.
    #[error("{0}")]
    Protocol(String),
    /// It exists already, with other content.
    #[error("{0}")]
    Exists(String),
    /// It belongs to a session that has ended.
    #[error("{0}")]
    Stale(String),
    /// The caller has no permission for it.
    #[error("{0}")]
    Denied(String),
    /// The present state does not allow it.
    #[error("{0}")]
    Refused(String),
    /// The address cannot be listened on.
    #[error("`{address}` cannot be listened on: {source}; is another coordinator running?")]
    Listen {
        /// The address.
        address: String,
        /// The cause.
        source: io::Error,
    },
    /// A peer is refused.
    #[error(transparent)]
    Refusal(#[from] Refusal),
    /// There is no such member.
    #[error("{0}")]
    UnknownMember(String),
    /// A key or certificate cannot be made or used.
    #[error("{0}")]
    Identity(String),
    /// There is no such site.
    #[error("no site `{0}`")]
    UnknownSite(SiteName),
    /// There is no such scan.
    #[error("no scan {0}")]
    UnknownScan(ScanId),
    /// A repository has no sealed index under the method.
    #[error("{site}/{repository} has no index to analyse under the view `{view}`: no sync of it has completed")]
    NotSynced {
        /// The site.
        site: SiteName,
        /// The repository.
        repository: RepositoryName,
        /// The view of the method.
        view: View,
    },
    /// The sites' keys or parameters differ: a result would be empty and wrong.
    #[error("{a} and {b} fingerprint differently ({a_says} and {b_says}): give both the same key and version")]
    Mismatch {
        /// One site.
        a: String,
        /// The key and parameters of that site.
        a_says: String,
        /// Another site.
        b: String,
        /// The key and parameters of the other site.
        b_says: String,
    },
    /// A known text has different features at different sites.
    #[error(
        "{a} and {b} fingerprint a known text differently, so results would be empty and wrong; check their keys and versions, and sync again"
    )]
    Canary {
        /// One repository.
        a: String,
        /// Another.
        b: String,
    },
    /// A site is missing from a scan that must have them all.
    #[error("the scan requires all sites, and {0} is missing")]
    Incomplete(String),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] cognate_similarity::Error),
    /// No site could take part.
    #[error("no repository could be synced: {0}")]
    NothingToAnalyse(String),
    /// The scan was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl Error {
    /// Names the file that an I/O error is about.
    pub(crate) fn state(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let name = cognate_storage::Error::state(path);
        move |source| Error::Storage(name(source))
    }

    /// Reports damage of a file.
    pub(crate) fn corrupt(path: impl Into<PathBuf>, detail: String) -> Error {
        cognate_storage::Error::Corrupt { path: path.into(), detail }.into()
    }

    /// The kind of failure of a scan that ended with this error.
    pub(crate) fn failure_kind(&self) -> FailureKind {
        match self {
            Error::Mismatch { .. } | Error::Canary { .. } => FailureKind::Mismatch,
            Error::Incomplete(_) | Error::NothingToAnalyse(_) | Error::NotSynced { .. } => FailureKind::Incomplete,
            _ => FailureKind::Other,
        }
    }

    /// True if the only cause is that somebody cancelled the scan.
    pub(crate) fn is_cancelled(&self) -> bool {
        match self {
            Error::Cancelled => true,
            Error::Analysis(error) => error.is_cancelled(),
            _ => false,
        }
    }

    /// The reaction that the error allows.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Storage(error) => error.kind(),
            Error::Engine(error) => cognate_storage::engine_kind(error),
            Error::Analysis(error) => error.kind(),
            Error::Result(error) => error.kind(),
            Error::Desk(error) => error.kind(),
            Error::UnknownSite(_) | Error::UnknownScan(_) | Error::UnknownMember(_) | Error::NotSynced { .. } => {
                ErrorKind::NotFound
            }
            Error::Invalid(_) | Error::NothingToAnalyse(_) | Error::Incomplete(_) => ErrorKind::Invalid,
            Error::Mismatch { .. } | Error::Canary { .. } | Error::Protocol(_) | Error::Refused(_) => {
                ErrorKind::Precondition
            }
            Error::Denied(_) | Error::Refusal(_) => ErrorKind::Denied,
            Error::Exists(_) => ErrorKind::Exists,
            Error::Stale(_) => ErrorKind::Conflict,
            Error::Cancelled => ErrorKind::Unavailable,
            Error::Full(_) => ErrorKind::Exhausted,
            Error::Listen { .. } | Error::Identity(_) | Error::Export(_) => ErrorKind::Internal,
        }
    }
}

impl From<Error> for tonic::Status {
    /// The one table from errors to statuses of the wire.
    fn from(error: Error) -> tonic::Status {
        if let Error::Refusal(refusal) = error {
            return refusal.into();
        }
        let code = match error.kind() {
            ErrorKind::NotFound => tonic::Code::NotFound,
            ErrorKind::Invalid => tonic::Code::InvalidArgument,
            ErrorKind::Conflict => tonic::Code::Aborted,
            ErrorKind::Exists => tonic::Code::AlreadyExists,
            ErrorKind::Precondition => tonic::Code::FailedPrecondition,
            ErrorKind::Denied => tonic::Code::PermissionDenied,
            ErrorKind::Unavailable | ErrorKind::InUse => tonic::Code::Unavailable,
            ErrorKind::Corrupt => tonic::Code::DataLoss,
            ErrorKind::Exhausted | ErrorKind::TooMany => tonic::Code::ResourceExhausted,
            ErrorKind::InputOutput | ErrorKind::OtherVersion | ErrorKind::Internal => tonic::Code::Internal,
        };
        let mut status = tonic::Status::new(code, error.to_string());
        if error.failure_kind() == FailureKind::Mismatch {
            // Programs distinguish it from other conditions that somebody has to fix first.
            status.metadata_mut().insert("cognate-kind", tonic::metadata::MetadataValue::from_static("mismatch"));
        }
        status
    }
}
