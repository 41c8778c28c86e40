//! The identity of a site: its certificate with its key, and the addresses of the coordinator.
//!
//! Keys are made at this site and never leave it. Each file is written completely or not at all, and only its owner can read
//! it. At every moment there are a key and a certificate that belong together.

use std::path::{Path, PathBuf};

use cognate_proto::dial::{Dial, DialError, Trust};
use cognate_proto::identity::{CertificateInfo, Credential, IdentityError, KeyHash, PrivateKey};
use cognate_proto::v1::{RenewRequest, RenewResponse};

use super::error::EnrolmentError;
use super::files::{self, current, load_credential, next_key, previous, remove, store_credential, stored_key};
use crate::error::SiteError;

/// The identity of a site.
#[derive(Debug)]
pub struct Identity {
    folder: PathBuf,
    credential: Credential,
    addresses: Vec<String>,
}

impl Identity {
    pub(super) fn new(folder: &Path, credential: Credential, addresses: Vec<String>) -> Identity {
        Identity { folder: folder.to_owned(), credential, addresses }
    }

    /// Opens the identity of a state folder.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub fn open(folder: &Path) -> Result<Identity, EnrolmentError> {
        let file = current(folder);
        if !file.try_exists().map_err(|source| EnrolmentError::State { path: file.clone(), source })? {
            return Err(EnrolmentError::NotEnrolled);
        }
        let credential = load_credential(&file)?;
        let pending = next_key(folder);
        // A renewal was interrupted at its end: the next key is the current one already.
        if pending.try_exists().unwrap_or(false) && stored_key(&pending)?.key_hash() == credential.key.key_hash() {
            remove(&pending)?;
        }
        let path = files::addresses(folder);
        let addresses = std::fs::read_to_string(&path).map_err(|source| EnrolmentError::State { path, source })?;
        Ok(Identity::new(folder, credential, addresses.lines().map(str::to_owned).collect()))
    }

    /// The site's name in its certificate.
    pub fn site(&self) -> Option<String> {
        Some(self.credential.info().ok()?.member?.name)
    }

    /// The fields of the certificate.
    ///
    /// # Errors
    /// If the certificate is damaged.
    pub fn info(&self) -> Result<CertificateInfo, IdentityError> {
        self.credential.info()
    }

    /// The hash of the site's key, whose words can be compared by telephone.
    pub fn key(&self) -> KeyHash {
        self.credential.key.key_hash()
    }

    /// The hash of the authority's key, under which the coordinator signs its reports.
    ///
    /// # Errors
    /// If the certificate of the authority is damaged.
    pub fn authority(&self) -> Result<KeyHash, IdentityError> {
        Ok(CertificateInfo::read(&self.credential.ca_certificate)?.key)
    }

    /// The addresses of the coordinator.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Prepares a connection.
    ///
    /// # Errors
    /// If the addresses or the certificate are not usable.
    pub fn dial(&self) -> Result<Dial, DialError> {
        Dial::new(&self.addresses, &Trust::Ca(self.credential.ca_certificate.clone()), Some(&self.credential))
    }

    /// Reaches the coordinator at other addresses from now on, with the same certificates.
    ///
    /// # Errors
    /// If one of them is no address, or they cannot be stored.
    pub fn relocate(&mut self, addresses: &[String]) -> Result<(), EnrolmentError> {
        let before = std::mem::replace(&mut self.addresses, addresses.to_vec());
        let stored = self.dial().map_err(EnrolmentError::from);
        stored.and_then(|_| files::store_addresses(&self.folder, addresses)).inspect_err(|_| self.addresses = before)
    }

    /// True if there is an earlier certificate that may be valid.
    fn has_previous(&self) -> bool {
        previous(&self.folder).try_exists().unwrap_or(false)
    }

    /// Removes the earlier certificate, because the coordinator has accepted this one.
    pub(crate) fn keep(&self) {
        if let Err(error) = remove(&previous(&self.folder)) {
            tracing::warn!(%error, "the earlier certificate cannot be removed");
        }
    }

    /// Goes back to the earlier certificate, because the coordinator has not accepted this one. Returns false if there is
    /// none.
    pub(crate) fn go_back(&mut self) -> bool {
        if !self.has_previous() {
            return false;
        }
        let restored = load_credential(&previous(&self.folder)).and_then(|credential| {
            store_credential(&credential, &current(&self.folder))?;
            Ok(credential)
        });
        match restored {
            Ok(credential) => {
                tracing::warn!("the new certificate is not accepted; going back to the earlier one");
                self.credential = credential;
                self.keep();
                true
            }
            Err(error) => {
                tracing::error!(%error, "the earlier certificate cannot be used");
                false
            }
        }
    }

    /// The time to renew the certificate, in seconds since 1970; `random` is from 0 up to 1.
    pub(crate) fn renew_at(&self, random: f64) -> i64 {
        self.info().map(|info| info.renew_at(0.2 * random - 0.1)).unwrap_or(i64::MAX)
    }

    /// Makes the key of the next certificate, and the request for it. The key is stored until it is certified, so that the
    /// request after a lost answer has the same key.
    pub(crate) fn begin_renewal(&self) -> Result<(PrivateKey, RenewRequest), EnrolmentError> {
        let key = stored_key(&next_key(&self.folder))?;
        let request = RenewRequest { signing_request: key.signing_request()? };
        Ok((key, request))
    }

    /// Stores the certificate for the new key. The earlier one stays until the coordinator has accepted the new one.
    pub(crate) fn finish_renewal(&mut self, key: PrivateKey, answer: RenewResponse) -> Result<(), EnrolmentError> {
        let member = self.info()?.member;
        if CertificateInfo::read(&answer.certificate)?.member != member {
            return Err(EnrolmentError::Answer("the renewed certificate is for another member".to_owned()));
        }
        // The CA is always the one that this site trusted when it joined.
        let credential = Credential::new(self.credential.ca_certificate.clone(), answer.certificate, key)?;
        store_credential(&self.credential, &previous(&self.folder))?;
        store_credential(&credential, &current(&self.folder))?;
        crate::failpoint!("renew.after_write");
        remove(&next_key(&self.folder))?;
        self.credential = credential;
        Ok(())
    }
}

