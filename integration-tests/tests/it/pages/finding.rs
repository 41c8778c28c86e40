//! Who has a copy, a version or a part of a document: the page of finds.

use cognate_integration_tests::{Browser, Federation};

use super::{offices, scanned};

/// What `cognate fingerprint` says of a document of paris.
fn fingerprints(federation: &Federation, path: &str) -> String {
    let file = federation.site("paris").folder().join(path);
    let words = ["fingerprint", "--format", "ndjson", "--", file.to_str().unwrap()];
    federation.sandbox.cognate(words).expect(0).text().to_owned()
}

#[test]
fn fingerprints_are_put_in_and_copies_versions_and_what_was_not_searched_come_out() {
    let federation = offices(1121);
    scanned(&federation);
    let Some(browser) = Browser::signed_in(&federation) else { return };
    browser.click_text("Find");
    browser.see("h1", "Find");
    browser.shoot("find");
    browser.fill("#fingerprints", fingerprints(&federation, "plans/budget.txt").trim());
    browser.click("main form button[type=submit]");
    browser.wait("there is an answer", |browser| browser.has("table"));
    let found = browser.texts("section:first-of-type tbody tr");
    for told in ["identical", "near", "paris/kb", "tokyo/kb", "versions/budget (old).txt"] {
        assert!(found.iter().any(|row| row.contains(told)), "{told}: {found:?}");
    }
    assert!(browser.text("main").contains("Searched under tttd over raw at 1000"));
    browser.shoot("found");
    browser.check();
    // Only at one place, and nothing there that is like it.
    browser.fill("#fingerprints", fingerprints(&federation, "own/letter 1.txt").trim());
    browser.fill("#sites", "tokyo");
    browser.click("main form button[type=submit]");
    browser.wait("nothing was found", |browser| browser.text("main").contains("Nothing was found"));
    assert!(!browser.text("main").contains("paris/kb"));
    browser.check();
    // What is no fingerprint is said to be none.
    browser.fill("#fingerprints", "a letter");
    browser.click("main form button[type=submit]");
    browser.see("h1", "That cannot be done");
    browser.check_but(&["400"]);
}
