//! The federation's own certificate authority. It decides on the content of a certificate; of a request, it uses only
//! the public key.

use std::io;
use std::net::IpAddr;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cognate_durable::private::{PrivateFileError, read_private, write_private};
use cognate_proto::identity::{CertificateInfo, Credential, KeyHash, MemberUri, Membership, PrivateKey, pem};
use cognate_proto::limits::SIGNING_REQUEST_BYTES_MAX;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyUsagePurpose, PublicKeyData, SanType, SerialNumber,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer as _;

use super::https::https;
use crate::error::Error;

/// The CA's key, in the state.
pub(crate) const KEY_FILE: &str = "ca.key";
const CERTIFICATE_FILE: &str = "ca.crt";

const DAY: i64 = 24 * 60 * 60;
const CA_DAYS: i64 = 3653;
const SERVER_DAYS: i64 = 90;
const MEMBER_DAYS: i64 = 30;
/// Certificates become valid two days before they are made. Clocks differ, and a clock that was set back must not lock out who was
/// certified before that: people mistake the zone (14 hours at most) and the day. An hour was too little for both. It opens nothing:
/// a certificate is refused by the key that was revoked, and ends by its last day.
const BACKDATED: i64 = 2 * DAY;

/// The CA of a federation.
#[derive(Debug)]
pub struct Authority {
    key: PrivateKey,
    certificate: CertificateDer<'static>,
    not_after: i64,
    /// The id of the federation: in every certificate.
    deployment: String,
    clock: fn() -> SystemTime,
}

impl Authority {
    /// Makes the CA of a new federation in its state folder.
    ///
    /// # Errors
    /// Fails if there is one, or it cannot be written.
    pub fn create(folder: &Path, clock: fn() -> SystemTime) -> Result<Authority, Error> {
        let [key_path, certificate_path] = [KEY_FILE, CERTIFICATE_FILE].map(|file| folder.join(file));
        // A key without its certificate was left by a crash: it has signed nothing.
        if certificate_path.try_exists().map_err(Error::state(&certificate_path))? {
            return Err(Error::Refused(format!("`{}` exists already", certificate_path.display())));
        }
        let key = PrivateKey::generate().map_err(|error| Error::Identity(error.to_string()))?;
        let deployment = format!("{:08x}", random_u32());
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = named(&format!("Cognate CA {deployment}"));
        parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        hold_for(&mut parameters, unix(clock()), CA_DAYS, i64::MAX);
        let certificate = parameters.self_signed(key.pair()).map_err(identity)?;
        private(&key_path, &pem("PRIVATE KEY", key.pkcs8()))?;
        private(&certificate_path, &pem("CERTIFICATE", certificate.der()))?;
        Authority::open(folder, clock)
    }

