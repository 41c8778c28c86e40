//! Checked files: a stream of bytes in blocks with checksums, bound to the data that it was made from.
//!
//! The files of an analysis are of this form. All numbers are little-endian.
//!
//! | part | bytes |
//! |---|---|
//! | magic of the kind of stream | 8 |
//! | version of the stream's layout | 4 |
//! | bytes per block, 65536 | 4 |
//! | binding: a digest of everything that the stream follows from | 32 |
//! | checksum of all the above | 16 |
//! | blocks, the last one as short as it needs to be: bytes of the stream, then a checksum | n + 16 |
//! | bytes of the stream | 8 |
//! | checksum of that number | 16 |
//!
//! Checksums are BLAKE3 cut to 16 bytes; those after the header cover the header's checksum and a block's number too,
//! so that blocks of other files or places do not pass. A file appears under its name only when it is complete: it is
//! written under another name and renamed.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use cognate_durable::whole::{Draft, PUBLIC};

use crate::checksum::{CHECKSUM_BYTES, Checksum, checksum};
use crate::error::Error;

/// The digest of everything that a file follows from; see [`CheckedWriter::create`].
pub type Binding = [u8; 32];

const BLOCK_BYTES: usize = 1 << 16;
const HEADER_BYTES: usize = 8 + 4 + 4 + 32 + CHECKSUM_BYTES;
const END_BYTES: usize = 8 + CHECKSUM_BYTES;
/// The number under which the end is checked: no block has it.
const END: u64 = u64::MAX;

/// The kind of a stream and the version of its layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamKind {
    /// The first bytes of the file.
    pub magic: [u8; 8],
    /// The version of the layout.
    pub version: u32,
}

/// Writes a checked file; without [`finish`](CheckedWriter::finish) nothing is left of it.
#[derive(Debug)]
pub struct CheckedWriter {
    draft: Draft,
    file: BufWriter<File>,
    header_sum: Checksum,
    block: Vec<u8>,
    blocks: u64,
    bytes: u64,
}

impl CheckedWriter {
    /// Begins a file. A reader needs the same binding.
    ///
    /// # Errors
    ///
    /// When the file cannot be made.
    pub fn create(path: &Path, kind: StreamKind, binding: &Binding) -> Result<CheckedWriter, Error> {
        let (draft, file) = Draft::create(path, PUBLIC).map_err(Error::io("create", path))?;
        let (header, header_sum) = encode_header(kind, binding);
        let mut writer = CheckedWriter {
            draft,
            file: BufWriter::with_capacity(1 << 18, file),
            header_sum,
            block: Vec::with_capacity(BLOCK_BYTES + CHECKSUM_BYTES),
            blocks: 0,
            bytes: 0,
        };
        writer.put(&header)?;
        Ok(writer)
    }

    /// Adds to the stream.
    ///
    /// # Errors
    ///
    /// When the disk does not take it.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        self.bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK_BYTES - self.block.len()));
            self.block.extend_from_slice(now);
            bytes = later;
            if self.block.len() == BLOCK_BYTES {
                self.end_block()?;
            }
        }
        Ok(())
    }

    /// Ends the stream and puts the file in its place; and returns the file's size; with `sync`, it is on the disk
    /// then.
    ///
    /// # Errors
    ///
    /// When the disk does not take it; the earlier file of that name stays then.
    pub fn finish(mut self, sync: bool) -> Result<u64, Error> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        let count = self.bytes.to_le_bytes();
        self.put(&count)?;
        self.put(&checksum(&[&self.header_sum.clone(), &END.to_le_bytes(), &count]))?;
        self.file.flush().map_err(Error::io("write", self.draft.temporary()))?;
        let path = self.draft.path().to_owned();
        self.draft.finish(sync).map_err(Error::io("finish", &path))?;
        Ok(file_bytes(self.bytes))
    }

    fn end_block(&mut self) -> Result<(), Error> {
        let sum = checksum(&[&self.header_sum, &self.blocks.to_le_bytes(), &self.block]);
        self.block.extend_from_slice(&sum);
        let block = std::mem::take(&mut self.block);
        self.put(&block)?;
        self.block = block;
        self.block.clear();
        self.blocks += 1;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(Error::io("write", self.draft.temporary()))
    }
}

