//! The header of a file in a tar archive: one block, numbers in octal digits.

/// Everything in a tar archive fills blocks of this size.
pub(super) const BLOCK_BYTES: usize = 512;

/// The fields of a header.
pub(super) struct Header {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) kind: u8,
    /// The map of a sparse file, as far as the header has it: four places, a flag, the size of the file.
    pub(super) sparse: Vec<u8>,
}

impl Header {
    /// Reads a header whose checksum is right.
    pub(super) fn parse(block: &[u8; BLOCK_BYTES]) -> Option<Header> {
        let counted = |(at, &byte): (usize, &u8)| if (148..156).contains(&at) { 32 } else { u64::from(byte) };
        if number(&block[148..156])? != block.iter().enumerate().map(counted).sum::<u64>() {
            return None;
        }
        let name = text(&block[..100]);
        // POSIX has a field for the beginning of a long name, where GNU tar writes times and the map of a sparse file.
        let posix = &block[257..263] == b"ustar\0";
        let prefix = if posix { text(&block[345..500]) } else { String::new() };
        let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        Some(Header { name, size: number(&block[124..136])?, kind: block[156], sparse: block[386..495].to_vec() })
    }
}

/// Bytes that fill up the last block of so many bytes.
pub(super) fn padding(bytes: u64) -> u64 {
    (512 - bytes % 512) % 512
}

fn text(field: &[u8]) -> String {
    let end = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// A number in octal digits, or in base 256 if it is too large for them.
pub(super) fn number(field: &[u8]) -> Option<u64> {
    let (&first, rest) = field.split_first()?;
    if first & 0x80 != 0 {
        let start = u64::from(first & 0x7F);
        return rest.iter().try_fold(start, |sum, &byte| sum.checked_mul(256)?.checked_add(byte.into()));
    }
    let digits = str::from_utf8(field).ok()?.trim_matches([' ', '\0']);
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of a file with these fields and a right checksum.
    fn block(fields: &[(usize, &[u8])]) -> [u8; BLOCK_BYTES] {
        let mut block = [0; BLOCK_BYTES];
        for (at, bytes) in [(124, &b"00000000012\0"[..]), (156, b"0")].iter().chain(fields) {
            block[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        block[148..156].fill(b' ');
        let sum: u64 = block.iter().map(|&byte| u64::from(byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        block
    }

    #[test]
    fn numbers_are_octal_or_in_base_256() {
        for (field, expected) in [
            (&b""[..], None),
            (b"\0\0\0", Some(0)),
            (b"  12\0", Some(10)),
            (b"777 ", Some(511)),
            (b"8", None),
            (b"-1", None),
            (b"1 2", None),
            (b"\x80\0\x01", Some(1)),
            (b"\x81\0", Some(256)),
            (b"\x80\xff\xff\xff\xff\xff\xff\xff\xff", Some(u64::MAX)),
            (b"\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff", None),
        ] {
            assert_eq!(number(field), expected, "{field:?}");
        }
    }

    #[test]
    fn a_header_has_its_name_size_and_kind() {
        for (fields, name) in [
            (&[(0, &b"a.txt"[..])][..], "a.txt"),
            (&[(0, b"a.txt"), (257, b"ustar\0"), (345, b"in/here")], "in/here/a.txt"),
            // GNU tar writes other fields at the place of the prefix.
            (&[(0, b"a.txt"), (257, b"ustar  "), (345, b"in/here")], "a.txt"),
            (&[(0, &[b'x'; 100])], &"x".repeat(100)),
        ] {
            let header = Header::parse(&block(fields)).unwrap();
            assert_eq!((header.name.as_str(), header.size, header.kind), (name, 10, b'0'));
        }
    }

    #[test]
    fn a_header_whose_checksum_is_wrong_is_none() {
        let good = block(&[(0, b"a")]);
        assert!(Header::parse(&good).is_some());
        for at in [0, 100, 124, 156, 511] {
            let mut bad = good;
            bad[at] ^= 1;
            assert!(Header::parse(&bad).is_none(), "{at}");
        }
    }

    #[test]
    fn blocks_are_filled_up() {
        for (bytes, expected) in [(0, 0), (1, 511), (511, 1), (512, 0), (513, 511)] {
            assert_eq!(padding(bytes), expected, "{bytes}");
        }
    }
}