    /// Opens the CA of a federation.
    ///
    /// # Errors
    /// Fails if it is missing, cannot be read, or others can read its key.
    pub fn open(folder: &Path, clock: fn() -> SystemTime) -> Result<Authority, Error> {
        let [key_path, certificate_path] = [KEY_FILE, CERTIFICATE_FILE].map(|file| folder.join(file));
        let text = match read_private(&key_path) {
            Err(PrivateFileError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                let is_begun = certificate_path.is_file();
                let folder = folder.display();
                return Err(Error::Identity(match is_begun {
                    true => format!(
                        "`{}`, the key of the federation's authority, is missing: put it back next to `{CERTIFICATE_FILE}` \
                         from the place where you store it",
                        key_path.display()
                    ),
                    false => format!("no federation was begun in `{folder}`: `cognate coordinator init` begins one"),
                }));
            }
            read => read.map_err(|error| Error::Identity(error.to_string()))?,
        };
        let damaged = |path: &Path, detail: String| Error::corrupt(path, detail);
        let key = PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes())
            .map_err(|error| error.to_string())
            .and_then(|key| PrivateKey::from_pkcs8(key.secret_pkcs8_der()).map_err(|error| error.to_string()))
            .map_err(|error| damaged(&key_path, error))?;
        let text = read_private(&certificate_path).map_err(|error| Error::Identity(error.to_string()))?;
        let certificate = CertificateDer::from_pem_slice(text.as_bytes())
            .map_err(|error| damaged(&certificate_path, error.to_string()))?;
        let info =
            CertificateInfo::read(&certificate).map_err(|error| damaged(&certificate_path, error.to_string()))?;
        if info.key != key.key_hash() {
            return Err(damaged(&certificate_path, format!("it is not for the key in `{}`", key_path.display())));
        }
        let deployment = deployment_of(&certificate)
            .ok_or_else(|| damaged(&certificate_path, "it does not name a federation".to_owned()))?;
        Ok(Authority { key, certificate, not_after: info.not_after, deployment, clock })
    }

    /// The fingerprint of the CA: in invitations, and read aloud over the telephone.
    pub fn key_hash(&self) -> KeyHash {
        self.key.key_hash()
    }

    /// The CA's certificate, DER.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Signs a document that is read outside of the federation.
    pub(crate) fn sign_document(&self, document: &[u8]) -> Result<Vec<u8>, Error> {
        self.key.sign(document, &self.certificate).map_err(|error| Error::Identity(error.to_string()))
    }

    pub(crate) fn deployment(&self) -> &str {
        &self.deployment
    }

    /// A certificate for a member's public key, DER. Its content comes from the registry, not from any request.
    pub(crate) fn issue(&self, membership: &Membership, key: &impl PublicKeyData) -> Result<Vec<u8>, Error> {
        let uri = MemberUri {
            deployment: self.deployment.clone(),
            kind: membership.kind(),
            name: membership.name().to_owned(),
        };
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = named(membership.name());
        parameters.subject_alt_names = vec![SanType::URI(uri.to_string().try_into().map_err(identity)?)];
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(parameters, MEMBER_DAYS, key)
    }

    /// A credential for a key that is made here.
    pub(crate) fn credential(&self, membership: &Membership) -> Result<Credential, Error> {
        let key = PrivateKey::generate().map_err(|error| Error::Identity(error.to_string()))?;
        let certificate = self.issue(membership, key.pair())?;
        Credential::new(self.certificate.to_vec(), certificate, key).map_err(|error| Error::Identity(error.to_string()))
    }

    /// The TLS configuration under these names (or addresses), and the certificates that it accepts: TLS 1.3 and HTTP/2
    /// only, nothing resumed, certificates of this CA or none. Also, the time in which it holds and need not be renewed.
    ///
    /// # Errors
    /// Fails if a name is invalid.
    pub fn server_config(&self, names: &[String]) -> Result<(Arc<rustls::ServerConfig>, Range<SystemTime>), Error> {
        let (chain, key, holds) = self.server_certificate(names)?;
        let config =
            self.tls(chain, &key).map_err(|error| Error::Identity(format!("TLS cannot be set up: {error}")))?;
        Ok((Arc::new(config), holds))
    }

    /// The same for browsers, which show no certificates of their own and speak HTTP/1.1.
    pub fn https_config(&self, names: &[String]) -> Result<(Arc<rustls::ServerConfig>, Range<SystemTime>), Error> {
        let (chain, key, holds) = self.server_certificate(names)?;
        let key = PrivatePkcs8KeyDer::from(key.pkcs8().to_vec()).into();
        let config = https(chain, key).map_err(|error| Error::Identity(format!("TLS cannot be set up: {error}")))?;
        Ok((config, holds))
    }

    /// The time by the clock that certificates are made by.
    pub fn now(&self) -> SystemTime {
        (self.clock)()
    }

    /// A certificate of the coordinator with its issuer, its key, and the time in which it holds and need not be renewed.
    fn server_certificate(
        &self,
        names: &[String],
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKey, Range<SystemTime>), Error> {
        let key = PrivateKey::generate().map_err(|error| Error::Identity(error.to_string()))?;
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = named(&format!("Cognate coordinator {}", self.deployment));
        for name in names {
            if ServerName::try_from(name.as_str()).is_err() {
                let shown = cognate_proto::name::one_line(name);
                return Err(Error::Invalid(format!("`{shown}` in `names` is neither a host name nor an address")));
            }
            parameters.subject_alt_names.push(match name.parse::<IpAddr>() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) => SanType::DnsName(name.clone().try_into().map_err(identity)?),
            });
        }
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = self.sign(parameters, SERVER_DAYS, key.pair())?;
        let info = CertificateInfo::read(&certificate).map_err(|error| Error::Identity(error.to_string()))?;
        let chain = vec![certificate.into(), self.certificate.clone()];
        let time =
            |seconds: i64| SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
        Ok((chain, key, time(info.not_before)..time(info.renew_at(0.0))))
    }

    fn tls(
        &self,
        chain: Vec<CertificateDer<'static>>,
        key: &PrivateKey,
    ) -> Result<rustls::ServerConfig, Box<dyn std::error::Error>> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.certificate.clone())?;
        let verifier =
            rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .allow_unauthenticated()
                .build()?;
        let mut config = rustls::ServerConfig::builder_with_details(provider, Arc::new(Clock(self.clock)))
            .with_protocol_versions(&[&rustls::version::TLS13])?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, PrivatePkcs8KeyDer::from(key.pkcs8().to_vec()).into())?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        // A resumed session would skip the check, so a certificate that is no longer valid would still be accepted.
        config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }

    /// A certificate with the content that a test asks for.
    #[cfg(test)]
    pub(crate) fn sign_as_it_is(&self, parameters: &CertificateParams, key: &impl PublicKeyData) -> Vec<u8> {
        let issuer = Issuer::from_ca_cert_der(&self.certificate, self.key.pair()).unwrap();
        parameters.signed_by(key, &issuer).unwrap().der().to_vec()
    }

    fn sign(&self, mut parameters: CertificateParams, days: i64, key: &impl PublicKeyData) -> Result<Vec<u8>, Error> {
        parameters.serial_number = Some(SerialNumber::from_slice(&random::<16>()));
        parameters.is_ca = IsCa::NoCa;
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        parameters.use_authority_key_identifier_extension = true;
        hold_for(&mut parameters, unix((self.clock)()), days, self.not_after);
        let issuer = Issuer::from_ca_cert_der(&self.certificate, self.key.pair()).map_err(identity)?;
        Ok(parameters.signed_by(key, &issuer).map_err(identity)?.der().to_vec())
    }
}

