//! The files of an identity in the state folder: `identity.pem` (key, certificate and CA), `addresses` (of the coordinator, one
//! per line), `enrolling.TOKEN.key` while the site joins, and `identity.next.key` and `identity.previous.pem` while it renews
//! its certificate.

use std::io;
use std::path::{Path, PathBuf};

use cognate_durable::private::{PrivateFileError, read_private, write_private};
use cognate_durable::whole::{PRIVATE, write_whole};
use cognate_proto::identity::{Credential, PrivateKey};
use data_encoding::HEXLOWER;
use zeroize::Zeroizing;

use super::error::EnrolmentError;

pub(super) fn current(folder: &Path) -> PathBuf {
    folder.join("identity.pem")
}

pub(super) fn previous(folder: &Path) -> PathBuf {
    folder.join("identity.previous.pem")
}

pub(super) fn next_key(folder: &Path) -> PathBuf {
    folder.join("identity.next.key")
}

pub(super) fn addresses(folder: &Path) -> PathBuf {
    folder.join("addresses")
}

/// Writes the addresses of the coordinator, all or none.
pub(super) fn store_addresses(folder: &Path, all: &[String]) -> Result<(), EnrolmentError> {
    let path = addresses(folder);
    write_whole(&path, (all.join("\n") + "\n").as_bytes(), PRIVATE)
        .map_err(|source| EnrolmentError::State { path, source })
}

pub(super) fn enrolling_key(folder: &Path, token_id: &[u8]) -> PathBuf {
    folder.join(format!("enrolling.{}.key", HEXLOWER.encode(token_id)))
}

/// Reads a credential that [`store_credential`] wrote.
pub(super) fn load_credential(path: &Path) -> Result<Credential, PrivateFileError> {
    let text = read_private(path)?;
    Credential::from_pem(&text).map_err(|detail| {
        let detail = format!("it holds no credential: {detail}");
        PrivateFileError::Content { path: path.to_owned(), detail }
    })
}

/// Writes a credential, completely or not at all.
pub(super) fn store_credential(credential: &Credential, path: &Path) -> Result<(), PrivateFileError> {
    write_private(path, credential.to_pem().as_bytes())
}

/// Reads the key in a file. If there is none, makes a key and writes it first.
pub(super) fn stored_key(path: &Path) -> Result<PrivateKey, EnrolmentError> {
    if path.try_exists().map_err(|source| EnrolmentError::State { path: path.to_owned(), source })? {
        let digits = read_private(path)?;
        let der = Zeroizing::new(HEXLOWER.decode(digits.trim().as_bytes()).unwrap_or_default());
        if let Ok(key) = PrivateKey::from_pkcs8(&der) {
            return Ok(key);
        }
        // The file is incomplete, so its key was never sent.
    }
    let key = PrivateKey::generate()?;
    write_private(path, Zeroizing::new(HEXLOWER.encode(key.pkcs8())).as_bytes())?;
    Ok(key)
}

/// Removes a file, if it exists.
pub(super) fn remove(path: &Path) -> Result<(), EnrolmentError> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(EnrolmentError::State { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_file_without_a_credential_is_refused_by_name_and_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = current(folder.path());
        write_private(&path, b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n").unwrap();
        let error = load_credential(&path).unwrap_err().to_string();
        assert!(error.contains("identity.pem") && error.contains("holds no credential"), "{error}");
    }
}
