//! The coordinator as a whole: one state, many sites, many scans. What is started here is awaited here.

mod forget;
mod health;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use cognate_proto::name::{PartyName, ScanId, SiteName};
use cognate_proto::v1;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, Semaphore, watch};
use tokio_stream::Stream;

pub use self::forget::KeepFor;
use crate::error::Error;
use crate::identity::{self, Authority, Members, Refusals};
use crate::indexes::IndexesConfig;
use crate::journal::{Acted, Action, Event, What};
use crate::maintenance;
use crate::metrics::Metrics;
use crate::operator::{OperatorService, OperatorSettings};
use crate::pages::Logins;
use crate::scan::{ANALYSES_AT_ONCE, AnalysisLimits, Scan, ScanProgress, ScanSpec, Scans, random_number, seconds};
use crate::schedule;
use crate::server::{self, Peer};
use crate::session::Sessions;
use crate::store::{ScanRow, ScanStep, Store};
use crate::verdict::Browses;
use crate::worker_service::WorkerService;

/// Finds that run side by side: each may have a few hundred megabytes in memory.
const FINDS_AT_ONCE: usize = 2;
/// How long connections may take to end.
const DRAIN: Duration = Duration::from_secs(30);

/// What a coordinator is told at its start.
#[derive(Clone, Debug)]
pub struct CoordinatorConfig {
    /// The folder for its state; only one coordinator writes there.
    pub state_dir: PathBuf,
    /// Whether an acknowledgement survives a loss of power. Off only where the state is thrown away at the end.
    pub durable: bool,
    /// The clock for the times of scans.
    pub clock: fn() -> SystemTime,
    /// Nothing is taken in while less than this is free on the state's disk; 0: whatever is free.
    pub disk_reserve_bytes: u64,
    /// What the segments of a site may come to.
    pub site_quota_bytes: Option<u64>,
}

/// An open coordinator.
pub struct Coordinator {
    pub(crate) store: Arc<Store>,
    pub(crate) members: Arc<Members>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) scans: Arc<Scans>,
    pub(crate) metrics: Arc<Metrics>,
    /// Who is signed in at the pages.
    pub(crate) logins: Logins,
    /// Results that are open for browsing.
    pub(crate) browses: Browses,
    pub(crate) state_dir: PathBuf,
    pub(crate) disk_reserve_bytes: u64,
    /// Seconds since 1970.
    pub(crate) started: i64,
    /// Whether it is stopping; who serves a long stream ends it then.
    pub(crate) draining: watch::Sender<bool>,
    /// Wakes who looks after the schedules.
    pub(crate) schedules_changed: Notify,
    /// How many finds are under way at a time.
    pub(crate) finds: Semaphore,
    /// Held while what watches know is changed, and while a case is.
    pub(crate) watching: Mutex<()>,
    pub(crate) cases: Mutex<()>,
    /// One launch at a time, so that an id is looked for and taken in one step.
    launching: Mutex<()>,
}

impl Coordinator {
    /// Opens or makes the state. Scans that were cut off are as they were: see [`Coordinator::carry_on`] and
    /// [`Coordinator::end_interrupted`].
    ///
    /// # Errors
    /// When the state cannot be used, is damaged, is newer than this build, or another process has it.
    pub fn open(config: &CoordinatorConfig) -> Result<Coordinator, Error> {
        std::fs::create_dir_all(&config.state_dir).map_err(Error::state(&config.state_dir))?;
        let (store, indexes) = maintenance::open(
            &config.state_dir,
            IndexesConfig {
                durable: config.durable,
                clock: config.clock,
                disk_reserve_bytes: config.disk_reserve_bytes,
                site_quota_bytes: config.site_quota_bytes,
            },
        )?;
        let metrics = Arc::new(Metrics::new());
        let authority = match config.state_dir.join(identity::KEY_FILE).is_file() {
            true => Some(Arc::new(Authority::open(&config.state_dir, config.clock)?)),
            false => None,
        };
        let heard = Arc::clone(&metrics);
        let refusals = Refusals::heard_by(move |refusal| heard.auth_failure(refusal.label()));
        let members = Members::new(Arc::clone(&store), authority, config.clock, Arc::new(refusals));
        let sessions = Arc::new(Sessions::new(Arc::clone(&store), Arc::clone(&metrics), config.clock));
        let scans = Arc::new(Scans {
            store: Arc::clone(&store),
            indexes,
            sessions: Arc::clone(&sessions),
            metrics: Arc::clone(&metrics),
            folder: config.state_dir.join("scans"),
            clock: config.clock,
            running: Mutex::new(HashMap::new()),
            analyses: Semaphore::new(ANALYSES_AT_ONCE),
            ended: Mutex::default(),
        });
        Ok(Coordinator {
            store,
            members: Arc::new(members),
            sessions,
            scans,
            metrics,
            logins: Logins::new(config.clock),
            browses: Browses::default(),
            state_dir: config.state_dir.clone(),
            disk_reserve_bytes: config.disk_reserve_bytes,
            started: seconds((config.clock)()),
            draining: watch::Sender::new(false),
            schedules_changed: Notify::new(),
            finds: Semaphore::new(FINDS_AT_ONCE),
            watching: Mutex::default(),
            cases: Mutex::default(),
            launching: Mutex::default(),
        })
    }

