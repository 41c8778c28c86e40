//! The quotas of one site at the coordinator.

use cognate_integration_tests::tree::Files;

use super::{configured, soon};

/// Small documents, which have nothing in common.
fn documents(count: usize) -> Files {
    (0..count).map(|number| (format!("d/{number}"), format!("document {number}").into_bytes())).collect()
}

#[test]
fn a_site_beyond_its_quota_is_named_with_the_setting_and_the_scan_goes_on_without_it() {
    let mut federation = configured(5401, "site_documents = 300\n");
    federation.add("a", &documents(200));
    federation.add("b", &documents(200));
    federation.add("greedy", &documents(301));
    federation.sandbox.settle();
    federation.start_all();
    let report = federation.scan(&[]).expect(3).json();
    let missing = report["scan"]["missing"].as_array().unwrap();
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert_eq!(missing[0]["site"], "greedy");
    let reason = missing[0]["reason"].as_str().unwrap();
    for part in ["the quota of `greedy`", "300 documents", "this would be 301", "`site_documents`"] {
        assert!(reason.contains(part), "{reason}");
    }
    assert_eq!(report["identical"].as_array().unwrap().len(), 200);
    soon("the page of a neighbour", || assert_eq!(federation.http("/sign-in").0, 200));
}
