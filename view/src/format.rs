//! Text out of documents: a module for each format.

use crate::kind::Kind;
use crate::outcome::Reason;
use crate::source::Source;
use crate::text::Text;

/// Reads the text of a document of a known kind.
///
/// # Errors
/// Why it could not be read to its end. A kind that has no text is [`Reason::Unsupported`].
pub fn extract(kind: Kind, source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let _ = (kind, source, text);
    Err(Reason::Unsupported)
}
