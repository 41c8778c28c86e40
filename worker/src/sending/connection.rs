//! The calls of the coordinator. Every message is written to the send log before the transport gets it.
//!
//! Only this module names clients of the coordinator's services, and a test checks that: so nothing is sent without an
//! entry in the log.

use std::sync::Arc;
use std::time::Duration;

use cognate_proto::calls::Messages;
use cognate_proto::file_hash::FileHashList;
use cognate_proto::fine::{FineChoice, FineError};
use cognate_proto::limits::MESSAGE_BYTES_MAX;
use cognate_proto::scope::{Scope, ScopeAnnouncement, ScopeError};
use cognate_proto::v1::attach_request::Message as AttachUp;
use cognate_proto::v1::enrolment_client::EnrolmentClient;
use cognate_proto::v1::file_hash_hits_request::Message as HitsUp;
use cognate_proto::v1::fine_chunks_request::Message as FineUp;
use cognate_proto::v1::worker_client::WorkerClient;
use cognate_proto::v1::{
    AttachRequest, AttachResponse, EnrollRequest, EnrollResponse, FileHashHitsRequest, FileHashesRequest, FineAnswer,
    FineChoiceRequest, FineChunksRequest, Hello, MeasureAnswer, PushRequest, PushResponse, ReceivedIndex,
    ReceivedRequest, RenewRequest, RenewResponse, ResultsRequest, ResultsResponse, ScopeRequest,
};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Status};

use super::dry_run_file::{self, DryRun};
use super::fine_upload::{LineWindow, SILENCE_MAX, TablesUnderWay};
use super::outgoing::{ANSWER_MAX, Outgoing};
use super::send_log::SendLog;
use crate::error::{SiteError, SyncError};
use crate::ledger::{Kind, Ledger, LedgerError};

/// A connection to the coordinator, with its send log.
#[derive(Clone)]
pub struct Connection {
    /// `None` for a dry run, whose pushes are answered like those to a coordinator that holds nothing.
    channel: Option<Channel>,
    log: SendLog,
    window: LineWindow,
}

impl Connection {
    /// A connection that writes every message to the ledger first.
    pub fn new(channel: Channel, ledger: Arc<Ledger>, destination: &str) -> Connection {
        Connection {
            channel: Some(channel),
            log: SendLog::Ledger(ledger, destination.into()),
            window: LineWindow::default(),
        }
    }

    /// A connection within one process.
    pub(crate) fn within_process(channel: Channel) -> Connection {
        Connection { channel: Some(channel), log: SendLog::None, window: LineWindow::default() }
    }

    /// The connection of a dry run.
    pub(crate) fn dry_run(dry_run: Arc<DryRun>) -> Connection {
        Connection { channel: None, log: SendLog::DryRun(dry_run), window: LineWindow::default() }
    }

    fn channel(&self) -> Result<Channel, Status> {
        self.channel.clone().ok_or_else(|| Status::unavailable("a dry run has no coordinator"))
    }

    fn worker(&self) -> Result<WorkerClient, Status> {
        Ok(WorkerClient::new(self.channel()?).max_decoding_message_size(MESSAGE_BYTES_MAX))
    }

    /// Opens the control stream with its first message.
    pub(crate) async fn attach(
        &self,
        hello: Hello,
    ) -> Result<(Outgoing<AttachRequest>, Messages<AttachResponse>), SiteError> {
        let (sender, requests) = mpsc::channel(16);
        let up = Outgoing::new(sender, self.log.clone());
        up.send(AttachUp::Hello(hello)).await?;
        let session = |status| SiteError::Session(Box::new(status));
        let mut worker = self.worker().map_err(session)?;
        let attaching = worker.attach(ReceiverStream::new(requests));
        let late = |_| session(Status::deadline_exceeded("the coordinator did not answer"));
        let down = tokio::time::timeout(ANSWER_MAX, attaching).await.map_err(late)?.map_err(session)?;
        Ok((up, down.into_inner()))
    }

