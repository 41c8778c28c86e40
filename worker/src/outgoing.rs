//! The one way out: every message to the coordinator is written into the site's book before it is handed to the transport.
//!
//! Clients of the coordinator's services are named in this module only (a test looks), so that nothing can leave around
//! the book.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cognate_proto::file_hash::FileHashList;
use cognate_proto::limits::MESSAGE_BYTES_MAX;
use cognate_proto::scope::{Announced, Scope, ScopeError};
use cognate_proto::v1::attach_request::Message as AttachUp;
use cognate_proto::v1::enrolment_client::EnrolmentClient;
use cognate_proto::v1::file_hash_hits_request::Message as HitsUp;
use cognate_proto::v1::push_request::Message as PushUp;
use cognate_proto::v1::worker_client::WorkerClient;
use cognate_proto::v1::{
    AttachRequest, AttachResponse, EnrollRequest, EnrollResponse, FileHashHitsRequest, FileHashesRequest, Hello,
    PushRequest, PushResponse, ReceivedIndex, ReceivedRequest, RenewRequest, RenewResponse, ResultsRequest,
    ResultsResponse, ScopeRequest,
};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use crate::error::{SiteError, SyncError};
use crate::ledger::{IndexEntry, Kind, Ledger, LedgerError};
use crate::rehearsal::Rehearsal;

/// How long a call that has one answer may take, and a session to be taken in.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// Where it is written down what leaves.
#[derive(Clone, Debug)]
pub(crate) enum Book {
    /// Nowhere: both sides are one process.
    None,
    /// In the site's ledger, with the address that it goes to.
    Ledger(Arc<Ledger>, Arc<str>),
    /// In a file, instead of being sent.
    Rehearsal(Arc<Rehearsal>),
}

impl Book {
    /// Writes a message down. Only then may it be sent.
    pub(crate) fn record(
        &self,
        kind: Kind,
        message: &impl prost::Message,
        index: impl FnOnce() -> Option<IndexEntry>,
    ) -> Result<(), LedgerError> {
        match self {
            Book::None => Ok(()),
            Book::Ledger(ledger, destination) => ledger.record(kind, destination, message, index()),
            Book::Rehearsal(rehearsal) => rehearsal.record(kind, message, index()),
        }
    }
}

impl Book {
    /// Brings what was written down to the disk.
    fn settle(&self) -> Result<(), LedgerError> {
        match self {
            Book::Ledger(ledger, _) => ledger.sync(),
            Book::None | Book::Rehearsal(_) => Ok(()),
        }
    }
}

/// A connection to the coordinator, with the book of what goes over it.
#[derive(Clone)]
pub struct Uplink {
    far: Far,
    book: Book,
}

#[derive(Clone)]
enum Far {
    Coordinator(Channel),
    /// Nobody: what would be sent is answered as a coordinator would that holds nothing.
    Nobody,
}

impl Uplink {
    /// A connection over which nothing goes that the ledger does not hold.
    pub fn new(channel: Channel, ledger: Arc<Ledger>, destination: &str) -> Uplink {
        Uplink { far: Far::Coordinator(channel), book: Book::Ledger(ledger, destination.into()) }
    }

    /// A connection within one process.
    pub(crate) fn within(channel: Channel) -> Uplink {
        Uplink { far: Far::Coordinator(channel), book: Book::None }
    }

    /// A connection to nobody.
    pub(crate) fn rehearsal(rehearsal: Arc<Rehearsal>) -> Uplink {
        Uplink { far: Far::Nobody, book: Book::Rehearsal(rehearsal) }
    }

    fn channel(&self) -> Result<Channel, Status> {
        match &self.far {
            Far::Coordinator(channel) => Ok(channel.clone()),
            Far::Nobody => Err(Status::unavailable("there is no coordinator")),
        }
    }

    fn worker(&self) -> Result<WorkerClient<Channel>, Status> {
        Ok(WorkerClient::new(self.channel()?).max_decoding_message_size(MESSAGE_BYTES_MAX))
    }

