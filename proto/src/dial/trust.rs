//! Checks that a server is the coordinator, within the handshake, before any byte of ours is sent.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};

use super::error::DialError;
use crate::identity::{KeyHash, certificate_key};

/// The servers that are accepted as the coordinator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trust {
    /// A server with a certificate of the CA with this key: from an invitation, before the CA itself is known.
    CaKey(KeyHash),
    /// A server with a certificate of this CA, DER.
    Ca(Vec<u8>),
}

/// Checks the certificate of a server against the one trusted CA.
#[derive(Debug)]
pub(super) struct Verifier {
    /// The key of the CA.
    key: KeyHash,
    /// The CA, if it is known; otherwise the server must show it.
    ca: Option<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

/// The error of a certificate that another CA issued.
#[derive(Debug)]
struct OtherCa {
    wanted: KeyHash,
    shown: Option<KeyHash>,
}

impl std::error::Error for OtherCa {}

impl fmt::Display for OtherCa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "its certificate is not issued by {}", self.wanted.words())?;
        match self.shown {
            Some(shown) if shown != self.wanted => write!(f, " but by {}", shown.words()),
            _ => Ok(()),
        }
    }
}

impl Verifier {
    pub(super) fn new(trust: &Trust, provider: &CryptoProvider) -> Result<Verifier, DialError> {
        let algorithms = provider.signature_verification_algorithms;
        match trust {
            Trust::CaKey(key) => Ok(Verifier { key: *key, ca: None, algorithms }),
            Trust::Ca(der) => {
                let ca = CertificateDer::from(der.clone());
                let key = certificate_key(&ca).map_err(|error| DialError::Setup(format!("the CA: {error}")))?;
                Ok(Verifier { key, ca: Some(ca), algorithms })
            }
        }
    }

    fn other_ca(&self, shown: &[CertificateDer<'_>]) -> rustls::Error {
        let shown = shown.last().and_then(|ca| certificate_key(ca).ok());
        CertificateError::Other(OtherError(Arc::new(OtherCa { wanted: self.key, shown }))).into()
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let shown = intermediates.iter().find(|ca| certificate_key(ca).is_ok_and(|key| key == self.key));
        let ca = self.ca.as_ref().or(shown).ok_or_else(|| self.other_ca(intermediates))?;
        let mut roots = RootCertStore::empty();
        roots.add(ca.clone().into_owned())?;
        let certificate = ParsedCertificate::try_from(end_entity)?;
        let signed =
            verify_server_cert_signed_by_trust_anchor(&certificate, &roots, intermediates, now, self.algorithms.all);
        signed.map_err(|error| match error {
            rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => {
                self.other_ca(intermediates)
            }
            error => error,
        })?;
        verify_server_name(&certificate, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// The problem of a certificate, for people.
pub(super) fn explain(problem: &CertificateError) -> String {
    match problem {
        CertificateError::Other(other) => other.to_string(),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired by the clock of this machine: set the clock that is wrong, here or there".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet by the clock of this machine: set the clock that is wrong, here or there".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for other names than the one that was dialled: add that one to `names` in coordinator.toml"
                .to_owned()
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "its certificate is not a server's".to_owned()
        }
        problem => format!("{problem:?}"),
    }
}
