//! Signatures of the federation's authority on documents that are read outside of it.

use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::certificate::CertificateInfo;
use super::error::IdentityError;
use super::key::{KeyHash, PrivateKey};

/// Separates signed documents from certificates, which the same key signs and which begin otherwise.
const DOMAIN: &[u8] = b"cognate signed document v1\0";

impl PrivateKey {
    /// Signs a document together with the certificate (DER) that comes with it: ECDSA P-256 with SHA-256, DER.
    ///
    /// # Errors
    /// If there is no randomness.
    pub fn sign(&self, document: &[u8], certificate: &[u8]) -> Result<Vec<u8>, IdentityError> {
        let signed = rcgen::SigningKey::sign(self.pair(), &message(document, certificate));
        signed.map_err(|error| IdentityError::Key(error.to_string()))
    }
}

/// The key that signed a document, by its certificate (DER). The caller decides whether to trust that key.
///
/// # Errors
/// If the certificate cannot be read, or its key did not sign these bytes.
pub fn signer_of(document: &[u8], certificate: &[u8], signature: &[u8]) -> Result<KeyHash, IdentityError> {
    let key = CertificateInfo::read(certificate)?.key;
    let (_, parsed) =
        X509Certificate::from_der(certificate).map_err(|error| IdentityError::Certificate(error.to_string()))?;
    let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &parsed.public_key().subject_public_key.data);
    public.verify(&message(document, certificate), signature).map_err(|_| IdentityError::Signature)?;
    Ok(key)
}

fn message(document: &[u8], certificate: &[u8]) -> Vec<u8> {
    // The hash has a fixed length, so the border between certificate and document is certain.
    [DOMAIN, blake3::hash(certificate).as_bytes(), document].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_holds_for_one_document_and_one_key() {
        let [key, other] = [(); 2].map(|()| PrivateKey::generate().unwrap());
        let certificate = |key: &PrivateKey| {
            let signed = rcgen::CertificateParams::default().self_signed(key.pair()).unwrap();
            signed.der().to_vec()
        };
        let own = certificate(&key);
        let signature = key.sign(b"nothing in common", &own).unwrap();
        assert_eq!(signer_of(b"nothing in common", &own, &signature).unwrap(), key.key_hash());
        assert!(matches!(signer_of(b"nothing in Common", &own, &signature), Err(IdentityError::Signature)));
        let others = certificate(&other);
        assert!(matches!(signer_of(b"nothing in common", &others, &signature), Err(IdentityError::Signature)));
        assert!(signer_of(b"nothing in common", b"no certificate", &signature).is_err());
        // A certificate signed by the same key does not count as a signed document.
        assert!(signer_of(&own, &own, &signature).is_err());
    }
}
