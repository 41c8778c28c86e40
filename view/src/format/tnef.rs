//! Messages as Exchange wraps them for mail ([MS-OXTNEF]), in an attachment that is named `winmail.dat`.

use std::io::Cursor;

use crate::format::compound::{bytes, place_at, u16_at, u32_at};
use crate::format::embedding::VisitEmbedded;
use crate::format::mapi::{ATTACHED, BODY, BYTES, Message, NARROW, NUMBER, Properties, SUBJECT, WIDE};
use crate::outcome::Reason;
use crate::source::Source;
use crate::text::Text;

/// Size of what stands before the attributes.
const HEADER_BYTES: usize = 6;
/// Attributes: their type and number.
const OF_SUBJECT: u32 = 0x0001_8004;
const OF_BODY: u32 = 0x0002_800C;
const OF_PROPERTIES: u32 = 0x0006_9003;
const OF_RECIPIENTS: u32 = 0x0006_9004;
const ATTACHMENT_BEGINS: u32 = 0x0006_9002;
const OF_ATTACHMENT: u32 = 0x0006_9005;
const ATTACHMENT_NAME: u32 = 0x0001_8010;
const ATTACHMENT_BYTES: u32 = 0x0006_800F;
/// The type of a value that is a stream or a message, which has an identifier before it.
const OBJECT: u16 = 0x000D;
const IDENTIFIER_BYTES: usize = 16;
/// The type of a value that is many.
const IS_MANY: u16 = 0x1000;
/// Numbers of properties from which on they have names.
const FIRST_NAMED: u16 = 0x8000;

/// Reads a message.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let bytes = bytes(source)?;
    let mut message = Message::default();
    let mut attributes = attributes(&bytes);
    for attribute in attributes.by_ref() {
        match attribute.id {
            OF_SUBJECT => message.properties.set_bytes(SUBJECT, NARROW, attribute.value.to_vec()),
            OF_BODY => message.properties.set_bytes(BODY, NARROW, attribute.value.to_vec()),
            OF_PROPERTIES => drop(read_properties(attribute.value, &mut message.properties)),
            OF_RECIPIENTS => message.recipients = recipients(attribute.value),
            _ => {}
        }
    }
    message.give(text)?;
    if attributes.rest.is_empty() { Ok(()) } else { Err(Reason::Damaged) }
}

/// Visits the attachments of a message.
pub(super) fn members(source: &mut dyn Source, each: &mut VisitEmbedded<'_>) -> Result<(), Reason> {
    let bytes = bytes(source)?;
    let (mut waiting, mut number) = (None::<Attachment<'_>>, 0);
    for attribute in attributes(&bytes) {
        let Some(attachment) = waiting.as_mut().filter(|_| attribute.id != ATTACHMENT_BEGINS) else {
            if attribute.id == ATTACHMENT_BEGINS {
                number += 1;
                waiting
                    .replace(Attachment::default())
                    .map_or(Ok(()), |attachment| attachment.give(number - 1, each))?;
            }
            continue;
        };
        match attribute.id {
            ATTACHMENT_NAME => attachment.title = Some(attribute.value),
            ATTACHMENT_BYTES => attachment.bytes = Some(attribute.value),
            OF_ATTACHMENT => drop(read_properties(attribute.value, &mut attachment.properties)),
            _ => {}
        }
    }
    waiting.map_or(Ok(()), |attachment| attachment.give(number, each))
}

#[derive(Default)]
struct Attachment<'b> {
    title: Option<&'b [u8]>,
    bytes: Option<&'b [u8]>,
    properties: Properties,
}

impl Attachment<'_> {
    fn give(self, number: usize, each: &mut VisitEmbedded<'_>) -> Result<(), Reason> {
        let mut title = Properties::default();
        title.set_bytes(SUBJECT, NARROW, self.title.unwrap_or_default().to_vec());
        let name = self.properties.file_name(None).or_else(|| title.text(SUBJECT, None));
        let Some(bytes) = self.properties.bytes(ATTACHED).filter(|bytes| !bytes.is_empty()).or(self.bytes) else {
            return Ok(());
        };
        each(&name.unwrap_or_else(|| number.to_string()), &mut Cursor::new(bytes))
    }
}

struct Attribute<'b> {
    id: u32,
    value: &'b [u8],
}

struct Attributes<'b> {
    rest: &'b [u8],
}

/// The attributes of a message, each with a sum of its bytes behind it.
fn attributes(bytes: &[u8]) -> Attributes<'_> {
    Attributes { rest: bytes.get(HEADER_BYTES..).unwrap_or_default() }
}

impl<'b> Iterator for Attributes<'b> {
    type Item = Attribute<'b>;

    fn next(&mut self) -> Option<Attribute<'b>> {
        let (id, length) = (u32_at(self.rest, 1)?, place_at(self.rest, 5)?);
        let value = self.rest.get(9..9_usize.checked_add(length)?)?;
        self.rest = self.rest.get(9 + length + 2..).unwrap_or_default();
        Some(Attribute { id, value })
    }
}

/// The recipients, each with its properties.
fn recipients(mut table: &[u8]) -> Vec<Properties> {
    let mut recipients = Vec::new();
    for _ in 0..u32_at(table, 0).unwrap_or(0) {
        let mut properties = Properties::default();
        let Some(rest) = table.get(4..).and_then(|rest| {
            let length = read_properties(rest, &mut properties)?;
            rest.get(length..)
        }) else {
            break;
        };
        // The next begins where this one ends; the count of all stands only before the first.
        recipients.push(properties);
        table = table.get(table.len() - rest.len() - 4..).unwrap_or_default();
    }
    recipients
}

