//! Work that waits for the disk, while a disk is slow.

use std::sync::Arc;
use std::time::Duration;

use cognate_proto::name::ScanId;
use cognate_proto::v1::operator_server::Operator as _;
use cognate_proto::v1::{self, Role};
use tonic::{IntoRequest as _, Request};

use crate::harness::indexes::{LIMITS, ended, fill, held, spec_of, wait};
use crate::harness::soon;
use crate::identity::{Identity, Operator};
use crate::operator::{OperatorService, OperatorSettings};
use crate::{Coordinator, CoordinatorConfig, KeepFor};

/// A coordinator that knows two sites. What it does to get there is done by another thread.
pub(crate) fn opened(folder: &tempfile::TempDir) -> Arc<Coordinator> {
    let config = CoordinatorConfig {
        state_dir: folder.path().to_owned(),
        software: "test",
        durable: false,
        clock: crate::harness::now,
        disk_reserve_bytes: 0,
        quotas: cognate_storage::indexes::SiteQuotas::default(),
        webhook_hosts: Vec::new(),
        spark: Default::default(),
    };
    let opening = move || {
        let coordinator = Arc::new(Coordinator::open(&config).unwrap());
        for site in ["a", "b"] {
            fill(&coordinator, site, cognate_fingerprint::View::Raw, 1, &[held("x", &[1, 2, 3])]);
        }
        coordinator
    };
    std::thread::spawn(opening).join().unwrap()
}

pub(crate) fn service(coordinator: &Coordinator) -> OperatorService {
    let settings =
        OperatorSettings { limits: LIMITS, addresses: vec![], pages: String::new(), keep: KeepFor::default() };
    coordinator.operator_service(settings)
}

pub(crate) fn operator(name: &str) -> Operator {
    Operator { name: name.parse().unwrap(), role: Role::Administrator, site: None, party: None }
}

/// A request of a person, as the listener hands it on.
pub(crate) fn asks<T>(operator: &Operator, message: T) -> Request<T> {
    let mut request = message.into_request();
    request.extensions_mut().insert(Identity::Operator(operator.clone()));
    request
}

#[test]
fn an_administrative_change_needs_no_thread_that_other_work_can_occupy() {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.max_blocking_threads(1).enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let coordinator = opened(&folder);
    let (release, released) = std::sync::mpsc::channel::<()>();
    runtime.block_on(async {
        let (begun, begins) = tokio::sync::oneshot::channel();
        tokio::task::spawn_blocking(move || {
            begun.send(()).unwrap();
            released.recv().unwrap();
        });
        begins.await.unwrap();
        let revoke = v1::RevokeRequest { kind: v1::MemberKind::Site.into(), name: "a".to_owned() };
        let service = service(&coordinator);
        let revoking = service.revoke(asks(&operator("anna"), revoke));
        let revoked = tokio::time::timeout(Duration::from_secs(10), revoking).await;
        release.send(()).unwrap();
        revoked.expect("it waits for no other work").unwrap();
    });
    let member = coordinator.services().records.store.member(v1::MemberKind::Site, "a").unwrap().unwrap();
    assert_eq!(member.status(), v1::MemberStatus::Revoked);
}

#[tokio::test]
async fn no_call_and_no_scan_writes_the_record_on_a_thread_of_the_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = opened(&folder);
    let (service, anna) = (service(&coordinator), operator("anna"));
    let store = &coordinator.services().records.store;
    let options = || Some(v1::ScanOptions::from(&spec_of(cognate_proto::options::ScanView::Raw)));
    let profile = v1::Profile { name: "p".to_owned(), options: options() };
    let schedule =
        v1::Schedule { name: "s".to_owned(), options: options(), every_seconds: 3600, ..v1::Schedule::default() };
    service.put_profile(asks(&anna, v1::PutProfileRequest { profile: Some(profile) })).await.unwrap();
    service.remove_profile(asks(&anna, v1::RemoveProfileRequest { name: "p".to_owned() })).await.unwrap();
    service.put_schedule(asks(&anna, v1::PutScheduleRequest { schedule: Some(schedule) })).await.unwrap();
    service
        .launch_scan(asks(&anna, v1::LaunchScanRequest { scan: 1, options: options(), name: String::new() }))
        .await
        .unwrap();
    wait(&coordinator, ScanId(1), ended).await;
    service.cancel_scan(asks(&anna, v1::CancelScanRequest { scan: 1 })).await.unwrap();
    // A schedule that is due is launched by the task that looks after schedules.
    let schedules = Arc::clone(&coordinator.services().schedules);
    let removal = Arc::clone(&coordinator.services().removal);
    let looking = tokio::spawn(crate::schedule::run(schedules, removal, LIMITS, KeepFor::default()));
    let launched = async {
        while store.schedule("s").unwrap().unwrap().last_scan == 0 {
            tokio::task::yield_now().await;
        }
    };
    soon(launched).await;
    looking.abort();
    let last = store.schedule("s").unwrap().unwrap().last_scan;
    wait(&coordinator, ScanId(last), ended).await;
    service.remove_schedule(asks(&anna, v1::RemoveScheduleRequest { name: "s".to_owned() })).await.unwrap();
    let revoke = v1::RevokeRequest { kind: v1::MemberKind::Site.into(), name: "a".to_owned() };
    service.revoke(asks(&anna, revoke)).await.unwrap();
    service.forget_site(asks(&anna, v1::ForgetSiteRequest { site: "b".to_owned() })).await.unwrap();
    let writers = store.writers();
    let runtime = std::thread::current().id();
    let own: Vec<_> = writers.iter().filter(|(thread, _)| *thread == runtime).map(|(_, what)| what).collect();
    assert!(own.is_empty(), "{own:?}");
    assert!(writers.len() > 10, "{writers:?}");
}
