//! Messages as Outlook and Exchange keep them: properties with numbers ([MS-OXPROPS]), whatever file they are in. What is read
//! of them is what is read of the same message as it is sent.

pub(super) mod compressed_rtf;

use std::collections::HashMap;
use std::io::Cursor;

use encoding_rs::Encoding;

use crate::charset;
use crate::format::rtf::encoding_of_page;
use crate::format::{html, mail, plain, rtf};
use crate::outcome::Reason;
use crate::text::Text;

/// Properties.
pub(super) const SUBJECT: u16 = 0x0037;
const SENT_BY: u16 = 0x0042;
const SENT_BY_ADDRESS: u16 = 0x0065;
const HEADER: u16 = 0x007D;
const RECIPIENT_KIND: u16 = 0x0C15;
const SENDER: u16 = 0x0C1A;
const SENDER_ADDRESS: u16 = 0x0C1F;
const TO: u16 = 0x0E04;
const CC: u16 = 0x0E03;
pub(super) const BODY: u16 = 0x1000;
const BODY_RTF: u16 = 0x1009;
const BODY_HTML: u16 = 0x1013;
const MESSAGE_ID: u16 = 0x1035;
const DISPLAY_NAME: u16 = 0x3001;
const ADDRESS: u16 = 0x3003;
pub(super) const ATTACHED: u16 = 0x3701;
const SHORT_FILE_NAME: u16 = 0x3704;
const FILE_NAME: u16 = 0x3707;
const SMTP_ADDRESS: u16 = 0x39FE;
const INTERNET_CODE_PAGE: u16 = 0x3FDE;
const CODE_PAGE: u16 = 0x3FFD;
const SENDER_SMTP_ADDRESS: u16 = 0x5D01;
const SENT_BY_SMTP_ADDRESS: u16 = 0x5D02;
/// Kinds of recipients.
const IS_TO: u32 = 1;
const IS_CC: u32 = 2;
/// Types of values.
pub(super) const NUMBER: u16 = 0x0003;
pub(super) const NARROW: u16 = 0x001E;
pub(super) const WIDE: u16 = 0x001F;
pub(super) const BYTES: u16 = 0x0102;

/// A value.
#[derive(Debug)]
pub(super) enum Value {
    Number(u32),
    Text(String),
    /// Text in the code page of the message.
    Narrow(Vec<u8>),
    Bytes(Vec<u8>),
}

/// The properties of a message, a recipient or an attachment.
#[derive(Debug, Default)]
pub(super) struct Properties(HashMap<u16, Value>);

impl Properties {
    /// The properties that are used.
    pub(super) const USED: [u16; 23] = [
        SUBJECT,
        SENT_BY,
        SENT_BY_ADDRESS,
        HEADER,
        RECIPIENT_KIND,
        SENDER,
        SENDER_ADDRESS,
        TO,
        CC,
        BODY,
        BODY_RTF,
        BODY_HTML,
        MESSAGE_ID,
        DISPLAY_NAME,
        ADDRESS,
        ATTACHED,
        SHORT_FILE_NAME,
        FILE_NAME,
        SMTP_ADDRESS,
        INTERNET_CODE_PAGE,
        CODE_PAGE,
        SENDER_SMTP_ADDRESS,
        SENT_BY_SMTP_ADDRESS,
    ];

    /// True for the properties that are used.
    pub(super) fn is_used(id: u16) -> bool {
        Properties::USED.contains(&id)
    }

    /// Sets a property to a value of text or bytes of a type.
    pub(super) fn set_bytes(&mut self, id: u16, of_type: u16, bytes: Vec<u8>) {
        let value = match of_type {
            WIDE => Value::Text(encoding_rs::UTF_16LE.decode_without_bom_handling(&bytes).0.into_owned()),
            NARROW => Value::Narrow(bytes),
            _ => Value::Bytes(bytes),
        };
        self.0.insert(id, value);
    }

