//! Helpers of the tests of all formats, and what is common to all.

mod damage;

use std::io::{Cursor, Write as _};

use zip::write::SimpleFileOptions;

use super::*;

/// A zip archive of these files.
pub(crate) fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
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
    let mailbox = b"From a@b Mon Jan  1 00:00:00 2024\nSubject: x\n\nFrom a@b Mon Jan  1 00:00:00 2024\nSubject: y\n";
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
    let reason = |name| {
        extract(
            Kind::OldOffice,
            &mut Cursor::new(crate::kind::compound::tests::compound(9, &[&[name]])),
            &mut crate::text::tests::CollectedText::default(),
        )
    };
    assert_eq!(reason("WordDocument"), Err(Reason::Unsupported));
    assert_eq!(reason("EncryptedPackage"), Err(Reason::Encrypted));
}
