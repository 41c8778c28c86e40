//! Finds while the registry changes.

use cognate_fingerprint::{Key, View};
use cognate_proto::name::PartyName;
use cognate_proto::v1::MemberKind;

use super::*;
use crate::coordinator::tests::disk::opened;
use crate::harness::indexes::{fill_of, held, under};
use cognate_desk::find::Least;
use cognate_desk::find::stored::sees;

#[test]
fn what_a_site_sent_that_was_revoked_is_still_its_partys_in_a_find() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = opened(&folder);
    let (acme, no_key): (PartyName, _) = ("acme".parse().unwrap(), Key::none());
    fill_of((&acme, &no_key), &coordinator, "c", View::Raw, 1, &[held("x", &[1, 2])]);
    let services = coordinator.services();
    for name in ["b", "c"] {
        services.members.revoke(MemberKind::Site, name, "anna").unwrap();
    }
    let finder = &services.finder;
    // Otherwise the sites of a federation of one would be asked for their policy across parties, and refuse.
    assert!(!finder.crosses_parties(&|site| site.as_str() != "c").unwrap(), "one party");
    assert!(finder.crosses_parties(&|_| true).unwrap(), "two parties");
    let method = under(View::Raw);
    let query = FindQuery {
        method,
        method_id: method.id(&no_key),
        verifier_id: None,
        repositories: Vec::new(),
        least: Least::default(),
        matches_max: 10,
        precision: Precision::Coarse,
        documents: Vec::new(),
        fine: Default::default(),
    };
    let Searching { answer, .. } = finder.by_whole_chunks(&Arc::new(query), &|_| true).unwrap();
    let parties: Vec<_> = answer.coverage.iter().map(|row| (row.site.as_str(), row.party.as_str())).collect();
    assert_eq!(parties, [("a", "home"), ("b", "home"), ("c", "acme")]);
    // Its own party may still ask about it, and no other.
    let store = &services.records.store;
    let is_seen = |party: &str| sees(store, ("", party), &"c".parse().unwrap());
    assert_eq!([is_seen("acme"), is_seen("home")], [true, false]);
}
