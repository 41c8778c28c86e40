//! What workers ask: to attach, to push, and to hear what came of it.

use std::sync::Arc;

use cognate_proto::name::one_line;
use cognate_proto::spec;
use cognate_proto::v1::attach_request::Message as Up;
use cognate_proto::v1::push_request::Message as PushUp;
use cognate_proto::v1::worker_server::Worker;
use cognate_proto::v1::{
    AttachRequest, AttachResponse, PushRequest, PushResponse, ReceivedRequest, ReceivedResponse, ResultsRequest,
    ResultsResponse,
};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use crate::indexes::Indexes;
use crate::ingest;
use crate::server::site_of;
use crate::session::Sessions;
use crate::store::SlotKey;

/// How many messages may wait for a slow site.
const DOWN_MESSAGES: usize = 64;

/// The service for workers.
pub(crate) struct WorkerService {
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) indexes: Arc<Indexes>,
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
