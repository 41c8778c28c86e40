//! `cognate worker`: the site's daemon, and what is asked of it.

use clap::Args;

use crate::exit::{Exit, usage};

/// enroll|run|sync|status|pause|resume|results|ledger|key|health
#[derive(Args, Debug)]
pub(crate) struct WorkerArgs {
    /// What to do
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<std::ffi::OsString>,
}

/// Runs the command.
pub(crate) fn run(_args: &WorkerArgs) -> anyhow::Result<Exit> {
    Err(usage("`cognate worker` is not yet there in this version; `cognate --help` lists what is"))
}
