//! The federation key and the secrets derived from it. Every secret has one purpose, named in its context string.

use std::fmt;

use zeroize::Zeroize as _;

use crate::hex::{self, identity};

/// The key that the sites of a federation share and that the coordinator never holds; or no key.
///
/// Without a key, anybody who holds a document can test if its chunks occur elsewhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// The 32 secret bytes; `None` if there is no key.
    material: Option<[u8; 32]>,
}

identity! {
    /// Names a key without revealing it, so that two sites can see early that their keys differ.
    KeyFingerprint
}

/// The bytes of a file are not a key.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("a key is 32 bytes, or 64 hexadecimal digits; this has {length_bytes} bytes")]
pub struct KeyError {
    /// The number of bytes in the file.
    pub length_bytes: usize,
}

impl Key {
    /// No key: tags are hashes under a public constant.
    pub const fn none() -> Key {
        Key { material: None }
    }

    /// Reads a key file: 32 bytes as they are, or 64 hexadecimal digits with or without a line end.
    ///
    /// # Errors
    /// If the bytes are neither.
    pub fn parse(file: &[u8]) -> Result<Key, KeyError> {
        let refused = KeyError { length_bytes: file.len() };
        if let Ok(material) = <[u8; 32]>::try_from(file) {
            return Ok(Key { material: Some(material) });
        }
        let material = hex::parse::<32>(file.trim_ascii()).ok_or(refused)?;
        Ok(Key { material: Some(material) })
    }

    /// True if there is a key.
    pub fn is_keyed(&self) -> bool {
        self.material.is_some()
    }

    /// The public name of this key.
    pub fn fingerprint(&self) -> KeyFingerprint {
        KeyFingerprint(first_16(self.derive("cognate key fingerprint v1")))
    }

    /// The 32-byte secret for one purpose.
    pub(crate) fn derive(&self, context: &'static str) -> [u8; 32] {
        blake3::derive_key(context, self.bytes())
    }

    /// Fills `secret` with secret bytes for one purpose.
    pub(crate) fn derive_into(&self, context: &'static str, secret: &mut [u8]) {
        self.stream(context).fill(secret);
    }

    /// An endless stream of secret bytes for one purpose.
    pub(crate) fn stream(&self, context: &'static str) -> blake3::OutputReader {
        blake3::Hasher::new_derive_key(context).update(self.bytes()).finalize_xof()
    }

    fn bytes(&self) -> &[u8] {
        self.material.as_ref().map_or(&[], |material| material.as_slice())
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.material.zeroize();
    }
}

impl fmt::Debug for Key {
    /// Never shows the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.material {
            Some(_) => write!(f, "Key({})", self.fingerprint()),
            None => write!(f, "Key(none)"),
        }
    }
}

/// The first half of a 32-byte hash. All 16-byte identities are made so.
pub(crate) fn first_16(hash: impl Into<[u8; 32]>) -> [u8; 16] {
    let hash: [u8; 32] = hash.into();
    let mut first = [0; 16];
    first.copy_from_slice(&hash[..16]);
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_may_be_bytes_or_hexadecimal_digits() {
        let bytes = [0xab; 32];
        let digits = "ab".repeat(32) + "\n";
        assert_eq!(Key::parse(&bytes), Key::parse(digits.as_bytes()));
        assert!(Key::parse(&bytes).unwrap().is_keyed());
    }

    #[test]
    fn anything_else_is_not_a_key() {
        for file in [&b""[..], b"secret", &[0; 31], "zz".repeat(32).as_bytes()] {
            assert_eq!(Key::parse(file), Err(KeyError { length_bytes: file.len() }));
        }
    }

    #[test]
    fn a_key_is_never_shown_and_its_fingerprint_names_it() {
        let key = Key::parse(&[7; 32]).unwrap();
        assert_eq!(format!("{key:?}"), format!("Key({})", key.fingerprint()));
        assert_ne!(key.fingerprint(), Key::none().fingerprint());
        assert_ne!(key.fingerprint(), Key::parse(&[8; 32]).unwrap().fingerprint());
    }

    #[test]
    fn each_purpose_has_a_secret_of_its_own_and_a_longer_secret_begins_with_a_shorter_one() {
        for key in [Key::none(), Key::parse(&[7; 32]).unwrap()] {
            assert_ne!(key.derive("a purpose"), key.derive("another purpose"));
            let mut secret = [0; 100];
            key.derive_into("a purpose", &mut secret);
            assert_eq!(secret[..32], key.derive("a purpose"));
            let mut streamed = [0; 100];
            let mut stream = key.stream("a purpose");
            streamed.chunks_mut(9).for_each(|part| stream.fill(part));
            assert_eq!(streamed, secret);
        }
        assert_eq!(first_16([5; 32]), [5; 16]);
    }

    #[test]
    fn white_space_around_digits_is_allowed_and_around_bytes_it_is_not() {
        let digits = "0a".repeat(32);
        for file in [format!("{digits}\r\n"), format!("  {digits}"), digits.to_uppercase()] {
            assert_eq!(Key::parse(file.as_bytes()), Key::parse(&[10; 32]), "{file:?}");
        }
        for length in [0, 31, 33, 63, 65, 66] {
            assert_eq!(Key::parse(&vec![b'f'; length]), Err(KeyError { length_bytes: length }));
        }
    }
}
