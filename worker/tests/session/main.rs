//! A daemon and a scripted coordinator, over pipes within the process.

#![expect(clippy::unwrap_used, reason = "these are tests")]

mod changes;
mod contents;
mod coordinator;
mod refinement;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cognate_fingerprint::{ContentDigest, Key, Method, View};
use cognate_proto::limits::PADDED_BYTES;
use cognate_proto::v1::attach_request::Message as AttachUp;
use cognate_proto::v1::attach_response::Message as AttachDown;
use cognate_proto::v1::push_request::Message as PushUp;
use cognate_proto::v1::push_response::Message as PushDown;
use cognate_proto::v1::{Ack, Assignment, Cancel, Credit, FineQuery, MethodSpec, Resend, Sealed, Welcome};
use cognate_worker::SiteError;
use cognate_worker::control::{self, Request as Ask};
use cognate_worker::ledger::read;
use cognate_worker::policy::{FinePolicy, Policy};
use tonic::Status;

use self::coordinator::{Running, Script, assignment, document, honest, is_cut_off};
use self::refinement::measuring;

/// The name of the test below.
const READER: &str = "a_process_reads_documents_until_its_parent_has_no_more";

#[test]
#[ignore = "other tests start it as the process that reads documents"]
fn a_process_reads_documents_until_its_parent_has_no_more() {
    cognate_view::child_main();
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
    for protocol in [0, 2] {
        is_cut_off(Script { protocol, ..Script::sending(vec![]) }, "which this site did not offer").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_to_a_push_that_the_protocol_does_not_allow_end_the_session() {
    let sends = vec![AttachDown::Assignment(assignment(5))];
    let ahead = |message| match honest(message) {
        Some(PushDown::Ack(ack)) => Some(PushDown::Ack(Ack { committed_sequence: 1 << 40, ..ack })),
        other => other,
    };
    let script = Script { answers: Arc::new(ahead), ..Script::sending(sends.clone()) };
    is_cut_off(script, "acknowledgement of what was not sent").await;
    let other_root = |message| match honest(message) {
        Some(PushDown::Sealed(sealed)) => Some(PushDown::Sealed(Sealed { index_digest: vec![1; 32], ..sealed })),
        other => other,
    };
    is_cut_off(Script { answers: Arc::new(other_root), ..Script::sending(sends.clone()) }, "seal over something else")
        .await;
    let out_of_turn = |message| match message {
        PushUp::Open(_) => Some(PushDown::Ack(Ack::default())),
        other => honest(other),
    };
    is_cut_off(Script { answers: Arc::new(out_of_turn), ..Script::sending(sends) }, "no answer to the opening").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_assignment_is_carried_out_and_every_message_of_it_is_in_the_ledger() {
    let mut running =
        Running::start(Script::sending(vec![AttachDown::Assignment(assignment(5))]), Policy::everything());
    let AttachUp::Hello(hello) = running.hear().await else { panic!("a session begins with a greeting") };
    assert_eq!((hello.earlier_instances, hello.instance, hello.now), (vec![7, 8], 9, 1 << 33));
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
async fn a_site_that_fills_its_messages_up_pushes_multiples_of_64_kib_and_others_do_not() {
    for pad_messages in [true, false] {
        let policy = Policy { pad_messages, ..Policy::everything() };
        let mut running = Running::start(Script::sending(vec![AttachDown::Assignment(assignment(5))]), policy);
        assert_eq!(running.ended().await.failure, "");
        let sizes = std::mem::take(&mut *running.pushed.lock().unwrap());
        // The opening, a batch and the seal.
        assert_eq!(sizes.len(), 3, "{sizes:?}");
        let padded = sizes.iter().filter(|size| **size == PADDED_BYTES).count();
        assert_eq!(padded, if pad_messages { 3 } else { 0 }, "{sizes:?}");
        running.stop().await.1.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn samples_leave_a_site_only_where_its_fine_chunks_may() {
    let long: Vec<u8> =
        (0..2000_u32).flat_map(|number| format!("{:x} ", number.wrapping_mul(0x9e37_79b1)).into_bytes()).collect();
    let sample = Method::tttd(View::Raw, 1000).unwrap().fingerprinter(&Key::none()).slice(&long, |_| {}).sample;
    let values = sample.as_bytes();
    assert!(values.len() > 100, "{}", values.len());
    let within = FinePolicy::WithinPartyOrKeyed;
    // The site has no key, and every document but this one is too short for a sample.
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
        assert_eq!(wire.windows(values.len()).any(|window| window == values), sent, "{fine} {one_party}");
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_outside_of_its_hours_says_so_and_asks_to_be_asked_for_fine_chunks_again() {
    let method = Method::tttd(View::Raw, 1000).unwrap();
    let query = FineQuery {
        query: 7,
        repository: "kb".into(),
        method: Some(MethodSpec { method_id: method.id(&Key::none()).0.to_vec(), ..MethodSpec::from(&method) }),
        ..FineQuery::default()
    };
    let mut outside = Vec::new();
    // Whatever the time is, it is in one of the halves of the day.
    for half in ["00:00-12:00", "12:00-00:00"] {
        let policy = Policy { hours: Some(half.parse().unwrap()), ..Policy::everything() };
        let mut running = Running::start(Script::sending(vec![AttachDown::FineQuery(query.clone())]), policy);
        let AttachUp::Hello(hello) = running.hear().await else { panic!("a session begins with a greeting") };
        if hello.outside_hours {
            let end = tokio::time::timeout(Duration::from_secs(30), running.fine_ends.recv()).await.unwrap().unwrap();
            assert!(end.closed && !end.refused && end.failure.contains("hours"), "{end:?}");
            assert!(matches!(running.hear().await, AttachUp::State(state) if state.outside_hours && !state.paused));
        }
        outside.push(hello.outside_hours);
        running.stop().await.1.unwrap();
    }
    assert!(outside[0] != outside[1], "{outside:?}");
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
