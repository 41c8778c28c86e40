//! The pictures that a page shows, and the files that programs read made of them.
//!
//! A page is a picture if pictures cover half of it and hardly any text is on it: a stamp or a number that a program added to
//! a scan is not the text of the page.

use hayro_syntax::object::dict::keys::{FILTER, HEIGHT, WIDTH};
use hayro_syntax::object::{Array, Dict, Name, Object, Rect, Stream, String};

use super::geometry::{Matrix, Point};
use crate::format::picture::PICTURE_BYTES_MAX;
use crate::format::tiff::{self, Fax};
use crate::kind::picture::DOTS_MAX;

/// Characters that a page may have besides its picture.
const CHARACTERS_MAX: u64 = 64;
/// Pictures of a page that are looked at.
const PICTURES_MAX: usize = 128;
/// Pictures that cover less of a page, as a share of its area, are no part of a scan.
const SHARE_MIN: f64 = 0.01;
/// The share of a page that pictures must cover.
const COVERED_MIN: f64 = 0.5;
/// Places of a page have so many units to the inch.
const UNITS_PER_INCH: f64 = 72.0;

/// A picture at its place on the page.
pub(super) struct Shown<'a> {
    stream: Stream<'a>,
    low: Point,
    high: Point,
    width: u32,
    height: u32,
}

/// The pictures that one page shows.
#[derive(Default)]
pub(super) struct Pictures<'a>(Vec<Shown<'a>>);

impl<'a> Pictures<'a> {
    /// A picture is drawn in the unit square of the present space.
    pub(super) fn draw(&mut self, stream: Stream<'a>, matrix: Matrix) {
        let side = |key: &[u8]| stream.dict().get::<u32>(key).unwrap_or(0);
        let (width, height) = (side(WIDTH), side(HEIGHT));
        let (low, high) = matrix.bounds([0.0, 0.0, 1.0, 1.0]);
        if self.0.len() < PICTURES_MAX && low.is_finite() && high.is_finite() {
            self.0.push(Shown { stream, low, high, width, height });
        }
    }

    /// The pictures that make up the page, from top to bottom; none if the page is no picture. Of several on top of each
    /// other the finest counts: scanners put the letters of a page over its background.
    pub(super) fn of_page(self, page: Rect, characters: u64) -> Vec<Shown<'a>> {
        let page = (Point::new(page.x0, page.y0), Point::new(page.x1, page.y1));
        let area = area(page);
        if characters > CHARACTERS_MAX || area <= 0.0 {
            return Vec::new();
        }
        let mut all = self.0;
        all.iter_mut().for_each(|shown| (shown.low, shown.high) = common((shown.low, shown.high), page));
        all.retain(|shown| shown.area() >= SHARE_MIN * area);
        all.sort_by_key(|shown| std::cmp::Reverse(u64::from(shown.width) * u64::from(shown.height)));
        let mut chosen: Vec<Shown<'a>> = Vec::new();
        for shown in all {
            let is_hidden = |over: &Shown<'_>| self::area(common(over.place(), shown.place())) > 0.5 * shown.area();
            if !chosen.iter().any(is_hidden) {
                chosen.push(shown);
            }
        }
        if chosen.iter().map(Shown::area).sum::<f64>() < COVERED_MIN * area {
            return Vec::new();
        }
        chosen.sort_by(|a, b| b.high.y.total_cmp(&a.high.y).then(a.low.x.total_cmp(&b.low.x)));
        chosen
    }
}

fn area((low, high): (Point, Point)) -> f64 {
    (high.x - low.x).max(0.0) * (high.y - low.y).max(0.0)
}

/// The part that two rectangles have in common.
fn common(a: (Point, Point), b: (Point, Point)) -> (Point, Point) {
    let low = Point::new(a.0.x.max(b.0.x), a.0.y.max(b.0.y));
    (low, Point::new(a.1.x.min(b.1.x).max(low.x), a.1.y.min(b.1.y).max(low.y)))
}

