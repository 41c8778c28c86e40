//! What can go wrong in an analysis, with the evidence, and the closed set of kinds that callers branch on.

use std::io;
use std::path::{Path, PathBuf};

/// Why an analysis, or the writing or reading of a run, did not finish.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation on a file or folder.
    #[error("cannot {action} {path}", path = path.display())]
    Io {
        /// What was tried, as a verb: `read`, `create`.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A file that this crate wrote no longer holds what was written.
    #[error("{path} is corrupt: {detail}", path = path.display())]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// What does not fit.
        detail: &'static str,
    },
    /// The file is not a run at all.
    #[error("{path} is not a run file", path = path.display())]
    NotARun {
        /// The foreign file.
        path: PathBuf,
    },
    /// The run was written in a version of the format that this build does not read.
    #[error("{path} has run format version {version}, which this build does not read", path = path.display())]
    UnsupportedVersion {
        /// The run.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// A chunk is longer than a run record can say.
    #[error("a chunk of {length_bytes} bytes does not fit a run record")]
    LengthTooLarge {
        /// The length found.
        length_bytes: u32,
    },
    /// A run holds an ordinal for which the caller gave no content.
    #[error("{path} holds ordinal {ordinal}, beyond the {ordinals} that it was opened with", path = path.display())]
    OrdinalOutOfRange {
        /// The run.
        path: PathBuf,
        /// The ordinal found.
        ordinal: u32,
        /// How many the caller described.
        ordinals: usize,
    },
    /// A posting names a content that the input does not describe.
    #[error("a posting names content {content} of only {contents}")]
    ContentOutOfRange {
        /// The content named.
        content: u32,
        /// How many the input describes.
        contents: usize,
    },
    /// A shard gave its tags out of order, so occurrences of one tag could have been missed.
    #[error("shard {shard} gives its tags out of order")]
    Unordered {
        /// The shard.
        shard: u32,
    },
    /// The parts of the input contradict each other.
    #[error("invalid input: {detail}")]
    InvalidInput {
        /// What does not fit.
        detail: &'static str,
    },
    /// The input is larger than the engine's numbering allows.
    #[error("too many {what}: {count}, at most {count_max}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        count: u64,
        /// How many there may be.
        count_max: u64,
    },
    /// The caller asked for a stop.
    #[error("the analysis was cancelled")]
    Cancelled,
}

/// What a caller can do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The caller passed something that cannot be analysed.
    Invalid,
    /// The input is beyond a limit.
    TooLarge,
    /// The disk or the system refused; it may work later.
    Unavailable,
    /// A file is damaged and must be made again.
    Corrupt,
    /// The caller asked for it.
    Cancelled,
}

impl Error {
    /// The kind to branch on; the message is for people.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Io { .. } => ErrorKind::Unavailable,
            Error::Corrupt { .. } => ErrorKind::Corrupt,
            Error::NotARun { .. }
            | Error::UnsupportedVersion { .. }
            | Error::OrdinalOutOfRange { .. }
            | Error::ContentOutOfRange { .. }
            | Error::Unordered { .. }
            | Error::InvalidInput { .. } => ErrorKind::Invalid,
            Error::LengthTooLarge { .. } | Error::TooMany { .. } => ErrorKind::TooLarge,
            Error::Cancelled => ErrorKind::Cancelled,
        }
    }

    /// Turns the system's answer into an error that names the file, for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { action, path: path.to_owned(), source }
    }
}
