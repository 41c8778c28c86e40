//! How a site comes to its certificate and keeps it: once with an invitation, from then on with the certificate before.
//!
//! In the state folder: `identity.pem` (key, certificate and CA), `addresses` (where the coordinator is dialled, one a
//! line), while it joins `enrolling.key`, and while it renews `identity.next.key` and `identity.previous.pem`. Keys are made
//! here and never leave; each file is written whole or not at all, for its owner alone. There is no moment without a key
//! and certificate that belong together.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cognate_proto::dial::{Dial, DialError, Trust};
use cognate_proto::identity::{
    CertificateInfo, Credential, CredentialError, IdentityError, KeyHash, Membership, PrivateKey, read_private,
    write_private,
};
use cognate_proto::invitation::Invitation;
use cognate_proto::v1::{EnrollRequest, RenewRequest, RenewResponse};
use data_encoding::HEXLOWER;
use zeroize::Zeroizing;

use crate::error::{SiteError, said};
use crate::ledger::{Ledger, LedgerError};
use crate::outgoing::enroll as send_enroll;

/// Why a site has no certificate, or gets none.
#[derive(Debug, thiserror::Error)]
pub enum EnrolmentError {
    /// It was never enrolled.
    #[error("this site is not enrolled: ask for an invitation, and `cognate worker enroll TOKEN --config FILE`")]
    NotEnrolled,
    /// The invitation is for a person.
    #[error("this invitation is for the person `{0}` and not for a site: ask for one made by `cognate site invite`")]
    NotForSites(String),
    /// The site is enrolled, as another or elsewhere.
    #[error(
        "this state belongs to the site `{own}` and the invitation is for `{invited}`: use another state_dir, or move \
         this one away"
    )]
    OtherSite {
        /// Whose state it is.
        own: String,
        /// For whom the invitation is.
        invited: String,
    },
    /// The invitation has expired, by this machine's clock.
    #[error("the invitation has expired: ask for a new one (or set this machine's clock)")]
    Expired,
    /// The coordinator could not be reached, or is another.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The coordinator said no.
    #[error("the coordinator does not accept the invitation: {}", said(.0))]
    Refused(Box<tonic::Status>),
    /// What the coordinator gave is not what was asked for.
    #[error("what the coordinator answered cannot be used: {0}")]
    Answer(String),
    /// Files of the identity cannot be read or written.
    #[error(transparent)]
    Files(#[from] CredentialError),
    /// Another file cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Keys cannot be made.
    #[error(transparent)]
    Key(#[from] IdentityError),
    /// It cannot be written down what leaves.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl EnrolmentError {
    /// Whether it was the other side that did not accept this one, or this one that did not trust the other.
    pub fn is_about_trust(&self) -> bool {
        match self {
            EnrolmentError::Refused(status) => !matches!(crate::backoff::next(status), crate::backoff::Next::Again),
            EnrolmentError::Dial(error) => error.is_lasting(),
            EnrolmentError::Expired | EnrolmentError::NotForSites(_) => true,
            _ => false,
        }
    }
}

/// A site's certificate with its key, and where its coordinator is.
#[derive(Debug)]
pub struct Identity {
    folder: PathBuf,
    credential: Credential,
    addresses: Vec<String>,
}

fn current(folder: &Path) -> PathBuf {
    folder.join("identity.pem")
}

fn previous(folder: &Path) -> PathBuf {
    folder.join("identity.previous.pem")
}

fn next_key(folder: &Path) -> PathBuf {
    folder.join("identity.next.key")
}

/// Enrols the site of a state folder with an invitation. Interrupted anywhere, it can be done again with the same
/// invitation: the key is made once and kept.
///
/// # Errors
/// When the invitation does not hold, the coordinator cannot be reached or is another, or files cannot be written. The
/// secret is told to nobody who has not shown the CA's key.
pub async fn enroll(
    folder: &Path,
    invitation: &Invitation,
    ledger: &Arc<Ledger>,
    now: i64,
) -> Result<Identity, EnrolmentError> {
    let Membership::Site { name, .. } = &invitation.membership else {
        return Err(EnrolmentError::NotForSites(invitation.membership.name().to_owned()));
    };
    if let Ok(identity) = Identity::open(folder)
        && let Some(own) = identity.site()
        && own != name.as_str()
    {
        return Err(EnrolmentError::OtherSite { own, invited: name.to_string() });
    }
    let pending = folder.join(format!("enrolling.{}.key", HEXLOWER.encode(&invitation.token_id)));
    let key = kept_key(&pending)?;
    let dial = Dial::new(&invitation.addresses, &Trust::CaKey(invitation.ca_key), None)?;
    let channel = dial.connect().await?;
    let request = EnrollRequest {
        token_id: invitation.token_id.to_vec(),
        secret: invitation.secret.to_vec(),
        signing_request: key.signing_request()?,
        software: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let destination = invitation.addresses.join(",");
    let answer = send_enroll(channel, ledger, &destination, request).await?.map_err(|status| {
        // A handshake that was not to be trusted shows only here on some ways.
        match DialError::of(&status) {
            Some(error) => EnrolmentError::Dial(error),
            // Whether it has expired is for the coordinator's clock to say; this one only explains.
            None if invitation.expires < now => EnrolmentError::Expired,
            None => EnrolmentError::Refused(Box::new(status)),
        }
    })?;
    let membership = answer.membership.as_ref().map(Membership::try_from);
    if !matches!(membership, Some(Ok(membership)) if membership == invitation.membership) {
        return Err(EnrolmentError::Answer("it is for somebody else".to_owned()));
    }
    let ca = CertificateInfo::read(&answer.ca_certificate)?;
    if ca.key != invitation.ca_key {
        return Err(EnrolmentError::Answer("its CA is not the one of the invitation".to_owned()));
    }
    let credential = Credential::new(answer.ca_certificate, answer.certificate, key)?;
    // The addresses first: without a certificate they are nothing, without them the certificate is.
    let addresses = folder.join("addresses");
    crate::state::write_whole(&addresses, (invitation.addresses.join("\n") + "\n").as_bytes())
        .map_err(|source| EnrolmentError::State { path: addresses, source })?;
    credential.store(&current(folder))?;
    remove(&pending)?;
    remove(&previous(folder))?;
    remove(&next_key(folder))?;
    Ok(Identity { folder: folder.to_owned(), credential, addresses: invitation.addresses.clone() })
}

/// The key in a file; a new one, written there first, where there is none.
fn kept_key(path: &Path) -> Result<PrivateKey, EnrolmentError> {
    if path.try_exists().map_err(|source| EnrolmentError::State { path: path.to_owned(), source })? {
        let digits = read_private(path)?;
        let der = Zeroizing::new(HEXLOWER.decode(digits.trim().as_bytes()).unwrap_or_default());
        if let Ok(key) = PrivateKey::from_pkcs8(&der) {
            return Ok(key);
        }
        // Nothing was sent with half a key.
    }
    let key = PrivateKey::generate()?;
    write_private(path, Zeroizing::new(HEXLOWER.encode(key.pkcs8())).as_bytes())?;
    Ok(key)
}

fn remove(path: &Path) -> Result<(), EnrolmentError> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(EnrolmentError::State { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

impl Identity {
    /// The identity of a state folder.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn open(folder: &Path) -> Result<Identity, EnrolmentError> {
        let file = current(folder);
        if !file.try_exists().map_err(|source| EnrolmentError::State { path: file.clone(), source })? {
            return Err(EnrolmentError::NotEnrolled);
        }
        let credential = Credential::load(&file)?;
        let pending = next_key(folder);
        // A renewal that was stopped at its very end: the key is no next one any more.
        if pending.try_exists().unwrap_or(false) && kept_key(&pending)?.key_hash() == credential.key.key_hash() {
            remove(&pending)?;
        }
        let path = folder.join("addresses");
        let addresses = std::fs::read_to_string(&path).map_err(|source| EnrolmentError::State { path, source })?;
        let addresses = addresses.lines().map(str::to_owned).collect();
        Ok(Identity { folder: folder.to_owned(), credential, addresses })
    }

    /// The site's name, by its certificate.
    pub fn site(&self) -> Option<String> {
        Some(self.credential.info().ok()?.member?.name)
    }

    /// What the certificate says.
    ///
    /// # Errors
    /// Never for one that was stored here.
    pub fn info(&self) -> Result<CertificateInfo, IdentityError> {
        self.credential.info()
    }

    /// The words by which the site's key can be compared over the telephone.
    pub fn key(&self) -> KeyHash {
        self.credential.key.key_hash()
    }

    /// Where the coordinator is dialled.
    pub fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Prepares to dial.
    ///
    /// # Errors
    /// When the addresses or the certificate are unusable.
    pub fn dial(&self) -> Result<Dial, DialError> {
        Dial::new(&self.addresses, &Trust::Ca(self.credential.ca_certificate.clone()), Some(&self.credential))
    }

    /// Whether there is a certificate before this one that may still hold.
    fn goes_back(&self) -> bool {
        previous(&self.folder).try_exists().unwrap_or(false)
    }

    /// The coordinator has accepted this certificate: the one before it is not needed any more.
    pub(crate) fn keep(&self) {
        if let Err(error) = remove(&previous(&self.folder)) {
            tracing::warn!(%error, "the certificate before the current one cannot be removed");
        }
    }

    /// The coordinator has not accepted this certificate. Answers whether there is one before it, which is then the
    /// current one again.
    pub(crate) fn go_back(&mut self) -> bool {
        if !self.goes_back() {
            return false;
        }
        let restored = Credential::load(&previous(&self.folder)).and_then(|credential| {
            credential.store(&current(&self.folder))?;
            Ok(credential)
        });
        match restored {
            Ok(credential) => {
                tracing::warn!("the new certificate is not accepted; going back to the one before it");
                self.credential = credential;
                self.keep();
                true
            }
            Err(error) => {
                tracing::error!(%error, "the certificate before the current one cannot be used");
                false
            }
        }
    }

    /// When the certificate should be renewed, in seconds since 1970; `random` is from 0 up to 1.
    pub(crate) fn renew_at(&self, random: f64) -> i64 {
        self.info().map(|info| info.renew_at(0.2 * random - 0.1)).unwrap_or(i64::MAX)
    }

    /// Makes the key of the next certificate, and what is asked for it. The key is kept until it is certified: an answer
    /// that is lost is asked for again with the same key.
    pub(crate) fn begin_renewal(&self) -> Result<(PrivateKey, RenewRequest), EnrolmentError> {
        let key = kept_key(&next_key(&self.folder))?;
        let request = RenewRequest { signing_request: key.signing_request()? };
        Ok((key, request))
    }

    /// Takes the certificate for the new key. The old one stays beside it until the new one was accepted.
    pub(crate) fn finish_renewal(&mut self, key: PrivateKey, answer: RenewResponse) -> Result<(), EnrolmentError> {
        let member = self.info()?.member;
        if CertificateInfo::read(&answer.certificate)?.member != member {
            return Err(EnrolmentError::Answer("the renewed certificate is for somebody else".to_owned()));
        }
        // The CA stays the one that was trusted when this site joined.
        let credential = Credential::new(self.credential.ca_certificate.clone(), answer.certificate, key)?;
        self.credential.store(&previous(&self.folder))?;
        credential.store(&current(&self.folder))?;
        crate::failpoint!("renew.after_write");
        remove(&next_key(&self.folder))?;
        self.credential = credential;
        Ok(())
    }
}

/// Why a certificate could not be renewed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RenewalError {
    /// Here.
    #[error(transparent)]
    Enrolment(#[from] EnrolmentError),
    /// There.
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
        Credential::new(ca.der.clone(), certificate, key).unwrap().store(&current(folder.path())).unwrap();
        std::fs::write(folder.path().join("addresses"), "hub:7443\n").unwrap();
        let identity = Identity::open(folder.path()).unwrap();
        (folder, identity)
    }

    #[test]
    fn a_renewal_asks_with_the_same_key_until_it_is_answered_and_keeps_the_old_one_until_the_new_one_worked() {
        let ca = Ca::new();
        let (folder, mut identity) = enrolled(&ca);
        let old = identity.key();
        // The answer to the first is lost, also over a restart.
        let (first, _) = identity.begin_renewal().unwrap();
        let (second, _) = Identity::open(folder.path()).unwrap().begin_renewal().unwrap();
        assert_eq!(first.key_hash(), second.key_hash());
        assert_ne!(first.key_hash(), old);
        let answer = ca.answer(&second);
        let new = second.key_hash();
        identity.finish_renewal(second, answer).unwrap();
        assert_eq!(Identity::open(folder.path()).unwrap().key(), new);
        assert_eq!(Credential::load(&previous(folder.path())).unwrap().key.key_hash(), old);
        identity.keep();
        assert!(!identity.go_back());
        assert_ne!(identity.begin_renewal().unwrap().0.key_hash(), new);
    }

    #[test]
    fn a_new_certificate_that_is_not_accepted_gives_way_to_the_one_before_it() {
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
    fn a_stop_at_any_point_of_a_renewal_leaves_a_key_and_certificate_that_belong_together() {
        let ca = Ca::new();
        let (folder, identity) = enrolled(&ca);
        let (key, _) = identity.begin_renewal().unwrap();
        let answer = ca.answer(&key);
        // Stopped between the certificate's two files and the end.
        identity.credential.store(&previous(folder.path())).unwrap();
        assert_eq!(Identity::open(folder.path()).unwrap().key(), identity.key());
        let new = key.key_hash();
        let renewed = Credential::new(ca.der.clone(), answer.certificate, key).unwrap();
        renewed.store(&current(folder.path())).unwrap();
        let opened = Identity::open(folder.path()).unwrap();
        assert_eq!(opened.key(), new);
        // The key that is certified now is no next one.
        assert_ne!(opened.begin_renewal().unwrap().0.key_hash(), new);
    }

    #[test]
    fn what_is_certified_for_another_key_is_not_taken() {
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