    /// Opens a push. The answers go to the returned receiver.
    pub(crate) fn push(
        &self,
        runtime: &tokio::runtime::Handle,
    ) -> (Outgoing<PushRequest>, mpsc::Receiver<Result<PushResponse, Status>>) {
        let (sender, requests) = mpsc::channel(4);
        let (incoming, responses) = mpsc::channel(64);
        let this = self.clone();
        runtime.spawn(async move {
            match this.worker() {
                Ok(worker) => forward(worker, requests, incoming).await,
                Err(_) => dry_run_file::answer(requests, incoming).await,
            }
        });
        (Outgoing::new(sender, self.log.clone()), responses)
    }

    /// Requests the coordinator's counts of this site's indexes.
    ///
    /// # Errors
    /// If the coordinator does not answer, or the request cannot be logged.
    pub async fn received(&self) -> Result<Vec<ReceivedIndex>, SiteError> {
        let request = self.log.recorded(Kind::ReceivedRequest, ReceivedRequest {}).await?;
        let session = |status| SiteError::Session(Box::new(status));
        let mut worker = self.worker().map_err(session)?;
        let answer = tokio::time::timeout(ANSWER_MAX, worker.received(request)).await;
        let late = |_| session(Status::deadline_exceeded("the coordinator did not answer"));
        Ok(answer.map_err(late)?.map_err(session)?.into_inner().indexes)
    }

    /// Requests a certificate for a new key.
    pub(crate) async fn renew(&self, request: RenewRequest) -> Result<RenewResponse, SiteError> {
        let request = self.log.recorded(Kind::Renew, request).await?;
        let session = |status| SiteError::Session(Box::new(status));
        let mut client = EnrolmentClient::new(self.channel().map_err(session)?);
        let answer = tokio::time::timeout(ANSWER_MAX, client.renew(request)).await;
        let late = |_| session(Status::deadline_exceeded("the coordinator did not answer"));
        Ok(answer.map_err(late)?.map_err(session)?.into_inner())
    }

    /// Requests the contents of a refinement, and checks them against the announcement.
    pub(crate) async fn scope(&self, assignment: u64, refinement: ScopeAnnouncement) -> Result<Scope, SyncError> {
        let request = self.log.recorded(Kind::ScopeRequest, ScopeRequest { assignment }).await?;
        let late = |_| Status::deadline_exceeded("the coordinator did not answer");
        let broken = |error: ScopeError| SyncError::Violation(format!("it sent {error}"));
        let mut worker = self.worker()?;
        let answer = tokio::time::timeout(ANSWER_MAX, worker.scope(request)).await.map_err(late)?;
        let (mut pieces, mut arriving) = (answer?.into_inner(), refinement.receiver());
        while let Some(piece) = tokio::time::timeout(ANSWER_MAX, pieces.message()).await.map_err(late)?? {
            arriving.take(&piece).map_err(broken)?;
        }
        arriving.finish().map_err(broken)
    }

    /// Requests the hashes of a query, and checks that their number is the announced one.
    pub(crate) async fn file_hashes(&self, query: u64, announced: u64) -> Result<FileHashList, SyncError> {
        let request = self.log.recorded(Kind::FileHashesRequest, FileHashesRequest { query }).await?;
        let late = |_| Status::deadline_exceeded("the coordinator did not answer");
        let mut worker = self.worker()?;
        let answer = tokio::time::timeout(ANSWER_MAX, worker.file_hashes(request)).await.map_err(late)?;
        let (mut pieces, mut list) = (answer?.into_inner(), FileHashList::default());
        while let Some(piece) = tokio::time::timeout(ANSWER_MAX, pieces.message()).await.map_err(late)?? {
            list.take(&piece).map_err(|error| SyncError::Violation(format!("it sent {error}")))?;
        }
        match list.hashes().len() as u64 == announced {
            true => Ok(list),
            false => Err(SyncError::Violation("it sent another number of hashes than it announced".to_owned())),
        }
    }

