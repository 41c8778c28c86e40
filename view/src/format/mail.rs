//! Mail: subject and people of the header, then the body as plain text, or the visible text of its HTML if it has no
//! plain text. Attachments are documents of their own.
//!
//! A crate reads the fields of headers; parts and their encodings are read here, as forgivingly as mail clients read them.

mod part;
mod transfer;

use std::borrow::Cow;
use std::io::{Cursor, Read as _, SeekFrom};

use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::{Address, Message};

use self::part::{Contents, Part};
use self::transfer::uuencoded;
use crate::charset::Encoding;
use crate::format::embedding::VisitEmbedded;
use crate::format::{html, plain};
use crate::kind::mail::{is_mailbox_line, is_undated_mailbox_line, line, message};
use crate::outcome::Reason;
use crate::source::Source;
use crate::stop::broken;
use crate::text::Text;

/// Size of a message at most: it is in memory at once, with its parts.
pub(super) const MESSAGE_BYTES_MAX: u64 = 96 << 20;

/// Reads a message.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let raw = read(source)?;
    let message = Part::of(&raw);
    let header = message.header().ok_or(Reason::Damaged)?;
    text.push(header.subject().unwrap_or_default())?;
    text.end_paragraph()?;
    give_people_of(header, text)?;
    for part in &Contents::of(message)?.bodies {
        give_body(part, text)?;
    }
    text.end_paragraph()
}

/// Reads the people that a header names. False if it names none.
pub(super) fn give_people(header: &[u8], text: &mut dyn Text) -> Result<bool, Reason> {
    Part::of(header).header().map_or(Ok(false), |header| give_people_of(header, text))
}

fn give_people_of(header: &Message<'_>, text: &mut dyn Text) -> Result<bool, Reason> {
    let mut is_any = false;
    for people in [header.from(), header.to(), header.cc()].into_iter().flatten() {
        give(people, text)?;
        is_any = true;
    }
    Ok(is_any)
}

/// Visits the attachments of a message, and the files that stand in its text.
pub(super) fn members(source: &mut dyn Source, each: &mut VisitEmbedded<'_>) -> Result<(), Reason> {
    let raw = read(source)?;
    let contents = Contents::of(Part::of(&raw))?;
    for (at, part) in contents.attachments.iter().enumerate() {
        let name = match part.name() {
            Some(name) => Cow::Borrowed(name),
            None if part.is_message() => format!("{}.eml", at + 1).into(),
            None => (at + 1).to_string().into(),
        };
        each(&name, &mut Cursor::new(&*part.content()))?;
    }
    for part in contents.bodies.iter().filter(|part| !part.is_html()) {
        for file in uuencoded(&part.content()).files {
            each(&file.name, &mut Cursor::new(file.bytes))?;
        }
    }
    Ok(())
}

/// The bytes of a message, from its header on.
fn read(source: &mut dyn Source) -> Result<Vec<u8>, Reason> {
    if source.length_bytes() > MESSAGE_BYTES_MAX {
        return Err(Reason::TooLarge);
    }
    source.seek(SeekFrom::Start(0)).map_err(broken)?;
    let mut raw = Vec::new();
    source.take(MESSAGE_BYTES_MAX).read_to_end(&mut raw).map_err(broken)?;
    let mut start = message(&raw);
    if let Some((first, rest)) = line(start)
        && (is_mailbox_line(first) || is_undated_mailbox_line(first))
    {
        start = rest;
    }
    if !start.contains(&b'\n') {
        // The line ends of old Macs.
        return Ok(start.iter().map(|&byte| if byte == b'\r' { b'\n' } else { byte }).collect());
    }
    Ok(if start.len() == raw.len() { raw } else { start.to_vec() })
}

/// The people of a field, as it names them.
fn give(people: &Address<'_>, text: &mut dyn Text) -> Result<(), Reason> {
    for person in people.iter() {
        text.push(person.name.as_deref().unwrap_or_default())?;
        text.push(" ")?;
        text.push(person.address.as_deref().unwrap_or_default())?;
        text.push(" ")?;
    }
    text.end_paragraph()
}

fn give_body(part: &Part<'_>, text: &mut dyn Text) -> Result<(), Reason> {
    let bytes = part.content();
    if part.is_html() {
        html::extract_str(&decoded(part, &bytes), text)?;
        return text.end_paragraph();
    }
    let words = uuencoded(&bytes).text;
    let words = decoded(part, &words);
    match part.attribute("delsp").is_some_and(|value| value.eq_ignore_ascii_case("yes")) {
        // Its lines are broken anywhere, each with a space that is no part of the text (RFC 3676).
        true => plain::extract_str(&words.replace(" \r\n", "").replace(" \n", ""), text)?,
        false => plain::extract_str(&words, text)?,
    }
    text.end_paragraph()
}

/// The text of a body. Programs name ASCII and UTF-8 for what is neither: then the bytes decide.
fn decoded<'b>(part: &Part<'_>, bytes: &'b [u8]) -> Cow<'b, str> {
    let label = part.attribute("charset").unwrap_or_default().trim();
    let labelled = encoding_rs::Encoding::for_label_no_replacement(label.as_bytes());
    let is_ascii = label.eq_ignore_ascii_case("us-ascii") || label.eq_ignore_ascii_case("ascii");
    match labelled {
        Some(encoding) if encoding != encoding_rs::UTF_8 && !is_ascii => encoding.decode(bytes).0,
        None if label.eq_ignore_ascii_case("hz-gb-2312") => hz(bytes).into(),
        None if label.to_ascii_lowercase().ends_with("utf-7") => charset("utf-7", bytes),
        None if charset_decoder(label.as_bytes()).is_some() => charset(label, bytes),
        _ => Encoding::of_bytes(bytes).decode(bytes).0,
    }
}

/// One of the charsets that the web does not know.
fn charset(label: &str, bytes: &[u8]) -> Cow<'static, str> {
    charset_decoder(label.as_bytes()).map(|decoder| decoder(bytes)).unwrap_or_default().into()
}

/// HZ (RFC 1843): GB 2312 in seven bits, between `~{` and `~}`.
fn hz(bytes: &[u8]) -> String {
    let (mut eight, mut is_chinese, mut at) = (Vec::with_capacity(bytes.len()), false, 0);
    while let Some(&byte) = bytes.get(at) {
        match (byte, bytes.get(at + 1)) {
            (b'~', Some(b'{')) => is_chinese = true,
            (b'~', Some(b'}')) => is_chinese = false,
            (b'~', Some(b'~')) if !is_chinese => eight.push(b'~'),
            (b'~', Some(b'\n')) => {}
            _ => {
                eight.push(if is_chinese && byte.is_ascii_graphic() { byte | 0x80 } else { byte });
                at += 1;
                continue;
            }
        }
        at += 2;
    }
    encoding_rs::GBK.decode(&eight).0.into_owned()
}

#[cfg(test)]
mod tests;
