//! Who has a copy, a version or a part of a document: the page of finds.

use cognate_integration_tests::{Browser, Federation, Files};

use super::{offices, scanned};
use crate::find_hashes::sum;

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

#[test]
fn a_list_of_hashes_is_put_in_and_who_keeps_none_is_named() {
    let mut federation = Federation::new(1122);
    let files = Files::from([("a/known.bin".to_owned(), b"known".to_vec()), ("own.bin".to_owned(), vec![7; 900])]);
    federation.add_with("paris", None, &files, "[policy]\nfile_hashes = [\"sha256\"]\n");
    federation.add("tokyo", &files);
    federation.sandbox.settle();
    federation.start_all();
    federation.scan(&[]).expect(0);
    let Some(browser) = Browser::signed_in(&federation) else { return };
    browser.open("/find");
    browser.click_text("find by hashes");
    browser.see("h1", "Find by hashes");
    // The SHA-256 of one file, and an MD5 that nobody has.
    let known = "f2f9a4e6e2a8d1e5fb8f0b7e9e6e3f5c";
    let list = format!(
        "{known}  looks like an MD5\n{}  known one\n",
        sum("sha256sum", &federation.site("paris").folder().join("a/known.bin"))
    );
    browser.fill("#list", &list);
    browser.click("main form button[type=submit]");
    browser.wait("there is an answer", |browser| browser.has("table"));
    browser.see("h2", "1 of 2 hashes, in 1 file");
    let rows = browser.texts("section:first-of-type tbody tr");
    assert!(rows.len() == 1 && rows[0].contains("a/known.bin") && rows[0].contains("known one"), "{rows:?}");
    let main = browser.text("main");
    for told in ["by sha256 alone", "its site keeps no md5 of its files", "its site keeps no hashes of files"] {
        assert!(main.contains(told), "{told}: {main}");
    }
    browser.shoot("find-hashes");
    browser.check();
    browser.fill("#list", "a letter");
    browser.click("main form button[type=submit]");
    browser.see("h1", "That cannot be done");
    browser.check_but(&["400"]);
}
