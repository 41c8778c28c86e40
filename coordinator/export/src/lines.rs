//! Text on its way to a terminal: nothing in it acts on the terminal, whoever wrote it.

use std::io::{self, Write};

use cognate_proto::shown::harmless;

/// A writer of lines, each made harmless as a whole.
pub(crate) struct Lines<W: Write> {
    out: W,
    line: Vec<u8>,
}

impl<W: Write> Lines<W> {
    /// Lines to `out`.
    pub(crate) fn new(out: W) -> Lines<W> {
        Lines { out, line: Vec::new() }
    }

    /// Writes the last line, if it has no end.
    ///
    /// # Errors
    /// Fails if `out` does.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.write_line()
    }

    fn write_line(&mut self) -> io::Result<()> {
        self.out.write_all(harmless(&String::from_utf8_lossy(&self.line)).as_bytes())?;
        self.line.clear();
        Ok(())
    }
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            match piece.strip_suffix(b"\n") {
                None => self.line.extend_from_slice(piece),
                Some(rest) => {
                    self.line.extend_from_slice(rest);
                    self.write_line()?;
                    self.out.write_all(b"\n")?;
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_in_pieces_acts_on_no_terminal() {
        let mut out = Vec::new();
        let mut lines = Lines::new(&mut out);
        for piece in [&b"a\xc2"[..], b"\x9bb\nc", b"\x1b[2J\n\nd"] {
            lines.write_all(piece).unwrap();
        }
        lines.finish().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a\\u{9b}b\nc\\u{1b}[2J\n\nd");
    }
}
