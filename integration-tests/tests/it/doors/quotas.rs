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

/// A mailbox with messages of a few words, which have nothing in common.
fn mailbox(messages: std::ops::Range<u32>) -> Vec<u8> {
    let mail =
        |number: u32| format!("From a@b Mon Jan  1 10:00:00 2024\nFrom: a@b\nSubject: {number}\n\nText {number}.\n\n");
    messages.map(mail).collect::<String>().into_bytes()
}

#[test]
fn files_that_hold_more_documents_than_a_third_of_the_quota_are_named_and_all_others_are_compared() {
    let mut federation = configured(5406, "site_documents = 600\n");
    let mut files = documents(60);
    // A third is 200: the two with the fewest fit, the others do not, and of those one alone would.
    for (number, messages) in [(1, 40), (2, 150), (3, 60), (4, 195), (5, 1000)] {
        files.insert(format!("box {number}.mbox"), mailbox(number * 10_000..number * 10_000 + messages));
    }
    federation.add("a", &files);
    federation.add("b", &documents(60));
    federation.sandbox.settle();
    federation.start_all();
    for _ in 0..2 {
        let report = federation.scan(&["--view", "text"]).expect(3).json();
        assert_eq!(report["scan"]["status"], "complete", "{report:#}");
        let unread = report["unread"].as_array().unwrap();
        let named: Vec<&str> = unread.iter().map(|row| row["path"].as_str().unwrap()).collect();
        assert_eq!(named, ["box 2.mbox", "box 4.mbox", "box 5.mbox"]);
        assert!(unread.iter().all(|row| row["reason"].as_str().unwrap().contains("too many")), "{unread:?}");
        assert_eq!(report["identical"].as_array().unwrap().len(), 60);
        assert_eq!(report["sites"][0]["documents"], 60 + 2 + 40 + 60, "{report:#}");
    }
    let status = federation.worker("a", &["status"]).expect(0);
    assert!(status.text().contains("box 4.mbox") && status.text().contains("too many members"), "{}", status.text());
    // Without them the next sync goes on: the documents inside are no files that a mount has lost.
    for number in [1, 2, 3, 4, 5] {
        std::fs::remove_file(federation.site("a").folder().join(format!("box {number}.mbox"))).unwrap();
    }
    federation.scan(&["--view", "text"]).expect(0);
}
