//! The daemon: dial, attach, serve, and when it ends, again. In between it syncs on its own schedule, renews its
//! certificate, and answers whoever asks on this machine.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use cognate_proto::dial::DialError;
use cognate_proto::name::RepositoryName;
use cognate_proto::selection::SelectionRule;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tonic::transport::Channel;

use crate::attach::checked::own_job;
use crate::attach::{Memory, SessionEnd, Unfulfilled, Wish, session};
use crate::backoff::{BackOff, Next, at_least, next, next_dial, random};
use crate::board::{Done, Status};
use crate::control;
use crate::enrolment::{Identity, RenewalError};
use crate::error::{SiteError, SyncError};
use crate::ledger::Ledger;
use crate::outgoing::Uplink;
use crate::site::Site;
use crate::sync::{Counters, Finished};

/// How often the schedule and the certificate are looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(30);
/// How long after a failed renewal it is tried again.
const RENEWAL_RETRY: Duration = Duration::from_secs(600);
/// How many wishes may wait for a session.
const WISHES_MAX: usize = 64;

/// Reaches the coordinator.
pub type Dialling = Pin<Box<dyn Future<Output = Result<Channel, DialError>> + Send>>;

/// How the coordinator is reached: with the site's identity, or in a test by any other way.
pub trait Dialer: Send + 'static {
    /// Dials once. Every session gets a connection of its own.
    fn dial(&self) -> Dialling;
    /// What is dialled, for people and for the ledger.
    fn destination(&self) -> String;
    /// The coordinator has taken this site in.
    fn accepted(&mut self) {}
    /// The coordinator does not accept this site. Answers whether there is another way to try.
    fn refused(&mut self) -> bool {
        false
    }
    /// The identity that it dials with, where there is one: it is renewed in time.
    fn identity(&mut self) -> Option<&mut Identity> {
        None
    }
}

impl Dialer for Identity {
    fn dial(&self) -> Dialling {
        let dial = Identity::dial(self);
        Box::pin(async move { dial?.connect().await })
    }

    fn destination(&self) -> String {
        self.addresses().join(",")
    }

    fn accepted(&mut self) {
        self.keep();
    }

    fn refused(&mut self) -> bool {
        self.go_back()
    }

    fn identity(&mut self) -> Option<&mut Identity> {
        Some(self)
    }
}

/// What a daemon is told at its start.
pub struct DaemonConfig {
    /// Which repositories sync by themselves, and how often.
    pub schedule: Vec<(RepositoryName, Duration)>,
    /// The socket on which it answers.
    pub socket: PathBuf,
    /// How long a stop may take.
    pub drain: Duration,
}

/// A running daemon, as those see it who ask it something.
pub(crate) struct Daemon {
    pub(crate) site: Arc<Site>,
    pub(crate) ledger: Arc<Ledger>,
    wishes: mpsc::Sender<Wish>,
    /// The connection of the session that is attached now.
    uplink: watch::Sender<Option<Uplink>>,
    /// Until when the certificate holds, and the words of its key.
    certificate: watch::Sender<Option<(i64, String)>>,
}

impl Daemon {
    /// The board, with what only the daemon knows.
    pub(crate) fn status(&self) -> Status {
        Status {
            paused: self.site.pace.is_paused(),
            outside_hours: !self.site.pace.is_within_hours(),
            ..self.site.board.status()
        }
    }

    /// Pauses the site, or lets it go on, also over a restart.
    pub(crate) fn set_paused(&self, paused: bool) -> Result<(), String> {
        let marker = paused_marker(&self.site.config.state_dir);
        let done = match paused {
            true => crate::state::write_whole(&marker, b"paused by `worker pause`\n"),
            false => match std::fs::remove_file(&marker) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        };
        done.map_err(|error| format!("`{}`: {error}", marker.display()))?;
        self.site.pace.set_paused(paused);
        Ok(())
    }

