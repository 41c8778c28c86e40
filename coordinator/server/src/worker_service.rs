//! The calls of workers: to attach, to push, and to read the outcome.

mod results;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use cognate_fingerprint::Method;
use cognate_proto::calls::Messages;
use cognate_proto::name::SiteName;
use cognate_proto::spec;
use cognate_proto::v1::attach_request::Message as Up;
use cognate_proto::v1::attach_response::Message as Down;
use cognate_proto::v1::file_hash_hits_request::Message as HitsUp;
use cognate_proto::v1::fine_chunks_request::Message as FineUp;
use cognate_proto::v1::push_request::Message as PushUp;
use cognate_proto::v1::worker_server::Worker;
use cognate_proto::v1::{
    AttachRequest, AttachResponse, FileHashHitsRequest, FileHashHitsResponse, FileHashTable, FileHashesRequest,
    FineChoice, FineChoiceRequest, FineChunksRequest, FineChunksResponse, KeepAlive, MeasureAnswer, MeasureReceipt,
    PushRequest, PushResponse, ReceivedRequest, ReceivedResponse, ResultsRequest, ResultsResponse, ScopeRequest,
    ScopeResponse,
};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use crate::caller::site_of;
use crate::error::Error;
use crate::ingest::{self, Push};
use crate::metrics::Metrics;
use crate::scan::Scans;
use crate::session::{Attached, NoAnswer, Sessions, TakenFine};
use crate::silence::Silence;
use crate::storing::Storing;
use crate::streams::{Outgoing, Streams};
use cognate_storage::disk::blocking;
use cognate_storage::store::SlotKey;

/// The number of messages that may wait for a slow site.
const DOWN_MESSAGES: usize = 64;
/// A connection that does not greet within this time is over.
const GREETING_MAX: Duration = Duration::from_secs(60);

/// The service for workers.
pub(crate) struct WorkerService {
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) scans: Arc<Scans>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) storing: Arc<Storing>,
    pub(crate) streams: Arc<Streams>,
}

#[tonic::async_trait]
impl Worker for WorkerService {
    type ResultsStream = Outgoing<ResultsResponse>;
    type ScopeStream = Outgoing<ScopeResponse>;
    type FineChoicesStream = Outgoing<FineChoice>;
    type FineChunksStream = ReceiverStream<Result<FineChunksResponse, Status>>;
    type FileHashesStream = Outgoing<FileHashTable>;
    type AttachStream = ReceiverStream<Result<AttachResponse, Status>>;
    type PushStream = ReceiverStream<Result<PushResponse, Status>>;

