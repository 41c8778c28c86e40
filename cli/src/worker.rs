//! `cognate worker`: the site's daemon, and what is asked of it.

mod enroll;
mod explain;
mod key;
mod ledger;
mod plan;
mod results;
mod run;
mod setup;
mod status;
mod sync;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::exit::Exit;

/// The daemon of a site: it reads the documents, and sends what they become.
#[derive(Args, Debug)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:
  cognate worker sync --dry-run --out would-leave --config worker.toml   # before anything is sent to anybody
  cognate worker enroll cog1_… --config worker.toml
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
    /// Run the daemon until it is stopped
    Run(run::RunArgs),
    /// Sync now, or write what would leave to a file
    Sync(sync::SyncArgs),
    /// What the daemon is doing and last did, and what it could not read
    Status(status::StatusArgs),
    /// Take no assignments and read nothing until `resume`
    Pause(ConfigArgs),
    /// Go on after `pause`
    Resume(ConfigArgs),
    /// The scans that concern this site, and what they found here
    Results(results::ResultsArgs),
    /// This site's own text at the places that two documents share
    Explain(explain::ExplainArgs),
    /// Whether what a plan says of this site still is so
    Plan(plan::PlanArgs),
    /// The record of everything that left
    Ledger(ledger::LedgerArgs),
    /// The federation's key
    Key(key::KeyCommandArgs),
    /// End with 0 if the daemon runs and is attached, with 1 otherwise
    Health(ConfigArgs),
}

/// Which site.
#[derive(Args, Clone, Debug)]
pub(crate) struct ConfigArgs {
    /// The site's configuration
    #[arg(long, value_name = "FILE", env = "COGNATE_CONFIG", default_value = "/etc/cognate/worker.toml")]
    pub(crate) config: PathBuf,
    /// Show the configuration that is in force and where it comes from, and do nothing else
    #[arg(long)]
    pub(crate) print_config: bool,
}

/// Runs the command.
pub(crate) fn run(args: &WorkerArgs) -> anyhow::Result<Exit> {
    let config = match &args.command {
        WorkerCommand::Enroll(args) => &args.config,
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
    // What is written of a site is nobody else's business on this machine.
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
    let result = if config.print_config { setup::print(config) } else { carry_out(&args.command) };
    match result {
        // Whoever read the output has seen enough.
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
