use std::time::SystemTime;

use cognate_fingerprint::Key;
use cognate_proto::name::RepositoryName;
use cognate_proto::options::ScanOptions;
use cognate_proto::v1::{FailureKind, ScanState, ScanStatus};

use super::*;
use crate::harness::indexes::{LIMITS, ended, key, spec, wait};
use cognate_result::report::{Reader, Report};
use cognate_storage::harness::{method, push, root};
use cognate_storage::store::{FrozenRow, ScanRow, ScanStep, SlotKey};

mod decisions;
pub(crate) mod disk;
mod plans;
mod published;
mod readers;
mod triage;
mod two_views;
mod versions;

fn clock() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn open(folder: &tempfile::TempDir) -> Arc<Coordinator> {
    let config = CoordinatorConfig {
        state_dir: folder.path().to_owned(),
        software: "test",
        durable: false,
        clock,
        disk_reserve_bytes: 0,
        quotas: SiteQuotas::default(),
        webhook_hosts: Vec::new(),
        spark: Default::default(),
    };
    // The one before it may be letting go of its store at this moment, on another thread.
    let begun = std::time::Instant::now();
    loop {
        match Coordinator::open(&config) {
            Err(error) if error.kind() == cognate_storage::ErrorKind::InUse && begun.elapsed().as_secs() < 20 => {
                std::thread::yield_now();
            }
            opened => return Arc::new(opened.unwrap()),
        }
    }
}

/// A coordinator with two sites that have sealed indexes of three and four documents, three of them the same.
fn with_indexes(folder: &tempfile::TempDir) -> Arc<Coordinator> {
    let coordinator = open(folder);
    for (site, documents) in [("a", 3), ("b", 4)] {
        coordinator.admit(&site.parse().unwrap(), &PartyName::home()).unwrap();
        let mut writer = coordinator.services().scans.analyser.indexes.writer(key(site), 1, &method()).unwrap();
        push(&mut writer, 1..=documents);
        writer.seal(documents.into(), &root(1..=documents)).unwrap();
    }
    coordinator
}

/// Ends a coordinator once its scans have let go of it.
async fn close(coordinator: Arc<Coordinator>) {
    let scans = Arc::downgrade(&coordinator.services().scans);
    drop(coordinator);
    let gone = async {
        while scans.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.expect("they let go soon");
}

async fn scanned(coordinator: &Coordinator, id: u64) -> ScanState {
    coordinator.services().scans.launch_as(ScanId(id), spec(true), "", "anna", &LIMITS).unwrap();
    wait(coordinator, ScanId(id), ended).await
}

#[tokio::test]
async fn a_frozen_scan_goes_on_after_a_restart_and_finds_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_indexes(&folder);
    let whole = scanned(&coordinator, 1).await;
    assert_eq!((whole.status(), whole.launched_by.as_str()), (ScanStatus::Complete, "anna"));
    // As if the process had ended right after freezing, and a site had gone on since.
    let frozen = coordinator.services().records.store.scan(ScanId(1)).unwrap().unwrap();
    let row = ScanRow { step: ScanStep::Frozen.into(), digest: String::new(), finished: 0, ..frozen };
    coordinator.services().scans.analyser.record(ScanId(2), &row).unwrap();
    let mut writer = coordinator.services().scans.analyser.indexes.writer(key("a"), 1, &method()).unwrap();
    push(&mut writer, 1..=4);
    writer.seal(4, &root(1..=4)).unwrap();
    close(coordinator).await;
    let coordinator = open(&folder);
    assert_eq!(coordinator.services().scans.state(ScanId(2)).unwrap().status(), ScanStatus::Analysing);
    coordinator.carry_on(&LIMITS).unwrap();
    let again = wait(&coordinator, ScanId(2), ended).await;
    assert_eq!((again.status(), &again.digest), (ScanStatus::Complete, &whole.digest));
    assert_eq!(
        Report::open(&coordinator.services().scans.analyser.result_path(ScanId(2))).unwrap().digest().unwrap(),
        whole.digest
    );
    // A new scan sees what came since.
    assert_ne!(scanned(&coordinator, 3).await.digest, whole.digest);
}

