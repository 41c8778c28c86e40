//! The kind of a compound file (OLE), by the names of its streams.

use std::collections::HashSet;
use std::io::{self, Read as _, SeekFrom};

use super::Kind;
use crate::source::Source;

/// Sectors of the directory that are read: the deciding names are among the first.
const DIRECTORY_SECTORS_MAX: usize = 64;
const CHAIN_END: u32 = 0xFFFF_FFFA;

/// The kind of a compound file.
pub(super) fn kind(source: &mut dyn Source, head: &[u8]) -> io::Result<Kind> {
    let names = names(source, head)?;
    let has = |name: &str| names.contains(name);
    Ok(match () {
        () if has("__properties_version1.0") || names.iter().any(|name| name.starts_with("__substg1.0_")) => Kind::Msg,
        () if ["EncryptedPackage", "WordDocument", "Workbook", "Book", "PowerPoint Document"].into_iter().any(has) => {
            Kind::OldOffice
        }
        () => Kind::Other,
    })
}

/// The names in the directory, as far as it is looked at.
pub(crate) fn names(source: &mut dyn Source, head: &[u8]) -> io::Result<HashSet<String>> {
    let mut found = HashSet::new();
    let Some(file) = Sectors::of(head) else {
        return Ok(found);
    };
    let mut sector = u32_at(head, 48).unwrap_or(CHAIN_END);
    for _ in 0..DIRECTORY_SECTORS_MAX {
        if sector >= CHAIN_END {
            break;
        }
        let Some(bytes) = file.read(source, sector)? else {
            break;
        };
        found.extend(bytes.chunks_exact(128).filter_map(name));
        let Some(next) = file.next(source, head, sector)? else {
            break;
        };
        sector = next;
    }
    Ok(found)
}

/// The name of a directory entry: UTF-16, its length in bytes with the ending zero behind it.
fn name(entry: &[u8]) -> Option<String> {
    let length = usize::from(u16::from_le_bytes([entry[64], entry[65]])).checked_sub(2)?;
    let units = entry.get(..length.min(62))?.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    Some(char::decode_utf16(units).map(|unit| unit.unwrap_or('\u{FFFD}')).collect())
}

/// The places of sectors.
struct Sectors {
    shift: u16,
}

impl Sectors {
    fn of(head: &[u8]) -> Option<Sectors> {
        let shift = u16::from_le_bytes([*head.get(30)?, *head.get(31)?]);
        matches!(shift, 9 | 12).then_some(Sectors { shift })
    }

    fn read(&self, source: &mut dyn Source, sector: u32) -> io::Result<Option<Vec<u8>>> {
        source.seek(SeekFrom::Start((u64::from(sector) + 1) << self.shift))?;
        let mut bytes = Vec::new();
        source.take(1 << self.shift).read_to_end(&mut bytes)?;
        Ok((!bytes.is_empty()).then_some(bytes))
    }

    /// The sector after another of its chain, if the part of the table that the header names has it.
    fn next(&self, source: &mut dyn Source, head: &[u8], sector: u32) -> io::Result<Option<u32>> {
        let entries = 1u32 << (self.shift - 2);
        let block = usize::try_from(sector / entries).unwrap_or(usize::MAX);
        let Some(table) = (block < 109).then(|| u32_at(head, 76 + 4 * block)).flatten() else {
            return Ok(None);
        };
        let Some(bytes) = self.read(source, table)? else {
            return Ok(None);
        };
        Ok(usize::try_from(sector % entries).ok().and_then(|at| u32_at(&bytes, 4 * at)))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}
