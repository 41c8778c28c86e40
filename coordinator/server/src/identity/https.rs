//! TLS for browsers: HTTP/1.1, no client certificates. A session identifies the person.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::Error;

/// The TLS configuration for browsers with this certificate.
pub(super) fn https(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<rustls::ServerConfig>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The same with a certificate from files of an administrator.
///
/// # Errors
/// Fails if they cannot be read, or do not belong together.
pub(crate) fn https_files(chain: &Path, key: &Path) -> Result<Arc<rustls::ServerConfig>, Error> {
    let refused = |key_of: &str, path: &Path, detail: String| {
        Error::Invalid(format!("`{key_of}`: `{}`: {detail}", path.display()))
    };
    let certificates = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| refused("http_certificate", chain, error.to_string()))?;
    if certificates.is_empty() {
        return Err(refused("http_certificate", chain, "it holds no certificate".to_owned()));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| refused("http_key", key, error.to_string()))?;
    https(certificates, secret).map_err(|error| refused("http_certificate", chain, error.to_string()))
}
