//! `cognate completions` and `cognate manual`: what a shell and `man` know of the commands, from the definition of the command line.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::command::Cli;
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

/// Runs `cognate completions`.
pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<Exit> {
    // In memory first: a pipe that is closed early is no error.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "cognate", &mut script);
    match io::stdout().lock().write_all(&script) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Complete),
        written => written.map(|()| Exit::Complete).context("the completions cannot be written"),
    }
}

/// Runs `cognate manual`.
pub(crate) fn manual(args: &ManualArgs) -> anyhow::Result<Exit> {
    let folder = &args.folder;
    write_manual(folder).with_context(|| format!("the manual cannot be written to `{}`", folder.display()))?;
    Ok(Exit::Complete)
}

fn write_manual(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Cli::command().disable_help_subcommand(true), folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_manual_page_with_its_examples() {
        let folder = tempfile::tempdir().unwrap();
        let man = folder.path().join("man/man1");
        write_manual(&man).unwrap();
        for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let path = man.join(format!("cognate-{}.1", command.get_name()));
            let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(page.contains(".SH SYNOPSIS"), "{page}");
        }
        let compare = std::fs::read_to_string(man.join("cognate-compare.1")).unwrap();
        assert!(compare.contains("cognate compare old=release"), "{compare}");
    }

    #[test]
    fn each_shell_completes_the_commands() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "cognate", &mut script);
            let script = String::from_utf8(script).unwrap();
            assert!(["compare", "coordinator", "--chunk-bytes"].iter().all(|word| script.contains(word)), "{shell}");
        }
    }
}
