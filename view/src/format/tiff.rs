//! TIFF: the pages of a file, each as a file of its own, and files around the data of a fax.
//!
//! A page keeps the fields that its dots need and none of the others, so that what is handed on has no part that was not
//! looked at.

use std::io::{Read as _, SeekFrom};

use crate::format::broken;
use crate::kind::picture::Shape;
use crate::outcome::Reason;
use crate::source::Source;

/// Pages of a file that are looked at.
const PAGES_MAX: usize = 10_000;
/// Fields of a page.
const FIELDS_MAX: u16 = 1000;
/// Bytes of the values of one field: places and lengths of strips, colours.
const VALUES_BYTES_MAX: u64 = 4 << 20;
/// Bytes of the data of a page.
const DATA_BYTES_MAX: u64 = 60 << 20;
const FIELD_BYTES: usize = 12;

const KIND_OF_IMAGE: u16 = 254;
const WIDTH: u16 = 256;
const HEIGHT: u16 = 257;
const BITS: u16 = 258;
const COMPRESSION: u16 = 259;
const PHOTOMETRIC: u16 = 262;
const STRIP_OFFSETS: u16 = 273;
const SAMPLES: u16 = 277;
const ROWS_PER_STRIP: u16 = 278;
const STRIP_LENGTHS: u16 = 279;
const T4_OPTIONS: u16 = 292;
const T6_OPTIONS: u16 = 293;
const TILE_OFFSETS: u16 = 324;
const TILE_LENGTHS: u16 = 325;
/// Other fields that a picture depends on: bit order, orientation, resolution, planes, predictor, colours, tiles, extra
/// samples and their format, tables of JPEG, YCbCr.
const MORE_FIELDS: [u16; 16] = [266, 274, 282, 283, 284, 296, 317, 320, 322, 323, 338, 339, 347, 530, 531, 532];

const SHORT: u16 = 3;
const LONG: u16 = 4;

/// The order of the bytes of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn u16(self, bytes: &[u8]) -> u16 {
        let bytes = bytes.first_chunk().copied().unwrap_or_default();
        if self == Order::Little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) }
    }

    fn u32(self, bytes: &[u8]) -> u32 {
        let bytes = bytes.first_chunk().copied().unwrap_or_default();
        if self == Order::Little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
    }

    fn of_u16(self, number: u16) -> [u8; 2] {
        if self == Order::Little { number.to_le_bytes() } else { number.to_be_bytes() }
    }

    fn of_u32(self, number: u32) -> [u8; 4] {
        if self == Order::Little { number.to_le_bytes() } else { number.to_be_bytes() }
    }
}

/// A field: its values as bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Field {
    tag: u16,
    kind: u16,
    count: u32,
    bytes: Vec<u8>,
}

/// One page of a file.
#[derive(Debug)]
pub(super) struct Page {
    order: Order,
    fields: Vec<Field>,
}

/// The pages of a file that are large enough for text, in their order. Small pictures of pages do not count.
///
/// # Errors
/// If the file is damaged, or is of the variant for large files.
pub(super) fn pages(source: &mut dyn Source) -> Result<Vec<Page>, Reason> {
    let head = read(source, 0, 8)?;
    let order = match head.get(..4) {
        Some(b"II*\0") => Order::Little,
        Some(b"MM\0*") => Order::Big,
        _ => return Err(Reason::Unsupported),
    };
    let mut next = order.u32(&head[4..]);
    let (mut pages, mut count) = (Vec::new(), 0);
    while next != 0 {
        count += 1;
        if count > PAGES_MAX {
            return Err(Reason::TooMany);
        }
        let (page, after) = page_at(source, order, next.into())?;
        next = after;
        // A reduced copy of another page, or a mask of one.
        let is_page = page.number(KIND_OF_IMAGE).unwrap_or(0) & 0b101 == 0;
        if is_page && page.shape().is_some_and(Shape::may_have_text) {
            pages.push(page);
        }
    }
    Ok(pages)
}

