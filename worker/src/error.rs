//! What can keep a site or a sync from its work. What is wrong with a single document is not here: that is a row.

use std::io;
use std::path::PathBuf;

use cognate_proto::name::RepositoryName;

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
    /// Another process has the state open.
    #[error("the state folder `{}` is in use by another process", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
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
    #[error("the session with the coordinator failed: {0}")]
    Session(Box<tonic::Status>),
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
    /// The coordinator refused or went away.
    #[error("the push was ended by the coordinator: {}", .0.message())]
    Push(Box<tonic::Status>),
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

impl From<tonic::Status> for SyncError {
    fn from(status: tonic::Status) -> SyncError {
        SyncError::Push(Box::new(status))
    }
}
