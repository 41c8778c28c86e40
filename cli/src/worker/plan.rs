//! `cognate worker plan`: checks which entries of a plan still hold at this site.

mod check;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::ConfigArgs;
use crate::exit::Exit;

/// Checks plans against this site's documents. Nothing is deleted or moved.
#[derive(Args, Debug)]
pub(super) struct PlanArgs {
    #[command(subcommand)]
    command: PlanCommand,
}

#[derive(Subcommand, Debug)]
enum PlanCommand {
    /// Read every document of a plan again, and name those that have changed
    Check(CheckArgs),
}

/// Reads every document of this site that a plan names, those that would go and those that stay, and lists the ones that
/// have changed since. Exit code 3 if any has; sets with such documents are refused and left out of the written files.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate worker plan check plan/paris.json --config worker.toml
  cognate worker plan check plan/paris.json --config worker.toml --script go.sh
      the sets that hold, as a script that knows where the repositories lie")]
struct CheckArgs {
    /// The plan: SITE.json from `cognate plan make`
    file: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: CheckFormat,
    /// Write the entries that still hold to this file, as a plan
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the entries that still hold to this file, as a script
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum CheckFormat {
    /// Changed documents, and totals
    Text,
    /// One object, schema cognate.plan-check/1
    Json,
}

impl PlanArgs {
    pub(super) fn config(&self) -> &ConfigArgs {
        let PlanCommand::Check(args) = &self.command;
        &args.config
    }
}

pub(super) fn run(args: &PlanArgs) -> anyhow::Result<Exit> {
    match &args.command {
        PlanCommand::Check(args) => check::run(args),
    }
}
