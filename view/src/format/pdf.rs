//! PDF: the characters of each page as they are drawn, put together to words, lines and paragraphs.
//!
//! Characters come in the order in which the page draws them, which is that of reading for the programs that make most
//! documents, columns and tables too. Text that is only there to be searched (of a scanned page) is read as well.
//!
//! A crate parses the file; content streams and fonts are read here, and only what text needs of them: no shapes, no
//! colours, no pictures.

mod content;
mod drawn;
mod font;
mod geometry;
mod layers;
mod lines;
mod state;

use std::io::{Read as _, SeekFrom};

use hayro_syntax::{DecryptionError, LoadPdfError, Pdf};

use self::content::Content;
use self::drawn::Drawn;
use self::font::Fonts;
use crate::format::broken;
use crate::outcome::Reason;
use crate::source::Source;
use crate::text::Text;

/// Size of a document at most: it is in memory at once.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;

/// Reads a document page by page.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    if source.length_bytes() > DOCUMENT_BYTES_MAX {
        return Err(Reason::TooLarge);
    }
    source.seek(SeekFrom::Start(0)).map_err(broken)?;
    let mut bytes = Vec::new();
    source.take(DOCUMENT_BYTES_MAX).read_to_end(&mut bytes).map_err(broken)?;
    let pdf = Pdf::new(bytes).map_err(|error| match error {
        LoadPdfError::Decryption(DecryptionError::UnsupportedAlgorithm) => Reason::Unsupported,
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => Reason::Encrypted,
        LoadPdfError::Decryption(_) | LoadPdfError::Invalid => Reason::Damaged,
    })?;
    let (mut fonts, mut drawn) = (Fonts::default(), Drawn::default());
    for page in pdf.pages().iter() {
        Content::read(page, &mut fonts, &mut drawn);
        std::mem::take(&mut drawn.lines).give(text)?;
        text.end_paragraph()?;
    }
    // A font may define shapes without the letters that they mean.
    if drawn.unknown > drawn.known { Err(Reason::Unsupported) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
