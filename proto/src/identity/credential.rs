//! Credentials: a certificate with its key, which a member shows when it dials. Only the owner can read the file.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use cognate_durable::whole::{PRIVATE, write_whole};
use data_encoding::BASE64;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use zeroize::Zeroizing;

use super::certificate::CertificateInfo;
use super::error::IdentityError;
use super::key::PrivateKey;

/// No file of a credential is larger.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// A certificate, its key, and the CA that issued it.
pub struct Credential {
    /// The CA, DER.
    pub ca_certificate: Vec<u8>,
    /// The member's certificate, DER.
    pub certificate: Vec<u8>,
    /// The member's key.
    pub key: PrivateKey,
}

/// An error of reading or writing a credential.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The file cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Others can read the file.
    #[error("`{}` can be read by others (mode {mode:o}): its key may be known to others; `chmod 600` it, or get a new certificate", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The file holds no credential.
    #[error("`{}` holds no credential: {detail}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The problem.
        detail: String,
    },
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

    /// Reads a credential that [`Credential::store`] wrote.
    ///
    /// # Errors
    /// If it cannot be read, others can read it, or it is none.
    pub fn load(path: &Path) -> Result<Credential, CredentialError> {
        let text = read_private(path)?;
        Credential::from_pem(&text).map_err(|detail| CredentialError::Content { path: path.to_owned(), detail })
    }

    /// Writes the credential, completely or not at all, readable by its owner alone.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn store(&self, path: &Path) -> Result<(), CredentialError> {
        write_private(path, self.to_pem().as_bytes())
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

/// Reads a text that only its owner may read; refuses one that others can read.
///
/// # Errors
/// If it cannot be read, is too large or is no text, or others can read it.
pub fn read_private(path: &Path) -> Result<Zeroizing<String>, CredentialError> {
    let file_error = |source| CredentialError::File { path: path.to_owned(), source };
    let file = File::open(path).map_err(file_error)?;
    let metadata = file.metadata().map_err(file_error)?;
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(CredentialError::Open { path: path.to_owned(), mode });
    }
    let content = |detail: &str| CredentialError::Content { path: path.to_owned(), detail: detail.to_owned() };
    if metadata.len() > FILE_BYTES_MAX {
        return Err(content("it is larger than 64 KiB"));
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default() + 1));
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(file_error)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| content("it is not text"))?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// Writes a file that only its owner may read; after a crash it has the old or the new content.
///
/// # Errors
/// If it cannot be written. The earlier file then stays.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), CredentialError> {
    write_whole(path, bytes, PRIVATE).map_err(|source| CredentialError::File { path: path.to_owned(), source })
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
    fn a_credential_comes_back_from_its_file_and_from_its_text() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credential");
        let stored = credential();
        stored.store(&path).unwrap();
        let loaded = Credential::load(&path).unwrap();
        assert_eq!(loaded.to_pem(), stored.to_pem());
        assert_eq!(loaded.info().unwrap().key, stored.key.key_hash());
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
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
    fn a_file_that_others_can_read_is_refused_with_its_mode() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credential");
        write_private(&path, b"secret").unwrap();
        for (mode, refused) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true), (0o660, true)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            match read_private(&path) {
                Ok(text) => assert!(!refused && *text == "secret", "{mode:o}"),
                Err(error) => assert!(refused && error.to_string().contains(&format!("{mode:o}")), "{error}"),
            }
        }
    }

    #[test]
    fn a_file_that_is_too_large_or_no_text_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credential");
        for (bytes, reason) in [(vec![b'a'; 65_537], "larger than 64 KiB"), (vec![0xff], "not text")] {
            write_private(&path, &bytes).unwrap();
            assert!(read_private(&path).unwrap_err().to_string().contains(reason));
        }
        write_private(&path, &[b'a'; 65_536]).unwrap();
        assert_eq!(read_private(&path).unwrap().len(), 65_536);
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
