//! The kind of a document, by its bytes.
//!
//! Detection reads the head, and of containers the directory, each to a bound: its cost does not grow with the
//! document. It leaves the source at its start.

mod closed;
pub(crate) mod compound;
pub(crate) mod mail;
mod markup;
mod package;
pub(crate) mod picture;

use std::io::{self, Read as _, SeekFrom};

use crate::charset::{self, Charset};
use crate::source::{self, Source};

/// The kind of a document. Its name does not matter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Kind {
    /// Plain text in any encoding: source code and Markdown too.
    Text = 1,
    /// HTML or XHTML.
    Html = 2,
    /// Office Open XML, a text document.
    Docx = 3,
    /// Office Open XML, a spreadsheet.
    Xlsx = 4,
    /// Office Open XML, a presentation.
    Pptx = 5,
    /// `OpenDocument`, of any kind.
    OpenDocument = 6,
    /// PDF.
    Pdf = 7,
    /// RTF.
    Rtf = 8,
    /// A message as it is sent (RFC 5322).
    Mail = 9,
    /// Many messages in one file.
    Mbox = 10,
    /// A message as Outlook saves it.
    Msg = 11,
    /// A document of an office program that is not read: of before 1997, of Publisher, Visio or Works, or with a password.
    OldOffice = 12,
    /// A document of Word of 1997 to 2003.
    Doc = 13,
    /// A workbook of Excel of before 2007.
    Xls = 14,
    /// A presentation of `PowerPoint` of 1997 to 2003.
    Ppt = 15,
    /// A message as Exchange wraps it for mail (`winmail.dat`).
    Tnef = 16,
    /// A store of messages of Outlook or Outlook Express (PST, OST, DBX).
    OutlookStore = 17,
    /// A zip archive that is none of the above.
    Zip = 20,
    /// A tar archive.
    Tar = 21,
    /// Compressed with gzip.
    Gzip = 22,
    /// Compressed with xz.
    Xz = 23,
    /// Compressed with zstd.
    Zstd = 24,
    /// Compressed with bzip2.
    Bzip2 = 25,
    /// A 7z archive.
    SevenZip = 26,
    /// A TIFF picture, of one page or many.
    Tiff = 30,
    /// A JPEG picture.
    Jpeg = 31,
    /// A PNG picture.
    Png = 32,
    /// A RAR archive.
    Rar = 40,
    /// A section of `OneNote`.
    OneNote = 43,
    /// Help that was compiled (CHM).
    Chm = 44,
    /// `DjVu`.
    Djvu = 45,
    /// A cabinet.
    Cab = 46,
    /// An image of Windows.
    Wim = 47,
    /// A database of Access.
    Access = 48,
    /// A document of `WordPerfect`.
    WordPerfect = 49,
    /// A document of Hangul.
    Hwp = 50,
    /// A book for readers (MOBI, LIT, LRF).
    Ebook = 51,
    /// A database of Notes.
    NotesDatabase = 52,
    /// A publication of `InDesign` or `FrameMaker`.
    Layout = 53,
    /// An image of a disk or disc.
    DiskImage = 54,
    /// Another archive or compressed file (cpio, ar, ARJ, LHA, ACE, lzip, lz4, LZMA, compress).
    OtherArchive = 55,
    /// A file that a program has encrypted (PGP, age, `OpenSSL`, `KeePass`, LUKS).
    EncryptedFile = 56,
    /// Anything else: other pictures, programs, sound.
    Other = 255,
}

/// Bytes at the beginning of a file that [`Candidate::of`] looks at.
const CANDIDATE_HEAD_BYTES: usize = 4096;
/// The same of a JPEG, which names its size after a small picture and other data of its camera.
const JPEG_HEAD_BYTES: usize = 192 << 10;

/// Bytes of the header of a message at most, as far as it is looked at.
const MAIL_HEADER_BYTES_MAX: u64 = 1 << 20;

