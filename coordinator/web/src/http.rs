//! The HTTP listener: probes, metrics, pages and the API. Plain on loopback; TLS everywhere else.
//!
//! Handshakes and requests have time limits, and the number of connections is limited: a slow client costs one
//! connection, not the server.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::{Duration, SystemTime};

use axum::Router;
use cognate_proto::dial::set_up_tcp;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;

use cognate_server::Authority;
use cognate_server::{Error, OperatorService};

/// Maximum number of connections.
const CONNECTIONS_MAX: usize = 256;
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Time between attempts to accept when the process is out of descriptors.
const EXHAUSTED_WAIT: Duration = Duration::from_millis(200);
/// Time limit for open requests at the shutdown.
const DRAIN: Duration = Duration::from_millis(500);

/// The certificate of the HTTP listener, if it uses TLS.
pub struct HttpTls {
    from: Certificates,
    current: RwLock<(Arc<rustls::ServerConfig>, SystemTime)>,
}

/// The source of its certificate.
enum Certificates {
    /// The federation's own authority.
    Authority(Arc<Authority>),
    /// Files that an administrator keeps up to date: the chain and the key, PEM.
    Files { chain: PathBuf, key: PathBuf },
}

impl HttpTls {
    /// A certificate of the federation's own authority for these names.
    ///
    /// # Errors
    /// Fails if a name is invalid.
    pub fn own(authority: Arc<Authority>, names: &[String]) -> Result<HttpTls, Error> {
        let current = RwLock::new(authority.https_config(names)?);
        Ok(HttpTls { from: Certificates::Authority(authority), current })
    }

    /// The certificate in these files.
    ///
    /// # Errors
    /// Fails if they cannot be read, or do not belong together.
    pub fn files(chain: &Path, key: &Path) -> Result<HttpTls, Error> {
        let from = Certificates::Files { chain: chain.to_owned(), key: key.to_owned() };
        let current = RwLock::new(from.load(&[])?);
        Ok(HttpTls { from, current })
    }

    /// Renews the certificate: a new one of the authority for these names, or the files read again.
    ///
    /// # Errors
    /// Fails if that is impossible: then everything stays as it was.
    pub fn renew(&self, names: &[String]) -> Result<(), Error> {
        let renewed = self.from.load(names)?;
        *self.current.write().expect("nothing panics while it is held") = renewed;
        Ok(())
    }

    /// True if the certificate has to be renewed.
    pub fn is_due(&self, now: SystemTime) -> bool {
        self.current.read().expect("nothing panics while it is held").1 <= now
    }

    fn current(&self) -> Arc<rustls::ServerConfig> {
        Arc::clone(&self.current.read().expect("nothing panics while it is held").0)
    }
}

impl Certificates {
    fn load(&self, names: &[String]) -> Result<(Arc<rustls::ServerConfig>, SystemTime), Error> {
        match self {
            Certificates::Authority(authority) => authority.https_config(names),
            // Administrators replace the files at any time, so they are read regularly.
            Certificates::Files { chain, key } => {
                Ok((cognate_server::identity::https_files(chain, key)?, SystemTime::UNIX_EPOCH))
            }
        }
    }
}

/// The HTTP listener, bound but not yet serving.
pub struct HttpListener {
    tcp: TcpListener,
    tls: Option<Arc<HttpTls>>,
}

impl HttpListener {
    /// Binds the address. Without a certificate it must be one of this machine's own.
    ///
    /// # Errors
    /// Fails if it is not on loopback and there is no certificate (plain text must not leave the machine), or if it
    /// cannot be bound.
    pub async fn bind(address: &str, tls: Option<Arc<HttpTls>>) -> Result<HttpListener, Error> {
        let listen = |source| Error::Listen { address: address.to_owned(), source };
        let resolved: Vec<SocketAddr> = tokio::net::lookup_host(address).await.map_err(listen)?.collect();
        if tls.is_none() && resolved.iter().any(|address| !address.ip().is_loopback()) {
            return Err(Error::Invalid(format!(
                "`http_listen`: `{address}` is not on loopback, and plain HTTP is allowed only on this machine"
            )));
        }
        let tcp = TcpListener::bind(resolved.as_slice()).await.map_err(listen)?;
        Ok(HttpListener { tcp, tls })
    }

    /// True if the address resolves to loopback addresses only.
    ///
    /// # Errors
    /// Fails if the address is invalid.
    pub async fn is_loopback(address: &str) -> Result<bool, Error> {
        let listen = |source| Error::Listen { address: address.to_owned(), source };
        let mut resolved = tokio::net::lookup_host(address).await.map_err(listen)?;
        Ok(resolved.all(|address| address.ip().is_loopback()))
    }

    /// The bound address.
    ///
    /// # Errors
    /// Fails if the operating system does not report it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// Serves until `shutdown` resolves.
    pub async fn serve(
        self,
        service: OperatorService,
        address: &str,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) {
        self.serve_router(crate::router(service, address), shutdown).await;
    }

    /// Serves only the probes and metrics until `shutdown` resolves.
    pub async fn serve_probes(
        self,
        service: OperatorService,
        address: &str,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) {
        self.serve_router(crate::probes_router(service, address), shutdown).await;
    }

    async fn serve_router(self, router: Router, shutdown: impl Future<Output = ()> + Send + 'static) {
        let door = Door { router, tls: self.tls, places: Arc::new(Semaphore::new(CONNECTIONS_MAX)) };
        let graceful = GracefulShutdown::new();
        tokio::select! {
            () = door.accept(&self.tcp, &graceful) => {}
            () = shutdown => {}
        }
        // Live streams would never end by themselves.
        let _ = tokio::time::timeout(DRAIN, graceful.shutdown()).await;
    }
}

struct Door {
    router: Router,
    tls: Option<Arc<HttpTls>>,
    places: Arc<Semaphore>,
}

impl Door {
    async fn accept(&self, tcp: &TcpListener, graceful: &GracefulShutdown) {
        loop {
            // Further clients wait at the operating system until a connection is free.
            let place = Arc::clone(&self.places).acquire_owned().await.expect("it is never closed");
            match tcp.accept().await {
                Ok((stream, _)) => {
                    let (router, tls, watcher) = (self.router.clone(), self.tls.clone(), graceful.watcher());
                    tokio::spawn(enter(stream, tls, router, watcher, place));
                }
                Err(error) => {
                    tracing::debug!(%error, "an HTTP connection was not accepted");
                    tokio::time::sleep(EXHAUSTED_WAIT).await;
                }
            }
        }
    }
}

async fn enter(
    stream: TcpStream,
    tls: Option<Arc<HttpTls>>,
    router: Router,
    watcher: Watcher,
    place: OwnedSemaphorePermit,
) {
    if let Err(error) = set_up_tcp(&stream) {
        return tracing::debug!(%error, "an HTTP connection broke");
    }
    match tls {
        None => serve(stream, router, watcher).await,
        Some(tls) => {
            let accepting = TlsAcceptor::from(tls.current()).accept(stream);
            match tokio::time::timeout(HANDSHAKE_TIMEOUT, accepting).await {
                Ok(Ok(stream)) => serve(stream, router, watcher).await,
                Ok(Err(error)) => tracing::debug!(%error, "an HTTPS handshake failed"),
                Err(_) => tracing::debug!("an HTTPS handshake took too long"),
            }
        }
    }
    drop(place);
}

async fn serve<S>(stream: S, router: Router, watcher: Watcher)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "an HTTP connection broke");
    }
}
