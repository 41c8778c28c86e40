//! `cognate worker ledger`: the site's own record of the messages that left.

mod report;

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use cognate_proto::v1::ReceivedIndex;
use cognate_worker::control::Request;
use cognate_worker::enrolment::Identity;
use cognate_worker::ledger::count::{Agreement, Compared};
use cognate_worker::ledger::read::{Entries, Verified, verify};
use cognate_worker::ledger::summary::{Summary, SummaryRow};
use cognate_worker::ledger::{Entry, Ledger};
use cognate_worker::state::{StateFolder, holder};
use cognate_worker::{Connection, SiteError};
use serde_json::{Value, json};

use super::ConfigArgs;
use super::setup::{self, Setup, clock, enrolment_error, site_error};
use super::status::ask;
use crate::exit::{Exit, coded};
use crate::output::OutputArgs;
use cognate_export::human::count;
use cognate_export::table::{cell, table};

/// The record of everything that left this site, written before it was sent.
#[derive(Args, Debug)]
#[command(arg_required_else_help = true)]
pub(super) struct LedgerArgs {
    #[command(subcommand)]
    command: LedgerCommand,
}

#[derive(Subcommand, Debug)]
enum LedgerCommand {
    /// Check the chain of the ledger, and compare it with what the coordinator received
    Verify(VerifyArgs),
    /// Show messages, bytes, documents and chunks by day, kind and repository
    Summary(SummaryArgs),
    /// Show every entry
    Export(ExportArgs),
}

#[derive(Args, Debug)]
#[command(after_help = "Example:
  cognate worker ledger verify --config worker.toml
  cognate worker ledger verify --report audit.json --config worker.toml   # was compared what this site sent?

Ends with 1 when an entry was changed, taken out or moved, or the two counts differ, and with 3 when the coordinator has an earlier state,
as after a backup was restored.")]
struct VerifyArgs {
    /// Ask the coordinator over a separate connection if no daemon is running
    #[arg(long)]
    coordinator: bool,
    /// Compare with a signed report (`report audit --format json`) instead: was what was compared what this site sent?
    #[arg(long, value_name = "FILE", conflicts_with = "coordinator")]
    report: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Args, Debug)]
