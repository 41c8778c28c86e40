//! A certificate with its key: what a member shows when it dials. In a file, it is for its owner's eyes only.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use data_encoding::BASE64;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use zeroize::Zeroizing;

use super::{CertificateInfo, IdentityError, PrivateKey};

/// No file of a credential is larger.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// A certificate, its key, and the CA that both sides know.
pub struct Credential {
    /// The CA, DER.
    pub ca_certificate: Vec<u8>,
    /// The member's certificate, DER.
    pub certificate: Vec<u8>,
    /// The member's key.
    pub key: PrivateKey,
}

/// Why a credential cannot be had.
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
    #[error("`{}` can be read by others (mode {mode:o}): its key must be taken as known; `chmod 600` it, or get a new certificate", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It is not what was expected.
    #[error("`{}` holds no credential: {detail}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        detail: String,
    },
}

impl Credential {
    /// The credential, if the certificate is for the key.
    ///
    /// # Errors
    /// When the two do not belong together, or one of the certificates cannot be read.
    pub fn new(ca_certificate: Vec<u8>, certificate: Vec<u8>, key: PrivateKey) -> Result<Credential, IdentityError> {
        CertificateInfo::read(&ca_certificate)?;
        if CertificateInfo::read(&certificate)?.key != key.key_hash() {
            return Err(IdentityError::Certificate("it is for another key".to_owned()));
        }
        Ok(Credential { ca_certificate, certificate, key })
    }

    /// What the certificate says.
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
    /// What is missing or wrong.
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
    /// When it cannot be read, others can read it, or it is none.
    pub fn load(path: &Path) -> Result<Credential, CredentialError> {
        let text = read_private(path)?;
        Credential::from_pem(&text).map_err(|detail| CredentialError::Content { path: path.to_owned(), detail })
    }

    /// Writes the credential, whole or not at all, for its owner alone.
    ///
    /// # Errors
    /// When it cannot be written.
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
/// When it cannot be read, is too large or is no text, or its mode lets others in.
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

/// Writes a file that only its owner may read: beside it first, synced, then in its place.
///
/// # Errors
/// When it cannot be written. What stood there before then still does.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), CredentialError> {
    let file_error = |source| CredentialError::File { path: path.to_owned(), source };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let beside = path.with_file_name(name);
    let write = || {
        // What a crash has left there may have another mode.
        match std::fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&beside, path)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder)?.sync_all()
    };
    write().map_err(|source| {
        let _ = std::fs::remove_file(&beside);
        file_error(source)
    })
}
