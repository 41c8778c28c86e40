//! Sessions and pushes over real connections.

use std::num::NonZeroUsize;

use cognate_fingerprint::{Key, Method, View};
use cognate_proto::calls::Messages;
use cognate_proto::name::{RepositoryName, ScanId};
use cognate_proto::options::{ScanOptions, ScanView};
use cognate_proto::v1::worker_client::WorkerClient;
use cognate_proto::v1::{self, Batch, Hello, OpenIndex, Seal, SyncEnded, SyncProgress, SyncSummary};
use tokio::sync::mpsc;
use tonic::Code;

use super::*;
use crate::harness::{Harness, site, soon};
use cognate_analysis::AnalysisLimits;
use cognate_storage::harness::{batch, root};

const LIMITS: AnalysisLimits =
    AnalysisLimits { memory_budget_bytes: 64 << 20, pairs_max: u64::MAX, threads: NonZeroUsize::MIN };

/// A worker whose messages a test writes one by one.
struct Hand {
    client: WorkerClient,
}

/// One stream of requests, and its answers.
struct Said<Up, Down> {
    up: mpsc::Sender<Up>,
    down: Messages<Down>,
}

impl Hand {
    fn of(harness: &Harness, name: &str) -> Hand {
        Hand { client: WorkerClient::new(harness.channel(Some(&harness.credential(&site(name))))) }
    }

    async fn attach(&mut self, instance: u64) -> Result<Said<AttachRequest, AttachResponse>, Status> {
        let hello = Hello {
            protocol_min: 1,
            protocol_max: 1,
            key_fingerprint: Key::none().fingerprint().0.to_vec(),
            repositories: vec!["main".into()],
            earlier_instances: (1..instance).collect(),
            instance,
            ..Hello::default()
        };
        let (up, requests) = mpsc::channel(8);
        up.send(AttachRequest { message: Some(Up::Hello(hello)) }).await.unwrap();
        let mut down = self.client.attach(ReceiverStream::new(requests)).await?.into_inner();
        assert!(matches!(soon(down.message()).await?.unwrap().message, Some(Down::Welcome(_))));
        Ok(Said { up, down })
    }

    async fn push(&mut self, open: OpenIndex) -> Result<Said<PushRequest, PushResponse>, Status> {
        let (up, requests) = mpsc::channel(8);
        up.send(PushRequest { message: Some(PushUp::Open(open)), ..PushRequest::default() }).await.unwrap();
        let mut down = self.client.push(ReceiverStream::new(requests)).await?.into_inner();
        soon(down.message()).await?.unwrap();
        Ok(Said { up, down })
    }
}

impl Said<AttachRequest, AttachResponse> {
    async fn assignment(&mut self) -> v1::Assignment {
        loop {
            if let Some(Down::Assignment(assignment)) = soon(self.down.message()).await.unwrap().unwrap().message {
                return assignment;
            }
        }
    }
}

impl Said<PushRequest, PushResponse> {
    async fn batch(&self, number: u8) {
        let (body, digest, _) = batch(number);
        let batch = Batch { sequence: number.into(), digest: digest.to_vec(), body: body.into() };
        self.up.send(PushRequest { message: Some(PushUp::Batch(batch)), ..PushRequest::default() }).await.unwrap();
    }

    async fn seal(&self, last: u8) {
        let seal = Seal { sequence: last.into(), index_digest: root(1..=last).to_vec(), canary: vec![7; 16] };
        self.up.send(PushRequest { message: Some(PushUp::Seal(seal)), ..PushRequest::default() }).await.unwrap();
    }
}

fn launch(harness: &Harness, id: u64) {
    let spec = ScanOptions {
        repositories: vec![("a".parse().unwrap(), RepositoryName::main())],
        view: ScanView::Raw,
        min_shared_bytes: Some(0),
        ..ScanOptions::default()
    };
    harness.coordinator.services().scans.launch_as(ScanId(id), spec, "", "anna", &LIMITS).unwrap();
}

fn method() -> Method {
    Method::tttd(View::Raw, 1000).unwrap()
}

fn open(assignment: u64) -> OpenIndex {
    let method_id = method().id(&Key::none()).0.to_vec();
    OpenIndex { assignment, repository: "main".into(), method_id, epoch: 3, scope: vec![] }
}

