//! The control socket of a running daemon: the end of the server. [`crate::control`] describes the protocol.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cognate_proto::name::{RepositoryName, one_line};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};

use super::handle::{Daemon, OwnSync};
use crate::control::Request;
use crate::error::SiteError;
use crate::sending::connection::Connection;
use crate::session::own_sync::OwnSyncFailure;
use crate::sync::job::SyncOutcome;

/// The longest request.
const REQUEST_BYTES_MAX: u64 = 64 << 10;
/// Longest wait for a request.
const REQUEST_MAX: Duration = Duration::from_secs(10);
/// Interval of progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// An answer: the outer error is one of the socket, the inner one is for the client.
type Answer = io::Result<Result<(), String>>;

/// Listens on a socket. The lock of the state folder shows that no other daemon uses it, so an old socket is replaced.
pub(super) fn listen(socket: &Path) -> Result<UnixListener, SiteError> {
    let state = |source| SiteError::State { path: socket.to_owned(), source };
    match std::fs::remove_file(socket) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(state(error)),
        _ => {}
    }
    let listener = UnixListener::bind(socket).map_err(state)?;
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600)).map_err(state)?;
    Ok(listener)
}

/// Answers all requests.
pub(super) async fn serve(listener: UnixListener, daemon: Arc<Daemon>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let daemon = Arc::clone(&daemon);
                // A client that hangs up needs no answer.
                tokio::spawn(async move { answer(stream, &daemon).await });
            }
            Err(error) => {
                tracing::warn!(%error, "the control socket accepts no connection at the moment");
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
        Err(error) => Err(format!("the request is not valid: {error}")),
    };
    let last = match last {
        Ok(()) => json!({"type": "end"}),
        Err(message) => json!({"type": "error", "message": one_line(&message)}),
    };
    write_row(&mut writer, &last).await
}

async fn write_row(writer: &mut OwnedWriteHalf, value: &Value) -> io::Result<()> {
    writer.write_all(format!("{value}\n").as_bytes()).await
}

async fn carry_out(request: Request, daemon: &Daemon, writer: &mut OwnedWriteHalf) -> Answer {
    match request {
        Request::Status => write_row(writer, &status(daemon)).await.map(Ok),
        Request::Pause => Ok(daemon.set_paused(true).await),
        Request::Resume => Ok(daemon.set_paused(false).await),
        Request::Health | Request::Sync { .. } | Request::Results { .. } | Request::Received => {
            let Some(connection) = daemon.connection() else { return Ok(not_attached(daemon)) };
            match request {
                Request::Sync { repositories, accept_removals } => {
                    sync(&repositories, accept_removals, daemon, writer).await
                }
                Request::Results { scan } => results(&connection, scan, writer).await,
                Request::Received => received(&connection, writer).await,
                _ => Ok(Ok(())),
            }
        }
    }
}

fn not_attached(daemon: &Daemon) -> Result<(), String> {
    let why = daemon.status().session.why;
    Err(format!("not attached to the coordinator{}{why}", if why.is_empty() { "" } else { ": " }))
}

fn status(daemon: &Daemon) -> Value {
    let certificate = daemon.certificate();
    json!({
        "type": "status",
        "status": daemon.status(),
        "ledger": daemon.ledger.totals(),
        "certificate_ends": certificate.as_ref().map(|(ends, _)| ends),
        "certificate_words": certificate.as_ref().map(|(_, words)| words),
        "key_fingerprint": daemon.site.config.key.fingerprint().to_string(),
    })
}

async fn received(connection: &Connection, writer: &mut OwnedWriteHalf) -> Answer {
    let indexes = match connection.received().await {
        Ok(indexes) => indexes,
        Err(error) => return Ok(Err(error.to_string())),
    };
    for index in indexes {
        let row = json!({
            "type": "index", "repository": one_line(&index.repository),
            "method_id": index.method_id, "epoch": index.epoch, "batches": index.batches,
            "body_bytes": index.body_bytes, "head": index.head,
        });
        write_row(writer, &row).await?;
    }
    Ok(Ok(()))
}

