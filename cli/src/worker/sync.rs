//! `cognate worker sync`: syncs now, or writes the messages to a file.

use std::fs::OpenOptions;
use std::io::{BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Args;
use cognate_proto::name::RepositoryName;
use cognate_proto::path::printable;
use cognate_worker::control::Request;
use cognate_worker::dry_run::{self, DryRun};
use cognate_worker::{Site, SiteConfig};
use serde_json::Value;

use super::ConfigArgs;
use super::setup::{self, Setup, clock, site_error};
use super::status::ask;
use crate::args::MethodArgs;
use crate::exit::{self, Exit, coded, usage};
use crate::extraction::extraction;

mod explain;

/// Syncs repositories now, under every method that an earlier scan has used.
///
/// With --dry-run nothing is sent or remembered: the exact bytes that would leave are written to a file, even
/// before this site has joined a federation.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate worker sync kb --config worker.toml
  cognate worker sync --dry-run --out would-leave --config worker.toml
  cognate worker sync --explain would-leave")]
pub(super) struct SyncArgs {
    /// Repositories to sync [default: all]
    #[arg(value_name = "REPOSITORY")]
    repositories: Vec<String>,
    /// Remove documents from the index even if more are gone than are there
    #[arg(long, conflicts_with = "dry_run")]
    accept_removals: bool,
    /// Send nothing, and write to --out what would leave
    #[arg(long, requires = "out")]
    dry_run: bool,
    /// File to write to
    #[arg(long, value_name = "FILE", requires = "dry_run")]
    out: Option<PathBuf>,
    /// Show the content of a dry run's file, one message per line as JSON
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dry_run", "out", "repositories", "accept_removals"])]
    explain: Option<PathBuf>,
    #[command(flatten)]
    method: MethodArgs,
    #[command(flatten)]
    pub(super) config: ConfigArgs,
}

pub(super) fn run(args: &SyncArgs) -> anyhow::Result<Exit> {
    if let Some(file) = &args.explain {
        return explain(file);
    }
    let setup = setup::load(&args.config)?;
    match (&args.out, args.dry_run) {
        (Some(out), true) => dry_run(args, &setup, out),
        _ => now(args, &setup),
    }
}

/// Asks the daemon to sync.
fn now(args: &SyncArgs, setup: &Setup) -> anyhow::Result<Exit> {
    let mut unreadable = 0;
    let mut synced = 0;
    let mut mismatch = false;
    let accept_removals = args.accept_removals;
    let request = Request::Sync { repositories: args.repositories.clone(), accept_removals };
    let text = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let number = |value: &Value, name: &str| value[name].as_u64().unwrap_or_default();
    let asked = ask(setup, &request, |row| {
        let repository = text(&row, "repository");
        let method = format!("{} {}", text(&row, "method"), number(&row, "chunk_bytes"));
        match row["type"].as_str() {
            Some("done") => {
                synced += 1;
                unreadable += number(&row, "unreadable");
                writeln!(
                    std::io::stdout(),
                    "{repository} ({method}): {} documents, {} unreadable; {} documents of {} bytes were read, {} bytes sent",
                    number(&row, "documents"),
                    number(&row, "unreadable"),
                    number(&row, "read_documents"),
                    number(&row, "read_bytes"),
                    number(&row, "sent_bytes"),
                )
            }
            Some("failed") => {
                mismatch |= row["mismatch"] == true;
                tell!("cognate: {repository} ({method}): {}", text(&row, "message"));
                Ok(())
            }
            Some("never") => {
                tell!("cognate: {repository}: no scan has used it yet, so its method is unknown; launch one");
                Ok(())
            }
            _ => Ok(()),
        }
    });
    match asked {
        Err(error) if mismatch => return Err(coded(Exit::KeyMismatch, exit::line(&error))),
        other => other?,
    }
    Ok(if unreadable > 0 {
        Exit::Incomplete
    } else if synced > 0 {
        Exit::Complete
    } else {
        Exit::Failed
    })
}

/// Writes the messages that would leave.
fn dry_run(args: &SyncArgs, setup: &Setup, out: &Path) -> anyhow::Result<Exit> {
    let method = args.method.any()?;
    let mut repositories: Vec<RepositoryName> = setup.repositories.iter().map(|(name, _)| name.clone()).collect();
    if let Some(unknown) = args.repositories.iter().find(|name| repositories.iter().all(|own| own.as_str() != *name)) {
        return Err(usage(format!("`{}` has no repository `{unknown}`", args.config.config.display())));
    }
    if !args.repositories.is_empty() {
        repositories.retain(|own| args.repositories.iter().any(|name| own.as_str() == name));
    }
    let failed = |error: std::io::Error| coded(Exit::InputOutput, format!("`{}`: {error}", out.display()));
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(out).map_err(failed)?;
    let written = Arc::new(DryRun::new(out, Box::new(BufWriter::with_capacity(1 << 16, file))));
    // Long lists use temporary files, even if nothing is remembered.
    let folder = tempfile::Builder::new().prefix("cognate-").tempdir().map_err(failed)?;
    let site = Site::open(SiteConfig {
        state_dir: folder.path().to_owned(),
        remember: false,
        repositories: setup.repositories.clone(),
        sentinels: setup.sentinels.clone(),
        own_files: setup.own_files.clone(),
        key: setup.key()?,
        threads: setup.threads,
        file_wait_max: setup.file_wait_max,
        clock,
        extraction: extraction(setup.texts_bytes_max, setup.recogniser()?),
        policy: setup.policy.clone(),
        ledger: None,
        presence: None,
    });
    let site = Arc::new(site.map_err(site_error)?);
    let runtime = setup::runtime()?;
    let cancelled = Arc::new(AtomicBool::new(false));
    let handle = runtime.handle().clone();
    let synced = dry_run::run(&site, &handle, &written, &repositories, method, &cancelled)
        .map_err(|error| coded(Exit::Failed, error.to_string()))?;
    let summary = written.finish().map_err(failed)?;
    let mut stdout = std::io::stdout();
    let mut total = 0;
    for ((kind, repository), row) in &summary {
        let about = if repository.is_empty() { "-" } else { repository };
        writeln!(
            stdout,
            "{:<8} {about:<20} {:>8} messages {:>14} bytes {:>10} documents {:>12} chunks",
            kind.name(),
            row.messages,
            row.bytes,
            row.documents,
            row.chunks
        )?;
        total += row.bytes;
    }
    let read: u64 = synced.iter().map(|sync| sync.read_bytes).sum();
    let unreadable: u64 = synced.iter().map(|sync| sync.unreadable).sum();
    writeln!(stdout, "{total} bytes would leave, made from {read} bytes of documents; nothing was sent or remembered")?;
    writeln!(stdout, "to read them: cognate worker sync --explain {}", printable(out.as_os_str().as_encoded_bytes()))?;
    if unreadable > 0 {
        tell!("cognate: {unreadable} documents could not be read; --explain names them");
        return Ok(Exit::Incomplete);
    }
    Ok(Exit::Complete)
}

fn explain(path: &Path) -> anyhow::Result<Exit> {
    let failed = |error: std::io::Error| coded(Exit::Failed, format!("`{}`: {error}", path.display()));
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let shown = dry_run::read(BufReader::new(file), |message| {
        let line =
            explain::line(&message).map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error))?;
        writeln!(out, "{line}")
    });
    match shown.and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Exit::Complete),
        other => other.map(|()| Exit::Complete).map_err(failed),
    }
}
