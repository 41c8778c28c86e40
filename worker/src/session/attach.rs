//! One session with the coordinator: attaches, carries out assignments, and reports their progress.
//!
//! The requests of the coordinator are checked. A message that the protocol does not allow ends the session; a request
//! that this site does not offer or allow is refused with the reason.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use cognate_proto::PROTOCOL;
use cognate_proto::limits::{FILE_HASHES_MAX, FINE_CHUNKS_MAX, WINDOW_BYTES};
use cognate_proto::name::one_line;
use cognate_proto::v1::attach_request::Message as Up;
use cognate_proto::v1::attach_response::Message as Down;
use cognate_proto::v1::{
    Assignment, AttachRequest, Cancel, Credit, FileHashQuery, FineQuery, KeepAlive, MeasureQuery, Resend, SiteState,
    SyncEnded, Welcome,
};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tonic::transport::Channel;

use super::fine_task::run_fine_query;
use super::hello::hello;
use super::history::{ASSIGNMENTS_MAX, AssignmentHistory};
use super::measure_task::run_measure_query;
use super::own_sync::OwnSyncRequest;
use super::query_task::run_query;
use super::site::Site;
use super::sync_task::{run_assignment, run_own_sync};
use super::task::{Task, TaskEnd};
use crate::error::{SiteError, SyncError};
use crate::sending::connection::Connection;
use crate::sending::outgoing::Outgoing;
use crate::sending::push::PushLink;

/// A site that has sent nothing for this time sends a sign of life.
const KEEP_ALIVE_AFTER: Duration = Duration::from_secs(20);
/// A coordinator that has been silent for this time counts as gone.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// Interval in which the hours of the site are checked.
const HOURS_CHECK: Duration = Duration::from_secs(5);
/// Longest wait for syncs to stop at the end of a session.
const STOP_MAX: Duration = Duration::from_secs(20);

/// Attaches the site to the coordinator at the other end of `channel`, and serves it until the coordinator ends the session
/// or `shutdown` resolves. Running syncs are then cancelled and waited for. What was sent stays valid, and the next session
/// continues from there.
///
/// # Errors
/// If the session cannot start, or fails.
pub async fn run(site: Arc<Site>, channel: Channel, shutdown: impl Future<Output = ()>) -> Result<(), SiteError> {
    let (_requests, mut no_requests) = mpsc::channel(1);
    let history = AssignmentHistory::default();
    let connection = Connection::within_process(channel);
    session(&site, &connection, &history, &mut no_requests, &|| {}, shutdown).await.map(drop)
}

/// The regular end of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SessionEnd {
    /// This site was stopped.
    Shutdown,
    /// The coordinator ended the stream.
    Closed,
    /// The coordinator asked the site to come back later, possibly after a given time.
    Drained(Option<Duration>),
}

