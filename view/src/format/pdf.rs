//! PDF: the characters of each page as they are drawn, put together to words, lines and paragraphs.
//!
//! Characters come in the order in which the page draws them, which is that of reading for the programs that make most
//! documents, columns and tables too. Text that is only there to be searched (of a scanned page) is read as well.
//!
//! A page without text of its own may be a picture, as a scanner made it: such pages are counted, and their pictures handed
//! over for their text to be recognised.
//!
//! A crate parses the file; content streams and fonts are read here, and only what text needs of them: no shapes, no
//! colours, and of pictures the place.

mod attached;
mod content;
mod drawn;
mod font;
mod form;
mod geometry;
mod layers;
mod lines;
mod pictures;
mod state;
mod strings;

use std::io::{Read as _, SeekFrom};

use hayro_syntax::page::Page;
use hayro_syntax::{DecryptionError, LoadPdfError, Pdf};

use self::content::Content;
use self::drawn::Drawn;
use self::font::Fonts;
use self::pictures::{Pictures, Shown};
use crate::format::broken;
use crate::outcome::Reason;
use crate::source::Source;
use crate::text::Text;

/// Size of a document at most: it is in memory at once.
const DOCUMENT_BYTES_MAX: u64 = 256 << 20;

pub(super) use self::attached::members;

/// Reads the structure of a document.
fn load(source: &mut dyn Source) -> Result<Pdf, Reason> {
    if source.length_bytes() > DOCUMENT_BYTES_MAX {
        return Err(Reason::TooLarge);
    }
    source.seek(SeekFrom::Start(0)).map_err(broken)?;
    let mut bytes = Vec::new();
    source.take(DOCUMENT_BYTES_MAX).read_to_end(&mut bytes).map_err(broken)?;
    Pdf::new(bytes).map_err(|error| match error {
        LoadPdfError::Decryption(DecryptionError::UnsupportedAlgorithm) => Reason::Unsupported,
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => Reason::Encrypted,
        LoadPdfError::Decryption(_) | LoadPdfError::Invalid => Reason::Damaged,
    })
}

/// Reads a document page by page.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let pdf = load(source)?;
    check_count(&pdf, text.picture_pages_max())?;
    let (mut fonts, mut lacks_letters) = (Fonts::default(), false);
    for page in pdf.pages().iter() {
        let mut drawn = Drawn::default();
        let pictures = read_page(page, &mut fonts, &mut drawn);
        lacks_letters |= drawn.lacks_letters();
        drawn.lines.give(text)?;
        text.end_paragraph()?;
        if text.picture_pages_max() > 0 {
            for picture in &pictures {
                let file = picture.file().ok_or(Reason::NotRecognised)?;
                text.picture(&file, picture.dots_per_inch())?;
            }
        }
        text.end_page(!pictures.is_empty())?;
    }
    if lacks_letters { Err(Reason::Unsupported) } else { Ok(()) }
}

/// Reads a page, and returns the pictures that it consists of.
fn read_page<'a>(page: &Page<'a>, fonts: &mut Fonts<'a>, drawn: &mut Drawn) -> Vec<Shown<'a>> {
    let mut pictures = Pictures::default();
    Content::read(page, fonts, drawn, &mut pictures);
    pictures.of_page(page.intersected_crop_box(), drawn.count())
}

/// Fails if more pages are pictures than are recognised, before the first is.
fn check_count(pdf: &Pdf, pages_max: u32) -> Result<(), Reason> {
    let pages_max = pages_max as usize;
    if pages_max == 0 || pdf.pages().len() <= pages_max {
        return Ok(());
    }
    let (mut fonts, mut count) = (Fonts::default(), 0);
    for page in pdf.pages().iter() {
        count += usize::from(!read_page(page, &mut fonts, &mut Drawn::default()).is_empty());
    }
    if count > pages_max { Err(Reason::TooManyPages) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
