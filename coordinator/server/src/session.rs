//! Sessions of attached sites, and their assignments.
//!
//! A session is one control stream of one site. Assignments go down it, progress comes up, and the number of an
//! assignment joins both to its requester. An assignment belongs to one session: when that ends, or another takes its
//! place, its assignments end as well, and further pushes of the old session are refused.

mod file_hashes;
mod fine;
mod greeting;
mod measure;
mod plausible;
mod questions;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use cognate_fingerprint::{KeyFingerprint, Method, MethodId};
use cognate_proto::file_hash::HashKinds;
use cognate_proto::name::{RepositoryName, SiteName, one_line};
use cognate_proto::scope::{Scope, ScopeId};
use cognate_proto::v1::attach_response::Message as Down;
use cognate_proto::v1::{
    Assignment, AttachResponse, Cancel, Estimate, Hello, OpenIndex, SiteState, SyncEnded, SyncProgress, SyncSummary,
    Welcome,
};
use tokio::sync::{Notify, mpsc, watch};
use tonic::Status;

use self::file_hashes::FileHashQuestions;
pub(crate) use self::file_hashes::{SiteAnswer, SiteQuestion};
use self::fine::OpenFineQuestions;
pub(crate) use self::fine::{FinePart, FineScan, TakenFine};
use self::greeting::Greeting;
use self::measure::MeasureQuestions;
pub(crate) use self::questions::NoAnswer;
use crate::agreement::{Claims, Standing};
use crate::error::Error;
use crate::metrics::Metrics;
use cognate_storage::clock::seconds;
use cognate_storage::store::{IndexId, SeenRow, Store};

/// The time between two records that a site was heard of, in seconds.
const SEEN_SECONDS: i64 = 60;

/// The sessions and assignments of a coordinator.
pub(crate) struct Sessions {
    store: Arc<Store>,
    metrics: Arc<Metrics>,
    clock: fn() -> SystemTime,
    next: AtomicU64,
    attached: Mutex<HashMap<SiteName, Session>>,
    assigned: Mutex<HashMap<u64, Assigned>>,
    /// The index that a site last sealed on its own schedule: its report on that sync belongs to it.
    own: Mutex<HashMap<SiteName, IndexId>>,
    file_hash_questions: FileHashQuestions,
    fine_questions: OpenFineQuestions,
    measure_questions: MeasureQuestions,
    /// Counts attachments and changes of state, so that tasks that wait for a site notice them.
    changes: watch::Sender<u64>,
    /// Notified whenever an index is sealed.
    pub(crate) seals: Notify,
}

struct Session {
    number: u64,
    down: mpsc::Sender<Result<AttachResponse, Status>>,
    greeting: Greeting,
    /// The record of the site when it was written last.
    seen: SeenRow,
    paused: bool,
    outside_hours: bool,
    last_heard: i64,
    last_written: i64,
    clock_skew_seconds: i64,
    /// Dropped with the session: the holder of a [`Live`] sees it.
    _life: watch::Sender<()>,
}

/// Resolves when a session has ended.
#[derive(Clone)]
pub(crate) struct Live(watch::Receiver<()>);

impl Live {
    /// True if the session is still the current one of its site.
    pub(crate) fn holds(&self) -> bool {
        self.0.has_changed().is_ok()
    }

    /// Resolves once the session has ended.
    pub(crate) async fn ended(&mut self) {
        while self.0.changed().await.is_ok() {}
    }
}

/// A session that has begun.
pub(crate) struct Attached {
    pub(crate) number: u64,
    pub(crate) live: Live,
}

/// The properties of an attached site.
#[derive(Clone, Debug)]
pub(crate) struct AttachedSite {
    pub(crate) key_fingerprint: KeyFingerprint,
    pub(crate) repositories: Vec<RepositoryName>,
    pub(crate) unkeyed_across_parties: bool,
    pub(crate) software: String,
    pub(crate) paused: bool,
    pub(crate) outside_hours: bool,
    pub(crate) last_heard: i64,
    pub(crate) clock_skew_seconds: i64,
    /// The kinds of hashes that it stores of its files.
    pub(crate) file_hashes: HashKinds,
}

/// An assignment of a site, and its requester.
struct Assigned {
    site: SiteName,
    session: u64,
    live: Live,
    repository: RepositoryName,
    method: Method,
    /// The contents that it is about; `None`: all.
    scope: Option<Arc<Scope>>,
    estimate_only: bool,
    agreement: Agreement,
    sealed: Option<SealedIndex>,
    target: usize,
    events: mpsc::UnboundedSender<Event>,
}

