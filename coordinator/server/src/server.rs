//! The services, over whatever streams they are given: TLS connections, or a pipe within the process.
//!
//! The peer is known from the connection and never from a message.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use cognate_proto::dial::{CONNECTION_WINDOW_BYTES, KEEPALIVE_INTERVAL, KEEPALIVE_TIMEOUT, STREAM_WINDOW_BYTES};
use cognate_proto::limits::MESSAGE_BYTES_MAX;
use cognate_proto::name::SiteName;
use cognate_proto::v1::enrolment_server::EnrolmentServer;
use cognate_proto::v1::operator_server::OperatorServer;
use cognate_proto::v1::worker_server::WorkerServer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_stream::Stream;
use tonic::transport::server::Connected;

use crate::authorize::AuthorizeLayer;
use crate::connection::Connection;
use crate::identity::{EnrolmentService, Members, PeerInfo};
use crate::operator::OperatorService;
use crate::worker_service::WorkerService;

/// The number of calls in progress on one connection, and of those at work at the same time.
const STREAMS_MAX: u32 = 16;
const CALLS_MAX: usize = 32;
const HEADERS_BYTES_MAX: u32 = 8 << 10;
const PENDING_RESETS_MAX: usize = 20;

/// A stream, and the peer at its other end.
pub struct Peer<S> {
    stream: S,
    connection: Connection,
    /// Once it resolves, the stream is at its end.
    end: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<S> Peer<S> {
    /// Vouches that `site` is at the other end of `stream`.
    pub fn new(stream: S, site: SiteName) -> Peer<S> {
        let connection = Connection { peer: PeerInfo::Vouched(site), from: None, end: Arc::default() };
        Peer { stream, connection, end: None }
    }

    /// A peer that the stream itself identifies; `end` ends it.
    pub(crate) fn known(
        stream: S,
        peer: PeerInfo,
        from: IpAddr,
        end: impl Future<Output = ()> + Send + 'static,
    ) -> Peer<S> {
        let connection = Connection { peer, from: Some(from), end: Arc::default() };
        let ended = Arc::clone(&connection.end);
        let either = async move {
            tokio::select! {
                () = end => {}
                () = ended.notified() => {}
            }
        };
        Peer { stream, connection, end: Some(Box::pin(either)) }
    }
}

impl<S> Connected for Peer<S> {
    type ConnectInfo = Connection;

    fn connect_info(&self) -> Connection {
        self.connection.clone()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Peer<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(end) = &mut self.end
            && end.as_mut().poll(context).is_ready()
        {
            // A second poll would panic; the connection is gone after the first error.
            self.end = Some(Box::pin(std::future::ready(())));
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Peer<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The parts of a server.
pub(crate) struct Calls {
    pub(crate) members: Arc<Members>,
    pub(crate) worker: WorkerService,
    /// Within one process there is no registry to ask.
    pub(crate) operator: Option<OperatorService>,
}

/// Serves on the streams of `incoming` until `shutdown` resolves, and from then on for at most `drain`.
pub(crate) async fn serve<S>(
    services: Calls,
    incoming: impl Stream<Item = io::Result<Peer<S>>>,
    shutdown: impl Future<Output = ()>,
    drain: Duration,
) -> Result<(), tonic::transport::Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let Calls { members, worker, operator } = services;
    let operator = operator.map(|operator| OperatorServer::new(operator, MESSAGE_BYTES_MAX));
    let enrolment = members
        .has_authority()
        .then(|| EnrolmentServer::new(EnrolmentService { members: Arc::clone(&members) }, MESSAGE_BYTES_MAX));
    let (stopping, stopped) = tokio::sync::oneshot::channel();
    let router = tonic::transport::Server::builder()
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_concurrent_streams(STREAMS_MAX)
        .concurrency_limit_per_connection(CALLS_MAX)
        .load_shed(true)
        .http2_max_header_list_size(HEADERS_BYTES_MAX)
        .http2_max_pending_accept_reset_streams(Some(PENDING_RESETS_MAX))
        .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
        .layer(AuthorizeLayer { members })
        .add_service(WorkerServer::new(worker, MESSAGE_BYTES_MAX))
        .add_optional_service(enrolment)
        .add_optional_service(operator);
    let serving = router.serve_with_incoming_shutdown(incoming, async {
        shutdown.await;
        // A connection that takes too long to close is dropped.
        let _ = stopping.send(());
    });
    let overdue = async {
        match stopped.await {
            Ok(()) => tokio::time::sleep(drain).await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        served = serving => served,
        () = overdue => {
            tracing::warn!(?drain, "connections were still open at the end of the drain, and are cut off");
            Ok(())
        }
    }
}
