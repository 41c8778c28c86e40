//! How workers and operators reach the coordinator: TCP, TLS 1.3, HTTP/2, and nothing before the other side has shown
//! that it is the right one.
//!
//! Every channel is a connection of its own. Names are looked up again on each attempt, and addresses are tried in their
//! order. The way below TLS can be put in place by the caller ([`Dial::through`]): a proxy that breaks things, or a
//! simulated network.

use std::error::Error;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::codegen::http::Uri;
use tonic::transport::{Channel, Endpoint};

use crate::identity::{Credential, KeyHash};
use crate::invitation::{check_address, host_name};
use crate::name::one_line;

mod trust;

/// How long reaching one address may take, from looking its name up to the end of the handshake.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a quiet connection is asked whether it still stands, and how long it may take to answer.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// See [`KEEPALIVE_INTERVAL`].
pub const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);
/// When the operating system begins to ask: some devices on the way hear nothing else.
pub const TCP_KEEPALIVE: Duration = Duration::from_secs(60);
/// How much may be under way on one stream, and on a connection as a whole: what a long line holds.
pub const STREAM_WINDOW_BYTES: u32 = 8 << 20;
/// See [`STREAM_WINDOW_BYTES`].
pub const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

/// Whom to take for the coordinator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Trust {
    /// Who shows a certificate of the CA with this key: from an invitation, before the CA itself is known.
    CaKey(KeyHash),
    /// Who shows a certificate of this CA, DER.
    Ca(Vec<u8>),
}

/// What bytes travel on, below TLS.
pub trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

type Reaching = Pin<Box<dyn Future<Output = io::Result<Box<dyn Wire>>> + Send>>;

/// A way to an address.
pub type Reach = Arc<dyn Fn(String) -> Reaching + Send + Sync>;

type Line = TokioIo<TlsStream<Box<dyn Wire>>>;
type Dialling = Pin<Box<dyn Future<Output = Result<Line, DialError>> + Send>>;

/// Where to dial, whom to trust, and what to show.
#[derive(Clone)]
pub struct Dial {
    addresses: Arc<[String]>,
    tls: Arc<rustls::ClientConfig>,
    reach: Reach,
}

/// Why the coordinator was not reached.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// What was asked for makes no sense.
    #[error("{0}")]
    Setup(String),
    /// Nobody answers there, or what answers is no coordinator.
    #[error("`{address}` cannot be reached: {source}")]
    Unreachable {
        /// The address that was tried last.
        address: String,
        /// The cause.
        source: io::Error,
    },
    /// Somebody answers, but not the right one. Nothing was sent.
    #[error("`{address}` is not the coordinator: {detail}; nothing was sent")]
    NotTrusted {
        /// The address.
        address: String,
        /// What is wrong with what it showed.
        detail: String,
    },
    /// The coordinator does not take this certificate.
    #[error(
        "the coordinator does not accept this certificate ({detail}): it has expired, or is of another federation; ask for a new invitation"
    )]
    Refused {
        /// What the coordinator said.
        detail: String,
    },
}

impl DialError {
    /// What stands behind the status of a call that did not get through, if it is about reaching the coordinator.
    pub fn of(status: &tonic::Status) -> Option<DialError> {
        DialError::in_chain(status)
    }

    /// Whether trying again can help: not while the other side is, or takes us for, the wrong one.
    pub fn is_lasting(&self) -> bool {
        !matches!(self, DialError::Unreachable { .. })
    }

