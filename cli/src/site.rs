//! `cognate site`: the sites of the federation.

use clap::Args;

use crate::exit::{Exit, usage};

/// invite|list|revoke|forget
#[derive(Args, Debug)]
pub(crate) struct SiteArgs {
    /// What to do
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<std::ffi::OsString>,
}

/// Runs the command.
pub(crate) fn run(_args: &SiteArgs) -> anyhow::Result<Exit> {
    Err(usage("`cognate site` is not yet there in this version; `cognate --help` lists what is"))
}