/// The reason why a certificate could not be renewed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RenewalError {
    /// A failure at this site.
    #[error(transparent)]
    Enrolment(#[from] EnrolmentError),
    /// A failure of the coordinator or of the connection.
    #[error(transparent)]
    Site(#[from] SiteError),
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer};

    use super::*;

    struct Ca {
        parameters: CertificateParams,
        key: PrivateKey,
        der: Vec<u8>,
    }

    impl Ca {
        fn new() -> Ca {
            let key = PrivateKey::generate().unwrap();
            let mut parameters = CertificateParams::default();
            parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
            let der = parameters.self_signed(key.pair()).unwrap().der().to_vec();
            Ca { parameters, key, der }
        }

        fn certify(&self, key: &PrivateKey) -> Vec<u8> {
            let issuer = Issuer::from_params(&self.parameters, self.key.pair());
            CertificateParams::default().signed_by(key.pair(), &issuer).unwrap().der().to_vec()
        }

        fn answer(&self, key: &PrivateKey) -> RenewResponse {
            RenewResponse { certificate: self.certify(key), ca_certificate: self.der.clone() }
        }
    }

    /// A state folder with an identity.
    fn enrolled(ca: &Ca) -> (tempfile::TempDir, Identity) {
        let folder = tempfile::tempdir().unwrap();
        let key = PrivateKey::generate().unwrap();
        let certificate = ca.certify(&key);
        let credential = Credential::new(ca.der.clone(), certificate, key).unwrap();
        store_credential(&credential, &current(folder.path())).unwrap();
        std::fs::write(folder.path().join("addresses"), "hub:7443\n").unwrap();
        let identity = Identity::open(folder.path()).unwrap();
        (folder, identity)
    }

    #[test]
    fn a_renewal_repeats_its_request_with_one_key_and_stores_the_earlier_certificate_until_the_new_one_is_accepted() {
        let ca = Ca::new();
        let (folder, mut identity) = enrolled(&ca);
        let old = identity.key();
        // The answer to the first request is lost, and the worker restarts.
        let (first, _) = identity.begin_renewal().unwrap();
        let (second, _) = Identity::open(folder.path()).unwrap().begin_renewal().unwrap();
        assert_eq!(first.key_hash(), second.key_hash());
        assert_ne!(first.key_hash(), old);
        let answer = ca.answer(&second);
        let new = second.key_hash();
        identity.finish_renewal(second, answer).unwrap();
        assert_eq!(Identity::open(folder.path()).unwrap().key(), new);
        assert_eq!(load_credential(&previous(folder.path())).unwrap().key.key_hash(), old);
        identity.keep();
        assert!(!identity.go_back());
        assert_ne!(identity.begin_renewal().unwrap().0.key_hash(), new);
    }

    #[test]
    fn another_address_is_stored_and_what_is_none_changes_nothing() {
        let (folder, mut identity) = enrolled(&Ca::new());
        for wrong in [vec![], vec!["hub2".to_owned()], vec!["hub2:7443".to_owned(), "a b:1".to_owned()]] {
            identity.relocate(&wrong).unwrap_err();
            assert_eq!(identity.addresses(), ["hub:7443"], "{wrong:?}");
        }
        identity.relocate(&["hub2:7443".to_owned(), "10.0.0.7:7443".to_owned()]).unwrap();
        let again = Identity::open(folder.path()).unwrap();
        assert_eq!((again.addresses(), again.key()), (identity.addresses(), identity.key()));
        assert_eq!(again.addresses(), ["hub2:7443", "10.0.0.7:7443"]);
    }

    #[test]
    fn a_site_goes_back_from_a_certificate_that_is_not_accepted() {
        let ca = Ca::new();
        let (folder, mut identity) = enrolled(&ca);
        let old = identity.key();
        let (key, _) = identity.begin_renewal().unwrap();
        let answer = ca.answer(&key);
        identity.finish_renewal(key, answer).unwrap();
        assert_ne!(identity.key(), old);
        assert!(identity.go_back());
        assert_eq!(identity.key(), old);
        assert_eq!(Identity::open(folder.path()).unwrap().key(), old);
        assert!(!identity.go_back());
    }

    #[test]
    fn after_a_stop_at_any_point_of_a_renewal_key_and_certificate_belong_together() {
        let ca = Ca::new();
        let (folder, identity) = enrolled(&ca);
        let (key, _) = identity.begin_renewal().unwrap();
        let answer = ca.answer(&key);
        // The stop is between the two files of the certificate and the end.
        store_credential(&identity.credential, &previous(folder.path())).unwrap();
        assert_eq!(Identity::open(folder.path()).unwrap().key(), identity.key());
        let new = key.key_hash();
        let renewed = Credential::new(ca.der.clone(), answer.certificate, key).unwrap();
        store_credential(&renewed, &current(folder.path())).unwrap();
        let opened = Identity::open(folder.path()).unwrap();
        assert_eq!(opened.key(), new);
        // The certified key is not used for the next renewal.
        assert_ne!(opened.begin_renewal().unwrap().0.key_hash(), new);
    }

    #[test]
    fn a_certificate_for_another_key_is_not_stored() {
        let ca = Ca::new();
        let (folder, mut identity) = enrolled(&ca);
        let old = identity.key();
        let (key, _) = identity.begin_renewal().unwrap();
        let other = ca.answer(&PrivateKey::generate().unwrap());
        assert!(identity.finish_renewal(key, other).is_err());
        assert_eq!(Identity::open(folder.path()).unwrap().key(), old);
    }

    #[test]
    fn without_an_identity_a_site_is_not_enrolled() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Identity::open(folder.path()), Err(EnrolmentError::NotEnrolled)));
    }
}
