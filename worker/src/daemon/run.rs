//! Starts the parts of a daemon, and stops them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cognate_proto::name::RepositoryName;
use tokio::sync::{mpsc, watch};

use super::control_server;
use super::dialer::{Dialer, certificate_status};
use super::handle::{Daemon, paused_marker};
use super::schedule::run_schedule;
use super::sessions::serve;
use crate::error::SiteError;
use crate::ledger::Ledger;
use crate::off_tasks::off_tasks;
use crate::session::site::Site;

/// Number of sync requests that may wait for a session.
const REQUESTS_MAX: usize = 64;

/// Configuration of a daemon.
pub struct DaemonConfig {
    /// The repositories that sync on a schedule, with their intervals.
    pub schedule: Vec<(RepositoryName, Duration)>,
    /// The control socket.
    pub socket: PathBuf,
    /// Longest duration of a stop.
    pub drain: Duration,
}

/// Runs the daemon of a site until `shutdown` resolves. Running syncs then stop where they are. What was sent stays valid,
/// and what was read is remembered.
///
/// # Errors
/// If the ledger cannot be written, the coordinator does not accept this site any more, or the socket cannot be opened.
pub async fn run_daemon(
    site: Arc<Site>,
    ledger: Arc<Ledger>,
    mut dialer: impl Dialer,
    config: DaemonConfig,
    shutdown: impl Future<Output = ()>,
) -> Result<(), SiteError> {
    let (requests, mut waiting) = mpsc::channel(REQUESTS_MAX);
    site.pace.set_paused(paused_marker(&site.config.state_dir).try_exists().unwrap_or(false));
    let certificate = dialer.identity().and_then(|identity| certificate_status(identity));
    let daemon = Arc::new(Daemon {
        site: Arc::clone(&site),
        ledger: Arc::clone(&ledger),
        requests,
        connection: watch::Sender::new(None),
        certificate: watch::Sender::new(certificate),
    });
    let listener = control_server::listen(&config.socket)?;
    let control = tokio::spawn(control_server::serve(listener, Arc::clone(&daemon)));
    let dialer = Arc::new(Mutex::new(dialer));
    let schedule = tokio::spawn(run_schedule(Arc::clone(&daemon), Arc::clone(&dialer), config.schedule));
    let (stop, stopped) = watch::channel(false);
    let ended = {
        let serving = serve(&daemon, &dialer, &mut waiting, stopped);
        tokio::pin!(serving);
        tokio::select! {
            ended = &mut serving => ended,
            () = shutdown => {
                tracing::info!("stopping");
                stop.send_replace(true);
                let drained = tokio::time::timeout(config.drain, &mut serving).await;
                drained.unwrap_or_else(|_| {
                    tracing::warn!("running syncs do not stop in time and are abandoned; nothing is lost");
                    Ok(())
                })
            }
        }
    };
    schedule.abort();
    control.abort();
    // Without the socket, the next request fails at once.
    let _ = std::fs::remove_file(&config.socket);
    if ended.is_ok() {
        site.status.detached("the daemon is not running", None);
    }
    let synced = off_tasks(move || {
        // What is shown without a daemon is there before it has ended.
        site.status.save_now();
        ledger.sync().map_err(SiteError::from)
    })
    .await;
    ended.and(synced)
}
