//! `cognate report`: what a scan found.

use clap::Args;

use crate::exit::{Exit, usage};

/// SCAN
#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// What to do
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<std::ffi::OsString>,
}

/// Runs the command.
pub(crate) fn run(_args: &ReportArgs) -> anyhow::Result<Exit> {
    Err(usage("`cognate report` is not yet there in this version; `cognate --help` lists what is"))
}
