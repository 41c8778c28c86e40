//! The gRPC service for workers, over whatever streams it is given: TLS connections, or a pipe within the process.
//!
//! Who is at the other end is known from the connection and never from a message.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use cognate_proto::limits::MESSAGE_BYTES_MAX;
use cognate_proto::name::{SiteName, one_line};
use cognate_proto::spec;
use cognate_proto::v1::attach_request::Message as Up;
use cognate_proto::v1::push_request::Message as PushUp;
use cognate_proto::v1::worker_server::{Worker, WorkerServer};
use cognate_proto::v1::{
    AttachRequest, AttachResponse, PushRequest, PushResponse, ReceivedRequest, ReceivedResponse, ResultsRequest,
    ResultsResponse,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::server::Connected;
use tonic::{Request, Response, Status, Streaming};

use crate::indexes::Indexes;
use crate::ingest;
use crate::session::Sessions;
use crate::store::SlotKey;

/// How many messages may wait for a slow site.
const DOWN_MESSAGES: usize = 64;

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
    sessions: Arc<Sessions>,
    indexes: Arc<Indexes>,
    incoming: impl Stream<Item = std::io::Result<Peer<S>>>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), tonic::transport::Error>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = WorkerServer::new(WorkerService { sessions, indexes }).max_decoding_message_size(MESSAGE_BYTES_MAX);
    tonic::transport::Server::builder()
        .initial_stream_window_size(8 << 20)
        .initial_connection_window_size(16 << 20)
        .max_concurrent_streams(16)
        .serve_with_incoming_shutdown(service, incoming, shutdown)
        .await
}

struct WorkerService {
    sessions: Arc<Sessions>,
    indexes: Arc<Indexes>,
}

#[tonic::async_trait]
impl Worker for WorkerService {
    type ResultsStream = ReceiverStream<Result<ResultsResponse, Status>>;
    type AttachStream = ReceiverStream<Result<AttachResponse, Status>>;
    type PushStream = ReceiverStream<Result<PushResponse, Status>>;

    async fn attach(&self, request: Request<Streaming<AttachRequest>>) -> Result<Response<Self::AttachStream>, Status> {
        let site = site_of(&request)?;
        let mut requests = request.into_inner();
        let (down, stream) = mpsc::channel(DOWN_MESSAGES);
        let sessions = Arc::clone(&self.sessions);
        let Some(AttachRequest { message: Some(Up::Hello(hello)) }) = requests.message().await? else {
            return Err(Status::invalid_argument("a session begins with a greeting"));
        };
        let number = sessions.attach(&site, &hello, down)?;
        tracing::info!(%site, software = one_line(&hello.software), "a site is attached");
        tokio::spawn(async move {
            while let Ok(Some(request)) = requests.message().await {
                match request.message {
                    Some(Up::Progress(progress)) => sessions.progress(&site, progress),
                    Some(Up::Ended(ended)) => {
                        let outcome = match (ended.summary, ended.failure) {
                            (Some(summary), failure) if failure.is_empty() => Ok(summary),
                            (_, failure) => Err(one_line(&failure)),
                        };
                        sessions.end(&site, ended.assignment, outcome);
                    }
                    Some(Up::KeepAlive(_) | Up::State(_)) => {}
                    Some(Up::Hello(_)) | None => break,
                }
            }
            sessions.detach(&site, number);
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn received(&self, _request: Request<ReceivedRequest>) -> Result<Response<ReceivedResponse>, Status> {
        Err(Status::unimplemented("not yet"))
    }

    async fn results(&self, _request: Request<ResultsRequest>) -> Result<Response<Self::ResultsStream>, Status> {
        Err(Status::unimplemented("not yet"))
    }

    async fn push(&self, request: Request<Streaming<PushRequest>>) -> Result<Response<Self::PushStream>, Status> {
        let site = site_of(&request)?;
        let mut requests = request.into_inner();
        let Some(PushRequest { message: Some(PushUp::Open(open)) }) = requests.message().await? else {
            return Err(Status::invalid_argument("a push begins by opening an index"));
        };
        let method_id =
            spec::method_id(&open.method_id).map_err(|error| Status::invalid_argument(error.to_string()))?;
        let purpose = self.sessions.purpose(&site, open.assignment, &open.repository, method_id)?;
        let key = SlotKey { site, repository: purpose.repository, method_id };
        let indexes = Arc::clone(&self.indexes);
        let method = purpose.method;
        let opening = tokio::task::spawn_blocking(move || indexes.writer(key, open.epoch, &method));
        let writer = opening.await.map_err(|_| Status::internal("opening the index failed"))??;
        let (answers, stream) = mpsc::channel(DOWN_MESSAGES);
        tokio::spawn(ingest::serve(writer, requests, answers));
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

fn site_of<T>(request: &Request<T>) -> Result<SiteName, Status> {
    let peer = request.extensions().get::<PeerSite>();
    peer.map(|peer| peer.0.clone()).ok_or_else(|| Status::unauthenticated("the connection has no identity"))
}