#[tokio::test]
async fn a_scan_that_waits_for_its_sites_waits_on_after_a_restart_until_it_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_indexes(&folder);
    coordinator.services().scans.launch_as(ScanId(1), spec(false), "", "anna", &LIMITS).unwrap();
    coordinator.halt();
    close(coordinator).await;
    let coordinator = open(&folder);
    coordinator.carry_on(&LIMITS).unwrap();
    let state = wait(&coordinator, ScanId(1), |state| state.repositories.len() == 2).await;
    assert_eq!(state.status(), ScanStatus::Syncing);
    assert!(state.repositories.iter().all(|repository| !repository.attached));
    coordinator.cancel(ScanId(1));
    assert_eq!(wait(&coordinator, ScanId(1), ended).await.status(), ScanStatus::Cancelled);
}

#[tokio::test]
async fn a_scan_goes_on_without_a_site_after_the_deadline_or_fails_if_it_must_be_complete() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_indexes(&folder);
    let hurried = ScanOptions { sync_deadline: Some(Duration::from_millis(1)), require_complete: true, ..spec(false) };
    coordinator.services().scans.launch_as(ScanId(1), hurried, "", "anna", &LIMITS).unwrap();
    let state = wait(&coordinator, ScanId(1), ended).await;
    assert_eq!(state.status(), ScanStatus::Failed);
    assert!(state.failure.contains("a/main: the site did not attach in time"), "{}", state.failure);
    assert_eq!(state.failure_kind(), FailureKind::Incomplete);
}

#[tokio::test]
async fn somebody_has_only_so_many_scans_under_way_and_others_launch_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_indexes(&folder);
    let launch = |id, by| coordinator.services().scans.launch_as(ScanId(id), spec(false), "", by, &LIMITS);
    // The sites are away: the scans wait.
    for id in 1..=16 {
        launch(id, "anna").unwrap();
    }
    let refused = launch(17, "anna").unwrap_err().to_string();
    assert!(refused.contains("`anna` has 16 scans under way"), "{refused}");
    launch(17, "ben").unwrap();
    coordinator.cancel(ScanId(1));
    wait(&coordinator, ScanId(1), ended).await;
    launch(18, "anna").unwrap();
}

#[tokio::test]
async fn a_launch_that_is_repeated_does_nothing_and_one_of_something_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_indexes(&folder);
    let first = scanned(&coordinator, 1).await;
    coordinator.services().scans.launch_as(ScanId(1), spec(true), "", "anna", &LIMITS).unwrap();
    assert_eq!(coordinator.services().scans.state(ScanId(1)).unwrap(), first);
    let other = ScanOptions { min_shared_bytes: Some(51), ..spec(true) };
    assert!(matches!(
        coordinator.services().scans.launch_as(ScanId(1), other, "", "anna", &LIMITS),
        Err(Error::Exists(_))
    ));
    let nobody = ScanOptions { repositories: vec![("x".parse().unwrap(), RepositoryName::main())], ..spec(true) };
    assert!(matches!(
        coordinator.services().scans.launch_as(ScanId(2), nobody, "", "anna", &LIMITS),
        Err(Error::UnknownSite(_))
    ));
    assert_eq!(coordinator.services().records.store.scans().unwrap().len(), 1);
}

#[tokio::test]
async fn sites_whose_canaries_differ_are_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_indexes(&folder);
    for (site, documents, canary) in [("a", 3, 1), ("b", 4, 2)] {
        let mut writer = coordinator.services().scans.analyser.indexes.writer(key(site), 1, &method()).unwrap();
        push(&mut writer, 1..=documents);
        writer.set_canary(vec![canary; 16]);
        writer.seal(documents.into(), &root(1..=documents)).unwrap();
    }
    let state = scanned(&coordinator, 1).await;
    assert_eq!(state.status(), ScanStatus::Failed);
    assert!(state.failure.contains("a/main and b/main"), "{}", state.failure);
    assert_eq!(state.failure_kind(), FailureKind::Mismatch);
}

#[tokio::test]
async fn a_site_whose_canary_differs_from_most_is_left_out_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_indexes(&folder);
    coordinator.admit(&"c".parse().unwrap(), &PartyName::home()).unwrap();
    for (site, documents, canary) in [("a", 3, 1), ("b", 4, 2), ("c", 3, 1)] {
        let mut writer = coordinator.services().scans.analyser.indexes.writer(key(site), 1, &method()).unwrap();
        push(&mut writer, 1..=documents);
        writer.set_canary(vec![canary; 16]);
        writer.seal(documents.into(), &root(1..=documents)).unwrap();
    }
    let repositories = ["a", "b", "c"].map(|site| (site.parse().unwrap(), RepositoryName::main())).to_vec();
    let options = ScanOptions { repositories, ..spec(true) };
    coordinator.services().scans.launch_as(ScanId(1), options, "", "anna", &LIMITS).unwrap();
    let state = wait(&coordinator, ScanId(1), ended).await;
    assert_eq!(state.status(), ScanStatus::Partial, "{}", state.failure);
    let reasons: Vec<&str> = state.repositories.iter().map(|one| one.failure.as_str()).collect();
    assert!(reasons[1].contains("a known text has other fingerprints here"), "{reasons:?}");
    assert!(reasons[0].is_empty() && reasons[2].is_empty(), "{reasons:?}");
}

