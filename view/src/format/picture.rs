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

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::text::tests::CollectedPages;

    /// A PNG that ends behind its header.
    fn png(width: u32, height: u32) -> Vec<u8> {
        [b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR".as_slice(), &width.to_be_bytes(), &height.to_be_bytes()].concat()
    }

    fn pages_of(kind: Kind, bytes: &[u8], pictures_max: u32) -> (Result<(), Reason>, CollectedPages) {
        let mut pages = CollectedPages { pictures_max, ..CollectedPages::default() };
        (extract(kind, &mut Cursor::new(bytes), &mut pages), pages)
    }

    #[test]
    fn a_picture_is_a_page_by_its_proportions_or_if_it_may_have_text_that_is_recognised() {
        for (width, height, counted, recognised) in [
            (1240, 1754, true, true),
            (1754, 1240, true, true),
            (1920, 1080, false, true),
            (600, 800, false, true),
            (599, 800, false, false),
            (64, 64, false, false),
            (0, 0, false, false),
            (u32::MAX, u32::MAX, false, false),
        ] {
            for (pictures_max, is_page) in [(0, counted), (1, recognised)] {
                let bytes = png(width, height);
                let (read, pages) = pages_of(Kind::Png, &bytes, pictures_max);
                assert_eq!((read, pages.are_pictures.len()), (Ok(()), usize::from(is_page)), "{width} {height}");
                let files = if pictures_max > 0 && is_page { vec![(bytes, 0)] } else { Vec::new() };
                assert_eq!(pages.files, files, "{width} {height}");
            }
        }
    }

    #[test]
    fn a_picture_that_is_cut_off_before_its_size_is_no_page() {
        let whole = png(1240, 1754);
        for length in 0..whole.len() {
            assert!(pages_of(Kind::Png, &whole[..length], 1).1.are_pictures.is_empty(), "{length}");
        }
        let jpeg = b"\xFF\xD8\xFF\xE0\0\x04ab\xFF\xFF\xC0\0\x11\x08\x06\xDA\x04\xD8";
        assert_eq!(pages_of(Kind::Jpeg, jpeg, 1).1.are_pictures, [true]);
        for length in 0..jpeg.len() {
            assert!(pages_of(Kind::Jpeg, &jpeg[..length], 1).1.are_pictures.is_empty(), "{length}");
        }
        let endless = b"\xFF\xE0\0\0".repeat(9);
        assert!(pages_of(Kind::Jpeg, &endless, 1).1.are_pictures.is_empty(), "segments of no length");
    }
}