/// A checked file that is read from its beginning, a block in memory at a time.
#[derive(Debug)]
pub struct CheckedReader {
    path: PathBuf,
    file: BufReader<File>,
    header_sum: Checksum,
    bytes: u64,
    /// Bytes of the blocks that have been loaded, and the blocks.
    loaded_bytes: u64,
    blocks: u64,
    block: Vec<u8>,
    /// Bytes of the block that have been read.
    read: usize,
}

impl CheckedReader {
    /// Opens a file, checking its header, its end and its size; blocks are checked as they are read.
    ///
    /// # Errors
    ///
    /// When it cannot be read, is of another kind or version, was made from other data, is damaged or cut short.
    pub fn open(path: &Path, kind: StreamKind, binding: &Binding) -> Result<CheckedReader, Error> {
        let corrupt = |detail| Err(Error::Corrupt { path: path.to_owned(), detail });
        let mut file = File::open(path).map_err(Error::io("open", path))?;
        let length_bytes = file.metadata().map_err(Error::io("inspect", path))?.len();
        if length_bytes < (HEADER_BYTES + END_BYTES) as u64 {
            return corrupt("it is cut short");
        }
        let mut header = [0; HEADER_BYTES];
        file.read_exact(&mut header).map_err(Error::io("read", path))?;
        let (expected, header_sum) = encode_header(kind, binding);
        if header[..8] != kind.magic {
            return corrupt("it is another kind of file");
        }
        if header[8..16] != expected[8..16] {
            return corrupt("it is of another version");
        }
        if header[HEADER_BYTES - CHECKSUM_BYTES..] != checksum(&[&header[..HEADER_BYTES - CHECKSUM_BYTES]]) {
            return corrupt("the checksum of its header does not match");
        }
        if header[..] != expected[..] {
            return corrupt("it was made from other data");
        }
        let mut end = [0; END_BYTES];
        file.seek(SeekFrom::End(-(END_BYTES as i64))).map_err(Error::io("read", path))?;
        file.read_exact(&mut end).map_err(Error::io("read", path))?;
        let (count, sum) = end.split_at(8);
        let bytes = u64::from_le_bytes(count.try_into().expect("a long word has 8 bytes"));
        if sum != checksum(&[&header_sum, &END.to_le_bytes(), count]) || length_bytes != file_bytes(bytes) {
            return corrupt("its end does not fit: it is cut short or damaged");
        }
        file.seek(SeekFrom::Start(HEADER_BYTES as u64)).map_err(Error::io("read", path))?;
        let file = BufReader::with_capacity(1 << 18, file);
        let path = path.to_owned();
        Ok(CheckedReader { path, file, header_sum, bytes, loaded_bytes: 0, blocks: 0, block: Vec::new(), read: 0 })
    }

    /// Bytes of the stream.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of the stream that have not been read.
    pub(crate) fn left_bytes(&self) -> u64 {
        self.bytes - self.loaded_bytes + (self.block.len() - self.read) as u64
    }

    /// True if all of the stream has been read.
    pub fn is_at_end(&self) -> bool {
        self.left_bytes() == 0
    }

    /// The next block; `None` after the last. A block has 65536 bytes, the last one fewer.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or the block is damaged.
    pub fn next_block(&mut self) -> Result<Option<&[u8]>, Error> {
        if self.loaded_bytes == self.bytes {
            return Ok(None);
        }
        self.load()?;
        self.read = self.block.len();
        Ok(Some(&self.block))
    }

    /// Fills `bytes` from the stream.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is damaged or at its end.
    pub fn read_exact(&mut self, mut bytes: &mut [u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            if self.read == self.block.len() {
                self.load()?;
            }
            let now = bytes.len().min(self.block.len() - self.read);
            let (front, rest) = bytes.split_at_mut(now);
            front.copy_from_slice(&self.block[self.read..self.read + now]);
            self.read += now;
            bytes = rest;
        }
        Ok(())
    }

    /// The error of a stream that contradicts itself.
    pub fn corrupt(&self, detail: &'static str) -> Error {
        Error::Corrupt { path: self.path.clone(), detail }
    }

