//! The session with the coordinator: say hello, carry out assignments one after the other, tell how far they are.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cognate_fingerprint::Method;
use cognate_proto::limits::MESSAGE_BYTES_MAX;
use cognate_proto::name::{RepositoryName, one_line};
use cognate_proto::selection::Selection;
use cognate_proto::v1::attach_request::Message as Up;
use cognate_proto::v1::attach_response::Message as Down;
use cognate_proto::v1::worker_client::WorkerClient;
use cognate_proto::v1::{Assignment, AttachRequest, Hello, SyncEnded, SyncProgress};
use cognate_proto::{PROTOCOL, spec};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;

use crate::error::{SiteError, SyncError};
use crate::sync::{Counters, Job, Link, Site};

/// How often a sync tells how far it is.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Attaches the site to the coordinator at the other end of `channel`, and serves it until it says drain, goes away, or
/// `shutdown` resolves. Syncs under way are then cancelled and waited for; what was sent stays, and the next session
/// goes on from there.
///
/// # Errors
/// When the session cannot be had or breaks.
pub async fn run(site: Arc<Site>, channel: Channel, shutdown: impl Future<Output = ()>) -> Result<(), SiteError> {
    let (up, outgoing) = mpsc::channel(16);
    up.send(request(Up::Hello(hello(&site)))).await.expect("the receiver is at hand");
    let mut client = WorkerClient::new(channel.clone()).max_decoding_message_size(MESSAGE_BYTES_MAX);
    let session = |status| SiteError::Session(Box::new(status));
    let mut down = client.attach(ReceiverStream::new(outgoing)).await.map_err(session)?.into_inner();
    let mut session_state = Session {
        site,
        channel,
        up,
        cancels: HashMap::new(),
        tasks: JoinSet::new(),
        turn: Arc::new(Semaphore::new(1)),
    };
    tokio::pin!(shutdown);
    let ended = loop {
        tokio::select! {
            () = &mut shutdown => break Ok(()),
            message = down.message() => match message {
                Ok(None) => break Ok(()),
                Ok(Some(response)) => match response.message {
                    Some(Down::Drain(_)) => break Ok(()),
                    Some(message) => session_state.obey(message),
                    // A message kind of tomorrow: nothing that this build could be asked to do.
                    None => {}
                },
                Err(status) => break Err(session(status)),
            },
        }
    };
    session_state.finish().await;
    ended
}

struct Session {
    site: Arc<Site>,
    channel: Channel,
    up: mpsc::Sender<AttachRequest>,
    cancels: HashMap<u64, Arc<AtomicBool>>,
    tasks: JoinSet<()>,
    /// Syncs are carried out one after the other: each uses all threads that the site allows.
    turn: Arc<Semaphore>,
}

impl Session {
    fn obey(&mut self, message: Down) {
        match message {
            Down::Assignment(assignment) => self.start(assignment),
            Down::Cancel(cancel) => {
                if let Some(cancelled) = self.cancels.get(&cancel.assignment) {
                    cancelled.store(true, Ordering::Relaxed);
                }
            }
            Down::Welcome(welcome) => tracing::debug!(protocol = welcome.protocol, "attached"),
            Down::Result(notice) => tracing::info!(scan = notice.scan, "a scan that concerns this site has ended"),
            Down::Credit(_) | Down::Resend(_) | Down::KeepAlive(_) => {}
            Down::Drain(_) => unreachable!("the session ends there"),
        }
    }

    fn start(&mut self, assignment: Assignment) {
        let cancelled = Arc::new(AtomicBool::new(false));
        self.cancels.insert(assignment.assignment, Arc::clone(&cancelled));
        let (site, channel, up) = (Arc::clone(&self.site), self.channel.clone(), self.up.clone());
        let turn = Arc::clone(&self.turn);
        self.tasks.spawn(async move {
            let number = assignment.assignment;
            let _turn = turn.acquire().await.expect("the semaphore is never closed");
            let result = carry_out(&site, channel, &up, assignment, cancelled).await;
            let (failure, summary) = match result {
                Ok(summary) => (String::new(), Some(summary)),
                Err(error) => {
                    tracing::warn!(%error, "a sync failed");
                    (one_line(&error.to_string()), None)
                }
            };
            // Without a session there is nobody left to tell.
            let _ = up.send(request(Up::Ended(SyncEnded { assignment: number, failure, summary }))).await;
        });
    }

