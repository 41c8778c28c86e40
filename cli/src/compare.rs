//! `cognate compare`: an entire federation in one process, with a worker for each site and a coordinator, joined by pipes.

mod estimate;
mod folders;
mod link;
mod state;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, anyhow};
use clap::Args;
use cognate_analysis::AnalysisLimits;
use cognate_analysis::spark::SparkSettings;
use cognate_analysis::spec::ScanSpec;
use cognate_fingerprint::View;
use cognate_proto::name::{RepositoryName, ScanId, SiteName};
use cognate_proto::options::{Precision, ScanOptions};
use cognate_proto::selection::Selection;
use cognate_proto::v1::FailureKind;
use cognate_result::report::{FineRepository, Report};
use cognate_server::{Coordinator, CoordinatorConfig, ScanEnd};
use cognate_storage::ErrorKind;
use cognate_storage::indexes::SiteQuotas;
use cognate_view::Recogniser;
use cognate_worker::policy::Policy;
use cognate_worker::{Site, SiteConfig};
use tokio::task::JoinSet;

use self::folders::{Folders, SiteFolders};
use self::link::Links;
use self::state::State;
use crate::args::{KeyArgs, ReportFormat, threads};
use crate::exit::{Exit, usage};
use crate::extraction::{OcrArgs, TEXTS_BYTES_MAX, extraction};
use crate::options::ScanArgs;
use crate::output;
use crate::progress::Bars;
use crate::stop::Stop;

/// Time for a cancelled scan to close its files.
const STOP_WAIT: Duration = Duration::from_secs(5);
/// Default working memory of the comparison.
const MEMORY_BUDGET_BYTES: u64 = 128 << 20;
/// Large blocks of memory beyond so many budgets are in the state folder: both sites and the coordinator share the process.
const LARGE_BLOCKS_BUDGETS: u64 = 4;

/// Compares folders on this machine, each as its own site, without any setup.
///
/// Real workers fingerprint the folders and a real coordinator compares them, all in this process. The result is the same
/// as that of a federation of separate machines.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate compare old=release-1 new=release-2
  cognate compare paris/kb=/srv/kb tokyo/kb=/mnt/kb --across-only --format json -o report.json
  cognate compare old=release-1 new=release-2 --format html -o report.html   # or xlsx, csv, loadfile, sqlite
  cognate compare old=release-1 new=release-2 --view both   # what can be read in documents as well
  cognate compare us=/srv/contracts them=/mnt/data-room --ocr=eng+deu   # and the text of scanned pages
  cognate compare old=release-1 new=release-2 --method min --cluster greedy   # how alike, by samples
  cognate compare /home/me/papers            # duplicates within one folder
  cognate compare old=release-1 new=release-2 --estimate     # how much they have in common, from a sample, in seconds
  cognate compare a=DIR b=DIR --state STATE  # a second run reads only what changed")]
pub(crate) struct CompareArgs {
    /// Folders, as NAME=DIR or just DIR; NAME is `[PARTY:]SITE[/REPOSITORY]`
    #[arg(required = true, value_name = "NAME=DIR")]
    pub(crate) folders: Vec<OsString>,
    #[command(flatten)]
    pub(crate) scan: ScanArgs,
    /// Format of the result
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: ReportFormat,
    #[command(flatten)]
    pub(crate) output: output::OutputArgs,
    /// Keep indexes in this folder, so that a second run reads only changed files
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Compare nothing: estimate how much two folders have in common, with a 95 % confidence interval, from places of each that are
    /// drawn by chance [default: 400]
    #[arg(long, value_name = "PLACES", num_args = 0..=1, require_equals = true, default_missing_value = "400", value_parser = clap::value_parser!(u64).range(20..=1_000_000), conflicts_with_all = ["state", "site"])]
    pub(crate) estimate: Option<u64>,
    #[command(flatten)]
    pub(crate) ocr: OcrArgs,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    /// Give a document up if its file system, as of a server that is gone, does not answer for so long
    #[arg(long, value_name = "D", value_parser = humantime::parse_duration, default_value = "1m", help_heading = "How")]
    pub(crate) file_wait: Duration,
    /// Rows to show of each list of the text report; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) limit: usize,
    /// Report only the documents of this site, and the rows with one of them
    #[arg(long, value_name = "NAME")]
    pub(crate) site: Option<String>,
}

