//! `cognate coordinator`: the server, and what is done to its state.

mod health;
mod maintenance;
mod run;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use self::maintenance::{BackupArgs, CheckArgs, RebuildArgs, RestoreArgs};
use crate::exit::Exit;
use crate::operator::init::{self, InitArgs};

/// The server of a federation
#[derive(Args, Debug)]
pub(crate) struct CoordinatorArgs {
    #[command(subcommand)]
    command: CoordinatorCommand,
}

#[derive(Subcommand, Debug)]
enum CoordinatorCommand {
    /// Begin a federation: its CA, and its first administrator
    Init(InitArgs),
    /// Serve sites and operators until a signal says stop
    Run(run::RunArgs),
    /// Ask a running coordinator whether it is ready
    Health(health::HealthArgs),
    /// Look through the state for damage
    Check(CheckArgs),
    /// Save the state, also while the coordinator is running
    Backup(BackupArgs),
    /// Bring a saved state back
    Restore(RestoreArgs),
    /// Make the store anew from the journal and the segments
    Rebuild(RebuildArgs),
}

/// Where the configuration is.
#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {
    /// The configuration, a TOML file
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
