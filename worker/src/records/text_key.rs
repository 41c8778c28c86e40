//! The key under which extracted text is stored.

use cognate_fingerprint::View;

/// Identifies one extraction: the bytes, the version of the extraction, the recognition of text in pictures and, where it
/// matters, the name of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TextKey([u8; 16]);

impl TextKey {
    pub(crate) fn new(bytes_digest: [u8; 16], name: &str, recognition: u64) -> TextKey {
        let mut hasher = blake3::Hasher::new_derive_key("cognate extracted text v2");
        hasher.update(&View::TEXT_VERSION.to_le_bytes()).update(&recognition.to_le_bytes());
        hasher.update(&bytes_digest).update(name.as_bytes());
        let mut key = [0; 16];
        key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        TextKey(key)
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    pub(crate) fn from_bytes(bytes: [u8; 16]) -> TextKey {
        TextKey(bytes)
    }
}
