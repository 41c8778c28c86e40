//! The checksum of all files that this crate writes: BLAKE3 cut to 16 bytes.

/// Bytes of a checksum.
pub(crate) const CHECKSUM_BYTES: usize = 16;

pub(crate) type Checksum = [u8; CHECKSUM_BYTES];

/// The checksum of parts in sequence.
pub(crate) fn checksum(parts: &[&[u8]]) -> Checksum {
    let mut hasher = blake3::Hasher::new();
    parts.iter().for_each(|part| {
        hasher.update(part);
    });
    let mut sum = Checksum::default();
    sum.copy_from_slice(&hasher.finalize().as_bytes()[..CHECKSUM_BYTES]);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_that_of_all_parts_in_sequence() {
        assert_eq!(checksum(&[b"ab", b"", b"c"]), checksum(&[b"abc"]));
        assert_ne!(checksum(&[b"ab", b"c"]), checksum(&[b"c", b"ab"]));
        assert_eq!(checksum(&[]), blake3::hash(b"").as_bytes()[..CHECKSUM_BYTES]);
    }
}
