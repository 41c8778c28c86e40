//! Joins the postings of a scan on an Apache Spark cluster, for a coordinator that starts this program.
//!
//! **It promises** the engine's own result to the byte, or none: a stage counts only when its rows and their sum agree with the stage before. An
//! attempt that was cut off continues after the last one.
//!
//! **It must not know** documents, sites or people: it sees a job and postings.
//!
//! Read `job` first, then `export` (blocks into a folder that both ends reach), `passes` and `work` (tasks on the workers). Where a cluster runs no
//! programs, `group` is one SQL statement, and `fetch` and `audit` take and check what it left. `docs/formats.md` has the job, the exchange and
//! the lines of progress; decision 0043 has the reasons.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its output is how the coordinator is told")]

mod answers;
mod audit;
mod block;
mod collect;
mod connect;
mod exchange;
mod export;
mod fetch;
mod group;
mod job;
mod partitions;
mod passes;
mod report;
mod result_file;
mod row;
mod rules;
mod stages;
mod stop;
mod table;
mod work;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, bail};

use crate::connect::Server;
use crate::exchange::Exchange;
use crate::job::{Job, Join};
use crate::passes::Passes;
use crate::rules::Division;
use crate::stages::Stages;
use crate::stop::Stop;

const USAGE: &str = "usage: cognate-spark group FOLDER | clean FOLDER | work PASS | parquet ADDRESS | --version";
/// Exit code of a program that was asked to stop.
const STOPPED: u8 = 75;
/// Age from which what another job has left is removed.
const LEFT_OVER: Duration = Duration::from_secs(7 * 24 * 3600);

fn main() -> ExitCode {
    // Only the first installation counts, and there is no other.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["work", pass] = words.as_slice() {
        return match work::work(pass, std::io::stdin().lock(), std::io::stdout()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{}{}", work::MARKER, one_line(&format!("{error:#}")));
                ExitCode::FAILURE
            }
        };
    }
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
        ["parquet", address] => as_parquet(address),
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
    let mut job = Job::read(folder)?;
    let exchange = Exchange::open(&job.exchange, &job.name)?;
    // A wrong address is found before anything is exported.
    let server = Server::connect(&job.server)?;
    let on_workers = joins_on_workers(&job, &server)?;
    let mut stages = Stages::open(folder, &job.digest(on_workers)?)?;
    if stages.is_new() {
        exchange
            .remove(&job.name)
            .with_context(|| format!("what is left in `{}` cannot be removed", exchange.url()))?;
    }
    remove_left_over(folder);
    stop.interrupts(&server);
    let done = if on_workers {
        job.read_classes()?;
        join_on_workers(&job, &exchange, (&server, stop), &mut stages)
    } else {
        join_here(&job, &exchange, (&server, stop), &mut stages)
    };
    if done.is_err() {
        // The cluster works on nothing that nobody will read.
        server.release();
    }
    done
}

/// The cluster groups; what is left is read back for the engine at the coordinator.
fn join_here(job: &Job, exchange: &Exchange, (server, stop): (&Server, &Stop), stages: &mut Stages) -> Result<()> {
    let whole = export::export(job, exchange, stages, (None, stop))?;
    let grouped = group::group(exchange, (server, stop), stages, whole)?;
    server.release();
    let kept = fetch::fetch(job, exchange, stages, &grouped, stop)?;
    audit::audit(job, &kept)?;
    exchange.remove(&job.name).with_context(|| format!("the exchange `{}` cannot be removed", exchange.url()))?;
    println!("done {} {}", kept.records(), whole.postings);
    Ok(())
}

/// Writes the report on standard input as tables below an address.
fn as_parquet(address: &str) -> Result<()> {
    let exchange = Exchange::open(address, report::NAME)?;
    let counts = report::write(std::io::stdin().lock(), &exchange)?;
    counts.iter().for_each(|(kind, count)| println!("{kind} {count}"));
    println!("{}", exchange.url());
    Ok(())
}

/// True if the engine joins on the workers; says so.
fn joins_on_workers(job: &Job, server: &Server) -> Result<bool> {
    let runs_programs = job.join != Join::Coordinator && server.runs_programs();
    if job.join == Join::Workers && !runs_programs {
        bail!(
            "the server `{}` runs no programs (`TRANSFORM … USING`), which `join = \"workers\"` needs: use \"auto\" or \"coordinator\"",
            job.server
        );
    }
    let on_workers = runs_programs && job.runs.iter().any(|run| run.records > 0) && job.contents > 0;
    println!("joins {}", if on_workers { "workers" } else { "coordinator" });
    Ok(on_workers)
}

/// The whole analysis on the workers: only what was found comes back.
fn join_on_workers(
    job: &Job,
    exchange: &Exchange,
    (server, stop): (&Server, &Stop),
    stages: &mut Stages,
) -> Result<()> {
    let division = Division::of(job);
    let whole = export::export(job, exchange, stages, (Some(division), stop))?;
    let program =
        if job.worker_program.is_empty() { bring_program(job, exchange, server)? } else { job.worker_program.clone() };
    let mut passes = Passes { job, exchange, server, stop, stages: &mut *stages, program };
    let left = passes.run(division, whole.sum)?;
    server.release();
    let links = collect::collect(job, exchange, stages, (&left, stop))?;
    exchange.remove(&job.name).with_context(|| format!("the exchange `{}` cannot be removed", exchange.url()))?;
    println!("joined {links} {}", whole.postings);
    Ok(())
}

/// Puts this program into the exchange, from where the cluster brings it to the workers; its name says which it is.
///
/// A server keeps the names of all files that it ever brought, whatever the session, and the program with one name is from one address
/// for as long as it runs: so the name has the job as well.
fn bring_program(job: &Job, exchange: &Exchange, server: &Server) -> Result<String> {
    let own = std::env::current_exe().context("this program does not find itself")?;
    let content = std::fs::read(&own).with_context(|| format!("`{}` cannot be read", own.display()))?;
    let name = format!("cognate-spark-{}-{}", &export::digest(&content)[..16], job.name);
    exchange.put(&name, content)?;
    server.add_file(&exchange.url_of(&name))?;
    Ok(name)
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