/// Reads a list of properties, and returns its length; `None` if it is cut.
fn read_properties(list: &[u8], properties: &mut Properties) -> Option<usize> {
    let count = u32_at(list, 0)?;
    let mut at = 4;
    for _ in 0..count {
        let (of_type, id) = (u16_at(list, at)?, u16_at(list, at + 2)?);
        at += 4;
        if id >= FIRST_NAMED {
            at += IDENTIFIER_BYTES;
            at += match u32_at(list, at)? {
                0 => 8,
                _ => 8 + place_at(list, at + 4)?.checked_next_multiple_of(4)?,
            };
        }
        at = read_value(list, at, id, of_type, properties)?;
    }
    Some(at)
}

/// Reads the value of a property, and returns the place behind it.
fn read_value(list: &[u8], mut at: usize, id: u16, of_type: u16, properties: &mut Properties) -> Option<usize> {
    let single = of_type & !IS_MANY;
    let is_long = matches!(single, NARROW | WIDE | BYTES | OBJECT);
    let count = if is_long || of_type & IS_MANY != 0 {
        at += 4;
        u32_at(list, at - 4)?
    } else {
        1
    };
    for _ in 0..count {
        let length = if is_long {
            at += 4;
            place_at(list, at - 4)?
        } else {
            match single {
                0x0005 | 0x0006 | 0x0007 | 0x0014 | 0x0040 => 8,
                0x0048 => 16,
                _ => 4,
            }
        };
        let value = list.get(at..at.checked_add(length)?)?;
        if Properties::is_used(id) && of_type & IS_MANY == 0 {
            match single {
                NUMBER => properties.set_number(id, u32_at(value, 0)?),
                OBJECT => properties.set_bytes(id, BYTES, value.get(IDENTIFIER_BYTES..).unwrap_or_default().to_vec()),
                NARROW | WIDE | BYTES => properties.set_bytes(id, single, value.to_vec()),
                _ => {}
            }
        }
        at = at.checked_add(length.checked_next_multiple_of(4)?)?;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format;
    use crate::kind::Kind;
    use crate::text::tests::text_of;

    fn attribute(id: u32, value: &[u8]) -> Vec<u8> {
        let length = u32::try_from(value.len()).unwrap();
        [&[1][..], &id.to_le_bytes(), &length.to_le_bytes(), value, &[0, 0]].concat()
    }

    fn long(of_type: u16, id: u16, value: &[u8]) -> Vec<u8> {
        let length = u32::try_from(value.len()).unwrap();
        let padding = vec![0; value.len().next_multiple_of(4) - value.len()];
        [&of_type.to_le_bytes()[..], &id.to_le_bytes(), &[1, 0, 0, 0], &length.to_le_bytes(), value, &padding].concat()
    }

    fn list(properties: &[Vec<u8>]) -> Vec<u8> {
        [u32::try_from(properties.len()).unwrap().to_le_bytes().to_vec(), properties.concat()].concat()
    }

    fn message() -> Vec<u8> {
        let named =
            [&[3, 0, 0, 0x85][..], &[0; 16], &[1, 0, 0, 0, 6, 0, 0, 0], b"a\0b\0c\0\0\0", &[7, 0, 0, 0]].concat();
        let number = [3, 0, 0x15, 0x0C, 1, 0, 0, 0].to_vec();
        let person = list(&[number, long(NARROW, 0x3001, b"Bob\0")]);
        let inner = [&[0; IDENTIFIER_BYTES][..], b"\x78\x9F\x3E\x22\0\0", &attribute(OF_BODY, b"inside")].concat();
        [
            b"\x78\x9F\x3E\x22\0\0".to_vec(),
            attribute(OF_SUBJECT, b"Plan\0"),
            attribute(OF_RECIPIENTS, &[&[1, 0, 0, 0][..], &person].concat()),
            attribute(OF_PROPERTIES, &list(&[named, long(NARROW, BODY, b"Dear Bob\0")])),
            attribute(ATTACHMENT_BEGINS, &[0; 14]),
            attribute(ATTACHMENT_NAME, b"NOTES~1.TXT\0"),
            attribute(ATTACHMENT_BYTES, b"plain words"),
            attribute(OF_ATTACHMENT, &list(&[long(WIDE, 0x3707, b"n\0.\0t\0x\0t\0")])),
            attribute(ATTACHMENT_BEGINS, &[0; 14]),
            attribute(OF_ATTACHMENT, &list(&[long(OBJECT, ATTACHED, &inner)])),
            attribute(ATTACHMENT_BEGINS, &[0; 14]),
        ]
        .concat()
    }

    #[test]
    fn a_message_is_read_with_its_recipients_and_attachments() {
        let file = message();
        assert_eq!(Kind::detect(&mut Cursor::new(&*file)).unwrap(), Kind::Tnef);
        assert_eq!(text_of(Kind::Tnef, &file).as_deref(), Ok("Plan\nBob\nDear Bob"));
        let mut found = Vec::new();
        format::members(Kind::Tnef, &mut Cursor::new(&*file), &mut |name, member| {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(member, &mut bytes).unwrap();
            found.push(format!("{name} {}", text_of(Kind::detect(member).unwrap(), &bytes).unwrap()));
            Ok(())
        })
        .unwrap();
        assert_eq!(found, ["n.txt plain words", "2 inside"]);
    }

    #[test]
    fn a_message_that_is_cut_keeps_what_comes_before_and_breaks_nothing() {
        let file = message();
        for length in 0..file.len() {
            let _ = text_of(Kind::Tnef, &file[..length]);
            let _ = format::members(Kind::Tnef, &mut Cursor::new(&file[..length]), &mut |_, _| Ok(()));
        }
        assert_eq!(text_of(Kind::Tnef, &file[..file.len() - 5]), Err(Reason::Damaged));
    }
}
