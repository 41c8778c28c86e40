//! `cognate report`: what a scan found, whole, as a list of documents, or what changed since another.

mod changes;
mod documents;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::Args;
use cognate_coordinator::report::{DocumentFilter, json_digest};
use serde_json::Value;

use crate::args::ReportFormat;
use crate::exit::{Exit, usage};
use crate::operator::client::{Operator, OperatorArg, block_on};
use crate::operator::members::print;
use crate::output;
use crate::scan::{fetch, find};
use crate::stop::Stop;

/// Shows what a scan found; `report verify FILE` checks the digest of a report that was written as JSON.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate report latest
  cognate report 3f2a --format json -o report.json
  cognate report latest --documents --status unique --in tokyo --against paris
  cognate report latest --since 3f2a
  cognate report verify report.json")]
pub(crate) struct ReportArgs {
    /// A scan: its id, the beginning of it, or `latest`; or `verify`
    scan: String,
    /// With `verify`: the file
    file: Option<PathBuf>,
    /// How it is written
    #[arg(long, value_enum, default_value = "text")]
    format: ReportFormat,
    /// Write it here instead of to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Rows of each list of the text report; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// A list of documents instead
    #[arg(long)]
    documents: bool,
    /// Only documents of this status: identical, near, contains, contained, shares, unique, excluded
    #[arg(long, value_name = "S", requires = "documents")]
    status: Option<String>,
    /// Only documents at this site
    #[arg(long = "in", value_name = "SITE", requires = "documents")]
    site: Option<String>,
    /// Tell what became of them as against this site alone
    #[arg(long, value_name = "SITE", requires = "documents")]
    against: Option<String>,
    /// What is new, changed and gone since this scan
    #[arg(long, value_name = "SCAN", conflicts_with = "documents")]
    since: Option<String>,
    #[command(flatten)]
    operator: OperatorArg,
}

/// The statuses that there are.
const STATUSES: [&str; 7] = ["identical", "near", "contains", "contained", "shares", "unique", "excluded"];

/// Runs the command.
pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<Exit> {
    match (args.scan.as_str(), &args.file) {
        ("verify", Some(file)) => return verify(file),
        ("verify", None) => return Err(usage("say which report: cognate report verify FILE")),
        (_, Some(file)) => {
            return Err(usage(format!("`{}` is one word too many: -o FILE says where to write", file.display())));
        }
        (_, None) => {}
    }
    if args.format == ReportFormat::Sqlite && args.output.is_none() {
        return Err(usage("--format sqlite is a file: say where with -o FILE"));
    }
    if let Some(status) = args.status.as_ref().filter(|status| !STATUSES.contains(&status.as_str())) {
        return Err(usage(format!("there is no status `{status}`; there are {}", STATUSES.join(", "))));
    }
    block_on(show(args))
}

async fn show(args: &ReportArgs) -> anyhow::Result<Exit> {
    let operator = Operator::open(&args.operator).await?;
    let stop = Stop::on_signals()?;
    let report = fetch(&operator, find(&operator, &args.scan).await?, &stop).await?;
    let file = args.output.as_deref();
    if args.documents {
        let filter =
            DocumentFilter { status: args.status.clone(), site: args.site.clone(), against: args.against.clone() };
        output::write_with(file, &stop, |out| documents::write(&report, &filter, args.format, out))?;
    } else if let Some(since) = &args.since {
        let earlier = fetch(&operator, find(&operator, since).await?, &stop).await?;
        let changes = report.since(&earlier)?;
        output::write_with(file, &stop, |out| changes::write(&changes, args.format, args.limit, out))?;
    } else {
        output::write(&report, args.format, file, args.limit, &stop)?;
        return crate::compare::exit_of(&report, false);
    }
    Ok(stop.signal().map_or(Exit::Complete, Exit::Signal))
}

/// Whether a report says of itself what it is.
fn verify(file: &Path) -> anyhow::Result<Exit> {
    let text = std::fs::read_to_string(file).with_context(|| format!("`{}` cannot be read", file.display()))?;
    let report: Value =
        serde_json::from_str(&text).with_context(|| format!("`{}` is no report in JSON", file.display()))?;
    let claimed = report.pointer("/scan/digest").and_then(Value::as_str);
    let claimed = claimed.ok_or_else(|| anyhow!("`{}` is no report in JSON: it has no digest", file.display()))?;
    let actual = json_digest(&report);
    if claimed != actual {
        return Err(anyhow!("`{}` is not what was reported: it claims {claimed} and is {actual}", file.display()));
    }
    print(&format!("{actual}  {}", file.display()))?;
    Ok(Exit::Complete)
}
