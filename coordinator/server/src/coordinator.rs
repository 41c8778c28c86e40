//! The coordinator: opens the state, builds every service with its handles, and serves. The composition root of this
//! crate: nothing else in it refers to [`Coordinator`].

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cognate_analysis::published::IntactResults;
use cognate_analysis::spark::{Spark, SparkSettings};
use cognate_analysis::spec::ScanSpec;
use cognate_analysis::{Analyser, AnalysisLimits};
use cognate_durable::whole::{PUBLIC_FOLDER, make_folder};
use cognate_proto::name::{PartyName, ScanId, SiteName};
use cognate_proto::v1;
use cognate_storage::clock::{Clock, seconds};
use cognate_storage::indexes::{IndexesConfig, SiteQuotas};
use cognate_storage::journal::What;
use cognate_storage::maintenance;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Notify, Semaphore, watch};
use tokio_stream::Stream;

use crate::audit::Audits;
use crate::error::Error;
use crate::find::{Arrivals, FINDS_AT_ONCE, FINDS_UNDER_WAY, Finder};
use crate::health::Health;
use crate::identity::{self, Authority, Members, Refusal, Refusals};
use crate::logins::Logins;
use crate::metrics::Metrics;
use crate::operator::{OperatorService, OperatorSettings};
use crate::removal::Removal;
use crate::scan::{ANALYSES_AT_ONCE, ANALYSES_WAITING, ScanProgress, Scans};
use crate::schedule::{self, Schedules};
use crate::server::{self, Peer};
use crate::services::Services;
use crate::session::Sessions;
use crate::streams::Streams;
use crate::template::Templates;
use crate::watching::Watching;
use crate::webhook::Webhooks;
use crate::worker_service::WorkerService;
use cognate_desk::case::Cases;
use cognate_desk::results::Results;
use cognate_desk::verdict::Verdicts;
use cognate_desk::watch::Watches;
use cognate_storage::records::Records;

/// The longest wait for connections to end.
const DRAIN: Duration = Duration::from_secs(30);

/// Configuration of a coordinator.
#[derive(Clone, Debug)]
pub struct CoordinatorConfig {
    /// The folder for its state; only one coordinator writes there.
    pub state_dir: PathBuf,
    /// The version of the program, and its commit where that is known: signed reports name it.
    pub software: &'static str,
    /// If set, an acknowledgement survives a loss of power. Off only where the state is thrown away at the end.
    pub durable: bool,
    /// The clock for the times of scans.
    pub clock: Clock,
    /// Uploads are refused while less than this is free on the state's disk; 0: no reserve.
    pub disk_reserve_bytes: u64,
    /// The most that one site may have here.
    pub quotas: SiteQuotas,
    /// Hosts, or hosts with a port, to which notices may go.
    pub webhook_hosts: Vec<String>,
    /// Clusters that may group the postings of scans.
    pub spark: SparkSettings,
}

/// An open coordinator.
pub struct Coordinator {
    services: Arc<Services>,
}

