//! `cognate operator`: the people who run the federation.

use clap::Args;

use crate::exit::{Exit, usage};

/// invite|list|revoke|enroll
#[derive(Args, Debug)]
pub(crate) struct OperatorArgs {
    /// What to do
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<std::ffi::OsString>,
}

/// Runs the command.
pub(crate) fn run(_args: &OperatorArgs) -> anyhow::Result<Exit> {
    Err(usage("`cognate operator` is not yet there in this version; `cognate --help` lists what is"))
}
