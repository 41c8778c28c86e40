//! Where the bytes of a document come from.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt as _;

/// The bytes of one document: a file, or a member that was unpacked into memory.
pub trait Source: Read + Seek {
    /// How many there are.
    fn length_bytes(&self) -> u64;
}

impl Source for Cursor<&[u8]> {
    fn length_bytes(&self) -> u64 {
        self.get_ref().len() as u64
    }
}

impl Source for Cursor<Vec<u8>> {
    fn length_bytes(&self) -> u64 {
        self.get_ref().len() as u64
    }
}

/// How much of a file is read at once.
const BUFFER_BYTES: usize = 64 * 1024;

/// A file, read at places of its own: the position of its descriptor, which others share, is not touched.
#[derive(Debug)]
pub(crate) struct FileSource {
    file: File,
    length_bytes: u64,
    at: u64,
    /// What was read last, and where it stands.
    buffer: Vec<u8>,
    buffer_at: u64,
}

impl FileSource {
    /// A file as long as it is now.
    pub(crate) fn new(file: File) -> io::Result<FileSource> {
        let length_bytes = u64::try_from(rustix::fs::fstat(&file)?.st_size).unwrap_or(0);
        Ok(FileSource { file, length_bytes, at: 0, buffer: Vec::new(), buffer_at: 0 })
    }

    /// Reads at the present place, as much as is wanted at once.
    fn fill(&mut self) -> io::Result<()> {
        let left = usize::try_from(self.length_bytes.saturating_sub(self.at)).unwrap_or(usize::MAX);
        self.buffer.resize(left.min(BUFFER_BYTES), 0);
        let read = loop {
            match self.file.read_at(&mut self.buffer, self.at) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.buffer.truncate(*read.as_ref().unwrap_or(&0));
        self.buffer_at = self.at;
        read.map(drop)
    }

    fn buffered(&self) -> &[u8] {
        let offset = self.at.checked_sub(self.buffer_at).and_then(|offset| usize::try_from(offset).ok());
        offset.and_then(|offset| self.buffer.get(offset..)).unwrap_or_default()
    }
}

impl Read for FileSource {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.buffered().is_empty() && !buffer.is_empty() {
            self.fill()?;
        }
        let ready = self.buffered();
        let read = ready.len().min(buffer.len());
        buffer[..read].copy_from_slice(&ready[..read]);
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for FileSource {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.length_bytes.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

impl Source for FileSource {
    fn length_bytes(&self) -> u64 {
        self.length_bytes
    }
}
