//! `cognate report`: the result of a scan, as a report, as a list of documents, or as changes since another scan.

mod audit;
mod changes;
mod documents;
mod printed;
pub(crate) mod source;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{Args, ValueEnum};
use cognate_result::report::{Choice, DocumentFilter, STATUSES, json_digest};
use serde_json::Value;

use crate::args::{ReportFormat, size};
use crate::exit::{Exit, usage};
use crate::operator::client::{Operator, OperatorArg, block_on};
use crate::operator::members::print;
use crate::output::{self, OutputArgs};
use crate::report::documents::List;
use crate::report::source::Source;
use crate::scan::find_result;
use crate::stop::Stop;

/// Shows the result of a scan. `report audit SCAN` writes the signed report for an auditor, `report verify FILE`
/// checks a JSON report or a signed report.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate report latest
  cognate report 3f2a --format json -o report.json
  cognate report latest --format html -o report.html   # or xlsx, csv, loadfile, sqlite
  cognate report latest --site tokyo --format xlsx -o tokyo.xlsx
  cognate report latest --documents --status unique --in tokyo --against paris
      what only tokyo has
  cognate report latest --documents --in paris --against tokyo
      what of paris is at tokyo, document by document
  cognate report latest --documents --status unique,undecided,standard_text,changed --in paris --against tokyo --format csv -o copy.csv
      what tokyo must copy from paris to have it all
  cognate report latest --documents --in paris --order likeness --print0 > paths
  tar -C DIR --null --no-recursion --verbatim-files-from -T paths -cf - | zstd --long=27 > paris.tar.zst
      an archive in which like documents follow each other
  cognate report latest --since 3f2a
  cognate report latest --verdict duplicate --format xlsx -o duplicates.xlsx
  cognate report latest --tag privileged --assignee anna
  cognate report result.sqlite --format html -o report.html   # a result that compare wrote
  cognate report audit latest --format html -o audit.html   # signed: what an auditor reads
  cognate report verify audit.html
  cognate report verify audit.html --printed audit.pdf      # the PDF says what the signed page says")]
pub(crate) struct ReportArgs {
    /// A scan: its id, the beginning of it, or `latest`; a file that --format sqlite wrote; or `audit` or `verify`
    scan: String,
    /// The scan for `audit`, the file for `verify`
    file: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: ReportFormat,
    #[command(flatten)]
    output: OutputArgs,
    /// Rows to show of each list of the text report; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Write a list of documents
    #[arg(long)]
    documents: bool,
    /// Only documents with these statuses: identical, near, contains, contained, shares, `standard_text`, undecided, unique, excluded; `changed` means near, contains, contained and shares
    #[arg(long, value_name = "S,…", value_delimiter = ',', requires = "documents")]
    status: Vec<String>,
    /// Only documents at this site
    #[arg(long = "in", value_name = "SITE", requires = "documents")]
    site: Option<String>,
    /// Show the status of documents compared with this site alone
    #[arg(long, value_name = "SITE", requires = "documents")]
    against: Option<String>,
    /// Order of the list: by path, or so that like documents follow each other, for whoever compresses or stores them
    #[arg(long, value_enum, value_name = "ORDER", default_value = "path", requires = "documents")]
    order: ListOrder,
    /// With --order likeness: the window of the compressor, within which repeated bytes are counted [default: 128MiB]
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "documents")]
    window: Option<u64>,
    /// Write the paths of files alone, a zero byte after each, for tar --null -T; the list must be of one repository
    #[arg(long, requires = "documents", conflicts_with = "format")]
    print0: bool,
    /// Show new, changed and gone documents since this scan
    #[arg(long, value_name = "SCAN", conflicts_with = "documents")]
    since: Option<String>,
    /// Only the documents of this site, and the sets, clusters and folders with one of them
    #[arg(long = "site", value_name = "NAME")]
    slice: Option<String>,
    /// Only clusters with this verdict, and identical sets with it: duplicate, not-a-duplicate, intentional, keep, done; or `open`,
    /// `none`, `any`, `changed`
    #[arg(long, value_name = "VERDICT", conflicts_with = "since")]
    verdict: Option<String>,
    /// Only clusters with this tag; repeatable: with all of them
    #[arg(long = "tag", value_name = "TAG", conflicts_with = "since")]
    tags: Vec<String>,
    /// Only clusters that this person is to look at
    #[arg(long, value_name = "NAME", conflicts_with = "since")]
    assignee: Option<String>,
    /// With `verify`: a PDF that a browser printed of the signed page; checks that it has the same words in the same order
    #[arg(long, value_name = "PDF")]
    printed: Option<PathBuf>,
    #[command(flatten)]
    operator: OperatorArg,
}

/// The order of a list of documents.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum ListOrder {
    /// By site, repository and path
    Path,
    /// Copies next to each other, then what shares most with them
    Likeness,
}

/// That of `zstd --long=27`.
const WINDOW_BYTES: u64 = 128 << 20;