    /// Sends the files that match a query by hashes.
    pub(crate) async fn file_hash_hits(&self, messages: Vec<HitsUp>) -> Result<(), SyncError> {
        let requests: Vec<FileHashHitsRequest> =
            messages.into_iter().map(|message| FileHashHitsRequest { message: Some(message) }).collect();
        let requests = self.log.all_recorded(Kind::FileHashHits, requests).await?;
        let late = |_| Status::deadline_exceeded("the coordinator did not answer");
        let mut worker = self.worker()?;
        let sending = worker.file_hash_hits(tokio_stream::iter(requests));
        tokio::time::timeout(ANSWER_MAX, sending).await.map_err(late)??;
        Ok(())
    }

    /// Requests the contents and chunks of a query for fine chunks, and checks their announced numbers.
    pub(crate) async fn fine_choice(&self, query: u64, contents: u64, chunks: u64) -> Result<FineChoice, SyncError> {
        let request = self.log.recorded(Kind::FineChoiceRequest, FineChoiceRequest { query }).await?;
        let late = |_| Status::deadline_exceeded("the coordinator did not answer");
        let broken = |error: FineError| SyncError::Violation(format!("it sent {error}"));
        let mut worker = self.worker()?;
        let answer = tokio::time::timeout(ANSWER_MAX, worker.fine_choices(request)).await.map_err(late)?;
        let (mut pieces, mut choice) = (answer?.into_inner(), FineChoice::default());
        while let Some(piece) = tokio::time::timeout(ANSWER_MAX, pieces.message()).await.map_err(late)?? {
            choice.take(&piece).map_err(broken)?;
        }
        choice.check(contents, chunks).map_err(broken)?;
        Ok(choice)
    }

    /// Sends the answer to a query for fine chunks: the messages as they come, up to the last one. `false`: nobody waits for it any more.
    ///
    /// # Errors
    /// Fails if the coordinator does not acknowledge, if messages end without the last one, or if one cannot be logged.
    pub(crate) async fn fine_chunks(
        &self,
        query: u64,
        mut messages: mpsc::Receiver<FineUp>,
    ) -> Result<bool, SyncError> {
        let late = || Status::deadline_exceeded("the coordinator did not answer");
        let broken = |what: &str| SyncError::Violation(format!("it sent {what}"));
        let (sender, requests) = mpsc::channel(1);
        self.send_fine(&sender, FineUp::Answer(FineAnswer { query })).await?;
        let mut worker = self.worker()?;
        let calling = worker.fine_chunks(ReceiverStream::new(requests));
        let mut receipts = match tokio::time::timeout(ANSWER_MAX, calling).await.map_err(|_| late())? {
            Ok(receipts) => receipts.into_inner(),
            Err(status) if status.code() == Code::Aborted => return Ok(false),
            Err(status) => return Err(status.into()),
        };
        let (mut sender, mut tables) = (Some(sender), TablesUnderWay::new(self.window.clone()));
        let mut heard = Instant::now();
        loop {
            let is_silent = async {
                match tables.is_empty() && sender.is_some() {
                    true => std::future::pending().await,
                    false => tokio::time::sleep_until(heard + SILENCE_MAX).await,
                }
            };
            tokio::select! {
                message = messages.recv(), if sender.is_some() && !tables.is_full() => {
                    let (Some(message), Some(to_send)) = (message, &sender) else { return Err(SyncError::Cancelled) };
                    if tables.is_empty() {
                        heard = Instant::now();
                    }
                    let is_last = matches!(message, FineUp::End(_));
                    self.send_fine(to_send, message).await?;
                    match is_last {
                        true => sender = None,
                        false => tables.send(Instant::now()),
                    }
                }
                receipt = receipts.message() => match receipt {
                    Ok(Some(receipt)) => {
                        heard = Instant::now();
                        tables.acknowledge(receipt.tables, heard).map_err(broken)?;
                    }
                    Ok(None) if sender.is_none() => return Ok(true),
                    Ok(None) => return Err(Status::aborted("the coordinator ended the call").into()),
                    Err(status) if status.code() == Code::Aborted => return Ok(false),
                    Err(status) => return Err(status.into()),
                },
                () = is_silent => return Err(late().into()),
            }
        }
    }

