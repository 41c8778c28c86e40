//! The session with the coordinator: say hello, carry out assignments one after the other, tell how far they are.
//!
//! What the coordinator says is a wish within narrow bounds: what it may not say ends the session, and what this site
//! does not offer or allow is refused with the reason.

pub(crate) mod checked;
mod file_hash;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use cognate_proto::PROTOCOL;
use cognate_proto::limits::WINDOW_BYTES;
use cognate_proto::name::one_line;
use cognate_proto::scope::{Announced, Scope};
use cognate_proto::v1::attach_request::Message as Up;
use cognate_proto::v1::attach_response::Message as Down;
use cognate_proto::v1::{Assignment, AttachRequest, Hello, KeepAlive, Resend, SiteState, SyncEnded, SyncProgress};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tonic::transport::Channel;

use self::checked::{checked, checked_resend};
use crate::backoff::{BackOff, Next, next, random};
use crate::error::{SiteError, SyncError};
use crate::outgoing::{Outgoing, Uplink};
use crate::push::Link;
use crate::site::Site;
use crate::sync::{Counters, Finished, Job};

/// How often a sync tells how far it is within one process, and over a network, where each word is written down.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
const PROGRESS_INTERVAL_REMOTE: Duration = Duration::from_secs(1);
/// After how much silence of its own a site says that it is there.
const KEEP_ALIVE_AFTER: Duration = Duration::from_secs(20);
/// After how much silence the coordinator is taken for gone.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// How long syncs may take to stop before a session is left without them.
const STOP_MAX: Duration = Duration::from_secs(20);
/// How many assignments may wait here; more is no coordinator's honest wish.
const ASSIGNMENTS_MAX: usize = 4096;

/// Attaches the site to the coordinator at the other end of `channel`, and serves it until it says drain, goes away, or
/// `shutdown` resolves. Syncs under way are then cancelled and waited for; what was sent stays, and the next session
/// goes on from there.
///
/// # Errors
/// When the session cannot be had or breaks.
pub async fn run(site: Arc<Site>, channel: Channel, shutdown: impl Future<Output = ()>) -> Result<(), SiteError> {
    let (_wishes, mut none) = mpsc::channel(1);
    let memory = Memory::default();
    session(&site, &Uplink::within(channel), &memory, &mut none, &|| {}, shutdown).await.map(drop)
}

/// How a session came to its end in good order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SessionEnd {
    /// Somebody stopped this site.
    Shutdown,
    /// The coordinator ended the stream.
    Closed,
    /// The coordinator wants to be left alone for a while; how long, if it said so.
    Drained(Option<Duration>),
}

/// A sync that this site itself wants.
pub(crate) struct Wish {
    pub(crate) job: Job,
    pub(crate) counters: Arc<Counters>,
    pub(crate) done: oneshot::Sender<Result<Finished, Unfulfilled>>,
}

/// Why a wish came to nothing.
pub(crate) struct Unfulfilled {
    pub(crate) why: String,
    /// This site's key or parameters are others than those of the other sites.
    pub(crate) mismatch: bool,
}

/// What a process remembers of its sessions: which assignments there have been, so that a word about one that has ended
/// is told from a word about one that never was.
#[derive(Default)]
pub(crate) struct Memory {
    assignments: Mutex<VecDeque<u64>>,
}

impl Memory {
    fn remember(&self, assignment: u64) {
        let mut assignments = self.assignments.lock().expect("nothing panics while it is held");
        if assignments.len() >= ASSIGNMENTS_MAX {
            assignments.pop_front();
        }
        assignments.push_back(assignment);
    }

    fn knows(&self, assignment: u64) -> bool {
        self.assignments.lock().expect("nothing panics while it is held").contains(&assignment)
    }
}

