//! Compound files of an office: their text is not read, but encrypted ones are distinguished from old ones.

use crate::kind::compound;
use crate::outcome::Reason;
use crate::source::{self, Source};

/// The reason why the text of a compound file is not read.
pub(super) fn reason(source: &mut dyn Source) -> Reason {
    let directory = source::head(source).and_then(|head| compound::names(source, &head));
    match directory {
        Ok(directory) if directory.names.contains("EncryptedPackage") => Reason::Encrypted,
        Ok(directory) if !directory.is_cut => Reason::Unsupported,
        _ => Reason::Damaged,
    }
}
