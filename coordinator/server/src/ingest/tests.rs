//! Pushes that wait for the disk, and what goes on meanwhile.

use std::time::Duration;

use cognate_proto::name::RepositoryName;
use cognate_proto::v1::{self, Batch, Hello};
use cognate_storage::harness::{batch, method};
use cognate_storage::store::SlotKey;

use super::*;
use crate::coordinator::tests::disk::{asks, opened, operator, service};
use crate::harness::indexes::key;
use crate::harness::soon;

/// More than may wait for the disk at a time, and more than there are threads.
const PUSHES: u32 = 100;
const THREADS: usize = 80;

#[test]
fn a_revocation_is_answered_while_more_pushes_than_there_are_threads_wait_for_the_disk() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.max_blocking_threads(THREADS).enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let coordinator = opened(&folder);
    let services = coordinator.services();
    let (site, hello) = (
        key("a").site,
        Hello {
            protocol_min: 1,
            protocol_max: 1,
            key_fingerprint: cognate_fingerprint::Key::none().fingerprint().0.to_vec(),
            instance: 1,
            ..Hello::default()
        },
    );
    let attached = services.sessions.attach(&site, &hello, mpsc::channel(8).0).unwrap();
    let storing = Arc::new(Storing::default());
    let (release, released) = std::sync::mpsc::channel::<()>();
    let (hold, held) = std::sync::mpsc::channel();
    let disk = Arc::clone(&storing);
    let holder = std::thread::spawn(move || {
        let _stuck = disk.stuck();
        hold.send(()).unwrap();
        released.recv().unwrap();
    });
    held.recv().unwrap();
    runtime.block_on(async {
        let mut pushes = Vec::new();
        let (body, digest, _) = batch(1);
        for number in 0..PUSHES {
            let repository: RepositoryName = format!("r{number}").parse().unwrap();
            let writer =
                services.scans.analyser.indexes.writer(SlotKey { repository, ..key("a") }, 1, &method()).unwrap();
            let push = Push {
                sessions: Arc::clone(&services.sessions),
                metrics: Arc::clone(&services.metrics),
                storing: Arc::clone(&storing),
                records: Arc::clone(&services.records),
                site: site.clone(),
                assignment: 0,
                method_id: key("a").method_id,
                live: attached.live.clone(),
            };
            let (queue, waiting) = mpsc::channel(QUEUE_MESSAGES);
            let (answers, answered) = mpsc::channel(4);
            queue
                .send(Up::Batch(Batch { sequence: 1, digest: digest.to_vec(), body: body.clone().into() }))
                .await
                .unwrap();
            let taking_in = tokio::spawn(Intake { push, writer, first_uncommitted: None }.run(waiting, answers));
            pushes.push((queue, answered, taking_in));
        }
        let stored = || services.metrics.received_bytes.get() / body.len() as u64;
        while stored() < 64 {
            tokio::task::yield_now().await;
        }
        // As many as there are places, or, without these, as there are threads.
        let _ = tokio::time::timeout(Duration::from_millis(500), async {
            while stored() < THREADS as u64 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let revoke = v1::RevokeRequest { kind: v1::MemberKind::Site.into(), name: "b".to_owned() };
        let service = service(&coordinator);
        let anna = operator("anna");
        let revoked = tokio::time::timeout(
            Duration::from_secs(10),
            v1::operator_server::Operator::revoke(&service, asks(&anna, revoke)),
        )
        .await;
        let events = tokio::time::timeout(
            Duration::from_secs(10),
            v1::operator_server::Operator::list_events(&service, asks(&anna, v1::ListEventsRequest::default())),
        )
        .await;
        release.send(()).unwrap();
        revoked.expect("a revocation waits for no push").unwrap();
        events.expect("a list waits for no push").unwrap();
        // None of the pushes is lost.
        for (queue, mut answered, taking_in) in pushes {
            let answer = soon(answered.recv()).await.unwrap().unwrap().message;
            assert!(matches!(answer, Some(Down::Ack(ack)) if ack.committed_sequence == 1));
            drop(queue);
            soon(taking_in).await.unwrap();
        }
        assert_eq!(stored(), u64::from(PUSHES));
    });
    holder.join().unwrap();
}
