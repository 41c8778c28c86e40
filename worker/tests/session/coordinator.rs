//! A scripted coordinator, and a daemon with a connection to it over pipes within the process.

use std::collections::HashMap;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cognate_fingerprint::{Key, Method, View};
use cognate_proto::batch::{Batch, DocumentRow};
use cognate_proto::calls::Messages;
use cognate_proto::index_digest::IndexDigest;
use cognate_proto::limits::MESSAGE_BYTES_MAX;
use cognate_proto::v1::attach_request::Message as AttachUp;
use cognate_proto::v1::attach_response::Message as AttachDown;
use cognate_proto::v1::fine_chunks_request::Message as FineUp;
use cognate_proto::v1::push_request::Message as PushUp;
use cognate_proto::v1::push_response::Message as PushDown;
use cognate_proto::v1::worker_server::{Worker, WorkerServer};
use cognate_proto::v1::{
    Ack, Assignment, AttachRequest, AttachResponse, FileHashHitsRequest, FileHashHitsResponse, FileHashTable,
    FileHashesRequest, FineChoice, FineChoiceRequest, FineChunksRequest, FineChunksResponse, FineEnd, MeasureAnswer,
    MeasureReceipt, MethodSpec, Opened, PushRequest, PushResponse, ReceivedRequest, ReceivedResponse, ResultsRequest,
    ResultsResponse, ScopeRequest, ScopeResponse, Sealed, SyncEnded, Welcome,
};
use cognate_worker::control::{self, Request as Ask};
use cognate_worker::ledger::{Ledger, read};
use cognate_worker::policy::Policy;
use cognate_worker::{DaemonConfig, DialFuture, Dialer, Presence, Site, SiteConfig, SiteError, run_daemon};
use hyper_util::rt::TokioIo;
use prost::Message as _;
use tokio::io::DuplexStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::{ReceiverStream, UnboundedReceiverStream};
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};

pub(crate) const WINDOW_BYTES: u64 = cognate_proto::limits::WINDOW_BYTES;

/// The answer to a message of a push; `None`: there is none.
pub(crate) type Answers = Arc<dyn Fn(PushUp) -> Option<PushDown> + Send + Sync>;

/// The behaviour of a coordinator of these tests.
#[derive(Clone)]
pub(crate) struct Script {
    /// The protocol of the welcome.
    pub(crate) protocol: u32,
    /// Sent after the welcome.
    pub(crate) sends: Vec<AttachDown>,
    /// Answers a message of a push.
    pub(crate) answers: Answers,
    /// Refuses to attach.
    pub(crate) refuses: Option<Status>,
    /// Sent one after the other, each when an assignment has ended.
    pub(crate) then: Vec<AttachDown>,
    /// The pieces of the scope of a refinement.
    pub(crate) scope: Vec<Vec<u8>>,
}

impl Script {
    pub(crate) fn sending(sends: Vec<AttachDown>) -> Script {
        Script { protocol: 1, sends, answers: Arc::new(honest), refuses: None, then: vec![], scope: vec![] }
    }
}

pub(crate) fn honest(message: PushUp) -> Option<PushDown> {
    Some(match message {
        PushUp::Open(_) => PushDown::Opened(Opened {
            committed_sequence: 0,
            index_digest: IndexDigest::default().to_bytes().to_vec(),
            window_bytes: WINDOW_BYTES,
            ..Opened::default()
        }),
        PushUp::Batch(batch) => PushDown::Ack(Ack { committed_sequence: batch.sequence, ..Ack::default() }),
        PushUp::Seal(seal) => {
            PushDown::Sealed(Sealed { sequence: seal.sequence, index_digest: seal.index_digest, received: None })
        }
    })
}

/// The batches that the coordinator received, and the indexes that were sealed.
#[derive(Default)]
pub(crate) struct Received {
    pub(crate) batches: Vec<Batch>,
    /// The last sequence and the digest, by method, scope and epoch.
    pub(crate) sealed: HashMap<IndexName, (u64, Vec<u8>)>,
}

type IndexName = (Vec<u8>, Vec<u8>, u64);

