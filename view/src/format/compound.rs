//! Compound files (OLE): storages and streams, in which Office wrote before 2007 and Outlook still does.

use std::io::{self, Cursor, Read as _, SeekFrom, Write as _};

use cfb::CompoundFile;

use crate::outcome::Reason;
use crate::source::Source;
use crate::stop::broken;

/// Size of a file at most: it is in memory at once.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// Sectors of the table that the header names.
const TABLE_SECTORS_MAX: usize = 109;
/// What the table has for the last sector of a stream.
const CHAIN_END: u32 = 0xFFFF_FFFE;
/// Depth of storages that are taken out with another, at most.
const DEPTH_MAX: usize = 32;

/// A file that is made.
pub(super) type NewCompound = CompoundFile<Cursor<Vec<u8>>>;

/// A compound file.
pub(super) struct Compound {
    file: CompoundFile<Cursor<Vec<u8>>>,
    is_cut: bool,
}

impl Compound {
    /// Opens a file.
    pub(super) fn open(source: &mut dyn Source) -> Result<Compound, Reason> {
        let mut bytes = bytes(source)?;
        if let Some(length) = padded_bytes(&bytes) {
            bytes.resize(length, 0);
        }
        CompoundFile::open(Cursor::new(bytes)).map(|file| Compound { file, is_cut: false }).map_err(reason)
    }

    /// Fails if a stream was not read to its end.
    pub(super) fn finish(&self) -> Result<(), Reason> {
        if self.is_cut { Err(Reason::Damaged) } else { Ok(()) }
    }

    /// The bytes of a stream; `None` if there is none of this name. A stream that is cut gives what is there of it, and
    /// [`finish`](Compound::finish) says so.
    pub(super) fn stream(&mut self, path: &str) -> Result<Option<Vec<u8>>, Reason> {
        if !self.file.is_stream(path) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let mut stream = self.file.open_stream(path).map_err(reason)?.take(FILE_BYTES_MAX);
        match stream.read_to_end(&mut bytes) {
            Err(error) if bytes.is_empty() => Err(reason(error)),
            read => {
                self.is_cut |= read.is_err();
                Ok(Some(bytes))
            }
        }
    }

    pub(super) fn is_storage(&self, path: &str) -> bool {
        self.file.is_storage(path)
    }

    /// A storage as a file of its own. The bytes of each stream may be changed on their way.
    pub(super) fn extract(&mut self, storage: &str, change: &dyn Fn(&str, &mut Vec<u8>)) -> Result<Vec<u8>, Reason> {
        let mut file = created().map_err(reason)?;
        let mut waiting = vec![(String::new(), DEPTH_MAX)];
        while let Some((folder, depth)) = waiting.pop() {
            for entry in self.entries(&format!("{storage}{folder}")) {
                let path = format!("{folder}/{}", entry.name);
                if !entry.is_storage {
                    let mut bytes = self.stream(&format!("{storage}{path}"))?.unwrap_or_default();
                    change(&entry.name, &mut bytes);
                    file.create_stream(&path).and_then(|mut stream| stream.write_all(&bytes)).map_err(reason)?;
                } else if depth > 0 {
                    file.create_storage(&path).map_err(reason)?;
                    waiting.push((path, depth - 1));
                }
            }
        }
        finished(file).map_err(reason)
    }

    /// The paths of what is in a storage, in the order of their names.
    pub(super) fn entries(&self, storage: &str) -> Vec<Entry> {
        let entries = self.file.read_storage(storage).into_iter().flatten();
        let entry = |entry: cfb::Entry| Entry { name: entry.name().to_owned(), is_storage: entry.is_storage() };
        entries.map(entry).collect()
    }
}

/// The length of a file whose table names more sectors than there are, if these are in no use: some programs fill the table with
/// one value, which the reader takes for sectors. None if nothing is missing, or if sectors in use are missing.
fn padded_bytes(bytes: &[u8]) -> Option<usize> {
    let sector_bytes = 1_usize.checked_shl(u16_at(bytes, 30)?.into()).filter(|bytes| matches!(bytes, 512 | 4096))?;
    let entries_of_sector = sector_bytes / 4;
    let table_sectors = place_at(bytes, 44).filter(|sectors| *sectors <= TABLE_SECTORS_MAX)?;
    let sectors = (bytes.len() / sector_bytes).checked_sub(1)?;
    let entry = |number: usize| {
        let table = place_at(bytes, 76 + 4 * (number / entries_of_sector))?;
        u32_at(bytes, table.checked_add(1)?.checked_mul(sector_bytes)? + 4 * (number % entries_of_sector))
    };
    let missing = sectors..table_sectors * entries_of_sector;
    let value = entry(missing.start).filter(|value| missing.len() > 1 && matches!(*value, 0 | CHAIN_END))?;
    let is_unused = missing.clone().all(|number| entry(number) == Some(value));
    is_unused.then_some((1 + missing.end) * sector_bytes)
}

