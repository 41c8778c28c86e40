//! `cognate repo`: the repositories that sites offer.

use clap::Args;

use crate::exit::{Exit, usage};

/// list
#[derive(Args, Debug)]
pub(crate) struct RepoArgs {
    /// What to do
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<std::ffi::OsString>,
}

/// Runs the command.
pub(crate) fn run(_args: &RepoArgs) -> anyhow::Result<Exit> {
    Err(usage("`cognate repo` is not yet there in this version; `cognate --help` lists what is"))
}
