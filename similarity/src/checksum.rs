//! The checksum of everything that this crate writes to files: BLAKE3 cut to 16 bytes.

/// Bytes of a checksum.
pub(crate) const CHECKSUM_BYTES: usize = 16;

pub(crate) type Checksum = [u8; CHECKSUM_BYTES];

/// The checksum of parts that stand one after the other.
pub(crate) fn checksum(parts: &[&[u8]]) -> Checksum {
    let mut hasher = blake3::Hasher::new();
    parts.iter().for_each(|part| {
        hasher.update(part);
    });
    let mut sum = Checksum::default();
    sum.copy_from_slice(&hasher.finalize().as_bytes()[..CHECKSUM_BYTES]);
    sum
}
