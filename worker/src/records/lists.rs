//! The lists of tags and lengths of chunks, in append-only files. With them an unchanged document is never read again, even
//! when a coordinator needs the complete index again.
//!
//! A file is a sequence of records, each a length, a checksum and an encoded table of chunks. A list is one record, or
//! several in a row when the content is large. Only the process that created a file writes to it.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use cognate_proto::v1::ChunkTable;
use prost::Message as _;

use super::numbered::{first_number, numbered_files};

const HEADER_BYTES: usize = 4 + 8;
/// The longest record: a table of a batch.
const RECORD_BYTES_MAX: usize = 1 << 20;

/// The place of a list, or of an extracted text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Location {
    pub(crate) file: u64,
    pub(crate) offset: u64,
    pub(crate) length_bytes: u64,
}

/// All list files of a site.
pub(crate) struct Lists {
    folder: PathBuf,
    next_file: std::sync::atomic::AtomicU64,
}

/// Appends lists to one file, which is created with the first list.
pub(crate) struct ListWriter<'a> {
    lists: &'a Lists,
    file: Option<(u64, BufWriter<File>)>,
    end: u64,
}

impl Lists {
    pub(crate) fn open(folder: &Path) -> io::Result<Lists> {
        std::fs::create_dir_all(folder)?;
        Ok(Lists { folder: folder.to_owned(), next_file: first_number(folder)?.into() })
    }

    pub(crate) fn writer(&self) -> ListWriter<'_> {
        ListWriter { lists: self, file: None, end: 0 }
    }

    /// Reads a list, record by record.
    pub(crate) fn read(
        &self,
        location: Location,
        mut each: impl FnMut(ChunkTable) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut file = File::open(self.path(location.file))?;
        file.seek(SeekFrom::Start(location.offset))?;
        let mut rest = location.length_bytes;
        while rest > 0 {
            let (table, length_bytes) = read_record(&mut file)?;
            rest = rest.checked_sub(length_bytes).ok_or_else(damaged)?;
            each(table)?;
        }
        Ok(())
    }

    /// Deletes a file whose lists are not needed.
    pub(crate) fn delete(&self, file: u64) -> io::Result<()> {
        std::fs::remove_file(self.path(file))
    }

    /// All files, with their sizes in bytes.
    pub(crate) fn files(&self) -> io::Result<Vec<(u64, u64)>> {
        numbered_files(&self.folder)
    }

    fn path(&self, file: u64) -> PathBuf {
        self.folder.join(file.to_string())
    }
}

impl ListWriter<'_> {
    /// Appends a part of a list and returns its place. Parts that follow one another form one list.
    pub(crate) fn append(&mut self, table: &ChunkTable) -> io::Result<Location> {
        if self.file.is_none() {
            let number = self.lists.next_file.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let file = OpenOptions::new().write(true).create_new(true).open(self.lists.path(number))?;
            self.file = Some((number, BufWriter::with_capacity(1 << 16, file)));
        }
        let (number, file) = self.file.as_mut().expect("opened above");
        let record = table.encode_to_vec();
        let length = u32::try_from(record.len()).expect("a table of a batch");
        file.write_all(&length.to_le_bytes())?;
        file.write_all(&checksum(&record))?;
        file.write_all(&record)?;
        let length_bytes = (HEADER_BYTES + record.len()) as u64;
        let location = Location { file: *number, offset: self.end, length_bytes };
        self.end += length_bytes;
        Ok(location)
    }

    /// Writes the buffer to the file, so that the lists can be read.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |(_, file)| file.flush())
    }
}

fn read_record(file: &mut File) -> io::Result<(ChunkTable, u64)> {
    let mut header = [0; HEADER_BYTES];
    file.read_exact(&mut header)?;
    let (length, sum) = header.split_at(4);
    let length = u32::from_le_bytes(length.try_into().expect("four bytes")) as usize;
    if length > RECORD_BYTES_MAX {
        return Err(damaged());
    }
    let mut record = vec![0; length];
    file.read_exact(&mut record)?;
    if checksum(&record) != sum {
        return Err(damaged());
    }
    let table = ChunkTable::decode(record.as_slice()).map_err(|_| damaged())?;
    Ok((table, (HEADER_BYTES + length) as u64))
}

fn checksum(record: &[u8]) -> [u8; 8] {
    let mut sum = [0; 8];
    sum.copy_from_slice(&blake3::hash(record).as_bytes()[..8]);
    sum
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a list of chunks is damaged")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(number: u32) -> ChunkTable {
        ChunkTable { tags: vec![7; 16], length_bytes: vec![number], repeated_byte: vec![] }
    }

    #[test]
    fn the_next_process_reads_the_same_lists() {
        let folder = tempfile::tempdir().unwrap();
        let lists = Lists::open(&folder.path().join("lists")).unwrap();
        let mut writer = lists.writer();
        let first = writer.append(&table(1)).unwrap();
        let mut both = writer.append(&table(2)).unwrap();
        both.length_bytes += writer.append(&table(3)).unwrap().length_bytes;
        writer.flush().unwrap();
        let again = Lists::open(&folder.path().join("lists")).unwrap();
        let read = |location| {
            let mut lengths = vec![];
            again
                .read(location, |table| {
                    lengths.extend(table.length_bytes);
                    Ok(())
                })
                .unwrap();
            lengths
        };
        assert_eq!((read(first), read(both)), (vec![1], vec![2, 3]));
        assert!(again.writer().append(&table(4)).unwrap().file > 1);
    }

    #[test]
    fn a_row_whose_list_was_lost_never_comes_to_the_list_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let lists = Lists::open(&folder.path().join("lists")).unwrap();
        let mut writer = lists.writer();
        let lost = writer.append(&table(5)).unwrap();
        writer.flush().unwrap();
        // A loss of power takes the file, which was not synced, and leaves the row of the cache, which was.
        std::fs::remove_file(lists.path(lost.file)).unwrap();
        let again = Lists::open(&folder.path().join("lists")).unwrap();
        let mut writer = again.writer();
        let other = writer.append(&table(6)).unwrap();
        writer.flush().unwrap();
        assert_eq!((other.offset, other.length_bytes), (lost.offset, lost.length_bytes));
        again.read(lost, |_| Ok(())).unwrap_err();
    }

    #[test]
    fn a_flipped_bit_is_an_error_and_never_a_list() {
        let folder = tempfile::tempdir().unwrap();
        let lists = Lists::open(&folder.path().join("lists")).unwrap();
        let mut writer = lists.writer();
        let location = writer.append(&table(5)).unwrap();
        writer.flush().unwrap();
        let path = folder.path().join("lists/1");
        let intact = std::fs::read(&path).unwrap();
        for position in 0..intact.len() {
            let mut damaged = intact.clone();
            damaged[position] ^= 4;
            std::fs::write(&path, damaged).unwrap();
            assert!(lists.read(location, |_| Ok(())).is_err(), "byte {position}");
        }
    }
}
