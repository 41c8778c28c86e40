//! Asking a running daemon: a Unix socket in its state folder, for its owner alone, and one JSON object a line each way.
//!
//! A request is one line, `{"do":"status"}` for example; an answer is any number of lines, of which the last is
//! `{"type":"end"}` or `{"type":"error",…}`.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cognate_proto::name::{RepositoryName, one_line};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};

use crate::daemon::Daemon;
use crate::error::SiteError;

/// No request is longer.
const REQUEST_BYTES_MAX: u64 = 64 << 10;
/// How long a request may take to come.
const REQUEST_MAX: Duration = Duration::from_secs(10);
/// How often a sync tells how far it is.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// What a daemon can be asked.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// What it is doing.
    Status,
    /// Whether it is attached.
    Health,
    /// To take no assignments and to read nothing.
    Pause,
    /// To go on.
    Resume,
    /// To sync repositories, or all, under every method that they were synced with before.
    Sync {
        /// Which; empty: all.
        repositories: Vec<String>,
    },
    /// For the scans that concern this site, or for what concerns it of one.
    Results {
        /// Which, in hexadecimal digits.
        scan: Option<u64>,
    },
    /// For what the coordinator holds of this site.
    Received,
}

/// The socket of a state folder.
pub fn socket(state_dir: &Path) -> std::path::PathBuf {
    state_dir.join("control.sock")
}

/// Listens on a socket. One that a daemon has left behind is taken away: the lock says that it runs no more.
pub(crate) fn listen(socket: &Path) -> Result<UnixListener, SiteError> {
    let state = |source| SiteError::State { path: socket.to_owned(), source };
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(state(error)),
        _ => {}
    }
    let listener = UnixListener::bind(socket).map_err(state)?;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600)).map_err(state)?;
    Ok(listener)
}

