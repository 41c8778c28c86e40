//! A daemon and a scripted coordinator, over pipes within the process.

#![expect(clippy::unwrap_used, reason = "these are tests")]

use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cognate_fingerprint::{ContentDigest, Key, Method, View};
use cognate_proto::index_digest::IndexDigest;
use cognate_proto::scope::Scope;
use cognate_proto::v1::attach_request::Message as AttachUp;
use cognate_proto::v1::attach_response::Message as AttachDown;
use cognate_proto::v1::push_request::Message as PushUp;
use cognate_proto::v1::push_response::Message as PushDown;
use cognate_proto::v1::worker_server::{Worker, WorkerServer};
use cognate_proto::v1::{
    Ack, Assignment, AttachRequest, AttachResponse, Cancel, Credit, FileHashHitsRequest, FileHashHitsResponse,
    FileHashTable, FileHashesRequest, FineChoice, FineChoiceRequest, FineChunksRequest, FineChunksResponse,
    MeasureAnswer, MeasureQuery, MeasureReceipt, MethodSpec, Opened, PushRequest, PushResponse, ReceivedRequest,
    ReceivedResponse, RefinedSummary, Refinement, Resend, ResultsRequest, ResultsResponse, ScopeRequest, ScopeResponse,
    Sealed, SelectionSpec, SyncEnded, Welcome,
};
use cognate_worker::control::{self, Request as Ask};
use cognate_worker::ledger::{Ledger, read};
use cognate_worker::policy::{FinePolicy, Policy};
use cognate_worker::{DaemonConfig, DialFuture, Dialer, Presence, Site, SiteConfig, SiteError, run_daemon};
use hyper_util::rt::TokioIo;
use prost::Message as _;
use tokio::io::DuplexStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::{ReceiverStream, UnboundedReceiverStream};
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status, Streaming};

const WINDOW_BYTES: u64 = cognate_proto::limits::WINDOW_BYTES;

/// The behaviour of a coordinator of these tests.
#[derive(Clone)]
struct Script {
    /// Sent after the welcome.
    sends: Vec<AttachDown>,
    /// Answers a message of a push.
    answers: fn(PushUp) -> Option<PushDown>,
    /// Refuses to attach.
    refuses: Option<Status>,
    /// Sent one after the other, each when an assignment has ended.
    then: Vec<AttachDown>,
    /// The pieces of the scope of a refinement.
    scope: Vec<Vec<u8>>,
}

impl Script {
    fn sending(sends: Vec<AttachDown>) -> Script {
        Script { sends, answers: honest, refuses: None, then: vec![], scope: vec![] }
    }
}

fn honest(message: PushUp) -> Option<PushDown> {
    Some(match message {
        PushUp::Open(_) => PushDown::Opened(Opened {
            committed_sequence: 0,
            index_digest: IndexDigest::default().to_bytes().to_vec(),
            window_bytes: WINDOW_BYTES,
        }),
        PushUp::Batch(batch) => PushDown::Ack(Ack { committed_sequence: batch.sequence, ..Ack::default() }),
        PushUp::Seal(seal) => {
            PushDown::Sealed(Sealed { sequence: seal.sequence, index_digest: seal.index_digest, received: None })
        }
    })
}

struct Service {
    script: Script,
    heard: mpsc::UnboundedSender<AttachUp>,
    measured: mpsc::UnboundedSender<MeasureAnswer>,
    /// All messages of the worker, one after the other, as they are on the wire below TLS.
    wire: Arc<Mutex<Vec<u8>>>,
}

#[tonic::async_trait]
impl Worker for Service {
    type AttachStream = ReceiverStream<Result<AttachResponse, Status>>;
    type PushStream = ReceiverStream<Result<PushResponse, Status>>;
    type ResultsStream = ReceiverStream<Result<ResultsResponse, Status>>;
    type ScopeStream = ReceiverStream<Result<ScopeResponse, Status>>;
    type FileHashesStream = ReceiverStream<Result<FileHashTable, Status>>;
    type FineChoicesStream = ReceiverStream<Result<FineChoice, Status>>;

