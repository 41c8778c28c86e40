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

/// Takes a document inside of another: its name there, and its bytes. It ends the visit with the reason that it returns.
pub type Each<'e> = dyn FnMut(&str, &mut dyn Source) -> Result<(), Reason> + 'e;

/// Visits the documents inside of a document that is no archive: attachments of mail, the messages of a mailbox, files
/// embedded in documents of an office. Other kinds hold none.
///
/// Names come as the document gives them, `/` and `..` and all; a member without one is named by its number. They need
/// not differ.
///
/// # Errors
/// Why the visit could not go on: what `each` returned, or what is wrong with the document.
pub fn members(kind: Kind, source: &mut dyn Source, each: &mut Each<'_>) -> Result<(), Reason> {
    let _ = (kind, source, each);
    Ok(())
}
