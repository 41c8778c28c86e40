//! `cognate coordinator run`: the composition root of the server. It reads the clock and the configuration, binds, starts
//! everything, and stops it in order.

mod probes;

use std::fs::{File, TryLockError};
use std::num::NonZeroUsize;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, anyhow};
use clap::Args;
use cognate_analysis::AnalysisLimits;
use cognate_analysis::spark::{SparkJoin, SparkSettings};
use cognate_durable::whole::{PRIVATE, PRIVATE_FOLDER, make_folder, write_whole};
use cognate_proto::options::{OptionError, check_exchange, check_server};
use cognate_server::identity::addresses;
use cognate_server::{Authority, Coordinator, CoordinatorConfig, Error, KeepFor, Listener, OperatorSettings, Tls};
use cognate_storage::indexes::SiteQuotas;
use cognate_web::HttpListener;
use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind};
use tokio::sync::oneshot;

use self::probes::Probes;
use super::ConfigArgs;
use crate::allocator;
use crate::args::threads;
use crate::config::{CoordinatorFile, Loaded, SparkEntry, load};
use crate::exit::{CodedError, Exit, coded, usage};
use crate::operator::init::names;
use crate::stop::Stop;
use crate::trace;

/// Interval between checks of the certificate's age.
const RENEWAL_INTERVAL: Duration = Duration::from_secs(600);
/// Time for tasks that still run after a stop to close their files.
const REST: Duration = Duration::from_secs(5);
/// Delay after which sites reconnect after a stop.
const COME_BACK_MS: u32 = 1000;

/// Serves sites and operators until a signal stops the process. SIGHUP reads names and the log level again.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  cognate coordinator run --config /etc/cognate/coordinator.toml")]
pub(super) struct RunArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Write the bound addresses to this file once the server is ready
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
    /// Print the values in force with their origins, and exit
    #[arg(long)]
    print_config: bool,
}

/// The checked configuration.
struct Settings {
    state_dir: PathBuf,
    listen: String,
    http: HttpFile,
    names: Vec<String>,
    limits: AnalysisLimits,
    drain: Duration,
    disk_reserve_bytes: u64,
    quotas: SiteQuotas,
    webhook_hosts: Vec<String>,
    spark: SparkSettings,
    keep: KeepFor,
    log_level: Option<trace::LogLevel>,
}

/// Settings of the pages.
struct HttpFile {
    listen: String,
    /// Address for browsers, if it differs from the bound address.
    address: Option<String>,
    /// Certificate and key, if not the federation's own.
    certificate: Option<(PathBuf, PathBuf)>,
}

/// Runs the command.
pub(super) fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let loaded = load::<CoordinatorFile>(&args.config.config)?;
    if args.print_config {
        print(&loaded.print()?);
        return Ok(Exit::Complete);
    }
    let settings = Settings::of(&loaded)?;
    settings.log_level.into_iter().for_each(trace::set_level);
    let _lock = lock(&settings.state_dir)?;
    crate::descriptors::allow_many();
    allocator::keep_large_blocks_in(&settings.state_dir, settings.limits.memory_budget_bytes);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    crate::watch_tasks(&mut builder);
    let runtime = builder.enable_all().build().context("the runtime cannot be started")?;
    allocator::keep_giving_back();
    let served = runtime.block_on(serve(args, settings));
    // Analyses were asked to stop; the next start begins them again.
    runtime.shutdown_timeout(REST);
    served
}