    async fn attach(&self, request: Request<Messages<AttachRequest>>) -> Result<Response<Self::AttachStream>, Status> {
        let site = site_of(&request)?;
        let mut requests = request.into_inner();
        let (down, stream) = mpsc::channel(DOWN_MESSAGES);
        let Some(AttachRequest { message: Some(Up::Hello(hello)) }) = first(&mut requests).await? else {
            return Err(Status::invalid_argument("a session begins with a greeting"));
        };
        let attached = self.sessions.attach(&site, &hello, down)?;
        let software = self.sessions.attached(&site).map(|site| site.software).unwrap_or_default();
        tracing::info!(%site, software, session = attached.number, "a site is attached");
        let session = SessionTask { sessions: Arc::clone(&self.sessions), scans: Arc::clone(&self.scans), site };
        crate::tasks::spawn(session.run(attached, requests));
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn push(&self, request: Request<Messages<PushRequest>>) -> Result<Response<Self::PushStream>, Status> {
        let site = site_of(&request)?;
        let mut requests = request.into_inner();
        let Some(PushRequest { message: Some(PushUp::Open(open)), padding }) = first(&mut requests).await? else {
            return Err(Status::invalid_argument("a push begins by opening an index"));
        };
        ingest::check_padding(&padding)?;
        let method_id =
            spec::method_id(&open.method_id).map_err(|error| Status::invalid_argument(error.to_string()))?;
        let purpose = self.sessions.purpose(&site, &open, method_id)?;
        let (repository, scope) = (purpose.repository, purpose.scope);
        let key = SlotKey { site: site.clone(), repository, method_id, scope };
        let scans = Arc::clone(&self.scans);
        let opening = self.scans.records.disk.push(move || {
            let method = purpose.method.map_or_else(|| known_method(&scans, &key), Ok)?;
            Ok::<_, Error>(scans.analyser.indexes.writer(key, open.epoch, &method)?)
        });
        let writer = opening.await.map_err(Error::from)?.inspect_err(|error| self.storing.failed(error))?;
        let (answers, stream) = mpsc::channel(DOWN_MESSAGES);
        let push = Push {
            sessions: Arc::clone(&self.sessions),
            metrics: Arc::clone(&self.metrics),
            storing: Arc::clone(&self.storing),
            records: Arc::clone(&self.scans.records),
            site,
            assignment: purpose.assignment,
            method_id,
            live: purpose.live,
        };
        crate::tasks::spawn(ingest::serve(push, writer, requests, answers));
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn received(&self, request: Request<ReceivedRequest>) -> Result<Response<ReceivedResponse>, Status> {
        let site = site_of(&request)?;
        let scans = Arc::clone(&self.scans);
        let counting = self.scans.records.disk.push(move || scans.analyser.indexes.received(&site));
        let indexes = counting.await.map_err(Error::from)?.map_err(Error::from)?;
        Ok(Response::new(ReceivedResponse { indexes }))
    }

    async fn results(&self, request: Request<ResultsRequest>) -> Result<Response<Self::ResultsStream>, Status> {
        let site = site_of(&request)?;
        let opening = self.streams.open(&request)?;
        let (scans, scan) = (Arc::clone(&self.scans), request.into_inner().scan);
        let rows = self.streams.spooled(move |writer| results::write(&scans, &site, scan, writer));
        Ok(Response::new(opening.spool(rows)))
    }

    async fn scope(&self, request: Request<ScopeRequest>) -> Result<Response<Self::ScopeStream>, Status> {
        let site = site_of(&request)?;
        let opening = self.streams.open(&request)?;
        let scope = self.sessions.scope(&site, request.into_inner().assignment)?;
        let (pieces, stream) = mpsc::channel(1);
        crate::tasks::spawn(async move {
            for piece in scope.pieces() {
                if pieces.send(Ok(piece)).await.is_err() {
                    return;
                }
            }
        });
        Ok(Response::new(opening.stream(stream)))
    }

    async fn file_hashes(
        &self,
        request: Request<FileHashesRequest>,
    ) -> Result<Response<Self::FileHashesStream>, Status> {
        let site = site_of(&request)?;
        let opening = self.streams.open(&request)?;
        let list = self.sessions.hashes_asked(&site, request.into_inner().query)?;
        let (pieces, stream) = mpsc::channel(1);
        crate::tasks::spawn(async move {
            for piece in list.pieces() {
                if pieces.send(Ok(piece)).await.is_err() {
                    return;
                }
            }
        });
        Ok(Response::new(opening.stream(stream)))
    }

    async fn file_hash_hits(
        &self,
        request: Request<Messages<FileHashHitsRequest>>,
    ) -> Result<Response<FileHashHitsResponse>, Status> {
        let site = site_of(&request)?;
        let mut requests = request.into_inner();
        let Some(FileHashHitsRequest { message: Some(HitsUp::Answer(answer)) }) = first(&mut requests).await? else {
            return Err(Status::invalid_argument("an answer must begin with its question"));
        };
        let mut answering = self.sessions.answering(&site, answer.query)?;
        loop {
            // A stream that breaks off is an incomplete answer.
            let message = first(&mut requests).await.ok().flatten().and_then(|request| request.message);
            let taken = match message {
                Some(message) => answering.take(message),
                None => Err(Error::Invalid("it is cut off".to_owned())),
            };
            match taken {
                Ok(true) => return Ok(Response::new(FileHashHitsResponse {})),
                Ok(false) => {}
                Err(error) => {
                    answering.finish(Err(NoAnswer::unusable(&error)));
                    return Err(error.into());
                }
            }
        }
    }

    async fn fine_choices(
        &self,
        request: Request<FineChoiceRequest>,
    ) -> Result<Response<Self::FineChoicesStream>, Status> {
        let site = site_of(&request)?;
        let opening = self.streams.open(&request)?;
        let choice = self.sessions.fine_choice(&site, request.into_inner().query)?;
        Ok(Response::new(opening.rows(choice.pieces())))
    }

    async fn fine_chunks(
        &self,
        request: Request<Messages<FineChunksRequest>>,
    ) -> Result<Response<Self::FineChunksStream>, Status> {
        let site = site_of(&request)?;
        let mut requests = request.into_inner();
        let Some(FineChunksRequest { message: Some(FineUp::Answer(answer)) }) = first(&mut requests).await? else {
            return Err(Status::invalid_argument("an answer must begin with its question"));
        };
        // Such a question is there: else the site need not send anything.
        drop(self.sessions.answering_fine(&site, answer.query)?);
        let (receipts, stream) = mpsc::channel(DOWN_MESSAGES);
        let sessions = Arc::clone(&self.sessions);
        crate::tasks::spawn(async move {
            if let Err(status) = receive_fine(&sessions, &site, answer.query, requests, &receipts).await {
                let _ = receipts.send(Err(status)).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn measures(&self, request: Request<MeasureAnswer>) -> Result<Response<MeasureReceipt>, Status> {
        let site = site_of(&request)?;
        self.sessions.answer_measures(&site, &request.into_inner())?;
        Ok(Response::new(MeasureReceipt {}))
    }
}

/// Receives an answer of fine chunks, and acknowledges each part once it is kept. A site may take any time between two of them, as in a
/// push: its session shows that it is alive.
async fn receive_fine(
    sessions: &Sessions,
    site: &SiteName,
    query: u64,
    mut requests: Messages<FineChunksRequest>,
    receipts: &mpsc::Sender<Result<FineChunksResponse, Status>>,
) -> Result<(), Status> {
    let mut answering = sessions.answering_fine(site, query)?;
    let mut unkept: VecDeque<oneshot::Receiver<()>> = VecDeque::new();
    let (mut tables, mut is_complete) = (0, false);
    while !is_complete || !unkept.is_empty() {
        let next_kept = async {
            match unkept.front_mut() {
                Some(kept) => kept.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            kept = next_kept => {
                // The caller has given up, and nobody keeps the rest.
                kept.map_err(|_| Status::aborted("no caller waits for this answer any more"))?;
                unkept.pop_front();
                tables += 1;
                // A site that has gone away is asked again.
                let _ = receipts.send(Ok(FineChunksResponse { tables })).await;
            }
            message = requests.message(), if !is_complete => {
                let Some(message) = message.ok().flatten().and_then(|request| request.message) else {
                    // The line was cut, or the worker ended: the site is asked again when it is back.
                    answering.finish(Err(NoAnswer::absent("its site's answer was cut off")));
                    return Err(Status::aborted("the answer was cut off"));
                };
                match answering.take(message).await {
                    Ok(TakenFine::Part(kept)) => unkept.push_back(kept),
                    Ok(TakenFine::End) => is_complete = true,
                    Err(error) => {
                        answering.finish(Err(NoAnswer::unusable(&error)));
                        return Err(error.into());
                    }
                }
            }
            () = answering.ended() => return Err(Status::aborted("the session has ended")),
        }
    }
    Ok(())
}

/// The first message of a stream, which must come soon.
async fn first<T: prost::Message + Default>(requests: &mut Messages<T>) -> Result<Option<T>, Status> {
    let waited = tokio::time::timeout(GREETING_MAX, requests.message()).await;
    waited.map_err(|_| Status::deadline_exceeded("no message came on the stream"))?
}

/// The parameters of an index that a site brings up to date on its own.
fn known_method(scans: &Scans, key: &SlotKey) -> Result<Method, Error> {
    let unknown = || {
        let SlotKey { site, repository, .. } = key;
        Error::Denied(format!("{site}/{repository} has no index under this method yet: launch a scan first"))
    };
    scans.analyser.indexes.method_of(key)?.ok_or_else(unknown)
}

/// Reads a session until it ends.
struct SessionTask {
    sessions: Arc<Sessions>,
    scans: Arc<Scans>,
    site: SiteName,
}

impl SessionTask {
    async fn run(self, attached: Attached, mut requests: Messages<AttachRequest>) {
        let Attached { number, mut live } = attached;
        let mut silence = Silence::begin();
        loop {
            tokio::select! {
                request = requests.message() => match request {
                    Ok(Some(AttachRequest { message: Some(message) })) => {
                        silence.heard();
                        self.sessions.heard(&self.site, number);
                        if !self.hear(number, message).await {
                            break;
                        }
                    }
                    // A message kind of a later version: it only shows that the peer is alive.
                    Ok(Some(AttachRequest { message: None })) => {
                        silence.heard();
                    }
                    Ok(None) | Err(_) => break,
                },
                is_over = silence.is_over() => {
                    if is_over {
                        tracing::warn!(site = %self.site, "a site was silent for a minute: its session is over");
                        break;
                    }
                    if live.holds() {
                        self.sessions.send(&self.site, Down::KeepAlive(KeepAlive {}));
                    }
                }
                () = live.ended() => return,
            }
        }
        self.sessions.detach(&self.site, number);
    }

    /// Processes a message; returns true if the session continues.
    async fn hear(&self, number: u64, message: Up) -> bool {
        match message {
            Up::Progress(progress) => self.sessions.progress(&self.site, progress),
            Up::Ended(ended) => {
                if let Some((index, summary)) = self.sessions.end(&self.site, ended) {
                    let scans = Arc::clone(&self.scans);
                    let storing = move || scans.analyser.indexes.put_summary(index, &summary).map_err(Error::from);
                    if let Err(error) = blocking(storing).await {
                        tracing::error!(site = %self.site, %error, "the summary of a sync cannot be stored");
                    }
                }
            }
            Up::State(state) => self.sessions.set_state(&self.site, number, state),
            Up::KeepAlive(_) => {}
            Up::Hello(_) => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests;
