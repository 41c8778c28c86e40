//! The HTTP listener: probes, metrics, pages and the API. Plain on loopback; TLS everywhere else.
//!
//! `http/door.rs` lets connections in. The probes have a listener of their own, which answers whatever the pages do.

mod door;
mod stalling;

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock, RwLockReadGuard};
use std::time::{Duration, SystemTime};

use axum::Router;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;

use self::door::Door;
use crate::host::{self, Hosts};
use cognate_server::places::{PlaceLimits, Places};
use cognate_server::{Authority, Error, OperatorService};

/// Maximum number of connections, and of those from one address.
const PLACES: PlaceLimits = PlaceLimits { all: 256, each: 64 };
/// The same for the listener of the probes.
const PROBE_PLACES: PlaceLimits = PlaceLimits { all: 32, each: 16 };
/// Time limit for open requests at the shutdown.
const DRAIN: Duration = Duration::from_millis(500);

/// The certificate of the HTTP listener, if it uses TLS.
pub struct HttpTls {
    from: Certificates,
    current: RwLock<Current>,
}

/// A certificate, the names that it is for, and the time in which it holds and need not be renewed.
struct Current {
    config: Arc<rustls::ServerConfig>,
    names: Vec<String>,
    holds: Range<SystemTime>,
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
        HttpTls::new(Certificates::Authority(authority), names)
    }

    /// The certificate in these files.
    ///
    /// # Errors
    /// Fails if they cannot be read, or do not belong together.
    pub fn files(chain: &Path, key: &Path) -> Result<HttpTls, Error> {
        HttpTls::new(Certificates::Files { chain: chain.to_owned(), key: key.to_owned() }, &[])
    }

    fn new(from: Certificates, names: &[String]) -> Result<HttpTls, Error> {
        let current = RwLock::new(from.load(names)?);
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
        !self.read().holds.contains(&now)
    }

    fn read(&self) -> RwLockReadGuard<'_, Current> {
        self.current.read().expect("nothing panics while it is held")
    }

    /// The certificate for the next connection. One of the authority that is due is renewed at once: the clock may have been set
    /// right just now.
    fn current(&self) -> Arc<rustls::ServerConfig> {
        if let Certificates::Authority(authority) = &self.from
            && self.is_due(authority.now())
        {
            let names = self.read().names.clone();
            if let Err(error) = self.renew(&names) {
                tracing::error!(%error, "the certificate of the pages cannot be renewed");
            }
        }
        Arc::clone(&self.read().config)
    }
}

impl Certificates {
    fn load(&self, names: &[String]) -> Result<Current, Error> {
        let (config, holds) = match self {
            Certificates::Authority(authority) => authority.https_config(names)?,
            // Administrators replace the files at any time, so they are read regularly.
            Certificates::Files { chain, key } => {
                let config = cognate_server::identity::https_files(chain, key)?;
                (config, SystemTime::UNIX_EPOCH..SystemTime::UNIX_EPOCH)
            }
        };
        Ok(Current { config, names: names.to_owned(), holds })
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
        let router = crate::router(service.clone(), address);
        served(self.door(router, &service, address, PLACES), &self.tcp, shutdown).await;
    }

    /// Serves only the probes and metrics until `shutdown` resolves.
    pub async fn serve_probes(
        self,
        service: OperatorService,
        address: &str,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) {
        let router = crate::probes_router(service.clone(), address);
        served(self.door(router, &service, address, PROBE_PLACES), &self.tcp, shutdown).await;
    }

    fn door(&self, router: Router, service: &OperatorService, address: &str, places: PlaceLimits) -> Door {
        let hosts = Hosts::new(self.tls.is_some(), address);
        let router = router.layer(axum::middleware::from_fn_with_state(hosts, host::check));
        let refusals = Arc::clone(service.services.members.refusals());
        Door { router, tls: self.tls.clone(), places: Places::new(places), refusals }
    }
}

async fn served(door: Door, tcp: &TcpListener, shutdown: impl Future<Output = ()> + Send + 'static) {
    let graceful = GracefulShutdown::new();
    tokio::select! {
        () = door.accept(tcp, &graceful) => {}
        () = shutdown => {}
    }
    // Live streams would never end by themselves.
    let _ = tokio::time::timeout(DRAIN, graceful.shutdown()).await;
}