impl Shown<'_> {
    fn place(&self) -> (Point, Point) {
        (self.low, self.high)
    }

    fn area(&self) -> f64 {
        area(self.place())
    }

    /// Dots to the inch; 0 if no scanner would have so few or so many.
    pub(super) fn dots_per_inch(&self) -> u32 {
        let size = self.high.from(self.low);
        let dots = f64::from(self.width.max(self.height)) / (size.x.max(size.y) / UNITS_PER_INCH);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
        if (50.0..=2400.0).contains(&dots) { dots.round() as u32 } else { 0 }
    }

    /// The picture as the bytes of a file; `None` where it is of a kind that is not read, or too large.
    pub(super) fn file(&self) -> Option<Vec<u8>> {
        if u64::from(self.width) * u64::from(self.height) > DOTS_MAX {
            return None;
        }
        let filters = filters(self.stream.dict());
        match &filters[..] {
            // A file of its own already.
            [Filter::File] => Some(self.stream.raw_data().into_owned()),
            [Filter::Flate, Filter::File] => inflated(&self.stream.raw_data()),
            [Filter::Fax] => Some(self.fax()),
            _ => self.bitmap(),
        }
    }

    fn fax(&self) -> Vec<u8> {
        let parameters = parameters(self.stream.dict());
        let is_set = |key: &[u8]| parameters.get::<bool>(key).unwrap_or(false);
        let fax = Fax {
            width: parameters.get::<u32>(b"Columns").unwrap_or(1728),
            height: self.height,
            dimensions: parameters.get::<i32>(b"K").unwrap_or(0),
            is_aligned: is_set(b"EncodedByteAlign"),
            is_inverted: is_set(b"BlackIs1") != self.is_inverted(),
        };
        tiff::of_fax(&fax, &self.stream.raw_data())
    }

    /// True if the samples of the picture are the other way round.
    fn is_inverted(&self) -> bool {
        let decode = self.stream.dict().get::<Array<'_>>(b"Decode");
        decode.and_then(|decode| decode.iter::<f32>().next()).is_some_and(|first| first >= 1.0)
    }

    /// The samples as a portable bitmap or greymap.
    fn bitmap(&self) -> Option<Vec<u8>> {
        let dict = self.stream.dict();
        let is_mask = dict.get::<bool>(b"ImageMask").unwrap_or(false);
        let bits = if is_mask { 1 } else { dict.get::<u32>(b"BitsPerComponent")? };
        let data = self.stream.decoded_data().ok()?;
        let samples = Samples { width: self.width as usize, height: self.height as usize, bits: bits as usize };
        let palette = dict.get::<Array<'_>>(b"ColorSpace").and_then(|space| Palette::of(&space));
        samples.file(&data, palette.as_ref(), self.is_inverted())
    }
}

/// A filter of a stream, by how its output is read here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Filter {
    /// JPEG or JPEG 2000: what goes in is a file.
    File,
    Fax,
    Flate,
    /// Read by the parser, or by nothing.
    Other,
}

/// The filters of a stream, but for encryption, which the parser removes.
fn filters(dict: &Dict<'_>) -> Vec<Filter> {
    let names: Vec<Name<'_>> = match dict.get::<Object<'_>>(FILTER) {
        Some(Object::Name(name)) => vec![name],
        Some(Object::Array(names)) => names.iter::<Name<'_>>().collect(),
        _ => Vec::new(),
    };
    let filter = |name: &Name<'_>| match &**name {
        b"Crypt" => None,
        b"DCTDecode" | b"DCT" | b"JPXDecode" => Some(Filter::File),
        b"CCITTFaxDecode" | b"CCF" => Some(Filter::Fax),
        b"FlateDecode" | b"Fl" => Some(Filter::Flate),
        _ => Some(Filter::Other),
    };
    names.iter().filter_map(filter).collect()
}

/// The parameters of the last filter.
fn parameters<'a>(dict: &Dict<'a>) -> Dict<'a> {
    let key = b"DecodeParms";
    let of_list = || dict.get::<Array<'_>>(key)?.iter::<Object<'_>>().last()?.into_dict();
    dict.get::<Dict<'_>>(key).or_else(of_list).unwrap_or_default()
}

