//! Scans that run while the registry changes.

use cognate_disk_faults::inject;
use cognate_fingerprint::{Key, View};
use cognate_proto::name::{PartyName, RepositoryName, SiteName};
use cognate_proto::v1::{FailureKind, MemberKind, ScanStatus, SyncSummary};
use cognate_storage::store::SlotKey;

use super::*;

use crate::coordinator::tests::disk::opened;
use crate::harness::indexes::{LIMITS, ended, fill_of, held, key, spec, under, wait};

#[test]
fn a_site_that_is_revoked_while_a_scan_runs_stays_of_its_party() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = opened(&folder);
    let (acme, no_key): (PartyName, _) = ("acme".parse().unwrap(), Key::none());
    fill_of((&acme, &no_key), &coordinator, "c", View::Raw, 1, &[held("x", &[1, 2])]);
    let services = coordinator.services();
    let scans = &services.scans;
    let both =
        |other: &str| ["a", other].map(|name| (name.parse::<SiteName>().unwrap(), RepositoryName::main())).to_vec();
    for name in ["b", "c"] {
        services.members.revoke(MemberKind::Site, name, "anna").unwrap();
    }
    // Otherwise the other sites would be asked for their policy across parties, and refuse what they allow within their own.
    assert!(!scans.crosses_parties(&both("b")).unwrap(), "one party");
    assert!(scans.crosses_parties(&both("c")).unwrap(), "two parties");
    // Its documents are shown to its own party, and to no other.
    let key = SlotKey { method_id: under(View::Raw).id(&no_key), ..key("c") };
    let sealed = scans.analyser.indexes.sealed(&key).unwrap().unwrap();
    assert_eq!(scans.row_of(&key, 0, None, &sealed, SyncSummary::default()).unwrap().party, "acme");
}

#[test]
fn a_result_that_may_be_on_record_is_kept_when_the_end_of_its_scan_cannot_be_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = opened(&folder);
    let scans = &coordinator.services().scans;
    let id = ScanId(1);
    scans.analyser.record(id, &ScanRow::default()).unwrap();
    let files = scans.analyser.scan_folder(id);
    std::fs::create_dir_all(&files).unwrap();
    let end = || ScanEnd::Failed { kind: FailureKind::Other, reason: "the disk failed".to_owned() };
    let fault = format!("write:{}/journal*:1+:EIO", folder.path().display());
    let injection = inject(fault.parse().unwrap());
    scans.settle(id, &end()).unwrap_err();
    assert!(injection.fired() > 0, "the disk failed");
    // The record before it failed as well, it may say that there is a result, and the journal tells at the next start.
    assert!(files.is_dir(), "the files are kept");
}

#[tokio::test]
async fn a_scan_waits_no_longer_for_sites_that_are_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = opened(&folder);
    let services = coordinator.services();
    services.scans.launch_as(ScanId(1), spec(false), "", "anna", &LIMITS).unwrap();
    wait(&coordinator, ScanId(1), |state| state.status() == ScanStatus::Syncing).await;
    // The scan waits: it runs to its first pause at once, on the thread of this test.
    while services.members.listeners() == 0 {
        tokio::task::yield_now().await;
    }
    // Neither site is attached, so that no session changes.
    for name in ["a", "b"] {
        services.members.revoke(MemberKind::Site, name, "anna").unwrap();
    }
    let state = wait(&coordinator, ScanId(1), ended).await;
    assert!(state.failure.contains(REVOKED), "{state:?}");
}
