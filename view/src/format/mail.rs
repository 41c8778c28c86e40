//! Mail: subject and people of the header, then the body as plain text, or the visible text of its HTML if it has no
//! plain text. Attachments are documents of their own.

use std::borrow::Cow;
use std::io::{Cursor, Read as _, SeekFrom};

use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::{Address, Encoding as Transfer, Message, MessageParser, MessagePart, MimeHeaders as _, PartType};

use crate::charset::Encoding;
use crate::format::embedding::VisitEmbedded;
use crate::format::{html, plain};
use crate::outcome::Reason;
use crate::source::Source;
use crate::stop::broken;
use crate::text::Text;

/// Size of a message at most: it is in memory at once, with its parts.
pub(super) const MESSAGE_BYTES_MAX: u64 = 96 << 20;
/// Messages within messages that one may have.
const MESSAGES_MAX: usize = 1000;

/// Reads a message.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let raw = read(source)?;
    let message = parsed(&raw)?;
    text.push(message.subject().unwrap_or_default())?;
    text.end_paragraph()?;
    for people in [message.from(), message.to(), message.cc()].into_iter().flatten() {
        give(people, text)?;
    }
    for part in message.text_bodies() {
        give_body(&message, part, text)?;
    }
    text.end_paragraph()
}

/// Visits the attachments of a message.
pub(super) fn members(source: &mut dyn Source, each: &mut VisitEmbedded<'_>) -> Result<(), Reason> {
    let raw = read(source)?;
    let message = parsed(&raw)?;
    for (at, part) in message.attachments().enumerate() {
        let name = match part.attachment_name().filter(|name| !name.is_empty()) {
            Some(name) => Cow::Borrowed(name),
            None if part.is_message() => format!("{}.eml", at + 1).into(),
            None => (at + 1).to_string().into(),
        };
        each(&name, &mut Cursor::new(&*content(&message, part)))?;
    }
    Ok(())
}

fn read(source: &mut dyn Source) -> Result<Vec<u8>, Reason> {
    if source.length_bytes() > MESSAGE_BYTES_MAX {
        return Err(Reason::TooLarge);
    }
    source.seek(SeekFrom::Start(0)).map_err(broken)?;
    let mut raw = Vec::new();
    source.take(MESSAGE_BYTES_MAX).read_to_end(&mut raw).map_err(broken)?;
    Ok(raw)
}

fn parsed(raw: &[u8]) -> Result<Message<'_>, Reason> {
    // Messages are nested as deep as they are named, and are dropped recursively.
    let named = memchr::memchr_iter(b'/', raw)
        .filter(|&at| raw[..at].last_chunk::<7>().is_some_and(|word| word.eq_ignore_ascii_case(b"message")));
    if named.take(MESSAGES_MAX + 1).count() > MESSAGES_MAX {
        return Err(Reason::TooDeep);
    }
    // The parser gives up some damaged messages by a panic. In a mailbox or an archive, the others are read all the same.
    let message = std::panic::catch_unwind(|| MessageParser::default().parse(raw)).unwrap_or_default();
    message.filter(|message| !message.parts.is_empty()).ok_or(Reason::Damaged)
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

fn give_body(message: &Message<'_>, part: &MessagePart<'_>, text: &mut dyn Text) -> Result<(), Reason> {
    let bytes = content(message, part);
    let label = part.content_type().and_then(|kind| kind.attribute("charset"));
    let encoding = label.and_then(|label| encoding_rs::Encoding::for_label(label.as_bytes()));
    let (body, _, _) = encoding.unwrap_or_else(|| Encoding::of_bytes(&bytes)).decode(&bytes);
    match part.body {
        PartType::Html(_) => html::extract_str(&body, text)?,
        _ => plain::extract_str(&body, text)?,
    }
    text.end_paragraph()
}

/// The bytes of a part, as they were before they were put into mail.
fn content<'m>(message: &'m Message<'_>, part: &'m MessagePart<'_>) -> Cow<'m, [u8]> {
    let written = || {
        let offset = |offset: u32| usize::try_from(offset).unwrap_or(usize::MAX);
        let range = offset(part.raw_body_offset())..offset(part.raw_end_offset());
        message.raw_message.get(range).unwrap_or_default()
    };
    match (&part.body, part.encoding) {
        (PartType::Binary(bytes) | PartType::InlineBinary(bytes), _) => Cow::Borrowed(bytes),
        (PartType::Message(inner), Transfer::Base64 | Transfer::QuotedPrintable) => Cow::Borrowed(&inner.raw_message),
        (_, Transfer::None) => Cow::Borrowed(written()),
        (_, Transfer::Base64) => base64_decode(written()).map_or_else(|| Cow::Borrowed(written()), Cow::Owned),
        (_, Transfer::QuotedPrintable) => {
            quoted_printable_decode(written()).map_or_else(|| Cow::Borrowed(written()), Cow::Owned)
        }
    }
}

#[cfg(test)]
mod tests;
