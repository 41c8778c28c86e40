//! The coordinator as a whole: one state, many sites, many scans. What is started here is awaited here.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use cognate_proto::name::{PartyName, ScanId, SiteName};
use cognate_proto::v1;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_stream::Stream;

use crate::error::Error;
use crate::indexes::Indexes;
use crate::journal::{Event, ScanEvent, What};
use crate::scan::{Scan, ScanProgress, ScanSpec, Scans, random_number, seconds};
use crate::server::{self, Peer};
use crate::session::Sessions;
use crate::store::{ScanStep, Store};

/// What a coordinator is told at its start.
#[derive(Clone, Debug)]
pub struct CoordinatorConfig {
    /// The folder for its state; only one coordinator writes there.
    pub state_dir: PathBuf,
    /// Whether an acknowledgement survives a loss of power. Off only where the state is thrown away at the end.
    pub durable: bool,
    /// The clock for the times of scans.
    pub clock: fn() -> SystemTime,
}

/// An open coordinator.
pub struct Coordinator {
    store: Arc<Store>,
    sessions: Arc<Sessions>,
    scans: Arc<Scans>,
    running: Mutex<HashMap<ScanId, Running>>,
}

struct Running {
    progress: watch::Receiver<ScanProgress>,
    cancelled: Arc<AtomicBool>,
}

impl Coordinator {
    /// Opens or makes the state. Scans that were cut off are marked as failed, and what they left is removed.
    ///
    /// # Errors
    /// When the state cannot be used, is damaged, is newer than this build, or another process has it.
    pub fn open(config: &CoordinatorConfig) -> Result<Coordinator, Error> {
        std::fs::create_dir_all(&config.state_dir).map_err(Error::state(&config.state_dir))?;
        let store =
            Arc::new(Store::open(&config.state_dir.join("store"), &config.state_dir.join("journal"), config.durable)?);
        let indexes = Indexes::open(Arc::clone(&store), &config.state_dir.join("indexes"), config.durable)?;
        let sessions = Arc::new(Sessions::new());
        let scans = Arc::new(Scans {
            store: Arc::clone(&store),
            indexes: Arc::new(indexes),
            sessions: Arc::clone(&sessions),
            folder: config.state_dir.join("scans"),
            clock: config.clock,
        });
        let coordinator = Coordinator { store, sessions, scans, running: Mutex::default() };
        coordinator.end_interrupted()?;
        Ok(coordinator)
    }

    /// Scans that a crash cut off did not end: they are ended here, and what they left half done is removed.
    fn end_interrupted(&self) -> Result<(), Error> {
        for (id, mut row) in self.store.scans()? {
            if !matches!(row.step(), ScanStep::Syncing | ScanStep::Frozen) {
                continue;
            }
            tracing::info!(scan = %id, "a scan was interrupted");
            row.step = ScanStep::Failed.into();
            "interrupted".clone_into(&mut row.failure);
            self.record(What::Scan(ScanEvent { id: id.0, row }))?;
            let folder = self.scans.folder.join(id.to_string());
            match std::fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::state(&folder)(error)),
                _ => {}
            }
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
        self.record(What::Admitted(membership))
    }

    fn record(&self, what: What) -> Result<(), Error> {
        let time = seconds((self.scans.clock)());
        self.store.record(&Event { time, by: String::new(), what: Some(what) })
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
        server::serve(Arc::clone(&self.sessions), Arc::clone(&self.scans.indexes), incoming, shutdown).await
    }

    /// Launches a scan. It runs on the current runtime until it ends or is cancelled.
    ///
    /// # Errors
    /// When it names a site that was never admitted.
    pub fn launch(&self, spec: ScanSpec) -> Result<ScanId, Error> {
        for (site, _) in &spec.repositories {
            if self.store.party_of(site)?.is_none() {
                return Err(Error::UnknownSite(site.clone()));
            }
        }
        let id = ScanId(random_number());
        let cancelled = Arc::new(AtomicBool::new(false));
        let sender = watch::Sender::new(ScanProgress::default());
        let progress = sender.subscribe();
        self.lock().insert(id, Running { progress, cancelled: Arc::clone(&cancelled) });
        let scan = Arc::new(Scan { id, spec, progress: sender, cancelled });
        tokio::spawn(Arc::clone(&self.scans).run(scan));
        Ok(id)
    }

    /// Follows a scan that was launched by this process.
    ///
    /// # Errors
    /// When there is no such scan.
    pub fn watch(&self, id: ScanId) -> Result<watch::Receiver<ScanProgress>, Error> {
        self.lock().get(&id).map(|running| running.progress.clone()).ok_or(Error::UnknownScan(id))
    }

    /// Asks a scan to stop. It does so at the next opportunity, and leaves nothing behind.
    pub fn cancel(&self, id: ScanId) {
        if let Some(running) = self.lock().get(&id) {
            running.cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Deletes a scan that has ended, with its result.
    ///
    /// # Errors
    /// When its files cannot be removed.
    pub fn delete(&self, id: ScanId) -> Result<(), Error> {
        self.lock().remove(&id);
        let folder = self.scans.folder.join(id.to_string());
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::state(&folder)(error)),
            _ => {}
        }
        self.record(What::ScanDeleted(id.0))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<ScanId, Running>> {
        self.running.lock().expect("no critical section panics")
    }
}