    async fn attach(&self, request: Request<Streaming<AttachRequest>>) -> Result<Response<Self::AttachStream>, Status> {
        if let Some(status) = &self.script.refuses {
            return Err(status.clone());
        }
        let mut requests = request.into_inner();
        let (down, stream) = mpsc::channel(64);
        let welcome = AttachDown::Welcome(Welcome { protocol: 1, site: "a".into() });
        for message in std::iter::once(welcome).chain(self.script.sends.iter().cloned()) {
            down.send(Ok(AttachResponse { message: Some(message) })).await.unwrap();
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

    async fn push(&self, request: Request<Streaming<PushRequest>>) -> Result<Response<Self::PushStream>, Status> {
        let mut requests = request.into_inner();
        let (down, stream) = mpsc::channel(64);
        let answers = self.script.answers;
        let wire = Arc::clone(&self.wire);
        tokio::spawn(async move {
            while let Ok(Some(request)) = requests.message().await {
                request.encode(&mut *wire.lock().unwrap()).unwrap();
                if let Some(message) = answers(request.message.unwrap()) {
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
        _: Request<Streaming<FileHashHitsRequest>>,
    ) -> Result<Response<FileHashHitsResponse>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn fine_choices(&self, _: Request<FineChoiceRequest>) -> Result<Response<Self::FineChoicesStream>, Status> {
        Err(Status::unimplemented("not here"))
    }

    async fn fine_chunks(
        &self,
        _: Request<Streaming<FineChunksRequest>>,
    ) -> Result<Response<FineChunksResponse>, Status> {
        Err(Status::unimplemented("not here"))
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
struct Pipe {
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

struct Running {
    folder: tempfile::TempDir,
    heard: mpsc::UnboundedReceiver<AttachUp>,
    measured: mpsc::UnboundedReceiver<MeasureAnswer>,
    wire: Arc<Mutex<Vec<u8>>>,
    dialled: Arc<Mutex<u32>>,
    stop: Option<oneshot::Sender<()>>,
    daemon: JoinHandle<Result<(), SiteError>>,
}

/// The content of a document of these tests.
fn document(number: u32) -> String {
    format!("document {number}")
}

fn clock() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1 << 33)
}

impl Running {
    fn start(script: Script, policy: Policy) -> Running {
        Running::start_with(script, policy, &[])
    }

    /// The same, with a further document.
    fn start_with(script: Script, policy: Policy, further: &[u8]) -> Running {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        std::fs::create_dir(&state).unwrap();
        std::fs::create_dir(folder.path().join("kb")).unwrap();
        for number in 0..20 {
            std::fs::write(folder.path().join(format!("kb/paper {number}")), document(number)).unwrap();
        }
        if !further.is_empty() {
            std::fs::write(folder.path().join("kb/further"), further).unwrap();
        }
        let ledger = Arc::new(Ledger::open(&state, clock).unwrap());
        let site = Site::open(SiteConfig {
            state_dir: state.clone(),
            remember: true,
            repositories: vec![("kb".parse().unwrap(), folder.path().join("kb"))],
            sentinels: Default::default(),
            own_files: Vec::new(),
            key: Key::none(),
            threads: NonZeroUsize::MIN,
            clock,
            extraction: cognate_worker::Extraction {
                recogniser: None,
                program: "/nonexistent".into(),
                arguments: Vec::new(),
                limits: Default::default(),
                texts_bytes_max: 0,
            },
            policy,
            ledger: Some(Arc::clone(&ledger)),
            presence: Some(Presence { generation: 3, instance: 9 }),
        });
        let (dial, incoming) = mpsc::unbounded_channel();
        let (heard_to, heard) = mpsc::unbounded_channel();
        let (measured_to, measured) = mpsc::unbounded_channel();
        let wire = Arc::default();
        let service = Service { script, heard: heard_to, measured: measured_to, wire: Arc::clone(&wire) };
        let service = WorkerServer::new(service);
        tokio::spawn(
            Server::builder().add_service(service).serve_with_incoming(UnboundedReceiverStream::new(incoming)),
        );
        let dialled = Arc::new(Mutex::new(0));
        let dialer = Pipe { dial, dialled: Arc::clone(&dialled) };
        let config = DaemonConfig { schedule: vec![], socket: control::socket(&state), drain: Duration::from_secs(10) };
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async { drop(stopped.await) };
        let daemon = tokio::spawn(run_daemon(Arc::new(site.unwrap()), ledger, dialer, config, shutdown));
        Running { folder, heard, measured, wire, dialled, stop: Some(stop), daemon }
    }

    fn state(&self) -> std::path::PathBuf {
        self.folder.path().join("state")
    }

    async fn hear(&mut self) -> AttachUp {
        let heard = tokio::time::timeout(Duration::from_secs(30), self.heard.recv());
        heard.await.expect("a message arrives").expect("the coordinator runs")
    }

    /// Waits for the end of an assignment, past other messages.
    async fn ended(&mut self) -> SyncEnded {
        loop {
            if let AttachUp::Ended(ended) = self.hear().await {
                return ended;
            }
        }
    }

    async fn stop(mut self) -> (tempfile::TempDir, Result<(), SiteError>) {
        self.stop.take().unwrap().send(()).unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(20), self.daemon).await.expect("it stops");
        (self.folder, ended.unwrap())
    }

    async fn ask(&self, ask: Ask) -> Result<Vec<serde_json::Value>, String> {
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
    async fn why(&mut self) -> String {
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

fn assignment(number: u64) -> Assignment {
    let method = Method::tttd(View::Raw, 1000).unwrap();
    let method = Some(MethodSpec { method_id: vec![], ..MethodSpec::from(&method) });
    Assignment { assignment: number, repository: "kb".into(), method, ..Assignment::default() }
}

async fn is_cut_off(script: Script, because: &str) {
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_the_protocol_does_not_allow_end_the_session_with_the_reason() {
    let huge = AttachDown::Credit(Credit { window_bytes: u64::MAX });
    is_cut_off(Script::sending(vec![huge]), "credit").await;
    let cancel = AttachDown::Cancel(Cancel { assignment: 77 });
    is_cut_off(Script::sending(vec![cancel]), "cancel").await;
    let many = AttachDown::MeasureQuery(measuring(&[ContentDigest([1; 16]); 130]));
    is_cut_off(Script::sending(vec![many]), "a number of pairs").await;
    let twice = AttachDown::Assignment(assignment(5));
    is_cut_off(Script::sending(vec![twice.clone(), twice]), "not a new number").await;
    let welcome = AttachDown::Welcome(Welcome { protocol: 1, site: "a".into() });
    is_cut_off(Script::sending(vec![welcome]), "second welcome").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_to_a_push_that_the_protocol_does_not_allow_end_the_session() {
    let sends = vec![AttachDown::Assignment(assignment(5))];
    let ahead = |message| match honest(message) {
        Some(PushDown::Ack(ack)) => Some(PushDown::Ack(Ack { committed_sequence: 1 << 40, ..ack })),
        other => other,
    };
    let script = Script { answers: ahead, ..Script::sending(sends.clone()) };
    is_cut_off(script, "acknowledgement of what was not sent").await;
    let other_root = |message| match honest(message) {
        Some(PushDown::Sealed(sealed)) => Some(PushDown::Sealed(Sealed { index_digest: vec![1; 32], ..sealed })),
        other => other,
    };
    is_cut_off(Script { answers: other_root, ..Script::sending(sends.clone()) }, "seal over something else").await;
    let out_of_turn = |message| match message {
        PushUp::Open(_) => Some(PushDown::Ack(Ack::default())),
        other => honest(other),
    };
    is_cut_off(Script { answers: out_of_turn, ..Script::sending(sends) }, "no answer to the opening").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_assignment_is_carried_out_and_every_message_of_it_is_in_the_ledger() {
    let mut running =
        Running::start(Script::sending(vec![AttachDown::Assignment(assignment(5))]), Policy::everything());
    let AttachUp::Hello(hello) = running.hear().await else { panic!("a session begins with a greeting") };
    assert_eq!((hello.generation, hello.instance, hello.now), (3, 9, 1 << 33));
    let ended = running.ended().await;
    assert_eq!((ended.assignment, ended.failure.as_str()), (5, ""));
    assert_eq!(ended.summary.unwrap().read_documents, 20);
    let status = running.ask(Ask::Status).await.unwrap();
    assert_eq!(status[0]["status"]["done"][0]["documents"], 20);
    let (folder, stopped) = running.stop().await;
    stopped.unwrap();
    let verified = read::verify(&folder.path().join("state"), false).unwrap().unwrap();
    let received = verified.indexes.compare(&[]);
    assert_eq!((received.len(), received[0].ledger_batches), (1, 1));
    // Hello, open, batch, seal, and at least the end.
    assert!(verified.totals.messages >= 5, "{:?}", verified.totals);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_hold_names_and_no_content() {
    let mut running =
        Running::start(Script::sending(vec![AttachDown::Assignment(assignment(5))]), Policy::everything());
    assert_eq!(running.ended().await.failure, "");
    let wire = std::mem::take(&mut *running.wire.lock().unwrap());
    let holds = |text: &str| wire.windows(text.len()).any(|window| window == text.as_bytes());
    // The first path is complete, and others are told by what they do not share with the one before.
    assert!(holds("paper 0"), "{} bytes", wire.len());
    for number in 0..20 {
        let content = document(number);
        let forms = [content.clone(), data_encoding::HEXLOWER.encode(content.as_bytes())];
        assert!(!forms.iter().any(|form| holds(form)) && !holds("document"), "{content}");
    }
    running.stop().await.1.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sketches_leave_a_site_only_where_its_fine_chunks_may() {
    let long: Vec<u8> =
        (0..2000_u32).flat_map(|number| format!("{:x} ", number.wrapping_mul(0x9e37_79b1)).into_bytes()).collect();
    let sketch = Method::tttd(View::Raw, 1000).unwrap().fingerprinter(&Key::none()).slice(&long, |_| {}).sketch;
    let values: Vec<u8> = sketch.slots().flat_map(|(_, value)| value.to_le_bytes()).collect();
    assert_eq!(values.len(), 64);
    let within = FinePolicy::WithinPartyOrKeyed;
    // The site has no key, and every document but this one is too short for a sketch.
    for (fine, one_party, sent) in [
        (FinePolicy::Always, false, true),
        (within, true, true),
        (within, false, false),
        (FinePolicy::Never, true, false),
    ] {
        let policy = Policy { fine, one_party, ..Policy::everything() };
        let script = Script::sending(vec![AttachDown::Assignment(assignment(5))]);
        let mut running = Running::start_with(script, policy, &long);
        assert_eq!(running.ended().await.failure, "");
        let wire = std::mem::take(&mut *running.wire.lock().unwrap());
        assert_eq!(wire.windows(64).any(|window| window == values), sent, "{fine} {one_party}");
        running.stop().await.1.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_the_policy_or_the_records_do_not_allow_is_refused_and_the_session_continues() {
    let across = Assignment { across_parties: true, ..assignment(5) };
    let unknown = Assignment { repository: "other".into(), ..assignment(6) };
    let resend = Resend { assignment: Some(assignment(7)), method_id: vec![1; 16], after_sequence: 0 };
    let sends = vec![
        AttachDown::Assignment(across),
        AttachDown::Assignment(unknown),
        AttachDown::Resend(resend),
        AttachDown::Assignment(assignment(8)),
    ];
    let policy = Policy { unkeyed_across_parties: false, ..Policy::everything() };
    let mut running = Running::start(Script::sending(sends), policy);
    let mut failures = std::collections::BTreeMap::new();
    for _ in 0..4 {
        let ended = running.ended().await;
        failures.insert(ended.assignment, ended.failure);
    }
    assert!(failures[&5].contains("policy.unkeyed_across_parties is false"), "{failures:?}");
    assert!(failures[&6].contains("no repository `other`"), "{failures:?}");
    assert!(failures[&7].contains("nothing was ever sent"), "{failures:?}");
    assert_eq!(failures[&8], "");
    running.stop().await.1.unwrap();
}

/// The digest that a document of these tests has under the method of [`assignment`].
fn content(number: u32) -> ContentDigest {
    let text = document(number);
    let mut fingerprinter = Method::tttd(View::Raw, 1000).unwrap().fingerprinter(&Key::none());
    fingerprinter.read(&mut text.as_bytes(), |_| Ok(())).unwrap().digest
}

/// A refinement at a mean of 100 of what was sent at one of `of` bytes.
fn refining(number: u64, of: u64, contents: &[ContentDigest]) -> (Assignment, Vec<Vec<u8>>) {
    let of = Method::tttd(View::Raw, of).unwrap().id(&Key::none());
    let scope = Scope::new(of, contents.to_vec()).unwrap();
    let method = Some((&Method::tttd(View::Raw, 100).unwrap()).into());
    let assignment = Assignment { method, refinement: Some(scope.announcement()), ..assignment(number) };
    (assignment, scope.pieces().map(|piece| piece.contents).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refinement_reads_documents_that_the_site_has_sent_and_ignores_the_rest() {
    let guessed = ContentDigest([7; 16]);
    // Document 4 is there, but it was never sent.
    let selection = Some(SelectionSpec { exclude: vec!["paper 4".into()], ..SelectionSpec::default() });
    let (refinement, scope) = refining(6, 1000, &[content(3), content(4), guessed, content(11)]);
    let then = vec![AttachDown::Assignment(refinement)];
    let first = Assignment { selection, ..assignment(5) };
    let script = Script { then, scope, ..Script::sending(vec![AttachDown::Assignment(first)]) };
    let mut running = Running::start(script, Policy::everything());
    assert_eq!(running.ended().await.summary.unwrap().read_documents, 19);
    let ended = running.ended().await;
    assert_eq!((ended.assignment, ended.failure.as_str()), (6, ""));
    let summary = ended.summary.unwrap();
    assert_eq!((summary.read_documents, summary.read_bytes), (2, "document 3document 11".len() as u64));
    assert_eq!(summary.refined, Some(RefinedSummary { documents: 2, changed: 0, unknown_contents: 2 }));
    // The status marks the refinement, which the site would not sync on its own.
    let status = running.ask(Ask::Status).await.unwrap();
    let done = status[0]["status"]["done"].as_array().unwrap();
    let refined: Vec<_> = done.iter().map(|done| (done["documents"].clone(), done["refined"].clone())).collect();
    assert!(refined.contains(&(19.into(), false.into())) && refined.contains(&(2.into(), true.into())), "{done:?}");
    let (folder, stopped) = running.stop().await;
    stopped.unwrap();
    let verified = read::verify(&folder.path().join("state"), false).unwrap().unwrap();
    assert_eq!(verified.indexes.len(), 2);
    // The coordinator may remove the index of a refinement, but not the complete index.
    assert_eq!(verified.indexes.compare(&[]).len(), 1);
}

/// A query for the exact measure of pairs of contents that were sent under the method of [`assignment`].
fn measuring(contents: &[ContentDigest]) -> MeasureQuery {
    let method = Method::tttd(View::Raw, 1000).unwrap();
    let method = MethodSpec { method_id: method.id(&Key::none()).0.to_vec(), ..MethodSpec::from(&method) };
    let contents = contents.iter().flat_map(|content| content.0).collect();
    MeasureQuery {
        query: 7,
        repositories: vec!["kb".into()],
        method: Some(method),
        contents,
        ..MeasureQuery::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_measures_pairs_that_it_has_sent_and_answers_with_counts() {
    // Document 4 is there, but it was never sent.
    let selection = Some(SelectionSpec { exclude: vec!["paper 4".into()], ..SelectionSpec::default() });
    let first = AttachDown::Assignment(Assignment { selection, ..assignment(5) });
    let pairs = [content(3), content(4), content(3), content(11), ContentDigest([7; 16]), content(3)];
    let answer = async |query: MeasureQuery, policy: Policy| {
        let then = vec![AttachDown::MeasureQuery(query)];
        let mut running = Running::start(Script { then, ..Script::sending(vec![first.clone()]) }, policy);
        running.ended().await;
        let answer = tokio::time::timeout(Duration::from_secs(30), running.measured.recv()).await.unwrap().unwrap();
        running.stop().await.1.unwrap();
        answer
    };
    let measured = answer(measuring(&pairs), Policy::everything()).await;
    let numbers: Vec<u32> = measured.pairs.iter().map(|pair| pair.number).collect();
    assert_eq!((measured.query, numbers, measured.failure.as_str()), (7, vec![1], ""));
    assert_eq!(measured.read_bytes, "document 3document 11".len() as u64);
    let never = Policy { fine: FinePolicy::Never, ..Policy::everything() };
    let refused = answer(measuring(&pairs), never).await;
    assert!(refused.refused && refused.pairs.is_empty() && refused.failure.contains("policy.fine"), "{refused:?}");
    let other = MeasureQuery { repositories: vec!["other".into()], ..measuring(&pairs) };
    assert!(answer(other, Policy::everything()).await.failure.contains("no repository `other`"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scope_that_differs_from_its_announcement_ends_the_session() {
    let (refinement, scope) = refining(6, 1000, &[content(1), content(2), content(3)]);
    let cut_off = async |refinement: &Assignment, scope: Vec<Vec<u8>>, because: &str| {
        let then = vec![AttachDown::Assignment(refinement.clone())];
        let script = Script { then, scope, ..Script::sending(vec![AttachDown::Assignment(assignment(5))]) };
        is_cut_off(script, because).await;
    };
    cut_off(&refinement, vec![], "another number of contents").await;
    cut_off(&refinement, vec![scope[0].clone(), scope[0].clone()], "another number of contents").await;
    cut_off(&refinement, vec![[&scope[0][16..], &scope[0][..16]].concat()], "out of order").await;
    cut_off(&refinement, vec![vec![0; 7]], "a piece").await;
    let other = [&scope[0][..32], &[255; 16][..]].concat();
    cut_off(&refinement, vec![other], "have another digest").await;
    let announced = refinement.refinement.clone().unwrap();
    let endless = Refinement { contents: u64::MAX, ..announced };
    cut_off(&Assignment { refinement: Some(endless), ..refinement }, scope, "more than").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refinement_that_the_site_does_not_allow_is_refused_with_the_reason() {
    let refused = async |refinement: Assignment, policy: Policy, because: &str| {
        let then = vec![AttachDown::Assignment(refinement)];
        let script = Script { then, ..Script::sending(vec![AttachDown::Assignment(assignment(5))]) };
        let mut running = Running::start(script, policy);
        running.ended().await;
        let failure = running.ended().await.failure;
        assert!(failure.contains(because), "{failure}");
        running.stop().await.1.unwrap();
    };
    let (refinement, _) = refining(6, 1000, &[content(1)]);
    let policy = Policy { refine: false, ..Policy::everything() };
    refused(refinement.clone(), policy, "policy.refine is false").await;
    let coarse = Policy { chunk_bytes_min: 500, ..Policy::everything() };
    refused(refinement.clone(), coarse, "policy.chunk_bytes_min is 500").await;
    refused(refining(6, 2000, &[content(1)]).0, Policy::everything(), "nothing was ever sent").await;
    let same = Assignment { method: assignment(5).method, ..refinement.clone() };
    refused(same, Policy::everything(), "by the same").await;
    let asking = Assignment { estimate_only: true, ..refinement };
    refused(asking, Policy::everything(), "its scan knows").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_site_reports_it_and_does_nothing_until_it_resumes() {
    let mut running = Running::start(Script::sending(vec![]), Policy::everything());
    assert!(matches!(running.hear().await, AttachUp::Hello(_)));
    running.ask(Ask::Pause).await.unwrap();
    assert!(matches!(running.hear().await, AttachUp::State(state) if state.paused));
    assert_eq!(running.ask(Ask::Status).await.unwrap()[0]["status"]["paused"], true);
    running.ask(Ask::Resume).await.unwrap();
    assert!(matches!(running.hear().await, AttachUp::State(state) if !state.paused));
    running.ask(Ask::Health).await.unwrap();
    let never = running.ask(Ask::Sync { repositories: vec![], accept_removals: false }).await.unwrap();
    assert_eq!(never[0]["type"], "never");
    let unknown =
        running.ask(Ask::Sync { repositories: vec!["other".into()], accept_removals: false }).await.unwrap_err();
    assert!(unknown.contains("`other`"), "{unknown}");
    let mode = |path: &Path| std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).unwrap()) & 0o777;
    assert_eq!(mode(&control::socket(&running.state())), 0o600);
    running.stop().await.1.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_that_is_refused_ends_and_a_copy_of_a_site_does_not() {
    let refuses = Some(Status::permission_denied("this member was revoked"));
    let mut running = Running::start(Script { refuses, ..Script::sending(vec![]) }, Policy::everything());
    let ended = tokio::time::timeout(Duration::from_secs(20), &mut running.daemon).await.expect("it ends").unwrap();
    assert!(matches!(ended, Err(SiteError::Session(status)) if status.message().contains("revoked")));
    let refuses = Some(Status::already_exists("another worker"));
    let mut running = Running::start(Script { refuses, ..Script::sending(vec![]) }, Policy::everything());
    assert!(running.why().await.contains("another worker"));
    running.stop().await.1.unwrap();
}
