//! `cognate worker plan`: checks which entries of a plan still hold at this site, carries them out, and takes that back.

mod apply;
mod check;
#[cfg(test)]
mod fuzz;
mod journal;
mod own;
mod place;
mod readers;
mod undo;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::ConfigArgs;
use crate::exit::Exit;

/// Checks plans against this site's documents, carries them out and takes that back. Nothing is ever deleted.
#[derive(Args, Debug)]
pub(super) struct PlanArgs {
    #[command(subcommand)]
    command: PlanCommand,
}

#[derive(Subcommand, Debug)]
enum PlanCommand {
    /// Read every document of a plan again, and name those that have changed
    Check(CheckArgs),
    /// Move the documents of a plan to a quarantine folder, and leave links or stubs in their places
    Apply(ApplyArgs),
    /// Put back what `apply` moved
    Undo(UndoArgs),
}

/// Reads every document of a plan again, and moves those that still hold to a folder of the quarantine, with a journal. In the
/// place of each stays a link to the document that is kept, or a small text file that says where it is. Without --yes it only
/// shows what it would do. Nothing is deleted or overwritten; what has changed since the scan is refused, with exit code 3.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate worker plan apply plan/paris.json --quarantine /srv/quarantine --config worker.toml
  cognate worker plan apply plan/paris.json --quarantine /srv/quarantine --config worker.toml --yes
  cognate worker plan undo /srv/quarantine/plan-0123456789ab-1764000000 --config worker.toml")]
struct ApplyArgs {
    /// The plan: SITE.json from `cognate plan make`
    file: PathBuf,
    /// The folder to move documents to: in no repository, and on their file system
    #[arg(long, value_name = "DIR")]
    quarantine: PathBuf,
    /// The replacement of a document that moved
    #[arg(long, value_enum, default_value = "link")]
    leave: Leave,
    /// Move the documents
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// The replacement of a document that moved.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
enum Leave {
    /// A symbolic link to the kept document where that is at this site and everybody who may read the one may read the other,
    /// else a stub
    Link,
    /// A text file NAME.moved.txt that says where the kept document is
    Stub,
    /// Nothing
    Nothing,
}

/// Puts every document that `apply` moved back to its place, and removes its link or stub. Refuses documents that have changed
/// in the quarantine, and places that have something else now; exit code 3 then. It can be run again.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  cognate worker plan undo /srv/quarantine/plan-0123456789ab-1764000000 --config worker.toml")]
struct UndoArgs {
    /// The folder that `apply` made in the quarantine folder
    folder: PathBuf,
    #[command(flatten)]
    config: ConfigArgs,
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
    /// Replace these files even if Cognate did not write them
    #[arg(long)]
    force: bool,
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
        match &self.command {
            PlanCommand::Check(args) => &args.config,
            PlanCommand::Apply(args) => &args.config,
            PlanCommand::Undo(args) => &args.config,
        }
    }
}

pub(super) fn run(args: &PlanArgs) -> anyhow::Result<Exit> {
    match &args.command {
        PlanCommand::Check(args) => check::run(args),
        PlanCommand::Apply(args) => apply::run(args),
        PlanCommand::Undo(args) => undo::run(args),
    }
}