/// One session, from the greeting to the end. `welcomed` is called once the coordinator has taken the site in.
pub(crate) async fn session(
    site: &Arc<Site>,
    uplink: &Uplink,
    memory: &Memory,
    wishes: &mut mpsc::Receiver<Wish>,
    welcomed: &(dyn Fn() + Sync),
    shutdown: impl Future<Output = ()>,
) -> Result<SessionEnd, SiteError> {
    tokio::pin!(shutdown);
    let (up, mut down) = tokio::select! {
        attached = uplink.attach(hello(site)) => attached?,
        () = &mut shutdown => return Ok(SessionEnd::Shutdown),
    };
    let mut session = Session {
        site: Arc::clone(site),
        uplink: uplink.clone(),
        up,
        memory,
        on_welcome: welcomed,
        welcomed: false,
        credit: Arc::new(AtomicU64::new(WINDOW_BYTES)),
        ending: Arc::new(AtomicBool::new(false)),
        cancels: HashMap::new(),
        tasks: JoinSet::new(),
        heard: Instant::now(),
    };
    let mut pauses = site.pace.pauses();
    pauses.mark_unchanged();
    let ended = loop {
        let look = tokio::time::sleep_until(session.next_look());
        let step = tokio::select! {
            () = &mut shutdown => break Ok(SessionEnd::Shutdown),
            message = down.message() => match message {
                Ok(None) => break Ok(SessionEnd::Closed),
                Ok(Some(response)) => session.hear(response.message).await,
                Err(status) => Err(SiteError::Session(Box::new(status))),
            },
            Some(ended) = session.tasks.join_next() => session.put_away(ended),
            Some(wish) = wishes.recv() => session.start_wish(wish),
            Ok(()) = pauses.changed() => {
                let paused = *pauses.borrow_and_update();
                session.up.tell(Up::State(SiteState { paused })).await.map(|()| None).map_err(SiteError::from)
            }
            () = look => session.look(),
        };
        match step {
            Ok(None) => {}
            Ok(Some(end)) => break Ok(end),
            Err(error) => break Err(error),
        }
    };
    session.finish().await;
    ended
}

struct Session<'a> {
    site: Arc<Site>,
    uplink: Uplink,
    up: Outgoing<AttachRequest>,
    memory: &'a Memory,
    on_welcome: &'a (dyn Fn() + Sync),
    welcomed: bool,
    /// How many bytes of a push may be under way, by the coordinator's latest word.
    credit: Arc<AtomicU64>,
    /// The session ends: what is stopped now is to be gone on with in the next.
    ending: Arc<AtomicBool>,
    /// What can be cancelled: assignments that have not ended.
    cancels: HashMap<u64, Arc<AtomicBool>>,
    tasks: JoinSet<(u64, Option<SiteError>)>,
    heard: Instant,
}

type Step = Result<Option<SessionEnd>, SiteError>;

fn violation<T>(what: impl Into<String>) -> Result<T, SiteError> {
    Err(SiteError::Violation(what.into()))
}