/// A stream or a storage.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) is_storage: bool,
}

/// A file of one stream.
pub(super) fn with_stream(path: &str, bytes: &[u8]) -> Result<Vec<u8>, Reason> {
    let mut file = created().map_err(reason)?;
    file.create_stream(path).and_then(|mut stream| stream.write_all(bytes)).map_err(reason)?;
    finished(file).map_err(reason)
}

/// A new file in memory, in the version that all programs read.
#[cfg(unix)]
pub(super) fn created() -> io::Result<NewCompound> {
    CompoundFile::create_with_version(cfb::Version::V3, Cursor::new(Vec::new()))
}

/// Files have the time at which they are made, and a browser gives this module no clock.
#[cfg(not(unix))]
pub(super) fn created() -> io::Result<NewCompound> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The bytes of a file that was made.
pub(super) fn finished(mut file: NewCompound) -> io::Result<Vec<u8>> {
    file.flush()?;
    Ok(file.into_inner().into_inner())
}

/// All bytes of a document.
pub(super) fn bytes(source: &mut dyn Source) -> Result<Vec<u8>, Reason> {
    if source.length_bytes() > FILE_BYTES_MAX {
        return Err(Reason::TooLarge);
    }
    source.seek(SeekFrom::Start(0)).map_err(broken)?;
    let mut bytes = Vec::new();
    source.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(broken)?;
    Ok(bytes)
}

fn reason(_: io::Error) -> Reason {
    Reason::Damaged
}

/// Numbers in the order of bytes of these files.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at.checked_add(2)?)?.try_into().ok().map(u16::from_le_bytes)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_le_bytes)
}

/// The same as a place or a length.
pub(super) fn place_at(bytes: &[u8], at: usize) -> Option<usize> {
    u32_at(bytes, at).and_then(|number| usize::try_from(number).ok())
}

/// Text of two bytes for each unit.
pub(super) fn wide_text(bytes: &[u8]) -> String {
    encoding_rs::UTF_16LE.decode_without_bom_handling(bytes).0.into_owned()
}

/// A compound file with these streams, whose names may have storages before them.
#[cfg(test)]
pub(super) fn compound_of(streams: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = created().unwrap();
    for (path, bytes) in streams {
        if let Some((storage, _)) = path.rsplit_once('/') {
            file.create_storage_all(storage).unwrap();
        }
        file.create_stream(path).unwrap().write_all(bytes).unwrap();
    }
    finished(file).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_found_by_their_paths() {
        let file = compound_of(&[("a/b", b"inside"), ("c", b"outside")]);
        let mut compound = Compound::open(&mut Cursor::new(&*file)).unwrap();
        assert_eq!(compound.stream("/a/b"), Ok(Some(b"inside".to_vec())));
        assert_eq!((compound.stream("/a"), compound.stream("/d")), (Ok(None), Ok(None)));
        let entry = |name: &str, is_storage| Entry { name: name.to_owned(), is_storage };
        assert_eq!(compound.entries("/"), [entry("a", true), entry("c", false)]);
        assert_eq!(compound.entries("/nowhere"), []);
    }

    #[test]
    fn a_file_without_the_unused_sectors_that_its_table_names_is_read_and_one_without_its_own_is_not() {
        let mut file = compound_of(&[("c", &[7; 5000])]);
        let table = 512 * (1 + place_at(&file, 76).unwrap());
        let sectors = file.len() / 512 - 1;
        for entry in (table + 4 * sectors..table + 512).step_by(4) {
            file[entry..entry + 4].copy_from_slice(&CHAIN_END.to_le_bytes());
        }
        assert!(CompoundFile::open(Cursor::new(&*file)).is_err(), "the reader alone refuses it");
        assert_eq!(padded_bytes(&file), Some(129 * 512));
        assert_eq!(Compound::open(&mut Cursor::new(&*file)).unwrap().stream("c"), Ok(Some(vec![7; 5000])));
        let cut = &compound_of(&[("c", &[7; 5000])])[..512 * 6];
        assert_eq!(padded_bytes(cut), None, "zeros are not taken for what was cut");
    }

    #[test]
    fn what_is_cut_is_damaged_and_numbers_end_with_their_bytes() {
        let file = compound_of(&[("c", &[7; 5000])]);
        for length in (0..file.len()).step_by(97) {
            let _ = Compound::open(&mut Cursor::new(&file[..length])).and_then(|mut file| file.stream("c"));
        }
        assert_eq!(Compound::open(&mut Cursor::new(&file[..100])).err(), Some(Reason::Damaged));
        assert_eq!((u16_at(&[1, 2], 0), u16_at(&[1], 0), u32_at(&[0; 4], usize::MAX)), (Some(0x201), None, None));
    }
}
