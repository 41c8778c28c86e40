//! `SipHash`-1-3: a keyed hash that is fast on a few words, where BLAKE3 takes as long as on sixty-four bytes.
//!
//! Source: Aumasson, Bernstein, "`SipHash`: a fast short-input PRF" (INDOCRYPT 2012), section 2.

/// A key.
#[derive(Clone, Copy)]
pub(crate) struct SipHash {
    key: [u64; 2],
}

impl SipHash {
    pub(crate) fn new(key: [u8; 16]) -> SipHash {
        let word = |half: &[u8]| u64::from_le_bytes(half.try_into().expect("eight bytes"));
        SipHash { key: [word(&key[..8]), word(&key[8..])] }
    }

    /// `SipHash`-1-3 of the bytes in these words. The last word has fewer than eight bytes, and in its highest byte the length of all.
    #[inline]
    pub(crate) fn hash_words<const WORDS: usize>(&self, words: [u64; WORDS]) -> u64 {
        let mut v = self.start();
        words.into_iter().for_each(|word| compress(&mut v, word));
        finish(v)
    }

    /// The state before the first word.
    #[inline]
    pub(crate) fn start(&self) -> [u64; 4] {
        let [k0, k1] = self.key;
        [k0 ^ 0x736f_6d65_7073_6575, k1 ^ 0x646f_7261_6e64_6f6d, k0 ^ 0x6c79_6765_6e65_7261, k1 ^ 0x7465_6462_7974_6573]
    }
}

#[inline]
fn compress(v: &mut [u64; 4], word: u64) {
    v[3] ^= word;
    round(v);
    v[0] ^= word;
}

#[inline]
fn finish(mut v: [u64; 4]) -> u64 {
    v[2] ^= 0xff;
    (0..3).for_each(|_| round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

#[inline]
fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use std::hash::{DefaultHasher, Hasher as _};

    use super::*;

    #[test]
    fn hashes_of_words_equal_those_of_the_standard_library() {
        // Its hasher is `SipHash`-1-3 under a key of zeros.
        let standard = |bytes: &[u8]| {
            let mut hasher = DefaultHasher::new();
            hasher.write(bytes);
            hasher.finish()
        };
        let sip = SipHash::new([0; 16]);
        let bytes = *b"seventeen bytes !";
        let word = |from: usize| u64::from_le_bytes(*bytes[from..].first_chunk().unwrap());
        assert_eq!(sip.hash_words([4 << 56 | word(0) & 0xffff_ffff]), standard(&bytes[..4]));
        assert_eq!(sip.hash_words([0]), standard(b""));
        assert_eq!(sip.hash_words([word(0), word(8), 17 << 56 | u64::from(bytes[16])]), standard(&bytes));
    }
}
