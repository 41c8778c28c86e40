//! Containers and documents that are known and not opened: what is in them is not compared, and reports say so.

use std::io::{self, Read as _, SeekFrom};

use super::Kind;
use crate::source::Source;

/// First bytes, and the kind that they show. The second number is the place of the bytes.
const SIGNATURES: [(&[u8], usize, Kind); 46] = [
    (b"Rar!\x1A\x07", 0, Kind::Rar),
    (b"!BDN", 0, Kind::OutlookStore),
    (b"\xCF\xAD\x12\xFE", 0, Kind::OutlookStore),
    (b"\x78\x9F\x3E\x22", 0, Kind::Tnef),
    (b"\xE4\x52\x5C\x7B\x8C\xD8\xA7\x4D\xAE\xB1\x53\x78\xD0\x29\x96\xD3", 0, Kind::OneNote),
    (b"\xA1\x2F\xFF\x43\xD9\xEF\x76\x4C\x9E\xE2\x10\xEA\x57\x22\x76\x5F", 0, Kind::OneNote),
    (b"ITSF", 0, Kind::Chm),
    (b"AT&TFORM", 0, Kind::Djvu),
    (b"MSCF\0\0\0\0", 0, Kind::Cab),
    (b"ISc(", 0, Kind::Cab),
    (b"MSWIM\0\0\0", 0, Kind::Wim),
    (b"\0\x01\0\0Standard Jet DB", 0, Kind::Access),
    (b"\0\x01\0\0Standard ACE DB", 0, Kind::Access),
    (b"\xFFWPC", 0, Kind::WordPerfect),
    (b"HWP Document File", 0, Kind::Hwp),
    (b"BOOKMOBI", 60, Kind::Ebook),
    (b"TEXtREAd", 60, Kind::Ebook),
    (b"ITOLITLS", 0, Kind::Ebook),
    (b"L\0R\0F\0\0\0", 0, Kind::Ebook),
    (b"\x1A\0\0\x04\0\0", 0, Kind::NotesDatabase),
    (b"\x06\x06\xED\xF5\xD8\x1D\x46\xE5\xBD\x31\xEF\xE7\xFE\x74\xB7\x1D", 0, Kind::Layout),
    (b"<MakerFile", 0, Kind::Layout),
    // Word, Write and Excel of the years before compound files.
    (b"\xDB\xA5\x2D\0", 0, Kind::OldOffice),
    (b"\x9B\xA5\x21\0", 0, Kind::OldOffice),
    (b"\xFE\x37\0\x23", 0, Kind::OldOffice),
    (b"\x31\xBE\0\0", 0, Kind::OldOffice),
    (b"\x32\xBE\0\0", 0, Kind::OldOffice),
    (b"\x09\0\x04\0", 0, Kind::OldOffice),
    (b"\x09\x02\x06\0", 0, Kind::OldOffice),
    (b"\x09\x04\x06\0", 0, Kind::OldOffice),
    (b"\0\0\x1A\0", 0, Kind::OldOffice),
    (b"\0\0\x02\0\x06\x04", 0, Kind::OldOffice),
    (b"Salted__", 0, Kind::EncryptedFile),
    (b"age-encryption.org/", 0, Kind::EncryptedFile),
    (b"-----BEGIN PGP MESSAGE-----", 0, Kind::EncryptedFile),
    (b"-----BEGIN AGE ENCRYPTED FILE-----", 0, Kind::EncryptedFile),
    (b"\x03\xD9\xA2\x9A", 0, Kind::EncryptedFile),
    (b"LUKS\xBA\xBE", 0, Kind::EncryptedFile),
    (b"KDMV", 0, Kind::DiskImage),
    (b"conectix", 0, Kind::DiskImage),
    (b"vhdxfile", 0, Kind::DiskImage),
    (b"QFI\xFB", 0, Kind::DiskImage),
    (b"hsqs", 0, Kind::DiskImage),
    (b"EVF\x09\x0D\x0A\xFF\0", 0, Kind::DiskImage),
    (b"\x53\xEF", 1080, Kind::DiskImage),
    (b"**ACE**", 7, Kind::OtherArchive),
];

