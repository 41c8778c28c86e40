//! Health, metrics, and the place where pages will be. Plain HTTP: on loopback only, unless that is allowed.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{any, get};
use serde::Serialize;
use tokio::net::TcpListener;

use crate::coordinator::Coordinator;
use crate::error::Error;

const SIGN_IN: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Cognate</title>\
<meta name=\"viewport\" content=\"width=device-width\"><h1>Cognate</h1>\
<p>Sign in. Pages come in a later version; until then <code>cognate scan</code> and <code>cognate report</code> show what \
there is.</p></html>\n";

/// The HTTP door, bound and not yet open.
pub struct HttpListener {
    tcp: TcpListener,
}

impl HttpListener {
    /// Binds an address of this machine's own.
    ///
    /// # Errors
    /// When the address is not on loopback (what is plain must not leave the machine), or cannot be bound.
    pub async fn bind(address: &str) -> Result<HttpListener, Error> {
        let listen = |source| Error::Listen { address: address.to_owned(), source };
        let resolved: Vec<SocketAddr> = tokio::net::lookup_host(address).await.map_err(listen)?.collect();
        if resolved.iter().any(|address| !address.ip().is_loopback()) {
            return Err(Error::Invalid(format!(
                "`http_listen`: `{address}` is not on loopback, and plain HTTP stays on this machine: use 127.0.0.1, or put \
                 a proxy that speaks TLS before it"
            )));
        }
        let tcp = TcpListener::bind(resolved.as_slice()).await.map_err(listen)?;
        Ok(HttpListener { tcp })
    }

    /// What was bound.
    ///
    /// # Errors
    /// When the operating system does not say.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.tcp.local_addr()
    }

    /// Serves until `shutdown` resolves.
    ///
    /// # Errors
    /// When the listener fails as a whole.
    pub async fn serve(
        self,
        coordinator: Arc<Coordinator>,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> std::io::Result<()> {
        axum::serve(self.tcp, router(coordinator)).with_graceful_shutdown(shutdown).await
    }
}

fn router(coordinator: Arc<Coordinator>) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/api/{*rest}", any(unauthorized))
        .route("/", get(|| async { Html(SIGN_IN) }))
        .with_state(coordinator)
}

#[derive(Serialize)]
struct Readiness {
    ready: bool,
    reasons: Vec<String>,
}

async fn ready(State(coordinator): State<Arc<Coordinator>>) -> Response {
    let asked = tokio::task::spawn_blocking(move || coordinator.reasons_not_ready()).await;
    let reasons = asked.unwrap_or_else(|_| vec!["looking after the state crashed: see the log".to_owned()]);
    let status = if reasons.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = serde_json::to_string(&Readiness { ready: reasons.is_empty(), reasons }).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, "application/json")], format!("{body}\n")).into_response()
}

async fn metrics(State(coordinator): State<Arc<Coordinator>>) -> Response {
    let text = tokio::task::spawn_blocking(move || coordinator.measure()).await.unwrap_or_default();
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

async fn unauthorized() -> Response {
    let body = "{\"error\":\"this needs a credential\"}\n";
    (StatusCode::UNAUTHORIZED, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
