//! `cognate worker run`: the daemon.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use cognate_worker::enrolment::Identity;
use cognate_worker::ledger::Ledger;
use cognate_worker::state::StateFolder;
use cognate_worker::{DaemonConfig, Presence, Site, SiteConfig, SiteError, control, run_daemon};
use sd_notify::NotifyState;

use super::ConfigArgs;
use super::setup::{self, Setup, clock, enrolment_error, site_error};
use crate::allocator;
use crate::exit::{Exit, coded};
use crate::extraction::extraction;
use crate::stop::Stop;

/// Time for remaining tasks to end after the daemon has.
const LEFT_OVER: Duration = Duration::from_secs(1);

/// Runs the daemon until a signal stops it; a second signal ends it at once.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  cognate worker run --config worker.toml --log-level info")]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) config: ConfigArgs,
}

pub(super) fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let setup = setup::load(&args.config)?;
    let key = setup.key()?;
    let recogniser = setup.recogniser()?;
    let state = StateFolder::open(&setup.state_dir).map_err(site_error)?;
    let identity = Identity::open(state.path()).map_err(enrolment_error)?;
    let mut instance = [0; 8];
    getrandom::fill(&mut instance).map_err(|error| coded(Exit::Internal, format!("no random numbers: {error}")))?;
    let instance = u64::from_le_bytes(instance);
    let earlier_instances = state.record_start(instance).map_err(site_error)?;
    let ledger = Ledger::open(state.path(), clock).map_err(|error| site_error(error.into()))?;
    let ledger = Arc::new(ledger);
    let site = Site::open(SiteConfig {
        state_dir: setup.state_dir.clone(),
        remember: true,
        repositories: setup.repositories.clone(),
        sentinels: setup.sentinels.clone(),
        own_files: setup.own_files.clone(),
        key,
        threads: setup.threads,
        file_wait_max: setup.file_wait_max,
        clock,
        extraction: extraction(setup.texts_bytes_max, recogniser),
        policy: setup.policy.clone(),
        ledger: Some(Arc::clone(&ledger)),
        presence: Some(Presence { earlier_instances, instance }),
    });
    let site = Arc::new(site.map_err(site_error)?);
    let runtime = setup::runtime()?;
    allocator::keep_large_blocks_in(&setup.state_dir, LARGE_BLOCKS_BYTES_MAX);
    allocator::keep_giving_back();
    let ended = runtime.block_on(serve(&setup, site, ledger, identity));
    runtime.shutdown_timeout(LEFT_OVER);
    drop(state);
    ended?.map_err(site_error)?;
    Ok(Exit::Complete)
}

/// Beyond so many bytes of large blocks in memory, which a sync of some three million documents has, the next ones are in the state folder.
const LARGE_BLOCKS_BYTES_MAX: u64 = 192 << 20;

async fn serve(
    setup: &Setup,
    site: Arc<Site>,
    ledger: Arc<Ledger>,
    identity: Identity,
) -> anyhow::Result<Result<(), SiteError>> {
    let stop = Stop::on_signals()?;
    let config = DaemonConfig {
        schedule: setup.schedule.clone(),
        socket: control::socket(&setup.state_dir),
        drain: setup.drain,
    };
    tracing::info!(
        site = identity.site(),
        coordinator = identity.addresses().join(","),
        key = %site.key_fingerprint(),
        "the worker starts"
    );
    if let Some(why) = setup.is_of_no_use() {
        tracing::warn!(why);
    }
    // Without a service manager there is nothing to notify.
    let _ = sd_notify::notify(&[NotifyState::Ready]);
    let watchdog = tokio::spawn(watchdog());
    let shutdown = async {
        stop.stopped().await;
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
    };
    let ended = run_daemon(site, ledger, identity, config, shutdown).await;
    watchdog.abort();
    Ok(ended)
}

/// Notifies the service manager that this process is alive, at the interval that it requests.
async fn watchdog() {
    let Some(interval) = sd_notify::watchdog_enabled() else { return };
    loop {
        let _ = sd_notify::notify(&[NotifyState::Watchdog]);
        tokio::time::sleep(interval / 3).await;
    }
}