async fn serve(args: &RunArgs, settings: Settings) -> anyhow::Result<Exit> {
    let stop = Stop::on_signals()?;
    let mut hang_up = tokio::signal::unix::signal(SignalKind::hangup()).context("signals cannot be listened for")?;
    let config = CoordinatorConfig {
        state_dir: settings.state_dir.clone(),
        software: crate::VERSION,
        durable: true,
        clock: now,
        disk_reserve_bytes: settings.disk_reserve_bytes,
        quotas: settings.quotas,
        webhook_hosts: settings.webhook_hosts.clone(),
        spark: settings.spark.clone(),
    };
    // Checked before anything is created in a folder without a federation.
    let authority = Arc::new(Authority::open(&settings.state_dir, now).map_err(refused)?);
    let coordinator = Arc::new(Coordinator::open(&config).map_err(refused)?);
    let tls = Arc::new(Tls::new(Arc::clone(&authority), &settings.names).map_err(refused)?);
    let listener = Listener::bind(&settings.listen, Arc::clone(&tls), coordinator.refusals()).await.map_err(refused)?;
    let http_tls = http_tls(&settings, authority).await?;
    let http = HttpListener::bind(&settings.http.listen, http_tls.clone()).await.map_err(refused)?;
    let (listen, http_listen) = (listener.local_addr()?, http.local_addr()?);
    coordinator.carry_on(&settings.limits).map_err(refused)?;

    let (stop_grpc, grpc_stopped) = oneshot::channel::<()>();
    let (stop_http, http_stopped) = oneshot::channel::<()>();
    let operator_settings = OperatorSettings {
        limits: settings.limits,
        addresses: addresses(&settings.names, listen.port()),
        pages: pages_address(&settings, http_listen, http_tls.is_some()),
        keep: settings.keep,
    };
    let pages = operator_settings.pages.clone();
    let service = coordinator.operator_service(operator_settings.clone());
    let mut grpc = {
        let (coordinator, drain) = (Arc::clone(&coordinator), settings.drain);
        tokio::spawn(async move {
            let stopped = async { drop(grpc_stopped.await) };
            coordinator.serve_federation(operator_settings, listener.incoming(), stopped, drain).await
        })
    };
    let http = {
        let (service, pages) = (service.clone(), pages.clone());
        tokio::spawn(async move { http.serve(service, &pages, async { drop(http_stopped.await) }).await })
    };

    let probes = Probes::start(service, pages)?;
    let serving = format!("listen = \"{listen}\"\nhttp_listen = \"{http_listen}\"\nprobes = \"{}\"\n", probes.address);
    let serving_path = settings.state_dir.join("serving.toml");
    for path in std::iter::once(&serving_path).chain(&args.ready_file) {
        let written = write_whole(path, serving.as_bytes(), PRIVATE);
        let unwritable = |error| coded(Exit::InputOutput, format!("`{}` cannot be written: {error}", path.display()));
        written.map_err(unwritable)?;
    }
    notify(&[NotifyState::Ready]);
    tracing::info!(%listen, %http_listen, version = crate::VERSION, "the coordinator serves");

    let mut keeper = Keeper { config: args.config.config.clone(), names: settings.names.clone(), tls, http_tls };
    let mut failed = coordinator.failed();
    let ended = tokio::select! {
        () = stop.stopped() => Ok(()),
        served = &mut grpc => Err(match served {
            Ok(Err(error)) => anyhow!("the transport failed: {error}"),
            Ok(Ok(())) => anyhow!("the transport ended by itself"),
            Err(error) => coded(Exit::Internal, format!("the transport crashed: {error}")),
        }),
        failure = async { failed.wait_for(Option::is_some).await.ok().and_then(|failure| failure.clone()) } => {
            // Nothing can be acknowledged any more, and the state on disk is unknown: a restart checks it.
            let (reason, is_bug) = failure.map(|failure| (failure.reason, failure.is_bug)).unwrap_or_default();
            Err(coded(if is_bug { Exit::Internal } else { Exit::InputOutput }, reason))
        }
        error = keeper.keep(&mut hang_up) => Err(error),
    };
    notify(&[NotifyState::Stopping]);
    tracing::info!("the coordinator stops");
    let _ = std::fs::remove_file(&serving_path);
    coordinator.drain(COME_BACK_MS);
    coordinator.halt();
    let _ = stop_grpc.send(());
    if !grpc.is_finished() {
        // The server has its own deadline; this one covers tasks beyond it.
        let _ = tokio::time::timeout(settings.drain + REST, &mut grpc).await;
    }
    let _ = stop_http.send(());
    let _ = tokio::time::timeout(Duration::from_secs(1), http).await;
    let _ = tokio::task::spawn_blocking(|| probes.stop()).await;
    ended.map(|()| Exit::Complete)
}

/// Periodic duties while the server runs: the certificate, the configuration, the watchdog.
struct Keeper {
    config: PathBuf,
    names: Vec<String>,
    tls: Arc<Tls>,
    http_tls: Option<Arc<Tls>>,
}

impl Keeper {
    /// Returns only after an error that cannot be repaired.
    async fn keep(&mut self, hang_up: &mut Signal) -> anyhow::Error {
        let mut renewal = tokio::time::interval(RENEWAL_INTERVAL);
        let watchdog = sd_notify::watchdog_enabled().map(|every| every / 2);
        let mut watchdog_tick =
            tokio::time::interval(watchdog.unwrap_or(RENEWAL_INTERVAL).max(Duration::from_millis(1)));
        loop {
            tokio::select! {
                _ = renewal.tick() => {
                    if self.tls.is_due(now()) && let Err(error) = self.tls.renew(&self.names) {
                        tracing::error!(%error, "the certificate cannot be renewed");
                    }
                    if let Some(tls) = self.http_tls.as_ref().filter(|tls| tls.is_due(now()))
                        && let Err(error) = tls.renew(&self.names)
                    {
                        tracing::error!(%error, "the certificate of the pages cannot be renewed");
                    }
                }
                _ = watchdog_tick.tick() => {
                    if watchdog.is_some() {
                        notify(&[NotifyState::Watchdog]);
                    }
                }
                signal = hang_up.recv() => match signal {
                    Some(()) => self.reload(),
                    None => return anyhow!("signals cannot be listened for any more"),
                }
            }
        }
    }

