//! Exit codes that scripts rely on, and the error line that explains them.

use std::process::ExitCode;

use cognate_proto::shown::harmless;
use cognate_storage::ErrorKind;

/// The exit codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// Everything was done.
    Complete,
    /// It failed.
    Failed,
    /// The command line or the configuration is invalid.
    Usage,
    /// Done, but something was unreadable or a site was missing.
    Incomplete,
    /// The worker is not enrolled.
    NotEnrolled,
    /// Another process has the state.
    Locked,
    /// The keys or parameters of two sites differ.
    KeyMismatch,
    /// The two ends have no protocol version in common, or one violates the protocol.
    Protocol,
    /// The certificate or invitation is not accepted: revoked, expired or used.
    Authentication,
    /// A newer version wrote the state.
    StateTooNew,
    /// A bug.
    Internal,
    /// The disk or another device failed.
    InputOutput,
    /// Stopped by a signal: 128 and its number.
    Signal(u8),
}

impl Exit {
    fn code(self) -> u8 {
        match self {
            Exit::Complete => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Incomplete => 3,
            Exit::NotEnrolled => 10,
            Exit::Locked => 11,
            Exit::KeyMismatch => 12,
            Exit::Protocol => 13,
            Exit::Authentication => 14,
            Exit::StateTooNew => 15,
            Exit::Internal => 70,
            Exit::InputOutput => 74,
            Exit::Signal(number) => 128 + number,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// An error with its own exit code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct CodedError {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

/// The code of an error of the coordinator's state, by its kind.
pub(crate) fn of_kind(kind: ErrorKind) -> Exit {
    match kind {
        ErrorKind::InUse => Exit::Locked,
        ErrorKind::OtherVersion => Exit::StateTooNew,
        ErrorKind::Invalid => Exit::Usage,
        ErrorKind::InputOutput | ErrorKind::Exhausted | ErrorKind::TooMany => Exit::InputOutput,
        _ => Exit::Failed,
    }
}

/// Makes an error with this exit code.
pub(crate) fn coded(exit: Exit, message: impl Into<String>) -> anyhow::Error {
    CodedError { exit, message: message.into() }.into()
}

/// A request that cannot be done; the message names the correct usage.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// A usage error with this message.
pub(crate) fn usage(message: impl Into<String>) -> anyhow::Error {
    UsageError(message.into()).into()
}

/// The error for an unknown command.
pub(crate) fn not_yet(words: &[std::ffi::OsString]) -> anyhow::Error {
    let name = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    usage(format!("there is no command `{name}`; `cognate --help` lists all commands"))
}

/// Exit code of an error.
pub(crate) fn of(error: &anyhow::Error) -> Exit {
    if let Some(coded) = error.downcast_ref::<CodedError>() {
        return coded.exit;
    }
    if error.downcast_ref::<UsageError>().is_some() { Exit::Usage } else { Exit::Failed }
}

/// An error and its causes on one line.
pub(crate) fn line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if line.contains(&cause) {
            continue;
        }
        if !line.is_empty() {
            line.push_str(": ");
        }
        line.push_str(&cause);
    }
    // A cause may quote what another machine sent.
    harmless(&line.replace('\n', " ")).into_owned()
}