async fn results(connection: &Connection, scan: Option<u64>, writer: &mut OwnedWriteHalf) -> Answer {
    let mut rows = match connection.results(scan).await {
        Ok(rows) => rows,
        Err(error) => return Ok(Err(error.to_string())),
    };
    loop {
        match rows.message().await {
            Ok(Some(response)) => match serde_json::from_str::<Value>(&response.row) {
                Ok(row) => write_row(writer, &json!({"type": "row", "row": row})).await?,
                Err(_) => return Ok(Err("the coordinator sent a row that is not JSON".to_owned())),
            },
            Ok(None) => return Ok(Ok(())),
            Err(status) => return Ok(Err(SiteError::Session(Box::new(status)).to_string())),
        }
    }
}

async fn sync(names: &[String], accepts_removals: bool, daemon: &Daemon, writer: &mut OwnedWriteHalf) -> Answer {
    let offered: Vec<_> = daemon.site.config.repositories.iter().map(|(name, _)| name.clone()).collect();
    let repositories = match selected(names, &offered) {
        Ok(repositories) => repositories,
        Err(error) => return Ok(Err(error)),
    };
    let mut failed = 0;
    for repository in repositories {
        let syncs = match daemon.request_syncs(&repository, accepts_removals) {
            Ok(syncs) => syncs,
            Err(error) => return Ok(Err(error.to_string())),
        };
        if syncs.is_empty() {
            write_row(writer, &json!({"type": "never", "repository": repository.as_str()})).await?;
        }
        for sync in syncs {
            let has_succeeded = follow(sync, &repository, writer).await?;
            failed += usize::from(!has_succeeded);
        }
    }
    Ok(if failed == 0 { Ok(()) } else { Err(format!("{failed} of the syncs failed")) })
}

/// The repositories of these names; all repositories if there is no name.
fn selected(names: &[String], offered: &[RepositoryName]) -> Result<Vec<RepositoryName>, String> {
    if names.is_empty() {
        return Ok(offered.to_vec());
    }
    let find = |name: &String| {
        let repository = offered.iter().find(|offered| offered.as_str() == name).cloned();
        repository.ok_or_else(|| format!("this site offers no repository `{}`", one_line(name)))
    };
    names.iter().map(find).collect()
}

/// Reports the progress of a sync until its end. Returns true if it has succeeded.
async fn follow(mut sync: OwnSync, repository: &RepositoryName, writer: &mut OwnedWriteHalf) -> io::Result<bool> {
    let mut interval = tokio::time::interval(PROGRESS_INTERVAL);
    let ended = loop {
        tokio::select! {
            ended = &mut sync.answer => break ended,
            _ = interval.tick() => write_row(writer, &progress_row(&sync, repository)).await?,
        }
    };
    let ended =
        ended.unwrap_or_else(|_| Err(OwnSyncFailure { reason: "the session ended".to_owned(), is_mismatch: false }));
    write_row(writer, &end_row(&sync, repository, &ended)).await?;
    Ok(ended.is_ok())
}

fn progress_row(sync: &OwnSync, repository: &RepositoryName) -> Value {
    let counters = &sync.counters;
    json!({
        "type": "progress", "repository": repository.as_str(), "method": sync.method,
        "chunk_bytes": sync.chunk_bytes,
        "documents": counters.documents_done.load(Ordering::Relaxed),
        "read_bytes": counters.read_bytes.load(Ordering::Relaxed),
        "sent_bytes": counters.sent_bytes.load(Ordering::Relaxed),
    })
}

fn end_row(sync: &OwnSync, repository: &RepositoryName, ended: &Result<SyncOutcome, OwnSyncFailure>) -> Value {
    match ended {
        Ok(outcome) => json!({
            "type": "done", "repository": repository.as_str(), "method": sync.method,
            "chunk_bytes": sync.chunk_bytes, "documents": outcome.documents,
            "unreadable": outcome.unreadable, "read_bytes": outcome.summary.read_bytes,
            "read_documents": outcome.summary.read_documents, "sent_bytes": outcome.summary.sent_bytes,
        }),
        Err(failure) => json!({
            "type": "failed", "repository": repository.as_str(), "method": sync.method,
            "chunk_bytes": sync.chunk_bytes, "message": one_line(&failure.reason), "mismatch": failure.is_mismatch,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_selects_all_repositories_and_an_unknown_name_is_refused() {
        let offered = ["a", "b"].map(|name| name.parse().unwrap());
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(selected(&[], &offered).unwrap(), offered);
        assert_eq!(selected(&names(&["b"]), &offered).unwrap(), offered[1..]);
        let error = selected(&names(&["b", "c\n"]), &offered).unwrap_err();
        assert!(error.starts_with("this site offers no repository `c"), "{error}");
    }
}
