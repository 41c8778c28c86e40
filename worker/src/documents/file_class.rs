//! The class of a file, by its first bytes and never by its name.
//!
//! A result shows how many bytes are in compressed containers, because chunks of raw bytes find only identical ones there.

use std::io::{self, Read};

use cognate_fingerprint::ReadSparse;
use cognate_proto::v1::{CensusRow, FileClass};
use cognate_view::Candidate;

/// Number of bytes that decide on the class: enough for every signature that matters.
const CLASS_BYTES: usize = 512;

/// Documents and bytes by class.
#[derive(Default)]
pub(crate) struct ClassCounts {
    rows: [(u64, u64); CLASSES.len()],
}

const CLASSES: [FileClass; 5] =
    [FileClass::Plain, FileClass::Archive, FileClass::Office, FileClass::Pdf, FileClass::Media];

impl ClassCounts {
    pub(crate) fn count(&mut self, class: FileClass, size_bytes: u64) {
        if let Some(place) = CLASSES.iter().position(|known| *known == class) {
            self.rows[place].0 += 1;
            self.rows[place].1 += size_bytes;
        }
    }

    pub(crate) fn rows(&self) -> Vec<CensusRow> {
        let row = |(class, &(documents, size_bytes)): (&FileClass, &(u64, u64))| CensusRow {
            class: (*class).into(),
            documents,
            size_bytes,
        };
        CLASSES.iter().zip(&self.rows).map(row).filter(|row| row.documents > 0).collect()
    }
}

/// A reader that keeps the first bytes.
pub(crate) struct HeadReader<R> {
    inner: R,
    bytes: Vec<u8>,
    read_bytes: u64,
}

impl<R: Read> HeadReader<R> {
    pub(crate) fn new(inner: R) -> HeadReader<R> {
        HeadReader::with(inner, Vec::new())
    }

    /// A reader that keeps the first bytes in this memory.
    pub(crate) fn with(inner: R, mut bytes: Vec<u8>) -> HeadReader<R> {
        bytes.clear();
        HeadReader { inner, bytes, read_bytes: 0 }
    }

    /// The first bytes.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Number of bytes that were read.
    pub(crate) fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    /// Reads only the first bytes.
    pub(crate) fn fill(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        while self.bytes.len() < Candidate::head_bytes(&self.bytes) {
            match self.read(&mut buffer) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The class of the file, and the guess if its text speaks for it.
    pub(crate) fn class(&self) -> (FileClass, Candidate) {
        class_of(&self.bytes)
    }
}

impl<R: Read> Read for HeadReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let start = if self.bytes.is_empty() { &buffer[..count] } else { &self.bytes[..] };
        let wanted = Candidate::head_bytes(start).saturating_sub(self.bytes.len()).min(count);
        self.bytes.extend_from_slice(&buffer[..wanted]);
        self.read_bytes += count as u64;
        Ok(count)
    }
}

impl<R: ReadSparse> ReadSparse for HeadReader<R> {
    fn zeros_ahead(&mut self) -> io::Result<u64> {
        self.inner.zeros_ahead()
    }

    fn skip_zeros(&mut self, bytes: u64) -> io::Result<()> {
        self.inner.skip_zeros(bytes)
    }
}

/// The class of a file that begins with these bytes, and the guess if its text speaks for it.
pub(super) fn class_of(bytes: &[u8]) -> (FileClass, Candidate) {
    let first = |count: usize| &bytes[..bytes.len().min(count)];
    (class_of_head(first(CLASS_BYTES)), Candidate::of(first(Candidate::head_bytes(bytes))))
}

/// The class of a file with these first bytes. Formats that do not compress count as plain.
fn class_of_head(head: &[u8]) -> FileClass {
    // Most files are text. This saves the comparison with a hundred signatures.
    if looks_like_text(head) {
        return FileClass::Plain;
    }
    let Some(kind) = infer::get(head) else { return FileClass::Plain };
    match kind.mime_type() {
        "application/pdf" => FileClass::Pdf,
        "application/x-tar" | "application/x-unix-archive" | "application/x-ole-storage" | "application/rtf" => {
            FileClass::Plain
        }
        "image/bmp" | "image/tiff" | "audio/x-wav" | "audio/x-aiff" | "image/vnd.microsoft.icon" => FileClass::Plain,
        _ => match kind.matcher_type() {
            infer::MatcherType::Archive => FileClass::Archive,
            infer::MatcherType::Doc | infer::MatcherType::Book => FileClass::Office,
            infer::MatcherType::Image | infer::MatcherType::Audio | infer::MatcherType::Video => FileClass::Media,
            _ => FileClass::Plain,
        },
    }
}

/// True if the file has none of the signatures that matter: all of them except PDF contain other bytes early.
fn looks_like_text(head: &[u8]) -> bool {
    let is_text = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    head[..head.len().min(64)].iter().all(is_text) && !head.starts_with(b"%PDF")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_decide_on_the_class() {
        let check = |head: &[u8], class| assert_eq!(class_of(head).0, class, "{head:?}");
        check(b"PK\x03\x04 and so on and on and on and on", FileClass::Archive);
        check(b"\x1f\x8b\x08\x00\x00\x00\x00\x00", FileClass::Archive);
        check(b"\xfd7zXZ\x00\x00\x04", FileClass::Archive);
        check(b"%PDF-1.4\n", FileClass::Pdf);
        check(b"\x89PNG\r\n\x1a\n", FileClass::Media);
        check(b"just text", FileClass::Plain);
        check(b"", FileClass::Plain);
    }
}