/// The word for all statuses of documents with a similar, but no identical, document.
const CHANGED: &str = "changed";

/// The requested statuses.
fn statuses(requested: &[String]) -> anyhow::Result<Vec<String>> {
    let mut selected: Vec<&str> = Vec::new();
    for status in requested {
        match STATUSES.iter().find(|one| *one == status) {
            Some(status) => selected.push(status),
            None if status == CHANGED => selected.extend(&STATUSES[1..5]),
            None => {
                let all = STATUSES.join(", ");
                return Err(usage(format!("there is no status `{status}`; there are {all}, and `{CHANGED}`")));
            }
        }
    }
    Ok(selected.into_iter().map(str::to_owned).collect())
}

/// Runs the command.
pub(crate) fn run(args: &ReportArgs) -> anyhow::Result<Exit> {
    match (args.scan.as_str(), &args.file) {
        ("verify", Some(file)) => return verify(file, args),
        ("audit", Some(scan)) => return block_on(audited(args, &scan.to_string_lossy())),
        ("audit", None) => return Err(usage("name the scan: cognate report audit SCAN --format html -o FILE")),
        ("verify", None) => return Err(usage("name the report: cognate report verify FILE")),
        (_, Some(file)) => {
            return Err(usage(format!("`{}` is one word too many: name the output with -o FILE", file.display())));
        }
        (_, None) => {}
    }
    if args.printed.is_some() {
        return Err(usage("--printed belongs to verify: cognate report verify FILE --printed PDF"));
    }
    args.output.check_for(args.format)?;
    statuses(&args.status)?;
    block_on(show(args))
}

async fn show(args: &ReportArgs) -> anyhow::Result<Exit> {
    let choice = Choice::parse(args.verdict.as_deref(), &args.tags, args.assignee.as_deref());
    let choice = choice.map_err(|error| usage(format!("--verdict: {error}")))?;
    let stop = Stop::on_signals()?;
    let mut source = Source::open(&args.operator, &args.scan, &stop).await?;
    if let Some(site) = &args.slice {
        source.report_mut().slice(site)?;
    }
    source.report_mut().choose(&choice)?;
    let report = source.report();
    let file = &args.output;
    if args.documents {
        let filter = DocumentFilter {
            statuses: statuses(&args.status)?,
            site: args.site.clone(),
            against: args.against.clone(),
        };
        let window_bytes = match (args.order, args.window) {
            (ListOrder::Likeness, window) => Some(window.unwrap_or(WINDOW_BYTES)),
            (ListOrder::Path, None) => None,
            (ListOrder::Path, Some(_)) => {
                return Err(usage("--window counts in the order of likeness: add --order likeness"));
            }
        };
        let list = List { filter, window_bytes };
        output::write_with(file, &stop, |out| match args.print0 {
            true => list.write_paths(report, out),
            false => list.write(report, args.format, out),
        })?;
    } else if let Some(since) = &args.since {
        let mut earlier = Source::open(&args.operator, since, &stop).await?;
        if let Some(site) = &args.slice {
            earlier.report_mut().slice(site)?;
        }
        let changes = report.since(earlier.report())?;
        output::write_with(file, &stop, |out| changes::write(&changes, args.format, args.limit, out))?;
    } else {
        output::write(report, args.format, file, args.limit, &stop)?;
        return crate::compare::exit_of(report, false);
    }
    Ok(stop.signal().map_or(Exit::Complete, Exit::Signal))
}

/// The auditor's report of a scan.
async fn audited(args: &ReportArgs, scan: &str) -> anyhow::Result<Exit> {
    let operator = Operator::open(&args.operator).await?;
    let stop = Stop::on_signals()?;
    let scan = find_result(&operator, scan).await?;
    audit::write(&operator, scan, args.format, &args.output, &stop).await
}

/// Checks the digest of a JSON report, or the signature of a signed report.
fn verify(file: &Path, args: &ReportArgs) -> anyhow::Result<Exit> {
    let bytes = std::fs::read(file).with_context(|| format!("`{}` cannot be read", file.display()))?;
    if let Some(exit) = audit::verify(file, &bytes, &args.operator)? {
        if let Some(printed) = &args.printed {
            printed::check(file, printed)?;
        }
        return Ok(exit);
    }
    if args.printed.is_some() {
        return Err(usage(format!("`{}` is no signed page that --printed could be compared with", file.display())));
    }
    let report: Value =
        serde_json::from_slice(&bytes).with_context(|| format!("`{}` is not a report in JSON", file.display()))?;
    let claimed = report.pointer("/scan/digest").and_then(Value::as_str);
    let claimed = claimed.ok_or_else(|| anyhow!("`{}` is not a report in JSON: it has no digest", file.display()))?;
    let actual = json_digest(&report);
    if claimed != actual {
        return Err(anyhow!("`{}` was changed: its digest should be {claimed} and is {actual}", file.display()));
    }
    print(&format!("{actual}  {}", file.display()))?;
    Ok(Exit::Complete)
}
