//! The errors of an enrolment and of a renewal.

use std::io;
use std::path::PathBuf;

use cognate_durable::private::PrivateFileError;
use cognate_proto::dial::DialError;
use cognate_proto::identity::IdentityError;

use crate::error::status_line;
use crate::ledger::LedgerError;
use crate::sending::backoff::{NextAttempt, after_status};

/// The reason why a site has no certificate, or gets none.
#[derive(Debug, thiserror::Error)]
pub enum EnrolmentError {
    /// The site was never enrolled.
    #[error(
        "this site is not enrolled: ask for an invitation, and paste it into `cognate worker enroll - --config FILE`"
    )]
    NotEnrolled,
    /// The invitation is for a person.
    #[error("this invitation is for the person `{0}` and not for a site: ask for one made by `cognate site invite`")]
    NotForSites(String),
    /// The site is enrolled under another name.
    #[error(
        "this state belongs to the site `{own}` and the invitation is for `{invited}`: use another state_dir, or move this \
         one away"
    )]
    OtherSite {
        /// The name of the site.
        own: String,
        /// The name in the invitation.
        invited: String,
    },
    /// The coordinator does not accept the invitation, and by this machine's clock it has expired. The coordinator's clock decides.
    #[error(
        "the coordinator does not accept the invitation: {}; by this machine's clock it has expired: ask for a new one, or set the \
         clock that is wrong, here or at the coordinator",
        status_line(.0)
    )]
    Expired(Box<tonic::Status>),
    /// The coordinator could not be reached, or is another one.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The coordinator does not accept the invitation.
    #[error("the coordinator does not accept the invitation: {}", status_line(.0))]
    Refused(Box<tonic::Status>),
    /// The answer of the coordinator does not match the request.
    #[error("the answer of the coordinator cannot be used: {0}")]
    Answer(String),
    /// The files of the identity cannot be read or written.
    #[error(transparent)]
    Files(#[from] PrivateFileError),
    /// Another file cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A key cannot be made.
    #[error(transparent)]
    Key(#[from] IdentityError),
    /// The ledger cannot be written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl EnrolmentError {
    /// True if the coordinator did not accept this site, or this site did not trust the coordinator.
    pub fn is_about_trust(&self) -> bool {
        match self {
            EnrolmentError::Refused(status) => after_status(status) != NextAttempt::Usual,
            EnrolmentError::Dial(error) => error.is_lasting(),
            EnrolmentError::Expired(_) | EnrolmentError::NotForSites(_) => true,
            _ => false,
        }
    }
}
