//! Documents of Word of 1993 to 2003: the body, notes, headers, comments and boxes.
//!
//! The text is in pieces, which a table puts in order ([MS-DOC] 2.4.1). Deleted and hidden text, and the instructions of
//! fields, are left out, as of the documents that newer programs write.

mod characters;

use encoding_rs::{Encoding, MACINTOSH, WINDOWS_1252};

use self::characters::Visibility;
use crate::charset;
use crate::format::compound::{Compound, place_at, u16_at, u32_at, wide_text};
use crate::outcome::Reason;
use crate::source::Source;
use crate::text::Text;

/// The stream of a document.
const DOCUMENT: &str = "/WordDocument";
/// The first number of a document, and the first version that is written in pieces as described.
const IDENTIFIER: u16 = 0xA5EC;
const VERSION_MIN: u16 = 0x00C1;
/// The same of Word 6 and of Word 95, in all languages.
const OLD_IDENTIFIERS: [u16; 5] = [0xA5DC, 0xA5EC, 0xA697, 0xA698, 0xA699];
const OLD_VERSION_MIN: u16 = 101;
const OLD_TEXT_AT: usize = 0x18;
const OLD_LENGTHS_AT: usize = 0x34;
const OLD_PIECES_AT: usize = 0x0160;
/// Places in the header of a document.
const VERSION_AT: usize = 2;
const FLAGS_AT: usize = 10;
const CHARACTER_SET_AT: usize = 20;
const CHARACTER_SET_OF_MAC: u16 = 256;
const LENGTHS_AT: usize = 76;
const PIECES_AT: usize = 0x01A2;
const CHARACTER_PAGES_AT: usize = 0x00FA;
/// Flags.
const IS_IN_PIECES: u16 = 0x0004;
const IS_ENCRYPTED: u16 = 0x0100;
const IS_WIDE: u16 = 0x1000;
const USES_TABLE_1: u16 = 0x0200;
/// A piece has one byte for each character.
const IS_NARROW: u32 = 0x4000_0000;
/// Stories of a document in the order in which they are stored: the body, footnotes, headers, macros, comments, endnotes,
/// boxes, boxes in headers.
const STORIES: usize = 8;
/// The order in which they are read; macros are no text.
const ORDER: [usize; 7] = [0, 6, 1, 5, 2, 7, 4];

/// Reads a document.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let mut file = Compound::open(source)?;
    let document = file.stream(DOCUMENT)?.ok_or(Reason::Damaged)?;
    let number = |at| u16_at(&document, at).ok_or(Reason::Damaged);
    let identifier = number(0)?;
    let version = number(VERSION_AT)?;
    let flags = number(FLAGS_AT)?;
    if flags & IS_ENCRYPTED != 0 {
        return Err(Reason::Encrypted);
    }
    match (identifier, version) {
        (IDENTIFIER, VERSION_MIN..) => {}
        (old, OLD_VERSION_MIN..VERSION_MIN) if OLD_IDENTIFIERS.contains(&old) => {
            extract_old(&document, flags, text)?;
            return file.finish();
        }
        _ => return Err(Reason::Unsupported),
    }
    let table = if flags & USES_TABLE_1 != 0 { "/1Table" } else { "/0Table" };
    let table = file.stream(table)?.ok_or(Reason::Damaged)?;
    let pieces = part(&document, &table, PIECES_AT).and_then(pieces).ok_or(Reason::Damaged)?;
    let hidden = part(&document, &table, CHARACTER_PAGES_AT).map(|pages| Visibility::read(&document, pages));
    // Whatever system wrote it ([MS-DOC] 2.4.1).
    let encoding = WINDOWS_1252;
    let document = Document { bytes: &document, pieces, hidden: hidden.unwrap_or_default(), encoding };
    document.stories(LENGTHS_AT, text)?;
    file.finish()
}

/// True if characters of one byte of an old document are those of a Mac.
fn is_of_mac(document: &[u8]) -> bool {
    u16_at(document, CHARACTER_SET_AT) == Some(CHARACTER_SET_OF_MAC)
}

/// Reads a document of Word 6 or of Word 95: its characters have one byte, in the code page of its author, or two, where it is of Eastern Asia.
fn extract_old(document: &[u8], flags: u16, text: &mut dyn Text) -> Result<(), Reason> {
    let start = place_at(document, OLD_TEXT_AT).ok_or(Reason::Damaged)?;
    let end = place_at(document, OLD_TEXT_AT + 4).ok_or(Reason::Damaged)?.clamp(start, document.len().max(start));
    let is_narrow = flags & IS_WIDE == 0;
    let characters = (end - start) / if is_narrow { 1 } else { 2 };
    let whole = || vec![Piece { start: 0, end: characters, at: start, is_narrow }];
    let pieces = match flags & IS_IN_PIECES {
        0 => whole(),
        // A place is one of bytes, whatever its highest bits.
        _ => part(document, document, OLD_PIECES_AT).and_then(pieces).map_or_else(whole, |pieces| {
            let old =
                |piece: Piece| Piece { at: if piece.is_narrow { 2 * piece.at } else { piece.at }, is_narrow, ..piece };
            pieces.into_iter().map(old).collect()
        }),
    };
    let encoding = match is_of_mac(document) {
        true => MACINTOSH,
        false => charset::Encoding::of_bytes(document.get(start..end).unwrap_or_default()),
    };
    Document { bytes: document, pieces, hidden: Visibility::default(), encoding }.stories(OLD_LENGTHS_AT, text)
}

