//! Messages as Outlook saves them ([MS-OXMSG]): a compound file with a stream for each property.

use std::io::{self, Cursor, Write as _};

use crate::format::compound::{Compound, NewCompound, created, finished, u16_at, u32_at};
use crate::format::embedding::VisitEmbedded;
use crate::format::mapi::{ATTACHED, Message, NUMBER, Properties};
use crate::outcome::Reason;
use crate::source::Source;
use crate::text::Text;

/// What the names of streams and storages begin with.
const PROPERTY: &str = "__substg1.0_";
const RECIPIENT: &str = "__recip_version1.0_";
const ATTACHMENT: &str = "__attach_version1.0_";
const NUMBERS: &str = "__properties_version1.0";
/// The storage of a message that is attached.
const ATTACHED_MESSAGE: &str = "__substg1.0_3701000D";
/// Size of what stands before the numbers of a message, of one that is attached, and of others.
const HEADER_BYTES: usize = 32;
const INNER_HEADER_BYTES: usize = 24;
const SMALL_HEADER_BYTES: usize = 8;
/// Recipients and attachments that are read at most.
const ITEMS_MAX: usize = 100_000;

/// Reads a message.
pub(super) fn extract(source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    let mut file = Compound::open(source)?;
    let properties = properties(&mut file, "", HEADER_BYTES)?;
    let mut recipients = Vec::new();
    for path in storages(&file, RECIPIENT) {
        recipients.push(self::properties(&mut file, &path, SMALL_HEADER_BYTES)?);
    }
    Message { properties, recipients }.give(text)?;
    file.finish()
}

/// Visits the attachments of a message.
pub(super) fn members(source: &mut dyn Source, each: &mut VisitEmbedded<'_>) -> Result<(), Reason> {
    let mut file = Compound::open(source)?;
    let encoding = properties(&mut file, "", HEADER_BYTES)?.encoding();
    for (at, path) in storages(&file, ATTACHMENT).iter().enumerate() {
        let attachment = properties(&mut file, path, SMALL_HEADER_BYTES)?;
        let name = attachment.file_name(encoding);
        let inner = format!("{path}/{ATTACHED_MESSAGE}");
        if file.is_storage(&inner) {
            let message = file.extract(&inner, &|name, bytes| {
                // Only a message by itself has the whole of what stands before the numbers.
                if name == NUMBERS && bytes.len() >= INNER_HEADER_BYTES {
                    bytes.splice(INNER_HEADER_BYTES..INNER_HEADER_BYTES, [0; HEADER_BYTES - INNER_HEADER_BYTES]);
                }
            })?;
            let name = name.unwrap_or_else(|| (at + 1).to_string());
            each(&format!("{name}.msg"), &mut Cursor::new(message))?;
        } else if let Some(bytes) = attachment.bytes(ATTACHED) {
            each(&name.unwrap_or_else(|| (at + 1).to_string()), &mut Cursor::new(bytes))?;
        }
    }
    Ok(())
}

/// What identifies a message everywhere.
pub(super) fn message_id(source: &mut dyn Source) -> Option<String> {
    properties(&mut Compound::open(source).ok()?, "", HEADER_BYTES).ok()?.message_id()
}

/// The paths of the storages of recipients or of attachments.
fn storages(file: &Compound, start: &str) -> Vec<String> {
    let entries = file.entries("/").into_iter().filter(|entry| entry.is_storage && entry.name.starts_with(start));
    entries.take(ITEMS_MAX).map(|entry| format!("/{}", entry.name)).collect()
}

/// The properties in a storage: texts and bytes are streams, and numbers stand together in one.
fn properties(file: &mut Compound, storage: &str, header_bytes: usize) -> Result<Properties, Reason> {
    let mut properties = Properties::default();
    let storage_path = if storage.is_empty() { "/" } else { storage };
    for entry in file.entries(storage_path).into_iter().filter(|entry| !entry.is_storage) {
        let number = |digits: Option<&str>| digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        let Some(digits) = entry.name.strip_prefix(PROPERTY) else { continue };
        let (Some(id), Some(of_type)) = (number(digits.get(..4)), number(digits.get(4..))) else { continue };
        if Properties::is_used(id)
            && let Some(bytes) = file.stream(&format!("{storage}/{}", entry.name))?
        {
            properties.set_bytes(id, of_type, bytes);
        }
    }
    let numbers = file.stream(&format!("{storage}/{NUMBERS}"))?.unwrap_or_default();
    for number in numbers.get(header_bytes..).unwrap_or_default().as_chunks::<16>().0 {
        if let (Some(NUMBER), Some(id), Some(value)) = (u16_at(number, 0), u16_at(number, 2), u32_at(number, 8))
            && Properties::is_used(id)
        {
            properties.set_number(id, value);
        }
    }
    Ok(properties)
}

/// Writes a message as Outlook saves it, as far as it is read.
pub(super) struct MessageWriter(NewCompound);

impl MessageWriter {
    pub(super) fn new() -> io::Result<MessageWriter> {
        created().map(MessageWriter)
    }

    /// Writes a value of text or bytes.
    pub(super) fn value(&mut self, storage: &str, id: u16, of_type: u16, bytes: &[u8]) -> io::Result<()> {
        self.stream(&format!("{storage}/{PROPERTY}{id:04X}{of_type:04X}"), bytes)
    }

    /// Writes all numbers of a message, which is the whole or attached to another, of a recipient or of an attachment.
    pub(super) fn numbers(&mut self, storage: &str, numbers: &[(u16, u32)]) -> io::Result<()> {
        let header_bytes = match storage {
            "" => HEADER_BYTES,
            _ if storage.ends_with(ATTACHED_MESSAGE) => INNER_HEADER_BYTES,
            _ => SMALL_HEADER_BYTES,
        };
        let mut bytes = vec![0; header_bytes];
        for (id, number) in numbers {
            bytes.extend(
                [&NUMBER.to_le_bytes()[..], &id.to_le_bytes(), &[0; 4], &number.to_le_bytes(), &[0; 4]].concat(),
            );
        }
        self.stream(&format!("{storage}/{NUMBERS}"), &bytes)
    }

    /// Begins a recipient of a message, and returns its storage.
    pub(super) fn recipient(&mut self, message: &str, number: usize) -> io::Result<String> {
        self.storage(format!("{message}/{RECIPIENT}#{number:08X}"))
    }

    /// Begins an attachment of a message, and returns its storage.
    pub(super) fn attachment(&mut self, message: &str, number: usize) -> io::Result<String> {
        self.storage(format!("{message}/{ATTACHMENT}#{number:08X}"))
    }

    /// Begins the message that an attachment is, and returns its storage.
    pub(super) fn attached_message(&mut self, attachment: &str) -> io::Result<String> {
        self.storage(format!("{attachment}/{ATTACHED_MESSAGE}"))
    }

    pub(super) fn finish(self) -> io::Result<Vec<u8>> {
        finished(self.0)
    }

    fn storage(&mut self, path: String) -> io::Result<String> {
        self.0.create_storage(&path).map(|()| path)
    }

    fn stream(&mut self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.0.create_stream(path)?.write_all(bytes)
    }
}

#[cfg(test)]
mod tests;
