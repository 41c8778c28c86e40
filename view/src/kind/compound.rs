//! The kind of a compound file (OLE), by the names of its streams.

use std::collections::HashSet;
use std::io::{self, Read as _, SeekFrom};

use super::Kind;
use crate::source::Source;

/// Sectors of the directory that are read: the deciding names are among the first.
const DIRECTORY_SECTORS_MAX: usize = 64;
/// Streams and storages of which each is in the documents of one office program that are not read.
const OFFICE: [&str; 12] = [
    "PP40",
    "Quill",
    "VisioDocument",
    "TBkndTask",
    "CONTENTS",
    "MatOST",
    "StarWriterDocument",
    "StarCalcDocument",
    "StarImpressDocument",
    "StarDrawDocument",
    "StarDrawDocument3",
    "StarMathDocument",
];
const CHAIN_END: u32 = 0xFFFF_FFFA;
const ENTRY_BYTES: usize = 128;
/// Parts of the table that the header names.
const HEADER_BLOCKS: usize = 109;

/// The kind of a compound file.
pub(super) fn kind(source: &mut dyn Source, head: &[u8]) -> io::Result<Kind> {
    let Directory { names, is_cut } = names(source, head)?;
    let has = |name: &str| names.contains(name);
    // Some programs write names in capitals, and names in a file do not differ by case alone.
    let has_any_case = |wanted: &str| names.iter().any(|name| name.eq_ignore_ascii_case(wanted));
    Ok(match () {
        () if has("__properties_version1.0") || names.iter().any(|name| name.starts_with("__substg1.0_")) => Kind::Msg,
        () if has("EncryptedPackage") => Kind::OldOffice,
        () if has_any_case("WordDocument") => Kind::Doc,
        () if has_any_case("Workbook") || has_any_case("Book") => Kind::Xls,
        () if has_any_case("PowerPoint Document") => Kind::Ppt,
        () if OFFICE.into_iter().any(has) => Kind::OldOffice,
        () if has("BodyText") && has("FileHeader") => Kind::Hwp,
        // Its directory may be at its end: what it was is not known, and that it is cut is said.
        () if is_cut => Kind::OldOffice,
        () => Kind::Other,
    })
}

/// What is in the root of a file.
pub(crate) struct Directory {
    /// The names, as far as the directory is looked at.
    pub(crate) names: HashSet<String>,
    /// True if the directory leads out of the file.
    pub(crate) is_cut: bool,
}

/// Reads the names of what is in the root of a file.
pub(crate) fn names(source: &mut dyn Source, head: &[u8]) -> io::Result<Directory> {
    let mut entries = Vec::new();
    let is_cut = read_directory(source, head, &mut entries)?;
    let in_root = in_root(&entries);
    let entries = entries.iter().enumerate().filter(|(at, _)| in_root.is_empty() || in_root.contains(at));
    Ok(Directory { names: entries.filter_map(|(_, entry)| name(entry)).collect(), is_cut })
}

/// The entries of the root, which are a tree: each names the one to its left and to its right.
fn in_root(directory: &[[u8; ENTRY_BYTES]]) -> HashSet<usize> {
    let (mut found, mut next) = (HashSet::new(), Vec::new());
    let link =
        |entry: &[u8], at| u32_at(entry, at).and_then(|link| usize::try_from(link).ok()).filter(|link| *link > 0);
    next.extend(directory.first().and_then(|root| link(root, 76)));
    while let Some(at) = next.pop() {
        if let Some(entry) = directory.get(at)
            && found.insert(at)
        {
            next.extend([68, 72].into_iter().filter_map(|side| link(entry, side)));
        }
    }
    found
}

