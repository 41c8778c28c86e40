//! Reports in the requested format, on standard output or in a file that appears only once it is complete.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context as _;
use cognate_export::{Error, Format};
use cognate_result::report::Report;

use crate::args::ReportFormat;
use crate::exit::usage;
use crate::stop::{Stop, Stoppable};

/// Destination of output.
pub(crate) type Out<'a> = BufWriter<Stoppable<'a, Box<dyn Write + 'a>>>;

/// Writes the report.
pub(crate) fn write(
    report: &Report,
    format: ReportFormat,
    file: Option<&Path>,
    limit: usize,
    stop: &Stop,
) -> anyhow::Result<()> {
    write_with(file, stop, |out| write_to(report, format, limit, out))
}

/// Runs `fill` on standard output or on a file that appears only once it is complete.
pub(crate) fn write_with(
    file: Option<&Path>,
    stop: &Stop,
    fill: impl FnOnce(&mut Out<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let Some(path) = file else {
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

fn write_to(report: &Report, format: ReportFormat, limit: usize, out: &mut impl Write) -> anyhow::Result<()> {
    match Format::from(format).write(report, limit, out) {
        Err(Error::CompleteOnly(why)) => Err(usage(why)),
        written => Ok(written?),
    }
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
