//! Text on its way to a terminal: nothing in it acts on the terminal, whoever wrote it.

use std::io::{self, Write};

use cognate_proto::shown::harmless;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Lines of text for people that `fill` writes: for a terminal of so many columns, longer ones go on below, indented.
///
/// # Errors
/// Those of `fill`, and of `out`.
pub fn within<E: From<io::Error>>(
    columns: Option<usize>,
    out: &mut impl Write,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let Some(columns) = columns else { return fill(out) };
    let mut lines = Lines::within(columns, out);
    fill(&mut lines)?;
    Ok(lines.finish()?)
}

/// A writer of lines, each made harmless as a whole.
pub(crate) struct Lines<W: Write> {
    out: W,
    line: Vec<u8>,
    /// Lines that are longer are folded.
    columns: Option<usize>,
}

impl<W: Write> Lines<W> {
    /// Lines to `out`.
    pub(crate) fn new(out: W) -> Lines<W> {
        Lines { out, line: Vec::new(), columns: None }
    }

    /// Lines of at most so many columns: longer ones go on below, indented.
    pub(crate) fn within(columns: usize, out: W) -> Lines<W> {
        Lines { out, line: Vec::new(), columns: Some(columns) }
    }

    /// Writes the last line, if it has no end.
    ///
    /// # Errors
    /// Fails if `out` does.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.write_line()
    }

    fn write_line(&mut self) -> io::Result<()> {
        let line = String::from_utf8_lossy(&self.line);
        let shown = harmless(&line);
        match self.columns {
            Some(columns) => self.out.write_all(folded(&shown, columns).as_bytes())?,
            None => self.out.write_all(shown.as_bytes())?,
        }
        drop(line);
        self.line.clear();
        Ok(())
    }
}

/// The column at which the sentences of the answer begin, behind their labels.
const LABEL_COLUMNS: usize = 14;

/// A line folded at its blanks; a word that is longer than a line is cut.
fn folded(line: &str, columns: usize) -> String {
    if line.width() <= columns {
        return line.to_owned();
    }
    let blanks = line.len() - line.trim_start_matches(' ').len();
    let is_labelled = blanks == 0 && line.is_char_boundary(LABEL_COLUMNS) && line[..LABEL_COLUMNS].ends_with("  ");
    let indent = if is_labelled || blanks == LABEL_COLUMNS { LABEL_COLUMNS } else { blanks + 2 };
    let indent = indent.min(columns / 2);
    let (mut out, mut used) = (String::new(), 0);
    for piece in line.split_inclusive(' ') {
        let width = piece.trim_end_matches(' ').width();
        if used > indent && used + width > columns {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        }
        for letter in piece.chars() {
            let width = letter.width().unwrap_or(0);
            // The blank behind the last word of a line needs no place.
            if letter != ' ' && used + width > columns {
                out.push('\n');
                out.push_str(&" ".repeat(indent));
                used = indent;
            }
            out.push(letter);
            used += width;
        }
    }
    out.truncate(out.trim_end_matches(' ').len());
    out
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
    fn long_lines_are_folded_below_their_beginning() {
        let check = |line: &str, columns, expected: &str| assert_eq!(folded(line, columns), expected);
        check("short", 20, "short");
        check(
            "In common     62 % of new is also at old",
            28,
            "In common     62 % of new is\n              also at old",
        );
        check("  a b c d e f", 9, "  a b c d\n    e f");
        check("      departments/reports/2024.txt", 20, "      departments/re\n        ports/2024.t\n        xt");
        check("      漢字漢字漢字漢字", 12, "      漢字漢\n      字漢字\n      漢字");
    }

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
