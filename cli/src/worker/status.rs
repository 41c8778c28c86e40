//! `cognate worker status`, `pause`, `resume`, `health`: the status of the daemon, or the status that it left.

use std::io::{self, Write};

use clap::{Args, ValueEnum};
use cognate_export::human;
use cognate_proto::name::one_line;
use cognate_worker::control::{self, Request};
use cognate_worker::enrolment::Identity;
use cognate_worker::ledger::read;
use cognate_worker::{IndexStatus, SiteStatus, saved_status, state};
use serde_json::{Value, json};

use super::ConfigArgs;
use super::setup::{self, Setup};
use crate::exit::{Exit, coded};

/// Most unreadable documents that are named for people.
const UNREADABLE_SHOWN: usize = 20;

/// Shows what the daemon is doing, its last syncs and unreadable documents; also when it is not running.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate worker status --config worker.toml
  cognate worker status --format json --config worker.toml")]
pub(super) struct StatusArgs {
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: StatusFormat,
    #[command(flatten)]
    pub(super) config: ConfigArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum StatusFormat {
    /// For people
    Text,
    /// One object
    Json,
}

pub(super) fn run(args: &StatusArgs) -> anyhow::Result<Exit> {
    let setup = setup::load(&args.config)?;
    let (value, status) = gathered(&setup)?;
    let mut out = io::stdout();
    match args.format {
        StatusFormat::Json => writeln!(out, "{value:#}")?,
        StatusFormat::Text => write_text(&mut out, &setup, &value, &status)?,
    }
    Ok(Exit::Complete)
}

/// The complete status, from the daemon or from the files that it left.
fn gathered(setup: &Setup) -> anyhow::Result<(Value, SiteStatus)> {
    let mut answer = None;
    let asked = control::ask(&control::socket(&setup.state_dir), &Request::Status, |row| {
        answer = Some(row);
        Ok(())
    });
    let holder = state::holder(&setup.state_dir).unwrap_or_default();
    let (running, facts) = match (asked, answer) {
        (Ok(Ok(())), Some(answer)) => (true, answer),
        // It holds the state: what it left says nothing about now.
        (Err(error), _) if error.kind() == io::ErrorKind::TimedOut => return Err(failed(setup, &error)),
        _ => {
            let identity = Identity::open(&setup.state_dir).ok();
            let ends = identity.as_ref().and_then(|identity| Some(identity.info().ok()?.not_after));
            let facts = json!({
                "status": saved_status(&setup.state_dir),
                "ledger": read::totals(&setup.state_dir).unwrap_or_default(),
                "certificate_ends": ends,
                "certificate_words": identity.as_ref().map(|identity| identity.key().words()),
                "site": identity.as_ref().and_then(Identity::site),
            });
            (false, facts)
        }
    };
    let mut status: SiteStatus = serde_json::from_value(facts["status"].clone()).unwrap_or_default();
    if !running {
        status.session.attached = false;
        status.running.clear();
        status.session.next_attempt = None;
    }
    let site = Some(status.session.site.clone()).filter(|site| !site.is_empty());
    let repositories = setup.repositories.iter().map(|(name, path)| {
        let done: Vec<&IndexStatus> = status.indexes.iter().filter(|done| done.repository == name.as_str()).collect();
        let every = setup.schedule.iter().find(|(scheduled, _)| scheduled == name);
        json!({
            "name": name.as_str(), "path": path.display().to_string(),
            "sync_every_seconds": every.map(|(_, every)| every.as_secs()), "methods": done,
        })
    });
    let value = json!({
        "running": running,
        "pid": holder,
        "enrolled": !facts["certificate_ends"].is_null(),
        "site": site.map_or_else(|| facts["site"].clone(), Value::from),
        "attached": status.session.attached,
        "since": status.session.since,
        "destination": status.session.destination,
        "why": status.session.why,
        "next_attempt": status.session.next_attempt,
        "paused": status.paused,
        "outside_hours": status.outside_hours,
        "doing": status.running,
        "repositories": repositories.collect::<Vec<_>>(),
        "bytes_per_second": status.bytes_per_second,
        "ledger": facts["ledger"],
        "certificate_ends": facts["certificate_ends"],
        "certificate_words": facts["certificate_words"],
        "key_fingerprint": facts["key_fingerprint"],
    });
    Ok((value, status))
}

fn write_text(out: &mut impl Write, setup: &Setup, value: &Value, status: &SiteStatus) -> io::Result<()> {
    let text = |name: &str| value[name].as_str().unwrap_or_default();
    let time = |seconds: &Value| seconds.as_i64().map(setup::time);
    match (value["running"].as_bool(), value["enrolled"].as_bool()) {
        (Some(true), _) => writeln!(out, "the daemon runs as site `{}` (pid {})", text("site"), value["pid"])?,
        (_, Some(true)) => writeln!(out, "site `{}`; the daemon is not running", text("site"))?,
        _ => writeln!(out, "not enrolled: cognate worker enroll - --config FILE")?,
    }
    if let Some(why) = setup.is_of_no_use() {
        writeln!(out, "{why}")?;
    }
    if value["running"] == true {
        let session = &status.session;
        match (session.attached, session.next_attempt) {
            (true, _) => writeln!(out, "attached to {} since {}", session.destination, setup::time(session.since))?,
            (false, Some(next)) => {
                writeln!(out, "not attached: {}; next attempt at {}", session.why, setup::time(next))?;
            }
            (false, None) => writeln!(out, "not attached: {}", session.why)?,
        }
        if status.paused {
            writeln!(out, "paused: cognate worker resume")?;
        }
        if status.outside_hours {
            let hours = setup.policy.hours.map(|hours| hours.to_string()).unwrap_or_default();
            writeln!(out, "reads nothing now: policy.hours is {hours}")?;
        }
        for doing in &status.running {
            let of = if doing.walk_finished { "" } else { " so far" };
            writeln!(
                out,
                "syncing {}: {} of {} documents{of}, {} read, {} sent",
                doing.repository,
                human::count(doing.documents_done),
                human::count(doing.entries_seen),
                human::bytes(doing.read_bytes),
                human::bytes(doing.sent_bytes),
            )?;
        }
        if status.running.is_empty() {
            writeln!(out, "idle")?;
        }
    }
    for (name, path) in &setup.repositories {
        writeln!(out, "\nrepository {name} ({})", path.display())?;
        let mut never = true;
        for done in status.indexes.iter().filter(|done| done.repository == name.as_str()) {
            never = false;
            write_done(out, done)?;
        }
        if never {
            writeln!(out, "  never synced")?;
        }
    }
    writeln!(out)?;
    let ledger = &value["ledger"];
    let number = |name: &str| ledger[name].as_u64().unwrap_or_default();
    let (messages, size) = (human::count(number("messages")), human::bytes(number("bytes")));
    writeln!(out, "ledger, of all that left: {messages} messages, {size}")?;
    if let Some(ends) = time(&value["certificate_ends"]) {
        writeln!(out, "certificate: holds until {ends}, TLS key {}", text("certificate_words"))?;
    }
    if !text("key_fingerprint").is_empty() {
        let none = cognate_fingerprint::Key::none().fingerprint().to_string();
        match text("key_fingerprint") {
            key if key == none => writeln!(out, "federation key: none")?,
            key => writeln!(out, "federation key: fingerprint {key}")?,
        }
    }
    Ok(())
}

fn write_done(out: &mut impl Write, done: &IndexStatus) -> io::Result<()> {
    let refined = if done.refined { ", refined" } else { "" };
    let method = human::method(&done.method, &done.view, done.chunk_bytes, &done.param);
    let size = human::count(done.documents);
    match done.finished {
        Some(finished) => writeln!(
            out,
            "  {method}{refined}: {size} documents as of {}, {} of them not read",
            setup::time(finished),
            human::count(done.unreadable),
        )?,
        None => writeln!(out, "  {method}{refined}: no sync was completed")?,
    }
    if let Some(failed) = done.failed {
        writeln!(out, "    failed {}: {}", setup::time(failed), done.failure)?;
    }
    for document in done.unreadable_documents.iter().take(UNREADABLE_SHOWN) {
        writeln!(out, "    {}: {}", document.path, document.reason)?;
    }
    let rest = done.unreadable.saturating_sub(UNREADABLE_SHOWN as u64);
    if rest > 0 {
        writeln!(out, "    and {rest} more (--format json names up to a thousand)")?;
    }
    Ok(())
}

/// Pauses or resumes the daemon.
pub(super) fn set_paused(args: &ConfigArgs, paused: bool) -> anyhow::Result<Exit> {
    let setup = setup::load(args)?;
    let request = if paused { Request::Pause } else { Request::Resume };
    ask(&setup, &request, |_| Ok(()))?;
    let said = if paused { "paused: no assignments are taken and nothing is read" } else { "going on" };
    writeln!(io::stdout(), "{said}")?;
    Ok(Exit::Complete)
}

/// Checks that the daemon runs and is attached.
pub(super) fn health(args: &ConfigArgs) -> anyhow::Result<Exit> {
    let setup = setup::load(args)?;
    ask(&setup, &Request::Health, |_| Ok(()))?;
    Ok(Exit::Complete)
}

/// Sends the daemon a request that only it can answer.
pub(super) fn ask(setup: &Setup, request: &Request, each: impl FnMut(Value) -> io::Result<()>) -> anyhow::Result<()> {
    let socket = control::socket(&setup.state_dir);
    match control::ask(&socket, request, each) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(message)) => Err(coded(Exit::Failed, one_line(&message))),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            let message = format!("no daemon runs with `{}`: cognate worker run", setup.state_dir.display());
            Err(coded(Exit::Failed, message))
        }
        Err(error) => Err(failed(setup, &error)),
    }
}

fn failed(setup: &Setup, error: &io::Error) -> anyhow::Error {
    coded(Exit::Failed, format!("the daemon at `{}`: {error}", control::socket(&setup.state_dir).display()))
}
