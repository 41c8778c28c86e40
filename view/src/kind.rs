//! What a document is, by its bytes.

/// What a document is. Its name has no say in it.
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
    /// A message as Outlook keeps it.
    Msg = 11,
    /// A document of an office of before 2007 (`.doc`, `.xls`, `.ppt`).
    OldOffice = 12,
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
    /// Anything else: pictures, programs, sound.
    Other = 255,
}