async fn status(harness: &Harness, id: u64, wanted: v1::ScanStatus) -> v1::ScanState {
    soon(async {
        loop {
            let state = harness.coordinator.services().scans.state(ScanId(id)).unwrap();
            if state.status() == wanted {
                return state;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

#[tokio::test]
async fn what_an_old_session_still_pushes_is_refused_and_the_new_one_goes_on_from_there() {
    let harness = Harness::start().await;
    let mut hand = Hand::of(&harness, "a");
    let mut first = hand.attach(1).await.unwrap();
    launch(&harness, 1);
    let old = first.assignment().await.assignment;
    let mut push = hand.push(open(old)).await.unwrap();
    push.batch(1).await;
    soon(push.down.message()).await.unwrap().unwrap();
    let progress = SyncProgress { assignment: old, read_bytes: 70, sent_bytes: 100, ..SyncProgress::default() };
    first.up.send(AttachRequest { message: Some(Up::Progress(progress)) }).await.unwrap();
    let counted = |id: u64| {
        let state = harness.coordinator.services().scans.state(ScanId(id)).unwrap();
        state.repositories.iter().map(|one| (one.read_bytes, one.sent_bytes)).collect::<Vec<_>>()
    };
    soon(async {
        while counted(1) != [(70, 100)] {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let mut second = hand.attach(2).await.unwrap();
    // The first control stream is at its end, its push is refused, and so is a new one under its assignment.
    while soon(first.down.message()).await.is_ok_and(|message| message.is_some()) {}
    let refused = soon(async {
        loop {
            match push.down.message().await {
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(status) => return Some(status.code()),
            }
        }
    });
    assert_eq!(refused.await, Some(Code::Aborted));
    assert_eq!(hand.push(open(old)).await.err().unwrap().code(), Code::Aborted);
    // The scan assigned it again, and the acknowledged batches are still there.
    let assignment = second.assignment().await.assignment;
    assert_ne!(assignment, old);
    let mut push = soon(async {
        loop {
            match hand.push(open(assignment)).await {
                // The old session releases the index in a moment.
                Err(status) if status.code() == Code::Unavailable => tokio::task::yield_now().await,
                opened => return opened.unwrap(),
            }
        }
    })
    .await;
    push.batch(1).await;
    push.batch(2).await;
    push.seal(2).await;
    while !matches!(
        soon(push.down.message()).await.unwrap().unwrap().message,
        Some(v1::push_response::Message::Sealed(_))
    ) {}
    let summary = SyncSummary { read_bytes: 5, sent_bytes: 6, ..SyncSummary::default() };
    let ended = SyncEnded { assignment, summary: Some(summary), ..SyncEnded::default() };
    second.up.send(AttachRequest { message: Some(Up::Ended(ended)) }).await.unwrap();
    status(&harness, 1, v1::ScanStatus::Complete).await;
    assert_eq!(counted(1), [(75, 106)], "the bytes of both sessions");
}

#[tokio::test]
async fn a_message_may_be_filled_up_with_zeros_and_with_nothing_else() {
    let harness = Harness::start().await;
    let mut hand = Hand::of(&harness, "a");
    let mut session = hand.attach(1).await.unwrap();
    launch(&harness, 1);
    let assignment = session.assignment().await.assignment;
    let mut push = hand.push(open(assignment)).await.unwrap();
    let (body, digest, _) = batch(1);
    let batch = |padding: Vec<u8>| {
        let batch = Batch { sequence: 1, digest: digest.to_vec(), body: body.clone().into() };
        PushRequest { message: Some(PushUp::Batch(batch)), padding: padding.into() }
    };
    push.up.send(batch(vec![0; 60_000])).await.unwrap();
    assert!(soon(push.down.message()).await.unwrap().is_some(), "zeros are nothing");
    let mut hidden = vec![0; 60_000];
    hidden[50_000] = b'x';
    push.up.send(batch(hidden)).await.unwrap();
    let refused = soon(push.down.message()).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    // The opening is looked at as well.
    let (up, requests) = mpsc::channel(8);
    let opening = PushRequest { message: Some(PushUp::Open(open(assignment))), padding: vec![1].into() };
    up.send(opening).await.unwrap();
    let refused = hand.client.push(ReceiverStream::new(requests)).await.err().unwrap();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
}

#[tokio::test]
async fn an_index_that_differs_from_its_sites_is_not_sealed_and_that_is_counted() {
    let harness = Harness::start().await;
    let mut hand = Hand::of(&harness, "a");
    let mut session = hand.attach(1).await.unwrap();
    launch(&harness, 1);
    let assignment = session.assignment().await.assignment;
    let mut push = hand.push(open(assignment)).await.unwrap();
    push.batch(1).await;
    push.batch(2).await;
    let seal = Seal { sequence: 2, index_digest: root(1..=1).to_vec(), canary: vec![7; 16] };
    push.up.send(PushRequest { message: Some(PushUp::Seal(seal)), ..PushRequest::default() }).await.unwrap();
    let refused = soon(async {
        loop {
            match push.down.message().await {
                Ok(Some(answer)) => assert!(!matches!(answer.message, Some(v1::push_response::Message::Sealed(_)))),
                Ok(None) => panic!("a seal is answered"),
                Err(status) => return status,
            }
        }
    });
    assert!(refused.await.message().contains("another root"));
    let measured = harness.coordinator.services().health.measure();
    for line in [r#"cognate_seals_total{result="differs"} 1"#, r#"cognate_seals_total{result="sealed"} 0"#] {
        assert!(measured.contains(line), "{measured}");
    }
}

#[tokio::test]
async fn a_push_for_another_site_is_denied_and_counted() {
    let harness = Harness::start().await;
    let (mut a, mut b) = (Hand::of(&harness, "a"), Hand::of(&harness, "b"));
    let mut session_a = a.attach(1).await.unwrap();
    let _session_b = b.attach(1).await.unwrap();
    launch(&harness, 1);
    let assignment = session_a.assignment().await.assignment;
    assert_eq!(b.push(open(assignment)).await.err().unwrap().code(), Code::PermissionDenied);
    assert_eq!(harness.coordinator.services().metrics.pushes_denied.get(), 1);
    // On its own schedule a site may update only indexes that a scan has requested earlier.
    assert_eq!(b.push(open(0)).await.err().unwrap().code(), Code::PermissionDenied);
    assert!(a.push(open(assignment)).await.is_ok());
}

#[tokio::test]
async fn a_copied_worker_receives_an_error() {
    let harness = Harness::start().await;
    let mut hand = Hand::of(&harness, "a");
    let _session = hand.attach(5).await.unwrap();
    let refused = hand.attach(4).await.err().unwrap();
    assert_eq!(refused.code(), Code::AlreadyExists);
    assert!(refused.message().contains("stop the copy"), "{}", refused.message());
}

#[tokio::test]
async fn three_hundred_sites_that_come_back_at_once_are_all_attached() {
    const SITES: usize = 300;
    let harness = Harness::start().await;
    let mut coming = tokio::task::JoinSet::new();
    for number in 0..SITES {
        let mut hand = Hand::of(&harness, &format!("site-{number}"));
        coming.spawn(async move {
            // All of them have one address here, and of one address only so many shake hands at a time: who has to make way comes again.
            loop {
                match hand.attach(1).await {
                    Ok(said) => return (hand, said),
                    Err(status) => assert_eq!(status.code(), Code::Unavailable, "{status}"),
                }
                tokio::task::yield_now().await;
            }
        });
    }
    let all = tokio::time::timeout(Duration::from_secs(120), coming.join_all()).await.expect("all are attached");
    assert_eq!((all.len(), harness.coordinator.services().sessions.sites().len()), (SITES, SITES));
}

#[tokio::test]
async fn two_hundred_sites_that_push_at_once_all_come_to_their_end_and_none_waits_for_all_others() {
    const SITES: usize = 200;
    const BATCHES: u8 = 4;
    let harness = Harness::start().await;
    let name = |number: usize| format!("site-{number}");
    let mut hands = Vec::new();
    for number in 0..SITES {
        let mut hand = Hand::of(&harness, &name(number));
        hands.push((hand.attach(1).await.unwrap(), hand));
    }
    let spec = ScanOptions {
        repositories: (0..SITES).map(|number| (name(number).parse().unwrap(), RepositoryName::main())).collect(),
        view: ScanView::Raw,
        min_shared_bytes: Some(0),
        ..ScanOptions::default()
    };
    harness.coordinator.services().scans.launch_as(ScanId(1), spec, "", "anna", &LIMITS).unwrap();
    // The sites that have so many acknowledgements, by the number of these.
    let acknowledged = Arc::new([const { std::sync::atomic::AtomicUsize::new(0) }; BATCHES as usize + 1]);
    let mut pushing = tokio::task::JoinSet::new();
    for (mut session, mut hand) in hands {
        let acknowledged = Arc::clone(&acknowledged);
        pushing.spawn(async move {
            let assignment = session.assignment().await.assignment;
            let mut push = hand.push(open(assignment)).await.unwrap();
            let mut behind = 0;
            for number in 1..=BATCHES {
                push.batch(number).await;
                let committed = |message: &v1::push_response::Message| match message {
                    v1::push_response::Message::Ack(ack) => ack.committed_sequence >= u64::from(number),
                    _ => false,
                };
                while !push.down.message().await.unwrap().unwrap().message.as_ref().is_some_and(committed) {}
                let place = usize::from(number);
                acknowledged[place].fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                // Those that are further than this one when it has come so far.
                behind = behind
                    .max(acknowledged.get(place + 2).map_or(0, |more| more.load(std::sync::atomic::Ordering::SeqCst)));
            }
            push.seal(BATCHES).await;
            while !matches!(
                push.down.message().await.unwrap().unwrap().message,
                Some(v1::push_response::Message::Sealed(_))
            ) {}
            let ended = SyncEnded { assignment, summary: Some(SyncSummary::default()), ..SyncEnded::default() };
            session.up.send(AttachRequest { message: Some(Up::Ended(ended)) }).await.unwrap();
            (session, hand, behind)
        });
    }
    let all = tokio::time::timeout(Duration::from_secs(120), pushing.join_all()).await.expect("all come to their end");
    // A fair share: nobody is two batches behind most of the others.
    let behind = all.iter().map(|(_, _, behind)| *behind).max().unwrap();
    assert!(behind < SITES * 9 / 10, "a site was passed by {behind}");
    let complete = async {
        while harness.coordinator.services().scans.state(ScanId(1)).unwrap().status() != v1::ScanStatus::Complete {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), complete).await.expect("the scan is complete");
}
