//! Connections of workers and operators to the coordinator: TCP, TLS 1.3, HTTP/2. Nothing is sent before the server has
//! shown the right certificate.
//!
//! Every channel is a connection of its own. Names are looked up again on each attempt, and addresses are tried in
//! their order. The caller can replace TCP ([`Dial::through`]) by a faulty proxy or by a simulated network.

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

use crate::identity::Credential;
use crate::invitation::{check_address, host_name};
use crate::name::one_line;

mod error;
mod race;
mod trust;

pub use error::DialError;
pub use trust::Trust;

/// Time limit of connecting to one address, from looking its name up to the end of the handshake.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between keep-alives on a quiet connection, and the time limit of their answers.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// See [`KEEPALIVE_INTERVAL`].
pub const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);
/// Idle time after which the operating system sends keep-alives: some devices on the path notice no others.
pub const TCP_KEEPALIVE: Duration = Duration::from_secs(60);
/// Bytes in flight on one stream, and on a connection: enough to fill a long path.
pub const STREAM_WINDOW_BYTES: u32 = 8 << 20;
/// See [`STREAM_WINDOW_BYTES`].
pub const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

/// A stream of bytes below TLS.
pub trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Transport>>> + Send>>;

/// Connects to an address.
pub type Connect = Arc<dyn Fn(String) -> Connecting + Send + Sync>;

type Connection = TokioIo<TlsStream<Box<dyn Transport>>>;
type DialFuture = Pin<Box<dyn Future<Output = Result<Connection, DialError>> + Send>>;

/// The addresses of a coordinator, the trust in its certificate, and the credential to show.
#[derive(Clone)]
pub struct Dial {
    addresses: Arc<[String]>,
    tls: Arc<rustls::ClientConfig>,
    connect: Connect,
}

impl Dial {
    /// Prepares to dial. Nothing is sent to a server that does not show a certificate that `trust` accepts. Without a credential the
    /// coordinator allows one call only: to turn an invitation into a certificate.
    ///
    /// # Errors
    /// If an address cannot be dialled or the credential is unusable.
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
        // Makes a capture of the wire readable: never in a build that is released, and only on request.
        #[cfg(any(debug_assertions, feature = "key-log"))]
        {
            tls.key_log = Arc::new(rustls::KeyLogFile::new());
        }
        Ok(Dial {
            addresses: addresses.into(),
            tls: Arc::new(tls),
            connect: Arc::new(|address| Box::pin(tcp(address))),
        })
    }

    /// Connects by `connect` in place of TCP.
    #[must_use]
    pub fn through(self, connect: Connect) -> Dial {
        Dial { connect, ..self }
    }

    /// A channel that connects when it is first used, and again when its connection has broken.
    pub fn channel(&self) -> Channel {
        self.endpoint().connect_with_connector_lazy(self.connector())
    }

    /// A channel that is connected.
    ///
    /// # Errors
    /// If no address reaches the coordinator.
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
    ) -> impl tower::Service<Uri, Response = Connection, Error = DialError, Future = DialFuture> + Send + 'static {
        let dial = self.clone();
        tower::service_fn(move |_| {
            let dial = dial.clone();
            let future: DialFuture = Box::pin(async move { dial.dial().await.map(TokioIo::new) });
            future
        })
    }

    /// Tries the addresses in their order.
    async fn dial(&self) -> Result<TlsStream<Box<dyn Transport>>, DialError> {
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
            // A wrong server is worth more attention than no answer.
            if failed.as_ref().is_none_or(|failed| !failed.is_lasting()) {
                failed = Some(error);
            }
        }
        Err(failed.expect("there is an address"))
    }

    async fn dial_one(&self, address: &str) -> Result<TlsStream<Box<dyn Transport>>, DialError> {
        let unreachable = |source| DialError::Unreachable { address: address.to_owned(), source };
        let transport = (self.connect)(address.to_owned()).await.map_err(unreachable)?;
        let connector = TlsConnector::from(Arc::clone(&self.tls));
        let stream = connector.connect(server_name(address)?, transport).await.map_err(|error| {
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

fn server_name(address: &str) -> Result<ServerName<'static>, DialError> {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host_name(host).ok_or_else(|| DialError::Setup(format!("`{}` is not host:port", one_line(address))))
}

/// Reaches an address over TCP; of the addresses of a name, the first that answers.
async fn tcp(address: String) -> io::Result<Box<dyn Transport>> {
    let addresses = tokio::net::lookup_host(address).await?;
    let stream = race::race(addresses, TcpStream::connect).await?;
    set_up_tcp(&stream)?;
    Ok(Box::new(stream))
}

/// Sends small messages at once, and notices when the peer is gone.
///
/// # Errors
/// If the operating system refuses.
pub fn set_up_tcp(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    rustix::net::sockopt::set_socket_keepalive(stream, true)?;
    rustix::net::sockopt::set_tcp_keepidle(stream, TCP_KEEPALIVE)?;
    rustix::net::sockopt::set_tcp_keepintvl(stream, KEEPALIVE_TIMEOUT)?;
    Ok(())
}
