//! Connections of the HTTP listener: places, time limits, and the requests of one connection.
//!
//! A slow client costs one place, which the next client takes from it; it never costs the server.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use cognate_proto::dial::set_up_tcp;
use hyper::body::{Body as _, Bytes, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::stalling::Stalling;
use cognate_server::places::{Places, Turn};
use cognate_server::{Refusal, Refusals, Tls, next_connection};

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Time limit for the head of a request, and for the wait for the next request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
const HEAD_BYTES_MAX: usize = 64 << 10;

/// The state that all connections share.
pub(super) struct Door {
    pub(super) router: Router,
    pub(super) tls: Option<Arc<Tls>>,
    pub(super) places: Arc<Places>,
    pub(super) refusals: Arc<Refusals>,
}

impl Door {
    /// Accepts connections for ever. None has to wait for another one.
    pub(super) async fn accept(&self, tcp: &TcpListener, graceful: &GracefulShutdown) {
        loop {
            let (stream, from) = next_connection(tcp).await;
            self.enter(stream, from, graceful.watcher());
        }
    }

    fn enter(&self, stream: TcpStream, from: SocketAddr, watcher: Watcher) {
        let taken = self.places.take(from.ip());
        let ended = taken.as_ref().map_or(1, |(_, made_way)| *made_way);
        if ended > 0
            && let Some(unlogged) = self.refusals.counted(Refusal::Connections)
        {
            tracing::info!(%from, unlogged, "too many HTTP connections: one was closed");
        }
        let Ok((mut place, _)) = taken else { return };
        let connection = connection(stream, self.tls.clone(), self.router.clone(), watcher, place.turn());
        tokio::spawn(async move {
            tokio::select! {
                () = connection => {}
                () = place.taken_away() => tracing::debug!("an HTTP connection made way for another one"),
            }
        });
    }
}

async fn connection(stream: TcpStream, tls: Option<Arc<Tls>>, router: Router, watcher: Watcher, turn: Turn) {
    if let Err(error) = set_up_tcp(&stream) {
        return tracing::debug!(%error, "an HTTP connection broke");
    }
    let Some(tls) = tls else { return serve(stream, router, watcher, turn).await };
    let accepting = TlsAcceptor::from(tls.current()).accept(stream);
    match tokio::time::timeout(HANDSHAKE_TIMEOUT, accepting).await {
        Ok(Ok(stream)) => serve(stream, router, watcher, turn).await,
        Ok(Err(error)) => tracing::debug!(%error, "an HTTPS handshake failed"),
        Err(_) => tracing::debug!("an HTTPS handshake took too long"),
    }
}

async fn serve<S>(stream: S, router: Router, watcher: Watcher, turn: Turn)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    let requests = Requests { router: TowerToHyperService::new(router), turn };
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(Stalling::new(stream)), requests);
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "an HTTP connection broke");
    }
}

/// The requests of one connection. Each finds the [`Turn`] of its connection among its extensions.
struct Requests {
    router: TowerToHyperService<Router>,
    turn: Turn,
}

impl hyper::service::Service<Request<Incoming>> for Requests {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let turn = self.turn.clone();
        if request.body().is_end_stream() {
            turn.works();
        }
        request.extensions_mut().insert(turn.clone());
        let answering = self.router.call(request);
        Box::pin(async move {
            let response = answering.await?;
            turn.works();
            Ok(response.map(|body| Body::new(Answer { body, _after: Waits(turn) })))
        })
    }
}

/// The body of an answer. After it the connection waits for the next request.
struct Answer {
    body: Body,
    _after: Waits,
}

struct Waits(Turn);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.waits();
    }
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