    fn load(&mut self) -> Result<(), Error> {
        let left = self.bytes - self.loaded_bytes;
        if left == 0 {
            return Err(self.corrupt("it ends too early"));
        }
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(BLOCK_BYTES);
        // Until the block is checked there is none: nobody may read it after the error.
        let mut block = std::mem::take(&mut self.block);
        self.read = 0;
        block.resize(length + CHECKSUM_BYTES, 0);
        self.file.read_exact(&mut block).map_err(Error::io("read", &self.path))?;
        let sum = block.split_off(length);
        if sum != checksum(&[&self.header_sum, &self.blocks.to_le_bytes(), &block]) {
            return Err(self.corrupt("the checksum of a block does not match"));
        }
        self.block = block;
        self.loaded_bytes += length as u64;
        self.blocks += 1;
        Ok(())
    }
}

fn encode_header(kind: StreamKind, binding: &Binding) -> (Vec<u8>, Checksum) {
    let mut header = Vec::with_capacity(HEADER_BYTES);
    header.extend_from_slice(&kind.magic);
    header.extend_from_slice(&kind.version.to_le_bytes());
    header.extend_from_slice(&u32::try_from(BLOCK_BYTES).expect("a block holds kilobytes").to_le_bytes());
    header.extend_from_slice(binding);
    let header_sum = checksum(&[&header]);
    header.extend_from_slice(&header_sum);
    (header, header_sum)
}

