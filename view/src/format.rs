//! Text out of documents: a module for each format.

mod bounded;
mod chart;
mod compound;
mod doc;
mod docx;
mod embedded;
mod embedding;
mod html;
mod mail;
mod mapi;
mod mbox;
mod message_id;
mod msg;
mod old_office;
mod open_document;
mod package;
mod paragraphs;
mod pdf;
mod picture;
mod plain;
mod ppt;
mod pptx;
mod pst;
mod rtf;
mod sheet;
mod tiff;
mod tnef;
mod xls;
mod xlsx;
mod xml;

pub use embedding::VisitEmbedded;
pub use message_id::message_id_hash;
pub(crate) use picture::PICTURE_BYTES_MAX;

// For the readers of PDF and of pictures.
use crate::stop::broken;

use crate::kind::Kind;
use crate::outcome::Reason;
use crate::source::Source;
use crate::text::Text;

/// Reads the text of a document of a known kind.
///
/// # Errors
/// The reason why it could not be read to its end. A kind without text is [`Reason::Unsupported`].
pub fn extract(kind: Kind, source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    match kind {
        Kind::Text => plain::extract(source, text),
        Kind::Html => html::extract(source, text),
        Kind::Doc => doc::extract(source, text),
        Kind::Xls => xls::extract(source, text),
        Kind::Ppt => ppt::extract(source, text),
        Kind::Docx => docx::extract(source, text),
        Kind::Xlsx => xlsx::extract(source, text),
        Kind::Pptx => pptx::extract(source, text),
        Kind::OpenDocument => open_document::extract(source, text),
        Kind::Pdf => pdf::extract(source, text),
        Kind::Rtf => rtf::extract(source, text),
        Kind::Mail => mail::extract(source, text),
        Kind::Msg => msg::extract(source, text),
        Kind::Tnef => tnef::extract(source, text),
        // They have no text besides that of their messages.
        Kind::Mbox | Kind::OutlookStore => Ok(()),
        Kind::Tiff | Kind::Jpeg | Kind::Png => picture::extract(kind, source, text),
        Kind::OldOffice => Err(old_office::reason(source)),
        Kind::EncryptedFile => Err(Reason::Encrypted),
        _ if kind.is_closed() => Err(Reason::NotOpened),
        _ => Err(Reason::Unsupported),
    }
}

/// Visits the documents inside of a document that is no archive: attachments of mail, the messages of a mailbox, files
/// embedded in documents of an office and attached to a PDF. Other kinds hold none.
///
/// Names are those of the document, with `/` and `..`; a member without a name gets its number. Names may repeat.
///
/// # Errors
/// The reason why the visit could not go on: the one that `each` returned, or that of the document.
pub fn members(kind: Kind, source: &mut dyn Source, each: &mut VisitEmbedded<'_>) -> Result<(), Reason> {
    match kind {
        Kind::Mail => mail::members(source, each),
        Kind::Msg => msg::members(source, each),
        Kind::Tnef => tnef::members(source, each),
        Kind::OutlookStore => pst::members(source, each),
        Kind::Mbox => mbox::members(source, each),
        Kind::Pdf => pdf::members(source, each),
        Kind::Docx | Kind::Xlsx | Kind::Pptx => embedded::members(source, each),
        _ => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests;
