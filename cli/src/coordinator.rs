//! `cognate coordinator`: the server, and what is done to its state.

use clap::Args;

use crate::exit::{Exit, usage};

/// init|run|check|backup|restore|rebuild|health
#[derive(Args, Debug)]
pub(crate) struct CoordinatorArgs {
    /// What to do
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<std::ffi::OsString>,
}

/// Runs the command.
pub(crate) fn run(_args: &CoordinatorArgs) -> anyhow::Result<Exit> {
    Err(usage("`cognate coordinator` is not yet there in this version; `cognate --help` lists what is"))
}
