//! The parts of a message (RFC 2046): where each begins and ends, and which of them a reader sees as its body.
//!
//! Parts are split as mail clients do: a part without a closing boundary ends where the one around it ends, and the last
//! one with the message.

use std::borrow::Cow;

use mail_parser::{Message, MessageParser, MessagePart, MimeHeaders as _};

use super::transfer::Transfer;
use crate::charset::Encoding;
use crate::kind::mail::{Header, field_name, line};
use crate::outcome::Reason;

/// Depth of parts within each other at most.
const DEPTH_MAX: u32 = 100;
/// Parts of a message at most.
const PARTS_MAX: usize = 100_000;

/// A message or a part of one: its header, and its body as it is written.
#[derive(Debug)]
pub(super) struct Part<'m> {
    header: Message<'static>,
    pub(super) body: &'m [u8],
    is_digested: bool,
}

/// What a part is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Content {
    Multipart,
    Plain,
    Html,
    Message,
    Other,
}

impl<'m> Part<'m> {
    /// The part with a header at its beginning.
    pub(super) fn of(raw: &'m [u8]) -> Part<'m> {
        let header = Header::of(raw);
        Part { header: parsed(&header.lines), body: header.rest, is_digested: false }
    }

    /// The fields of the header, if it has any that can be read.
    fn fields(&self) -> Option<&MessagePart<'static>> {
        self.header.parts.first()
    }

    /// The header, if it has any field that can be read.
    pub(super) fn header(&self) -> Option<&Message<'static>> {
        self.fields().map(|_| &self.header)
    }

    /// The body as it was before it was put into mail.
    pub(super) fn content(&self) -> Cow<'m, [u8]> {
        let transfer = self.fields().and_then(|part| part.content_transfer_encoding());
        transfer.map_or(Transfer::Plain, Transfer::named).decoded(self.body)
    }

    pub(super) fn is_html(&self) -> bool {
        self.kind() == Content::Html
    }

    pub(super) fn is_message(&self) -> bool {
        self.kind() == Content::Message
    }

    /// The name of an attachment.
    pub(super) fn name(&self) -> Option<&str> {
        self.fields()?.attachment_name().filter(|name| !name.is_empty())
    }

    /// An attribute of the type.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.fields()?.content_type()?.attribute(name)
    }

    fn kind(&self) -> Content {
        let Some(of) = self.fields().and_then(|part| part.content_type()) else {
            return if self.is_digested { Content::Message } else { Content::Plain };
        };
        let sub = of.subtype().unwrap_or_default();
        match of.ctype().to_ascii_lowercase().as_str() {
            "multipart" => Content::Multipart,
            "text" if sub.eq_ignore_ascii_case("html") => Content::Html,
            "text" if sub.eq_ignore_ascii_case("plain") || sub.is_empty() => Content::Plain,
            "message" if ["rfc822", "global"].iter().any(|name| sub.eq_ignore_ascii_case(name)) => Content::Message,
            _ => Content::Other,
        }
    }

    fn is_attached(&self) -> bool {
        let disposition = self.fields().and_then(|part| part.content_disposition());
        disposition.is_some_and(|disposition| disposition.is_attachment())
    }

    fn is_of(&self, subtype: &str) -> bool {
        let of = self.fields().and_then(|part| part.content_type());
        of.and_then(|of| of.subtype()).is_some_and(|sub| sub.eq_ignore_ascii_case(subtype))
    }

    /// The parts between the boundaries of this one; `None` if it has no boundary.
    fn parts(&self) -> Result<Option<Vec<Part<'m>>>, Reason> {
        let stated = self.attribute("boundary").map(|boundary| boundary.trim_end().as_bytes());
        let Some(boundary) = stated.filter(|boundary| !boundary.is_empty()).or_else(|| first_boundary(self.body))
        else {
            return Ok(None);
        };
        let is_digest = self.is_of("digest");
        let (mut parts, mut begin, mut rest) = (Vec::new(), None, self.body);
        while let Some((first, next)) = line(rest) {
            if let Some(behind) = first.strip_prefix(b"--").and_then(|line| line.strip_prefix(boundary)) {
                let is_last = behind.starts_with(b"--");
                if is_last || behind.trim_ascii().is_empty() {
                    if let Some(begin) = begin.take() {
                        let end = self.body.len() - rest.len();
                        parts.push(Part {
                            is_digested: is_digest,
                            ..Part::of(without_line_end(&self.body[begin..end]))
                        });
                    }
                    if parts.len() > PARTS_MAX {
                        return Err(Reason::TooMany);
                    }
                    if !is_last {
                        begin = Some(self.body.len() - next.len());
                    }
                }
            }
            rest = next;
        }
        if let Some(begin) = begin {
            parts.push(Part { is_digested: is_digest, ..Part::of(&self.body[begin..]) });
        }
        Ok((!parts.is_empty()).then_some(parts))
    }
}