    /// Reads the configuration again. An invalid one changes nothing.
    fn reload(&mut self) {
        let mut read = || -> anyhow::Result<()> {
            let loaded = load::<CoordinatorFile>(&self.config)?;
            let settings = Settings::of(&loaded)?;
            self.tls.renew(&settings.names)?;
            self.http_tls.as_ref().map_or(Ok(()), |tls| tls.renew(&settings.names))?;
            settings.log_level.into_iter().for_each(trace::set_level);
            self.names = settings.names;
            Ok(())
        };
        match read() {
            Ok(()) => tracing::warn!("the configuration was read again: its names and log level are in force"),
            Err(error) => {
                let error = crate::exit::line(&error);
                tracing::error!(error, "the configuration is invalid: nothing changes");
            }
        }
    }
}

impl Settings {
    fn of(loaded: &Loaded<CoordinatorFile>) -> anyhow::Result<Settings> {
        let file = &loaded.values;
        let wrong = |key: &str, problem: String| usage(format!("{}, key `{key}`: {problem}", loaded.origin(key)));
        let size = |key: &str, text: &str| {
            let size = bytesize::ByteSize::from_str(text).map(|size| size.as_u64());
            size.map_err(|_| wrong(key, format!("`{text}` is not a size: 500, 4KB, 64MiB")))
        };
        let optional_size = |key: &str, text: &str| match text {
            "" => Ok(None),
            text => size(key, text).map(Some),
        };
        let duration = |key: &str, text: &str| {
            humantime::parse_duration(text).map_err(|_| wrong(key, format!("`{text}` is not a time: 10s, 5m, 2h")))
        };
        let optional_duration = |key: &str, text: &str| match text {
            "" => Ok(None),
            text => duration(key, text).map(Some),
        };
        let log_level =
            match file.log_level.as_str() {
                "" => None,
                level => Some(<trace::LogLevel as clap::ValueEnum>::from_str(level, true).map_err(|_| {
                    wrong("log_level", format!("`{level}` is not off, error, warn, info, debug or trace"))
                })?),
            };
        let memory_budget_bytes = size("memory_budget", &file.memory_budget)?;
        if memory_budget_bytes < 32 << 20 {
            return Err(wrong("memory_budget", "it must be at least 32MiB".to_owned()));
        }
        Ok(Settings {
            state_dir: file.state_dir.clone(),
            listen: file.listen.clone(),
            http: HttpFile::of(loaded)?,
            names: names(file)?,
            limits: AnalysisLimits {
                memory_budget_bytes,
                pairs_max: file.scan_pairs,
                threads: threads(NonZeroUsize::new(file.threads)),
            },
            drain: duration("drain", &file.drain)?,
            disk_reserve_bytes: size("disk_reserve", &file.disk_reserve)?,
            quotas: SiteQuotas {
                bytes: optional_size("site_quota", &file.site_quota)?,
                documents: Some(file.site_documents).filter(|documents| *documents > 0),
                contents: Some(file.site_contents).filter(|contents| *contents > 0),
                name_bytes: optional_size("site_names", &file.site_names)?,
            },
            webhook_hosts: file.webhook_hosts.clone(),
            spark: spark(loaded)?,
            keep: KeepFor {
                scans: optional_duration("keep_scans", &file.keep_scans)?,
                methods: optional_duration("keep_methods", &file.keep_methods)?,
            },
            log_level,
        })
    }
}

/// The clusters that scans may use.
fn spark(loaded: &Loaded<CoordinatorFile>) -> anyhow::Result<SparkSettings> {
    let SparkEntry { program, servers, exchanges, join, worker_program } = loaded.values.spark.clone();
    let wrong = |key: &str, problem: &str| {
        usage(format!("{}, key `spark.{key}`: {problem}", loaded.origin(&format!("spark.{key}"))))
    };
    let check = |key: &str, addresses: &[String], check: fn(&str) -> Result<(), OptionError>| {
        let wrong = |problem: &str| wrong(key, problem);
        addresses.iter().try_for_each(|address| match check(address) {
            Ok(()) if address.is_empty() => Err(wrong("an address is empty")),
            Ok(()) => Ok(()),
            Err(error) => Err(wrong(&format!("`{address}`: {}", error.reason))),
        })
    };
    check("servers", &servers, check_server)?;
    check("exchanges", &exchanges, check_exchange)?;
    let named = SparkJoin::ALL.iter().find(|(_, name)| *name == join);
    let join = named.ok_or_else(|| wrong("join", &format!("`{join}` is none of auto, workers, coordinator")))?.0;
    // It becomes a part of a statement and of a command.
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    let is_path = worker_program.starts_with('/') && worker_program.chars().all(is_plain);
    if !(worker_program.is_empty() || is_path) {
        return Err(wrong("worker_program", "it has to be an absolute path of letters, digits and `/._-`"));
    }
    Ok(SparkSettings { program, servers, exchanges, join, worker_program })
}

