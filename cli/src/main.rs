//! `cognate`: the one binary. Parse, trace, run, and end with a code that programs can rely on.

#![expect(clippy::print_stderr, reason = "this is the crate that talks to people")]

mod args;
mod compare;
mod exit;
mod fingerprint;
mod output;
mod progress;
mod stop;
mod trace;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Cli, Command};
use crate::exit::Exit;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output and are no error.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage.into() } else { Exit::Complete.into() };
        }
    };
    trace::set_up(cli.log_format, cli.log_level);
    let result = match cli.command {
        Command::Compare(args) => compare::run(&args),
        Command::Fingerprint(args) => fingerprint::run(&args),
        Command::Later(words) => Err(exit::not_yet(&words)),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("cognate: {}", exit::line(&error));
            exit::of(&error).into()
        }
    }
}