    async fn finish(mut self) {
        self.cancels.values().for_each(|cancelled| cancelled.store(true, Ordering::Relaxed));
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Runs a sync on a thread that may block, and reports how far it is while it runs.
async fn carry_out(
    site: &Arc<Site>,
    channel: Channel,
    up: &mpsc::Sender<AttachRequest>,
    assignment: Assignment,
    cancelled: Arc<AtomicBool>,
) -> Result<cognate_proto::v1::SyncSummary, SyncError> {
    let number = assignment.assignment;
    let job = checked(site, assignment)?;
    let counters = Arc::new(Counters::default());
    let mut sync = {
        let (site, counters) = (Arc::clone(site), Arc::clone(&counters));
        tokio::task::spawn_blocking(move || {
            let runtime = tokio::runtime::Handle::current();
            site.sync(&job, &Link { runtime: &runtime, channel: &channel }, &counters, &cancelled)
        })
    };
    let mut interval = tokio::time::interval(PROGRESS_INTERVAL);
    loop {
        tokio::select! {
            ended = &mut sync => {
                let _ = up.send(request(Up::Progress(progress(number, &counters)))).await;
                return ended.unwrap_or(Err(SyncError::Crashed));
            }
            _ = interval.tick() => {
                let _ = up.send(request(Up::Progress(progress(number, &counters)))).await;
            }
        }
    }
}

/// An assignment is a wish: what this site does not offer, it refuses.
fn checked(site: &Site, assignment: Assignment) -> Result<Job, SyncError> {
    let refused = |error: &dyn std::fmt::Display| SyncError::Assignment(error.to_string());
    let repository: RepositoryName = assignment.repository.parse().map_err(|error| refused(&error))?;
    let offered = site.config.repositories.iter().find(|(name, _)| *name == repository);
    let Some((_, path)) = offered else { return Err(SyncError::UnknownRepository(repository)) };
    let wanted = assignment.method.ok_or_else(|| refused(&"it names no method"))?;
    let method = Method::try_from(&wanted).map_err(|error| refused(&error))?;
    let method_id = method.id(&site.config.key);
    if !wanted.method_id.is_empty() {
        let expected = spec::method_id(&wanted.method_id).map_err(|error| refused(&error))?;
        if expected != method_id {
            return Err(SyncError::MethodId { expected: expected.to_string(), own: method_id.to_string() });
        }
    }
    let selection = Selection::try_from(assignment.selection.unwrap_or_default()).map_err(|error| refused(&error))?;
    Ok(Job {
        assignment: assignment.assignment,
        path: path.clone(),
        repository,
        method,
        method_id,
        selection: Arc::new(selection),
        follow_symlinks: assignment.follow_symlinks,
    })
}

fn hello(site: &Site) -> Hello {
    Hello {
        protocol_min: *PROTOCOL.start(),
        protocol_max: *PROTOCOL.end(),
        key_fingerprint: site.config.key.fingerprint().0.to_vec(),
        repositories: site.config.repositories.iter().map(|(name, _)| name.to_string()).collect(),
        software: env!("CARGO_PKG_VERSION").to_owned(),
        ..Hello::default()
    }
}

fn progress(assignment: u64, counters: &Counters) -> SyncProgress {
    let of = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    SyncProgress {
        assignment,
        entries_seen: of(&counters.entries_seen),
        documents_done: of(&counters.documents_done),
        read_bytes: of(&counters.read_bytes),
        sent_bytes: of(&counters.sent_bytes),
        walk_finished: counters.walk_finished.load(Ordering::Relaxed),
    }
}

fn request(message: Up) -> AttachRequest {
    AttachRequest { message: Some(message) }
}
