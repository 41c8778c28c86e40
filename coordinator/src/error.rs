//! What can go wrong at the coordinator, by kind. One table turns the kinds into what the wire says.

use std::io;
use std::path::PathBuf;

use cognate_proto::name::{RepositoryName, ScanId, SiteName};

use crate::identity::Refusal;

/// An error of the coordinator.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder of the state cannot be used.
    #[error("`{}`: {source}", path.display())]
    State {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Another process has the state open.
    #[error("the state folder `{}` is in use by another process", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// A newer version wrote the state.
    #[error("the state `{}` was written by a newer version ({found}; this one reads {known}): upgrade, or use another folder", path.display())]
    Newer {
        /// The folder.
        path: PathBuf,
        /// The version that was found.
        found: u32,
        /// The version that this build reads.
        known: u32,
    },
    /// An earlier version wrote the state.
    #[error("the state `{}` was written by an earlier version ({found}; this one reads {known}): move it away and begin with an empty folder, the sites send again what they remember", path.display())]
    Older {
        /// The folder.
        path: PathBuf,
        /// The version that was found.
        found: u32,
        /// The version that this build reads.
        known: u32,
    },
    /// What was written may not be on the disk, and nobody can know: nothing is acknowledged any more.
    #[error("`{}` cannot be brought to the disk: {source}; look after the disk and start again", path.display())]
    Sync {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// An earlier failure of the disk has ended all writing.
    #[error("nothing is taken in any more since the disk failed ({0}): look after it and start again")]
    Stopped(String),
    /// There is no room for what a site sends.
    #[error("{0}")]
    Full(String),
    /// The transactional view cannot be read or written.
    #[error("the store failed: {0}")]
    Store(#[from] sled::Error),
    /// A stored file is not what was written.
    #[error("`{}` is damaged: {detail}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        detail: String,
    },
    /// What came over the wire is not acceptable.
    #[error("{0}")]
    Invalid(String),
    /// A batch leaves a gap; the next one that can be taken is named.
    #[error("batch {got} came where {expected} is next")]
    OutOfOrder {
        /// The next batch.
        expected: u64,
        /// The batch that came.
        got: u64,
    },
    /// What came contradicts what is stored.
    #[error("{0}")]
    Contradiction(String),
    /// The two sides have no protocol version in common.
    #[error("{0}")]
    Protocol(String),
    /// It is there already, and it is another one.
    #[error("{0}")]
    Exists(String),
    /// It belongs to a session that has ended.
    #[error("{0}")]
    Stale(String),
    /// Whoever asks may not have it.
    #[error("{0}")]
    Denied(String),
    /// It cannot be done as things stand.
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
    /// Somebody is not let in.
    #[error(transparent)]
    Refusal(#[from] Refusal),
    /// There is no such member.
    #[error("{0}")]
    UnknownMember(String),
    /// A key or certificate cannot be made or used.
    #[error("{0}")]
    Identity(String),
    /// Somebody else is at it.
    #[error("{0}")]
    Busy(String),
    /// There is no such site.
    #[error("no site `{0}`")]
    UnknownSite(SiteName),
    /// There is no such scan.
    #[error("no scan {0}")]
    UnknownScan(ScanId),
    /// A repository has no sealed index under the method.
    #[error("{site}/{repository} has no index to analyse: it was never synced to its end")]
    NotSynced {
        /// The site.
        site: SiteName,
        /// The repository.
        repository: RepositoryName,
    },
    /// The sites' keys or parameters differ: a result would be empty and wrong.
    #[error("{a} and {b} fingerprint differently ({a_says} and {b_says}): give both the same key and version")]
    Mismatch {
        /// One site.
        a: String,
        /// What it works under.
        a_says: String,
        /// Another site.
        b: String,
        /// What that one works under.
        b_says: String,
    },
    /// What everybody knows becomes different things at different sites.
    #[error(
        "a known text becomes different things at {a} and at {b}: their results would be empty and wrong; look after their keys and versions, and sync again"
    )]
    Canary {
        /// One repository.
        a: String,
        /// Another.
        b: String,
    },
    /// A site is missing from a scan that must have them all.
    #[error("the scan was to be complete, and lacks {0}")]
    Incomplete(String),
    /// No site could take part.
    #[error("no repository could be synced: {0}")]
    NothingToAnalyse(String),
    /// The engine failed.
    #[error(transparent)]
    Analysis(#[from] cognate_similarity::Error),
    /// The result file cannot be written or read.
    #[error("the result `{}`: {source}", path.display())]
    Result {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: rusqlite::Error,
    },
    /// The scan was cancelled.
    #[error("cancelled")]
    Cancelled,
}

/// What a caller can do about an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// It is not there.
    NotFound,
    /// It was refused and will be again.
    Invalid,
    /// It does not fit what is there now.
    Conflict,
    /// Something else is there already.
    Exists,
    /// It cannot be done before something else is put right.
    Precondition,
    /// Whoever asks may not.
    Denied,
    /// It may work later.
    Unavailable,
    /// There is no room; once there is, it works.
    Exhausted,
    /// What is stored is damaged.
    Corrupt,
    /// The disk, or what the system lets this process do with it, is in the way.
    InputOutput,
    /// The coordinator itself is in trouble.
    Internal,
}