struct SummaryArgs {
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: SummaryFormat,
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Args, Debug)]
struct ExportArgs {
    /// Output format
    #[arg(long, value_enum, default_value = "ndjson")]
    format: ExportFormat,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum SummaryFormat {
    /// A table
    Text,
    /// An array
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum ExportFormat {
    /// One object per line
    Ndjson,
    /// One row per message, for spreadsheets
    Csv,
}

impl LedgerArgs {
    pub(super) fn config(&self) -> &ConfigArgs {
        match &self.command {
            LedgerCommand::Verify(args) => &args.config,
            LedgerCommand::Summary(args) => &args.config,
            LedgerCommand::Export(args) => &args.config,
        }
    }
}

pub(super) fn run(args: &LedgerArgs) -> anyhow::Result<Exit> {
    match &args.command {
        LedgerCommand::Verify(args) => run_verify(args),
        LedgerCommand::Summary(args) => run_summary(args),
        LedgerCommand::Export(args) => run_export(args),
    }
}

fn ledger_file(setup: &Setup) -> PathBuf {
    setup.state_dir.join("ledger")
}

fn unreadable(setup: &Setup) -> impl Fn(io::Error) -> anyhow::Error {
    let file = ledger_file(setup);
    move |error| match error.kind() {
        io::ErrorKind::NotFound => {
            coded(Exit::Failed, format!("there is no ledger `{}`: nothing has left this site yet", file.display()))
        }
        _ => coded(Exit::InputOutput, format!("`{}`: {error}", file.display())),
    }
}

fn run_verify(args: &VerifyArgs) -> anyhow::Result<Exit> {
    let setup = setup::load(&args.config)?;
    let running = holder(&setup.state_dir).ok().flatten().is_some();
    // Asked first: messages that are sent while the ledger is read are in the ledger, but not in the answer.
    let received = if args.report.is_some() { None } else { received(args, &setup, running)? };
    let verified = verify(&setup.state_dir, running).map_err(unreadable(&setup))?;
    let verified = match verified {
        Ok(verified) => verified,
        Err(damage) => {
            let message = format!("the ledger `{}` is damaged: {damage}", ledger_file(&setup).display());
            return Err(coded(Exit::Failed, message));
        }
    };
    let mut out = io::stdout();
    let head = verified.head.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let totals = verified.totals;
    writeln!(out, "the ledger holds: {} messages, {} bytes, head {head}", totals.messages, totals.bytes)?;
    if let Some(file) = &args.report {
        return report::compare(&mut out, file, &setup, &verified);
    }
    match received {
        Some(received) => compare(&mut out, &verified, &received),
        None => {
            writeln!(
                out,
                "not compared with the coordinator's count: no daemon is attached (--coordinator asks without one)"
            )?;
            Ok(Exit::Complete)
        }
    }
}

/// The coordinator's counts, if it can be asked.
fn received(args: &VerifyArgs, setup: &Setup, running: bool) -> anyhow::Result<Option<Vec<ReceivedIndex>>> {
    if running {
        let mut indexes = Vec::new();
        let asked = ask(setup, &Request::Received, |row| {
            indexes.push(index(&row));
            Ok(())
        });
        return match asked {
            Ok(()) => Ok(Some(indexes)),
            Err(error) if args.coordinator => Err(error),
            Err(_) => Ok(None),
        };
    }
    if !args.coordinator {
        return Ok(None);
    }
    let state = StateFolder::open(&setup.state_dir).map_err(site_error)?;
    let identity = Identity::open(state.path()).map_err(enrolment_error)?;
    let ledger = Ledger::open(state.path(), clock).map_err(|error| site_error(error.into()))?;
    let asking = async {
        let dial = identity.dial().map_err(SiteError::from)?;
        let channel = dial.connect().await.map_err(SiteError::from)?;
        Connection::new(channel, Arc::new(ledger), &identity.addresses().join(",")).received().await
    };
    Ok(Some(setup::runtime()?.block_on(asking).map_err(site_error)?))
}

fn index(row: &Value) -> ReceivedIndex {
    let bytes = |value: &Value| serde_json::from_value(value.clone()).unwrap_or_default();
    ReceivedIndex {
        repository: row["repository"].as_str().unwrap_or_default().to_owned(),
        method_id: bytes(&row["method_id"]),
        epoch: row["epoch"].as_u64().unwrap_or_default(),
        batches: row["batches"].as_u64().unwrap_or_default(),
        body_bytes: row["body_bytes"].as_u64().unwrap_or_default(),
        head: bytes(&row["head"]),
    }
}

fn compare(out: &mut impl Write, verified: &Verified, received: &[ReceivedIndex]) -> anyhow::Result<Exit> {
    let rows = verified.indexes.compare(received);
    let headings = ["REPOSITORY", "METHOD ID", "EPOCH", " BATCHES HERE", " THERE", " BYTES HERE", " THERE", "VERDICT"];
    let lines = rows.iter().map(|row| {
        vec![
            row.repository.clone(),
            row.method_id.clone(),
            format!("{:016x}", row.epoch),
            row.ledger_batches.to_string(),
            row.coordinator_batches.to_string(),
            row.ledger_bytes.to_string(),
            row.coordinator_bytes.to_string(),
            match row.agreement {
                Agreement::Same => "same".to_owned(),
                Agreement::UnderWay => "under way".to_owned(),
                Agreement::NotAcknowledged => "not acknowledged".to_owned(),
                Agreement::Behind => "behind".to_owned(),
                Agreement::Differs => "DIFFERS".to_owned(),
            },
        ]
    });
    writeln!(out, "{}", table(&headings, lines))?;
    let number = |agreement| rows.iter().filter(|row| row.agreement == agreement).count();
    let (different, waiting) = (number(Agreement::Differs), number(Agreement::NotAcknowledged));
    if different > 0 {
        let message = format!("what the coordinator received differs from what this site sent, in {different} indexes");
        return Err(coded(Exit::Failed, message));
    }
    if waiting > 0 {
        writeln!(
            out,
            "the coordinator has not acknowledged the end of {waiting} indexes, and has what it received of them to the last byte: \
             the next sync sends the rest"
        )?;
    }
    let behind = number(Agreement::Behind);
    if behind > 0 {
        let missing: u64 = rows.iter().map(Compared::missing_batches).sum();
        writeln!(
            out,
            "the coordinator has an earlier state of {behind} indexes, to the last byte, without {missing} batches that it had acknowledged: \
             a backup was restored, or it has lost them; the next sync sends the rest"
        )?;
        // A restored backup is no alarm. The site cannot tell it from a loss, so a script can tell it from agreement.
        return Ok(Exit::Incomplete);
    }
    if waiting > 0 {
        return Ok(Exit::Complete);
    }
    writeln!(out, "the coordinator received what this site sent, to the last byte")?;
    Ok(Exit::Complete)
}

/// Calls `each` for every entry.
fn entries(setup: &Setup, mut each: impl FnMut(&Entry) -> io::Result<()>) -> anyhow::Result<()> {
    let running = holder(&setup.state_dir).ok().flatten().is_some();
    let opened = Entries::open(&ledger_file(setup)).map_err(unreadable(setup))?;
    let damaged = |damage: cognate_worker::ledger::read::Damage| {
        coded(Exit::Failed, format!("the ledger `{}` is damaged: {damage}", ledger_file(setup).display()))
    };
    let mut entries = opened.map_err(damaged)?;
    loop {
        match entries.next() {
            Ok(Some(entry)) => each(&entry)?,
            Ok(None) => return Ok(()),
            Err(damage) if damage.at_end && running => return Ok(()),
            Err(damage) => return Err(damaged(damage)),
        }
    }
}

fn run_summary(args: &SummaryArgs) -> anyhow::Result<Exit> {
    let setup = setup::load(&args.config)?;
    let mut summary = Summary::default();
    entries(&setup, |entry| {
        summary.take(entry);
        Ok(())
    })?;
    let mut out = io::stdout();
    let day = |day: i64| setup::time(day * 86_400).chars().take(10).collect::<String>();
    if args.format == SummaryFormat::Json {
        let rows = summary.rows.iter().map(|((number, kind, repository), row)| {
            json!({
                "day": day(*number), "kind": kind.name(), "repository": repository, "messages": row.messages,
                "bytes": row.bytes, "documents": row.documents, "chunks": row.chunks,
            })
        });
        writeln!(out, "{:#}", Value::Array(rows.collect()))?;
        return Ok(Exit::Complete);
    }
    let line = |day: String, kind: &str, repository: &str, row: &SummaryRow| {
        let numbers = [row.messages, row.bytes, row.documents, row.chunks].map(count);
        let words = [day, kind.to_owned(), repository.to_owned()];
        words.into_iter().chain(numbers).collect::<Vec<String>>()
    };
    let mut all = SummaryRow::default();
    let mut lines = Vec::new();
    for ((number, kind, repository), row) in &summary.rows {
        lines.push(line(day(*number), kind.name(), repository, row));
        all.messages += row.messages;
        all.bytes += row.bytes;
        all.documents += row.documents;
        all.chunks += row.chunks;
    }
    lines.push(line("all".to_owned(), "", "", &all));
    let headings = ["DAY", "KIND", "REPOSITORY", " MESSAGES", " BYTES", " DOCUMENTS", " CHUNKS"];
    writeln!(out, "{}", table(&headings, lines))?;
    Ok(Exit::Complete)
}

fn run_export(args: &ExportArgs) -> anyhow::Result<Exit> {
    let setup = setup::load(&args.config)?;
    args.output.check()?;
    let out: Box<dyn Write> = match &args.output.file {
        None => Box::new(io::stdout()),
        Some(path) => {
            let failed = |error: io::Error| coded(Exit::InputOutput, format!("`{}`: {error}", path.display()));
            Box::new(std::fs::File::create(path).map_err(failed)?)
        }
    };
    let mut out = BufWriter::new(out);
    let written = match args.format {
        ExportFormat::Ndjson => entries(&setup, |entry| writeln!(out, "{}", Value::Object(fields(entry)))),
        ExportFormat::Csv => {
            let mut csv = csv::Writer::from_writer(&mut out);
            let mut first = true;
            let written = entries(&setup, |entry| {
                let fields = fields(entry);
                if std::mem::take(&mut first) {
                    csv.write_record(fields.keys()).map_err(io::Error::other)?;
                }
                let cells = fields.values().map(|value| match value {
                    Value::Null => String::new(),
                    Value::String(text) => cell(text),
                    other => other.to_string(),
                });
                csv.write_record(cells).map_err(io::Error::other)
            });
            written.and_then(|()| Ok(csv.flush()?))
        }
    };
    written?;
    out.flush()?;
    Ok(Exit::Complete)
}

/// An entry with all its fields, always the same ones.
fn fields(entry: &Entry) -> serde_json::Map<String, Value> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let index = entry.index.as_ref();
    let utc = jiff::Timestamp::from_millisecond(entry.utc_ms).map(|time| time.to_string()).unwrap_or_default();
    let value = json!({
        "number": entry.number,
        "utc": utc,
        "kind": entry.kind().name(),
        "destination": entry.destination,
        "message_bytes": entry.message_bytes,
        "blake3": hex(&entry.digest),
        "repository": index.map(|index| index.repository.clone()),
        "method_id": index.map(|index| hex(&index.method_id)),
        "epoch": index.map(|index| format!("{:016x}", index.epoch)),
        "sequence": index.map(|index| index.sequence),
        "body_bytes": index.map(|index| index.body_bytes),
        "body_digest": index.map(|index| hex(&index.body_digest)),
        "documents": index.map(|index| index.documents),
        "contents": index.map(|index| index.contents),
        "chunks": index.map(|index| index.chunks),
        "scope": index.map(|index| hex(&index.scope)).filter(|scope| !scope.is_empty()),
    });
    match value {
        Value::Object(fields) => fields,
        _ => serde_json::Map::new(),
    }
}