/// The size of a file with `bytes` bytes of content.
fn file_bytes(bytes: u64) -> u64 {
    let sums = bytes.div_ceil(BLOCK_BYTES as u64).saturating_mul(CHECKSUM_BYTES as u64);
    bytes.saturating_add(sums).saturating_add((HEADER_BYTES + END_BYTES) as u64)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::error::ErrorKind;

    const KIND: StreamKind = StreamKind { magic: *b"CGNATXXX", version: 1 };

    fn write(path: &Path, bytes: &[u8]) -> u64 {
        let mut writer = CheckedWriter::create(path, KIND, &[7; 32]).unwrap();
        bytes.chunks(1000).for_each(|bytes| writer.write(bytes).unwrap());
        writer.finish(false).unwrap()
    }

    fn read(path: &Path) -> Result<Vec<u8>, Error> {
        let mut reader = CheckedReader::open(path, KIND, &[7; 32])?;
        let mut bytes = Vec::new();
        while let Some(block) = reader.next_block()? {
            bytes.extend_from_slice(block);
        }
        assert!(reader.is_at_end());
        Ok(bytes)
    }

    #[test]
    fn a_stream_of_any_length_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for length in [0, 1, BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 3 * BLOCK_BYTES + 17] {
            let bytes: Vec<u8> = (0..length).map(|n| u8::try_from(n * 31 % 251).unwrap()).collect();
            assert_eq!(write(&path, &bytes), fs::metadata(&path).unwrap().len());
            assert_eq!(read(&path).unwrap(), bytes);
            let mut reader = CheckedReader::open(&path, KIND, &[7; 32]).unwrap();
            let mut again = vec![0; length];
            again.chunks_mut(777).for_each(|part| reader.read_exact(part).unwrap());
            assert_eq!(again, bytes);
            assert!(reader.is_at_end() && reader.read_exact(&mut [0]).is_err());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn damage_at_any_byte_and_every_cut_is_found_and_the_file_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("damaged");
        write(&path, &[9; 300]);
        let good = fs::read(&path).unwrap();
        for place in 0..good.len() {
            let mut bad = good.clone();
            bad[place] ^= 0x10;
            fs::write(&path, &bad).unwrap();
            let error = read(&path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "byte {place}: {error}");
            assert!(error.to_string().contains("damaged"), "{error}");
            fs::write(&path, &good[..place]).unwrap();
            assert_eq!(read(&path).unwrap_err().kind(), ErrorKind::Corrupt, "cut at {place}");
        }
    }

    #[test]
    fn a_file_of_another_analysis_is_refused_and_one_that_was_not_finished_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        write(&path, b"text");
        let error = CheckedReader::open(&path, KIND, &[8; 32]).unwrap_err();
        assert!(error.to_string().contains("made from other data"), "{error}");
        let mut writer = CheckedWriter::create(&folder.path().join("y"), KIND, &[7; 32]).unwrap();
        writer.write(b"half").unwrap();
        drop(writer);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_of_another_kind_version_or_length_is_refused_for_its_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        write(&path, &[1; 100]);
        for (kind, detail) in [
            (StreamKind { magic: *b"CGNATYYY", ..KIND }, "another kind of file"),
            (StreamKind { version: 2, ..KIND }, "another version"),
        ] {
            let error = CheckedReader::open(&path, kind, &[7; 32]).unwrap_err();
            assert!(error.to_string().contains(detail), "{error}");
        }
        let mut longer = fs::read(&path).unwrap();
        longer.push(0);
        fs::write(&path, longer).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("its end does not fit"));
        fs::write(&path, b"").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("cut short"));
        fs::remove_file(&path).unwrap();
        assert_eq!(read(&path).unwrap_err().kind(), ErrorKind::Unavailable);
    }

    #[test]
    fn a_finished_file_replaces_the_earlier_one_of_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        write(&path, b"first");
        let mut writer = CheckedWriter::create(&path, KIND, &[7; 32]).unwrap();
        writer.write(b"second").unwrap();
        assert_eq!(read(&path).unwrap(), b"first", "until the new one is finished");
        writer.finish(true).unwrap();
        assert_eq!(read(&path).unwrap(), b"second");
    }

    #[test]
    fn the_size_of_a_file_follows_from_its_bytes() {
        let block = BLOCK_BYTES as u64;
        let fixed = (HEADER_BYTES + END_BYTES) as u64;
        for (bytes, sums) in [(0, 0), (1, 1), (block, 1), (block + 1, 2), (10 * block, 10)] {
            assert_eq!(file_bytes(bytes), fixed + bytes + sums * CHECKSUM_BYTES as u64);
        }
        assert_eq!(file_bytes(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_folder_that_is_missing_is_named() {
        let error = CheckedWriter::create(Path::new("/nonexistent/x"), KIND, &[7; 32]).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/x"), "{error}");
    }

    #[test]
    fn a_block_that_is_damaged_is_never_shown_however_often_it_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        // A whole block and a shorter one: damage in either.
        write(&path, &vec![9; BLOCK_BYTES + 100]);
        let good = fs::read(&path).unwrap();
        for (place, read_bytes) in
            [(HEADER_BYTES + 5, 0), (HEADER_BYTES + BLOCK_BYTES + CHECKSUM_BYTES + 5, BLOCK_BYTES)]
        {
            let mut bad = good.clone();
            bad[place] ^= 1;
            fs::write(&path, bad).unwrap();
            let mut reader = CheckedReader::open(&path, KIND, &[7; 32]).unwrap();
            reader.read_exact(&mut vec![0; read_bytes]).unwrap();
            assert_eq!(reader.read_exact(&mut [0]).unwrap_err().kind(), ErrorKind::Corrupt, "byte {place}");
            let mut byte = [0];
            assert!(reader.read_exact(&mut byte).is_err() && reader.next_block().is_err(), "byte {place}");
            assert_eq!((byte, reader.is_at_end()), ([0], false));
            assert_eq!(reader.left_bytes(), (BLOCK_BYTES + 100 - read_bytes) as u64);
        }
    }

    #[test]
    fn what_is_left_of_a_stream_falls_with_every_read_in_either_form() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let length = 2 * BLOCK_BYTES + 100;
        write(&path, &vec![9; length]);
        let mut reader = CheckedReader::open(&path, KIND, &[7; 32]).unwrap();
        assert_eq!((reader.bytes(), reader.left_bytes()), (length as u64, length as u64));
        reader.read_exact(&mut [0; 10]).unwrap();
        assert_eq!(reader.left_bytes(), length as u64 - 10);
        // The rest of the block at hand is passed.
        assert_eq!(reader.next_block().unwrap().map(<[u8]>::len), Some(BLOCK_BYTES));
        assert_eq!(reader.left_bytes(), 100);
        reader.read_exact(&mut [0; 99]).unwrap();
        assert!(reader.left_bytes() == 1 && !reader.is_at_end());
        assert!(reader.read_exact(&mut [0; 2]).unwrap_err().to_string().contains("it ends too early"));
    }
}