fn page_at(source: &mut dyn Source, order: Order, at: u64) -> Result<(Page, u32), Reason> {
    let count = order.u16(&read(source, at, 2)?);
    if count > FIELDS_MAX {
        return Err(Reason::Damaged);
    }
    let bytes = read(source, at + 2, u64::from(count) * FIELD_BYTES as u64 + 4)?;
    let (rows, next) = bytes.split_at(bytes.len() - 4);
    let mut fields = Vec::new();
    for row in rows.as_chunks::<FIELD_BYTES>().0 {
        fields.extend(field(source, order, row)?);
    }
    Ok((Page { order, fields }, order.u32(next)))
}

/// A field, if a picture depends on it.
fn field(source: &mut dyn Source, order: Order, row: &[u8; FIELD_BYTES]) -> Result<Option<Field>, Reason> {
    let (tag, kind, count) = (order.u16(row), order.u16(&row[2..]), order.u32(&row[4..]));
    let of_picture = [
        KIND_OF_IMAGE,
        WIDTH,
        HEIGHT,
        BITS,
        COMPRESSION,
        PHOTOMETRIC,
        STRIP_OFFSETS,
        SAMPLES,
        ROWS_PER_STRIP,
        STRIP_LENGTHS,
        T4_OPTIONS,
        T6_OPTIONS,
        TILE_OFFSETS,
        TILE_LENGTHS,
    ];
    let Some(size) = size_of(kind).filter(|_| of_picture.contains(&tag) || MORE_FIELDS.contains(&tag)) else {
        return Ok(None);
    };
    let length = u64::from(count) * size;
    if length > VALUES_BYTES_MAX {
        return Err(Reason::TooLarge);
    }
    let bytes = match usize::try_from(length) {
        Ok(length @ 0..=4) => row[8..8 + length].to_vec(),
        _ => read(source, order.u32(&row[8..]).into(), length)?,
    };
    Ok(Some(Field { tag, kind, count, bytes }))
}

/// Bytes of a value of a type.
fn size_of(kind: u16) -> Option<u64> {
    match kind {
        1 | 2 | 6 | 7 => Some(1),
        3 | 8 => Some(2),
        4 | 9 | 11 => Some(4),
        5 | 10 | 12 => Some(8),
        _ => None,
    }
}

impl Page {
    fn shape(&self) -> Option<Shape> {
        Some(Shape { width: self.number(WIDTH)?, height: self.number(HEIGHT)? })
    }

    fn number(&self, tag: u16) -> Option<u32> {
        self.numbers(tag).and_then(|numbers| numbers.first().copied())
    }

    fn numbers(&self, tag: u16) -> Option<Vec<u32>> {
        let field = self.fields.iter().find(|field| field.tag == tag)?;
        match field.kind {
            SHORT => Some(field.bytes.chunks_exact(2).map(|bytes| self.order.u16(bytes).into()).collect()),
            LONG => Some(field.bytes.chunks_exact(4).map(|bytes| self.order.u32(bytes)).collect()),
            _ => None,
        }
    }

    /// The page as a file of its own.
    pub(super) fn file(&self, source: &mut dyn Source) -> Result<Vec<u8>, Reason> {
        let (offsets, lengths) = match self.numbers(TILE_OFFSETS) {
            Some(offsets) => ((TILE_OFFSETS, offsets), self.numbers(TILE_LENGTHS)),
            None => ((STRIP_OFFSETS, self.numbers(STRIP_OFFSETS).ok_or(Reason::Damaged)?), self.numbers(STRIP_LENGTHS)),
        };
        let (tag, offsets) = offsets;
        let lengths = lengths.filter(|lengths| lengths.len() == offsets.len()).ok_or(Reason::Damaged)?;
        if lengths.iter().map(|length| u64::from(*length)).sum::<u64>() > DATA_BYTES_MAX {
            return Err(Reason::NotRecognised);
        }
        let mut data = Vec::new();
        for (offset, length) in offsets.into_iter().zip(lengths) {
            data.push(read(source, offset.into(), length.into())?);
        }
        Ok(written(self.order, self.fields.clone(), tag, &data))
    }
}

