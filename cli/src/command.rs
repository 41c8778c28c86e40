//! The commands of the program, and the arguments that they share. The arguments of each command are in the file of the command.

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::case::CaseArgs;
use crate::compare::CompareArgs;
use crate::coordinator::CoordinatorArgs;
use crate::evaluate::EvaluateArgs;
use crate::explain::ExplainArgs;
use crate::find::FindArgs;
use crate::fingerprint::FingerprintArgs;
use crate::manual::{CompletionsArgs, ManualArgs};
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

/// Finds the files that several sites hold in common, entirely or in part, without any file leaving its site.
#[derive(Parser, Debug)]
#[command(name = "cognate", version = crate::VERSION, arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Format of log lines [default: compact on a terminal, otherwise json]
    #[arg(long, global = true, env = "COGNATE_LOG_FORMAT", help_heading = "Diagnostics")]
    pub(crate) log_format: Option<LogFormat>,
    /// Lowest severity that is logged
    #[arg(long, global = true, env = "COGNATE_LOG_LEVEL", default_value = "warn", help_heading = "Diagnostics")]
    pub(crate) log_level: LogLevel,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Compare folders on this machine
    Compare(CompareArgs),
    /// Show the fingerprint of files: chunks or features, and a digest
    Fingerprint(FingerprintArgs),
    /// Run and maintain the server of a federation
    Coordinator(CoordinatorArgs),
    /// Run and maintain the daemon of a site
    Worker(WorkerArgs),
    /// Invite, list, revoke and forget sites
    Site(SiteArgs),
    /// Invite, list and revoke operators, and sign in
    Operator(OperatorArgs),
    /// List the repositories that sites offer
    Repo(RepoArgs),
    /// Launch scans and follow them
    Scan(ScanCommandArgs),
    /// Show or export the result of a scan
    Report(ReportArgs),
    /// Find copies, versions and parts of files
    Find(FindArgs),
    /// Show where two documents of a scan overlap
    Explain(ExplainArgs),
    /// Plan which copies stay and which could go
    Plan(PlanArgs),
    /// Get notified of new matches for files
    Watch(WatchArgs),
    /// Save a query with every answer to it
    Case(CaseArgs),
    /// Mark boilerplate that later scans ignore
    Template(TemplateArgs),
    /// Record decisions about clusters, sets and documents
    Verdict(VerdictArgs),
    /// Print the text of files, and of the documents inside them
    Text(TextArgs),
    /// Repeat the experiments of the papers
    Evaluate(EvaluateArgs),
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Write manual pages
    Manual(ManualArgs),
    #[command(external_subcommand)]
    Later(Vec<OsString>),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use clap_complete::Shell;

    use super::*;
    use crate::manual::write_manual;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_a_manual_page_with_its_examples() {
        let folder = tempfile::tempdir().unwrap();
        let man = folder.path().join("man/man1");
        write_manual(Cli::command(), &man).unwrap();
        for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let path = man.join(format!("cognate-{}.1", command.get_name()));
            let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(page.contains(".SH SYNOPSIS"), "{page}");
        }
        let compare = std::fs::read_to_string(man.join("cognate-compare.1")).unwrap();
        assert!(compare.contains("cognate compare old=release"), "{compare}");
    }

    #[test]
    fn each_shell_completes_the_commands() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "cognate", &mut script);
            let script = String::from_utf8(script).unwrap();
            assert!(["compare", "coordinator", "--chunk-bytes"].iter().all(|word| script.contains(word)), "{shell}");
        }
    }
}
