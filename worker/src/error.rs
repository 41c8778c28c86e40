//! What can keep a site or a sync from its work. What is wrong with a single document is not here: that is a row.

use std::io;
use std::path::PathBuf;

use cognate_proto::dial::DialError;
use cognate_proto::name::RepositoryName;

use crate::ledger::LedgerError;

/// Why a site cannot work at all.
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
    /// The state folder is not as it must be, with what mends it.
    #[error("the state folder `{}` {problem}: {cure}", path.display())]
    Unfit {
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        problem: String,
        /// What to do.
        cure: String,
    },
    /// Another process has the state open.
    #[error("`{}` is held by another process{}: stop it, or use another state folder", path.display(), held_by(pid))]
    Locked {
        /// The lock, or the folder that it stands for.
        path: PathBuf,
        /// Which process, where it says so.
        pid: Option<u32>,
    },
    /// A newer version wrote the state.
    #[error("the state folder `{}` was written by a newer version ({found}; this one reads {known}): upgrade, or use another folder", path.display())]
    Newer {
        /// The folder.
        path: PathBuf,
        /// The version that was found.
        found: u32,
        /// The version that this build reads.
        known: u32,
    },
    /// The coordinator ended the session or cannot be reached.
    #[error("the session with the coordinator failed: {}", said(.0))]
    Session(Box<tonic::Status>),
    /// The coordinator cannot be reached, or another stands in its place.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The coordinator did what it may not do. What was sent until then stays as it was.
    #[error("the coordinator broke the protocol: {0}")]
    Violation(String),
    /// Nothing was heard of the coordinator for too long.
    #[error("nothing was heard of the coordinator for {seconds} s")]
    Silent {
        /// How long.
        seconds: u64,
    },
    /// What leaves cannot be written down.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

fn held_by(pid: &Option<u32>) -> String {
    pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default()
}

/// What a status says, in one line, also where the other side gave no words.
pub(crate) fn said(status: &tonic::Status) -> String {
    let mut said = status.code().description().to_owned();
    if !status.message().is_empty() {
        said = status.message().to_owned();
    }
    let mut source = std::error::Error::source(status);
    while let Some(cause) = source {
        let cause_said = cause.to_string();
        if !said.contains(&cause_said) {
            said = format!("{said}: {cause_said}");
        }
        source = cause.source();
    }
    cognate_proto::name::one_line(&said)
}

/// Why a repository could not be synced. Its last index stays as it was.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// The repository's root cannot be read.
    #[error("`{}` cannot be read: {source}", path.display())]
    Root {
        /// The root.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The root is empty, but was not at the last sync: more likely not mounted than emptied.
    #[error(
        "`{}` is empty, but held {documents} documents at the last sync: is it mounted? (if it was emptied on purpose, \
         put any file into it)",
        path.display()
    )]
    RootGuard {
        /// The root.
        path: PathBuf,
        /// How many documents it held.
        documents: u64,
    },
    /// The coordinator asks for a repository that this site does not offer.
    #[error("this site offers no repository `{0}`")]
    UnknownRepository(RepositoryName),
    /// The assignment makes no sense here.
    #[error("the assignment is refused: {0}")]
    Assignment(String),
    /// The method id of the coordinator is not what this site arrives at.
    #[error("the coordinator expects method id {expected}, this site arrives at {own}: other versions or another key")]
    MethodId {
        /// What the coordinator expects.
        expected: String,
        /// What this site has.
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
    /// This site's policy does not allow what was asked for.
    #[error("this site's policy does not allow it: {0}")]
    Policy(String),
    /// The coordinator refused or went away.
    #[error("the push was ended by the coordinator: {}", said(.0))]
    Push(Box<tonic::Status>),
    /// The coordinator did what it may not do.
    #[error("the coordinator broke the protocol: {0}")]
    Violation(String),
    /// What leaves cannot be written down.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The coordinator does not have what it acknowledged; twice in a row.
    #[error("the coordinator's index does not agree with this site's, even when begun anew")]
    Disagreement,
    /// A bug; the rest of the site goes on.
    #[error("the sync crashed: see the log, and report it")]
    Crashed,
    /// Somebody asked to stop.
    #[error("cancelled")]
    Cancelled,
}

impl SyncError {
    /// Whether the coordinator says that this site's key or parameters are others than those of the other sites.
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