    pub(crate) fn certificate(&self) -> Option<(i64, String)> {
        self.certificate.borrow().clone()
    }

    /// The connection to the coordinator, if there is one.
    pub(crate) fn uplink(&self) -> Option<Uplink> {
        self.uplink.borrow().clone()
    }

    /// Syncs a repository under every method that it was synced with before, by the site's own wish.
    pub(crate) fn own_syncs(&self, repository: &RepositoryName) -> Result<Vec<OwnSync>, SyncError> {
        let mut syncs = Vec::new();
        for done in self.site.board.done(repository) {
            let Some(method) = done.method() else { continue };
            let job = own_job(&self.site, repository.clone(), method, done.selection(), done.follow_symlinks);
            match job {
                // Another key, or another version of the recipe: that index is not made here any more.
                Ok(job) if job.method_id.to_string() != done.method_id => {}
                Ok(job) => syncs.push(self.wish(job)),
                Err(error) => return Err(error),
            }
        }
        if syncs.is_empty() {
            // Only to say what is wrong with it, where something is.
            let method = cognate_fingerprint::Method::tttd(cognate_fingerprint::View::Raw, 1000).expect("in range");
            own_job(&self.site, repository.clone(), method, SelectionRule::default(), false)?;
        }
        Ok(syncs)
    }

    /// Whether the last sync of a repository is so long ago. One that was never synced is not due: nobody has asked for it.
    fn is_due(&self, repository: &RepositoryName, every: Duration) -> bool {
        let now = self.site.board.now();
        let every = i64::try_from(every.as_secs()).unwrap_or(i64::MAX);
        let last = |done: &Done| done.finished.max(done.failed).unwrap_or(0);
        self.site.board.done(repository).iter().any(|done| now.saturating_sub(last(done)) >= every)
    }

    fn wish(&self, job: crate::sync::Job) -> OwnSync {
        let (done, answer) = oneshot::channel();
        let counters = Arc::new(Counters::default());
        let method = job.method.name().to_owned();
        let chunk_bytes = job.method.chunk_bytes();
        let wish = Wish { job, counters: Arc::clone(&counters), done };
        // A queue that is full is the same to whoever waits as a session that ended.
        let _ = self.wishes.try_send(wish);
        OwnSync { method, chunk_bytes, counters, answer }
    }
}

/// A sync that was wished for.
pub(crate) struct OwnSync {
    pub(crate) method: String,
    pub(crate) chunk_bytes: u32,
    pub(crate) counters: Arc<Counters>,
    pub(crate) answer: oneshot::Receiver<Result<Finished, Unfulfilled>>,
}

/// Runs the daemon of a site until `shutdown` resolves. Syncs under way are then stopped where they are; what was sent
/// stays, and what was read is remembered.
///
/// # Errors
/// When the ledger cannot be written, this site is not welcome any more, or the socket cannot be had.
pub async fn run_daemon(
    site: Arc<Site>,
    ledger: Arc<Ledger>,
    mut dialer: impl Dialer,
    config: DaemonConfig,
    shutdown: impl Future<Output = ()>,
) -> Result<(), SiteError> {
    let (wishes, mut waiting) = mpsc::channel(WISHES_MAX);
    site.pace.set_paused(paused_marker(&site.config.state_dir).try_exists().unwrap_or(false));
    let certificate = dialer.identity().and_then(|identity| told(identity));
    let daemon = Arc::new(Daemon {
        site: Arc::clone(&site),
        ledger: Arc::clone(&ledger),
        wishes,
        uplink: watch::Sender::new(None),
        certificate: watch::Sender::new(certificate),
    });
    let listener = control::listen(&config.socket)?;
    let answering = tokio::spawn(control::serve(listener, Arc::clone(&daemon)));
    let dialer = Arc::new(Mutex::new(dialer));
    let chores = tokio::spawn(chores(Arc::clone(&daemon), Arc::clone(&dialer), config.schedule));
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
                    tracing::warn!("what is under way does not stop in time and is left; nothing of it is lost");
                    Ok(())
                })
            }
        }
    };
    chores.abort();
    answering.abort();
    // Gone with the daemon: whoever asks next is told that there is none.
    let _ = std::fs::remove_file(&config.socket);
    if ended.is_ok() {
        site.board.detached("the daemon is not running", None);
    }
    let synced = ledger.sync().map_err(SiteError::from);
    ended.and(synced)
}