impl Session<'_> {
    async fn hear(&mut self, message: Option<Down>) -> Step {
        self.heard = Instant::now();
        // A message kind of tomorrow: nothing that this build could be asked to do.
        let Some(message) = message else { return Ok(None) };
        if self.welcomed == matches!(message, Down::Welcome(_)) {
            return violation(if self.welcomed { "a second welcome" } else { "something before the welcome" });
        }
        match message {
            Down::Welcome(welcome) => {
                if !PROTOCOL.contains(&welcome.protocol) {
                    return violation(format!("protocol {}, which was not on offer", welcome.protocol));
                }
                self.welcomed = true;
                (self.on_welcome)();
                self.site.board.attached(&one_line(&welcome.site));
                tracing::info!(protocol = welcome.protocol, site = one_line(&welcome.site), "attached");
            }
            Down::Assignment(assignment) => self.start(assignment)?,
            Down::Resend(resend) => self.resend(resend).await?,
            Down::FileHashQuery(query) => self.start_query(query)?,
            Down::Cancel(cancel) => match self.cancels.get(&cancel.assignment) {
                Some(cancelled) => cancelled.store(true, Ordering::Relaxed),
                // It has ended in the meantime.
                None if self.memory.knows(cancel.assignment) => {}
                None => return violation(format!("a cancel of assignment {}, which never was", cancel.assignment)),
            },
            Down::Credit(credit) if credit.window_bytes > WINDOW_BYTES => {
                let asked = credit.window_bytes;
                return violation(format!("a credit of {asked} bytes, more than this site's limit of {WINDOW_BYTES}"));
            }
            Down::Credit(credit) => self.credit.store(credit.window_bytes, Ordering::Relaxed),
            Down::Result(notice) => {
                tracing::info!(scan = format!("{:016x}", notice.scan), "a scan that concerns this site has ended");
            }
            Down::Drain(drain) => {
                let wait = Duration::from_millis(drain.retry_after_ms.into());
                return Ok(Some(SessionEnd::Drained(Some(wait).filter(|wait| !wait.is_zero()))));
            }
            Down::KeepAlive(_) => {}
        }
        Ok(None)
    }

    /// When it must be looked whether somebody is still there, on either side.
    fn next_look(&self) -> Instant {
        let speak = self.up.said() + KEEP_ALIVE_AFTER;
        if self.must_be_heard() { speak.min(self.heard + SILENCE_MAX) } else { speak }
    }

    /// Within one process both sides live and die together.
    fn must_be_heard(&self) -> bool {
        self.site.config.presence.is_some()
    }

    fn look(&mut self) -> Step {
        if self.must_be_heard() && self.heard.elapsed() >= SILENCE_MAX {
            return Err(SiteError::Silent { seconds: SILENCE_MAX.as_secs() });
        }
        if self.up.said().elapsed() >= KEEP_ALIVE_AFTER {
            self.up.mention(Up::KeepAlive(KeepAlive {}))?;
            // A stream without room for so little has not moved for a while; the silence will tell.
            self.up.mark_said();
        }
        Ok(None)
    }

    fn start(&mut self, assignment: Assignment) -> Result<(), SiteError> {
        let number = assignment.assignment;
        if number == 0 || self.cancels.contains_key(&number) {
            return violation(format!("assignment {number}, which is not a new number"));
        }
        if self.cancels.len() >= ASSIGNMENTS_MAX {
            return violation(format!("more than {ASSIGNMENTS_MAX} assignments at a time"));
        }
        self.memory.remember(number);
        let work = self.work(number);
        self.tasks.spawn(async move { work.assigned(assignment).await });
        Ok(())
    }

    /// A resend is a sync of an index that this site has sent something of: the outbox knows from where on.
    async fn resend(&mut self, resend: Resend) -> Result<(), SiteError> {
        match checked_resend(&self.site, resend) {
            Ok(assignment) => self.start(assignment),
            Err((number, error)) => {
                tracing::warn!(%error, "a resend is refused");
                self.memory.remember(number);
                let ended = SyncEnded { assignment: number, failure: one_line(&error.to_string()), summary: None };
                Ok(self.up.tell(Up::Ended(ended)).await?)
            }
        }
    }

    fn start_wish(&mut self, wish: Wish) -> Step {
        let work = self.work(0);
        self.tasks.spawn(async move { work.wished(wish).await });
        Ok(None)
    }

    /// What a task works with. One that can be cancelled from outside has a number.
    fn work(&mut self, number: u64) -> Task {
        let cancelled = Arc::new(AtomicBool::new(false));
        // The site's own syncs have no number that the coordinator could name, but they stop with the session as well.
        let key = if number == 0 { own_key(&self.cancels) } else { number };
        self.cancels.insert(key, Arc::clone(&cancelled));
        Task {
            key,
            site: Arc::clone(&self.site),
            link: Link {
                runtime: tokio::runtime::Handle::current(),
                uplink: self.uplink.clone(),
                credit: Arc::clone(&self.credit),
                cancelled,
            },
            up: self.up.clone(),
            ending: Arc::clone(&self.ending),
        }
    }

    fn put_away(&mut self, ended: Result<(u64, Option<SiteError>), tokio::task::JoinError>) -> Step {
        match ended {
            Ok((key, fatal)) => {
                self.cancels.remove(&key);
                fatal.map_or(Ok(None), Err)
            }
            Err(error) => {
                tracing::error!(%error, "a sync crashed");
                Ok(None)
            }
        }
    }

    async fn finish(mut self) {
        self.ending.store(true, Ordering::Relaxed);
        self.cancels.values().for_each(|cancelled| cancelled.store(true, Ordering::Relaxed));
        let all = async { while self.tasks.join_next().await.is_some() {} };
        // One that hangs in the file system cannot be stopped; it sends nothing more, and its turn is not given away.
        if tokio::time::timeout(STOP_MAX, all).await.is_err() {
            tracing::warn!("a sync does not stop: the file system does not answer");
        }
    }
}