/// The method ids at which the sites of a scan arrive, which have to be the same.
pub(crate) type Agreement = Arc<Mutex<Claims<MethodId>>>;

/// The purpose of an assignment, and the recipient of its events.
pub(crate) struct Wanted {
    pub(crate) method: Method,
    pub(crate) scope: Option<Arc<Scope>>,
    pub(crate) agreement: Agreement,
    pub(crate) target: usize,
    pub(crate) events: mpsc::UnboundedSender<Event>,
}

/// An index as it was sealed for an assignment.
#[derive(Debug)]
pub(crate) struct SealedIndex {
    pub(crate) method_id: MethodId,
    pub(crate) id: IndexId,
    pub(crate) sequence: u64,
}

/// An event of an assignment.
#[derive(Debug)]
pub(crate) enum Event {
    /// It continues.
    Progress { target: usize, progress: SyncProgress },
    /// It has ended.
    Ended { target: usize, outcome: Outcome },
    /// The site fingerprints differently from another, and nobody can tell which one is wrong.
    Differs(Difference),
}

/// Two sites that fingerprint differently, and the key and parameters of each.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    pub(crate) a: String,
    pub(crate) a_says: String,
    pub(crate) b: String,
    pub(crate) b_says: String,
}

impl From<Difference> for Error {
    fn from(Difference { a, a_says, b, b_says }: Difference) -> Error {
        Error::Mismatch { a, a_says, b, b_says }
    }
}

/// The outcome of an assignment.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The index is sealed.
    Synced(SealedIndex, SyncSummary),
    /// The site estimated the cost of a sync.
    Estimated(Estimate),
    /// The site could not do it, for this reason.
    Failed(String),
    /// The policy of the site does not allow it, for this reason.
    Refused(String),
    /// The session ended earlier.
    Away,
}

/// The purpose of a push.
pub(crate) struct Purpose {
    /// 0: the site's own schedule.
    pub(crate) assignment: u64,
    pub(crate) repository: RepositoryName,
    /// The parameters of the index; if the site acts on its own, those of the record.
    pub(crate) method: Option<Method>,
    /// The contents of the repository that the index is about; `None`: all.
    pub(crate) scope: Option<ScopeId>,
    pub(crate) live: Live,
}

impl Sessions {
    pub(crate) fn new(store: Arc<Store>, metrics: Arc<Metrics>, clock: fn() -> SystemTime) -> Sessions {
        Sessions {
            store,
            metrics,
            clock,
            next: AtomicU64::new(1),
            attached: Mutex::default(),
            assigned: Mutex::default(),
            own: Mutex::default(),
            file_hash_questions: file_hashes::questions(),
            fine_questions: fine::questions(),
            measure_questions: measure::questions(),
            changes: watch::Sender::new(0),
            seals: Notify::new(),
        }
    }