/// The same of archives that hardly anybody makes any more, and of files that are compressed alone.
const ARCHIVES: [&[u8]; 14] = [
    b"070701",
    b"070702",
    b"070707",
    b"\xC7\x71",
    b"\x71\xC7",
    b"LZIP",
    b"\x1F\x9D",
    b"\x1F\xA0",
    b"\x04\x22\x4D\x18",
    b"\x89LZO\0\x0D\x0A\x1A\x0A",
    b"StuffIt",
    b"SIT!",
    b"!<arch>\n",
    b"\x60\xEA",
];

/// The place of the mark of a disc (ISO 9660).
const DISC_MARK_AT: u64 = 0x8001;

/// The kind of a document that is not opened, by its first bytes.
pub(super) fn kind(head: &[u8]) -> Option<Kind> {
    let has = |bytes: &[u8], at: usize| head.get(at..).is_some_and(|head| head.starts_with(bytes));
    let known = SIGNATURES.iter().find(|&&(bytes, at, _)| has(bytes, at)).map(|&(_, _, kind)| kind);
    known.or_else(|| {
        let is_archive = ARCHIVES.iter().any(|&bytes| has(bytes, 0)) || is_lha(head) || is_lzma(head);
        is_archive.then_some(Kind::OtherArchive)
    })
}

/// True if a document that begins with zeros is a disc.
pub(super) fn is_disc(source: &mut dyn Source, head: &[u8]) -> io::Result<bool> {
    if source.length_bytes() < DISC_MARK_AT + 5 || head.iter().any(|&byte| byte != 0) {
        return Ok(false);
    }
    source.seek(SeekFrom::Start(DISC_MARK_AT))?;
    let mut mark = Vec::new();
    source.take(5).read_to_end(&mut mark)?;
    Ok(mark == b"CD001" || mark == b"BEA01")
}

/// An LHA archive has the name of its method in each header.
fn is_lha(head: &[u8]) -> bool {
    matches!(head.get(2..7), Some([b'-', b'l', b'h' | b'z', _, b'-']))
}

/// LZMA without a container: its properties, a dictionary of a power of two, and a size that is none or sane.
fn is_lzma(head: &[u8]) -> bool {
    let Some([0x5D, dictionary @ .., _, _, _, _, _, _, _, _]) = head.first_chunk::<13>() else {
        return false;
    };
    let dictionary = u32::from_le_bytes(*dictionary);
    dictionary.is_power_of_two() && dictionary >= 1 << 12 && matches!(head[5..13], [0xFF, ..] | [.., 0, 0, 0])
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn no_signature_hides_another() {
        for &(bytes, at, kind) in &SIGNATURES {
            let head = [&vec![7; at], bytes, &[7; 30]].concat();
            assert_eq!(super::kind(&head), Some(kind), "{bytes:?}");
        }
        for bytes in ARCHIVES {
            assert_eq!(kind(&[bytes, &[7; 30]].concat()), Some(Kind::OtherArchive), "{bytes:?}");
        }
        assert_eq!(kind(b"xx-lh5-xxxx"), Some(Kind::OtherArchive));
        assert_eq!(kind(b"\x5D\0\0\x80\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFFx"), Some(Kind::OtherArchive));
        for head in [&b""[..], b"text", b"Rar", b"\x5D\0\0\x81\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", &[0; 2000]] {
            assert_eq!(kind(head), None, "{head:?}");
        }
    }

    #[test]
    fn a_disc_begins_with_zeros() {
        let mut disc = vec![0; 40_000];
        let is = |disc: &[u8]| is_disc(&mut Cursor::new(disc), &disc[..disc.len().min(16 << 10)]).unwrap();
        assert!(!is(&disc));
        disc[0x8001..0x8006].copy_from_slice(b"CD001");
        assert!(is(&disc));
        assert!(!is(&disc[..0x8004]));
        disc[5] = 1;
        assert!(!is(&disc));
    }
}
