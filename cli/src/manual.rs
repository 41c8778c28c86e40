//! `cognate completions` and `cognate manual`: what a shell and `man` know of the commands, from the definition of the command line.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::Exit;

/// Prints the completions of a shell.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cognate completions bash > ~/.local/share/bash-completion/completions/cognate
  cognate completions zsh > ~/.zfunc/_cognate
  cognate completions fish > ~/.config/fish/completions/cognate.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Writes a manual page for each command into a folder.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  cognate manual ~/.local/share/man/man1   # then: man cognate-compare")]
pub(crate) struct ManualArgs {
    /// The folder; it is made if it is not there
    folder: PathBuf,
}

/// Runs `cognate completions`, for all commands.
pub(crate) fn completions(args: &CompletionsArgs, mut all: Command) -> anyhow::Result<Exit> {
    // In memory first: a pipe that is closed early is no error.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut all, "cognate", &mut script);
    match io::stdout().lock().write_all(&script) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Complete),
        written => written.map(|()| Exit::Complete).context("the completions cannot be written"),
    }
}

/// Runs `cognate manual`, for all commands.
pub(crate) fn manual(args: &ManualArgs, all: Command) -> anyhow::Result<Exit> {
    let folder = &args.folder;
    write_manual(all, folder).with_context(|| format!("the manual cannot be written to `{}`", folder.display()))?;
    Ok(Exit::Complete)
}

pub(crate) fn write_manual(all: Command, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(all.disable_help_subcommand(true), folder)
}
