//! `cognate worker`: the site's daemon, and commands for it.

mod enroll;
mod explain;
mod key;
mod ledger;
mod plan;
mod relocate;
mod results;
mod run;
mod setup;
mod status;
mod sync;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::exit::Exit;

/// The daemon of a site: it reads documents, and sends their fingerprints.
#[derive(Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  cognate worker sync --dry-run --out would-leave --config worker.toml   # before anything is sent to anybody
  cognate worker enroll - --config worker.toml < invitation.txt
  cognate worker run --config worker.toml
  cognate worker status --config worker.toml"
)]
pub(crate) struct WorkerArgs {
    #[command(subcommand)]
    command: WorkerCommand,
}

#[derive(Subcommand, Debug)]
enum WorkerCommand {
    /// Join a federation with an invitation
    Enroll(enroll::EnrollArgs),
    /// Reach the coordinator at another address, after it has moved
    Move(relocate::MoveArgs),
    /// Run the daemon until it is stopped
    Run(run::RunArgs),
    /// Sync now, or write what would leave to a file
    Sync(sync::SyncArgs),
    /// Show what the daemon is doing, its last syncs, and unreadable documents
    Status(status::StatusArgs),
    /// Pause: read nothing and take no assignments until `resume`
    Pause(ConfigArgs),
    /// Continue after `pause`
    Resume(ConfigArgs),
    /// Show the scans that concern this site, and their results for it
    Results(results::ResultsArgs),
    /// Show this site's own text at the places that two documents share
    Explain(explain::ExplainArgs),
    /// Check which entries of a plan still hold at this site, carry them out, take that back
    Plan(plan::PlanArgs),
    /// Show and check the record of everything that left the site
    Ledger(ledger::LedgerArgs),
    /// Make, hand over and show the federation key
    Key(key::KeyCommandArgs),
    /// Exit with 0 if the daemon runs and is attached, with 1 otherwise
    Health(ConfigArgs),
}

/// Configuration of the site.
#[derive(Args, Clone, Debug)]
pub(crate) struct ConfigArgs {
    /// Configuration of the site, a TOML file
    #[arg(long, value_name = "FILE", env = "COGNATE_CONFIG", default_value = "/etc/cognate/worker.toml")]
    pub(crate) config: PathBuf,
    /// Print the values in force with their origins, and exit
    #[arg(long)]
    pub(crate) print_config: bool,
}

/// Runs the command.
pub(crate) fn run(args: &WorkerArgs) -> anyhow::Result<Exit> {
    let config = match &args.command {
        WorkerCommand::Enroll(args) => &args.config,
        WorkerCommand::Move(args) => &args.config,
        WorkerCommand::Run(args) => &args.config,
        WorkerCommand::Sync(args) => &args.config,
        WorkerCommand::Status(args) => &args.config,
        WorkerCommand::Pause(args) | WorkerCommand::Resume(args) | WorkerCommand::Health(args) => args,
        WorkerCommand::Results(args) => &args.config,
        WorkerCommand::Explain(args) => &args.config,
        WorkerCommand::Plan(args) => args.config(),
        WorkerCommand::Ledger(args) => args.config(),
        WorkerCommand::Key(args) => args.config(),
    };
    // Files of a site are private to its user.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let result = if config.print_config { setup::print(config) } else { carry_out(&args.command) };
    match result {
        // The reader closed the pipe.
        Err(error) if is_broken_pipe(&error) => Ok(Exit::Complete),
        other => other,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

fn carry_out(command: &WorkerCommand) -> anyhow::Result<Exit> {
    match command {
        WorkerCommand::Enroll(args) => enroll::run(args),
        WorkerCommand::Move(args) => relocate::run(args),
        WorkerCommand::Run(args) => run::run(args),
        WorkerCommand::Sync(args) => sync::run(args),
        WorkerCommand::Status(args) => status::run(args),
        WorkerCommand::Pause(args) => status::set_paused(args, true),
        WorkerCommand::Resume(args) => status::set_paused(args, false),
        WorkerCommand::Results(args) => results::run(args),
        WorkerCommand::Explain(args) => explain::run(args),
        WorkerCommand::Plan(args) => plan::run(args),
        WorkerCommand::Ledger(args) => ledger::run(args),
        WorkerCommand::Key(args) => key::run(args),
        WorkerCommand::Health(args) => status::health(args),
    }
}
