//! `cognate evaluate`: starts the laboratory, a program of its own.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use clap::Args;

use crate::exit::{Exit, coded, usage};

/// The file of the laboratory, in the folder of this program.
const PROGRAM: &str = "cognate-evaluate";

/// Runs an experiment of one of the papers, and compares its numbers with those of the paper.
///
/// The program `cognate-evaluate` has the experiments. `cargo build --release --workspace` builds it in the folder of this program.
/// `cognate evaluate --list` describes each experiment and the corpus that it needs, `cognate evaluate --help` the options.
#[derive(Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = "Examples:
  cognate evaluate --list
  cognate evaluate chunkers --corpus /srv/manuals -o findings"
)]
pub(crate) struct EvaluateArgs {
    /// The experiment and its options
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    words: Vec<OsString>,
}

/// Becomes the program.
pub(crate) fn run(args: &EvaluateArgs) -> anyhow::Result<Exit> {
    let program = std::env::current_exe()?.with_file_name(PROGRAM);
    let shown = program.display();
    if !program.try_exists()? {
        return Err(usage(format!(
            "`{shown}` has the experiments, and it is missing: `cargo build --release --workspace` builds it"
        )));
    }
    let error = Command::new(&program).args(&args.words).exec();
    Err(coded(Exit::InputOutput, format!("`{shown}` cannot be started: {error}")))
}
