//! `cognate`: the program. Commands, options, configuration, the composition of `compare` and of both daemons, output and exit codes.
//!
//! **It promises** exit codes that programs can rely on, results on standard output and all else on standard error, and options that have the
//! same names in files, forms and calls. It is the only crate of the product that prints.
//!
//! **It must not know** how anything inside of the crates below works: it composes what they offer.
//!
//! Read `command.rs` first, then `compare.rs`: a federation in one process.

// Its macro is for the modules below it.
#[macro_use]
mod tell;

mod allocator;
mod args;
mod case;
mod command;
mod compare;
mod config;
mod coordinator;
mod descriptors;
mod document_reader;
mod evaluate;
mod exit;
mod explain;
mod extraction;
mod find;
mod fingerprint;
#[cfg(test)]
mod fuzz;
mod manual;
mod operator;
mod options;
mod output;
mod plan;
mod progress;
mod repo;
mod report;
mod scan;
mod site;
mod stop;
mod stored_query;
mod template;
mod text;
mod trace;
mod verdict;
mod watch;
mod worker;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::command::{Cli, Command};
use crate::exit::Exit;

/// The version of the program, and its commit where it was built from a checkout.
const VERSION: &str = env!("COGNATE_VERSION");

/// Lets tests hear of calls to the disk on threads that run the tasks of a daemon: only such threads park.
#[cfg(feature = "failpoints")]
fn watch_tasks(builder: &mut tokio::runtime::Builder) {
    let mark = cognate_disk_faults::waiting::this_thread_runs_tasks;
    builder.on_thread_park(mark).on_thread_unpark(mark);
}

/// Nothing in this build.
#[cfg(not(feature = "failpoints"))]
fn watch_tasks(_builder: &mut tokio::runtime::Builder) {}

/// Runs the program, from its arguments to its exit code.
pub fn main() -> ExitCode {
    // Before anything else is set up: such a process reads documents and does nothing else.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == cognate_view::CHILD_ARGUMENT) {
        return cognate_view::child_main();
    }
    if std::env::args_os().nth(1).is_some_and(|argument| argument == cognate_view::RECOGNISER_ARGUMENT) {
        return cognate_view::recogniser_main();
    }
    allocator::limit_arenas();
    // A file of this process's memory, or another process that looks into it, would give its keys away. Where the system has no
    // such setting there is nothing to do.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version go to standard output and are not errors.
            let _ = error.print();
            return if error.use_stderr() { Exit::Usage.into() } else { Exit::Complete.into() };
        }
    };
    trace::set_up(cli.log_format, cli.log_level);
    let result = match cli.command {
        Command::Compare(args) => compare::run(&args),
        Command::Fingerprint(args) => fingerprint::run(&args),
        Command::Coordinator(args) => coordinator::run(&args),
        Command::Worker(args) => worker::run(&args),
        Command::Site(args) => site::run(&args),
        Command::Operator(args) => operator::run(&args),
        Command::Repo(args) => repo::run(&args),
        Command::Scan(args) => scan::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Find(args) => find::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Case(args) => case::run(&args),
        Command::Template(args) => template::run(&args),
        Command::Verdict(args) => verdict::run(&args),
        Command::Text(args) => text::run(&args),
        Command::Evaluate(args) => evaluate::run(&args),
        Command::Completions(args) => manual::completions(&args, Cli::command()),
        Command::Manual(args) => manual::manual(&args, Cli::command()),
        Command::Later(words) => Err(exit::not_yet(&words)),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(error) => {
            tell!("cognate: {}", exit::line(&error));
            exit::of(&error).into()
        }
    }
}
