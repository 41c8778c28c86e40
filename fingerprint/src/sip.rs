//! `SipHash`-2-4: a keyed hash that is fast on a few bytes, where BLAKE3 takes as long as on sixty-four.
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

    /// The hash of some bytes.
    #[inline]
    pub(crate) fn hash(&self, bytes: &[u8]) -> u64 {
        let [k0, k1] = self.key;
        let mut v = [
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ];
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            compress(&mut v, u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let length = (bytes.len() as u64) << 56;
        compress(&mut v, u64::from_le_bytes(last) | length);
        v[2] ^= 0xff;
        (0..4).for_each(|_| round(&mut v));
        v[0] ^ v[1] ^ v[2] ^ v[3]
    }
}

#[inline]
fn compress(v: &mut [u64; 4], word: u64) {
    v[3] ^= word;
    (0..2).for_each(|_| round(v));
    v[0] ^= word;
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
    use super::*;

    #[test]
    fn hashes_equal_the_vectors_of_the_paper() {
        // Appendix A, and the first lines of the authors' `vectors_sip64`.
        let bytes: Vec<u8> = (0..16).collect();
        let sip = SipHash::new(bytes.clone().try_into().unwrap());
        let expected = [
            (0, 0x726f_db47_dd0e_0e31),
            (1, 0x74f8_39c5_93dc_67fd),
            (8, 0x93f5_f579_9a93_2462),
            (15, 0xa129_ca61_49be_45e5),
        ];
        for (length, hash) in expected {
            assert_eq!(sip.hash(&bytes[..length]), hash, "{length}");
        }
    }
}