/// A guess by the first bytes of a file, of its place among the documents whose text speaks for them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Candidate {
    /// Something else.
    No = 0,
    /// A picture that may show a page: only recognition can tell.
    Picture = 1,
    /// An [office kind](Kind::is_office) or a picture of pages: few other files begin like that.
    Document = 2,
}

impl Candidate {
    /// The guess for a file with these first bytes, of which [`head_bytes`](Candidate::head_bytes) are enough.
    pub fn of(head: &[u8]) -> Candidate {
        let start = &head[..head.len().min(CANDIDATE_HEAD_BYTES)];
        let is_document = match signature(start) {
            Some(Signature::Kind(kind @ (Kind::Jpeg | Kind::Png))) => {
                return match picture::shape_in_head(kind, head) {
                    Some(shape) if shape.is_page() => Candidate::Document,
                    Some(shape) if !shape.may_have_text() => Candidate::No,
                    _ => Candidate::Picture,
                };
            }
            Some(Signature::Kind(kind)) => kind.is_office() || kind == Kind::Tiff || kind.is_closed(),
            Some(Signature::Zip | Signature::Compound | Signature::PossiblePdf) => true,
            None => mail::kind(start).is_some() || mail::may_be_header(start),
        };
        if is_document { Candidate::Document } else { Candidate::No }
    }

    /// The number of first bytes that decide, for a file that begins with these.
    pub fn head_bytes(start: &[u8]) -> usize {
        if picture::kind(start) == Some(Kind::Jpeg) { JPEG_HEAD_BYTES } else { CANDIDATE_HEAD_BYTES }
    }
}

impl Kind {
    /// True for pictures that may show pages.
    pub fn is_picture(self) -> bool {
        matches!(self, Kind::Tiff | Kind::Jpeg | Kind::Png)
    }

    /// True for office files, PDF, RTF and mail: a program has packed their words, so that their bytes do not tell what two
    /// of them have in common.
    pub fn is_office(self) -> bool {
        use Kind::{
            Doc, Docx, Mail, Mbox, Msg, OldOffice, OpenDocument, OutlookStore, Pdf, Ppt, Pptx, Rtf, Tnef, Xls, Xlsx,
        };
        let is_old = matches!(self, Doc | Xls | Ppt | OldOffice);
        is_old
            || matches!(self, Docx | Xlsx | Pptx | OpenDocument | Pdf | Rtf | Mail | Mbox | Msg | Tnef | OutlookStore)
    }

    /// True for containers and documents that are known and not opened: what is in them is not compared.
    pub fn is_closed(self) -> bool {
        (Kind::Rar as u8..=Kind::EncryptedFile as u8).contains(&(self as u8))
    }

    /// True for archives and compressed files: the documents inside of them are read, and they have no text themselves.
    pub(crate) fn is_archive(self) -> bool {
        matches!(self, Kind::Zip | Kind::SevenZip) || self.is_stream()
    }

    /// True if it is read from its beginning to its end, whatever its size.
    pub(crate) fn is_stream(self) -> bool {
        matches!(self, Kind::Tar | Kind::Gzip | Kind::Xz | Kind::Zstd | Kind::Bzip2)
    }

    /// Detects the kind of a document.
    ///
    /// # Errors
    /// If the source cannot be read. The undamaged part of a document decides its kind.
    pub fn detect(source: &mut dyn Source) -> io::Result<Kind> {
        let head = source::head(source)?;
        let kind = match signature(&head) {
            Some(Signature::Kind(kind)) => kind,
            Some(Signature::Zip) => package::kind(source, &head)?,
            Some(Signature::Compound) => compound::kind(source, &head)?,
            Some(Signature::PossiblePdf) if ends_as_pdf(source)? => Kind::Pdf,
            None if closed::is_disc(source, &head)? => Kind::DiskImage,
            _ if head.len() == source::HEAD_BYTES && mail::may_be_header(&head) => {
                textual(&source::beginning(source, MAIL_HEADER_BYTES_MAX)?)
            }
            _ => textual(&head),
        };
        source.seek(SeekFrom::Start(0))?;
        Ok(kind)
    }
}

