//! A link: two contents that share enough, and how many bytes they share.

use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::posting::ContentIndex;

/// Two contents and the bytes that they share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Link {
    /// The content with the smaller number.
    pub a: ContentIndex,
    /// The content with the larger number.
    pub b: ContentIndex,
    /// The bytes of the chunks that both hold, templates apart.
    pub shared_bytes: u64,
}

impl Link {
    /// Bytes of a link in a file.
    pub(crate) const BYTES: usize = 16;

    /// Writes the link into `BYTES` bytes.
    pub(crate) fn encode(&self, out: &mut [u8]) {
        out[..4].copy_from_slice(&self.a.0.to_le_bytes());
        out[4..8].copy_from_slice(&self.b.0.to_le_bytes());
        out[8..16].copy_from_slice(&self.shared_bytes.to_le_bytes());
    }

    /// Reads a link back from `BYTES` bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Link {
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("a word has 4 bytes"));
        let shared = bytes[8..].try_into().expect("a long word has 8 bytes");
        Link { a: ContentIndex(word(0)), b: ContentIndex(word(4)), shared_bytes: u64::from_le_bytes(shared) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_comes_back_from_its_bytes() {
        for (a, b, shared_bytes) in [(0, 1, 0), (7, 1 << 30, u64::MAX), (u32::MAX - 1, u32::MAX, 1 << 40)] {
            let link = Link { a: ContentIndex(a), b: ContentIndex(b), shared_bytes };
            let mut bytes = [9; Link::BYTES];
            link.encode(&mut bytes);
            assert_eq!(Link::decode(&bytes), link);
        }
    }

    #[test]
    fn links_are_ordered_by_their_contents_then_by_their_bytes() {
        let link = |(a, b, shared_bytes)| Link { a: ContentIndex(a), b: ContentIndex(b), shared_bytes };
        let ordered = [(0, 1, 9), (0, 2, 1), (0, 2, 2), (1, 2, 0), (2, 9, 0)].map(link);
        assert!(ordered.is_sorted());
    }
}