/// Answers whoever asks.
pub(crate) async fn serve(listener: UnixListener, daemon: Arc<Daemon>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let daemon = Arc::clone(&daemon);
                // Who hangs up in the middle of an answer needs no other.
                tokio::spawn(async move { answer(stream, &daemon).await });
            }
            Err(error) => {
                tracing::warn!(%error, "nobody can ask this daemon for now");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

async fn answer(stream: UnixStream, daemon: &Daemon) -> io::Result<()> {
    let (reader, mut writer) = stream.into_split();
    let mut line = String::new();
    let mut reader = BufReader::new(reader.take(REQUEST_BYTES_MAX));
    match tokio::time::timeout(REQUEST_MAX, reader.read_line(&mut line)).await {
        Ok(read) => read?,
        Err(_) => return Ok(()),
    };
    let last = match serde_json::from_str(&line) {
        Ok(request) => carry_out(request, daemon, &mut writer).await?,
        Err(error) => Err(format!("the request makes no sense: {error}")),
    };
    let last = match last {
        Ok(()) => json!({"type": "end"}),
        Err(message) => json!({"type": "error", "message": one_line(&message)}),
    };
    say(&mut writer, &last).await
}

async fn say(writer: &mut OwnedWriteHalf, value: &Value) -> io::Result<()> {
    writer.write_all(format!("{value}\n").as_bytes()).await
}

/// Does what was asked; the inner error is for who asked.
async fn carry_out(request: Request, daemon: &Daemon, writer: &mut OwnedWriteHalf) -> io::Result<Result<(), String>> {
    let not_attached = || {
        let why = daemon.status().session.why;
        Err(format!("not attached to the coordinator{}{why}", if why.is_empty() { "" } else { ": " }))
    };
    match request {
        Request::Status => say(writer, &status(daemon)).await?,
        Request::Health if daemon.uplink().is_some() => {}
        Request::Health => return Ok(not_attached()),
        Request::Pause => return Ok(daemon.set_paused(true)),
        Request::Resume => return Ok(daemon.set_paused(false)),
        Request::Sync { .. } | Request::Results { .. } | Request::Received if daemon.uplink().is_none() => {
            return Ok(not_attached());
        }
        Request::Sync { repositories } => return sync(&repositories, daemon, writer).await,
        Request::Received => {
            let Some(uplink) = daemon.uplink() else { return Ok(not_attached()) };
            match uplink.received().await {
                Err(error) => return Ok(Err(error.to_string())),
                Ok(indexes) => {
                    for index in indexes {
                        let row = json!({
                            "type": "index", "repository": one_line(&index.repository),
                            "method_id": index.method_id, "epoch": index.epoch, "batches": index.batches,
                            "body_bytes": index.body_bytes, "head": index.head,
                        });
                        say(writer, &row).await?;
                    }
                }
            }
        }
        Request::Results { scan } => {
            let Some(uplink) = daemon.uplink() else { return Ok(not_attached()) };
            let mut rows = match uplink.results(scan).await {
                Ok(rows) => rows,
                Err(error) => return Ok(Err(error.to_string())),
            };
            loop {
                match rows.message().await {
                    Ok(Some(response)) => match serde_json::from_str::<Value>(&response.row) {
                        Ok(row) => say(writer, &json!({"type": "row", "row": row})).await?,
                        Err(_) => return Ok(Err("the coordinator sent a row that is no JSON".to_owned())),
                    },
                    Ok(None) => break,
                    Err(status) => return Ok(Err(SiteError::Session(Box::new(status)).to_string())),
                }
            }
        }
    }
    Ok(Ok(()))
}

fn status(daemon: &Daemon) -> Value {
    let certificate = daemon.certificate();
    json!({
        "type": "status",
        "status": daemon.status(),
        "ledger": daemon.ledger.totals(),
        "generation": daemon.site.config.presence.map(|presence| presence.generation),
        "certificate_ends": certificate.as_ref().map(|(ends, _)| ends),
        "certificate_words": certificate.as_ref().map(|(_, words)| words),
        "key_fingerprint": daemon.site.config.key.fingerprint().to_string(),
    })
}

async fn sync(repositories: &[String], daemon: &Daemon, writer: &mut OwnedWriteHalf) -> io::Result<Result<(), String>> {
    let offered = || daemon.site.config.repositories.iter().map(|(name, _)| name.clone());
    let mut named: Vec<RepositoryName> = Vec::new();
    for name in repositories {
        match offered().find(|offered| offered.as_str() == name) {
            Some(name) => named.push(name),
            None => return Ok(Err(format!("this site offers no repository `{}`", one_line(name)))),
        }
    }
    if repositories.is_empty() {
        named.extend(offered());
    }
    let mut failed = 0;
    for repository in named {
        let syncs = match daemon.own_syncs(&repository) {
            Ok(syncs) => syncs,
            Err(error) => return Ok(Err(error.to_string())),
        };
        if syncs.is_empty() {
            let row = json!({"type": "never", "repository": repository.as_str()});
            say(writer, &row).await?;
        }
        for mut sync in syncs {
            let mut interval = tokio::time::interval(PROGRESS_INTERVAL);
            let ended = loop {
                tokio::select! {
                    ended = &mut sync.answer => break ended,
                    _ = interval.tick() => {
                        let counters = &sync.counters;
                        let row = json!({
                            "type": "progress", "repository": repository.as_str(), "method": sync.method,
                            "chunk_bytes": sync.chunk_bytes,
                            "documents": counters.documents_done.load(Ordering::Relaxed),
                            "read_bytes": counters.read_bytes.load(Ordering::Relaxed),
                            "sent_bytes": counters.sent_bytes.load(Ordering::Relaxed),
                        });
                        say(writer, &row).await?;
                    }
                }
            };
            let row = match ended {
                Ok(Ok(finished)) => json!({
                    "type": "done", "repository": repository.as_str(), "method": sync.method,
                    "chunk_bytes": sync.chunk_bytes, "documents": finished.documents,
                    "unreadable": finished.unreadable, "read_bytes": finished.summary.read_bytes,
                    "read_documents": finished.summary.read_documents, "sent_bytes": finished.summary.sent_bytes,
                }),
                other => {
                    failed += 1;
                    let unfulfilled = other.ok().and_then(Result::err);
                    let mismatch = unfulfilled.as_ref().is_some_and(|unfulfilled| unfulfilled.mismatch);
                    let why = unfulfilled.map_or_else(|| "the session ended".to_owned(), |unfulfilled| unfulfilled.why);
                    json!({
                        "type": "failed", "repository": repository.as_str(), "method": sync.method,
                        "chunk_bytes": sync.chunk_bytes, "message": one_line(&why), "mismatch": mismatch,
                    })
                }
            };
            say(writer, &row).await?;
        }
    }
    Ok(if failed == 0 { Ok(()) } else { Err(format!("{failed} of the syncs failed")) })
}

/// Asks a daemon, and hands the lines of its answer to `each`.
///
/// # Errors
/// When there is no daemon (`NotFound` or `ConnectionRefused`) or it goes away; within: what the daemon said is wrong.
pub fn ask(
    socket: &Path,
    request: &Request,
    mut each: impl FnMut(Value) -> io::Result<()>,
) -> io::Result<Result<(), String>> {
    use std::io::{BufRead as _, Write as _};
    let mut stream = std::os::unix::net::UnixStream::connect(socket)?;
    let line = serde_json::to_string(request).map_err(io::Error::other)?;
    stream.write_all(format!("{line}\n").as_bytes())?;
    for line in io::BufReader::new(stream).lines() {
        let value: Value = serde_json::from_str(&line?).map_err(io::Error::other)?;
        match value["type"].as_str() {
            Some("end") => return Ok(Ok(())),
            Some("error") => return Ok(Err(value["message"].as_str().unwrap_or_default().to_owned())),
            _ => each(value)?,
        }
    }
    Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the daemon went away"))
}
