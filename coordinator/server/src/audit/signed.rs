//! A document with its signature at its end, which reveals every later change.

use cognate_proto::identity::{KeyHash, signer_of};
use data_encoding::BASE64;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::identity::Authority;

const ALGORITHM: &str = "ECDSA P-256 with SHA-256";

/// A kind of document, and the place of its signature.
#[derive(Debug)]
pub(super) struct Signed {
    /// The bytes ahead of the document itself.
    head: &'static str,
    /// The bytes between it and the signature.
    middle: &'static str,
    tail: &'static str,
}

/// The signer and the digest of a document.
#[derive(Serialize, Deserialize)]
struct Signature {
    algorithm: String,
    /// Of the authority, DER.
    certificate: String,
    value: String,
}

/// A reason for which a document does not match its signature.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum VerifyError {
    /// There is no signature in it.
    #[error("it has no signature at its end: it is no auditor's report, or it was cut off")]
    Unsigned,
    /// There is one that cannot be read.
    #[error("its signature cannot be read: it was changed")]
    Unreadable,
    /// There is one of something else.
    #[error("{0}")]
    Wrong(String),
}

impl Signed {
    /// One object with `audit` and `signature`.
    pub(super) const JSON: Signed = Signed { head: "{\"audit\":", middle: ",\"signature\":", tail: "}\n" };
    /// A page with a last comment.
    pub(super) const HTML: Signed = Signed { head: "<!doctype html>\n", middle: "\n<!-- signature: ", tail: " -->\n" };

    /// Puts a document and its signature together.
    ///
    /// # Errors
    /// Fails if it cannot be signed.
    pub(super) fn seal(&self, document: String, authority: &Authority) -> Result<Vec<u8>, Error> {
        let mut body = [self.head, &document].concat();
        let signature = Signature {
            algorithm: ALGORITHM.to_owned(),
            certificate: BASE64.encode(authority.certificate()),
            value: BASE64.encode(&authority.sign_document(body.as_bytes())?),
        };
        body.push_str(&self.trailer(&signature));
        Ok(body.into_bytes())
    }

    fn trailer(&self, signature: &Signature) -> String {
        let signature = serde_json::to_string(signature).unwrap_or_default();
        [self.middle, &signature, self.tail].concat()
    }

    fn verify(&self, file: &[u8]) -> Result<KeyHash, VerifyError> {
        let middle = self.middle.as_bytes();
        let last = file.windows(middle.len()).rposition(|window| window == middle).ok_or(VerifyError::Unsigned)?;
        let (body, trailer) = file.split_at(last);
        let signature = trailer[middle.len()..].strip_suffix(self.tail.as_bytes()).ok_or(VerifyError::Unreadable)?;
        let signature: Signature = serde_json::from_slice(signature).map_err(|_| VerifyError::Unreadable)?;
        // A document in any other layout is not the one that was signed.
        if signature.algorithm != ALGORITHM || self.trailer(&signature).as_bytes() != trailer {
            return Err(VerifyError::Unreadable);
        }
        let decoded = |text: &str| BASE64.decode(text.as_bytes()).map_err(|_| VerifyError::Unreadable);
        let (certificate, value) = (decoded(&signature.certificate)?, decoded(&signature.value)?);
        signer_of(body, &certificate, &value).map_err(|error| VerifyError::Wrong(error.to_string()))
    }
}

/// The authority whose key signed a document; `None`: the document is not of a kind that is signed.
///
/// # Errors
/// Fails if it is of such a kind but its signature does not match.
pub fn verify(file: &[u8]) -> Option<Result<KeyHash, VerifyError>> {
    let kind = [Signed::JSON, Signed::HTML].into_iter().find(|kind| file.starts_with(kind.head.as_bytes()))?;
    Some(kind.verify(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_changed_anywhere_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::create(folder.path(), || std::time::UNIX_EPOCH).unwrap();
        for kind in [Signed::JSON, Signed::HTML] {
            let sealed = kind.seal("{\"statement\":[\"Nothing.\"]}".to_owned(), &authority).unwrap();
            assert_eq!(verify(&sealed), Some(Ok(authority.key_hash())));
            for place in 0..sealed.len() {
                let mut changed = sealed.clone();
                changed[place] ^= 1;
                assert_ne!(verify(&changed).and_then(Result::ok), Some(authority.key_hash()), "byte {place}");
            }
            for cut in 0..sealed.len() {
                assert!(verify(&sealed[..cut]).is_none_or(|verified| verified.is_err()), "cut at {cut}");
            }
            let longer = [&sealed[..], b"<p>More.</p>"].concat();
            assert!(verify(&longer).unwrap().is_err());
        }
        assert!(verify(b"{\"schema\":\"cognate.report/1\"}").is_none());
    }
}
