//! Extracted text, stored so that no method and no scan extracts it again: streams of parts, compressed, one after the
//! other in append-only files. The oldest files are removed when there are too many bytes.
//!
//! This is plain text out of the documents. It stays in the site's own state folder and never leaves the site.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek as _, SeekFrom, Take, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cognate_view::Extraction;
use lz4_flex::frame::{FrameDecoder, FrameEncoder};

use super::lists::Location;
use super::numbered::{first_number, numbered_files};

/// A writer starts a new file after this many bytes.
const FILE_BYTES: u64 = 64 << 20;

/// All files of stored text of a site.
pub(crate) struct Texts {
    folder: PathBuf,
    next_file: AtomicU64,
    bytes_max: u64,
}

impl Texts {
    pub(crate) fn open(folder: &Path, bytes_max: u64) -> io::Result<Texts> {
        std::fs::create_dir_all(folder)?;
        Ok(Texts { folder: folder.to_owned(), next_file: first_number(folder)?.into(), bytes_max })
    }

    pub(crate) fn writer(&self) -> TextsWriter<'_> {
        TextsWriter { texts: self, segment: None }
    }

    /// Removes the oldest files while there are too many bytes. Returns the number of the last file that it removed: the
    /// cache must forget texts in files up to that number.
    pub(crate) fn trim(&self) -> io::Result<Option<u64>> {
        let files = self.files()?;
        let mut bytes: u64 = files.iter().map(|(_, bytes)| bytes).sum();
        let mut removed = None;
        for (number, size) in files {
            if bytes <= self.bytes_max {
                break;
            }
            std::fs::remove_file(self.path(number))?;
            (bytes, removed) = (bytes - size, Some(number));
        }
        Ok(removed)
    }

    fn files(&self) -> io::Result<Vec<(u64, u64)>> {
        numbered_files(&self.folder)
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(number.to_string())
    }
}

/// Appends to one file at a time; each reader of documents has its own.
pub(crate) struct TextsWriter<'a> {
    texts: &'a Texts,
    segment: Option<Segment>,
}

/// A file that is being appended to.
struct Segment {
    number: u64,
    file: File,
    end: u64,
}

/// A stored stream of parts.
pub(crate) type StoredText = FrameDecoder<BufReader<Take<File>>>;

impl TextsWriter<'_> {
    /// Opens a stored stream.
    pub(crate) fn open(&self, location: Location) -> io::Result<StoredText> {
        let mut file = File::open(self.texts.path(location.file))?;
        file.seek(SeekFrom::Start(location.offset))?;
        Ok(FrameDecoder::new(BufReader::new(file.take(location.length_bytes))))
    }

    /// Records an extraction while it is read. If nothing can be stored, the extraction is only read.
    pub(crate) fn record(&mut self, extraction: Extraction) -> Recording {
        let segment = self.segment.take().map_or_else(|| self.begin(), Ok);
        let begun = segment.and_then(|segment| {
            let encoder = FrameEncoder::new(BufWriter::new(segment.file.try_clone()?));
            Ok(Copy { segment, encoder, wanted: true })
        });
        let copy = begun.map_err(|error| warn(&error)).ok();
        Recording { extraction, copy }
    }

    /// Ends a recording. Returns its location if it is `wanted` and complete.
    pub(crate) fn finish(&mut self, recording: Recording, wanted: bool) -> Option<Location> {
        let Copy { segment, encoder, wanted: still_wanted } = recording.copy?;
        let end = (|| {
            encoder.finish().map_err(io::Error::from)?.into_inner()?;
            if !(wanted && still_wanted) {
                segment.file.set_len(segment.end)?;
            }
            Ok(segment.file.metadata()?.len())
        })();
        let end: u64 = end.map_err(|error| warn(&error)).ok()?;
        let length_bytes = end - segment.end;
        let location = Location { file: segment.number, offset: segment.end, length_bytes };
        if end < FILE_BYTES {
            self.segment = Some(Segment { end, ..segment });
        }
        Some(location).filter(|_| length_bytes > 0)
    }

    fn begin(&self) -> io::Result<Segment> {
        let number = self.texts.next_file.fetch_add(1, Ordering::Relaxed);
        let file = OpenOptions::new().append(true).create_new(true).open(self.texts.path(number))?;
        Ok(Segment { number, file, end: 0 })
    }
}

fn warn(error: &io::Error) {
    tracing::warn!(%error, "extracted text cannot be stored; it will be extracted again");
}

/// An extraction that is stored while it is read.
pub(crate) struct Recording {
    extraction: Extraction,
    copy: Option<Copy>,
}

/// The stored copy of an extraction.
struct Copy {
    segment: Segment,
    encoder: FrameEncoder<BufWriter<File>>,
    wanted: bool,
}

impl Recording {
    /// An extraction that is only read.
    pub(crate) fn none(extraction: Extraction) -> Recording {
        Recording { extraction, copy: None }
    }

    /// Stops storing: this extraction is not worth it.
    pub(crate) fn discard(&mut self) {
        if let Some(copy) = &mut self.copy {
            copy.wanted = false;
        }
    }
}

impl Read for Recording {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.extraction.read(buffer)?;
        if let Some(copy) = self.copy.as_mut().filter(|copy| copy.wanted)
            && let Err(error) = copy.encoder.write_all(&buffer[..count])
        {
            warn(&error);
            copy.wanted = false;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_files_are_removed_until_the_rest_fits() {
        let check = |sizes: &[usize], bytes_max: u64, removed: Option<u64>| {
            let temporary = tempfile::tempdir().unwrap();
            let folder = temporary.path().join("texts");
            std::fs::create_dir(&folder).unwrap();
            for (number, size) in (1..).zip(sizes) {
                std::fs::write(folder.join(format!("{number}")), vec![0; *size]).unwrap();
            }
            let texts = Texts::open(&folder, bytes_max).unwrap();
            assert_eq!(texts.trim().unwrap(), removed, "{sizes:?} {bytes_max}");
            let left: u64 = texts.files().unwrap().iter().map(|(_, bytes)| bytes).sum();
            assert!(left <= bytes_max, "{sizes:?} {bytes_max}");
            assert_eq!(texts.next_file.into_inner(), sizes.len() as u64 + 1);
        };
        check(&[], 0, None);
        check(&[5, 5, 5], 15, None);
        check(&[5, 5, 5], 14, Some(1));
        check(&[5, 5, 5], 5, Some(2));
        check(&[5, 5, 5], 0, Some(3));
    }
}