/// A boundary that no header names: the first line that begins like one.
fn first_boundary(body: &[u8]) -> Option<&[u8]> {
    let mut lines = std::iter::successors(line(body), |&(_, rest)| line(rest));
    let boundary = lines.find_map(|(line, _)| line.strip_prefix(b"--"))?.trim_ascii_end();
    (!boundary.is_empty() && !boundary.contains(&b' ')).then_some(boundary)
}

/// The end of the line before a boundary belongs to the boundary.
fn without_line_end(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

/// A header of fields, each with its name directly before the colon.
fn parsed(lines: &[&[u8]]) -> Message<'static> {
    let mut header = Vec::new();
    for line in lines {
        if let Some(name) = field_name(line) {
            header.extend_from_slice(if header.is_empty() { b"" } else { b"\r\n" });
            header.extend_from_slice(name);
            header.extend_from_slice(line[name.len()..].trim_ascii_start());
        } else if !line.starts_with(b">From ") {
            header.extend_from_slice(if line.starts_with(b" ") || line.starts_with(b"\t") {
                b"\r\n"
            } else {
                b"\r\n "
            });
            header.extend_from_slice(line);
        }
    }
    header.extend_from_slice(b"\r\n\r\n");
    let (text, _, _) = Encoding::of_bytes(&header).decode(&header);
    // The parser gives up some damaged headers by a panic. In a mailbox or an archive, the others are read all the same.
    let parsed = std::panic::catch_unwind(|| {
        let message = MessageParser::default().parse_headers(text.as_bytes())?;
        Some(message.into_owned())
    });
    parsed.ok().flatten().unwrap_or_default()
}

/// The parts of a message as a reader sees them.
#[derive(Default, Debug)]
pub(super) struct Contents<'m> {
    /// The text that is shown, in order.
    pub(super) bodies: Vec<Part<'m>>,
    /// The documents inside.
    pub(super) attachments: Vec<Part<'m>>,
}

impl<'m> Contents<'m> {
    /// The parts of a message.
    ///
    /// # Errors
    /// If it has too many parts, or parts in parts that are too deep.
    pub(super) fn of(message: Part<'m>) -> Result<Contents<'m>, Reason> {
        let mut contents = Contents::default();
        contents.add(message, true, 0)?;
        Ok(contents)
    }

    fn add(&mut self, part: Part<'m>, is_shown: bool, depth: u32) -> Result<(), Reason> {
        if depth > DEPTH_MAX {
            return Err(Reason::TooDeep);
        }
        match part.kind() {
            Content::Multipart => match part.parts()? {
                Some(parts) if part.is_of("alternative") => self.add_alternatives(parts, depth)?,
                Some(parts) => {
                    let is_related = part.is_of("related");
                    for (at, part) in parts.into_iter().enumerate() {
                        let is_shown = at == 0 || (!is_related && part.attribute("name").is_none());
                        self.add(part, is_shown, depth + 1)?;
                    }
                }
                // Nothing shows where its parts are: a reader sees all of it.
                None => self.bodies.push(part),
            },
            Content::Plain | Content::Html if is_shown && !part.is_attached() => self.bodies.push(part),
            _ => self.attachments.push(part),
        }
        Ok(())
    }

    /// Of parts that say the same, plain text is shown, or else what has words. The attachments of all remain.
    fn add_alternatives(&mut self, parts: Vec<Part<'m>>, depth: u32) -> Result<(), Reason> {
        let mut alternatives = Vec::new();
        for part in parts {
            let mut contents = Contents::default();
            contents.add(part, true, depth + 1)?;
            self.attachments.append(&mut contents.attachments);
            alternatives.push(contents.bodies);
        }
        let has_words = |bodies: &Vec<Part<'_>>| bodies.iter().any(|part| !part.content().trim_ascii().is_empty());
        let is_plain = |bodies: &Vec<Part<'_>>| bodies.iter().all(|part| !part.is_html()) && has_words(bodies);
        let chosen = alternatives.iter().position(is_plain).or_else(|| alternatives.iter().position(has_words));
        if let Some(chosen) = chosen {
            self.bodies.append(&mut alternatives[chosen]);
        }
        Ok(())
    }
}
