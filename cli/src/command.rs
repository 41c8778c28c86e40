//! The commands of the program, and what all of them take. The arguments of each stand beside what it does.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::case::CaseArgs;
use crate::compare::CompareArgs;
use crate::coordinator::CoordinatorArgs;
use crate::evaluate::EvaluateArgs;
use crate::explain::ExplainArgs;
use crate::find::FindArgs;
use crate::fingerprint::FingerprintArgs;
use crate::operator::OperatorArgs;
use crate::plan::PlanArgs;
use crate::repo::RepoArgs;
use crate::report::ReportArgs;
use crate::scan::ScanCommandArgs;
use crate::site::SiteArgs;
use crate::template::TemplateArgs;
use crate::text::TextArgs;
use crate::trace::{LogFormat, LogLevel};
use crate::verdict::VerdictArgs;
use crate::watch::WatchArgs;
use crate::worker::WorkerArgs;

/// Finds the files that several sites hold in common, wholly or in part, without any file leaving its site.
#[derive(Parser, Debug)]
#[command(name = "cognate", version, arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// How lines of the log look [default: compact on a terminal, else json]
    #[arg(long, global = true, env = "COGNATE_LOG_FORMAT", help_heading = "Diagnostics")]
    pub(crate) log_format: Option<LogFormat>,
    /// From which severity on events are logged
    #[arg(long, global = true, env = "COGNATE_LOG_LEVEL", default_value = "warn", help_heading = "Diagnostics")]
    pub(crate) log_level: LogLevel,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Compare folders: who has what in common
    Compare(CompareArgs),
    /// Show what a file becomes: its chunks or features, its digest
    Fingerprint(FingerprintArgs),
    /// The server of a federation
    Coordinator(CoordinatorArgs),
    /// The daemon of a site
    Worker(WorkerArgs),
    /// The sites of a federation
    Site(SiteArgs),
    /// The people who run a federation
    Operator(OperatorArgs),
    /// The repositories that sites offer
    Repo(RepoArgs),
    /// Launch scans and follow them
    Scan(ScanCommandArgs),
    /// What a scan found
    Report(ReportArgs),
    /// Where copies, versions and parts of files are
    Find(FindArgs),
    /// What two documents of a scan share, and where
    Explain(ExplainArgs),
    /// Which copies are kept and which could go
    Plan(PlanArgs),
    /// Queries that are asked again whenever something new was synced
    Watch(WatchArgs),
    /// Queries that are kept with what was answered to them
    Case(CaseArgs),
    /// Boilerplate that later scans set aside
    Template(TemplateArgs),
    /// What people decide about what scans found
    Verdict(VerdictArgs),
    /// Show what a reader sees of files, and of the documents inside of them
    Text(TextArgs),
    /// Run the papers' own experiments
    Evaluate(EvaluateArgs),
    #[command(external_subcommand)]
    Later(Vec<OsString>),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