impl Document<'_> {
    /// Reads all stories. Their lengths are in the header.
    fn stories(&self, lengths_at: usize, text: &mut dyn Text) -> Result<(), Reason> {
        let document = self;
        let mut starts = [0; STORIES + 1];
        for story in 0..STORIES {
            let length = place_at(document.bytes, lengths_at + 4 * story).ok_or(Reason::Damaged)?;
            starts[story + 1] = usize::saturating_add(starts[story], length);
        }
        let mut is_complete = true;
        for story in ORDER {
            is_complete &= document.story(starts[story], starts[story + 1], text)?;
        }
        if is_complete { Ok(()) } else { Err(Reason::Damaged) }
    }
}

/// A part of the table stream: its place and length are in the header of the document.
fn part<'t>(document: &[u8], table: &'t [u8], at: usize) -> Option<&'t [u8]> {
    let (start, length) = (place_at(document, at)?, place_at(document, at + 4)?);
    table.get(start..start.checked_add(length)?).filter(|part| !part.is_empty())
}

/// Characters that stand together in the file.
#[derive(Debug, PartialEq)]
struct Piece {
    /// The number of its first character in the text, and of the first behind it.
    start: usize,
    end: usize,
    /// Its place in the document.
    at: usize,
    is_narrow: bool,
}

impl Piece {
    fn character_bytes(&self) -> usize {
        if self.is_narrow { 1 } else { 2 }
    }
}

/// The table of pieces, which comes behind changes that a program has not merged yet.
fn pieces(mut table: &[u8]) -> Option<Vec<Piece>> {
    while let [1, rest @ ..] = table {
        table = rest.get(2 + usize::from(u16_at(rest, 0)?)..)?;
    }
    let [2, table @ ..] = table else { return None };
    let table = table.get(4..)?;
    let count = table.len().checked_sub(4)? / 12;
    let piece = |number: usize| {
        let (start, end) = (place_at(table, 4 * number)?, place_at(table, 4 * number + 4)?);
        let at = u32_at(table, 4 * (count + 1) + 8 * number + 2)?;
        let is_narrow = at & IS_NARROW != 0;
        let place = usize::try_from(at & !IS_NARROW).ok()?;
        Some(Piece { start, end, at: if is_narrow { place / 2 } else { place }, is_narrow })
    };
    (0..count).map(piece).collect()
}

struct Document<'d> {
    bytes: &'d [u8],
    pieces: Vec<Piece>,
    hidden: Visibility,
    /// Of characters of one byte.
    encoding: &'static Encoding,
}

impl Document<'_> {
    /// Reads the characters from one to another. False if some of them are not in the file.
    fn story(&self, start: usize, end: usize, text: &mut dyn Text) -> Result<bool, Reason> {
        let (mut fields, mut is_complete) = (Fields::default(), true);
        for piece in self.pieces.iter().filter(|piece| piece.start < end && piece.end > start) {
            let width = piece.character_bytes();
            let (first, last) = (piece.start.max(start), piece.end.min(end));
            let from = piece.at.saturating_add((first - piece.start).saturating_mul(width));
            let to = from.saturating_add(last.saturating_sub(first).saturating_mul(width));
            is_complete &= to <= self.bytes.len();
            let to = to.min(self.bytes.len());
            for shown in self.hidden.shown_between(from.min(to), to) {
                let bytes = self.bytes.get(shown).unwrap_or_default();
                let part = match piece.is_narrow {
                    true => self.encoding.decode_without_bom_handling(bytes).0.into_owned(),
                    false => wide_text(bytes),
                };
                fields.give(&part, text)?;
            }
        }
        text.end_paragraph()?;
        Ok(is_complete)
    }
}

/// The fields that are open: the instructions of a field are left out, its result is read.
#[derive(Default)]
struct Fields {
    /// For each, if its result has begun.
    open: Vec<bool>,
}

impl Fields {
    fn give(&mut self, part: &str, text: &mut dyn Text) -> Result<(), Reason> {
        let is_special = |letter: char| letter < ' ';
        let mut rest = part;
        while let Some(at) = rest.find(is_special) {
            let (before, special) = rest.split_at(at);
            self.push(before, text)?;
            match special.as_bytes().first() {
                Some(0x13) => self.open.push(false),
                Some(0x14) => self.open.iter_mut().next_back().into_iter().for_each(|open| *open = true),
                Some(0x15) => drop(self.open.pop()),
                Some(0x07 | 0x0C | 0x0D) if self.is_shown() => text.end_paragraph()?,
                Some(0x09 | 0x0A | 0x0B | 0x0E) => self.push(" ", text)?,
                Some(0x1E) => self.push("-", text)?,
                _ => {}
            }
            rest = special.get(1..).unwrap_or_default();
        }
        self.push(rest, text)
    }

    fn is_shown(&self) -> bool {
        self.open.iter().all(|has_result| *has_result)
    }

    fn push(&self, part: &str, text: &mut dyn Text) -> Result<(), Reason> {
        if self.is_shown() && !part.is_empty() { text.push(part) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;
