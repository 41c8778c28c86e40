//! Sources of the bytes of a document.

#[cfg(unix)]
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
#[cfg(unix)]
use std::rc::Rc;

/// Bytes at the beginning of a document that decide its kind.
pub(crate) const HEAD_BYTES: usize = 16 << 10;

/// The bytes of one document: a file, or a member that was unpacked into memory.
pub trait Source: Read + Seek {
    /// Number of bytes.
    fn length_bytes(&self) -> u64;

    /// The same bytes for a reader that keeps its source: of a file the file, of anything else a copy in memory.
    ///
    /// # Errors
    /// If the bytes cannot be read, or are too many for a copy.
    fn share(&mut self) -> io::Result<Box<dyn Source>> {
        if self.length_bytes() > COPY_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.seek(SeekFrom::Start(0))?;
        let mut copy = Vec::new();
        self.read_to_end(&mut copy)?;
        Ok(Box::new(Cursor::new(copy)))
    }
}

/// Size of a source at most of which a copy is made.
const COPY_BYTES_MAX: u64 = 256 << 20;

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

/// Bytes of a file that are read at once.
#[cfg(unix)]
const BUFFER_BYTES: usize = 64 * 1024;

/// A file, read at places of its own: the position of its descriptor, which others share, is not touched.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct FileSource {
    file: Rc<File>,
    length_bytes: u64,
    at: u64,
    /// The bytes read last, and their place.
    buffer: Vec<u8>,
    buffer_at: u64,
}

#[cfg(unix)]
impl FileSource {
    /// A file as long as it is now.
    pub(crate) fn new(file: File) -> io::Result<FileSource> {
        let length_bytes = u64::try_from(rustix::fs::fstat(&file)?.st_size).unwrap_or(0);
        Ok(FileSource { file: Rc::new(file), length_bytes, at: 0, buffer: Vec::new(), buffer_at: 0 })
    }

    /// Reads at the present place, at most the size of the buffer.
    fn fill(&mut self) -> io::Result<()> {
        let left = usize::try_from(self.length_bytes.saturating_sub(self.at)).unwrap_or(usize::MAX);
        self.buffer.resize(left.min(BUFFER_BYTES), 0);
        let read = loop {
            match std::os::unix::fs::FileExt::read_at(&*self.file, &mut self.buffer, self.at) {
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

#[cfg(unix)]
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

#[cfg(unix)]
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

#[cfg(unix)]
impl Source for FileSource {
    fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    fn share(&mut self) -> io::Result<Box<dyn Source>> {
        let file = Rc::clone(&self.file);
        Ok(Box::new(FileSource { file, length_bytes: self.length_bytes, at: 0, buffer: Vec::new(), buffer_at: 0 }))
    }
}

/// The beginning of a document, as far as it decides its kind.
pub(crate) fn head(source: &mut dyn Source) -> io::Result<Vec<u8>> {
    beginning(source, HEAD_BYTES as u64)
}

/// The first bytes of a document, this number at most.
pub(crate) fn beginning(source: &mut dyn Source, bytes_max: u64) -> io::Result<Vec<u8>> {
    source.seek(SeekFrom::Start(0))?;
    let mut head = Vec::new();
    source.take(bytes_max).read_to_end(&mut head)?;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_the_beginning_after_any_reads() {
        for length in [0, 1, HEAD_BYTES - 1, HEAD_BYTES, HEAD_BYTES + 1] {
            let bytes = vec![7; length];
            let mut source = Cursor::new(bytes.as_slice());
            source.set_position(length as u64 / 2);
            assert_eq!(head(&mut source).unwrap().len(), length.min(HEAD_BYTES), "{length}");
        }
    }

    #[test]
    fn a_file_is_read_from_any_place_without_moving_its_descriptor() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..200_000_u32).map(|n| n.to_le_bytes()[0].wrapping_mul(31)).collect();
        std::io::Write::write_all(&mut file, &bytes).unwrap();
        file.seek(SeekFrom::Start(5)).unwrap();
        let mut source = FileSource::new(file.try_clone().unwrap()).unwrap();
        assert_eq!(source.length_bytes(), 200_000);
        for at in [0usize, 1, 65_535, 65_536, 199_999, 200_000, 300_000] {
            source.seek(SeekFrom::Start(at as u64)).unwrap();
            let mut rest = Vec::new();
            source.read_to_end(&mut rest).unwrap();
            assert!(rest == bytes[at.min(bytes.len())..], "{at}");
        }
        assert_eq!(file.stream_position().unwrap(), 5);
    }

    proptest::proptest! {
        /// A cursor over the same bytes is the model.
        #[test]
        fn a_file_reads_like_its_bytes_in_memory(
            length in 0_usize..200_000,
            steps in proptest::collection::vec((0..4, 0_u32..210_000), 0..20),
        ) {
            use std::io::Write as _;
            let bytes: Vec<u8> = (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect();
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            let (mut source, mut model) = (FileSource::new(file).unwrap(), Cursor::new(bytes.as_slice()));
            proptest::prop_assert_eq!(source.length_bytes(), model.length_bytes());
            for (step, number) in steps {
                let by = i64::from(number) - 105_000;
                let to = match step {
                    0 => SeekFrom::Start(number.into()),
                    1 => SeekFrom::Current(by),
                    2 => SeekFrom::End(by),
                    _ => {
                        let (mut found, mut expected) = (Vec::new(), Vec::new());
                        (&mut source).take(number.into()).read_to_end(&mut found).unwrap();
                        (&mut model).take(number.into()).read_to_end(&mut expected).unwrap();
                        proptest::prop_assert!(found == expected);
                        continue;
                    }
                };
                proptest::prop_assert_eq!(source.seek(to).ok(), model.seek(to).ok());
            }
        }
    }
}
