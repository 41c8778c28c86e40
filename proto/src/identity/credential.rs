//! Credentials: a certificate with its key, which a member shows when it dials.

use std::fmt;

use data_encoding::BASE64;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use zeroize::Zeroizing;

use super::certificate::CertificateInfo;
use super::error::IdentityError;
use super::key::PrivateKey;

/// A certificate, its key, and the CA that issued it.
pub struct Credential {
    /// The CA, DER.
    pub ca_certificate: Vec<u8>,
    /// The member's certificate, DER.
    pub certificate: Vec<u8>,
    /// The member's key.
    pub key: PrivateKey,
}

impl Credential {
    /// The credential, if the certificate is for the key.
    ///
    /// # Errors
    /// If the two do not belong together, or one of the certificates cannot be read.
    pub fn new(ca_certificate: Vec<u8>, certificate: Vec<u8>, key: PrivateKey) -> Result<Credential, IdentityError> {
        CertificateInfo::read(&ca_certificate)?;
        if CertificateInfo::read(&certificate)?.key != key.key_hash() {
            return Err(IdentityError::Certificate("it is for another key".to_owned()));
        }
        Ok(Credential { ca_certificate, certificate, key })
    }

    /// The facts of the certificate.
    ///
    /// # Errors
    /// Never for a credential that was made by [`Credential::new`].
    pub fn info(&self) -> Result<CertificateInfo, IdentityError> {
        CertificateInfo::read(&self.certificate)
    }

    /// Key, certificate and CA, in this order, as PEM: as secret as the key.
    pub fn to_pem(&self) -> Zeroizing<String> {
        let mut pem = pem("PRIVATE KEY", self.key.pkcs8());
        pem.push_str(&self::pem("CERTIFICATE", &self.certificate));
        pem.push_str(&self::pem("CERTIFICATE", &self.ca_certificate));
        pem
    }

    /// The reverse of [`Credential::to_pem`].
    ///
    /// # Errors
    /// The missing or invalid part.
    pub fn from_pem(text: &str) -> Result<Credential, String> {
        let key = PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes()).map_err(|_| "there is no private key")?;
        let key = PrivateKey::from_pkcs8(key.secret_pkcs8_der()).map_err(|error| error.to_string())?;
        let certificates: Result<Vec<CertificateDer<'_>>, _> =
            CertificateDer::pem_slice_iter(text.as_bytes()).collect();
        match certificates.map_err(|_| "a certificate cannot be read")?.as_slice() {
            [certificate, ca] => {
                Credential::new(ca.to_vec(), certificate.to_vec(), key).map_err(|error| error.to_string())
            }
            others => Err(format!("there are {} certificates where two belong: its own and the CA's", others.len())),
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("certificate", &self.info()).field("key", &self.key).finish_non_exhaustive()
    }
}

/// One section of PEM.
pub fn pem(label: &str, der: &[u8]) -> Zeroizing<String> {
    let encoded = Zeroizing::new(BASE64.encode(der));
    let mut text = Zeroizing::new(String::with_capacity(encoded.len() * 2 + 64));
    text.push_str(&format!("-----BEGIN {label}-----\n"));
    for line in encoded.as_bytes().chunks(64) {
        text.push_str(std::str::from_utf8(line).expect("base64 is ASCII"));
        text.push('\n');
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credential() -> Credential {
        let key = PrivateKey::generate().unwrap();
        let certificate = rcgen::CertificateParams::default().self_signed(key.pair()).unwrap().der().to_vec();
        Credential::new(certificate.clone(), certificate, key).unwrap()
    }

    #[test]
    fn a_credential_comes_back_from_its_text() {
        let made = credential();
        let read = Credential::from_pem(&made.to_pem()).unwrap();
        assert_eq!(read.to_pem(), made.to_pem());
        assert_eq!(read.info().unwrap().key, made.key.key_hash());
    }

    #[test]
    fn a_certificate_for_another_key_is_refused() {
        let (one, other) = (credential(), credential());
        assert!(Credential::new(one.ca_certificate.clone(), other.certificate, one.key).is_err());
    }

    #[test]
    fn a_text_that_is_no_credential_is_refused_for_its_reason() {
        let pem = credential().to_pem();
        let certificate = pem.find("-----BEGIN CERT").unwrap();
        for (text, reason) in [
            (String::new(), "there is no private key"),
            (pem[certificate..].to_owned(), "there is no private key"),
            (pem[..certificate].to_owned(), "there are 0 certificates"),
            (format!("{}{}", &*pem, &pem[certificate..]), "there are 4 certificates"),
        ] {
            let error = Credential::from_pem(&text).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn lines_of_pem_have_64_characters_at_most() {
        for bytes in [0, 1, 48, 49, 500] {
            let text = pem("TEST", &vec![7; bytes]);
            assert!(text.lines().all(|line| line.len() <= 64));
            assert_eq!(text.lines().count(), 2 + (bytes.div_ceil(3) * 4).div_ceil(64));
        }
    }
}