/// The public key of a certificate signing request, whose owner has proved possession of the private one. The rest of
/// the request is ignored.
///
/// # Errors
/// Fails if it is no request, not signed by its key, too large, or for a key of another kind than ECDSA P-256 or
/// Ed25519.
pub(crate) fn signing_request_key(request: &[u8]) -> Result<rcgen::PublicKey, Error> {
    let refused = |why: &str| Error::Invalid(format!("the signing request {why}"));
    if request.len() > SIGNING_REQUEST_BYTES_MAX {
        return Err(refused("is larger than 4 KiB"));
    }
    let parsed = CertificateSigningRequestParams::from_der(&request.into()).map_err(|error| match error {
        rcgen::Error::InvalidCertificationRequestSignature => refused("is not signed by its own key"),
        _ => refused("cannot be read, or asks for something that is never granted"),
    })?;
    let key = parsed.public_key;
    let (rest, parsed) = X509CertificationRequest::from_der(request).map_err(|_| refused("cannot be read"))?;
    // The signature determines the kind: a key of another curve would pass for one of P-256.
    let known = [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ED25519].contains(&PublicKeyData::algorithm(&key));
    let same = key.subject_public_key_info() == parsed.certification_request_info.subject_pki.raw;
    if !known || !same || !rest.is_empty() {
        return Err(refused("is for a key that is neither ECDSA P-256 nor Ed25519"));
    }
    Ok(key)
}

fn hold_for(parameters: &mut CertificateParams, now: i64, days: i64, at_most: i64) {
    let at = |seconds: i64| {
        rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
    };
    parameters.not_before = at(now - BACKDATED);
    parameters.not_after = at(now.saturating_add(days * DAY).min(at_most));
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

fn deployment_of(certificate: &CertificateDer<'_>) -> Option<String> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let name = certificate.subject().iter_common_name().next()?.as_str().ok()?;
    let deployment = name.strip_prefix("Cognate CA ")?;
    let well_formed = deployment.len() == 8 && deployment.bytes().all(|digit| digit.is_ascii_hexdigit());
    well_formed.then(|| deployment.to_owned())
}

/// The clock of the composition root, for TLS.
#[derive(Debug)]
struct Clock(fn() -> SystemTime);

impl rustls::time_provider::TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let since = (self.0)().duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some(UnixTime::since_unix_epoch(since))
    }
}

/// Seconds since 1970.
pub(super) fn unix(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Random bytes from the operating system.
pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    bytes
}

fn random_u32() -> u32 {
    u32::from_be_bytes(random())
}

fn private(path: &Path, text: &str) -> Result<(), Error> {
    write_private(path, text.as_bytes()).map_err(|error| match error {
        PrivateFileError::File { path, source } => Error::state(path)(source),
        other => Error::state(path)(io::Error::other(other.to_string())),
    })
}

#[expect(clippy::needless_pass_by_value, reason = "it is used in map_err")]
fn identity(error: rcgen::Error) -> Error {
    Error::Identity(format!("a certificate cannot be made: {error}"))
}

#[cfg(test)]
mod tests;