    /// Opens the control stream with its greeting.
    pub(crate) async fn attach(
        &self,
        hello: Hello,
    ) -> Result<(Outgoing<AttachRequest>, Streaming<AttachResponse>), SiteError> {
        let (sender, requests) = mpsc::channel(16);
        let up = Outgoing::new(sender, self.book.clone());
        up.tell(AttachUp::Hello(hello)).await?;
        let session = |status| SiteError::Session(Box::new(status));
        let mut worker = self.worker().map_err(session)?;
        let attaching = worker.attach(ReceiverStream::new(requests));
        let late = |_| session(Status::deadline_exceeded("the coordinator did not answer"));
        let down = tokio::time::timeout(ANSWER_MAX, attaching).await.map_err(late)?.map_err(session)?;
        Ok((up, down.into_inner()))
    }

    /// Opens a push. What comes back is handed on until nobody listens any more.
    pub(crate) fn push(
        &self,
        runtime: &tokio::runtime::Handle,
    ) -> (Outgoing<PushRequest>, mpsc::Receiver<Result<PushResponse, Status>>) {
        let (sender, requests) = mpsc::channel(4);
        let (incoming, responses) = mpsc::channel(64);
        let this = self.clone();
        runtime.spawn(async move {
            match this.worker() {
                Ok(worker) => hear(worker, requests, incoming).await,
                Err(_) => crate::rehearsal::answer(requests, incoming).await,
            }
        });
        (Outgoing::new(sender, self.book.clone()), responses)
    }

    /// Asks what the coordinator holds of this site.
    ///
    /// # Errors
    /// When it does not answer, or it cannot be written down that it is asked.
    pub async fn received(&self) -> Result<Vec<ReceivedIndex>, SiteError> {
        self.book.record(Kind::ReceivedRequest, &ReceivedRequest {}, || None)?;
        let session = |status| SiteError::Session(Box::new(status));
        let mut worker = self.worker().map_err(session)?;
        let asked = tokio::time::timeout(ANSWER_MAX, worker.received(ReceivedRequest {})).await;
        let late = |_| session(Status::deadline_exceeded("the coordinator did not answer"));
        Ok(asked.map_err(late)?.map_err(session)?.into_inner().indexes)
    }

    /// Asks for a certificate for a new key.
    pub(crate) async fn renew(&self, request: RenewRequest) -> Result<RenewResponse, SiteError> {
        self.book.record(Kind::Renew, &request, || None)?;
        let session = |status| SiteError::Session(Box::new(status));
        let mut client = EnrolmentClient::new(self.channel().map_err(session)?);
        let asked = tokio::time::timeout(ANSWER_MAX, client.renew(request)).await;
        let late = |_| session(Status::deadline_exceeded("the coordinator did not answer"));
        Ok(asked.map_err(late)?.map_err(session)?.into_inner())
    }

    /// Asks which contents a refinement is about, and checks that they are what was announced.
    pub(crate) async fn scope(&self, assignment: u64, refinement: Announced) -> Result<Scope, SyncError> {
        let request = ScopeRequest { assignment };
        self.book.record(Kind::ScopeRequest, &request, || None)?;
        let late = |_| Status::deadline_exceeded("the coordinator did not answer");
        let broken = |error: ScopeError| SyncError::Violation(format!("it sent {error}"));
        let mut worker = self.worker()?;
        let asked = tokio::time::timeout(ANSWER_MAX, worker.scope(request)).await.map_err(late)?;
        let (mut pieces, mut arriving) = (asked?.into_inner(), refinement.arriving());
        while let Some(piece) = tokio::time::timeout(ANSWER_MAX, pieces.message()).await.map_err(late)?? {
            arriving.take(&piece).map_err(broken)?;
        }
        arriving.finish().map_err(broken)
    }