fn inflated(data: &[u8]) -> Option<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    flate2::read::ZlibDecoder::new(data).take(PICTURE_BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= PICTURE_BYTES_MAX).then_some(bytes)
}

/// The shades of grey of an indexed colour space.
struct Palette(Vec<u8>);

impl Palette {
    fn of(space: &Array<'_>) -> Option<Palette> {
        let mut parts = space.iter::<Object<'_>>();
        let is_indexed = parts.next()?.into_name().is_some_and(|name: Name<'_>| matches!(&*name, b"Indexed" | b"I"));
        if !is_indexed {
            return None;
        }
        let (_base, last, table) = (parts.next()?, parts.next()?, parts.next()?);
        let Object::Number(last) = last else { return None };
        let table = match table {
            Object::String(table) => <String<'_>>::as_bytes(&table).to_vec(),
            Object::Stream(table) => table.decoded_data().ok()?.into_owned(),
            _ => return None,
        };
        let count = usize::try_from(last.as_i64()).ok()?.checked_add(1)?;
        let components = table.len() / count;
        Some(Palette(table.chunks_exact(components.max(1)).map(grey).collect()))
    }
}

/// The lightness of a colour by its components: grey, red with green and blue, or the four inks.
fn grey(components: &[u8]) -> u8 {
    let all = |parts: &[u8], weights: [u32; 3]| {
        let sum: u32 = parts.iter().zip(weights).map(|(part, weight)| u32::from(*part) * weight).sum();
        u8::try_from(sum / 256).unwrap_or(u8::MAX)
    };
    match components {
        [grey] => *grey,
        [_, _, _] => all(components, [77, 150, 29]),
        [inks @ .., black] if inks.len() == 3 => {
            let light = [255 - inks[0], 255 - inks[1], 255 - inks[2]];
            all(&light, [77, 150, 29]).saturating_sub(*black)
        }
        _ => components.first().copied().unwrap_or(u8::MAX),
    }
}

/// The shape of decoded samples.
struct Samples {
    width: usize,
    height: usize,
    bits: usize,
}

impl Samples {
    fn file(&self, data: &[u8], palette: Option<&Palette>, is_inverted: bool) -> Option<Vec<u8>> {
        let Samples { width, height, bits } = *self;
        if !matches!(bits, 1 | 2 | 4 | 8 | 16) || width == 0 || height == 0 {
            return None;
        }
        // The number of components follows from the length: a colour space can be written in many ways.
        let components =
            (1..=4).rev().find(|components| (width * components * bits).div_ceil(8) * height <= data.len())?;
        let row_bytes = (width * components * bits).div_ceil(8);
        let rows = data.chunks_exact(row_bytes).take(height);
        if bits == 1 && components == 1 && palette.is_none() {
            let mut file = format!("P4\n{width} {height}\n").into_bytes();
            rows.for_each(|row| file.extend(row.iter().map(|byte| if is_inverted { *byte } else { !byte })));
            return Some(file);
        }
        if (width * height) as u64 > PICTURE_BYTES_MAX - 64 {
            return None;
        }
        let mut file = format!("P5\n{width} {height}\n255\n").into_bytes();
        let mut dot = Vec::new();
        for row in rows {
            for x in 0..width {
                dot.clear();
                for component in 0..components {
                    let sample = sample(row, bits, x * components + component);
                    dot.push(if palette.is_some() { sample } else { scaled(sample, bits) });
                }
                let grey = match palette {
                    Some(Palette(greys)) => greys.get(usize::from(dot[0])).copied().unwrap_or(0),
                    None => grey(&dot),
                };
                file.push(if is_inverted && palette.is_none() { !grey } else { grey });
            }
        }
        Some(file)
    }
}

/// A sample of a row; of one with 16 bits the upper 8.
fn sample(row: &[u8], bits: usize, at: usize) -> u8 {
    if bits >= 8 {
        return row[at * bits / 8];
    }
    let byte = row[at * bits / 8];
    let shift = 8 - bits - at * bits % 8;
    byte >> shift & ((1 << bits) - 1)
}

/// A sample of a few bits as one of eight.
fn scaled(sample: u8, bits: usize) -> u8 {
    if bits >= 8 { sample } else { u8::try_from(u32::from(sample) * 255 / ((1 << bits) - 1)).unwrap_or(u8::MAX) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(samples: &Samples, data: &[u8], palette: Option<Vec<u8>>, is_inverted: bool) -> Option<Vec<u8>> {
        samples.file(data, palette.map(Palette).as_ref(), is_inverted)
    }

    #[test]
    fn bits_become_a_bitmap_in_which_black_is_one() {
        let samples = Samples { width: 10, height: 2, bits: 1 };
        let data = [0b1111_0000, 0b0100_0000, 0, 0];
        assert_eq!(file(&samples, &data, None, false).unwrap(), b"P4\n10 2\n\x0F\xBF\xFF\xFF");
        assert_eq!(file(&samples, &data, None, true).unwrap(), b"P4\n10 2\n\xF0\x40\x00\x00");
    }

    #[test]
    fn colours_become_their_lightness() {
        let check = |bits, data: &[u8], palette: Option<Vec<u8>>, expected: &[u8]| {
            let written = file(&Samples { width: 2, height: 1, bits }, data, palette, false).unwrap();
            assert_eq!(written, [b"P5\n2 1\n255\n", expected].concat(), "{bits} {data:?}");
        };
        check(8, &[7, 200], None, &[7, 200]);
        check(4, &[0x0F], None, &[0, 255]);
        check(16, &[7, 99, 200, 99], None, &[7, 200]);
        check(8, &[255, 255, 255, 0, 0, 0], None, &[255, 0]);
        check(8, &[0, 0, 0, 0, 0, 0, 0, 255], None, &[255, 0]);
        let four = file(&Samples { width: 4, height: 1, bits: 2 }, &[0b0001_1011], None, false);
        assert_eq!(four.unwrap(), b"P5\n4 1\n255\n\x00\x55\xAA\xFF");
        let indexed = file(&Samples { width: 8, height: 1, bits: 1 }, &[0b0101_0101], Some(vec![3, 9]), false);
        assert_eq!(indexed.unwrap(), b"P5\n8 1\n255\n\x03\x09\x03\x09\x03\x09\x03\x09");
    }

    #[test]
    fn samples_that_do_not_fill_the_picture_are_none() {
        let samples = Samples { width: 10, height: 2, bits: 8 };
        assert_eq!(file(&samples, &[0; 19], None, false), None);
        assert_eq!(file(&Samples { bits: 3, ..samples }, &[0; 99], None, false), None);
    }

    proptest! {
        #[test]
        fn samples_of_any_shape_become_a_file_of_their_size_or_none(
            width in 0..20_usize,
            height in 0..6_usize,
            bits in prop::sample::select(&[0_usize, 1, 2, 3, 4, 8, 16, 32][..]),
            data in prop::collection::vec(any::<u8>(), 0..400),
            palette in prop::option::of(prop::collection::vec(any::<u8>(), 0..9)),
            is_inverted: bool,
        ) {
            let (samples, is_indexed) = (Samples { width, height, bits }, palette.is_some());
            let Some(file) = file(&samples, &data, palette, is_inverted) else { return Ok(()) };
            prop_assert!(data.len() >= (width * bits).div_ceil(8) * height);
            let length = if file.starts_with(b"P4") {
                prop_assert!(bits == 1 && !is_indexed);
                format!("P4\n{width} {height}\n").len() + width.div_ceil(8) * height
            } else {
                format!("P5\n{width} {height}\n255\n").len() + width * height
            };
            prop_assert_eq!(file.len(), length);
        }
    }

    #[test]
    fn a_colour_becomes_no_brighter_than_white_and_no_darker_than_black() {
        for (components, expected) in [
            (&[][..], 255),
            (&[7], 7),
            (&[1, 2], 1),
            (&[0, 0, 0], 0),
            (&[255, 0, 0], 76),
            (&[0, 255, 0], 149),
            (&[0, 0, 255], 28),
            (&[255, 255, 255, 255], 0),
            (&[0, 0, 0, 10], 245),
            (&[1, 2, 3, 4, 5], 1),
        ] {
            assert_eq!(grey(components), expected, "{components:?}");
        }
    }
}