    /// Logs and sends a message of an answer.
    async fn send_fine(&self, sender: &mpsc::Sender<FineChunksRequest>, message: FineUp) -> Result<(), SyncError> {
        let request = FineChunksRequest { message: Some(message) };
        let request = self.log.all_recorded(Kind::FineChunks, vec![request]).await?.remove(0);
        // A call that has ended says why by its answer.
        let _ = sender.send(request).await;
        Ok(())
    }

    /// Sends the counts of a query for the exact measure.
    pub(crate) async fn measures(&self, answer: MeasureAnswer) -> Result<(), SyncError> {
        let answer = self.log.all_recorded(Kind::Measures, vec![answer]).await?.remove(0);
        let late = |_| Status::deadline_exceeded("the coordinator did not answer");
        let mut worker = self.worker()?;
        tokio::time::timeout(ANSWER_MAX, worker.measures(answer)).await.map_err(late)??;
        Ok(())
    }

    /// Requests the list of scans that concern this site, or the result of one of them for this site.
    pub(crate) async fn results(&self, scan: Option<u64>) -> Result<Messages<ResultsResponse>, SiteError> {
        let request = self.log.recorded(Kind::ResultsRequest, ResultsRequest { scan }).await?;
        let session = |status| SiteError::Session(Box::new(status));
        let mut worker = self.worker().map_err(session)?;
        Ok(worker.results(request).await.map_err(session)?.into_inner())
    }
}

/// Requests a certificate with an invitation, from a coordinator that has proved the CA's key. The ledger holds only a
/// digest of the message, so the secret is in no file.
pub(crate) async fn enroll(
    channel: Channel,
    ledger: &Arc<Ledger>,
    destination: &str,
    request: EnrollRequest,
) -> Result<Result<EnrollResponse, Status>, LedgerError> {
    let log = SendLog::Ledger(Arc::clone(ledger), destination.into());
    let request = log.recorded(Kind::Enroll, request).await?;
    let mut client = EnrolmentClient::new(channel);
    Ok(match tokio::time::timeout(ANSWER_MAX, client.enroll(request)).await {
        Ok(answer) => answer.map(tonic::Response::into_inner),
        Err(_) => Err(Status::deadline_exceeded("the coordinator did not answer")),
    })
}

/// Longest time for the end of a push after the sync has stopped listening.
const DRAIN_MAX: Duration = Duration::from_secs(10);

/// Sends the requests of a push and forwards its answers.
async fn forward(
    mut worker: WorkerClient,
    requests: mpsc::Receiver<PushRequest>,
    incoming: mpsc::Sender<Result<PushResponse, Status>>,
) {
    let forwarded = async {
        let mut stream = match worker.push(ReceiverStream::new(requests)).await {
            Ok(response) => response.into_inner(),
            Err(status) => return drop(incoming.send(Err(status)).await),
        };
        while let Some(message) = stream.message().await.transpose() {
            let failed = message.is_err();
            // Read the stream to its end even if nobody listens, so that everything that was sent arrives.
            let _ = incoming.send(message).await;
            if failed {
                return;
            }
        }
    };
    let abandoned = async {
        incoming.closed().await;
        tokio::time::sleep(DRAIN_MAX).await;
    };
    tokio::select! {
        () = forwarded => {}
        () = abandoned => {}
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn only_this_module_names_clients_of_the_coordinator() {
        fn search(folder: &Path, found: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    search(&path, found);
                } else if std::fs::read_to_string(&path).unwrap().contains("_client::") {
                    found.push(path.file_name().unwrap().to_string_lossy().into_owned());
                }
            }
        }
        let mut found = vec![];
        search(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), &mut found);
        assert_eq!(found, ["connection.rs"]);
    }
}
