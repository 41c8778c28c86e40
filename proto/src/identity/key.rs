//! Private keys, and the hashes by which public keys are known.

use std::fmt;

use cognate_fingerprint::KeyFingerprint;
use rcgen::{CertificateParams, DistinguishedName, PublicKeyData as _};
use rustls::pki_types::PrivatePkcs8KeyDer;
use zeroize::Zeroizing;

use super::error::IdentityError;

/// SHA-256 of a public key (`SubjectPublicKeyInfo`, DER): the name of a key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyHash(pub [u8; 32]);

impl KeyHash {
    /// The hash of a public key, given as `SubjectPublicKeyInfo`.
    pub fn of(public_key_info: &[u8]) -> KeyHash {
        let digest = ring::digest::digest(&ring::digest::SHA256, public_key_info);
        KeyHash(digest.as_ref().try_into().expect("SHA-256 has 32 bytes"))
    }

    /// Six words that can be read out over the telephone: 96 bits of the hash.
    pub fn words(&self) -> String {
        key_words(&self.0)
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words())
    }
}

/// Sixteen bits as a word of five letters, consonants and vowels in turn: every word can be spoken, and no two sound
/// the same.
pub fn key_words(hash: &[u8; 32]) -> String {
    words(hash.first_chunk().expect("a hash has 32 bytes"))
}

/// The fingerprint of a federation key as six such words.
pub fn federation_key_words(key: &KeyFingerprint) -> String {
    words(key.0.first_chunk().expect("a fingerprint has 16 bytes"))
}

fn words(bits: &[u8; 12]) -> String {
    const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
    const VOWELS: &[u8; 4] = b"aiou";
    let word = |pair: &[u8]| -> String {
        let bits = usize::from(u16::from_be_bytes([pair[0], pair[1]]));
        let letter = |consonant: bool, shift: usize| match consonant {
            true => CONSONANTS[bits >> shift & 15],
            false => VOWELS[bits >> shift & 3],
        };
        [letter(true, 12), letter(false, 10), letter(true, 6), letter(false, 4), letter(true, 0)]
            .map(char::from)
            .iter()
            .collect()
    };
    bits.chunks(2).map(word).collect::<Vec<_>>().join("-")
}

/// A private key (ECDSA P-256). It is wiped from memory when it is dropped, and never shown.
pub struct PrivateKey {
    pair: rcgen::KeyPair,
    pkcs8: Zeroizing<Vec<u8>>,
}

impl PrivateKey {
    /// A new key from the system's random source.
    ///
    /// # Errors
    /// If there is no randomness.
    pub fn generate() -> Result<PrivateKey, IdentityError> {
        let pair = rcgen::KeyPair::generate().map_err(|error| IdentityError::Key(error.to_string()))?;
        Ok(PrivateKey { pkcs8: Zeroizing::new(pair.serialize_der()), pair })
    }

    /// The key in PKCS #8.
    ///
    /// # Errors
    /// If the bytes are no such key.
    pub fn from_pkcs8(der: &[u8]) -> Result<PrivateKey, IdentityError> {
        let pair = rcgen::KeyPair::try_from(&PrivatePkcs8KeyDer::from(der));
        let pair = pair.map_err(|error| IdentityError::Key(error.to_string()))?;
        Ok(PrivateKey { pkcs8: Zeroizing::new(der.to_vec()), pair })
    }

    /// The key in PKCS #8: as secret as the key.
    pub fn pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }

    /// The key pair that signs.
    pub fn pair(&self) -> &rcgen::KeyPair {
        &self.pair
    }

    /// The hash of the public key.
    pub fn key_hash(&self) -> KeyHash {
        KeyHash::of(&self.pair.subject_public_key_info())
    }

    /// A certificate signing request, DER. It contains only the public key: the coordinator decides everything
    /// else.
    ///
    /// # Errors
    /// If signing fails.
    pub fn signing_request(&self) -> Result<Vec<u8>, IdentityError> {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = DistinguishedName::new();
        let request = parameters.serialize_request(&self.pair);
        request.map(|request| request.der().to_vec()).map_err(|error| IdentityError::Key(error.to_string()))
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({})", self.key_hash().words())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signing_request_contains_only_the_key() {
        let key = PrivateKey::generate().unwrap();
        let der = key.signing_request().unwrap();
        assert!(der.len() < crate::limits::SIGNING_REQUEST_BYTES_MAX);
        let request = rcgen::CertificateSigningRequestParams::from_der(&der.into()).unwrap();
        assert_eq!(KeyHash::of(&request.public_key.subject_public_key_info()), key.key_hash());
        assert!(request.params.subject_alt_names.is_empty());
        let again = PrivateKey::from_pkcs8(key.pkcs8()).unwrap();
        assert_eq!(again.key_hash(), key.key_hash());
        assert!(PrivateKey::from_pkcs8(&key.pkcs8()[1..]).is_err());
    }

    #[test]
    fn a_key_is_six_words_that_can_be_spoken() {
        let mut hash = [0; 32];
        hash[..4].copy_from_slice(&[127, 0, 0, 1]);
        assert_eq!(key_words(&hash), "lusab-babad-babab-babab-babab-babab");
        assert_eq!(key_words(&[0xff; 32]), "zuzuz-zuzuz-zuzuz-zuzuz-zuzuz-zuzuz");
    }

    #[test]
    fn words_depend_on_the_first_ninety_six_bits() {
        let mut hash = [7; 32];
        let words = key_words(&hash);
        assert_eq!((words.split('-').count(), words.len()), (6, 35));
        hash[12] ^= 1;
        assert_eq!(key_words(&hash), words);
        hash[11] ^= 1;
        assert_ne!(key_words(&hash), words);
    }

    #[test]
    fn a_key_is_never_shown() {
        let key = PrivateKey::generate().unwrap();
        assert_eq!(format!("{key:?}"), format!("PrivateKey({})", key.key_hash().words()));
        assert_eq!(format!("{:?}", key.key_hash()), key.key_hash().words());
    }
}