    pub(super) fn set_number(&mut self, id: u16, number: u32) {
        self.0.insert(id, Value::Number(number));
    }

    fn number(&self, id: u16) -> Option<u32> {
        match self.0.get(&id)? {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn bytes(&self, id: u16) -> Option<&[u8]> {
        match self.0.get(&id)? {
            Value::Bytes(bytes) | Value::Narrow(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// A text; one in bytes is in an encoding, or in the one that its bytes show.
    pub(super) fn text(&self, id: u16, encoding: Option<&'static Encoding>) -> Option<String> {
        let text = match self.0.get(&id)? {
            Value::Text(text) => text.clone(),
            Value::Narrow(bytes) => match encoding {
                Some(encoding) if encoding != encoding_rs::UTF_8 && std::str::from_utf8(bytes).is_err() => {
                    encoding.decode(bytes).0.into_owned()
                }
                _ => charset::Encoding::of_bytes(bytes).decode(bytes).0.into_owned(),
            },
            _ => return None,
        };
        let text = text.trim_end_matches('\0');
        (!text.trim().is_empty()).then(|| text.to_owned())
    }

    /// The encoding of texts in bytes.
    pub(super) fn encoding(&self) -> Option<&'static Encoding> {
        let page = self.number(CODE_PAGE).or_else(|| self.number(INTERNET_CODE_PAGE))?;
        encoding_of_page(i32::try_from(page).ok()?)
    }

    /// The name of an attached file.
    pub(super) fn file_name(&self, encoding: Option<&'static Encoding>) -> Option<String> {
        [FILE_NAME, SHORT_FILE_NAME, DISPLAY_NAME].into_iter().find_map(|id| self.text(id, encoding))
    }

    /// What identifies the message everywhere.
    pub(super) fn message_id(&self) -> Option<String> {
        self.text(MESSAGE_ID, None)
    }
}

/// A message.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) properties: Properties,
    pub(super) recipients: Vec<Properties>,
}

impl Message {
    /// Reads what is read of a message as it is sent: subject, people, body.
    pub(super) fn give(&self, text: &mut dyn Text) -> Result<(), Reason> {
        let (properties, encoding) = (&self.properties, self.properties.encoding());
        text.push(&properties.text(SUBJECT, encoding).unwrap_or_default())?;
        text.end_paragraph()?;
        let header = properties.text(HEADER, encoding);
        if !header.is_some_and(|header| matches!(mail::give_people(header.as_bytes(), text), Ok(true))) {
            self.give_people(text)?;
        }
        self.give_body(text)?;
        text.end_paragraph()
    }

    fn give_people(&self, text: &mut dyn Text) -> Result<(), Reason> {
        let (properties, encoding) = (&self.properties, self.properties.encoding());
        let first = |ids: &[u16]| ids.iter().find_map(|id| properties.text(*id, encoding)).unwrap_or_default();
        let address = first(&[SENDER_SMTP_ADDRESS, SENT_BY_SMTP_ADDRESS, SENDER_ADDRESS, SENT_BY_ADDRESS]);
        give_person(&first(&[SENDER, SENT_BY]), &address, text)?;
        text.end_paragraph()?;
        for (kind, shown) in [(IS_TO, TO), (IS_CC, CC)] {
            let mut people =
                self.recipients.iter().filter(|person| person.number(RECIPIENT_KIND) == Some(kind)).peekable();
            if people.peek().is_none() {
                text.push(&first(&[shown]))?;
            }
            for person in people {
                let name = person.text(DISPLAY_NAME, encoding).unwrap_or_default();
                let address = [SMTP_ADDRESS, ADDRESS].into_iter().find_map(|id| person.text(id, encoding));
                give_person(&name, &address.unwrap_or_default(), text)?;
            }
            text.end_paragraph()?;
        }
        Ok(())
    }

    /// The body as plain text, or the visible text of its HTML or RTF if it has no plain text.
    fn give_body(&self, text: &mut dyn Text) -> Result<(), Reason> {
        let (properties, encoding) = (&self.properties, self.properties.encoding());
        if let Some(body) = properties.text(BODY, encoding) {
            return plain::extract_str(&body, text);
        }
        if let Some(page) = properties.text(BODY_HTML, encoding) {
            return html::extract_str(&page, text);
        }
        if let Some(page) = properties.bytes(BODY_HTML) {
            return html::extract(&mut Cursor::new(page), text);
        }
        match properties.bytes(BODY_RTF).and_then(compressed_rtf::unpacked) {
            Some(rtf) => rtf::extract(&mut Cursor::new(&*rtf), text),
            None => Ok(()),
        }
    }
}

/// A person. Exchange has addresses of its own, which mean nothing outside of it, and names that are the address.
fn give_person(name: &str, address: &str, text: &mut dyn Text) -> Result<(), Reason> {
    let name = name.trim_matches('\'');
    let is_foreign = !address.contains('@');
    text.push(if name == address { "" } else { name })?;
    text.push(" ")?;
    text.push(if is_foreign { "" } else { address })?;
    text.push(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tests::CollectedText;

    fn text_of(message: &Message) -> String {
        let mut text = CollectedText::default();
        message.give(&mut text).unwrap();
        text.finish()
    }

    fn properties(all: &[(u16, u16, &str)]) -> Properties {
        let mut properties = Properties::default();
        for &(id, of_type, text) in all {
            let bytes = match of_type {
                WIDE => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
                _ => encoding_rs::WINDOWS_1251.encode(text).0.into_owned(),
            };
            properties.set_bytes(id, of_type, bytes);
        }
        properties
    }

    #[test]
    fn a_message_is_read_as_the_one_that_was_sent() {
        let header = "From: Ann <a@x.org>\r\nTo: Bob <b@x.org>\r\nCc: c@x.org\r\n\r\n";
        let all = [(SUBJECT, WIDE, "Re: plan"), (HEADER, WIDE, header), (BODY, WIDE, "Dear Bob\r\n")];
        let message = Message { properties: properties(&all), recipients: Vec::new() };
        assert_eq!(text_of(&message), "Re: plan\nAnn a@x.org\nBob b@x.org\nc@x.org\nDear Bob");
    }

    #[test]
    fn a_message_that_was_not_sent_has_its_people_as_properties() {
        let all = [(SENDER, WIDE, "Ann"), (SENDER_ADDRESS, WIDE, "/O=EXCHANGE/CN=ANN"), (BODY, NARROW, "Привет\0")];
        let mut message = Message { properties: properties(&all), recipients: Vec::new() };
        message.properties.set_number(CODE_PAGE, 1251);
        assert_eq!(text_of(&message), "Ann\nПривет");
        for (kind, name) in [(IS_CC, "Cid"), (IS_TO, "'b@x.org'")] {
            let mut person = properties(&[(DISPLAY_NAME, WIDE, name), (SMTP_ADDRESS, WIDE, "b@x.org")]);
            person.set_number(RECIPIENT_KIND, kind);
            message.recipients.push(person);
        }
        assert_eq!(text_of(&message), "Ann\nb@x.org\nCid b@x.org\nПривет");
    }

    #[test]
    fn the_body_is_plain_text_or_else_html_or_rtf() {
        let mut all = Properties::default();
        all.set_bytes(BODY_RTF, BYTES, [&[0, 0, 0, 0, 13, 0, 0, 0][..], b"MELA\0\0\0\0{\\rtf1 from rtf}"].concat());
        let mut message = Message { properties: all, recipients: Vec::new() };
        message.properties.set_bytes(BODY, WIDE, b" \0".to_vec());
        assert_eq!(text_of(&message), "from rtf");
        message.properties.set_bytes(BODY_HTML, BYTES, b"<p>from <b>html</b>".to_vec());
        assert_eq!(text_of(&message), "from html");
    }
}
