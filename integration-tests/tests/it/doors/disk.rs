//! The disk of the coordinator under what one site sends.

use cognate_integration_tests::Federation;
use cognate_integration_tests::sandbox::contents;
use cognate_integration_tests::tree::Files;

use super::configured;

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
    const DOCUMENTS: usize = 1000;
    let mut federation = Federation::new(5301);
    let crowd = crowd(&mut federation, DOCUMENTS);
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
        assert_eq!(cluster["documents"].as_array().unwrap().len(), DOCUMENTS + 1, "{precision}");
        assert_eq!(cluster["link_count"], (DOCUMENTS + 1) * DOCUMENTS / 2, "{precision}");
        assert_eq!(cluster["links_omitted"], (DOCUMENTS + 1) * DOCUMENTS / 2 - DOCUMENTS, "{precision}");
        assert_eq!(report["histogram"]["links"], cluster["link_count"], "{precision}");
    }
    let scans = contents(&federation.coordinator_state().join("scans"));
    let bytes: usize = scans.values().map(Vec::len).sum();
    let sizes: Vec<_> = scans.iter().map(|(path, content)| (path, content.len())).collect();
    assert!(bytes < 2 * 5000 * DOCUMENTS, "{bytes} bytes: {sizes:?}");
}

#[test]
fn chunks_that_would_make_too_many_pairs_are_set_aside_and_named_and_all_else_is_compared() {
    // Of 1,100 documents that all have a chunk, each would meet each.
    let mut federation = configured(5302, "scan_pairs = 100000\n");
    let mut files = crowd(&mut federation, 1100);
    let alike = federation.dice.bytes(9000);
    files.insert("alike".to_owned(), alike.clone());
    let others = Files::from([("alike".to_owned(), [alike, federation.dice.bytes(500)].concat())]);
    federation.add("a", &files);
    federation.add("b", &others);
    federation.sandbox.settle();
    federation.start_all();
    let report = federation.scan(&["--precision", "coarse"]).expect(0).report();
    let aside = report["set_aside"].as_array().unwrap();
    assert!(!aside.is_empty(), "{}", report["summary"]);
    for row in aside {
        assert_eq!((&row["crowded"], &row["documents"]), (&true.into(), &1100.into()), "{row}");
    }
    let clusters = report["clusters"].as_array().unwrap();
    assert_eq!(clusters.len(), 1, "the two that are alike");
    assert_eq!(clusters[0]["link_count"], 1);
    let text = federation.operate(&["report", report["scan"]["id"].as_str().unwrap()]).expect(0);
    assert!(text.text().contains("chunks are set aside: they would have made more pairs"), "{}", text.text());
}