/// The file that stands for a pause.
fn paused_marker(state_dir: &Path) -> PathBuf {
    state_dir.join("paused")
}

fn told(identity: &Identity) -> Option<(i64, String)> {
    Some((identity.info().ok()?.not_after, identity.key().words()))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics while it is held")
}

/// Resolves once somebody wants to stop.
async fn stopping(mut stopped: watch::Receiver<bool>) {
    // A sender that is gone has nobody left to serve either.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Session after session.
async fn serve<D: Dialer>(
    daemon: &Arc<Daemon>,
    dialer: &Mutex<D>,
    wishes: &mut mpsc::Receiver<Wish>,
    stopped: watch::Receiver<bool>,
) -> Result<(), SiteError> {
    let board = &daemon.site.board;
    let memory = Memory::default();
    let mut back_off = BackOff::default();
    loop {
        let taken_in = AtomicBool::new(false);
        let ended = one_session(daemon, dialer, &memory, wishes, &stopped, &taken_in).await;
        daemon.uplink.send_replace(None);
        // Whoever waits for a sync waited for this session, not for the next one.
        while wishes.try_recv().is_ok() {}
        // A coordinator that takes the site in and then breaks the rules is waited for longer each time.
        if taken_in.into_inner() && !matches!(ended, Err(SiteError::Violation(_))) {
            back_off.reset();
        }
        let (wait, why) = match ended {
            Ok(SessionEnd::Shutdown) => return Ok(()),
            Ok(SessionEnd::Drained(asked)) => {
                (BackOff::after_drain(asked, random()), "the coordinator asked to come back later".to_owned())
            }
            Ok(SessionEnd::Closed) => (back_off.next(random()), "the coordinator ended the session".to_owned()),
            Err(error) => {
                let why = error.to_string();
                let Some(least) = least_wait(&error, dialer) else {
                    board.detached(&why, None);
                    return Err(error);
                };
                (back_off.next(random()).max(least), why)
            }
        };
        let next_attempt = board.now().saturating_add(i64::try_from(wait.as_secs()).unwrap_or(i64::MAX));
        board.detached(&why, Some(next_attempt));
        tracing::warn!(why, wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX), "not attached");
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stopping(stopped.clone()) => return Ok(()),
        }
    }
}

/// How long to wait at least after a failure; `None`: trying again is of no use.
fn least_wait<D: Dialer>(error: &SiteError, dialer: &Mutex<D>) -> Option<Duration> {
    let verdict = match error {
        SiteError::Session(status) => next(status),
        SiteError::Dial(error) => next_dial(error),
        SiteError::Violation(_) | SiteError::Silent { .. } => Next::Again,
        _ => return None,
    };
    match verdict {
        Next::Refused if !lock(dialer).refused() => return None,
        Next::Clone => {
            tracing::error!("another worker runs with a copy of this site's state: stop one of them");
        }
        _ => {}
    }
    Some(at_least(verdict))
}

