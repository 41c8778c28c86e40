//! `cognate coordinator check|backup|restore|rebuild`: checks and repairs of the state.

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::{ArgGroup, Args, ValueEnum};
use cognate_result::report::Report;
use cognate_storage::Error;
use cognate_storage::maintenance::{self, BackupOptions, CheckOptions, Checked, Rebuilt, RestoreOptions};

use super::ConfigArgs;
use super::rotation::{self, Rotated};
use crate::config::{self, CoordinatorFile};
use crate::exit::{self, Exit, coded};

/// Checks the state for damage, and prints a remedy for each finding.
///
/// While a coordinator is running, the store is not checked. Exit code 1 if something is damaged.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  cognate coordinator check --config coordinator.toml --read-data")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Also recompute all derived data from the stored data, and compare
    #[arg(long)]
    read_data: bool,
    /// Format of the findings
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Saves the state to a folder, also while the coordinator is running.
///
/// The backup leaves out the key of the certificate authority and the first administrator's credential unless you add
/// `--include-ca`: store these apart from backups that other people can read.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate coordinator backup /backup/cognate-monday --config coordinator.toml
  cognate coordinator backup /backup --rotate 7 --config coordinator.toml   # from a timer: keeps the last 7 that were checked")]
pub(crate) struct BackupArgs {
    /// New folder to save to; with --rotate, the folder of all backups
    #[arg(value_name = "DIR")]
    to: PathBuf,
    #[command(flatten)]
    config: ConfigArgs,
    /// Save to a new folder below DIR that has the time in its name, restore it into a scratch folder there, check all of that,
    /// and only then remove all but the last N backups
    #[arg(long, value_name = "N")]
    rotate: Option<NonZeroUsize>,
    /// Save the key of the certificate authority and the first administrator's credential too
    #[arg(long)]
    include_ca: bool,
}

/// Restores a saved state into a state folder that has `ca.key` alone.
///
/// The backup is first checked with that key, which shows that nobody changed it. A key that the backup brings (`--include-ca`) shows
/// that only if nobody else could write to the backup: then copy it into the state folder. Sites send again what the backup lacks.
/// The backup does not know who was revoked since, so you say it: they are revoked before the state can be served. Open invitations
/// are void.
#[derive(Args, Debug)]
#[command(group(ArgGroup::new("since").required(true).multiple(false)), after_help = "Examples:
  cognate coordinator restore /backup/cognate-monday --none-revoked --config coordinator.toml
  cognate coordinator restore /backup/cognate-monday --revoked paris --revoked anna --config coordinator.toml")]