/// Runs one session. `on_welcome` is called when the coordinator has accepted the site.
pub(crate) async fn session(
    site: &Arc<Site>,
    connection: &Connection,
    history: &AssignmentHistory,
    requests: &mut mpsc::Receiver<OwnSyncRequest>,
    on_welcome: &(dyn Fn() + Sync),
    shutdown: impl Future<Output = ()>,
) -> Result<SessionEnd, SiteError> {
    tokio::pin!(shutdown);
    let hello = hello(site);
    let state = SiteState { paused: hello.paused, outside_hours: hello.outside_hours };
    let (up, mut down) = tokio::select! {
        attached = connection.attach(hello) => attached?,
        () = &mut shutdown => return Ok(SessionEnd::Shutdown),
    };
    let mut session = Session::new(site, connection, up, history, on_welcome, state);
    let mut pauses = site.pace.pauses();
    let mut hours = tokio::time::interval(HOURS_CHECK);
    let ended = loop {
        let check = tokio::time::sleep_until(session.next_check());
        let step = tokio::select! {
            () = &mut shutdown => break Ok(SessionEnd::Shutdown),
            message = down.message() => match message {
                Ok(None) => break Ok(SessionEnd::Closed),
                Ok(Some(response)) => session.receive(response.message).await,
                Err(status) => Err(SiteError::Session(Box::new(status))),
            },
            Some(ended) = session.tasks.join_next() => session.end_task(ended),
            Some(request) = requests.recv() => {
                session.start_own_sync(request);
                Ok(None)
            }
            Ok(()) = pauses.changed() => session.send_state().await,
            _ = hours.tick() => session.send_state().await,
            () = check => session.check_silence().await.map(|()| None),
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
    connection: Connection,
    up: Outgoing<AttachRequest>,
    history: &'a AssignmentHistory,
    on_welcome: &'a (dyn Fn() + Sync),
    welcomed: bool,
    /// The last state that the coordinator heard of.
    state: SiteState,
    /// Number of bytes of a push that may be under way, by the last credit.
    credit: Arc<AtomicU64>,
    /// The session ends: what is cancelled now continues in the next session.
    ending: Arc<AtomicBool>,
    /// The running tasks, by key.
    cancels: HashMap<u64, Arc<AtomicBool>>,
    tasks: JoinSet<TaskEnd>,
    /// The time of the last message of the coordinator.
    last_received: Instant,
}

/// A step of a session: it goes on, ends, or fails.
type Step = Result<Option<SessionEnd>, SiteError>;

fn violation<T>(what: impl Into<String>) -> Result<T, SiteError> {
    Err(SiteError::Violation(what.into()))
}

impl<'a> Session<'a> {
    fn new(
        site: &Arc<Site>,
        connection: &Connection,
        up: Outgoing<AttachRequest>,
        history: &'a AssignmentHistory,
        on_welcome: &'a (dyn Fn() + Sync),
        state: SiteState,
    ) -> Session<'a> {
        Session {
            site: Arc::clone(site),
            connection: connection.clone(),
            up,
            history,
            on_welcome,
            welcomed: false,
            state,
            credit: Arc::new(AtomicU64::new(WINDOW_BYTES)),
            ending: Arc::new(AtomicBool::new(false)),
            cancels: HashMap::new(),
            tasks: JoinSet::new(),
            last_received: Instant::now(),
        }
    }

    /// Handles a message of the coordinator.
    async fn receive(&mut self, message: Option<Down>) -> Step {
        self.last_received = Instant::now();
        // A kind of message of a later version: this version cannot be asked to do anything with it.
        let Some(message) = message else { return Ok(None) };
        if self.welcomed == matches!(message, Down::Welcome(_)) {
            return violation(if self.welcomed { "a second welcome" } else { "a message before the welcome" });
        }
        match message {
            Down::Welcome(welcome) => self.welcome(&welcome)?,
            Down::Assignment(assignment) => self.start(assignment)?,
            Down::Resend(resend) => self.resend(resend).await?,
            Down::FileHashQuery(query) => self.start_query(query)?,
            Down::FineQuery(query) => self.start_fine_query(query)?,
            Down::MeasureQuery(query) => self.start_measure_query(query)?,
            Down::Cancel(cancel) => self.cancel(cancel)?,
            Down::Credit(credit) => self.set_credit(credit)?,
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

    fn welcome(&mut self, welcome: &Welcome) -> Result<(), SiteError> {
        if !PROTOCOL.contains(&welcome.protocol) {
            return violation(format!("protocol {}, which this site did not offer", welcome.protocol));
        }
        self.welcomed = true;
        (self.on_welcome)();
        let site = one_line(&welcome.site);
        self.site.status.attached(&site);
        tracing::info!(protocol = welcome.protocol, site, "attached");
        Ok(())
    }

    fn cancel(&self, cancel: Cancel) -> Result<(), SiteError> {
        match self.cancels.get(&cancel.assignment) {
            Some(cancelled) => cancelled.store(true, Ordering::Relaxed),
            // It has ended in the meantime.
            None if self.history.contains(cancel.assignment) => {}
            None => return violation(format!("a cancel of assignment {}, which never was", cancel.assignment)),
        }
        Ok(())
    }

    fn set_credit(&self, credit: Credit) -> Result<(), SiteError> {
        let bytes = credit.window_bytes;
        if bytes > WINDOW_BYTES {
            return violation(format!("a credit of {bytes} bytes, more than this site's limit of {WINDOW_BYTES}"));
        }
        self.credit.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Tells the coordinator whether the site takes assignments now, if that has changed.
    async fn send_state(&mut self) -> Step {
        let state = self.site.state();
        if std::mem::replace(&mut self.state, state) != state {
            self.up.send(Up::State(state)).await?;
        }
        Ok(None)
    }

    /// The time of the next check for silence, of either end.
    fn next_check(&self) -> Instant {
        let send = self.up.last_sent() + KEEP_ALIVE_AFTER;
        // Within one process both ends live and die together.
        if self.site.is_remote() { send.min(self.last_received + SILENCE_MAX) } else { send }
    }

    async fn check_silence(&mut self) -> Result<(), SiteError> {
        if self.site.is_remote() && self.last_received.elapsed() >= SILENCE_MAX {
            return Err(SiteError::Silent { seconds: SILENCE_MAX.as_secs() });
        }
        if self.up.last_sent().elapsed() >= KEEP_ALIVE_AFTER {
            self.up.send_if_free(Up::KeepAlive(KeepAlive {})).await?;
            // A stream without a free place has not moved for a while, and the silence will show that.
            self.up.mark_sent();
        }
        Ok(())
    }

    fn start(&mut self, assignment: Assignment) -> Result<(), SiteError> {
        let number = assignment.assignment;
        if number == 0 || self.cancels.contains_key(&number) {
            return violation(format!("assignment {number}, which is not a new number"));
        }
        if self.cancels.len() >= ASSIGNMENTS_MAX {
            return violation(format!("more than {ASSIGNMENTS_MAX} assignments at a time"));
        }
        self.history.add(number);
        let task = self.task(number);
        self.tasks.spawn(run_assignment(task, assignment));
        Ok(())
    }

    /// A resend is a sync of an index that this site has sent before: the sent state says where to continue.
    async fn resend(&mut self, resend: Resend) -> Result<(), SiteError> {
        match self.site.offer.check_resend(resend) {
            Ok(assignment) => self.start(assignment),
            Err((number, error)) => {
                tracing::warn!(%error, "a resend is refused");
                self.history.add(number);
                let (failure, refused) = (one_line(&error.to_string()), matches!(error, SyncError::Policy(_)));
                let ended = SyncEnded { assignment: number, failure, refused, ..SyncEnded::default() };
                Ok(self.up.send(Up::Ended(ended)).await?)
            }
        }
    }

    fn start_query(&mut self, query: FileHashQuery) -> Result<(), SiteError> {
        if self.cancels.len() >= ASSIGNMENTS_MAX {
            return violation(format!("more than {ASSIGNMENTS_MAX} queries and assignments at a time"));
        }
        if query.hashes > FILE_HASHES_MAX as u64 {
            return violation(format!("a query by {} hashes, more than {FILE_HASHES_MAX}", query.hashes));
        }
        let task = self.task(0);
        self.tasks.spawn(run_query(task, query));
        Ok(())
    }

    fn start_fine_query(&mut self, query: FineQuery) -> Result<(), SiteError> {
        if self.cancels.len() >= ASSIGNMENTS_MAX {
            return violation(format!("more than {ASSIGNMENTS_MAX} queries and assignments at a time"));
        }
        if query.contents.max(query.chunks) > FINE_CHUNKS_MAX as u64 {
            return violation(format!("a query for fine chunks of more than {FINE_CHUNKS_MAX} chunks"));
        }
        let task = self.task(0);
        self.tasks.spawn(run_fine_query(task, query));
        Ok(())
    }

    fn start_measure_query(&mut self, query: MeasureQuery) -> Result<(), SiteError> {
        if self.cancels.len() >= ASSIGNMENTS_MAX {
            return violation(format!("more than {ASSIGNMENTS_MAX} queries and assignments at a time"));
        }
        let task = self.task(0);
        self.tasks.spawn(run_measure_query(task, query));
        Ok(())
    }

    fn start_own_sync(&mut self, request: OwnSyncRequest) {
        let task = self.task(0);
        self.tasks.spawn(run_own_sync(task, request));
    }

    /// The handles of a new task. `number` is its assignment, or 0.
    fn task(&mut self, number: u64) -> Task {
        let cancelled = Arc::new(AtomicBool::new(false));
        // A task without an assignment also has a key, because it stops with the session.
        let key = if number == 0 { unused_key(&self.cancels) } else { number };
        self.cancels.insert(key, Arc::clone(&cancelled));
        Task {
            key,
            site: Arc::clone(&self.site),
            link: PushLink {
                runtime: tokio::runtime::Handle::current(),
                connection: self.connection.clone(),
                credit: Arc::clone(&self.credit),
                cancelled,
                pads: self.site.offer.policy.pad_messages,
            },
            up: self.up.clone(),
            ending: Arc::clone(&self.ending),
        }
    }

    fn end_task(&mut self, ended: Result<TaskEnd, JoinError>) -> Step {
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
        // A sync that hangs in the file system cannot be stopped. It sends nothing more, and keeps its turn.
        if tokio::time::timeout(STOP_MAX, all).await.is_err() {
            tracing::warn!("a sync does not stop: the file system does not answer");
        }
    }
}

/// The greatest number that is not taken: a key for a task without an assignment.
fn unused_key(taken: &HashMap<u64, Arc<AtomicBool>>) -> u64 {
    (0..=u64::MAX).rev().find(|key| !taken.contains_key(key)).expect("not all numbers are taken")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_tasks_without_an_assignment_are_the_greatest_unused_numbers() {
        let mut taken = HashMap::new();
        for expected in [u64::MAX, u64::MAX - 1, u64::MAX - 2] {
            let key = unused_key(&taken);
            assert_eq!(key, expected);
            taken.insert(key, Arc::default());
        }
        taken.remove(&(u64::MAX - 1));
        assert_eq!(unused_key(&taken), u64::MAX - 1);
    }
}