/// A number for a sync of the site's own that no assignment has.
fn own_key(taken: &HashMap<u64, Arc<AtomicBool>>) -> u64 {
    (0..=u64::MAX).rev().find(|key| !taken.contains_key(key)).expect("not all numbers are taken")
}

/// One sync on its way.
struct Task {
    key: u64,
    site: Arc<Site>,
    link: Link,
    up: Outgoing<AttachRequest>,
    ending: Arc<AtomicBool>,
}

impl Task {
    async fn assigned(self, assignment: Assignment) -> (u64, Option<SiteError>) {
        let key = self.key;
        let number = assignment.assignment;
        let estimate_only = assignment.estimate_only;
        let (up, ending) = (self.up.clone(), Arc::clone(&self.ending));
        let result = match checked(&self.site, assignment) {
            Err(error) => Err(error),
            Ok(job) if estimate_only => self.estimate(job).await,
            Ok(job) => self.carry_out(Arc::new(job), Arc::default()).await.map(|finished| finished.summary),
        };
        if ending.load(Ordering::Relaxed) && matches!(result, Err(SyncError::Cancelled | SyncError::Push(_))) {
            // It has not failed: the coordinator asks for it again in the next session.
            return (key, None);
        }
        let (failure, summary, fatal) = match result {
            Ok(summary) => (String::new(), Some(summary), None),
            Err(error) => {
                tracing::warn!(%error, assignment = format!("{number:016x}"), "a sync failed");
                (one_line(&error.to_string()), None, fatal(error))
            }
        };
        let told = up.tell(Up::Ended(SyncEnded { assignment: number, failure, summary })).await;
        (key, fatal.or(told.err().map(SiteError::from)))
    }

    async fn wished(self, wish: Wish) -> (u64, Option<SiteError>) {
        let key = self.key;
        let up = self.up.clone();
        let result = self.carry_out(Arc::new(wish.job), wish.counters).await;
        let (failure, summary) = match &result {
            Ok(finished) => (String::new(), Some(finished.summary.clone())),
            Err(error) => {
                tracing::warn!(%error, "a sync of the site's own failed");
                (one_line(&error.to_string()), None)
            }
        };
        let told = up.tell(Up::Ended(SyncEnded { assignment: 0, failure: failure.clone(), summary })).await;
        let (answer, fatal) = match result {
            Ok(finished) => (Ok(finished), None),
            Err(error) => (Err(Unfulfilled { why: failure, mismatch: error.is_mismatch() }), fatal(error)),
        };
        // Whoever wished for it may not care any more.
        let _ = wish.done.send(answer);
        (key, fatal.or(told.err().map(SiteError::from)))
    }

    async fn estimate(self, job: Job) -> Result<cognate_proto::v1::SyncSummary, SyncError> {
        let Task { site, link, .. } = self;
        let estimating = tokio::task::spawn_blocking(move || site.estimate(&job, &link.cancelled));
        estimating.await.unwrap_or(Err(SyncError::Crashed))
    }