    /// Ends the scans that an earlier process was cut off in, and removes what they left half done.
    ///
    /// # Errors
    /// When the store fails, or something cannot be removed.
    pub fn end_interrupted(&self) -> Result<(), Error> {
        for (id, mut row) in self.store.scans()? {
            if !row.step().is_under_way() {
                continue;
            }
            tracing::info!(scan = %id, "a scan was interrupted");
            row.step = ScanStep::Failed.into();
            row.finished = seconds((self.scans.clock)());
            "interrupted".clone_into(&mut row.failure);
            self.scans.record(id, &row)?;
            self.remove_folder(id)?;
        }
        Ok(())
    }

    /// Goes on with the scans that an earlier process was cut off in, each from its last step. Runs them on the current
    /// runtime.
    ///
    /// # Errors
    /// When the store fails.
    pub fn carry_on(&self, limits: &AnalysisLimits) -> Result<(), Error> {
        let under_way: Vec<(ScanId, ScanRow)> =
            self.store.scans()?.into_iter().filter(|(_, row)| row.step().is_under_way()).collect();
        let mut scans = Vec::new();
        for (id, row) in under_way {
            let spec = row.spec.clone().unwrap_or_default();
            let spec = match ScanSpec::from_wire(&spec, limits) {
                Ok(spec) => spec,
                Err(error) => {
                    let mut row = row;
                    row.step = ScanStep::Failed.into();
                    row.failure = format!("it cannot go on: {error}");
                    row.finished = seconds((self.scans.clock)());
                    self.scans.record(id, &row)?;
                    continue;
                }
            };
            let scan = Arc::new(Scan::new(id, spec));
            // What is half written is written anew.
            if row.step() == ScanStep::Analysed {
                self.scans.remove_unfinished(id)?;
            } else {
                self.remove_folder(id)?;
            }
            tracing::info!(scan = %id, step = ?row.step(), "a scan goes on");
            scans.push((scan, row));
        }
        for (scan, row) in scans {
            self.start(scan, row);
        }
        Ok(())
    }

    /// Lets a site attach, as a member of a party.
    ///
    /// # Errors
    /// When the store fails.
    pub fn admit(&self, site: &SiteName, party: &PartyName) -> Result<(), Error> {
        if self.store.party_of(site)?.is_some_and(|known| known == *party) {
            return Ok(());
        }
        let membership = v1::Membership {
            kind: v1::MemberKind::Site.into(),
            name: site.to_string(),
            party: party.to_string(),
            ..v1::Membership::default()
        };
        self.record(What::Admitted(membership), "")
    }

    /// Writes something down that must not be forgotten, and who did it.
    pub(crate) fn record(&self, what: What, by: &str) -> Result<(), Error> {
        let time = seconds((self.scans.clock)());
        self.store.record(&Event { time, by: by.to_owned(), what: Some(what) })
    }

    /// Writes down that somebody did something which changes nothing here.
    pub(crate) fn note(&self, action: Action, scan: u64, by: &str) -> Result<(), Error> {
        self.record(What::Acted(Acted { action: action.into(), scan }), by)
    }

