//! Lines for people on standard error.

use std::fmt::Arguments;
use std::io::{self, Write as _};

/// Writes a line to standard error. `eprintln!` would panic if nothing can be written there: the disk with the log is full, or the
/// program that read it has ended. A lost line changes neither the work of a command nor its exit code.
macro_rules! tell {
    ($($words:tt)*) => { crate::tell::line(format_args!($($words)*)) };
}

/// Writes a line, if standard error takes it.
pub(crate) fn line(words: Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{words}");
}

/// Asks a question, whose answer is typed on the same line.
///
/// # Errors
/// Fails if standard error cannot be written to: nobody has read the question then.
pub(crate) fn ask(question: Arguments<'_>) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    write!(stderr, "{question}")?;
    stderr.flush()
}