/// The kind that the first bytes suggest.
enum Signature {
    Kind(Kind),
    Zip,
    Compound,
    /// The header of a PDF comes after other bytes.
    PossiblePdf,
}

fn signature(head: &[u8]) -> Option<Signature> {
    let is = |kind| Some(Signature::Kind(kind));
    match head {
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] | [b'P', b'K', 7, 8, b'P', b'K', ..] => Some(Signature::Zip),
        [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1, ..] => Some(Signature::Compound),
        [0x1F, 0x8B, 8, flags, ..] if flags & 0xE0 == 0 => is(Kind::Gzip),
        [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => is(Kind::Xz),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => is(Kind::Zstd),
        [0x50..=0x5F, 0x2A, 0x4D, 0x18, ..] => is(Kind::Zstd),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..] => is(Kind::Bzip2),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => is(Kind::Bzip2),
        [b'7', b'z', 0xBC, 0xAF, 0x27, 0x1C, ..] => is(Kind::SevenZip),
        _ if begins_as_rtf(head) => is(Kind::Rtf),
        _ if is_tar(head) => is(Kind::Tar),
        _ => match pdf_header(head) {
            Some(0) => is(Kind::Pdf),
            Some(_) => Some(Signature::PossiblePdf),
            None => picture::kind(head).or_else(|| closed::kind(head)).map(Signature::Kind),
        },
    }
}

/// RTF, which may come behind a mark of UTF-8 and blank lines.
fn begins_as_rtf(head: &[u8]) -> bool {
    charset::without_utf8_mark(head).trim_ascii_start().starts_with(b"{\\rtf")
}

/// The kind of a document without a signature: text of some sort, or unknown.
fn textual(head: &[u8]) -> Kind {
    let Some(charset) = charset::sniff(head) else {
        return Kind::Other;
    };
    let text: std::borrow::Cow<'_, [u8]> = match charset {
        // Marks of HTML and of mail are ASCII, whatever the letters around them.
        Charset::Utf8 | Charset::Legacy => charset::without_utf8_mark(head).into(),
        _ => charset::head_to_utf8(charset, head).into_bytes().into(),
    };
    if let Some(kind) = mail::kind(&text) {
        return kind;
    }
    markup::kind(&text).unwrap_or(Kind::Text)
}

/// A tar header: its checksum is right (which all tar programs write), wherever `ustar` is.
fn is_tar(head: &[u8]) -> bool {
    let Some(block) = head.get(..512) else {
        return false;
    };
    let digits: Vec<u8> = block[148..156].iter().copied().filter(|byte| !matches!(byte, b' ' | 0)).collect();
    let written = std::str::from_utf8(&digits).ok().and_then(|digits| u32::from_str_radix(digits, 8).ok());
    let counted =
        block.iter().enumerate().map(|(at, &byte)| if (148..156).contains(&at) { 32 } else { u32::from(byte) });
    block[0] != 0 && written == Some(counted.sum())
}

/// The place of the header of a PDF, which may be anywhere within the first kilobyte.
fn pdf_header(head: &[u8]) -> Option<usize> {
    let within = &head[..head.len().min(1024 + 8)];
    let has_version = |at: &usize| matches!(within[at + 5..], [b'0'..=b'9', b'.', _, ..]);
    let at = memchr::memmem::find_iter(within, b"%PDF-").find(has_version)?;
    let blank = within[..at].iter().all(|byte| byte.is_ascii_whitespace() || matches!(byte, 0 | 0xEF | 0xBB | 0xBF));
    Some(if blank { 0 } else { at })
}

/// A text that only mentions the header of a PDF does not end like one.
fn ends_as_pdf(source: &mut dyn Source) -> io::Result<bool> {
    let length_bytes = source.length_bytes();
    source.seek(SeekFrom::Start(length_bytes.saturating_sub(1024)))?;
    let mut tail = Vec::new();
    source.take(1024).read_to_end(&mut tail)?;
    Ok(memchr::memmem::find(&tail, b"startxref").is_some())
}

#[cfg(test)]
mod tests;