/// The data of a fax, as PDF has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fax {
    pub(super) width: u32,
    pub(super) height: u32,
    /// Negative: group 4; 0: group 3 of one dimension; positive: of two.
    pub(super) dimensions: i32,
    /// Rows of group 3 begin at bytes.
    pub(super) is_aligned: bool,
    /// True if the coded white is black.
    pub(super) is_inverted: bool,
}

/// A file around the data of a fax.
pub(super) fn of_fax(fax: &Fax, data: &[u8]) -> Vec<u8> {
    let order = Order::Little;
    let long = |tag, number: u32| Field { tag, kind: LONG, count: 1, bytes: order.of_u32(number).to_vec() };
    let (compression, options) = match fax.dimensions {
        ..0 => (4, long(T6_OPTIONS, 0)),
        dimensions => (3, long(T4_OPTIONS, u32::from(dimensions > 0) | u32::from(fax.is_aligned) << 2)),
    };
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    let fields = vec![
        long(WIDTH, fax.width),
        long(HEIGHT, fax.height),
        long(BITS, 1),
        long(COMPRESSION, compression),
        long(PHOTOMETRIC, u32::from(fax.is_inverted)),
        long(STRIP_OFFSETS, 0),
        long(SAMPLES, 1),
        long(ROWS_PER_STRIP, fax.height),
        long(STRIP_LENGTHS, length),
        options,
    ];
    written(order, fields, STRIP_OFFSETS, &[data])
}

/// A file of one page: header, data, values, fields. `offsets_tag` is the field with the places of the data.
fn written(order: Order, mut fields: Vec<Field>, offsets_tag: u16, data: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut file = if order == Order::Little { b"II*\0\0\0\0\0".to_vec() } else { b"MM\0*\0\0\0\0".to_vec() };
    let place = |file: &Vec<u8>| u32::try_from(file.len()).unwrap_or(u32::MAX);
    let mut offsets = Vec::new();
    for part in data {
        offsets.extend(order.of_u32(place(&file)));
        file.extend_from_slice(part.as_ref());
    }
    let count = u32::try_from(data.len()).unwrap_or(u32::MAX);
    fields.retain(|field| field.tag != offsets_tag);
    fields.push(Field { tag: offsets_tag, kind: LONG, count, bytes: offsets });
    fields.sort_by_key(|field| field.tag);
    let mut rows = Vec::new();
    for Field { tag, kind, count, bytes } in &fields {
        rows.extend(order.of_u16(*tag));
        rows.extend(order.of_u16(*kind));
        rows.extend(order.of_u32(*count));
        if bytes.len() <= 4 {
            rows.extend(bytes);
            rows.resize(rows.len().next_multiple_of(4), 0);
        } else {
            // Values begin at even places.
            file.resize(file.len().next_multiple_of(2), 0);
            rows.extend(order.of_u32(place(&file)));
            file.extend_from_slice(bytes);
        }
    }
    file.resize(file.len().next_multiple_of(2), 0);
    let fields_at = order.of_u32(place(&file));
    file[4..8].copy_from_slice(&fields_at);
    file.extend(order.of_u16(u16::try_from(fields.len()).unwrap_or(u16::MAX)));
    file.extend(rows);
    file.extend([0; 4]);
    file
}

/// Bytes at a place; the file is damaged if it ends before.
fn read(source: &mut dyn Source, at: u64, length: u64) -> Result<Vec<u8>, Reason> {
    source.seek(SeekFrom::Start(at)).map_err(broken)?;
    let mut bytes = Vec::new();
    source.take(length).read_to_end(&mut bytes).map_err(broken)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(Reason::Damaged) }
}

#[cfg(test)]
mod tests;
