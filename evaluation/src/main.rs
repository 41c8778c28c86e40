//! `cognate-evaluate`: the laboratory's program, which `cognate evaluate` starts. People who only compare need not build it.
//!
//! It has the options, the progress and the exit codes of one experiment. Read the library of this crate first.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Parser};
use cognate_evaluation::{EXPERIMENTS, Experiment, Setting};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::signal::unix::{SignalKind, signal};

/// Exit codes, as those of `cognate`.
const FAILED: u8 = 1;
const USAGE: u8 = 2;
const SIGNAL: u8 = 128;

/// Runs an experiment of one of the papers, and compares its numbers with those of the paper.
///
/// Writes EXPERIMENT.json with every number, a CSV file for each table, an SVG picture for each figure, and EXPERIMENT.md,
/// the page to read. `cognate evaluate --list` describes each experiment and the corpus that it needs.
#[derive(Parser, Debug)]
#[command(
    name = "cognate evaluate",
    bin_name = "cognate evaluate",
    after_help = "Examples:
  cognate evaluate --list
  cognate evaluate chunkers --corpus /srv/manuals -o findings
  cognate evaluate hp2005 --corpus /srv/manuals --full -o findings
  cognate evaluate in-common --pairs /srv/manuals/v4 /srv/manuals/v5 -o findings
  cognate evaluate in-common --office-set -o findings"
)]
struct Args {
    /// Name of the experiment
    #[arg(required_unless_present = "list", value_parser = PossibleValuesParser::new(EXPERIMENTS.iter().map(|experiment| experiment.name)))]
    experiment: Option<String>,
    /// Folder of documents [default: some are made from the seed]
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// Two folders with versions of the same documents, for in-common; repeatable
    #[arg(long, value_names = ["A", "B"], num_args = 2, action = ArgAction::Append, conflicts_with = "corpus")]
    pairs: Vec<PathBuf>,
    /// Compare also the contracts of one template that are made from the seed, by their text, for in-common
    #[arg(long, conflicts_with = "corpus")]
    office_set: bool,
    /// Run the entire corpus and all repetitions, which can take longer than two minutes
    #[arg(long)]
    full: bool,
    /// Seed of the random number generator
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Folder for the results
    #[arg(short, long, value_name = "DIR", required_unless_present = "list")]
    output: Option<PathBuf>,
    /// List the experiments
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help goes to standard output and is not an error.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { USAGE } else { 0 });
        }
    };
    match run(&args) {
        Ok(code) => ExitCode::from(code),
        Err(Failure { code, message }) => {
            // That nobody can be told changes nothing.
            let _ = writeln!(io::stderr(), "cognate: {}", message.replace('\n', " "));
            ExitCode::from(code)
        }
    }
}

/// An error for people, and its exit code.
struct Failure {
    code: u8,
    message: String,
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        let (mut message, mut source) = (error.to_string(), error.source());
        while let Some(cause) = source {
            let text = cause.to_string();
            if !message.contains(&text) {
                message = format!("{message}: {text}");
            }
            source = cause.source();
        }
        Failure { code: FAILED, message }
    }
}

fn usage(message: String) -> Failure {
    Failure { code: USAGE, message }
}

fn run(args: &Args) -> Result<u8, Failure> {
    let (Some(name), Some(output)) = (&args.experiment, &args.output) else {
        return list();
    };
    let experiment = Experiment::named(name).ok_or_else(|| usage(format!("there is no experiment `{name}`")))?;
    let has_folders = !args.pairs.is_empty() || args.office_set;
    if experiment.compares_folders() != has_folders {
        let sentence = if has_folders {
            "takes --corpus, not --pairs or --office-set"
        } else {
            "needs --pairs A B, or --office-set"
        };
        return Err(usage(format!("the experiment `{name}` {sentence}")));
    }
    let pairs: Vec<[PathBuf; 2]> = args.pairs.as_chunks::<2>().0.to_vec();
    // Signals need a runtime; the experiment itself is synchronous.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let stopped = Arc::new(AtomicU8::new(0));
    for (kind, number) in [(SignalKind::interrupt(), 2), (SignalKind::terminate(), 15)] {
        let (mut signals, stopped) = (runtime.block_on(async { signal(kind) })?, Arc::clone(&stopped));
        runtime.spawn(async move {
            // The first one ends the experiment in order, so that no temporary file is left; the second ends the process at once.
            while signals.recv().await.is_some() {
                if stopped.swap(number, Ordering::Relaxed) != 0 {
                    std::process::exit(i32::from(SIGNAL + number));
                }
            }
        });
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template("{msg:<44} {bar:30} {percent:>3} %").expect("a well-formed template"));
    bar.enable_steady_tick(Duration::from_millis(250));
    let progress = |what: &str, done: u64, total: u64| {
        bar.set_message(what.to_owned());
        bar.set_length(total.max(1));
        bar.set_position(done);
        stopped.load(Ordering::Relaxed) == 0
    };
    let setting = Setting {
        corpus: args.corpus.as_deref(),
        pairs: &pairs,
        office_set: args.office_set,
        full: args.full,
        seed: args.seed,
        progress: &progress,
    };
    let found = experiment.run(&setting);
    bar.finish_and_clear();
    match stopped.load(Ordering::Relaxed) {
        0 => {}
        number => return Ok(SIGNAL + number),
    }
    let findings = found?;
    cognate_evaluation::write(name, &findings, output)?;
    let mut out = io::stdout().lock();
    for row in &findings.comparisons {
        writeln!(out, "{:>6}  {}: {}", row.agreement.word(), row.what, row.ours)?;
    }
    writeln!(out, "{}", output.join(format!("{name}.md")).display())?;
    Ok(0)
}

fn list() -> Result<u8, Failure> {
    let mut out = io::stdout().lock();
    for experiment in EXPERIMENTS {
        writeln!(out, "{:<17} {}\n{:<17} corpus: {}", experiment.name, experiment.about, "", experiment.corpus)?;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }
}
