//! What was extracted, kept so that no method and no scan extracts it again: streams of parts, compressed, one after the
//! other in append-only files. The oldest files go when there are too many bytes.
//!
//! It is a cache of what the documents hold, in plain text: it lies in the site's own state folder and never leaves it.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Seek as _, SeekFrom, Take, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cognate_fingerprint::View;
use cognate_view::Extraction;
use lz4_flex::frame::{FrameDecoder, FrameEncoder};

use crate::cache::Cache;
use crate::lists::Location;
use crate::numbered::numbered_files;

/// A file is not begun anew before it has so many bytes.
const FILE_BYTES: u64 = 64 << 20;

/// Which extraction: of which bytes, under which version, and, where it matters, under which name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TextKey([u8; 16]);

impl TextKey {
    pub(crate) fn new(bytes_digest: [u8; 16], name: &str) -> TextKey {
        let mut hasher = blake3::Hasher::new_derive_key("cognate extracted text v1");
        hasher.update(&View::TEXT_VERSION.to_le_bytes()).update(&bytes_digest).update(name.as_bytes());
        let mut key = [0; 16];
        key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        TextKey(key)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// All files of kept text of a site.
pub(crate) struct Texts {
    folder: PathBuf,
    next_file: AtomicU64,
    bytes_max: u64,
}

impl Texts {
    pub(crate) fn open(folder: &Path, bytes_max: u64) -> io::Result<Texts> {
        std::fs::create_dir_all(folder)?;
        let texts = Texts { folder: folder.to_owned(), next_file: AtomicU64::new(1), bytes_max };
        let last = texts.files()?.last().map_or(0, |(number, _)| *number);
        texts.next_file.store(last + 1, Ordering::Relaxed);
        Ok(texts)
    }

    pub(crate) fn writer(&self) -> TextsWriter<'_> {
        TextsWriter { texts: self, segment: None }
    }

    /// Removes the oldest files while there are too many bytes.
    pub(crate) fn trim(&self, cache: &Cache) -> io::Result<()> {
        let files = self.files()?;
        let mut bytes: u64 = files.iter().map(|(_, bytes)| bytes).sum();
        let mut gone = 0;
        for (number, size) in files {
            if bytes <= self.bytes_max {
                break;
            }
            std::fs::remove_file(self.path(number))?;
            (bytes, gone) = (bytes - size, number);
        }
        if gone > 0 {
            cache.forget_texts(|location| location.file <= gone)?;
        }
        Ok(())
    }

    fn files(&self) -> io::Result<Vec<(u64, u64)>> {
        numbered_files(&self.folder)
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(number.to_string())
    }
}

/// Appends to one file at a time; each reader has its own.
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

/// A stream of parts as it was kept.
pub(crate) type Kept = FrameDecoder<BufReader<Take<File>>>;

impl TextsWriter<'_> {
    /// Opens what was kept.
    pub(crate) fn open(&self, location: Location) -> io::Result<Kept> {
        let mut file = File::open(self.texts.path(location.file))?;
        file.seek(SeekFrom::Start(location.offset))?;
        Ok(FrameDecoder::new(BufReader::new(file.take(location.length_bytes))))
    }

    /// Records an extraction while it is read. Where that cannot be, it is only read.
    pub(crate) fn record(&mut self, extraction: Extraction) -> Recording {
        let segment = self.segment.take().map_or_else(|| self.begin(), Ok);
        let begun = segment.and_then(|segment| {
            let encoder = FrameEncoder::new(BufWriter::new(segment.file.try_clone()?));
            Ok(Tape { segment, encoder, wanted: true })
        });
        let tape = begun.map_err(|error| warn(&error)).ok();
        Recording { extraction, tape }
    }

    /// Ends a recording and says where it lies, where it is `wanted` and whole.
    pub(crate) fn keep(&mut self, recording: Recording, wanted: bool) -> Option<Location> {
        let Tape { segment, encoder, wanted: still_wanted } = recording.tape?;
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
    tracing::warn!(%error, "what is extracted cannot be kept; it will be extracted again");
}

/// An extraction that is recorded while it is read.
pub(crate) struct Recording {
    extraction: Extraction,
    tape: Option<Tape>,
}

struct Tape {
    segment: Segment,
    encoder: FrameEncoder<BufWriter<File>>,
    wanted: bool,
}

impl Recording {
    /// An extraction that is only read.
    pub(crate) fn none(extraction: Extraction) -> Recording {
        Recording { extraction, tape: None }
    }

    /// What comes is not worth keeping after all.
    pub(crate) fn forget(&mut self) {
        if let Some(tape) = &mut self.tape {
            tape.wanted = false;
        }
    }
}

impl Read for Recording {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.extraction.read(buffer)?;
        if let Some(tape) = self.tape.as_mut().filter(|tape| tape.wanted)
            && let Err(error) = tape.encoder.write_all(&buffer[..count])
        {
            warn(&error);
            tape.wanted = false;
        }
        Ok(count)
    }
}
