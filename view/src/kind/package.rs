//! The kind of a zip archive: its directory names the parts of an office document.

use std::io::{self, Read as _, SeekFrom};

use super::Kind;
use crate::source::{self, Source};

/// Bytes of the directory that are read. Those of office documents are a hundredth of it.
const DIRECTORY_BYTES_MAX: u64 = 1 << 20;
/// The end record and the longest comment behind it.
const TAIL_BYTES: u64 = 22 + 65_535;

/// Beginnings of the names of the parts of documents.
const PARTS: [&[u8]; 7] = [b"[Content_Types].xml", b"_rels/", b"docProps/", b"word/", b"xl/", b"ppt/", b"mimetype"];

/// The kind of a zip archive. One without a readable directory is damaged: then the names before its members decide.
pub(super) fn kind(source: &mut dyn Source, head: &[u8]) -> io::Result<Kind> {
    if is_open_document(head) {
        return Ok(Kind::OpenDocument);
    }
    let (mut members, mut count) = (Members::default(), 0);
    names(&directory(source)?.unwrap_or_default(), |name| {
        count += 1;
        members.name(name);
    });
    // A document of an office begins with one of its parts; an archive may have documents of an office in it.
    if count == 0 && head.get(30..).is_some_and(|name| PARTS.iter().any(|part| name.starts_with(part))) {
        local_names(&source::beginning(source, DIRECTORY_BYTES_MAX)?, |name| members.name(name));
    }
    Ok(members.kind())
}

/// The parts that decide the kind.
#[derive(Default)]
struct Members {
    types: bool,
    word: bool,
    sheet: bool,
    slides: bool,
    mimetype: bool,
    content: bool,
    manifest: bool,
}

impl Members {
    fn name(&mut self, name: &[u8]) {
        match name {
            b"[Content_Types].xml" => self.types = true,
            b"mimetype" => self.mimetype = true,
            b"content.xml" => self.content = true,
            b"META-INF/manifest.xml" => self.manifest = true,
            // A program may put the main part where it likes; some have no folder for it.
            b"document.xml" => self.word = true,
            b"workbook.xml" => self.sheet = true,
            b"presentation.xml" => self.slides = true,
            _ if name.starts_with(b"word/") => self.word = true,
            _ if name.starts_with(b"xl/") => self.sheet = true,
            _ if name.starts_with(b"ppt/") => self.slides = true,
            _ => {}
        }
    }

    fn kind(&self) -> Kind {
        match () {
            () if self.types && self.word => Kind::Docx,
            () if self.types && self.sheet => Kind::Xlsx,
            () if self.types && self.slides => Kind::Pptx,
            () if self.mimetype && self.content && self.manifest => Kind::OpenDocument,
            () => Kind::Zip,
        }
    }
}

/// The first member of an `OpenDocument` is `mimetype`, stored: its content is at a fixed place.
fn is_open_document(head: &[u8]) -> bool {
    let named = head.get(30..38) == Some(b"mimetype".as_slice());
    let types: [&[u8]; 2] = [b"application/vnd.oasis.opendocument.", b"application/vnd.sun.xml."];
    named && head.get(38..).is_some_and(|content| types.iter().any(|mime| content.starts_with(mime)))
}

/// The central directory, as far as it is looked at.
fn directory(source: &mut dyn Source) -> io::Result<Option<Vec<u8>>> {
    let length_bytes = source.length_bytes();
    source.seek(SeekFrom::Start(length_bytes.saturating_sub(TAIL_BYTES)))?;
    let mut tail = Vec::new();
    source.take(TAIL_BYTES).read_to_end(&mut tail)?;
    let Some(at) = memchr::memmem::rfind(&tail, b"PK\x05\x06") else {
        return Ok(None);
    };
    let field = |from: usize| tail.get(at + from..at + from + 4).and_then(|bytes| bytes.try_into().ok());
    let (Some(size), Some(_)) = (field(12).map(u32::from_le_bytes), field(16)) else {
        return Ok(None);
    };
    // The directory ends where its end record begins: so other bytes may come before the archive.
    let end = length_bytes - (tail.len() - at) as u64;
    let Some(start) = end.checked_sub(u64::from(size)) else {
        return Ok(None);
    };
    source.seek(SeekFrom::Start(start))?;
    let mut directory = Vec::new();
    source.take(u64::from(size).min(DIRECTORY_BYTES_MAX)).read_to_end(&mut directory)?;
    Ok(Some(directory))
}

/// Each name before a member, where the directory is cut off.
fn local_names(beginning: &[u8], mut each: impl FnMut(&[u8])) {
    for at in memchr::memmem::find_iter(beginning, b"PK\x03\x04") {
        let length = beginning.get(at + 26..at + 28).map(|bytes| usize::from(u16::from_le_bytes([bytes[0], bytes[1]])));
        if let Some(name) = length.and_then(|length| beginning.get(at + 30..at + 30 + length)) {
            each(name);
        }
    }
}

/// Each name of the directory, until it is at its end or is none.
fn names(mut directory: &[u8], mut each: impl FnMut(&[u8])) {
    while directory.len() >= 46 && directory.starts_with(b"PK\x01\x02") {
        let length = |at: usize| usize::from(u16::from_le_bytes([directory[at], directory[at + 1]]));
        let (name, extra, comment) = (length(28), length(30), length(32));
        let Some(bytes) = directory.get(46..46 + name) else {
            return;
        };
        each(bytes);
        let Some(rest) = directory.get(46 + name + extra + comment..) else {
            return;
        };
        directory = rest;
    }
}
