//! Stores of Outlook ([MS-PST]): each message of each folder is a document inside, as Outlook would save it alone.

use std::io::{self, Cursor};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use outlook_pst::ltp::prop_context::PropertyValue;
use outlook_pst::ltp::table_context::TableContext;
use outlook_pst::messaging::attachment::{AnsiAttachment, Attachment, AttachmentData, UnicodeAttachment};
use outlook_pst::messaging::folder::Folder;
use outlook_pst::messaging::message::{AnsiMessage, Message, UnicodeMessage};
use outlook_pst::messaging::store::{AnsiStore, EntryId, Store, UnicodeStore};
use outlook_pst::ndb::node_id::NodeId;
use outlook_pst::{AnsiPstFile, UnicodePstFile};

use crate::format::embedding::VisitEmbedded;
use crate::format::mapi::{ATTACHED, BYTES, NARROW, Properties, SUBJECT, WIDE};
use crate::format::msg::MessageWriter;
use crate::outcome::Reason;
use crate::source::Source;

/// Depth of folders, and of messages in messages, at most.
const DEPTH_MAX: usize = 64;
/// Messages in messages are written to this depth.
const INNER_DEPTH_MAX: usize = 8;

/// Visits the messages of a store. One of another age, or of another program, stays closed.
pub(super) fn members(source: &mut dyn Source, each: &mut VisitEmbedded<'_>) -> Result<(), Reason> {
    // Messages are made into files of their own, which a browser cannot.
    if cfg!(not(unix)) {
        return Err(Reason::NotOpened);
    }
    // The reader of stores gives up some damaged ones by a panic.
    catch_unwind(AssertUnwindSafe(|| visit(source, each))).unwrap_or(Err(Reason::Damaged))
}

/// Visits a store of one of the two ages of the format: their messages and attachments are opened by types of their own.
macro_rules! visit_store {
    ($store:expr, $message:ident, $attachment:ident, $each:expr) => {{
        let store = $store;
        let open = |id: &EntryId| {
            let message = $message::read(Rc::clone(&store), id, Some(&Properties::USED))?;
            let of = Rc::clone(&message);
            let attachment: OpenAttachment =
                Box::new(move |node| Ok($attachment::read(Rc::clone(&of), node, None)? as Rc<dyn Attachment>));
            Ok(OpenMessage { message, attachment })
        };
        Visitor { store: Rc::clone(&store) as Rc<dyn Store>, open: &open, each: $each, is_complete: true }.visit()
    }};
}

fn visit(source: &mut dyn Source, each: &mut VisitEmbedded<'_>) -> Result<(), Reason> {
    let not_opened = |_: io::Error| Reason::NotOpened;
    let unicode = UnicodePstFile::read_from(Box::new(source.share().map_err(not_opened)?));
    if let Ok(store) = unicode.and_then(|file| UnicodeStore::read(Rc::new(file))) {
        return visit_store!(store, UnicodeMessage, UnicodeAttachment, each);
    }
    let file = AnsiPstFile::read_from(Box::new(source.share().map_err(not_opened)?)).map_err(not_opened)?;
    visit_store!(AnsiStore::read(Rc::new(file)).map_err(not_opened)?, AnsiMessage, AnsiAttachment, each)
}

type OpenAttachment = Box<dyn Fn(NodeId) -> io::Result<Rc<dyn Attachment>>>;

/// A message, and how its attachments are read.
struct OpenMessage {
    message: Rc<dyn Message>,
    attachment: OpenAttachment,
}

struct Visitor<'v, 'e> {
    store: Rc<dyn Store>,
    open: &'v dyn Fn(&EntryId) -> io::Result<OpenMessage>,
    each: &'v mut VisitEmbedded<'e>,
    is_complete: bool,
}

impl Visitor<'_, '_> {
    fn visit(mut self) -> Result<(), Reason> {
        let root = self.store.properties().ipm_sub_tree_entry_id().and_then(|id| self.store.open_folder(&id));
        self.folder(&*root.map_err(|_| Reason::Damaged)?, "", DEPTH_MAX)?;
        if self.is_complete { Ok(()) } else { Err(Reason::Damaged) }
    }

    /// Visits the messages of a folder, then the folders in it. What cannot be read is left out.
    fn folder(&mut self, folder: &dyn Folder, path: &str, depth: usize) -> Result<(), Reason> {
        for id in self.entries(folder.contents_table()) {
            match (self.open)(&id).and_then(|open| Ok((name_of(&open.message), saved(&open)?))) {
                Ok((name, saved)) => {
                    self.is_complete &= saved.is_complete;
                    (self.each)(&format!("{path}{name}.msg"), &mut Cursor::new(saved.file))?;
                }
                Err(_) => self.is_complete = false,
            }
        }
        for id in self.entries(folder.hierarchy_table()) {
            match self.store.open_folder(&id) {
                Ok(inner) if depth > 0 => {
                    let name = inner.properties().display_name().unwrap_or_default();
                    self.folder(&*inner, &format!("{path}{}/", as_name(&name)), depth - 1)?;
                }
                _ => self.is_complete = false,
            }
        }
        Ok(())
    }

    /// What a table lists.
    fn entries(&self, table: Option<&Rc<dyn TableContext>>) -> Vec<EntryId> {
        let nodes =
            table.into_iter().flat_map(|table| table.rows_matrix().map(|row| NodeId::from(u32::from(row.id()))));
        nodes.filter_map(|node| self.store.properties().make_entry_id(node).ok()).collect()
    }
}

fn name_of(message: &Rc<dyn Message>) -> String {
    let subject = message.properties().get(SUBJECT).and_then(text).map(|text| subject(&text).to_owned());
    as_name(&subject.unwrap_or_default())
}