/// Runs the command.
pub(crate) fn run(args: &CompareArgs) -> anyhow::Result<Exit> {
    let plan = Plan::of(args)?;
    if let Some(places) = args.estimate {
        return estimated(args, &plan, places);
    }
    plan.folders.check_readable()?;
    plan.folders.nested().iter().for_each(|line| tell!("cognate: {line}"));
    if let Some(state) = &args.state {
        // Checked before the folder is made, and again below for a temporary folder.
        plan.folders.check_apart_from(state)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the runtime cannot be started")?;
    let stop = {
        let _inside = runtime.enter();
        Stop::on_signals()?
    };
    crate::descriptors::allow_many();
    // Earlier steps create nothing that a failure would have to remove.
    let state = State::open(args.state.as_deref())?;
    plan.folders.check_apart_from(state.path())?;
    crate::allocator::keep_large_blocks_in(
        state.path(),
        plan.spec.memory_budget_bytes.saturating_mul(LARGE_BLOCKS_BUDGETS),
    );
    let coordinator = Arc::new(open_coordinator(&state)?);
    let ended = runtime.block_on(scan(&plan, &state, &coordinator, &stop));
    let exit = ended.and_then(|(id, end)| {
        let exit = write_result(args, &end, &stop);
        // The result is written, or never will be: a state folder keeps only the indexes, which save work.
        coordinator.delete(id)?;
        exit
    });
    // Tasks that still run have no useful work left.
    runtime.shutdown_timeout(STOP_WAIT);
    match stop.signal() {
        Some(number) => Ok(Exit::Signal(number)),
        None => exit,
    }
}

/// Estimates the overlap from a sample, and writes it.
fn estimated(args: &CompareArgs, plan: &Plan, places: u64) -> anyhow::Result<Exit> {
    let began = Instant::now();
    let folders = plan.folders.sites.iter().flat_map(|site| site.repositories.iter().map(move |one| (&site.site, one)));
    let [first, second] = folders.collect::<Vec<_>>()[..] else {
        return Err(usage("--estimate is about two folders"));
    };
    if !matches!(args.format, ReportFormat::Text | ReportFormat::Json) {
        return Err(usage("an estimate is text or json"));
    }
    let method = plan.spec.layers[0].method;
    if !method.capabilities().has_chunks() || method.view() != View::Raw {
        return Err(usage("--estimate is about the bytes of files, by chunks: leave out --method and --view"));
    }
    let selection = Selection::new(plan.spec.options.selection())?;
    let open = |(site, (repository, path)): (&SiteName, &(RepositoryName, PathBuf))| {
        let name = if repository.as_str() == "main" { site.to_string() } else { format!("{site}/{repository}") };
        let side = estimate::Side::open(name, path, &selection, Path::new(""));
        side.with_context(|| format!("`{}` cannot be read", path.display()))
    };
    let sides = [open(first)?, open(second)?];
    let sides = sides.each_ref();
    let (estimates, read) = estimate::of(sides, method, &plan.key, places);
    let text = match args.format {
        ReportFormat::Json => format!("{}\n", estimate::json(sides, estimates, read)),
        _ => estimate::text(sides, estimates, read, began),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let stop = {
        let _inside = runtime.enter();
        Stop::on_signals()?
    };
    output::write_with(&args.output, &stop, |out| Ok(out.write_all(text.as_bytes())?))?;
    Ok(Exit::Complete)
}

/// Writes the result of a scan if it has one.
fn write_result(args: &CompareArgs, end: &ScanEnd, stop: &Stop) -> anyhow::Result<Exit> {
    match end {
        ScanEnd::Published(path) => {
            let mut report = Report::open(path)?;
            if let Some(site) = &args.site {
                report.slice(site)?;
            }
            output::write(&report, args.format, &args.output, args.limit, stop)?;
            for site in report.sites()?.iter().filter(|site| site.documents == 0) {
                tell!("cognate: {} has no documents", site.site);
            }
            exit_of(&report, args.scan.require_complete)
        }
        ScanEnd::Cancelled => Err(anyhow!("the scan was cancelled")),
        ScanEnd::Failed { reason, .. } => Err(anyhow!("{reason}")),
    }
}

/// Opens the coordinator's part of the state. A damaged one is moved aside; the sites then send their indexes again.
fn open_coordinator(state: &State) -> anyhow::Result<Coordinator> {
    let config = CoordinatorConfig {
        state_dir: state.coordinator(),
        software: crate::VERSION,
        durable: state.is_durable(),
        clock: now,
        disk_reserve_bytes: 0,
        quotas: SiteQuotas::default(),
        webhook_hosts: Vec::new(),
        spark: SparkSettings::default(),
    };
    let coordinator = match Coordinator::open(&config) {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            let aside = state.move_coordinator_aside()?;
            tracing::warn!(%error, aside = %aside.display(), "the coordinator's state is damaged and was moved aside");
            Coordinator::open(&config)?
        }
        opened => opened?,
    };
    coordinator.end_interrupted()?;
    Ok(coordinator)
}

/// The checked arguments.
struct Plan {
    folders: Folders,
    spec: ScanSpec,
    key: cognate_fingerprint::Key,
    recogniser: Option<Arc<Recogniser>>,
    file_wait_max: Duration,
}

impl Plan {
    fn of(args: &CompareArgs) -> anyhow::Result<Plan> {
        let folders = Folders::parse(&args.folders)?;
        args.output.check_for(args.format)?;
        if let Some(site) =
            args.site.as_ref().filter(|site| folders.sites.iter().all(|one| one.site.as_str() != **site))
        {
            return Err(usage(format!("--site `{site}`: none of the folders has that name")));
        }
        if args.scan.no_sync && args.state.is_none() {
            return Err(usage("--no-sync compares the indexes of an earlier run: name its folder with --state DIR"));
        }
        let key = args.key.key()?;
        // A missing site or document shows in the exit code; the report is written regardless.
        let options = ScanOptions { require_complete: false, ..args.scan.options(folders.repositories())? };
        let limits = AnalysisLimits {
            // Whoever compares their own folders waits for themselves alone.
            pairs_max: u64::MAX,
            memory_budget_bytes: options.memory_budget_bytes.unwrap_or(MEMORY_BUDGET_BYTES),
            threads: threads(args.scan.threads),
        };
        let mut spec = ScanSpec { in_process: true, ..ScanSpec::new(options, &limits)? };
        spec.layers.iter_mut().for_each(|layer| layer.method_id = Some(layer.method.id(&key)));
        let file_wait_max = args.file_wait;
        if file_wait_max.is_zero() {
            return Err(usage("--file-wait `0s`: no file answers in no time"));
        }
        Ok(Plan { folders, spec, key, recogniser: args.ocr.recogniser()?, file_wait_max })
    }
}

/// Starts the coordinator's service and the workers, launches the scan, and follows it until it ends.
async fn scan(
    plan: &Plan,
    state: &State,
    coordinator: &Arc<Coordinator>,
    stop: &Stop,
) -> anyhow::Result<(ScanId, ScanEnd)> {
    let (links, incoming) = Links::new();
    let mut tasks = JoinSet::new();
    {
        let coordinator = Arc::clone(coordinator);
        tasks.spawn(async move {
            let served = coordinator.serve(incoming, std::future::pending()).await;
            served.map_err(|error| format!("the coordinator's transport failed: {error}"))
        });
    }
    for site in &plan.folders.sites {
        coordinator.admit(&site.site, &site.party)?;
        let worker = Arc::new(Site::open(site_config(plan, state, site))?);
        let channel = links.connect(site.site.clone());
        let name = site.site.clone();
        tasks.spawn(async move {
            let run = cognate_worker::run(worker, channel, std::future::pending()).await;
            run.map_err(|error| format!("the worker of `{name}`: {error}"))
        });
    }
    let id = coordinator.launch(plan.spec.clone())?;
    // Without this, the scan would wait forever for a worker or transport that ended early.
    let end = tokio::select! {
        end = follow(coordinator, id, &plan.spec.options.repositories, stop) => end?,
        Some(ended) = tasks.join_next() => {
            coordinator.cancel(id);
            let reason = match ended {
                Ok(Err(reason)) => reason,
                Ok(Ok(())) => "a part of the comparison ended early".to_owned(),
                Err(error) => format!("a part of the comparison crashed: {error}"),
            };
            ScanEnd::Failed { kind: FailureKind::Other, reason }
        }
    };
    tasks.abort_all();
    Ok((id, end))
}

fn site_config(plan: &Plan, state: &State, site: &SiteFolders) -> SiteConfig {
    let is_fine = plan.spec.options.precision == Precision::Fine;
    SiteConfig {
        state_dir: state.site(&site.site),
        remember: state.is_durable(),
        repositories: site.repositories.clone(),
        sentinels: HashMap::new(),
        own_files: vec![state.path().to_owned()],
        key: plan.key.clone(),
        threads: plan.spec.threads,
        file_wait_max: plan.file_wait_max,
        clock: now,
        extraction: extraction(TEXTS_BYTES_MAX, plan.recogniser.clone()),
        // A comparison by whole chunks alone uses no samples.
        policy: Policy { samples: is_fine, ..Policy::everything() },
        ledger: None,
        presence: None,
    }
}

/// Shows the progress of the scan until it ends. After a signal, the scan gets a moment to close its files.
async fn follow(
    coordinator: &Coordinator,
    id: ScanId,
    repositories: &[(SiteName, RepositoryName)],
    stop: &Stop,
) -> anyhow::Result<ScanEnd> {
    let mut progress = coordinator.watch(id)?;
    let bars = Bars::new(repositories.iter().map(|(site, repository)| format!("{site}/{repository}")));
    let end = loop {
        tokio::select! {
            changed = progress.changed() => {
                changed.context("the scan ended without a status")?;
                let now = progress.borrow_and_update().clone();
                bars.show(&now);
                if let Some(end) = now.ended {
                    break end;
                }
            }
            () = stop.stopped() => {
                coordinator.cancel(id);
                let ended = progress.wait_for(|progress| progress.ended.is_some());
                let _ = tokio::time::timeout(STOP_WAIT, ended).await;
                break ScanEnd::Cancelled;
            }
        }
    };
    bars.clear();
    Ok(end)
}

/// Exit code: complete, or done with something missing.
pub(crate) fn exit_of(report: &Report, require_complete: bool) -> anyhow::Result<Exit> {
    let unreadable: u64 = report.sites()?.iter().map(|site| site.unreadable).sum();
    let scan = report.scan()?;
    for missing in &scan.missing {
        tell!("cognate: {}/{} is missing: {}", missing.site, missing.repository, missing.reason);
    }
    // A site whose policy refuses fine chunks misses nothing that was to be had.
    let incomplete = scan.fine.iter().flat_map(|fine| &fine.incomplete).filter(|one| !one.refused);
    let mut coarse = 0;
    for FineRepository { site, repository, chunks, expanded_chunks, reason, .. } in incomplete {
        let reason = reason.as_deref().unwrap_or("its documents have changed since they were read");
        let missed = chunks - expanded_chunks;
        tell!("cognate: {site}/{repository} did not cut {missed} of {chunks} chunks again: {reason}");
        coarse += 1;
    }
    Ok(match (unreadable == 0 && scan.missing.is_empty() && coarse == 0, require_complete) {
        (true, _) => Exit::Complete,
        (false, true) => Exit::Failed,
        (false, false) => Exit::Incomplete,
    })
}

#[expect(clippy::disallowed_methods, reason = "this is the composition root: the clock is read here and handed down")]
fn now() -> SystemTime {
    SystemTime::now()
}