    /// Takes a site in. A second session of the same worker, or of one that follows it, takes the place of the first.
    ///
    /// # Errors
    /// Fails if coordinator and site have no protocol in common, the greeting is invalid, or the worker works with a copy of the site's
    /// state.
    pub(crate) fn attach(
        &self,
        site: &SiteName,
        hello: &Hello,
        down: mpsc::Sender<Result<AttachResponse, Status>>,
    ) -> Result<Attached, Error> {
        let greeting = Greeting::check(hello)?;
        let mut attached = lock(&self.attached);
        let seen = self.store.seen(site)?;
        let now = seconds((self.clock)());
        let is_attached = attached.contains_key(site);
        let Some(row) = greeting.admitted(&seen, is_attached, now) else {
            self.metrics.clones_refused.inc();
            tracing::warn!(%site, "a worker that works with a copy of the site's state was refused");
            return Err(Error::Exists(format!(
                "another worker of `{site}` works with the same state: stop the copy; if this state came from a backup, enrol the site again"
            )));
        };
        if row.copy_instance != seen.copy_instance && row.copy_instance != 0 {
            tracing::warn!(%site, "two workers work with the site's state: the one that was there first stays");
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (life, live) = watch::channel(());
        let welcome = Down::Welcome(Welcome { protocol: greeting.protocol, site: site.to_string() });
        // The queue is new and empty: the welcome always fits.
        let _ = down.try_send(Ok(AttachResponse { message: Some(welcome) }));
        let clock_skew_seconds = if hello.now == 0 { 0 } else { hello.now.saturating_sub(now) };
        self.store.put_seen(site, &row)?;
        let session = Session {
            number,
            down,
            greeting,
            seen: row,
            paused: hello.paused,
            outside_hours: hello.outside_hours,
            last_heard: now,
            last_written: now,
            clock_skew_seconds,
            _life: life,
        };
        let before = attached.insert(site.clone(), session);
        drop(attached);
        if let Some(before) = before {
            self.metrics.sessions_replaced.inc();
            tracing::info!(%site, "a session was taken over by a newer one");
            self.end_session(before.number);
        }
        self.changes.send_modify(|changes| *changes += 1);
        Ok(Attached { number, live: Live(live) })
    }

    /// Lets a site go. Its work is over, unless another session has taken its place.
    pub(crate) fn detach(&self, site: &SiteName, number: u64) {
        let mut attached = lock(&self.attached);
        if attached.get(site).is_none_or(|session| session.number != number) {
            return;
        }
        let session = attached.remove(site).expect("looked at above");
        if let Err(error) = self.store.put_seen(site, &SeenRow { last_heard: session.last_heard, ..session.seen }) {
            tracing::error!(%site, %error, "the time of the last contact of a site cannot be recorded");
        }
        drop(attached);
        tracing::info!(%site, "a site is detached");
        self.end_session(number);
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Ends the session of a site, whatever its work.
    pub(crate) fn cut(&self, site: &SiteName) {
        let number = lock(&self.attached).get(site).map(|session| session.number);
        number.into_iter().for_each(|number| self.detach(site, number));
    }

    /// Sends the same message to every attached site.
    pub(crate) fn send_all(&self, message: &Down) {
        let downs: Vec<_> = lock(&self.attached).values().map(|session| session.down.clone()).collect();
        for down in downs {
            // A site whose queue is full does not read; its session ends in time.
            let _ = down.try_send(Ok(AttachResponse { message: Some(message.clone()) }));
        }
    }

    /// Sends a message to a site; its arrival is not guaranteed.
    pub(crate) fn send(&self, site: &SiteName, message: Down) -> bool {
        let down = lock(&self.attached).get(site).map(|session| session.down.clone());
        down.is_some_and(|down| down.try_send(Ok(AttachResponse { message: Some(message) })).is_ok())
    }

    /// Records that a message came from a site.
    pub(crate) fn heard(&self, site: &SiteName, number: u64) {
        let now = seconds((self.clock)());
        let mut attached = lock(&self.attached);
        let Some(session) = attached.get_mut(site).filter(|session| session.number == number) else { return };
        session.last_heard = now;
        if now - session.last_written >= SEEN_SECONDS {
            session.last_written = now;
            session.seen.last_heard = now;
            if let Err(error) = self.store.put_seen(site, &session.seen) {
                tracing::error!(%site, %error, "the time of the last contact of a site cannot be recorded");
            }
        }
    }

    /// Records that a site takes assignments now, or does not.
    pub(crate) fn set_state(&self, site: &SiteName, number: u64, state: SiteState) {
        if let Some(session) = lock(&self.attached).get_mut(site).filter(|session| session.number == number) {
            (session.paused, session.outside_hours) = (state.paused, state.outside_hours);
        }
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// The properties of a site, if it is attached.
    pub(crate) fn attached(&self, site: &SiteName) -> Option<AttachedSite> {
        lock(&self.attached).get(site).map(|session| AttachedSite {
            key_fingerprint: session.greeting.key_fingerprint,
            repositories: session.greeting.repositories.clone(),
            unkeyed_across_parties: session.greeting.unkeyed_across_parties,
            software: session.greeting.software.clone(),
            paused: session.paused,
            outside_hours: session.outside_hours,
            last_heard: session.last_heard,
            clock_skew_seconds: session.clock_skew_seconds,
            file_hashes: session.greeting.file_hashes,
        })
    }

    /// Resolves when the present session of a site ends, if it has one.
    fn live(&self, site: &SiteName) -> Option<Live> {
        lock(&self.attached).get(site).map(|session| Live(session._life.subscribe()))
    }

    /// The sites that are attached, in the order of their names.
    pub(crate) fn sites(&self) -> Vec<SiteName> {
        let mut sites: Vec<SiteName> = lock(&self.attached).keys().cloned().collect();
        sites.sort();
        sites
    }

    /// Notifies when a site comes, goes, pauses or goes on.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Gives a site an assignment, whose events go to the requester. Answers true if the site is attached.
    pub(crate) fn assign(&self, site: &SiteName, assignment: Assignment, wanted: Wanted) -> bool {
        let number = assignment.assignment;
        let repository = assignment.repository.parse().expect("a repository that was named before");
        // Under the lock: the session cannot end before the assignment is one of its own.
        let attached = lock(&self.attached);
        let Some(session) = attached.get(site) else { return false };
        let Wanted { method, scope, agreement, target, events } = wanted;
        let assigned = Assigned {
            site: site.clone(),
            session: session.number,
            live: Live(session._life.subscribe()),
            repository,
            method,
            scope,
            estimate_only: assignment.estimate_only,
            agreement,
            sealed: None,
            target,
            events,
        };
        lock(&self.assigned).insert(number, assigned);
        let message = AttachResponse { message: Some(Down::Assignment(assignment)) };
        if session.down.try_send(Ok(message)).is_err() {
            // The site does not read its messages: its next message, or its silence, ends the session.
            lock(&self.assigned).remove(&number);
            return false;
        }
        true
    }

    /// Takes an assignment back. Its events are dropped from now on.
    pub(crate) fn cancel(&self, assignment: u64) {
        let Some(assigned) = lock(&self.assigned).remove(&assignment) else { return };
        self.send(&assigned.site, Down::Cancel(Cancel { assignment }));
    }

    /// Ends an assignment whose data the coordinator does not take, for good: whoever asked goes on without the site.
    pub(crate) fn refuse(&self, assignment: u64, reason: &str) {
        let Some(assigned) = lock(&self.assigned).remove(&assignment) else { return };
        let outcome = Outcome::Failed(one_line(reason));
        let _ = assigned.events.send(Event::Ended { target: assigned.target, outcome });
        self.send(&assigned.site, Down::Cancel(Cancel { assignment }));
    }

    /// Receives a site's progress. Messages on others' assignments are dropped.
    pub(crate) fn progress(&self, site: &SiteName, progress: SyncProgress) {
        let assigned = lock(&self.assigned);
        if let Some(assigned) = assigned.get(&progress.assignment).filter(|assigned| assigned.site == *site) {
            if !plausible::progress(&progress) {
                self.metrics.claims_refused.inc();
                return;
            }
            // A scan that has ended has closed its receiver.
            let _ = assigned.events.send(Event::Progress { target: assigned.target, progress });
        }
    }

    /// Receives the end of an assignment. It counts as synced only with the seal of the same assignment, and with numbers
    /// that are possible. The summary of a sync on the site's own schedule is returned, for the index to store.
    pub(crate) fn end(&self, site: &SiteName, ended: SyncEnded) -> Option<(IndexId, SyncSummary)> {
        let SyncEnded { assignment, failure, summary, refused } = ended;
        if assignment == 0 {
            let (index, summary) = lock(&self.own).remove(site).zip(summary)?;
            return self.believed(site, Some(index), &summary).is_ok().then_some((index, summary));
        }
        let assigned = {
            let mut all = lock(&self.assigned);
            all.get(&assignment).filter(|assigned| assigned.site == *site)?;
            all.remove(&assignment).expect("looked at above")
        };
        let index = assigned.sealed.as_ref().map(|sealed| sealed.id);
        let believed = summary.as_ref().map_or(Ok(()), |summary| self.believed(site, index, summary));
        let outcome = match (summary, assigned.sealed) {
            _ if !failure.is_empty() && refused => Outcome::Refused(one_line(&failure)),
            _ if !failure.is_empty() => Outcome::Failed(one_line(&failure)),
            _ if believed.is_err() => Outcome::Failed(believed.err().unwrap_or_default()),
            (Some(SyncSummary { estimate: Some(estimate), .. }), _) if assigned.estimate_only => {
                Outcome::Estimated(estimate)
            }
            (Some(summary), Some(sealed)) => Outcome::Synced(sealed, summary),
            (_, None) => Outcome::Failed("the site reported the end of a sync without sealing its index".to_owned()),
            (None, _) => Outcome::Failed("the site did not report an outcome".to_owned()),
        };
        let _ = assigned.events.send(Event::Ended { target: assigned.target, outcome });
        None
    }

    /// Checks the numbers that a site reports of a sync. If one is impossible, it is counted, and the reason names it.
    fn believed(&self, site: &SiteName, index: Option<IndexId>, summary: &SyncSummary) -> Result<(), String> {
        let row = index.and_then(|id| self.store.index(id).ok().flatten());
        plausible::summary(summary, row.as_ref()).map_err(|claim| {
            self.metrics.claims_refused.inc();
            tracing::warn!(%site, claim, "the numbers that a site reports of a sync are impossible");
            format!("the site reported impossible numbers ({claim}): check the software of its worker")
        })
    }

    /// The purpose of a push: only an assignment of the site's present session counts, and only for itself.
    ///
    /// # Errors
    /// Fails if the site has no such assignment, or its index differs from those of the other sites.
    pub(crate) fn purpose(&self, site: &SiteName, open: &OpenIndex, method_id: MethodId) -> Result<Purpose, Error> {
        if open.assignment == 0 {
            return self.own_purpose(site, open);
        }
        let mut all = lock(&self.assigned);
        let assigned = all.get(&open.assignment).ok_or_else(|| {
            Error::Stale("the site's present session has no such assignment: attach, and wait".to_owned())
        })?;
        let scope = assigned.scope.as_ref().map(|scope| scope.id());
        let other = assigned.site != *site || assigned.repository.as_str() != open.repository;
        if other || assigned.estimate_only {
            self.metrics.pushes_denied.inc();
            return Err(Error::Denied("this site has no assignment for such a push".to_owned()));
        }
        if ScopeId::from_field(&open.scope) != Ok(scope) {
            // A worker that does not know refinements would take the assignment for one over all documents.
            let why = "the index is not of the documents that were asked for: upgrade the worker if it is older than the coordinator";
            return Err(Error::Refused(why.to_owned()));
        }
        let purpose = Purpose {
            assignment: open.assignment,
            repository: assigned.repository.clone(),
            method: Some(assigned.method),
            scope,
            live: assigned.live.clone(),
        };
        let standing = lock(&assigned.agreement).claim(site, method_id);
        match standing {
            Standing::Agrees | Standing::Undecided => Ok(purpose),
            Standing::Differs(most) => {
                let reason = other_method(method_id, most);
                let Assigned { target, events, .. } = all.remove(&open.assignment).expect("looked at above");
                let _ = events.send(Event::Ended { target, outcome: Outcome::Failed(reason.clone()) });
                Err(Error::Refused(reason))
            }
            Standing::Split(other, id) => {
                let difference = Difference {
                    a: other.to_string(),
                    a_says: format!("method {id}"),
                    b: site.to_string(),
                    b_says: format!("method {method_id}"),
                };
                let _ = assigned.events.send(Event::Differs(difference.clone()));
                Err(difference.into())
            }
        }
    }

    /// The contents that an assignment of a site's present session is about.
    ///
    /// # Errors
    /// Fails if the site has no such assignment, or it is about all contents.
    pub(crate) fn scope(&self, site: &SiteName, assignment: u64) -> Result<Arc<Scope>, Error> {
        let all = lock(&self.assigned);
        let assigned = all.get(&assignment).filter(|assigned| assigned.site == *site).ok_or_else(|| {
            Error::Stale("the site's present session has no such assignment: attach, and wait".to_owned())
        })?;
        assigned.scope.clone().ok_or_else(|| Error::Denied("the assignment is no refinement".to_owned()))
    }

    fn own_purpose(&self, site: &SiteName, open: &OpenIndex) -> Result<Purpose, Error> {
        if !open.scope.is_empty() {
            return Err(Error::Denied("a site cannot refine without an assignment".to_owned()));
        }
        let attached = lock(&self.attached);
        let session =
            attached.get(site).ok_or_else(|| Error::Stale("the site is not attached: attach first".to_owned()))?;
        let offered = session.greeting.repositories.iter().find(|name| name.as_str() == open.repository);
        let repository = offered
            .ok_or_else(|| Error::Denied("the site does not offer such a repository in this session".to_owned()))?;
        let live = Live(session._life.subscribe());
        Ok(Purpose { assignment: 0, repository: repository.clone(), method: None, scope: None, live })
    }

    /// Records that the index of a push was sealed.
    pub(crate) fn sealed(&self, site: &SiteName, assignment: u64, sealed: SealedIndex) {
        self.seals.notify_one();
        if assignment == 0 {
            lock(&self.own).insert(site.clone(), sealed.id);
            return;
        }
        if let Some(assigned) = lock(&self.assigned).get_mut(&assignment) {
            assigned.sealed = Some(sealed);
        }
    }

    fn end_session(&self, number: u64) {
        let gone: Vec<Assigned> = {
            let mut assigned = lock(&self.assigned);
            let numbers: Vec<u64> =
                assigned.iter().filter(|(_, one)| one.session == number).map(|(assignment, _)| *assignment).collect();
            numbers.iter().filter_map(|assignment| assigned.remove(assignment)).collect()
        };
        for Assigned { target, events, .. } in gone {
            let _ = events.send(Event::Ended { target, outcome: Outcome::Away });
        }
    }
}

/// The reason for which a site is left out that made its index under another method than most.
pub(crate) fn other_method(own: MethodId, most: MethodId) -> String {
    format!(
        "the site fingerprints under method {own} and the other sites under {most}: give it the same key and version"
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A standard mutex: the critical sections are short, and none awaits.
    mutex.lock().expect("no critical section panics")
}

#[cfg(test)]
mod tests;