async fn one_session<D: Dialer>(
    daemon: &Daemon,
    dialer: &Mutex<D>,
    memory: &Memory,
    wishes: &mut mpsc::Receiver<Wish>,
    stopped: &watch::Receiver<bool>,
    taken_in: &AtomicBool,
) -> Result<SessionEnd, SiteError> {
    let (dialling, destination) = {
        let dialer = lock(dialer);
        (dialer.dial(), dialer.destination())
    };
    daemon.site.board.dialling(&destination);
    let channel = tokio::select! {
        dialled = dialling => dialled?,
        () = stopping(stopped.clone()) => return Ok(SessionEnd::Shutdown),
    };
    let uplink = Uplink::new(channel, Arc::clone(&daemon.ledger), &destination);
    let welcomed = || {
        taken_in.store(true, Ordering::Relaxed);
        lock(dialer).accepted();
        daemon.uplink.send_replace(Some(uplink.clone()));
    };
    session(&daemon.site, &uplink, memory, wishes, &welcomed, stopping(stopped.clone())).await
}

/// What is done beside the sessions: syncs on the site's own schedule, and the renewal of the certificate.
async fn chores<D: Dialer>(daemon: Arc<Daemon>, dialer: Arc<Mutex<D>>, schedule: Vec<(RepositoryName, Duration)>) {
    let shortest = schedule.iter().map(|(_, every)| *every / 2).min().unwrap_or(LOOK_INTERVAL);
    let interval = shortest.clamp(Duration::from_millis(500), LOOK_INTERVAL);
    let mut wished: HashMap<RepositoryName, Instant> = HashMap::new();
    let mut renewal = Renewal::default();
    loop {
        tokio::time::sleep(interval).await;
        let Some(uplink) = daemon.uplink() else { continue };
        renewal.look(&daemon, &dialer, &uplink).await;
        for (repository, every) in &schedule {
            let is_new = wished.get(repository).is_none_or(|last| last.elapsed() >= *every);
            if is_new && !daemon.site.pace.is_paused() && daemon.is_due(repository, *every) {
                wished.insert(repository.clone(), Instant::now());
                // What becomes of them stands on the board.
                if let Err(error) = daemon.own_syncs(repository) {
                    tracing::warn!(%error, %repository, "a scheduled sync cannot be done");
                }
            }
        }
    }
}

/// The renewal of one certificate after the other.
#[derive(Default)]
struct Renewal {
    /// The end of the certificate that this is about, and when it is to be renewed; seconds since 1970.
    planned: Option<(i64, i64)>,
    failed: Option<Instant>,
}

impl Renewal {
    async fn look<D: Dialer>(&mut self, daemon: &Daemon, dialer: &Mutex<D>, uplink: &Uplink) {
        let planned = lock(dialer).identity().and_then(|identity| {
            let not_after = identity.info().ok()?.not_after;
            let kept = self.planned.filter(|(planned_for, _)| *planned_for == not_after);
            Some(kept.unwrap_or_else(|| (not_after, identity.renew_at(random()))))
        });
        self.planned = planned;
        let Some((_, renew_at)) = planned else { return };
        let waits = self.failed.is_some_and(|failed| failed.elapsed() < RENEWAL_RETRY);
        if waits || daemon.site.board.now() < renew_at {
            return;
        }
        match renew(dialer, uplink).await {
            Ok(certificate) => {
                tracing::info!("the certificate was renewed");
                daemon.certificate.send_replace(certificate);
                self.failed = None;
            }
            Err(error) => {
                tracing::warn!(%error, "the certificate could not be renewed; it is tried again");
                self.failed = Some(Instant::now());
            }
        }
    }
}

/// Gets a certificate for a new key. The session that is under way goes on with the old one; the next dials with the new.
async fn renew<D: Dialer>(dialer: &Mutex<D>, uplink: &Uplink) -> Result<Option<(i64, String)>, RenewalError> {
    let begun = lock(dialer).identity().map(|identity| identity.begin_renewal()).transpose()?;
    let Some((key, request)) = begun else { return Ok(None) };
    let answer = uplink.renew(request).await?;
    let mut dialer = lock(dialer);
    let Some(identity) = dialer.identity() else { return Ok(None) };
    identity.finish_renewal(key, answer)?;
    Ok(told(identity))
}