impl Coordinator {
    /// Opens or makes the state. Scans that were cut off stay as they are: see [`Coordinator::carry_on`] and
    /// [`Coordinator::end_interrupted`].
    ///
    /// # Errors
    /// Fails if the state cannot be used, is damaged, has another version, or another process has it.
    pub fn open(config: &CoordinatorConfig) -> Result<Coordinator, Error> {
        let CoordinatorConfig { state_dir, clock, disk_reserve_bytes, .. } = config.clone();
        make_folder(&state_dir, PUBLIC_FOLDER).map_err(Error::state(&state_dir))?;
        let (store, indexes) = maintenance::open(
            &state_dir,
            IndexesConfig { durable: config.durable, clock, disk_reserve_bytes, quotas: config.quotas },
        )?;
        let metrics = Arc::new(Metrics::new());
        let members = Arc::new(members(config, &store, &metrics)?);
        let records = Arc::new(Records::new(Arc::clone(&store), clock));
        let sessions = Arc::new(Sessions::new(Arc::clone(&store), Arc::clone(&metrics), clock));
        let folder = state_dir.join("scans");
        let analyser = Arc::new(Analyser {
            store: Arc::clone(&store),
            indexes: Arc::clone(&indexes),
            folder,
            clock,
            checked: IntactResults::default(),
            spark: Spark { settings: config.spark.clone(), folder: state_dir.join("spark") },
        });
        let scans = Arc::new(Scans {
            records: Arc::clone(&records),
            analyser: Arc::clone(&analyser),
            sessions: Arc::clone(&sessions),
            members: Arc::clone(&members),
            metrics: Arc::clone(&metrics),
            launching: Mutex::default(),
            running: Mutex::default(),
            analyses: Arc::new(Semaphore::new(ANALYSES_AT_ONCE)),
            waiting: Arc::new(Semaphore::new(ANALYSES_WAITING)),
            ended: Mutex::default(),
        });
        let results = Arc::new(Results::new(Arc::clone(&analyser)));
        let finder = Arc::new(Finder {
            store,
            indexes: Arc::clone(&indexes),
            members: Arc::clone(&members),
            sessions: Arc::clone(&sessions),
            arrivals: Arrivals::default(),
            turns: Semaphore::new(FINDS_AT_ONCE),
            under_way: Semaphore::new(FINDS_UNDER_WAY),
        });
        let cases = Arc::new(Cases::new(Arc::clone(&records), Arc::clone(&finder), state_dir.join("cases")));
        let watches = Arc::new(Watches::new(Arc::clone(&records), indexes, Arc::clone(&finder)));
        let removal = Removal {
            records: Arc::clone(&records),
            members: Arc::clone(&members),
            sessions: Arc::clone(&sessions),
            scans: Arc::clone(&scans),
            results: Arc::clone(&results),
            cases: Arc::clone(&cases),
        };
        let streams = Arc::new(Streams::new(state_dir.join("spool"), disk_reserve_bytes)?);
        let health = Health {
            records: Arc::clone(&records),
            members: Arc::clone(&members),
            sessions: Arc::clone(&sessions),
            scans: Arc::clone(&scans),
            metrics: Arc::clone(&metrics),
            storing: Arc::default(),
            state_dir,
            software: config.software,
            disk_reserve_bytes,
            started: seconds(clock()),
            draining: watch::Sender::new(false),
        };
        let webhooks = Webhooks::new(&config.webhook_hosts);
        let services = Services {
            streams,
            logins: Logins::new(clock),
            verdicts: Verdicts::new(Arc::clone(&records), Arc::clone(&results)),
            templates: Templates { records: Arc::clone(&records), scans: Arc::clone(&scans) },
            watching: Watching {
                watches: Arc::clone(&watches),
                sessions: Arc::clone(&sessions),
                metrics: Arc::clone(&metrics),
                webhooks: webhooks.clone(),
            },
            watches,
            audits: Audits { analyser, members: Arc::clone(&members), software: config.software },
            schedules: Arc::new(Schedules {
                records: Arc::clone(&records),
                scans: Arc::clone(&scans),
                metrics: Arc::clone(&metrics),
                webhooks: webhooks.clone(),
                changed: Notify::new(),
            }),
            removal: Arc::new(removal),
            records,
            members,
            sessions,
            scans,
            metrics,
            webhooks,
            results,
            finder,
            cases,
            health,
        };
        Ok(Coordinator { services: Arc::new(services) })
    }

    /// The services, for pages and other callers within the process.
    pub fn services(&self) -> &Arc<Services> {
        &self.services
    }

    /// Ends the scans that an earlier process was cut off in, and removes their unfinished files.
    ///
    /// # Errors
    /// Fails if the store fails, or something cannot be removed.
    pub fn end_interrupted(&self) -> Result<(), Error> {
        self.services.scans.end_interrupted()
    }

