//! The control socket of a running daemon: a Unix socket in its state folder, only for its owner, with one JSON object per
//! line in both directions. This is the end of the client.
//!
//! A request is one line, for example `{"do":"status"}`. An answer is any number of lines, of which the last is
//! `{"type":"end"}` or `{"type":"error",…}`.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest time in which a daemon answers what it knows.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// A request to a daemon.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Return the status.
    Status,
    /// Fail unless the daemon is attached.
    Health,
    /// Take no assignments and read nothing.
    Pause,
    /// End a pause.
    Resume,
    /// Sync repositories under every method that they were synced with before.
    Sync {
        /// The repositories; empty: all.
        repositories: Vec<String>,
        /// If set, documents are removed even if more are gone than are there.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        accept_removals: bool,
    },
    /// List the scans that concern this site, or return the result of one for this site.
    Results {
        /// The id of the scan.
        scan: Option<u64>,
    },
    /// Return the coordinator's counts of this site's indexes.
    Received,
}

/// The control socket of a state folder.
pub fn socket(state_dir: &Path) -> PathBuf {
    state_dir.join("control.sock")
}

impl Request {
    /// True if a daemon answers it from memory: one that does not is stopped.
    fn is_answered_at_once(&self) -> bool {
        matches!(self, Request::Status | Request::Health | Request::Pause | Request::Resume)
    }
}

/// Sends a request to a daemon, and calls `each` for every line of its answer.
///
/// # Errors
/// If there is no daemon (`NotFound` or `ConnectionRefused`), it ends early, or does not answer in five seconds what it knows
/// (`TimedOut`). The inner error is the message of the daemon.
pub fn ask(
    socket: &Path,
    request: &Request,
    each: impl FnMut(Value) -> io::Result<()>,
) -> io::Result<Result<(), String>> {
    ask_within(ANSWER_MAX, socket, request, each)
}

fn ask_within(
    answer_max: Duration,
    socket: &Path,
    request: &Request,
    mut each: impl FnMut(Value) -> io::Result<()>,
) -> io::Result<Result<(), String>> {
    let mut stream = UnixStream::connect(socket)?;
    if request.is_answered_at_once() {
        stream.set_read_timeout(Some(answer_max))?;
    }
    let late = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => io::Error::new(
            io::ErrorKind::TimedOut,
            format!(
                "the daemon does not answer in {} seconds: its process is stopped (`kill -CONT` continues it), or the machine \
                 is overloaded",
                answer_max.as_secs()
            ),
        ),
        _ => error,
    };
    let line = serde_json::to_string(request).map_err(io::Error::other)?;
    stream.write_all(format!("{line}\n").as_bytes())?;
    for line in BufReader::new(stream).lines() {
        let value: Value = serde_json::from_str(&line.map_err(late)?).map_err(io::Error::other)?;
        match value["type"].as_str() {
            Some("end") => return Ok(Ok(())),
            Some("error") => return Ok(Err(value["message"].as_str().unwrap_or_default().to_owned())),
            _ => each(value)?,
        }
    }
    Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the daemon closed the connection"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_that_is_stopped_is_given_up_on() {
        let folder = tempfile::tempdir().unwrap();
        let socket = socket(folder.path());
        // The system accepts for a process that does not run.
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let limit = Duration::from_millis(50);
        for request in [Request::Status, Request::Health, Request::Pause, Request::Resume] {
            let error = ask_within(limit, &socket, &request, |_| Ok(())).unwrap_err();
            assert!(error.kind() == io::ErrorKind::TimedOut && error.to_string().contains("stopped"), "{error}");
        }
    }

    #[test]
    fn requests_keep_their_names_on_the_socket() {
        let check = |request: Request, text: &str| {
            assert_eq!(serde_json::to_string(&request).unwrap(), text);
            assert_eq!(serde_json::from_str::<Request>(text).unwrap(), request);
        };
        check(Request::Status, r#"{"do":"status"}"#);
        check(Request::Health, r#"{"do":"health"}"#);
        check(Request::Pause, r#"{"do":"pause"}"#);
        check(Request::Resume, r#"{"do":"resume"}"#);
        let sync = |accept_removals| Request::Sync { repositories: vec!["kb".into()], accept_removals };
        check(sync(false), r#"{"do":"sync","repositories":["kb"]}"#);
        check(sync(true), r#"{"do":"sync","repositories":["kb"],"accept_removals":true}"#);
        check(Request::Results { scan: Some(7) }, r#"{"do":"results","scan":7}"#);
        check(Request::Received, r#"{"do":"received"}"#);
        assert!(serde_json::from_str::<Request>(r#"{"do":"stop"}"#).is_err());
    }
}
