//! Compound files of an office: their text is not read, but encrypted ones are distinguished from old ones.

use crate::kind::compound;
use crate::outcome::Reason;
use crate::source::{self, Source};

/// The reason why the text of a compound file is not read.
pub(super) fn reason(source: &mut dyn Source) -> Reason {
    let names = source::head(source).and_then(|head| compound::names(source, &head));
    match names {
        Ok(names) if names.contains("EncryptedPackage") => Reason::Encrypted,
        Ok(_) => Reason::Unsupported,
        Err(_) => Reason::Damaged,
    }
}
