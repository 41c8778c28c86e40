//! Text out of documents: a module for each format.

mod bounded;
mod docx;
mod embedded;
mod embedding;
mod html;
mod mail;
mod mbox;
mod message_id;
mod old_office;
mod open_document;
mod package;
mod paragraphs;
mod pdf;
mod picture;
mod plain;
mod pptx;
mod rtf;
mod tiff;
mod xlsx;
mod xml;

pub use embedding::VisitEmbedded;
pub use message_id::message_id_hash;
pub(crate) use picture::PICTURE_BYTES_MAX;

// For the readers of PDF and of pictures.
use crate::stop::broken;

use crate::kind::Kind;
use crate::outcome::Reason;
use crate::source::Source;
use crate::text::Text;

/// Reads the text of a document of a known kind.
///
/// # Errors
/// The reason why it could not be read to its end. A kind without text is [`Reason::Unsupported`].
pub fn extract(kind: Kind, source: &mut dyn Source, text: &mut dyn Text) -> Result<(), Reason> {
    match kind {
        Kind::Text => plain::extract(source, text),
        Kind::Html => html::extract(source, text),
        Kind::Docx => docx::extract(source, text),
        Kind::Xlsx => xlsx::extract(source, text),
        Kind::Pptx => pptx::extract(source, text),
        Kind::OpenDocument => open_document::extract(source, text),
        Kind::Pdf => pdf::extract(source, text),
        Kind::Rtf => rtf::extract(source, text),
        Kind::Mail => mail::extract(source, text),
        // A mailbox has no text besides that of its messages.
        Kind::Mbox => Ok(()),
        Kind::Tiff | Kind::Jpeg | Kind::Png => picture::extract(kind, source, text),
        Kind::OldOffice => Err(old_office::reason(source)),
        _ => Err(Reason::Unsupported),
    }
}

/// Visits the documents inside of a document that is no archive: attachments of mail, the messages of a mailbox, files
/// embedded in documents of an office. Other kinds hold none.
///
/// Names are those of the document, with `/` and `..`; a member without a name gets its number. Names may repeat.
///
/// # Errors
/// The reason why the visit could not go on: the one that `each` returned, or that of the document.
pub fn members(kind: Kind, source: &mut dyn Source, each: &mut VisitEmbedded<'_>) -> Result<(), Reason> {
    match kind {
        Kind::Mail => mail::members(source, each),
        Kind::Mbox => mbox::members(source, each),
        Kind::Docx | Kind::Xlsx | Kind::Pptx => embedded::members(source, each),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write as _};

    use zip::write::SimpleFileOptions;

    use super::*;

    /// A zip archive of these files.
    pub(super) fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in files {
            let options = SimpleFileOptions::default().compression_method(match *name {
                "mimetype" => zip::CompressionMethod::Stored,
                _ => zip::CompressionMethod::Deflated,
            });
            writer.start_file(*name, options).expect("a file");
            writer.write_all(content).expect("its content");
        }
        writer.finish().expect("an archive").into_inner()
    }

    /// The archive with the mark of encryption on every member.
    pub(super) fn encrypted(archive: &[u8]) -> Vec<u8> {
        let mut archive = archive.to_vec();
        for at in 0..archive.len() - 10 {
            match &archive[at..at + 4] {
                b"PK\x03\x04" => archive[at + 6] |= 1,
                b"PK\x01\x02" => archive[at + 8] |= 1,
                _ => {}
            }
        }
        archive
    }

    /// The members of a document, by name.
    pub(super) fn members_of(kind: Kind, bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, Reason> {
        let mut found = Vec::new();
        let mut each = |name: &str, source: &mut dyn Source| {
            let mut content = Vec::new();
            source.read_to_end(&mut content).expect("a member in memory");
            found.push((name.to_owned(), content));
            Ok(())
        };
        members(kind, &mut Cursor::new(bytes), &mut each)?;
        Ok(found)
    }

    #[test]
    fn a_visit_ends_with_the_reason_that_its_visitor_gives() {
        let mailbox =
            b"From a@b Mon Jan  1 00:00:00 2024\nSubject: x\n\nFrom a@b Mon Jan  1 00:00:00 2024\nSubject: y\n";
        let mut count = 0;
        let mut each = |_: &str, _: &mut dyn Source| {
            count += 1;
            Err(Reason::TooMany)
        };
        assert_eq!(members(Kind::Mbox, &mut Cursor::new(&mailbox[..]), &mut each), Err(Reason::TooMany));
        assert_eq!(count, 1);
    }

    #[test]
    fn an_old_document_is_distinguished_from_a_locked_one() {
        let compound = |name: &str| {
            let mut file = vec![0; 1024];
            file[..8].copy_from_slice(&[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1]);
            file[30] = 9;
            let entry: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
            file[512..512 + entry.len()].copy_from_slice(&entry);
            file[512 + 64] = u8::try_from(entry.len() + 2).expect("short");
            file
        };
        let reason = |name| {
            extract(
                Kind::OldOffice,
                &mut Cursor::new(compound(name)),
                &mut crate::text::tests::CollectedText::default(),
            )
        };
        assert_eq!(reason("WordDocument"), Err(Reason::Unsupported));
        assert_eq!(reason("EncryptedPackage"), Err(Reason::Encrypted));
    }
}
