//! The gRPC service for workers, over whatever streams it is given: TLS connections, or a pipe within the process.
//!
//! Who is at the other end is known from the connection and never from a message.

use std::pin::Pin;
use std::task::{Context, Poll};

use cognate_proto::limits::MESSAGE_BYTES_MAX;
use cognate_proto::name::SiteName;
use cognate_proto::v1::worker_server::WorkerServer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_stream::Stream;
use tonic::transport::server::Connected;
use tonic::{Request, Status};

use crate::worker_service::WorkerService;

/// A stream with the site at its other end.
#[derive(Debug)]
pub struct Peer<S> {
    stream: S,
    site: SiteName,
}

impl<S> Peer<S> {
    /// Vouches that `site` is at the other end of `stream`.
    pub fn new(stream: S, site: SiteName) -> Peer<S> {
        Peer { stream, site }
    }
}

/// The identity that a connection gives to every request on it.
#[derive(Clone, Debug)]
pub struct PeerSite(SiteName);

impl<S> Connected for Peer<S> {
    type ConnectInfo = PeerSite;

    fn connect_info(&self) -> PeerSite {
        PeerSite(self.site.clone())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Peer<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Peer<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, buffer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Serves workers on the streams of `incoming` until `shutdown` resolves.
pub(crate) async fn serve<S>(
    service: WorkerService,
    incoming: impl Stream<Item = std::io::Result<Peer<S>>>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), tonic::transport::Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = WorkerServer::new(service).max_decoding_message_size(MESSAGE_BYTES_MAX);
    tonic::transport::Server::builder()
        .initial_stream_window_size(8 << 20)
        .initial_connection_window_size(16 << 20)
        .max_concurrent_streams(16)
        .serve_with_incoming_shutdown(service, incoming, shutdown)
        .await
}

/// The site at the other end of a request, by its connection.
pub(crate) fn site_of<T>(request: &Request<T>) -> Result<SiteName, Status> {
    let peer = request.extensions().get::<PeerSite>();
    peer.map(|peer| peer.0.clone()).ok_or_else(|| Status::unauthenticated("the connection has no identity"))
}
