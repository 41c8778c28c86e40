//! From a document to its parts: the documents that it holds, each before the one that holds it, and itself.

use std::fs::File;
use std::io::{self, Write};

use crate::frames::PartsWriter;
use crate::kind::Kind;
use crate::limits::Limits;
use crate::outcome::{Outcome, Reason};

/// Writes the parts of a document of a file; the name is a hint for the names of members.
pub(crate) fn walk(file: File, name: &str, limits: &Limits, out: &mut dyn Write) -> io::Result<()> {
    let _ = (file, name, limits);
    let mut parts = PartsWriter::new(out)?;
    parts.begin("", Kind::Other)?;
    parts.end(Outcome::Unextractable(Reason::Unsupported), None)?;
    parts.finish().map(drop)
}
