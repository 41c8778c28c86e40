//! Pictures that may show a page, by their first bytes and the size that their header names.
//!
//! Scanners and fax machines write TIFF, and little else does: every TIFF of the size of a page counts as pages. JPEG and
//! PNG are mostly photographs, screenshots and icons. One of them counts as a page by the proportions of paper, which no
//! usual camera or screen has; other large ones may show a page, and only recognition can tell.

use std::io::{self, Cursor, SeekFrom};

use super::Kind;
use crate::source::Source;

/// Length of the shorter side at least of a page: A4 and Letter have 827 and 850 dots at 100 dots per inch.
const PAGE_SHORT_MIN: u32 = 800;
/// Sides at least of a picture in which text may be recognised.
const SIDES_MIN: (u32, u32) = (600, 800);
/// Dots at most of a picture in which text is recognised: A3 at 600 dots per inch has 70 million.
pub(crate) const DOTS_MAX: u64 = 100_000_000;
/// Long side by short side, in thousandths: A and B formats, Letter, Legal.
const PAPER: [u64; 3] = [1414, 1294, 1647];
/// Deviation from the proportions of paper at most, in thousandths: a camera has 4:3, 3:2 or 16:9.
const DEVIATION_MAX: u64 = 20;
/// Segments of a JPEG that are looked at before the one with its size.
const SEGMENTS_MAX: u32 = 1000;

/// Width and height in dots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shape {
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Shape {
    /// True if it is large enough for the text of a page.
    pub(crate) fn may_have_text(self) -> bool {
        let (short, long) = self.sides();
        short >= SIDES_MIN.0 && long >= SIDES_MIN.1 && u64::from(short) * u64::from(long) <= DOTS_MAX
    }

    /// True if it has the size and the proportions of a scanned page.
    pub(crate) fn is_page(self) -> bool {
        let (short, long) = self.sides();
        let thousandths = u64::from(long) * 1000 / u64::from(short).max(1);
        let is_paper = PAPER.iter().any(|paper| paper.abs_diff(thousandths) <= DEVIATION_MAX);
        self.may_have_text() && short >= PAGE_SHORT_MIN && is_paper
    }

    fn sides(self) -> (u32, u32) {
        (self.width.min(self.height), self.width.max(self.height))
    }
}

/// The kind of a picture with these first bytes.
pub(super) fn kind(head: &[u8]) -> Option<Kind> {
    match head {
        [0xFF, 0xD8, 0xFF, ..] => Some(Kind::Jpeg),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(Kind::Png),
        // What follows is the mark of a camera's own format.
        [b'I', b'I', 42, 0, _, _, _, _, b'C', b'R', ..] => None,
        [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => Some(Kind::Tiff),
        _ => None,
    }
}

/// The shape of a JPEG or PNG; `None` if its header does not name it.
///
/// # Errors
/// If the source cannot be read.
pub(crate) fn shape(kind: Kind, source: &mut dyn Source) -> io::Result<Option<Shape>> {
    match kind {
        Kind::Png => png_shape(source),
        Kind::Jpeg => jpeg_shape(source),
        _ => Ok(None),
    }
}

/// The shape of a JPEG or PNG as far as these first bytes name it.
pub(super) fn shape_in_head(kind: Kind, head: &[u8]) -> Option<Shape> {
    shape(kind, &mut Cursor::new(head)).ok().flatten()
}

fn png_shape(source: &mut dyn Source) -> io::Result<Option<Shape>> {
    let Some(bytes) = read_at::<24>(source, 0)? else { return Ok(None) };
    let number = |at: usize| bytes[at..at + 4].try_into().map_or(0, u32::from_be_bytes);
    Ok((&bytes[12..16] == b"IHDR").then(|| Shape { width: number(16), height: number(20) }))
}

/// Goes from segment to segment to the one that begins a frame.
fn jpeg_shape(source: &mut dyn Source) -> io::Result<Option<Shape>> {
    let mut at = 2;
    for _ in 0..SEGMENTS_MAX {
        let Some([0xFF, marker, high, low]) = read_at::<4>(source, at)? else { return Ok(None) };
        match marker {
            // Fill bytes may come before a marker.
            0xFF => {
                at += 1;
                continue;
            }
            0xC4 | 0xC8 | 0xCC => {}
            0xC0..=0xCF => {
                let Some([_, h1, h0, w1, w0]) = read_at::<5>(source, at + 4)? else { return Ok(None) };
                let (height, width) = (u16::from_be_bytes([h1, h0]), u16::from_be_bytes([w1, w0]));
                return Ok(Some(Shape { width: width.into(), height: height.into() }));
            }
            // The picture begins or ends without a frame.
            0x00 | 0xD8..=0xDA => return Ok(None),
            _ => {}
        }
        at += 2 + u64::from(u16::from_be_bytes([high, low]));
    }
    Ok(None)
}

/// Bytes at a place; `None` beyond the end.
fn read_at<const N: usize>(source: &mut dyn Source, at: u64) -> io::Result<Option<[u8; N]>> {
    source.seek(SeekFrom::Start(at))?;
    let mut bytes = [0; N];
    match source.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_the_proportions_of_paper_and_its_size() {
        let is_page = |width, height| Shape { width, height }.is_page();
        // A4 at 100, 200, 300 and 600 dots per inch, lying A4, Letter, Legal.
        for (width, height) in
            [(827, 1169), (1654, 2339), (2480, 3508), (4960, 7016), (2339, 1654), (1700, 2200), (2550, 4200)]
        {
            assert!(is_page(width, height), "{width} x {height}");
        }
        // Icons, screens, cameras, a page that is too small to read, one that is too large.
        for (width, height) in [
            (512, 512),
            (1920, 1080),
            (1920, 1200),
            (2560, 1600),
            (1125, 2436),
            (4032, 3024),
            (3000, 2000),
            (620, 877),
            (16_540, 23_390),
        ] {
            assert!(!is_page(width, height), "{width} x {height}");
        }
        assert!(!is_page(0, 0) && Shape { width: 4032, height: 3024 }.may_have_text());
    }

    #[test]
    fn a_jpeg_names_its_shape_after_any_segments() {
        let frame = [0xFF, 0xC2, 0, 17, 8, 0x0D, 0xB4, 0x09, 0xB0, 3];
        let check = |between: &[u8], expected: Option<(u32, u32)>| {
            let bytes = [&[0xFF, 0xD8], between, &frame[..]].concat();
            let shape = shape(Kind::Jpeg, &mut Cursor::new(bytes.as_slice())).unwrap();
            assert_eq!(shape.map(|shape| (shape.width, shape.height)), expected, "{between:x?}");
        };
        let page = Some((2480, 3508));
        check(&[], page);
        check(&[0xFF, 0xE1, 0, 4, 0xFF, 0xC0], page);
        // Tables of codes have a marker between those of frames, and fill bytes count for nothing.
        check(&[0xFF, 0xFF, 0xFF, 0xC4, 0, 3, 7], page);
        check(&[0xFF, 0xDA, 0, 2], None);
        check(&[0xFF, 0xE1, 0xFF, 0xFF], None);
        check(&[1, 2, 3, 4], None);
    }

    #[test]
    fn a_png_names_its_shape_in_its_first_chunk() {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x04\xb0\0\0\x06\xa4\x08\0\0\0\0".to_vec();
        let shape = |bytes: &[u8]| shape_in_head(Kind::Png, bytes);
        assert_eq!(shape(&bytes), Some(Shape { width: 1200, height: 1700 }));
        assert_eq!(shape(&bytes[..20]), None);
        bytes[13] = b'X';
        assert_eq!(shape(&bytes), None);
    }
}
