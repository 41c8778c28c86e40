//! The errors of a site and of a sync. A failure of a single document is a row of the index and no error.

use std::io;
use std::path::PathBuf;

use cognate_proto::dial::DialError;
use cognate_proto::name::RepositoryName;

use crate::ledger::LedgerError;

/// The reason why a site cannot work at all.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The state folder cannot be used.
    #[error("the state folder `{}` cannot be used", path.display())]
    State {
        /// The folder or file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The state folder is not usable as it is. The message names the problem and its solution.
    #[error("the state folder `{}` {problem}: {cure}", path.display())]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// The problem.
        problem: String,
        /// The solution.
        cure: String,
    },
    /// Another process has the state open.
    #[error("`{}` is held by another process{}: stop it, or use another state folder", path.display(), held_by(pid))]
    Locked {
        /// The lock file, or the folder.
        path: PathBuf,
        /// The other process, if known.
        pid: Option<u32>,
    },
    /// Another version of the program wrote the state.
    #[error(
        "the state folder `{}` was written by another version ({found}; this one reads {known}): use that version, or \
         another folder",
        path.display()
    )]
    OtherVersion {
        /// The folder.
        path: PathBuf,
        /// The version of the state.
        found: u32,
        /// The version that this program reads.
        known: u32,
    },
    /// The coordinator ended the session or cannot be reached.
    #[error("the session with the coordinator failed: {}", status_line(.0))]
    Session(Box<tonic::Status>),
    /// The coordinator cannot be reached, or another program answers in its place.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The coordinator violated the protocol. Everything that was sent until then stays valid.
    #[error("the coordinator broke the protocol: {0}")]
    Violation(String),
    /// The coordinator was silent for too long.
    #[error("the coordinator was silent for {seconds} s")]
    Silent {
        /// The length of the silence.
        seconds: u64,
    },
    /// The ledger cannot be written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

fn held_by(pid: &Option<u32>) -> String {
    pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
}

/// The message of a status with its causes, in one line. A status without a message is described by its code.
pub(crate) fn status_line(status: &tonic::Status) -> String {
    let mut line = status.code().description().to_owned();
    if !status.message().is_empty() {
        line = status.message().to_owned();
    }
    let mut source = std::error::Error::source(status);
    while let Some(cause) = source {
        let cause_line = cause.to_string();
        if !line.contains(&cause_line) {
            line = format!("{line}: {cause_line}");
        }
        source = cause.source();
    }
    cognate_proto::name::one_line(&line)
}

/// The reason why a repository could not be synced. Its last index stays unchanged.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The root folder of the repository cannot be read.
    #[error("`{}` cannot be read: {source}", path.display())]
    Root {
        /// The root.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The root is empty, but held documents at the last sync. Most likely it is not mounted.
    #[error(
        "`{}` is empty, but held {documents} documents at the last sync: is it mounted? (if you emptied it on purpose, put \
         any file into it)",
        path.display()
    )]
    RootEmpty {
        /// The root.
        path: PathBuf,
        /// Number of documents at the last sync.
        documents: u64,
    },
    /// More files are gone than are there. The root may not be mounted, or be another one.
    #[error(
        "{gone} files of `{}` are gone and {there} are there{}: is it mounted? (if they are gone on purpose: `cognate worker \
         sync {repository} --accept-removals`)",
        path.display(),
        if *is_other_folder { ", and the path leads to another folder than at the last sync" } else { "" }
    )]
    RootShrunk {
        /// The repository.
        repository: RepositoryName,
        /// Its root.
        path: PathBuf,
        /// Number of files that are gone.
        gone: u64,
        /// Number of files that are there.
        there: u64,
        /// The path leads to another folder than at the last sync.
        is_other_folder: bool,
    },
    /// The file that shows that the root is mounted is missing.
    #[error(
        "`{}` has no `{}`, the file that shows that it is mounted (`sentinel` of the repository in the configuration)",
        path.display(),
        sentinel.display()
    )]
    SentinelMissing {
        /// The root.
        path: PathBuf,
        /// The file, below the root.
        sentinel: PathBuf,
    },
    /// The coordinator requests a repository that this site does not offer.
    #[error("this site offers no repository `{0}`")]
    UnknownRepository(RepositoryName),
    /// The site reads nothing now.
    #[error("the site is paused, or outside of its hours")]
    Closed,
    /// The assignment is not valid for this site.
    #[error("the assignment is refused: {0}")]
    Assignment(String),
    /// The coordinator expects another method id than this site computes.
    #[error("the coordinator expects method id {expected}, this site computes {own}: the versions or the keys differ")]
    MethodId {
        /// The id that the coordinator expects.
        expected: String,
        /// The id that this site computes.
        own: String,
    },
    /// The site's own records cannot be written.
    #[error("`{}` cannot be written: {source}", path.display())]
    Records {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The policy of this site does not allow the request.
    #[error("this site's policy does not allow it: {0}")]
    Policy(String),
    /// The coordinator refused the push, or the connection ended.
    #[error("the coordinator ended the push: {}", status_line(.0))]
    Push(Box<tonic::Status>),
    /// The coordinator violated the protocol.
    #[error("the coordinator broke the protocol: {0}")]
    Violation(String),
    /// The ledger cannot be written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The coordinator does not have what it acknowledged, twice in a row.
    #[error("the coordinator's index differs from this site's, even after a new start")]
    Disagreement,
    /// A bug in the program. The rest of the site continues.
    #[error("the sync crashed: see the log, and report the problem")]
    Crashed,
    /// The sync was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl SyncError {
    /// True if this site's key or parameters differ from those of the other sites, by the coordinator's answer.
    pub(crate) fn is_mismatch(&self) -> bool {
        let SyncError::Push(status) = self else { return matches!(self, SyncError::MethodId { .. }) };
        status.metadata().get("cognate-kind").is_some_and(|kind| kind == "mismatch")
    }
}

impl From<tonic::Status> for SyncError {
    fn from(status: tonic::Status) -> SyncError {
        SyncError::Push(Box::new(status))
    }
}