#[tokio::test]
async fn without_a_sync_indexes_under_two_keys_are_ambiguous_and_both_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_indexes(&folder);
    let keyed = method().id(&Key::parse(&[1; 32]).unwrap());
    for (site, documents) in [("a", 3), ("b", 4)] {
        let key = SlotKey { method_id: keyed, ..key(site) };
        let mut writer = coordinator.services().scans.analyser.indexes.writer(key, 2, &method()).unwrap();
        push(&mut writer, 1..=documents);
        writer.seal(documents.into(), &root(1..=documents)).unwrap();
    }
    let state = scanned(&coordinator, 1).await;
    let named = state.failure.contains(&keyed.to_string()) && state.failure.contains(&key("a").method_id.to_string());
    assert!(state.status() == ScanStatus::Failed && named, "{}", state.failure);
}

#[tokio::test]
async fn a_schedule_launches_what_is_due_once_and_not_while_its_last_scan_runs() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_indexes(&folder);
    let now = seconds(clock());
    let schedule = v1::Schedule {
        name: "often".into(),
        options: Some(spec(false).into()),
        every_seconds: 60,
        next_start: now,
        ..v1::Schedule::default()
    };
    coordinator.services().records.record(What::Schedule(schedule.clone()), "anna").unwrap();
    coordinator.services().schedules.launch_due(&LIMITS).unwrap();
    coordinator.services().schedules.launch_due(&LIMITS).unwrap();
    let after = coordinator.services().records.store.schedule("often").unwrap().unwrap();
    assert_eq!((after.next_start, after.last_started), (now + 60, now));
    assert_eq!(coordinator.services().records.store.scans().unwrap().len(), 1);
    // A crash between the launch and the note of it launches no second.
    coordinator.services().records.record(What::Schedule(schedule.clone()), "anna").unwrap();
    coordinator.services().schedules.launch_due(&LIMITS).unwrap();
    assert_eq!(coordinator.services().records.store.schedule("often").unwrap().unwrap().last_scan, after.last_scan);
    // Due again, while the first scan still waits for its sites.
    coordinator
        .services()
        .records
        .record(What::Schedule(v1::Schedule { next_start: now - 5, ..after.clone() }), "anna")
        .unwrap();
    coordinator.services().schedules.launch_due(&LIMITS).unwrap();
    assert_eq!(coordinator.services().records.store.scans().unwrap().len(), 1);
    assert_eq!(coordinator.services().records.store.schedule("often").unwrap().unwrap().next_start, now + 60);
}

#[tokio::test]
async fn a_site_hears_of_its_own_documents_and_of_others_only_where_and_how_many() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_indexes(&folder);
    let state = scanned(&coordinator, 1).await;
    // A site of another party, inserted into the registry directly.
    let report = Report::open(&coordinator.services().scans.analyser.result_path(ScanId(1))).unwrap();
    let mut rows = Vec::new();
    report
        .share_of("a", "another party than home", &state.digest, |row| {
            rows.push(row);
            Ok::<_, Error>(())
        })
        .unwrap();
    let of_type = |name: &str| rows.iter().filter(|row| row["type"] == name).collect::<Vec<_>>();
    let sets = of_type("identical");
    assert_eq!(sets.len(), 3);
    for set in sets {
        let elsewhere = set["elsewhere"].as_array().unwrap();
        assert!(elsewhere.contains(&serde_json::json!({"site": "b", "documents": 1})), "{set}");
        assert!(!set.to_string().contains("\"path\""), "{set}");
    }
    assert!(rows.iter().all(|row| row["partner"].get("path").is_none()), "{rows:?}");
    assert_eq!(of_type("document").len(), 3);
    let frozen: Vec<FrozenRow> = coordinator.services().records.store.scan(ScanId(1)).unwrap().unwrap().frozen;
    assert!(frozen.iter().all(|row| row.method_id.len() == 16));
}
