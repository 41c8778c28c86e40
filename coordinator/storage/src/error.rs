//! Errors of storage, by kind.

use std::io;
use std::path::PathBuf;

/// An error of storage.
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
    /// Another version wrote the state.
    #[error("the state `{}` has format {found} and this build reads {known}: use the version that wrote it, or an empty folder; the sites send again what they remember", path.display())]
    OtherVersion {
        /// The folder or file.
        path: PathBuf,
        /// The version that was found.
        found: u32,
        /// The version that this build reads.
        known: u32,
    },
    /// The state of the disk after a write is unknown: nothing is acknowledged any more.
    #[error("`{}` cannot be brought to the disk: {source}; look after the disk and start again", path.display())]
    Sync {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// An earlier failure has ended all writing.
    #[error("nothing is taken in any more until the next start: {0}")]
    Stopped(String),
    /// The disk is full.
    #[error("{0}")]
    Full(String),
    /// A site has as much here as it may have.
    #[error("{0}")]
    Quota(String),
    /// The transactional view cannot be read or written.
    #[error("the store failed: {}", store_text(.0))]
    Store(#[from] sled::Error),
    /// The content of a file is not what was written.
    #[error("`{}` is damaged: {detail}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The problem and its place.
        detail: String,
    },
    /// An input is not acceptable.
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
    /// An input contradicts what is stored.
    #[error("{0}")]
    Contradiction(String),
    /// Another call is working on the same thing.
    #[error("{0}")]
    Busy(String),
    /// The state does not allow it now.
    #[error("{0}")]
    Refused(String),
    /// A person does more than the record takes.
    #[error("{0}")]
    TooMany(String),
    /// A thread that did a part of a request crashed.
    #[error("a request crashed: see the log")]
    Crashed,
    /// A sorted run cannot be written or read.
    #[error("{}", engine_text(.0))]
    Run(cognate_similarity::Error),
}

impl From<cognate_similarity::Error> for Error {
    fn from(error: cognate_similarity::Error) -> Error {
        Error::Run(error)
    }
}

/// The reaction that an error allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// The thing does not exist.
    NotFound,
    /// The input is refused, and will be again.
    Invalid,
    /// The input does not fit the present state.
    Conflict,
    /// Another thing has this name already.
    Exists,
    /// Something else has to be put right first.
    Precondition,
    /// The caller lacks the permission.
    Denied,
    /// A later attempt may succeed.
    Unavailable,
    /// Another process has the state.
    InUse,
    /// Another version wrote the state.
    OtherVersion,
    /// The disk is full; with space it works.
    Exhausted,
    /// The caller has done too much at once; later it works.
    TooMany,
    /// Stored data is damaged.
    Corrupt,
    /// The disk, or the system's limits for this process, are in the way.
    InputOutput,
    /// The coordinator itself is at fault.
    Internal,
}

impl Error {
    /// Names the file that an I/O error is about.
    pub fn state(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::State { path, source }
    }

    /// Names the file whose content on the disk is unknown after a failed sync.
    pub fn sync(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |source| Error::Sync { path, source }
    }

    /// True if the state of the disk is unknown: a second attempt could succeed over lost data.
    pub fn is_fatal(&self) -> bool {
        match self {
            Error::Sync { .. } => true,
            Error::Store(error) => !matches!(error, sled::Error::CollectionNotFound(_) | sled::Error::Unsupported(_)),
            _ => false,
        }
    }

    /// The reaction that it allows.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Invalid(_) => ErrorKind::Invalid,
            Error::Refused(_) | Error::Quota(_) => ErrorKind::Precondition,
            Error::OutOfOrder { .. } => ErrorKind::Conflict,
            Error::Busy(_) => ErrorKind::Unavailable,
            Error::Locked { .. } => ErrorKind::InUse,
            Error::Contradiction(_) | Error::Corrupt { .. } => ErrorKind::Corrupt,
            Error::Full(_) => ErrorKind::Exhausted,
            Error::TooMany(_) => ErrorKind::TooMany,
            Error::Crashed => ErrorKind::Internal,
            Error::State { source, .. } if is_full(source) => ErrorKind::Exhausted,
            Error::Run(error) => engine_kind(error),
            Error::State { .. } | Error::Store(_) | Error::Sync { .. } | Error::Stopped(_) => ErrorKind::InputOutput,
            Error::OtherVersion { .. } => ErrorKind::OtherVersion,
        }
    }
}

/// The reaction that an error of the engine allows.
pub fn engine_kind(error: &cognate_similarity::Error) -> ErrorKind {
    match error {
        cognate_similarity::Error::Io { source, .. } if is_full(source) => ErrorKind::Exhausted,
        _ => ErrorKind::Internal,
    }
}

/// An error of the engine with its cause, since logs and answers to sites show one line and not the chain.
fn engine_text(error: &cognate_similarity::Error) -> String {
    match error {
        cognate_similarity::Error::Io { source, .. } => format!("{error}: {source}"),
        _ => error.to_string(),
    }
}

/// An error of sled in the words of the system.
fn store_text(error: &sled::Error) -> String {
    match error {
        sled::Error::Io(source) => system_error(source).map_or_else(|| source.to_string(), |error| error.to_string()),
        _ => error.to_string(),
    }
}

/// The error of the system behind one of sled. sled hands on copies, which have the number only in their text.
pub(crate) fn system_error(error: &io::Error) -> Option<io::Error> {
    let text = error.to_string();
    let in_text = || {
        let (_, rest) = text.split_once("code: ")?;
        rest.split(|after: char| !after.is_ascii_digit()).next()?.parse().ok()
    };
    error.raw_os_error().or_else(in_text).map(io::Error::from_raw_os_error)
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