/// The subject of a message: it may begin with a mark and the length of what comes before it in an answer.
fn subject(text: &str) -> &str {
    let mut letters = text.chars();
    match letters.next() {
        Some('\u{1}') => letters.as_str().get(letters.next().map_or(0, char::len_utf8)..).unwrap_or_default(),
        _ => text,
    }
}

/// Text as the name of a file.
fn as_name(text: &str) -> String {
    let name: String =
        text.trim().chars().map(|letter| if letter == '/' || letter.is_control() { '_' } else { letter }).collect();
    if name.is_empty() { "untitled".to_owned() } else { name }
}

fn text(value: &PropertyValue) -> Option<String> {
    match value {
        PropertyValue::Unicode(text) => Some(String::from_utf16_lossy(text.buffer())),
        PropertyValue::String8(text) => Some(String::from_utf8_lossy(text.buffer()).into_owned()),
        _ => None,
    }
}

/// A message as Outlook saves it, which may lack attachments that cannot be read.
struct SavedMessage {
    file: Vec<u8>,
    is_complete: bool,
}

fn saved(open: &OpenMessage) -> io::Result<SavedMessage> {
    let mut writer = MessageWriter::new()?;
    let is_complete = write(&open.message, Some(&open.attachment), "", &mut writer, INNER_DEPTH_MAX)?;
    Ok(SavedMessage { file: writer.finish()?, is_complete })
}

/// Writes a message and what is in it. False if it lacks an attachment: those of a message that is attached itself cannot be
/// opened.
fn write(
    message: &Rc<dyn Message>,
    attachment: Option<&OpenAttachment>,
    storage: &str,
    writer: &mut MessageWriter,
    depth: usize,
) -> io::Result<bool> {
    let (mut numbers, mut is_complete) = (Vec::new(), true);
    for (id, value) in message.properties().iter() {
        property(*id, value, storage, writer, &mut numbers)?;
    }
    writer.numbers(storage, &numbers)?;
    if let Some(recipients) = message.recipient_table() {
        for (at, row) in recipients.rows_matrix().enumerate() {
            let storage = writer.recipient(storage, at)?;
            let (context, mut numbers) = (recipients.context(), Vec::new());
            for (column, value) in context.columns().iter().zip(row.columns(context)?) {
                if let Some(value) = value.filter(|_| Properties::is_used(column.prop_id()))
                    && let Ok(value) = recipients.read_column(&value, column.prop_type())
                {
                    property(column.prop_id(), &value, &storage, writer, &mut numbers)?;
                }
            }
            writer.numbers(&storage, &numbers)?;
        }
    }
    let attachments = message.attachment_table().into_iter().flat_map(|table| table.rows_matrix());
    for (at, row) in attachments.enumerate() {
        let Some(Ok(attached)) = attachment.map(|open| open(NodeId::from(u32::from(row.id())))) else {
            is_complete = false;
            continue;
        };
        let storage = writer.attachment(storage, at)?;
        let mut numbers = Vec::new();
        for (id, value) in attached.properties().iter().filter(|(id, _)| **id != ATTACHED) {
            property(*id, value, &storage, writer, &mut numbers)?;
        }
        writer.numbers(&storage, &numbers)?;
        match attached.data() {
            Some(AttachmentData::Binary(bytes)) => writer.value(&storage, ATTACHED, BYTES, bytes.buffer())?,
            Some(AttachmentData::Message(inner)) if depth > 0 => {
                let storage = writer.attached_message(&storage)?;
                is_complete &= write(inner, None, &storage, writer, depth - 1)?;
            }
            _ => is_complete = false,
        }
    }
    Ok(is_complete)
}

fn property(
    id: u16,
    value: &PropertyValue,
    storage: &str,
    writer: &mut MessageWriter,
    numbers: &mut Vec<(u16, u32)>,
) -> io::Result<()> {
    if !Properties::is_used(id) {
        return Ok(());
    }
    match value {
        PropertyValue::Integer32(number) => numbers.push((id, number.cast_unsigned())),
        PropertyValue::Unicode(_) if id == SUBJECT => {
            let text = text(value).unwrap_or_default();
            let bytes: Vec<u8> = subject(&text).encode_utf16().flat_map(u16::to_le_bytes).collect();
            writer.value(storage, id, WIDE, &bytes)?;
        }
        PropertyValue::Unicode(text) => {
            let bytes: Vec<u8> = text.buffer().iter().flat_map(|unit| unit.to_le_bytes()).collect();
            writer.value(storage, id, WIDE, &bytes)?;
        }
        PropertyValue::String8(text) => {
            let bytes = text.buffer();
            let is_marked = id == SUBJECT && bytes.first() == Some(&1);
            writer.value(storage, id, NARROW, if is_marked { bytes.get(2..).unwrap_or_default() } else { bytes })?;
        }
        PropertyValue::Binary(bytes) => writer.value(storage, id, BYTES, bytes.buffer())?,
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_without_its_mark_and_a_name_has_no_folders() {
        assert_eq!((subject("\u{1}\u{5}RE: plan"), subject("plan"), subject("\u{1}")), ("RE: plan", "plan", ""));
        assert_eq!((as_name(" a/b\t "), as_name("")), ("a_b".to_owned(), "untitled".to_owned()));
    }

    #[test]
    fn a_store_that_is_not_known_stays_closed() {
        let mut source = Cursor::new(&b"!BDN and nothing more"[..]);
        assert_eq!(members(&mut source, &mut |_, _| Ok(())), Err(Reason::NotOpened));
    }
}
