//! Errors of an analysis with their evidence, and the closed set of kinds on which callers branch.

use std::io;
use std::path::{Path, PathBuf};

/// An error of an analysis, or of reading or writing its files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation on a file or folder.
    #[error("cannot {action} {path}", path = path.display())]
    Io {
        /// The operation as a verb: `read`, `create`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The content of a file differs from what this crate wrote.
    #[error("{path} is corrupt: {detail}", path = path.display())]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// The contradiction.
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
    /// A chunk is longer than the largest length of a run record.
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
        /// Number of ordinals that the caller described.
        ordinals: usize,
    },
    /// A posting names a content that the input does not describe.
    #[error("a posting names content {content} of only {contents}")]
    ContentOutOfRange {
        /// The content named.
        content: u32,
        /// Number of contents that the input describes.
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
        /// The contradiction.
        detail: &'static str,
    },
    /// The input is larger than the engine's numbering allows.
    #[error("too many {what}: {count}, at most {count_max}")]
    TooMany {
        /// The things counted.
        what: &'static str,
        /// Their number.
        count: u64,
        /// The largest number allowed.
        count_max: u64,
    },
    /// The caller asked for a stop.
    #[error("the analysis was cancelled")]
    Cancelled,
}

/// The class of an [`Error`], by which a caller decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The caller passed something that cannot be analysed.
    Invalid,
    /// The input is beyond a limit.
    TooLarge,
    /// The disk or the system refused; a later attempt may succeed.
    Unavailable,
    /// A file is damaged and must be made again.
    Corrupt,
    /// The caller cancelled.
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

    /// Turns an error of the system into one that names the file, for `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { action, path: path.to_owned(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_names_its_evidence_and_has_a_kind() {
        let path = || PathBuf::from("/x/a.run");
        let io = io::Error::from(io::ErrorKind::PermissionDenied);
        for (error, kind, message) in [
            (Error::Io { action: "read", path: path(), source: io }, ErrorKind::Unavailable, "cannot read /x/a.run"),
            (
                Error::Corrupt { path: path(), detail: "it is cut short" },
                ErrorKind::Corrupt,
                "/x/a.run is corrupt: it is cut short",
            ),
            (Error::NotARun { path: path() }, ErrorKind::Invalid, "/x/a.run is not a run file"),
            (
                Error::UnsupportedVersion { path: path(), version: 9 },
                ErrorKind::Invalid,
                "/x/a.run has run format version 9, which this build does not read",
            ),
            (
                Error::LengthTooLarge { length_bytes: 7 },
                ErrorKind::TooLarge,
                "a chunk of 7 bytes does not fit a run record",
            ),
            (
                Error::OrdinalOutOfRange { path: path(), ordinal: 5, ordinals: 4 },
                ErrorKind::Invalid,
                "/x/a.run holds ordinal 5, beyond the 4 that it was opened with",
            ),
            (
                Error::ContentOutOfRange { content: 3, contents: 2 },
                ErrorKind::Invalid,
                "a posting names content 3 of only 2",
            ),
            (Error::Unordered { shard: 6 }, ErrorKind::Invalid, "shard 6 gives its tags out of order"),
            (Error::InvalidInput { detail: "no" }, ErrorKind::Invalid, "invalid input: no"),
            (
                Error::TooMany { what: "contents", count: 3, count_max: 2 },
                ErrorKind::TooLarge,
                "too many contents: 3, at most 2",
            ),
            (Error::Cancelled, ErrorKind::Cancelled, "the analysis was cancelled"),
        ] {
            assert_eq!(error.kind(), kind, "{error}");
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn an_error_of_the_system_keeps_its_source() {
        let error = Error::io("create", Path::new("/x"))(io::Error::from(io::ErrorKind::StorageFull));
        let source = std::error::Error::source(&error).unwrap();
        assert!(source.downcast_ref::<io::Error>().is_some_and(|source| source.kind() == io::ErrorKind::StorageFull));
    }
}
