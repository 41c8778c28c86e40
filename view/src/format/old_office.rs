//! Compound files of an office: none of them is read here, but a password is told apart from age.

use crate::kind::{self, compound};
use crate::outcome::Reason;
use crate::source::Source;

/// Why the text of a compound file is not read.
pub(super) fn reason(source: &mut dyn Source) -> Reason {
    let names = kind::head(source).and_then(|head| compound::names(source, &head));
    match names {
        Ok(names) if names.contains("EncryptedPackage") => Reason::Encrypted,
        Ok(_) => Reason::Unsupported,
        Err(_) => Reason::Damaged,
    }
}