impl Received {
    /// Keeps what a message brings.
    fn take(&mut self, message: &PushUp) {
        if let PushUp::Batch(batch) = message {
            self.batches.push(Batch::decode(&batch.body, u32::MAX).unwrap());
        }
    }

    /// The answer as it is about an index that may have been sealed before.
    fn about(&mut self, index: &IndexName, answer: PushDown) -> PushDown {
        match answer {
            PushDown::Opened(opened) => PushDown::Opened(match self.sealed.get(index) {
                Some((sequence, digest)) => {
                    Opened { committed_sequence: *sequence, index_digest: digest.clone(), ..opened }
                }
                None => opened,
            }),
            PushDown::Sealed(sealed) => {
                self.sealed.insert(index.clone(), (sealed.sequence, sealed.index_digest.clone()));
                PushDown::Sealed(sealed)
            }
            other => other,
        }
    }
}

pub(crate) struct Service {
    script: Script,
    /// What the test sends itself, to the first session.
    further: Mutex<Option<mpsc::UnboundedReceiver<AttachDown>>>,
    received: Arc<Mutex<Received>>,
    heard: mpsc::UnboundedSender<AttachUp>,
    measured: mpsc::UnboundedSender<MeasureAnswer>,
    /// The ends of answers of fine chunks.
    fine_ends: mpsc::UnboundedSender<FineEnd>,
    /// All messages of the worker, one after the other, as they are on the wire below TLS.
    wire: Arc<Mutex<Vec<u8>>>,
    /// The size of every message of a push.
    pushed: Arc<Mutex<Vec<usize>>>,
}

#[tonic::async_trait]
impl Worker for Service {
    type AttachStream = ReceiverStream<Result<AttachResponse, Status>>;
    type PushStream = ReceiverStream<Result<PushResponse, Status>>;
    type ResultsStream = ReceiverStream<Result<ResultsResponse, Status>>;
    type ScopeStream = ReceiverStream<Result<ScopeResponse, Status>>;
    type FileHashesStream = ReceiverStream<Result<FileHashTable, Status>>;
    type FineChoicesStream = ReceiverStream<Result<FineChoice, Status>>;
    type FineChunksStream = ReceiverStream<Result<FineChunksResponse, Status>>;

