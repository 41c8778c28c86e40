//! Reports in the requested format, on standard output or in a file that appears only once it is complete.

mod ours;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ValueEnum as _;
use cognate_export::{Error, Format};
use cognate_result::report::Report;

use crate::args::ReportFormat;
use crate::exit::{Exit, coded, usage};
use crate::stop::{Stop, Stoppable};

/// Destination of output.
pub(crate) type Out<'a> = BufWriter<Stoppable<'a, Box<dyn Write + 'a>>>;

/// The options for the file of an output.
#[derive(clap::Args, Clone, Default, Debug)]
pub(crate) struct OutputArgs {
    /// Write to this file instead of standard output
    #[arg(id = "output", short, long = "output", value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Replace the file even if Cognate did not write it
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
}

impl OutputArgs {
    /// Refuses a file that is there and is none of ours, before any work is done for it.
    ///
    /// # Errors
    /// Fails if there is such a file, or it cannot be read.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        self.file.as_deref().map_or(Ok(()), |file| check_replaced(file, self.force))
    }
}

impl OutputArgs {
    /// Does the same, and refuses to write to a terminal a format that belongs in a file.
    ///
    /// # Errors
    /// As [`OutputArgs::check`], or if the format needs a file and there is none.
    pub(crate) fn check_for(&self, format: ReportFormat) -> anyhow::Result<()> {
        if format.needs_file() && self.file.is_none() {
            let name = format.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
            return Err(usage(format!("--format {name} is a file: name it with -o FILE")));
        }
        self.check()
    }
}

/// Refuses to replace a file that Cognate did not write.
///
/// # Errors
/// Fails if there is such a file and `force` is not set, or it cannot be read.
pub(crate) fn check_replaced(path: &Path, force: bool) -> anyhow::Result<()> {
    let shown = path.display();
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(coded(Exit::Failed, format!("`{shown}` is a folder: name a file in it"))),
        Ok(found) if found.is_file() && !force => match ours::is_ours(path) {
            Ok(true) => Ok(()),
            Ok(false) => Err(usage(format!(
                "`{shown}` exists and is no output of Cognate, so it is not replaced: name another file, or add --force"
            ))),
            Err(error) => Err(usage(format!(
                "`{shown}` exists and cannot be read ({error}), so it is not replaced: name another file, or add --force"
            ))),
        },
        // Pipes and devices are written to, and what is not there is made.
        _ => Ok(()),
    }
}

/// Writes the report.
pub(crate) fn write(
    report: &Report,
    format: ReportFormat,
    output: &OutputArgs,
    limit: usize,
    stop: &Stop,
) -> anyhow::Result<()> {
    write_with(output, stop, |out| write_to(report, format, limit, output, out))
}

/// Runs `fill` on standard output or on a file that appears only once it is complete.
pub(crate) fn write_with(
    output: &OutputArgs,
    stop: &Stop,
    fill: impl FnOnce(&mut Out<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    output.check()?;
    let Some(path) = output.file.as_deref() else {
        let mut out = out(io::stdout().lock(), stop);
        let written = fill(&mut out).and_then(|()| Ok(out.flush()?));
        return match written {
            // The reader closed the pipe: `cognate compare … | head`.
            Err(error) if is_closed_pipe(&error) => Ok(()),
            written => written,
        };
    };
    let context = || format!("`{}` cannot be written", path.display());
    // For a symbolic link, its target is written, and the link stays.
    let resolved = path.canonicalize();
    let path = resolved.as_deref().unwrap_or(path);
    if is_pipe_or_device(path) {
        let file = File::options().write(true).open(path).with_context(context)?;
        let mut out = out(file, stop);
        return fill(&mut out).and_then(|()| out.flush().with_context(context));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temporary = tempfile::Builder::new().prefix(".cognate-").tempfile_in(folder).with_context(context)?;
    {
        let mut out = out(temporary.as_file(), stop);
        fill(&mut out)?;
        out.flush().with_context(context)?;
    }
    make_readable(temporary.as_file()).with_context(context)?;
    temporary.persist(path).with_context(context)?;
    Ok(())
}

fn out<'a>(inner: impl Write + 'a, stop: &'a Stop) -> Out<'a> {
    BufWriter::with_capacity(1 << 16, Stoppable { inner: Box::new(inner), stop })
}

fn write_to(
    report: &Report,
    format: ReportFormat,
    limit: usize,
    output: &OutputArgs,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let columns = if output.file.is_none() { terminal_columns() } else { None };
    let format = Format::from(format);
    let written = match (format, columns) {
        (Format::Text, Some(columns)) => cognate_export::format::write_text(report, limit, columns, out),
        _ => format.write(report, limit, out),
    };
    match written {
        Err(Error::CompleteOnly(why)) => Err(usage(why)),
        written => Ok(written?),
    }
}

/// Writes text for people: where it goes to a terminal, it fits into its columns, which `fill` is given for its tables.
pub(crate) fn fitted(
    output: &OutputArgs,
    out: &mut Out<'_>,
    fill: impl FnOnce(&mut dyn Write, Option<usize>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let columns = if output.file.is_none() { terminal_columns() } else { None };
    cognate_export::lines::within(columns, out, |out| fill(out, columns))
}

/// Columns of the terminal that standard output is, or as many as the variable `COLUMNS` says; nothing elsewhere.
fn terminal_columns() -> Option<usize> {
    let of_terminal = rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
    let named = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    of_terminal.or_else(named).filter(|columns| *columns > 0)
}

/// True if the path is a pipe or device, which must be written to and not replaced.
fn is_pipe_or_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Temporary files are private; a report gets the usual permissions.
fn make_readable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let is_closed = |cause: &(dyn std::error::Error + 'static)| {
        let direct = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let inside = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        direct.or(inside) == Some(io::ErrorKind::BrokenPipe)
    };
    error.chain().any(is_closed)
}
