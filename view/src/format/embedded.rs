//! Files inside documents of Office Open XML, unchanged.

use std::io::Cursor;

use crate::format::embedding::VisitEmbedded;
use crate::format::package::Package;
use crate::outcome::Reason;
use crate::source::Source;

/// Visits the embedded files of a document, in the order of its archive.
pub(super) fn members(source: &mut dyn Source, each: &mut VisitEmbedded<'_>) -> Result<(), Reason> {
    let mut package = Package::open(source)?;
    for name in package.names() {
        let embedded = ["word/embeddings/", "xl/embeddings/", "ppt/embeddings/"];
        if embedded.iter().any(|folder| name.strip_prefix(folder).is_some_and(|file| !file.is_empty())) {
            each(&name, &mut Cursor::new(package.bytes(&name)?))?;
        }
    }
    Ok(())
}