    /// Asks for the hashes that a query is about: so many were announced.
    pub(crate) async fn file_hashes(&self, query: u64, announced: u64) -> Result<FileHashList, SyncError> {
        let request = FileHashesRequest { query };
        self.book.record(Kind::FileHashesRequest, &request, || None)?;
        let late = |_| Status::deadline_exceeded("the coordinator did not answer");
        let mut worker = self.worker()?;
        let asked = tokio::time::timeout(ANSWER_MAX, worker.file_hashes(request)).await.map_err(late)?;
        let (mut pieces, mut list) = (asked?.into_inner(), FileHashList::default());
        while let Some(piece) = tokio::time::timeout(ANSWER_MAX, pieces.message()).await.map_err(late)?? {
            list.take(&piece).map_err(|error| SyncError::Violation(format!("it sent {error}")))?;
        }
        match list.hashes().len() as u64 == announced {
            true => Ok(list),
            false => Err(SyncError::Violation("it sent another number of hashes than it announced".to_owned())),
        }
    }

    /// Tells which files have a hash that was asked for.
    pub(crate) async fn file_hash_hits(&self, messages: Vec<HitsUp>) -> Result<(), SyncError> {
        let requests: Vec<FileHashHitsRequest> =
            messages.into_iter().map(|message| FileHashHitsRequest { message: Some(message) }).collect();
        requests.iter().try_for_each(|request| self.book.record(Kind::FileHashHits, request, || None))?;
        self.book.settle()?;
        let late = |_| Status::deadline_exceeded("the coordinator did not answer");
        let mut worker = self.worker()?;
        let telling = worker.file_hash_hits(tokio_stream::iter(requests));
        tokio::time::timeout(ANSWER_MAX, telling).await.map_err(late)??;
        Ok(())
    }

    /// Asks for the scans that concern this site, or for what concerns it of one.
    pub(crate) async fn results(&self, scan: Option<u64>) -> Result<Streaming<ResultsResponse>, SiteError> {
        let request = ResultsRequest { scan };
        self.book.record(Kind::ResultsRequest, &request, || None)?;
        let session = |status| SiteError::Session(Box::new(status));
        let mut worker = self.worker().map_err(session)?;
        Ok(worker.results(request).await.map_err(session)?.into_inner())
    }
}

/// Turns an invitation into a certificate, over a connection whose other side has shown the CA's key. What is written down
/// of it is its digest: the secret is in no file.
pub(crate) async fn enroll(
    channel: Channel,
    ledger: &Arc<Ledger>,
    destination: &str,
    request: EnrollRequest,
) -> Result<Result<EnrollResponse, Status>, LedgerError> {
    ledger.record(Kind::Enroll, destination, &request, None)?;
    let mut client = EnrolmentClient::new(channel);
    Ok(match tokio::time::timeout(ANSWER_MAX, client.enroll(request)).await {
        Ok(answer) => answer.map(tonic::Response::into_inner),
        Err(_) => Err(Status::deadline_exceeded("the coordinator did not answer")),
    })
}

/// How long the rest of a push may take to drain once nobody listens to it any more.
const DRAIN_MAX: Duration = Duration::from_secs(10);

async fn hear(
    mut worker: WorkerClient<Channel>,
    requests: mpsc::Receiver<PushRequest>,
    incoming: mpsc::Sender<Result<PushResponse, Status>>,
) {
    let heard = async {
        let mut stream = match worker.push(ReceiverStream::new(requests)).await {
            Ok(response) => response.into_inner(),
            Err(status) => return drop(incoming.send(Err(status)).await),
        };
        while let Some(message) = stream.message().await.transpose() {
            let failed = message.is_err();
            // With nobody listening the stream is read to its end all the same, so that what was sent arrives.
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
        () = heard => {}
        () = abandoned => {}
    }
}

/// One direction of a stream to the coordinator. There is no other way onto it.
pub(crate) struct Outgoing<M> {
    sender: mpsc::Sender<M>,
    book: Book,
    /// When something was last sent.
    said: Arc<Mutex<Instant>>,
}

impl<M> Clone for Outgoing<M> {
    fn clone(&self) -> Outgoing<M> {
        Outgoing { sender: self.sender.clone(), book: self.book.clone(), said: Arc::clone(&self.said) }
    }
}

/// Room for one message.
pub(crate) struct Permit<'a, M> {
    permit: mpsc::Permit<'a, M>,
    outgoing: &'a Outgoing<M>,
}

