//! The federation key and what is derived from it. Every secret has a purpose of its own, named in its context string.

use std::fmt;

use crate::hex::{self, identity};

/// The key that the sites of a federation share and that no coordinator ever holds; or none, for work among friends.
///
/// Without a key, anybody who holds a document can test whether its chunks occur elsewhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// The 32 secret bytes, or none at all.
    material: Option<[u8; 32]>,
}

identity! {
    /// Names a key without giving it away, so that two sites can see that theirs differ before any work is done.
    KeyFingerprint
}

/// Why bytes are not a key.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("a key is 32 bytes, or 64 hexadecimal digits; this has {length_bytes} bytes")]
pub struct KeyError {
    /// How many bytes there were.
    pub length_bytes: usize,
}

impl Key {
    /// No key: tags are hashes under a constant that everybody knows.
    pub const fn none() -> Key {
        Key { material: None }
    }

    /// Reads a key file: 32 bytes as they are, or 64 hexadecimal digits with or without a line end.
    ///
    /// # Errors
    /// When the bytes are neither.
    pub fn parse(file: &[u8]) -> Result<Key, KeyError> {
        let refused = KeyError { length_bytes: file.len() };
        if let Ok(material) = <[u8; 32]>::try_from(file) {
            return Ok(Key { material: Some(material) });
        }
        let material = hex::parse::<32>(file.trim_ascii()).ok_or(refused)?;
        Ok(Key { material: Some(material) })
    }

    /// Whether there is a key at all.
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

    /// As many secret bytes as asked for, for one purpose.
    pub(crate) fn derive_into(&self, context: &'static str, secret: &mut [u8]) {
        self.stream(context).fill(secret);
    }

    /// Secret bytes without end, for one purpose.
    pub(crate) fn stream(&self, context: &'static str) -> blake3::OutputReader {
        blake3::Hasher::new_derive_key(context).update(self.bytes()).finalize_xof()
    }

    fn bytes(&self) -> &[u8] {
        self.material.as_ref().map_or(&[], |material| material.as_slice())
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

/// The first half of a 32-byte hash: what all our 16-byte identities are.
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
}