    /// Serves workers on the streams of `incoming` until `shutdown` resolves.
    ///
    /// # Errors
    /// When the transport fails as a whole; a single connection that breaks is nothing of the kind.
    pub async fn serve<S>(
        &self,
        incoming: impl Stream<Item = std::io::Result<Peer<S>>>,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), tonic::transport::Error>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        server::serve(self.services(None), incoming, shutdown, DRAIN).await
    }

    /// Serves the members of a federation on the streams of `incoming` until `shutdown` resolves, and from then on for at
    /// most `drain`. Schedules run meanwhile.
    ///
    /// # Errors
    /// When the transport fails as a whole; a single connection that breaks is nothing of the kind.
    pub async fn serve_federation<S>(
        self: &Arc<Self>,
        settings: OperatorSettings,
        incoming: impl Stream<Item = std::io::Result<Peer<S>>>,
        shutdown: impl Future<Output = ()>,
        drain: Duration,
    ) -> Result<(), tonic::transport::Error>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let (limits, keep) = (settings.limits, settings.keep);
        let operator = OperatorService { coordinator: Arc::clone(self), settings: Arc::new(settings) };
        tokio::select! {
            served = server::serve(self.services(Some(operator)), incoming, shutdown, drain) => served,
            () = schedule::run(Arc::clone(self), limits, keep) => Ok(()),
            () = crate::watch::run(Arc::clone(self)) => Ok(()),
        }
    }

    /// Counts who was refused, and why.
    pub fn refusals(&self) -> Arc<Refusals> {
        Arc::clone(self.members.refusals())
    }

    fn services(&self, operator: Option<OperatorService>) -> server::Services {
        server::Services { members: Arc::clone(&self.members), worker: self.worker_service(), operator }
    }

    /// The service for workers.
    pub(crate) fn worker_service(&self) -> WorkerService {
        WorkerService {
            sessions: Arc::clone(&self.sessions),
            scans: Arc::clone(&self.scans),
            metrics: Arc::clone(&self.metrics),
        }
    }

    /// Launches a scan within this process. It runs on the current runtime until it ends or is cancelled.
    ///
    /// # Errors
    /// When it names a site that was never admitted.
    pub fn launch(&self, spec: ScanSpec) -> Result<ScanId, Error> {
        self.check_sites(&spec)?;
        let id = ScanId(random_number());
        let row = self.begun((&spec).into(), "")?;
        self.scans.record(id, &row)?;
        self.start(Arc::new(Scan::new(id, spec)), row);
        Ok(id)
    }

    /// Launches a scan under an id that was made by who asks for it. Asked again for the same, it does nothing.
    ///
    /// # Errors
    /// When it makes no sense, names what is not there, cannot be done as things stand, or another scan has the id.
    pub(crate) fn launch_as(
        &self,
        id: ScanId,
        wanted: v1::ScanSpec,
        by: &str,
        limits: &AnalysisLimits,
    ) -> Result<(), Error> {
        let _one_at_a_time = self.launching.lock().expect("nothing panics while it is held");
        if let Some(row) = self.store.scan(id)? {
            if row.spec.as_ref() == Some(&wanted) {
                return Ok(());
            }
            return Err(Error::Exists(format!("there is another scan {id}: choose another id")));
        }
        if id.0 == 0 {
            return Err(Error::Invalid("`scan`: an id is a number other than 0".to_owned()));
        }
        let spec = ScanSpec::from_wire(&wanted, limits)?;
        self.check_sites(&spec)?;
        self.scans.check_launch(&spec)?;
        let row = self.begun(wanted, by)?;
        self.scans.record(id, &row)?;
        tracing::info!(scan = %id, by, "a scan is launched");
        self.start(Arc::new(Scan::new(id, spec)), row);
        Ok(())
    }

    fn begun(&self, spec: v1::ScanSpec, by: &str) -> Result<ScanRow, Error> {
        Ok(ScanRow {
            spec: Some(spec),
            step: ScanStep::Syncing.into(),
            started: seconds((self.scans.clock)()),
            launched_by: by.to_owned(),
            number: self.store.next_number()?,
            ..ScanRow::default()
        })
    }

    fn check_sites(&self, spec: &ScanSpec) -> Result<(), Error> {
        for (site, _) in &spec.repositories {
            if self.store.party_of(site)?.is_none() {
                return Err(Error::UnknownSite(site.clone()));
            }
        }
        Ok(())
    }

    fn start(&self, scan: Arc<Scan>, row: ScanRow) {
        self.scans.lock().insert(scan.id, Arc::clone(&scan));
        tokio::spawn(Arc::clone(&self.scans).run(scan, row));
    }

    /// Follows a scan that is under way.
    ///
    /// # Errors
    /// When there is no such scan.
    pub fn watch(&self, id: ScanId) -> Result<watch::Receiver<ScanProgress>, Error> {
        self.scans.lock().get(&id).map(|scan| scan.progress.subscribe()).ok_or(Error::UnknownScan(id))
    }

    /// Asks a scan to stop. It does so at the next opportunity, and leaves nothing behind.
    pub fn cancel(&self, id: ScanId) {
        if let Some(scan) = self.scans.lock().get(&id) {
            scan.cancel();
        }
    }

    /// Stops all scans where they are. They go on at the next start.
    pub fn halt(&self) {
        self.scans.lock().values().for_each(|scan| scan.halt());
    }

    /// Deletes a scan that has ended, with its result.
    ///
    /// # Errors
    /// When its files cannot be removed.
    pub fn delete(&self, id: ScanId) -> Result<(), Error> {
        self.delete_as(id, "").map(drop)
    }

    /// Where the result of a scan lies, if it has one.
    pub(crate) fn result_path(&self, id: ScanId) -> PathBuf {
        self.scans.folder.join(id.to_string()).join("result.sqlite")
    }

    fn remove_folder(&self, id: ScanId) -> Result<(), Error> {
        let folder = self.scans.folder.join(id.to_string());
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::state(&folder)(error)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
