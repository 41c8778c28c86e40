//! `cognate explain`: what two documents of a scan share, where in them it stands, and how they differ.

mod difference;
mod gather;
mod local;
mod text;

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use self::gather::{Place, gather};
use crate::args::KeyArgs;
use crate::exit::Exit;
use crate::operator::client::{OperatorArg, block_on};
use crate::output;
use crate::report::source::Source;
use crate::stop::Stop;

/// Shows what two documents of a scan share, and where: both percentages, where it stands in each, through which others they
/// are in one cluster, and which versions are older.
///
/// Where both files are at hand, --files shows the exact difference. Where they are not, each site can show its own text at the
/// shared places: `cognate worker explain FILE` takes what --format json wrote.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate explain latest paris/kb/guide.html tokyo/kb/old/guide.html
  cognate explain result.sqlite a/report.txt b/report.txt --files a/report.txt b/report.txt
  cognate explain latest paris/kb/guide.html tokyo/kb/guide.html --format json -o explained.json")]
pub(crate) struct ExplainArgs {
    /// A scan: its id, the beginning of it, or `latest`; or a file that --format sqlite wrote
    scan: String,
    /// A document, as SITE/REPOSITORY/PATH, or as reports write it; the repository may be left out where it is `main`
    a: String,
    /// Another one
    b: String,
    /// Where both files are at hand: the exact difference between them
    #[arg(long, num_args = 2, value_names = ["PATH_A", "PATH_B"])]
    files: Vec<PathBuf>,
    #[command(flatten)]
    key: KeyArgs,
    /// How it is written
    #[arg(long, value_enum, default_value = "text")]
    format: ExplainFormat,
    #[command(flatten)]
    output: output::OutputArgs,
    /// Rows of each list; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    operator: OperatorArg,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum ExplainFormat {
    /// For people
    Text,
    /// One object, schema cognate.explain/1
    Json,
}

/// Runs the command.
pub(crate) fn run(args: &ExplainArgs) -> anyhow::Result<Exit> {
    block_on(explain(args))
}

async fn explain(args: &ExplainArgs) -> anyhow::Result<Exit> {
    args.output.check()?;
    let stop = Stop::on_signals()?;
    let places = [Place::parse(&args.a)?, Place::parse(&args.b)?];
    let source = Source::open(&args.operator, &args.scan, &stop).await?;
    let (mut explained, layers) = gather(&source, &places, &args.operator).await?;
    if let [a, b] = args.files.as_slice() {
        local::add(&mut explained, (source.report(), &layers), [a, b], &args.key.key()?)?;
        explained.difference = Some(difference::between(&explained, [a, b])?);
    }
    output::write_with(&args.output, &stop, |out| match args.format {
        ExplainFormat::Text => {
            output::fitted(&args.output, out, |out, columns| text::write(&explained, args.limit, columns, out))
        }
        ExplainFormat::Json => {
            serde_json::to_writer_pretty(&mut *out, &explained)?;
            Ok(out.write_all(b"\n")?)
        }
    })?;
    Ok(stop.signal().map_or(Exit::Complete, Exit::Signal))
}
