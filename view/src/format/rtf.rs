//! RTF, read by a tokenizer of our own: the format is small, and its text needs only a part of it.
//!
//! Left out are tables of fonts and styles, pictures, instructions of fields, hidden or deleted text, and the
//! numbers of lists. Notes come after the paragraph in which they are set.

mod group;

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read, SeekFrom};

pub(super) use self::group::encoding_of_page;
use self::group::{Group, Role, encoding_of_charset, role};
use crate::format::paragraphs::Paragraphs;
use crate::outcome::Reason;
use crate::source::Source;
use crate::stop::broken;
use crate::text::Text;

/// Depth of groups within each other at most.
const DEPTH_MAX: usize = 10_000;
/// Fonts that are known by number at most.
const FONTS_MAX: usize = 10_000;

/// Reads a document.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    source.seek(SeekFrom::Start(0)).map_err(broken)?;
    let mut document = Document::new(text);
    let mut input = Input(BufReader::with_capacity(64 << 10, source));
    while let Some(byte) = input.byte()? {
        match byte {
            b'{' => document.begin_group()?,
            b'}' => {
                document.end_group()?;
                if document.groups.is_empty() {
                    return document.finish();
                }
            }
            b'\\' => {
                let is_first = std::mem::take(&mut document.is_first);
                document.control(&mut input, is_first)?;
            }
            b'\r' | b'\n' => {}
            // A mark of UTF-8.
            _ if document.groups.is_empty() => {}
            _ => {
                document.is_first = false;
                document.byte(byte)?;
            }
        }
    }
    // What comes before the cut is read.
    while !document.groups.is_empty() {
        document.end_group()?;
    }
    document.finish()?;
    Err(Reason::Damaged)
}

/// The bytes of a document.
struct Input<R>(BufReader<R>);

impl<R: Read> Input<R> {
    fn peek(&mut self) -> Result<Option<u8>, Reason> {
        self.0.fill_buf().map(|buffer| buffer.first().copied()).map_err(broken)
    }

    fn byte(&mut self) -> Result<Option<u8>, Reason> {
        let byte = self.peek()?;
        if byte.is_some() {
            self.0.consume(1);
        }
        Ok(byte)
    }

    /// A control word and its number. A space behind it belongs to it.
    fn word(&mut self, word: &mut Vec<u8>) -> Result<Option<i32>, Reason> {
        while let Some(byte) = self.peek()?.filter(u8::is_ascii_alphabetic) {
            if word.len() < 32 {
                word.push(byte);
            }
            self.0.consume(1);
        }
        let negative = self.peek()? == Some(b'-');
        if negative {
            self.0.consume(1);
        }
        let mut number: Option<i32> = None;
        while let Some(byte) = self.peek()?.filter(u8::is_ascii_digit) {
            number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(i32::from(byte - b'0')));
            self.0.consume(1);
        }
        if self.peek()? == Some(b' ') {
            self.0.consume(1);
        }
        Ok(number.map(|number| if negative { -number } else { number }))
    }

    fn hexadecimal(&mut self) -> Result<Option<u8>, Reason> {
        let mut value = 0;
        for _ in 0..2 {
            let digit = self.peek()?.and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit.and_then(|digit| u8::try_from(digit).ok()) else {
                return Ok(None);
            };
            value = value * 16 + digit;
            self.0.consume(1);
        }
        Ok(Some(value))
    }

    fn skip(&mut self, count: u64) -> Result<(), Reason> {
        std::io::copy(&mut self.0.by_ref().take(count), &mut std::io::sink()).map(|_| ()).map_err(broken)
    }
}

/// The state of reading.
struct Document<'t> {
    paragraphs: Paragraphs<'t>,
    groups: Vec<Group>,
    /// Bytes in the encoding of the present font.
    bytes: Vec<u8>,
    /// The first half of a character of two.
    high: Option<u16>,
    /// Number of following characters that replace one that has been read.
    stand_ins: u32,
    encoding: &'static encoding_rs::Encoding,
    fonts: HashMap<i32, &'static encoding_rs::Encoding>,
    /// The font that the table of fonts is about.
    font: i32,
    /// Nothing of the present group has been read.
    is_first: bool,
}