    async fn attach(&self, request: Request<Messages<AttachRequest>>) -> Result<Response<Self::AttachStream>, Status> {
        if let Some(status) = &self.script.refuses {
            return Err(status.clone());
        }
        let mut requests = request.into_inner();
        let (down, stream) = mpsc::channel(64);
        let welcome = AttachDown::Welcome(Welcome { protocol: self.script.protocol, site: "a".into() });
        for message in std::iter::once(welcome).chain(self.script.sends.iter().cloned()) {
            down.send(Ok(AttachResponse { message: Some(message) })).await.unwrap();
        }
        if let Some(mut further) = self.further.lock().unwrap().take() {
            let down = down.downgrade();
            tokio::spawn(async move {
                while let Some(message) = further.recv().await {
                    let Some(down) = down.upgrade() else { return };
                    let _ = down.send(Ok(AttachResponse { message: Some(message) })).await;
                }
            });
        }
        let (heard, wire) = (self.heard.clone(), Arc::clone(&self.wire));
        let mut then = self.script.then.clone().into_iter();
        tokio::spawn(async move {
            while let Ok(Some(request)) = requests.message().await {
                request.encode(&mut *wire.lock().unwrap()).unwrap();
                let message = request.message.unwrap();
                if matches!(message, AttachUp::Ended(_))
                    && let Some(next) = then.next()
                {
                    let _ = down.send(Ok(AttachResponse { message: Some(next) })).await;
                }
                let _ = heard.send(message);
            }
            drop(down);
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn push(&self, request: Request<Messages<PushRequest>>) -> Result<Response<Self::PushStream>, Status> {
        let mut requests = request.into_inner();
        let (down, stream) = mpsc::channel(64);
        let answers = Arc::clone(&self.script.answers);
        let (wire, pushed, received) = (Arc::clone(&self.wire), Arc::clone(&self.pushed), Arc::clone(&self.received));
        tokio::spawn(async move {
            let mut index = IndexName::default();
            while let Ok(Some(request)) = requests.message().await {
                request.encode(&mut *wire.lock().unwrap()).unwrap();
                pushed.lock().unwrap().push(request.encoded_len());
                let message = request.message.unwrap();
                if let PushUp::Open(open) = &message {
                    index = (open.method_id.clone(), open.scope.clone(), open.epoch);
                }
                received.lock().unwrap().take(&message);
                if let Some(message) = answers(message) {
                    let message = received.lock().unwrap().about(&index, message);
                    let _ = down.send(Ok(PushResponse { message: Some(message) })).await;
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn received(&self, _: Request<ReceivedRequest>) -> Result<Response<ReceivedResponse>, Status> {
        Ok(Response::new(ReceivedResponse::default()))
    }

    async fn scope(&self, _: Request<ScopeRequest>) -> Result<Response<Self::ScopeStream>, Status> {
        let (down, stream) = mpsc::channel(64);
        let pieces = self.script.scope.clone();
        tokio::spawn(async move {
            for contents in pieces {
                let _ = down.send(Ok(ScopeResponse { contents })).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn file_hashes(&self, _: Request<FileHashesRequest>) -> Result<Response<Self::FileHashesStream>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn file_hash_hits(
        &self,
        _: Request<Messages<FileHashHitsRequest>>,
    ) -> Result<Response<FileHashHitsResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn fine_choices(&self, _: Request<FineChoiceRequest>) -> Result<Response<Self::FineChoicesStream>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn fine_chunks(
        &self,
        request: Request<Messages<FineChunksRequest>>,
    ) -> Result<Response<Self::FineChunksStream>, Status> {
        let (mut requests, ends) = (request.into_inner(), self.fine_ends.clone());
        let (receipts, stream) = mpsc::channel(1);
        tokio::spawn(async move {
            let _receipts = receipts;
            while let Ok(Some(request)) = requests.message().await {
                if let Some(FineUp::End(end)) = request.message {
                    let _ = ends.send(end);
                    return;
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn measures(&self, request: Request<MeasureAnswer>) -> Result<Response<MeasureReceipt>, Status> {
        let _ = self.measured.send(request.into_inner());
        Ok(Response::new(MeasureReceipt {}))
    }

    async fn results(&self, _: Request<ResultsRequest>) -> Result<Response<Self::ResultsStream>, Status> {
        Err(Status::unimplemented("not here"))
    }
}

/// Dials the coordinator over a pipe, and counts how often.
pub(crate) struct Pipe {
    dial: mpsc::UnboundedSender<io::Result<DuplexStream>>,
    dialled: Arc<Mutex<u32>>,
}

impl Dialer for Pipe {
    fn dial(&self) -> DialFuture {
        *self.dialled.lock().unwrap() += 1;
        let dial = self.dial.clone();
        let connector = tower::service_fn(move |_| {
            let (ours, theirs) = tokio::io::duplex(1 << 16);
            let sent = dial.send(Ok(theirs));
            async move { sent.map(|()| TokioIo::new(ours)).map_err(|_| io::Error::from(io::ErrorKind::ConnectionRefused)) }
        });
        let channel: Channel =
            Endpoint::from_static("http://coordinator.invalid").connect_with_connector_lazy(connector);
        Box::pin(async move { Ok(channel) })
    }

    fn destination(&self) -> String {
        "pipe".to_owned()
    }
}

pub(crate) struct Running {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) heard: mpsc::UnboundedReceiver<AttachUp>,
    pub(crate) measured: mpsc::UnboundedReceiver<MeasureAnswer>,
    pub(crate) fine_ends: mpsc::UnboundedReceiver<FineEnd>,
    pub(crate) wire: Arc<Mutex<Vec<u8>>>,
    pub(crate) pushed: Arc<Mutex<Vec<usize>>>,
    pub(crate) dialled: Arc<Mutex<u32>>,
    pub(crate) received: Arc<Mutex<Received>>,
    further: mpsc::UnboundedSender<AttachDown>,
    pub(crate) stop: Option<oneshot::Sender<()>>,
    pub(crate) daemon: JoinHandle<Result<(), SiteError>>,
}

/// The content of a document of these tests.
pub(crate) fn document(number: u32) -> String {
    format!("document {number}")
}

/// Writes documents of these tests.
pub(crate) fn write_documents(root: &Path, numbers: std::ops::Range<u32>) {
    for number in numbers {
        std::fs::write(root.join(format!("paper {number}")), document(number)).unwrap();
    }
}

pub(crate) fn clock() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1 << 33)
}

impl Running {
    pub(crate) fn start(script: Script, policy: Policy) -> Running {
        Running::start_with(script, policy, &[])
    }

    /// The same, with a further document.
    pub(crate) fn start_with(script: Script, policy: Policy, further: &[u8]) -> Running {
        Running::start_in(script, policy, |root| {
            write_documents(root, 0..20);
            if !further.is_empty() {
                std::fs::write(root.join("further"), further).unwrap();
            }
        })
    }

    /// The same, with the files that `fill` makes.
    pub(crate) fn start_in(script: Script, policy: Policy, fill: impl FnOnce(&Path)) -> Running {
        Running::start_as(script, policy, true, fill)
    }

    /// The same, of a site that remembers nothing after a sync, unless `remember` is set.
    pub(crate) fn start_as(script: Script, policy: Policy, remember: bool, fill: impl FnOnce(&Path)) -> Running {
        let folder = tempfile::tempdir().unwrap();
        let (state, root) = (folder.path().join("state"), folder.path().join("kb"));
        std::fs::create_dir(&state).unwrap();
        std::fs::create_dir(&root).unwrap();
        fill(&root);
        let ledger = Arc::new(Ledger::open(&state, clock).unwrap());
        let site = Site::open(SiteConfig {
            state_dir: state.clone(),
            remember,
            repositories: vec![("kb".parse().unwrap(), root)],
            sentinels: Default::default(),
            own_files: Vec::new(),
            key: Key::none(),
            threads: NonZeroUsize::MIN,
            file_wait_max: Duration::from_secs(60),
            clock,
            extraction: cognate_worker::Extraction {
                recogniser: None,
                program: std::env::current_exe().unwrap(),
                arguments: ["--ignored", "--exact", "--test-threads=1", crate::READER].map(Into::into).into(),
                limits: Default::default(),
                texts_bytes_max: 0,
            },
            policy,
            ledger: Some(Arc::clone(&ledger)),
            presence: Some(Presence { earlier_instances: vec![7, 8], instance: 9 }),
        });
        let (dial, incoming) = mpsc::unbounded_channel();
        let (heard_to, heard) = mpsc::unbounded_channel();
        let (measured_to, measured) = mpsc::unbounded_channel();
        let (fine_ends_to, fine_ends) = mpsc::unbounded_channel();
        let (wire, pushed) = (Arc::default(), Arc::default());
        let (to_wire, to_pushed) = (Arc::clone(&wire), Arc::clone(&pushed));
        let (further, further_from) = mpsc::unbounded_channel();
        let received: Arc<Mutex<Received>> = Arc::default();
        let service = Service {
            script,
            further: Mutex::new(Some(further_from)),
            received: Arc::clone(&received),
            heard: heard_to,
            measured: measured_to,
            fine_ends: fine_ends_to,
            wire: to_wire,
            pushed: to_pushed,
        };
        let service = WorkerServer::new(service, MESSAGE_BYTES_MAX);
        tokio::spawn(
            Server::builder().add_service(service).serve_with_incoming(UnboundedReceiverStream::new(incoming)),
        );
        let dialled = Arc::new(Mutex::new(0));
        let dialer = Pipe { dial, dialled: Arc::clone(&dialled) };
        let config = DaemonConfig { schedule: vec![], socket: control::socket(&state), drain: Duration::from_secs(10) };
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async { drop(stopped.await) };
        let daemon = tokio::spawn(run_daemon(Arc::new(site.unwrap()), ledger, dialer, config, shutdown));
        let stop = Some(stop);
        Running { folder, heard, measured, fine_ends, wire, pushed, dialled, received, further, stop, daemon }
    }

    /// The folder of the documents.
    pub(crate) fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("kb")
    }

    /// Sends a message to the site.
    pub(crate) fn send(&self, message: AttachDown) {
        self.further.send(message).unwrap();
    }

    /// Sends an assignment, and waits for its end.
    pub(crate) async fn assign(&mut self, assignment: Assignment) -> SyncEnded {
        let number = assignment.assignment;
        self.send(AttachDown::Assignment(assignment));
        let ended = self.ended().await;
        assert_eq!(ended.assignment, number);
        ended
    }

    /// Takes the batches that were received since the last time.
    pub(crate) fn batches(&self) -> Vec<Batch> {
        std::mem::take(&mut self.received.lock().unwrap().batches)
    }

    /// Takes the rows of documents that were received since the last time.
    pub(crate) fn rows(&self) -> Vec<DocumentRow> {
        self.batches().into_iter().flat_map(|batch| batch.documents).collect()
    }

    pub(crate) fn state(&self) -> std::path::PathBuf {
        self.folder.path().join("state")
    }

    pub(crate) async fn hear(&mut self) -> AttachUp {
        let heard = tokio::time::timeout(Duration::from_secs(30), self.heard.recv());
        heard.await.expect("a message arrives").expect("the coordinator runs")
    }

    /// Waits for the end of an assignment, past other messages.
    pub(crate) async fn ended(&mut self) -> SyncEnded {
        loop {
            if let AttachUp::Ended(ended) = self.hear().await {
                return ended;
            }
        }
    }

    pub(crate) async fn stop(mut self) -> (tempfile::TempDir, Result<(), SiteError>) {
        self.stop.take().unwrap().send(()).unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(20), self.daemon).await.expect("it stops");
        (self.folder, ended.unwrap())
    }

    pub(crate) async fn ask(&self, ask: Ask) -> Result<Vec<serde_json::Value>, String> {
        let socket = control::socket(&self.state());
        tokio::task::spawn_blocking(move || {
            let mut rows = vec![];
            let answer = control::ask(&socket, &ask, |row| {
                rows.push(row);
                Ok(())
            });
            answer.map_err(|error| error.to_string())?.map(|()| rows)
        })
        .await
        .unwrap()
    }

    /// Why the session ended, once it has.
    pub(crate) async fn why(&mut self) -> String {
        loop {
            if let Ok(rows) = self.ask(Ask::Status).await {
                let session = &rows[0]["status"]["session"];
                if let Some(why) = session["why"].as_str().filter(|why| !why.is_empty()) {
                    return why.to_owned();
                }
            }
            tokio::task::yield_now().await;
        }
    }
}

pub(crate) fn assignment(number: u64) -> Assignment {
    assignment_of(number, View::Raw, 1000)
}

/// An assignment of another view, or with another mean length of chunks.
pub(crate) fn assignment_of(number: u64, view: View, chunk_bytes: u64) -> Assignment {
    let method = Method::tttd(view, chunk_bytes).unwrap();
    let method = Some(MethodSpec { method_id: vec![], ..MethodSpec::from(&method) });
    Assignment { assignment: number, repository: "kb".into(), method, ..Assignment::default() }
}

pub(crate) async fn is_cut_off(script: Script, because: &str) {
    let mut running = Running::start(script, Policy::everything());
    let why = tokio::time::timeout(Duration::from_secs(30), running.why()).await.expect("the session ends");
    assert!(why.contains("broke the protocol") && why.contains(because), "{why}");
    // It comes back after a while, because the coordinator may be repaired.
    let again = async {
        while *running.dialled.lock().unwrap() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), again).await.expect("it dials again");
    let (folder, ended) = running.stop().await;
    ended.unwrap();
    assert!(read::verify(&folder.path().join("state"), false).unwrap().is_ok());
}