impl<M: prost::Message> Outgoing<M> {
    fn new(sender: mpsc::Sender<M>, book: Book) -> Outgoing<M> {
        Outgoing { sender, book, said: Arc::new(Mutex::new(Instant::now())) }
    }

    /// Waits for room; `None` when the stream is gone.
    pub(crate) async fn reserve(&self) -> Option<Permit<'_, M>> {
        let permit = self.sender.reserve().await.ok()?;
        Some(Permit { permit, outgoing: self })
    }

    /// Room, if there is some now.
    pub(crate) fn try_reserve(&self) -> Option<Permit<'_, M>> {
        let permit = self.sender.try_reserve().ok()?;
        Some(Permit { permit, outgoing: self })
    }

    /// When something was last sent.
    pub(crate) fn said(&self) -> Instant {
        *self.said.lock().expect("nothing panics while it is held")
    }

    /// Counts as having said something.
    pub(crate) fn mark_said(&self) {
        *self.said.lock().expect("nothing panics while it is held") = Instant::now();
    }
}

impl<M: prost::Message> Permit<'_, M> {
    fn send_as(self, kind: Kind, message: M, index: impl FnOnce() -> Option<IndexEntry>) -> Result<(), LedgerError> {
        self.outgoing.book.record(kind, &message, index)?;
        self.permit.send(message);
        self.outgoing.mark_said();
        Ok(())
    }
}

impl Permit<'_, PushRequest> {
    /// Writes a message of a push down and sends it.
    pub(crate) fn push(
        self,
        request: PushRequest,
        index: impl FnOnce() -> Option<IndexEntry>,
    ) -> Result<(), LedgerError> {
        let kind = match &request.message {
            Some(PushUp::Open(_)) | None => Kind::Open,
            Some(PushUp::Batch(_)) => Kind::Batch,
            Some(PushUp::Seal(_)) => Kind::Seal,
        };
        self.send_as(kind, request, index)
    }
}

impl Permit<'_, AttachRequest> {
    /// Writes a message of the control stream down and sends it.
    pub(crate) fn attach(self, message: AttachUp) -> Result<(), LedgerError> {
        self.send_as(kind_of(&message), AttachRequest { message: Some(message) }, || None)
    }
}

impl Outgoing<AttachRequest> {
    /// Says something on the control stream, once there is room. Without a stream, or on one that has not moved for so
    /// long, there is nobody to tell.
    pub(crate) async fn tell(&self, message: AttachUp) -> Result<(), LedgerError> {
        match tokio::time::timeout(ANSWER_MAX, self.reserve()).await {
            Ok(Some(permit)) => permit.attach(message),
            Ok(None) | Err(_) => Ok(()),
        }
    }

    /// Says something that will soon be said again, if there is room now.
    pub(crate) fn mention(&self, message: AttachUp) -> Result<(), LedgerError> {
        self.try_reserve().map_or(Ok(()), |permit| permit.attach(message))
    }
}

/// Which kind a message of the control stream is.
pub(crate) fn kind_of(message: &AttachUp) -> Kind {
    match message {
        AttachUp::Hello(_) => Kind::Hello,
        AttachUp::Progress(_) => Kind::Progress,
        AttachUp::Ended(_) => Kind::Ended,
        AttachUp::KeepAlive(_) => Kind::KeepAlive,
        AttachUp::State(_) => Kind::State,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn clients_of_the_coordinator_are_named_in_this_module_only() {
        fn look(folder: &Path, found: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    look(&path, found);
                } else if std::fs::read_to_string(&path).unwrap().contains("_client::") {
                    found.push(path.file_name().unwrap().to_string_lossy().into_owned());
                }
            }
        }
        let mut found = vec![];
        look(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), &mut found);
        assert_eq!(found, ["outgoing.rs"]);
    }
}