    /// Runs a sync once it is its turn, and tells how far it is while it runs. What may pass is tried again for as long as
    /// the session lasts.
    async fn carry_out(self, job: Arc<Job>, counters: Arc<Counters>) -> Result<Finished, SyncError> {
        let cancelled = Arc::clone(&self.link.cancelled);
        let turn = until(&cancelled, Arc::clone(&self.site.turn).acquire_owned()).await?;
        let turn = Arc::new(turn.expect("the semaphore is never closed"));
        let mut back_off = BackOff::default();
        loop {
            until(&cancelled, self.site.pace.open()).await?;
            let place = self.site.board.begin(&job, &counters);
            let result = self.attempt(&job, &counters, &turn).await;
            let told = result.as_ref().map_err(ToString::to_string);
            self.site.board.end(place, &job, told.as_ref().map(|finished| *finished).map_err(String::as_str));
            let least = match &result {
                Err(SyncError::Push(status)) => match next(status) {
                    Next::Again => Duration::ZERO,
                    Next::NotBefore(least) => least,
                    _ => return result,
                },
                _ => return result,
            };
            let wait = back_off.next(random()).max(least);
            let error = told.err().unwrap_or_default();
            tracing::warn!(error, repository = %job.repository, wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX), "a sync is tried again");
            until(&cancelled, tokio::time::sleep(wait)).await?;
        }
    }

    /// Asks which contents a refinement is about. Only whoever's turn it is asks: so one scope is held at a time.
    async fn scope(&self, assignment: u64, refinement: Announced) -> Result<Scope, SyncError> {
        let asking = self.link.uplink.scope(assignment, refinement);
        until(&self.link.cancelled, asking).await?
    }

    /// Runs a sync on a thread that may block.
    async fn attempt(
        &self,
        job: &Arc<Job>,
        counters: &Arc<Counters>,
        turn: &Arc<OwnedSemaphorePermit>,
    ) -> Result<Finished, SyncError> {
        let scope = match job.refinement {
            Some(refinement) => Some(self.scope(job.assignment, refinement).await?),
            None => None,
        };
        let mut sync = {
            let (site, job, counters) = (Arc::clone(&self.site), Arc::clone(job), Arc::clone(counters));
            let (link, turn) = (self.link.clone(), Arc::clone(turn));
            tokio::task::spawn_blocking(move || {
                // Held until the thread has really ended, whoever waits for it.
                let _turn = turn;
                site.sync(&job, scope, &link, &counters)
            })
        };
        let remote = self.site.config.presence.is_some();
        let mut interval = tokio::time::interval(if remote { PROGRESS_INTERVAL_REMOTE } else { PROGRESS_INTERVAL });
        // The coordinator did not ask for a sync of the site's own, and hears of it by the push alone.
        let tell = || match job.assignment {
            0 => Ok(()),
            number => self.up.mention(Up::Progress(progress(number, counters))),
        };
        let result = loop {
            tokio::select! {
                ended = &mut sync => break ended.unwrap_or(Err(SyncError::Crashed)),
                _ = interval.tick() => tell()?,
            }
        };
        tell()?;
        result
    }
}

/// What of a sync's failure is one of the whole session.
fn fatal(error: SyncError) -> Option<SiteError> {
    match error {
        SyncError::Violation(what) => Some(SiteError::Violation(what)),
        SyncError::Ledger(error) => Some(SiteError::Ledger(error)),
        _ => None,
    }
}

/// Waits for something that takes as long as it takes, unless somebody wants to stop.
async fn until<T>(cancelled: &AtomicBool, waiting: impl Future<Output = T>) -> Result<T, SyncError> {
    tokio::pin!(waiting);
    loop {
        match tokio::time::timeout(PROGRESS_INTERVAL_REMOTE / 2, &mut waiting).await {
            Ok(done) => return Ok(done),
            Err(_) if cancelled.load(Ordering::Relaxed) => return Err(SyncError::Cancelled),
            Err(_) => {}
        }
    }
}

/// The first message of a session.
pub(crate) fn hello(site: &Site) -> Hello {
    let config = &site.config;
    let (generation, instance) = config.presence.map_or((0, 0), |presence| (presence.generation, presence.instance));
    let now = (config.clock)().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    Hello {
        protocol_min: *PROTOCOL.start(),
        protocol_max: *PROTOCOL.end(),
        key_fingerprint: config.key.fingerprint().0.to_vec(),
        repositories: config.repositories.iter().map(|(name, _)| name.to_string()).collect(),
        software: env!("CARGO_PKG_VERSION").to_owned(),
        generation,
        instance,
        paused: site.pace.is_paused(),
        unkeyed_across_parties: config.policy.unkeyed_across_parties,
        now: i64::try_from(now).unwrap_or(i64::MAX),
        file_hashes: config.policy.file_hashes.to_wire(),
    }
}

fn progress(assignment: u64, counters: &Counters) -> SyncProgress {
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    SyncProgress {
        assignment,
        entries_seen: of(&counters.entries_seen),
        documents_done: of(&counters.documents_done),
        read_bytes: of(&counters.read_bytes),
        sent_bytes: of(&counters.sent_bytes),
        walk_finished: counters.walk_finished.load(Ordering::Relaxed),
    }
}
