//! Who has a copy, a version or a part of a document: the page of finds.

use cognate_integration_tests::{Browser, Federation, Files};

use super::{offices, scanned};
use crate::find_hashes::sum;

/// The part of the page that takes fingerprints from elsewhere.
const PASTED: &str = "Fingerprints that were made on another machine…";

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
    browser.click_text(PASTED);
    browser.shoot("find");
    browser.fill("#fingerprints", fingerprints(&federation, "plans/budget.txt").trim());
    browser.click("main form button[type=submit]");
    browser.wait("there is an answer", |browser| browser.has("table"));
    let found = browser.texts("section:first-of-type tbody tr");
    for told in ["identical", "near", "100.0 %", "paris/kb", "tokyo/kb", "versions/budget (old).txt"] {
        assert!(found.iter().any(|row| row.contains(told)), "{told}: {found:?}");
    }
    browser.see_in("main", "chunks of the bytes, mean 1,000");
    browser.shoot("found");
    browser.check();
    // Only at one place, and nothing there that is like it.
    browser.fill("#fingerprints", fingerprints(&federation, "own/letter 1.txt").trim());
    browser.fill("#sites", "tokyo");
    browser.click("main form button[type=submit]");
    browser.see_in("main", "Nothing was found");
    assert!(!browser.text("main").contains("paris/kb"));
    browser.check();
    // What is no fingerprint is said to be none, where it was typed, and it stays there.
    browser.fill("#fingerprints", "a letter");
    browser.fill("#min_containment", "0.7");
    browser.click("main form button[type=submit]");
    browser.see_in("#fingerprints-problem", "line 1");
    assert_eq!(browser.script("return [fingerprints.value, min_containment.value].join()"), "a letter,0.7");
    browser.shoot("find-wrong");
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
    for told in ["only by sha256", "its site keeps no md5 of its files", "its site keeps no hashes of files"] {
        assert!(main.contains(told), "{told}: {main}");
    }
    browser.shoot("find-hashes");
    browser.check();
    browser.fill("#list", "a letter");
    browser.click("main form button[type=submit]");
    browser.see_in("#list-problem", "line 1");
    browser.check_but(&["400"]);
}

#[test]
fn a_query_is_saved_as_a_watch_and_as_a_case() {
    let federation = offices(1123);
    scanned(&federation);
    let Some(browser) = Browser::signed_in(&federation) else { return };
    let sought = fingerprints(&federation, "plans/budget.txt");
    let fill = |name: &str| {
        browser.open("/find");
        browser.click_text(PASTED);
        browser.fill("#fingerprints", sought.trim());
        browser.click_text("Save the query to ask it again…");
        browser.fill("#name", name);
        browser.fill("#note", "<b>asked by legal</b>");
    };
    fill("budget-leak");
    browser.shoot("find-keep");
    browser.click_text("Set up a watch");
    browser.see("h1", "Watches");
    browser.see_in(".notice", "3 documents match now");
    browser.shoot("watches");
    // A new version is synced: the watch has one more, and shows it.
    let folder = federation.site("tokyo").folder().join("desk");
    let text = std::fs::read(federation.site("paris").folder().join("plans/budget.txt")).unwrap();
    std::fs::write(folder.join("budget copied.txt"), &text[..50_000]).unwrap();
    federation.sandbox.settle();
    scanned(&federation);
    browser.wait("it was looked at again", |browser| {
        browser.open("/watches");
        browser.text("tbody td:nth-child(3)") == "4"
    });
    browser.click_text("budget-leak");
    browser.see("h1", "Watch budget-leak");
    assert!(
        browser.text("main").contains("budget copied.txt") && browser.text("main").contains("<b>asked by legal</b>")
    );
    browser.shoot("watch");
    browser.check();
    browser.open("/watches");
    browser.click_text("Remove…");
    browser.click_text("Remove budget-leak");
    browser.see_in("main", "There is no watch");
    // A case: opened, asked again, taken away as the command line writes it.
    fill("budget-7");
    browser.click_text("Open a case");
    browser.see("h1", "Case budget-7");
    browser.click_text("Ask again");
    browser.see(".notice p", "The query was asked again: 4 documents match.");
    assert_eq!(browser.texts("section table tbody tr.pivot th"), ["2"]);
    browser.shoot("case");
    let (name, bytes) = browser.download("a[href$='/export']");
    assert_eq!(name, "cognate-case-budget-7.json");
    let written = federation.operate(&["case", "export", "budget-7"]).expect(0).stdout;
    assert_eq!(String::from_utf8(bytes).unwrap(), String::from_utf8(written).unwrap());
    browser.click_text("Cases");
    browser.see("h1", "Cases");
    browser.shoot("cases");
    browser.check();
    for path in ["/cases/nowhere", "/cases/budget-7?check=9", "/cases/nowhere/export", "/watches/nowhere"] {
        browser.open(path);
        browser.see("h1", "Not found");
    }
    browser.check_but(&["404"]);
}