    /// Continues the scans that an earlier process was cut off in, each from its last step, on the current runtime.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn carry_on(&self, limits: &AnalysisLimits) -> Result<(), Error> {
        self.services.scans.carry_on(limits)
    }

    /// Lets a site attach, as a member of a party.
    ///
    /// # Errors
    /// Fails if the store fails.
    pub fn admit(&self, site: &SiteName, party: &PartyName) -> Result<(), Error> {
        if self.services.records.store.party_of(site)?.is_some_and(|known| known == *party) {
            return Ok(());
        }
        let membership = v1::Membership {
            kind: v1::MemberKind::Site.into(),
            name: site.to_string(),
            party: party.to_string(),
            ..v1::Membership::default()
        };
        Ok(self.services.records.record(What::Admitted(membership), "")?)
    }

    /// Serves workers on the streams of `incoming` until `shutdown` resolves.
    ///
    /// # Errors
    /// Fails if the listener fails; a single connection that breaks is no error.
    pub async fn serve<S>(
        &self,
        incoming: impl Stream<Item = std::io::Result<Peer<S>>>,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), tonic::transport::Error>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        server::serve(self.calls(None), incoming, shutdown, DRAIN).await
    }

    /// Serves the members of a federation on the streams of `incoming` until `shutdown` resolves, and from then on for at
    /// most `drain`. Schedules and watches run meanwhile.
    ///
    /// # Errors
    /// Fails if the listener fails; a single connection that breaks is no error.
    pub async fn serve_federation<S>(
        &self,
        settings: OperatorSettings,
        incoming: impl Stream<Item = std::io::Result<Peer<S>>>,
        shutdown: impl Future<Output = ()>,
        drain: Duration,
    ) -> Result<(), tonic::transport::Error>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let Services { schedules, removal, watching, .. } = &*self.services;
        let (limits, keep) = (settings.limits, settings.keep);
        let operator = self.operator_service(settings);
        tokio::select! {
            served = server::serve(self.calls(Some(operator)), incoming, shutdown, drain) => served,
            () = schedule::run(Arc::clone(schedules), Arc::clone(removal), limits, keep) => Ok(()),
            () = watching.run() => Ok(()),
        }
    }

    /// The operators' calls, for the pages.
    pub fn operator_service(&self, settings: OperatorSettings) -> OperatorService {
        OperatorService { services: Arc::clone(&self.services), settings: Arc::new(settings) }
    }

    /// Counts refused calls and connections, by reason.
    pub fn refusals(&self) -> Arc<Refusals> {
        Arc::clone(self.services.members.refusals())
    }

    fn calls(&self, operator: Option<OperatorService>) -> server::Calls {
        server::Calls { members: Arc::clone(&self.services.members), worker: self.worker_service(), operator }
    }

    /// The service for workers.
    pub(crate) fn worker_service(&self) -> WorkerService {
        WorkerService {
            sessions: Arc::clone(&self.services.sessions),
            scans: Arc::clone(&self.services.scans),
            metrics: Arc::clone(&self.services.metrics),
            storing: Arc::clone(&self.services.health.storing),
            streams: Arc::clone(&self.services.streams),
        }
    }

    /// Launches a scan within this process. It runs on the current runtime until it ends or is cancelled.
    ///
    /// # Errors
    /// Fails if it names a site that was never admitted.
    pub fn launch(&self, spec: ScanSpec) -> Result<ScanId, Error> {
        self.services.scans.launch(spec)
    }

    /// Follows a scan that is under way.
    ///
    /// # Errors
    /// Fails if there is no such scan.
    pub fn watch(&self, id: ScanId) -> Result<watch::Receiver<ScanProgress>, Error> {
        self.services.scans.watch(id)
    }

    /// Asks a scan to stop. It does so at the next opportunity, and leaves nothing behind.
    pub fn cancel(&self, id: ScanId) {
        self.services.scans.cancel(id);
    }

    /// Stops all scans where they are. They continue at the next start.
    pub fn halt(&self) {
        self.services.scans.halt();
    }

    /// Deletes a scan that has ended, with its result.
    ///
    /// # Errors
    /// Fails if its files cannot be removed.
    pub fn delete(&self, id: ScanId) -> Result<(), Error> {
        self.services.removal.delete_as(id, "").map(drop)
    }

    /// Starts no more work: sites are asked to leave, and `/readyz` reports it.
    pub fn drain(&self, retry_after_ms: u32) {
        self.services.health.drain(retry_after_ms);
    }

    /// The reason why nothing is written any more, once there is one: the process must end then.
    pub fn failed(&self) -> watch::Receiver<Option<cognate_storage::store::Failure>> {
        self.services.records.store.failed()
    }
}

/// The registry, with the federation's authority where it has one.
fn members(
    config: &CoordinatorConfig,
    store: &Arc<cognate_storage::store::Store>,
    metrics: &Arc<Metrics>,
) -> Result<Members, Error> {
    let authority = match config.state_dir.join(identity::KEY_FILE).is_file() {
        true => Some(Arc::new(Authority::open(&config.state_dir, config.clock)?)),
        false => None,
    };
    metrics.expect_auth_failures(Refusal::ALL.map(Refusal::label));
    let counter = Arc::clone(metrics);
    let refusals = Refusals::heard_by(move |refusal| counter.auth_failure(refusal.label()));
    Ok(Members::new(Arc::clone(store), authority, config.clock, Arc::new(refusals)))
}

#[cfg(test)]
pub(crate) mod tests;