pub(crate) struct RestoreArgs {
    /// Folder that `backup` made
    #[arg(value_name = "DIR")]
    from: PathBuf,
    /// Site or person that was revoked after the backup was made; may be given several times
    #[arg(long, value_name = "NAME", group = "since")]
    revoked: Vec<String>,
    /// Nobody was revoked after the backup was made
    #[arg(long, group = "since")]
    none_revoked: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Rebuilds the store from the journal and the segments.
///
/// The coordinator does this by itself when the store is damaged; the old store is moved aside, never deleted.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  cognate coordinator rebuild --config coordinator.toml")]
pub(crate) struct RebuildArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Go on with what can be read of the journal, if a part of it is lost
    #[arg(long)]
    accept_loss: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Format {
    /// For people.
    Text,
    /// One JSON object.
    Json,
}

fn state_dir(args: &ConfigArgs) -> anyhow::Result<PathBuf> {
    Ok(config::load::<CoordinatorFile>(&args.config)?.values.state_dir)
}

/// The same, but fails if there is no state.
fn state_that_is_there(args: &ConfigArgs) -> anyhow::Result<PathBuf> {
    let state_dir = state_dir(args)?;
    if state_dir.join("journal").try_exists()? || state_dir.join("store").try_exists()? {
        return Ok(state_dir);
    }
    let message = format!(
        "`{}` holds no state of a coordinator: `cognate coordinator init` makes one, `restore` brings one back",
        state_dir.display()
    );
    Err(coded(Exit::Failed, message))
}

/// Runs `check`.
pub(crate) fn check(args: &CheckArgs) -> anyhow::Result<Exit> {
    let state_dir = state_that_is_there(&args.config)?;
    let checked =
        maintenance::check(&state_dir, CheckOptions { read_data: args.read_data }, &Report::check).map_err(failure)?;
    match args.format {
        Format::Json => say(&format!("{}\n", serde_json::to_string(&checked)?))?,
        Format::Text => say(&findings(&checked, &state_dir))?,
    }
    Ok(if checked.findings.is_empty() { Exit::Complete } else { Exit::Failed })
}

fn findings(checked: &Checked, state_dir: &Path) -> String {
    let mut text = String::new();
    for finding in &checked.findings {
        let path = finding.path.strip_prefix(state_dir).unwrap_or(&finding.path);
        text.push_str(&format!("{}: {}\n    remedy: {}\n", path.display(), finding.problem, finding.cure));
    }
    for note in &checked.notes {
        let path = note.path.strip_prefix(state_dir).unwrap_or(&note.path);
        text.push_str(&format!("{}: {}\n    remedy: {}\n", path.display(), note.problem, note.cure));
    }
    let Checked { events, segments, batches, runs, results, .. } = checked;
    let store = if checked.store { "" } else { ", not the store: it is in use or cannot be opened" };
    let found = match checked.findings.len() {
        0 => "nothing is damaged".to_owned(),
        1 => "1 finding".to_owned(),
        number => format!("{number} findings"),
    };
    text.push_str(&format!(
        "{found}; checked {events} events, {segments} segments with {batches} batches, {runs} runs, {results} results{store}\n"
    ));
    text
}

/// Runs `backup`.
pub(crate) fn backup(args: &BackupArgs) -> anyhow::Result<Exit> {
    let state_dir = state_that_is_there(&args.config)?;
    let options = BackupOptions { include_ca: args.include_ca, made: now() };
    if let Some(keep) = args.rotate {
        return rotate(&state_dir, &args.to, keep, &options);
    }
    let saved = maintenance::backup(&state_dir, &args.to, &options).map_err(failure)?;
    for damaged in &saved.damaged {
        say(&format!("damaged: {damaged}\n"))?;
    }
    let key = if args.include_ca { "with the CA's key: keep it safe" } else { "without the CA's key" };
    say(&format!("{} files, {} bytes saved to `{}`, {key}\n", saved.files, saved.bytes, args.to.display()))?;
    Ok(if saved.damaged.is_empty() { Exit::Complete } else { Exit::Incomplete })
}

/// Runs `backup --rotate`.
fn rotate(state_dir: &Path, folder: &Path, keep: NonZeroUsize, options: &BackupOptions) -> anyhow::Result<Exit> {
    let rotated = rotation::rotate(state_dir, folder, keep, options, now).map_err(failure)?;
    for damaged in &rotated.saved.damaged {
        say(&format!("damaged: {damaged}\n"))?;
    }
    for (what, checked, folder) in [
        ("the state", Some(&rotated.state), state_dir),
        ("restored", rotated.checked.as_ref(), rotated.scratch.as_path()),
    ] {
        if let Some(checked) = checked {
            say(&format!("{what}: {}", findings(checked, folder)))?;
        }
    }
    let Rotated { saved, backup, removed, .. } = &rotated;
    for path in &rotated.foreign {
        say(&format!("`{}` does not count: it is not from this state, or a copy of another backup\n", path.display()))?;
    }
    if !rotated.is_intact() {
        say(&format!("`{}` is not to be relied on, and no earlier backup was removed\n", backup.display()))?;
        return Ok(Exit::Failed);
    }
    say(&format!(
        "{} files, {} bytes saved to `{}`, restored and checked\n",
        saved.files,
        saved.bytes,
        backup.display()
    ))?;
    removed.iter().try_for_each(|path| say(&format!("removed `{}`\n", path.display())))?;
    Ok(Exit::Complete)
}

/// Runs `restore`.
pub(crate) fn restore(args: &RestoreArgs) -> anyhow::Result<Exit> {
    let state_dir = state_dir(&args.config)?;
    let options = RestoreOptions { revoked: &args.revoked, key: None, clock: now };
    let restored = maintenance::restore(&args.from, &state_dir, &options).map_err(failure)?;
    say(&format!("`{}` is restored: {}\n", state_dir.display(), contents(&restored.rebuilt)))?;
    for name in &restored.revoked {
        say(&format!("`{name}` is revoked\n"))?;
    }
    for name in &restored.unknown {
        say(&format!("`{name}` is not in the backup, so there was nothing to revoke\n"))?;
    }
    say(
        "open invitations are void: invite again who had one, and who was enrolled or renewed its certificate since the backup\n",
    )?;
    if !state_dir.join("operator.toml").try_exists()? {
        say(&format!(
            "the first administrator's file was not in the backup: if no administrator has one, make another one with `cognate coordinator init --new-administrator --config {}`\n",
            args.config.config.display()
        ))?;
    }
    Ok(Exit::Complete)
}

/// Runs `rebuild`.
pub(crate) fn rebuild(args: &RebuildArgs) -> anyhow::Result<Exit> {
    let state_dir = state_that_is_there(&args.config)?;
    let rebuilt = if args.accept_loss {
        let (rebuilt, journal) = maintenance::rebuild_with_loss(&state_dir, now).map_err(failure)?;
        let kept = journal.map(|path| format!("; the journal as it was is `{}`", path.display())).unwrap_or_default();
        say(&format!(
            "the registry is what can be read of the journal: look at `cognate site list` and revoke again{kept}\n"
        ))?;
        rebuilt
    } else {
        maintenance::rebuild(&state_dir, now).map_err(failure)?
    };
    let aside = rebuilt.earlier_store.as_ref().map(|path| format!("; the earlier store is `{}`", path.display()));
    say(&format!("the store is rebuilt: {}{}\n", contents(&rebuilt), aside.unwrap_or_default()))?;
    Ok(Exit::Complete)
}

fn contents(rebuilt: &Rebuilt) -> String {
    let Rebuilt { members, scans, indexes, batches, .. } = rebuilt;
    format!("{members} members, {scans} scans, {indexes} indexes with {batches} batches")
}

fn say(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// An error of the state with the code that the command ends with.
fn failure(error: Error) -> anyhow::Error {
    coded(exit::of_kind(error.kind()), error.to_string())
}

#[expect(clippy::disallowed_methods, reason = "this is a composition root: the clock is read here and handed down")]
fn now() -> SystemTime {
    SystemTime::now()
}
