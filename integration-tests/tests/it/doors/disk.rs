//! The disk of the coordinator under what one site sends.

use cognate_integration_tests::Federation;
use cognate_integration_tests::sandbox::contents;
use cognate_integration_tests::tree::Files;

/// Documents of which each has the same bytes over half, and others of its own.
fn crowd(federation: &mut Federation, documents: usize) -> Files {
    let common = federation.dice.bytes(6000);
    let document = |number| {
        let own = federation.dice.bytes(2000);
        (format!("crowd/{number}"), [common.clone(), own].concat())
    };
    (0..documents).map(document).collect()
}

#[test]
fn documents_that_all_share_more_than_half_cost_disk_for_each_and_not_for_each_pair() {
    const DOCUMENTS: u64 = 1000;
    let mut federation = Federation::new(5301);
    let crowd = crowd(&mut federation, DOCUMENTS as usize);
    let (_, first) = crowd.iter().next().unwrap();
    // Of the honest neighbour one document belongs to them as well.
    let other = [first.clone(), federation.dice.bytes(500)].concat();
    let others = Files::from([("one".to_owned(), other), ("two".to_owned(), federation.dice.bytes(9000))]);
    federation.add("a", &crowd);
    federation.add("b", &others);
    federation.sandbox.settle();
    federation.start_all();
    for precision in ["coarse", "fine"] {
        let report = federation.scan(&["--precision", precision]).expect(0).report();
        let cluster = &report["clusters"][0];
        // All are told of, though not all are kept.
        assert_eq!(cluster["documents"].as_array().unwrap().len() as u64, DOCUMENTS + 1, "{precision}");
        assert_eq!(cluster["link_count"], (DOCUMENTS + 1) * DOCUMENTS / 2, "{precision}");
        assert_eq!(cluster["links_omitted"], (DOCUMENTS + 1) * DOCUMENTS / 2 - DOCUMENTS, "{precision}");
        assert_eq!(report["histogram"]["links"], cluster["link_count"], "{precision}");
    }
    let scans = contents(&federation.coordinator_state().join("scans"));
    let bytes: usize = scans.values().map(Vec::len).sum();
    let sizes: Vec<_> = scans.iter().map(|(path, content)| (path, content.len())).collect();
    assert!(bytes < 2 * 5000 * DOCUMENTS as usize, "{bytes} bytes: {sizes:?}");
}