/// Reads the entries of the directory, as far as it is looked at. True if it leads out of the file.
fn read_directory(source: &mut dyn Source, head: &[u8], entries: &mut Vec<[u8; ENTRY_BYTES]>) -> io::Result<bool> {
    let Some(file) = Sectors::of(head) else {
        return Ok(false);
    };
    let Some(mut sector) = u32_at(head, 48) else {
        return Ok(true);
    };
    for _ in 0..DIRECTORY_SECTORS_MAX {
        if sector >= CHAIN_END {
            break;
        }
        let Some(bytes) = file.read(source, sector)? else {
            return Ok(true);
        };
        entries.extend(bytes.as_chunks::<ENTRY_BYTES>().0);
        let Some(next) = file.next(source, head, sector)? else {
            // The part of the table is not there, or the header does not name it: then the file is large, and not cut.
            return Ok(file.block(sector) < HEADER_BLOCKS);
        };
        sector = next;
    }
    Ok(false)
}

/// The name of a directory entry: UTF-16, its length in bytes with the ending zero behind it.
fn name(entry: &[u8; ENTRY_BYTES]) -> Option<String> {
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

    /// The part of the table that has a sector.
    fn block(&self, sector: u32) -> usize {
        usize::try_from(sector >> (self.shift - 2)).unwrap_or(usize::MAX)
    }

    /// The sector after another of its chain, if the part of the table that the header names has it.
    fn next(&self, source: &mut dyn Source, head: &[u8], sector: u32) -> io::Result<Option<u32>> {
        let entries = 1u32 << (self.shift - 2);
        let block = self.block(sector);
        let Some(table) = (block < HEADER_BLOCKS).then(|| u32_at(head, 76 + 4 * block)).flatten() else {
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

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    /// A compound file whose directory has these names: a sector for each list, chained by the table of sectors.
    pub(crate) fn compound(shift: u8, sectors: &[&[&str]]) -> Vec<u8> {
        let size = 1 << shift;
        let mut file = vec![0; size * (2 + sectors.len())];
        file[..8].copy_from_slice(&[0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1]);
        file[30] = shift;
        // The table is the first sector, and the directory begins in the one after it.
        file[48] = 1;
        for (sector, names) in (1..).zip(sectors) {
            let is_last = sector == sectors.len();
            let next = if is_last { 0xFFFF_FFFE } else { u32::try_from(sector + 1).expect("few sectors") };
            file[size + 4 * sector..][..4].copy_from_slice(&next.to_le_bytes());
            for (entry, name) in names.iter().enumerate() {
                let at = size * (1 + sector) + 128 * entry;
                let units: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
                file[at..at + units.len()].copy_from_slice(&units);
                file[at + 64] = u8::try_from(units.len() + 2).expect("a short name");
            }
        }
        file
    }

    fn kind_of(file: &[u8]) -> Kind {
        let mut source = Cursor::new(file);
        let head = crate::source::head(&mut source).expect("memory can be read");
        kind(&mut source, &head).expect("memory can be read")
    }

    #[test]
    fn the_names_of_streams_decide_the_kind() {
        for (names, expected) in [
            (&["Root Entry", "WordDocument"][..], Kind::Doc),
            (&["Root Entry", "Workbook"], Kind::Xls),
            (&["Book"], Kind::Xls),
            (&["PowerPoint Document"], Kind::Ppt),
            (&["EncryptedPackage"], Kind::OldOffice),
            (&["Root Entry", "__substg1.0_0037001F"], Kind::Msg),
            (&["__properties_version1.0", "WordDocument"], Kind::Msg),
            (&["Root Entry", "Quill", "Contents"], Kind::OldOffice),
            (&["FileHeader", "BodyText"], Kind::Hwp),
            (&["FileHeader"], Kind::Other),
            (&["Root Entry", "WORKBOOK"], Kind::Xls),
            (&["WordDocument2"], Kind::Other),
            (&[], Kind::Other),
        ] {
            for shift in [9, 12] {
                assert_eq!(kind_of(&compound(shift, &[names])), expected, "{names:?} {shift}");
            }
        }
    }

    #[test]
    fn a_document_within_another_does_not_decide() {
        let mut file = compound(9, &[&["Root Entry", "WordDocument", "Storage", "Workbook"]]);
        let link = |file: &mut [u8], entry: usize, at: usize, to: u32| {
            file[1024 + 128 * entry + at..][..4].copy_from_slice(&to.to_le_bytes());
        };
        for entry in 0..4 {
            [68, 72, 76].into_iter().for_each(|at| link(&mut file, entry, at, u32::MAX));
        }
        // The workbook and the storage are in the root, and the document of Word is in the storage.
        link(&mut file, 0, 76, 2);
        link(&mut file, 2, 72, 3);
        link(&mut file, 2, 76, 1);
        assert_eq!(kind_of(&file), Kind::Xls);
        link(&mut file, 3, 68, 2);
        assert_eq!(kind_of(&file), Kind::Xls, "a tree that runs in a circle");
    }

    #[test]
    fn the_directory_goes_on_in_the_sectors_of_its_chain() {
        let filler: &[&str] = &["a", "b", "c", "d"];
        for shift in [9, 12] {
            assert_eq!(kind_of(&compound(shift, &[filler, filler, &["Workbook"]])), Kind::Xls, "{shift}");
        }
        let mut sectors = vec![filler; DIRECTORY_SECTORS_MAX - 1];
        sectors.push(&["Workbook"]);
        assert_eq!(kind_of(&compound(9, &sectors)), Kind::Xls, "the last sector that is read");
        sectors.insert(0, filler);
        assert_eq!(kind_of(&compound(9, &sectors)), Kind::Other, "one beyond it");
    }

    #[test]
    fn a_chain_that_runs_in_a_circle_or_out_of_the_file_ends() {
        let filler: &[&str] = &["a", "b", "c", "d"];
        for next in [1, 2, 7, 500, 127 * 109, 0x7FFF_FFFF, 0xFFFF_FFF9, u32::MAX] {
            let mut file = compound(9, &[filler, &["Workbook"]]);
            let link: &mut [u8] = &mut file[512 + 4..][..4];
            link.copy_from_slice(&u32::to_le_bytes(next));
            let expected = match next {
                2 => Kind::Xls,
                1 | u32::MAX => Kind::Other,
                // The rest of the directory is not there.
                _ => Kind::OldOffice,
            };
            assert_eq!(kind_of(&file), expected, "{next:#x}");
        }
    }

    #[test]
    fn sectors_of_other_sizes_and_files_of_a_few_bytes_have_no_names() {
        let file = compound(9, &[&["Workbook"]]);
        for shift in [10, 11, 13] {
            assert_eq!(kind_of(&compound(shift, &[&["Workbook"]])), Kind::Other, "{shift}");
        }
        for shift in [0, 8, 16, 63, 64, 255] {
            let mut odd = file.clone();
            odd[30] = shift;
            assert_eq!(kind_of(&odd), Kind::Other, "{shift}");
        }
        for length in 0..1024 {
            // A file that is cut before its directory may have been any document.
            let expected = if length < 32 { Kind::Other } else { Kind::OldOffice };
            assert_eq!(kind_of(&file[..length]), expected, "{length}");
        }
    }

    proptest! {
        #[test]
        fn no_compound_file_of_a_stranger_takes_the_reader_down(
            shift in prop::sample::select(&[9_u8, 12][..]),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..9),
            header in prop::collection::vec((30..512_usize, any::<u8>()), 0..9),
        ) {
            let mut file = compound(shift, &[&["Root Entry", "WordDocument"], &["x"]]);
            for (at, byte) in changes {
                let at = at.index(file.len());
                file[at] = byte;
            }
            header.into_iter().filter(|(at, _)| *at > 31).for_each(|(at, byte)| file[at] = byte);
            prop_assert!(matches!(kind_of(&file), Kind::OldOffice | Kind::Doc | Kind::Xls | Kind::Ppt | Kind::Other | Kind::Msg));
        }
    }
}
