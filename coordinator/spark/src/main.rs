//! Groups the postings of a scan on an Apache Spark cluster, for a coordinator that starts this program.
//!
//! The way of the data: `job` (the runs of the frozen indexes) → `export` (Parquet in a folder that both ends reach) → `group` (one SQL
//! statement over Spark Connect: tags of one content are left out) → `fetch` (one run, of what is left) → `audit` (a part of it, grouped
//! here and compared). Each stage is published in `stages` only when its rows and their sum agree with what is known from the stage before,
//! and an attempt that was cut off continues after the last one.
//!
//! `docs/formats.md` has the job, the exchange and the lines of progress.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its output is how the coordinator is told")]

mod audit;
mod connect;
mod exchange;
mod export;
mod fetch;
mod group;
mod job;
mod row;
mod stages;
mod stop;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, bail};

use crate::connect::Server;
use crate::exchange::Exchange;
use crate::job::Job;
use crate::stages::Stages;
use crate::stop::Stop;

const USAGE: &str = "usage: cognate-spark group FOLDER | clean FOLDER | --version";
/// Exit code of a program that was asked to stop.
const STOPPED: u8 = 75;
/// Age from which what another job has left is removed.
const LEFT_OVER: Duration = Duration::from_secs(7 * 24 * 3600);

fn main() -> ExitCode {
    // Only the first installation counts, and there is no other.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let stop = Stop::default();
    let done = match words.as_slice() {
        ["--version"] => {
            println!("cognate-spark {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
        ["group", folder] => {
            stop.listen(PathBuf::from(folder));
            group_all(Path::new(folder), &stop)
        }
        ["clean", folder] => clean(Path::new(folder)),
        _ => Err(anyhow::anyhow!(USAGE)),
    };
    if stop.is_asked() {
        stop.finish();
        return ExitCode::from(STOPPED);
    }
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // One line: the coordinator shows it to people.
            eprintln!("{}", one_line(&format!("{error:#}")));
            ExitCode::FAILURE
        }
    }
}

/// All stages of a job.
fn group_all(folder: &Path, stop: &Stop) -> Result<()> {
    let job = Job::read(folder)?;
    let exchange = Exchange::open(&job.exchange, &job.name)?;
    let mut stages = Stages::open(folder, &job.digest()?)?;
    if stages.is_new() {
        exchange
            .remove(&job.name)
            .with_context(|| format!("what is left in `{}` cannot be removed", exchange.url()))?;
    }
    remove_left_over(folder);
    // A wrong address is found before anything is exported.
    let server = Server::connect(&job.server)?;
    stop.interrupts(&server);
    let whole = export::export(&job, &exchange, &mut stages, stop)?;
    let grouped = group::group(&job, &exchange, (&server, stop), &mut stages, whole)?;
    server.release();
    let kept = fetch::fetch(&job, &exchange, &mut stages, &grouped, stop)?;
    audit::audit(&job, &kept)?;
    exchange.remove(&job.name).with_context(|| format!("the exchange `{}` cannot be removed", exchange.url()))?;
    println!("done {} {}", kept.records(), whole.postings);
    Ok(())
}

/// Removes the exchange of a job, and its folder.
fn clean(folder: &Path) -> Result<()> {
    let job = Job::read(folder)?;
    Exchange::open(&job.exchange, &job.name)?.remove(&job.name)?;
    std::fs::remove_dir_all(folder).with_context(|| format!("`{}` cannot be removed", folder.display()))
}

/// Removes what jobs have left that nobody continued.
fn remove_left_over(own: &Path) {
    let Some(folders) = own.parent().and_then(|parent| std::fs::read_dir(parent).ok()) else { return };
    for folder in folders.filter_map(Result::ok).map(|entry| entry.path()).filter(|folder| folder != own) {
        let written = std::fs::metadata(folder.join("job")).and_then(|found| found.modified());
        let age = written.ok().and_then(|written| now().duration_since(written).ok());
        if age.is_some_and(|age| age > LEFT_OVER)
            && let Err(error) = clean(&folder)
        {
            eprintln!("warning: what `{}` has left stays: {}", folder.display(), one_line(&format!("{error:#}")));
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the composition root")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// Tells the coordinator how far a stage is.
fn progress(stage: &str, done: u64, total: u64) {
    println!("progress {stage} {done} {total}");
}

/// A text on one line of bounded length.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().take(1000).collect()
}

/// Fails if the job was asked to stop.
fn check(stop: &Stop) -> Result<()> {
    if stop.is_asked() { bail!("stopped") } else { Ok(()) }
}