impl<'t> Document<'t> {
    fn new(text: &'t mut dyn Text) -> Document<'t> {
        Document {
            paragraphs: Paragraphs::new(text),
            groups: Vec::new(),
            bytes: Vec::new(),
            high: None,
            stand_ins: 0,
            encoding: encoding_rs::WINDOWS_1252,
            fonts: HashMap::new(),
            font: 0,
            is_first: false,
        }
    }

    fn group(&mut self) -> Result<&mut Group, Reason> {
        self.groups.last_mut().ok_or(Reason::Damaged)
    }

    fn begin_group(&mut self) -> Result<(), Reason> {
        self.flush()?;
        self.stand_ins = 0;
        if self.groups.len() == DEPTH_MAX {
            return Err(Reason::TooDeep);
        }
        let group = self.groups.last().map_or_else(Group::default, Group::inner);
        self.groups.push(group);
        self.is_first = true;
        Ok(())
    }

    fn end_group(&mut self) -> Result<(), Reason> {
        self.flush()?;
        self.stand_ins = 0;
        let group = self.groups.pop().ok_or(Reason::Damaged)?;
        match group.role {
            Some(Role::Aside) => self.paragraphs.end_aside(),
            Some(Role::Apart) => self.paragraphs.end_paragraph()?,
            _ => {}
        }
        Ok(())
    }

    fn finish(mut self) -> Result<(), Reason> {
        self.flush()?;
        self.paragraphs.end_paragraph()
    }

    /// A byte of text.
    fn byte(&mut self, byte: u8) -> Result<(), Reason> {
        if self.stand_ins > 0 {
            self.stand_ins -= 1;
        } else if self.group()?.is_shown() {
            self.bytes.push(byte);
            if self.bytes.len() >= 4096 && byte.is_ascii() {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// The text of a control word.
    fn text(&mut self, text: &str) -> Result<(), Reason> {
        if self.stand_ins > 0 {
            self.stand_ins -= 1;
            return Ok(());
        }
        self.flush()?;
        if self.group()?.is_shown() { self.paragraphs.push(text) } else { Ok(()) }
    }

    fn end_paragraph(&mut self) -> Result<(), Reason> {
        self.flush()?;
        if self.group()?.skipped { Ok(()) } else { self.paragraphs.end_paragraph() }
    }

    fn flush(&mut self) -> Result<(), Reason> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        self.high = None;
        let font = self.groups.last().and_then(|group| group.font);
        let encoding = font.and_then(|font| self.fonts.get(&font)).copied().unwrap_or(self.encoding);
        let (text, _) = encoding.decode_without_bom_handling(&self.bytes);
        self.paragraphs.push(&text)?;
        self.bytes.clear();
        Ok(())
    }

    /// A control word or symbol, perhaps the first of its group.
    fn control<R: Read>(&mut self, input: &mut Input<R>, is_first: bool) -> Result<(), Reason> {
        let Some(byte) = input.peek()? else {
            return Err(Reason::Damaged);
        };
        if byte.is_ascii_alphabetic() {
            let mut word = Vec::new();
            let number = input.word(&mut word)?;
            if word == b"bin" {
                return input.skip(u64::try_from(number.unwrap_or(0)).unwrap_or(0));
            }
            return self.word(&word, number);
        }
        input.byte()?;
        match byte {
            b'\'' => input.hexadecimal()?.map_or(Ok(()), |byte| self.byte(byte)),
            b'\\' | b'{' | b'}' => self.byte(byte),
            b'~' => self.text(" "),
            b'_' => self.text("-"),
            b'\r' | b'\n' => self.end_paragraph(),
            // Within a group it means nothing.
            b'*' => {
                self.group()?.ignorable |= is_first;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn word(&mut self, word: &[u8], number: Option<i32>) -> Result<(), Reason> {
        match word {
            b"u" => return self.unicode(number.unwrap_or(0)),
            b"uc" => self.group()?.stand_ins = u32::try_from(number.unwrap_or(1)).unwrap_or(0),
            b"par" | b"sect" | b"page" | b"column" | b"cell" | b"nestcell" | b"row" | b"nestrow" => {
                return self.end_paragraph();
            }
            b"tab" | b"line" | b"emspace" | b"enspace" | b"qmspace" => return self.text(" "),
            b"emdash" => return self.text("\u{2014}"),
            b"endash" => return self.text("\u{2013}"),
            b"lquote" => return self.text("\u{2018}"),
            b"rquote" => return self.text("\u{2019}"),
            b"ldblquote" => return self.text("\u{201C}"),
            b"rdblquote" => return self.text("\u{201D}"),
            b"bullet" => return self.text("\u{2022}"),
            b"ansicpg" => self.encoding = number.and_then(encoding_of_page).unwrap_or(self.encoding),
            b"mac" => self.encoding = encoding_rs::MACINTOSH,
            b"f" | b"af" if self.group()?.role == Some(Role::Fonts) => self.font = number.unwrap_or(0),
            b"f" => {
                self.flush()?;
                self.group()?.font = number;
            }
            b"fcharset" | b"cpg" if self.group()?.role == Some(Role::Fonts) => self.set_font(word, number.unwrap_or(0)),
            b"v" | b"deleted" => {
                self.flush()?;
                self.group()?.hidden = number != Some(0);
            }
            b"plain" => {
                self.flush()?;
                self.group()?.hidden = false;
            }
            _ => return self.destination(word),
        }
        Ok(())
    }

    fn set_font(&mut self, word: &[u8], number: i32) {
        let encoding = if word == b"cpg" { encoding_of_page(number) } else { encoding_of_charset(number) };
        if let Some(encoding) = encoding
            && self.fonts.len() < FONTS_MAX
        {
            self.fonts.insert(self.font, encoding);
        }
    }

    /// The purpose of a group.
    fn destination(&mut self, word: &[u8]) -> Result<(), Reason> {
        let role = role(word);
        self.flush()?;
        let group = self.group()?;
        let ignorable = std::mem::take(&mut group.ignorable);
        match role {
            Some(Role::Skipped | Role::Fonts) => group.skipped = true,
            Some(Role::Unicode) => group.skipped = group.skipped_around,
            None => group.skipped |= ignorable,
            Some(Role::Aside | Role::Apart | Role::Alternatives | Role::Transparent) => {}
        }
        if group.skipped && role != Some(Role::Fonts) {
            return Ok(());
        }
        match role {
            Some(Role::Aside) if group.role.is_none() => {
                group.role = role;
                self.paragraphs.begin_aside();
            }
            Some(Role::Apart) if group.role.is_none() => {
                group.role = role;
                self.paragraphs.end_paragraph()?;
            }
            Some(Role::Alternatives | Role::Fonts) => group.role = role,
            _ => {}
        }
        Ok(())
    }

    /// A character by its number in UTF-16, which is written with a sign.
    fn unicode(&mut self, number: i32) -> Result<(), Reason> {
        self.flush_before_unicode()?;
        let stand_ins = self.group()?.stand_ins;
        let unit = u16::try_from(number & 0xFFFF).unwrap_or_default();
        let high = self.high.take();
        if (0xD800..0xDC00).contains(&unit) {
            self.high = Some(unit);
        } else if self.group()?.is_shown() {
            let units = high.into_iter().filter(|_| (0xDC00..0xE000).contains(&unit)).chain([unit]);
            let text: String = char::decode_utf16(units).filter_map(Result::ok).collect();
            self.paragraphs.push(&text)?;
        }
        self.stand_ins = stand_ins;
        Ok(())
    }

    fn flush_before_unicode(&mut self) -> Result<(), Reason> {
        if self.bytes.is_empty() { Ok(()) } else { self.flush() }
    }
}

#[cfg(test)]
mod tests;