    fn in_chain(error: &(dyn Error + 'static)) -> Option<DialError> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(found) = error.downcast_ref::<DialError>() {
                return Some(found.repeated());
            }
            if let Some(detail) = refusing_alert(error) {
                return Some(DialError::Refused { detail });
            }
            // An I/O error does not count what it wraps as its source.
            let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
            next = wrapped.map_or_else(|| error.source(), |wrapped| Some(wrapped as &(dyn Error + 'static)));
        }
        None
    }

    fn repeated(&self) -> DialError {
        match self {
            DialError::Setup(detail) => DialError::Setup(detail.clone()),
            DialError::Unreachable { address, source } => DialError::Unreachable {
                address: address.clone(),
                source: io::Error::new(source.kind(), source.to_string()),
            },
            DialError::NotTrusted { address, detail } => {
                DialError::NotTrusted { address: address.clone(), detail: detail.clone() }
            }
            DialError::Refused { detail } => DialError::Refused { detail: detail.clone() },
        }
    }
}

impl Dial {
    /// Prepares to dial. Nothing is sent to anybody who does not show what `trust` asks for. Without a credential the
    /// coordinator can be asked for one thing only: to turn an invitation into a certificate.
    ///
    /// # Errors
    /// When an address cannot be dialled or the credential is unusable.
    pub fn new(addresses: &[String], trust: &Trust, credential: Option<&Credential>) -> Result<Dial, DialError> {
        if addresses.is_empty() {
            return Err(DialError::Setup("there is no address of the coordinator".to_owned()));
        }
        for address in addresses {
            check_address(address).map_err(DialError::Setup)?;
        }
        let setup = |error: rustls::Error| DialError::Setup(format!("TLS cannot be set up: {error}"));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = trust::Verifier::new(trust, &provider)?;
        let builder = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(setup)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let mut tls = match credential {
            None => builder.with_no_client_auth(),
            Some(credential) => {
                let chain = vec![
                    CertificateDer::from(credential.certificate.clone()),
                    CertificateDer::from(credential.ca_certificate.clone()),
                ];
                let key = PrivatePkcs8KeyDer::from(credential.key.pkcs8().to_vec());
                builder.with_client_auth_cert(chain, key.into()).map_err(setup)?
            }
        };
        tls.alpn_protocols = vec![b"h2".to_vec()];
        tls.resumption = rustls::client::Resumption::disabled();
        // So that a capture of what really crossed the wire can be read: in a build of its own, and where it is asked for.
        #[cfg(feature = "key-log")]
        {
            tls.key_log = Arc::new(rustls::KeyLogFile::new());
        }
        Ok(Dial { addresses: addresses.into(), tls: Arc::new(tls), reach: Arc::new(|address| Box::pin(tcp(address))) })
    }

    /// Goes this way instead of over TCP.
    #[must_use]
    pub fn through(self, reach: Reach) -> Dial {
        Dial { reach, ..self }
    }

    /// A channel that connects when it is first used, and again when its connection has broken.
    pub fn channel(&self) -> Channel {
        self.endpoint().connect_with_connector_lazy(self.connector())
    }

    /// A channel that is connected.
    ///
    /// # Errors
    /// When no address leads to the coordinator.
    pub async fn connect(&self) -> Result<Channel, DialError> {
        let connected = self.endpoint().connect_with_connector(self.connector()).await;
        connected.map_err(|error| {
            DialError::in_chain(&error).unwrap_or_else(|| DialError::Unreachable {
                address: self.addresses.join(", "),
                source: io::Error::other(error.to_string()),
            })
        })
    }

    fn endpoint(&self) -> Endpoint {
        // The address is never looked up: the connector does not ask for it.
        Endpoint::from_static("http://coordinator.invalid")
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
            .keep_alive_timeout(KEEPALIVE_TIMEOUT)
            .keep_alive_while_idle(true)
    }

    fn connector(
        &self,
    ) -> impl tower::Service<Uri, Response = Line, Error = DialError, Future = Dialling> + Send + 'static {
        let dial = self.clone();
        tower::service_fn(move |_| {
            let dial = dial.clone();
            let dialling: Dialling = Box::pin(async move { dial.dial().await.map(TokioIo::new) });
            dialling
        })
    }

    /// Tries the addresses in their order.
    async fn dial(&self) -> Result<TlsStream<Box<dyn Wire>>, DialError> {
        let mut failed: Option<DialError> = None;
        for address in self.addresses.iter() {
            let attempt = tokio::time::timeout(CONNECT_TIMEOUT, self.dial_one(address)).await;
            let error = match attempt {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => error,
                Err(_) => DialError::Unreachable {
                    address: address.clone(),
                    source: io::Error::new(io::ErrorKind::TimedOut, "no answer within 10 seconds"),
                },
            };
            // Somebody who pretends is worse than nobody.
            if failed.as_ref().is_none_or(|failed| !failed.is_lasting()) {
                failed = Some(error);
            }
        }
        Err(failed.expect("there is an address"))
    }

    async fn dial_one(&self, address: &str) -> Result<TlsStream<Box<dyn Wire>>, DialError> {
        let unreachable = |source| DialError::Unreachable { address: address.to_owned(), source };
        let wire = (self.reach)(address.to_owned()).await.map_err(unreachable)?;
        let connector = TlsConnector::from(Arc::clone(&self.tls));
        let stream = connector.connect(server_name(address)?, wire).await.map_err(|error| {
            match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                Some(rustls::Error::InvalidCertificate(problem)) => {
                    DialError::NotTrusted { address: address.to_owned(), detail: trust::explain(problem) }
                }
                _ => unreachable(error),
            }
        })?;
        if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            return Err(unreachable(io::Error::other("it does not speak HTTP/2")));
        }
        Ok(stream)
    }
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dial").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

/// What the other side said about the certificate that it was shown, if it said something. Of this, HTTP/2 keeps only the
/// text.
fn refusing_alert(error: &(dyn Error + 'static)) -> Option<String> {
    let text = error.to_string();
    let alert = text.strip_prefix("received fatal alert: ")?;
    (alert.contains("Certificate") || matches!(alert, "UnknownCA" | "AccessDenied" | "DecryptError"))
        .then(|| alert.to_owned())
}

fn server_name(address: &str) -> Result<ServerName<'static>, DialError> {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host_name(host).ok_or_else(|| DialError::Setup(format!("`{}` is not host:port", one_line(address))))
}

/// Reaches an address over TCP; of the addresses that a name stands for, the first that answers.
async fn tcp(address: String) -> io::Result<Box<dyn Wire>> {
    let stream = TcpStream::connect(address).await?;
    set_up_tcp(&stream)?;
    Ok(Box::new(stream))
}

/// Sends small messages at once, and notices when the other side is gone.
///
/// # Errors
/// When the operating system refuses.
pub fn set_up_tcp(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    rustix::net::sockopt::set_socket_keepalive(stream, true)?;
    rustix::net::sockopt::set_tcp_keepidle(stream, TCP_KEEPALIVE)?;
    rustix::net::sockopt::set_tcp_keepintvl(stream, KEEPALIVE_TIMEOUT)?;
    Ok(())
}
