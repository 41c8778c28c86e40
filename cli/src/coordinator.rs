//! `cognate coordinator`: the server, and the maintenance of its state.

mod health;
mod maintenance;
mod rotation;
mod run;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use self::maintenance::{BackupArgs, CheckArgs, RebuildArgs, RestoreArgs};
use crate::exit::Exit;
use crate::operator::init::{self, InitArgs};

/// Runs and maintains the server of a federation
#[derive(Args, Debug)]
pub(crate) struct CoordinatorArgs {
    #[command(subcommand)]
    command: CoordinatorCommand,
}

#[derive(Subcommand, Debug)]
enum CoordinatorCommand {
    /// Create a federation: its CA and its first administrator
    Init(InitArgs),
    /// Serve sites and operators until a signal stops the process
    Run(run::RunArgs),
    /// Check if a running coordinator is ready
    Health(health::HealthArgs),
    /// Check the state for damage
    Check(CheckArgs),
    /// Save the state, also while the coordinator is running
    Backup(BackupArgs),
    /// Restore a saved state
    Restore(RestoreArgs),
    /// Rebuild the store from the journal and the segments
    Rebuild(RebuildArgs),
}

/// Path of the configuration.
#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {
    /// Configuration, a TOML file
    #[arg(long, value_name = "FILE", env = "COGNATE_CONFIG")]
    pub(crate) config: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &CoordinatorArgs) -> anyhow::Result<Exit> {
    match &args.command {
        CoordinatorCommand::Init(args) => init::run(args),
        CoordinatorCommand::Run(args) => run::run(args),
        CoordinatorCommand::Health(args) => health::run(args),
        CoordinatorCommand::Check(args) => maintenance::check(args),
        CoordinatorCommand::Backup(args) => maintenance::backup(args),
        CoordinatorCommand::Restore(args) => maintenance::restore(args),
        CoordinatorCommand::Rebuild(args) => maintenance::rebuild(args),
    }
}