impl Error {
    /// The error with the file that it is about.
    pub(crate) fn state(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::State { path, source }
    }

    /// The error of a file of which nobody knows now what is on the disk.
    pub(crate) fn sync(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Sync { path, source }
    }

    /// Whether nobody can know any more what is on the disk: a second attempt could succeed over data that is gone.
    pub(crate) fn is_fatal(&self) -> bool {
        match self {
            Error::Sync { .. } => true,
            Error::Store(error) => !matches!(error, sled::Error::CollectionNotFound(_) | sled::Error::Unsupported(_)),
            _ => false,
        }
    }

    /// Whether a scan failed for this reason because its sites fingerprint differently.
    pub fn is_mismatch(failure: &str) -> bool {
        failure.contains("fingerprint differently") || failure.contains("a known text becomes different things")
    }

    /// What a caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::UnknownSite(_) | Error::UnknownScan(_) | Error::UnknownMember(_) | Error::NotSynced { .. } => {
                ErrorKind::NotFound
            }
            Error::Invalid(_) | Error::NothingToAnalyse(_) | Error::Incomplete(_) => ErrorKind::Invalid,
            Error::Mismatch { .. } | Error::Canary { .. } | Error::Protocol(_) | Error::Refused(_) => {
                ErrorKind::Precondition
            }
            Error::Denied(_) | Error::Refusal(_) => ErrorKind::Denied,
            Error::Exists(_) => ErrorKind::Exists,
            Error::OutOfOrder { .. } | Error::Stale(_) => ErrorKind::Conflict,
            Error::Busy(_) | Error::Locked { .. } | Error::Cancelled => ErrorKind::Unavailable,
            Error::Contradiction(_) | Error::Corrupt { .. } => ErrorKind::Corrupt,
            Error::Full(_) => ErrorKind::Exhausted,
            Error::State { source, .. } if is_full(source) => ErrorKind::Exhausted,
            Error::Analysis(cognate_similarity::Error::Io { source, .. }) if is_full(source) => ErrorKind::Exhausted,
            Error::Result { source, .. } if source.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull) => {
                ErrorKind::Exhausted
            }
            Error::State { .. } | Error::Store(_) | Error::Sync { .. } | Error::Stopped(_) => ErrorKind::InputOutput,
            Error::Listen { .. }
            | Error::Identity(_)
            | Error::Newer { .. }
            | Error::Older { .. }
            | Error::Analysis(_)
            | Error::Result { .. } => ErrorKind::Internal,
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

impl From<Error> for tonic::Status {
    /// The one place where errors become what the wire says.
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
            ErrorKind::Unavailable => tonic::Code::Unavailable,
            ErrorKind::Corrupt => tonic::Code::DataLoss,
            ErrorKind::Exhausted => tonic::Code::ResourceExhausted,
            ErrorKind::InputOutput | ErrorKind::Internal => tonic::Code::Internal,
        };
        let mut status = tonic::Status::new(code, error.to_string());
        if matches!(error, Error::Mismatch { .. } | Error::Canary { .. }) {
            // Programs tell it from other things that have to be put right first.
            status.metadata_mut().insert("cognate-kind", tonic::metadata::MetadataValue::from_static("mismatch"));
        }
        status
    }
}
