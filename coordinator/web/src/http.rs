//! The HTTP listener: probes, metrics, pages and the API. Plain on loopback; TLS everywhere else.
//!
//! `http/door.rs` lets connections in. The probes have a listener of their own, which answers whatever the pages do.

mod door;
mod stalling;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;

use self::door::Door;
use crate::host::{self, Hosts};
use cognate_server::places::{PlaceLimits, Places};
use cognate_server::{Error, OperatorService, Tls};

/// Maximum number of connections, and of those from one address.
const PLACES: PlaceLimits = PlaceLimits { all: 256, each: 64 };
/// The same for the listener of the probes.
const PROBE_PLACES: PlaceLimits = PlaceLimits { all: 32, each: 16 };
/// Time limit for open requests at the shutdown.
const DRAIN: Duration = Duration::from_millis(500);

/// The HTTP listener, bound but not yet serving.
pub struct HttpListener {
    tcp: TcpListener,
    tls: Option<Arc<Tls>>,
}

impl HttpListener {
    /// Binds the address. Without a certificate it must be one of this machine's own.
    ///
    /// # Errors
    /// Fails if it is not on loopback and there is no certificate (plain text must not leave the machine), or if it
    /// cannot be bound.
    pub async fn bind(address: &str, tls: Option<Arc<Tls>>) -> Result<HttpListener, Error> {
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
