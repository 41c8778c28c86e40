//! The header of a file in a tar archive: one block, numbers in octal digits.

/// Everything in a tar archive fills blocks of this size.
pub(super) const BLOCK_BYTES: usize = 512;

/// What a header says.
pub(super) struct Header {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) kind: u8,
    /// Where a sparse file has bytes, as far as the header says: four places, a flag, the size of the whole.
    pub(super) sparse: Vec<u8>,
}

impl Header {
    /// Reads a header whose checksum holds.
    pub(super) fn parse(block: &[u8; BLOCK_BYTES]) -> Option<Header> {
        let counted = |(at, &byte): (usize, &u8)| if (148..156).contains(&at) { 32 } else { u64::from(byte) };
        if number(&block[148..156])? != block.iter().enumerate().map(counted).sum::<u64>() {
            return None;
        }
        let name = text(&block[..100]);
        // POSIX has a field for the beginning of a long name, where GNU keeps times and the map of a sparse file.
        let posix = &block[257..263] == b"ustar\0";
        let prefix = if posix { text(&block[345..500]) } else { String::new() };
        let name = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        Some(Header { name, size: number(&block[124..136])?, kind: block[156], sparse: block[386..495].to_vec() })
    }
}

/// How much fills up the last block of so many bytes.
pub(super) fn padding(bytes: u64) -> u64 {
    bytes.next_multiple_of(512).saturating_sub(bytes)
}

fn text(field: &[u8]) -> String {
    let end = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// A number in octal digits, or of more than they can say in base 256.
pub(super) fn number(field: &[u8]) -> Option<u64> {
    let (&first, rest) = field.split_first()?;
    if first & 0x80 != 0 {
        let start = u64::from(first & 0x7F);
        return rest.iter().try_fold(start, |sum, &byte| sum.checked_mul(256)?.checked_add(byte.into()));
    }
    let digits = str::from_utf8(field).ok()?.trim_matches([' ', '\0']);
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}