impl HttpFile {
    fn of(loaded: &Loaded<CoordinatorFile>) -> anyhow::Result<HttpFile> {
        let file = &loaded.values;
        let wrong = |key: &str, problem: &str| usage(format!("{}, key `{key}`: {problem}", loaded.origin(key)));
        let given = |path: &PathBuf| Some(path.clone()).filter(|path| !path.as_os_str().is_empty());
        let certificate = match (given(&file.http_certificate), given(&file.http_key)) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            (Some(_), None) => return Err(wrong("http_key", "`http_certificate` is given without it")),
            (None, Some(_)) => return Err(wrong("http_certificate", "`http_key` is given without it")),
        };
        let address = match file.http_address.trim_end_matches('/') {
            "" => None,
            address => {
                let host = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"));
                if host.is_none_or(|host| host.is_empty() || host.contains(['/', '?', '#', '@', ' '])) {
                    return Err(wrong("http_address", "it is not like `https://cognate.example.com`"));
                }
                Some(address.to_owned())
            }
        };
        Ok(HttpFile { listen: file.http_listen.clone(), address, certificate })
    }
}

/// Certificate of the pages if they use TLS: everywhere but on loopback, and there too if a certificate is configured.
async fn http_tls(settings: &Settings, authority: Arc<Authority>) -> anyhow::Result<Option<Arc<Tls>>> {
    let tls = match &settings.http.certificate {
        Some((certificate, key)) => Tls::files(certificate, key).map_err(refused)?,
        None if HttpListener::is_loopback(&settings.http.listen).await.map_err(refused)? => return Ok(None),
        None => Tls::for_browsers(authority, &settings.names).map_err(refused)?,
    };
    Ok(Some(Arc::new(tls)))
}

/// Address of the pages for browsers.
fn pages_address(settings: &Settings, bound: std::net::SocketAddr, is_tls: bool) -> String {
    if let Some(address) = &settings.http.address {
        return address.clone();
    }
    let scheme = if is_tls { "https" } else { "http" };
    match bound.ip().is_loopback() {
        true => format!("{scheme}://{bound}"),
        false => format!("{scheme}://{}", addresses(&settings.names[..1], bound.port()).concat()),
    }
}

/// Locks the state, so that no second coordinator works on it.
fn lock(state_dir: &Path) -> anyhow::Result<File> {
    let unusable = |error: std::io::Error| {
        coded(Exit::InputOutput, format!("the state folder `{}` cannot be used: {error}", state_dir.display()))
    };
    make_folder(state_dir, PRIVATE_FOLDER).map_err(unusable)?;
    let mode = std::fs::metadata(state_dir).map_err(unusable)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let shown = state_dir.display();
        let message = format!(
            "the state folder `{shown}` is open to other users (mode {mode:o}), and it holds keys and what sites sent: `chmod 700 {shown}`"
        );
        return Err(coded(Exit::InputOutput, message));
    }
    let path = state_dir.join("lock");
    let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(&path).map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(coded(
            Exit::Locked,
            format!(
                "another process has the state `{}`: stop it first (it holds `{}`)",
                state_dir.display(),
                path.display()
            ),
        )),
        Err(TryLockError::Error(error)) => Err(unusable(error)),
    }
}

/// Converts an error of the coordinator, with the code that the process exits with.
fn refused(error: Error) -> anyhow::Error {
    let exit = crate::exit::of_kind(error.kind());
    let message = crate::exit::line(&anyhow::Error::new(error));
    CodedError { exit, message }.into()
}

/// Notifies the service manager, if there is one.
fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "the service manager does not listen");
    }
}

#[expect(clippy::print_stdout, reason = "this is the requested output")]
fn print(text: &str) {
    print!("{text}");
}

#[expect(clippy::disallowed_methods, reason = "this is the composition root: the clock is read here and handed down")]
fn now() -> SystemTime {
    SystemTime::now()
}
