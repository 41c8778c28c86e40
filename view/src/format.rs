//! Text out of documents: a module for each format.

mod html;
mod plain;

use crate::kind::Kind;
use crate::outcome::Reason;
use crate::source::Source;
use crate::text::Text;

/// Reads the text of a document of a known kind.
///
/// # Errors
/// Why it could not be read to its end. A kind that has no text is [`Reason::Unsupported`].
pub fn extract(kind: Kind, source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    match kind {
        Kind::Text => plain::extract(source, text),
        Kind::Html => html::extract(source, text),
        _ => Err(Reason::Unsupported),
    }
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

/// What a failure to read or to parse says of a document: the reason that a reader of ours gave, or that it is damaged.
fn broken<E: std::error::Error + 'static>(error: E) -> Reason {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(error) = source {
        if let Some(&Stop(reason)) = error.downcast_ref() {
            return reason;
        }
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        source = inner.map(|inner| inner as _).or_else(|| error.source());
    }
    Reason::Damaged
}

/// A reason on its way through readers that only know errors of reading.
#[derive(Debug)]
pub(crate) struct Stop(pub(crate) Reason);

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Stop {}
