//! Pictures that may show pages. They have no text that could be read: they are counted, and handed over for recognition.

use std::io::{Read as _, SeekFrom};

use super::tiff;
use crate::format::broken;
use crate::kind::{Kind, picture};
use crate::outcome::Reason;
use crate::source::Source;
use crate::text::Text;

/// Bytes of a picture that is handed over.
pub(crate) const PICTURE_BYTES_MAX: u64 = 64 << 20;

/// Reads the pages of a TIFF, or the one of a JPEG or PNG. A picture that shows none has no page.
pub(super) fn extract(kind: Kind, source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    if kind == Kind::Tiff {
        return tiff(source, text);
    }
    let shape = picture::shape(kind, source).map_err(broken)?;
    let is_wanted = text.picture_pages_max() > 0 && shape.is_some_and(picture::Shape::may_have_text);
    if is_wanted {
        if source.length_bytes() > PICTURE_BYTES_MAX {
            return Err(Reason::NotRecognised);
        }
        source.seek(SeekFrom::Start(0)).map_err(broken)?;
        let mut file = Vec::new();
        source.take(PICTURE_BYTES_MAX).read_to_end(&mut file).map_err(broken)?;
        text.picture(&file, 0)?;
    }
    if is_wanted || shape.is_some_and(picture::Shape::is_page) {
        text.end_page(true)?;
    }
    Ok(())
}

fn tiff(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let pages = tiff::pages(source)?;
    let recognised_max = text.picture_pages_max() as usize;
    if recognised_max > 0 && pages.len() > recognised_max {
        return Err(Reason::TooManyPages);
    }
    for page in pages {
        if recognised_max > 0 {
            text.picture(&page.file(source)?, 0)?;
        }
        text.end_page(true)?;
    }
    Ok(())
}
