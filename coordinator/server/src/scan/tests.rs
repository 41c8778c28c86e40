//! Scans that run while the registry changes.

use cognate_fingerprint::{Key, View};
use cognate_proto::name::{PartyName, RepositoryName, SiteName};
use cognate_proto::v1::{MemberKind, SyncSummary};
use cognate_storage::store::SlotKey;

use crate::disk::tests::opened;
use crate::harness::indexes::{fill_of, held, key, under};

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
