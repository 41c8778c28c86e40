//! `cognate scan`: launching scans and following them.

use clap::Args;

use crate::exit::{Exit, usage};

/// launch|list|show|watch|cancel|delete|schedule|profile
#[derive(Args, Debug)]
pub(crate) struct ScanCommandArgs {
    /// What to do
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<std::ffi::OsString>,
}

/// Runs the command.
pub(crate) fn run(_args: &ScanCommandArgs) -> anyhow::Result<Exit> {
    Err(usage("`cognate scan` is not yet there in this version; `cognate --help` lists what is"))
}
