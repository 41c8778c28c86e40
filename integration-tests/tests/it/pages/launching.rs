//! Launching a scan, watching it, keeping it for later.

use cognate_integration_tests::{Browser, Federation, Files};

/// A name that would be a program, an address and another file, if pages let it.
const HOSTILE: &str = "<img src=http://elsewhere.invalid/x onerror=alert(1)>&quot;\u{202e}fdp.exe";

#[test]
fn a_scan_is_launched_watched_and_looked_into_from_the_pages() {
    let mut federation = Federation::new(1102);
    let text: Vec<u8> = (0..4000_u32).flat_map(|line| format!("line {line} of a long letter\n").into_bytes()).collect();
    let trees: Vec<Files> = (0..2)
        .map(|site| [(HOSTILE.to_owned(), text.clone()), (format!("own{site}"), vec![site; 100])].into_iter().collect())
        .collect();
    for (name, files) in ["paris", "tokyo"].iter().zip(&trees) {
        federation.add(name, files);
    }
    federation.sandbox.settle();
    federation.start_all();
    let Some(browser) = Browser::signed_in(&federation) else { return };
    // Nothing chosen: the form comes back, and says so.
    browser.open("/scans/new");
    browser.fill("#min_shared_bytes", "4KB");
    browser.click("main form button[type=submit]");
    browser.see_in("#repository-problem", "at least one");
    assert_eq!(browser.script("return document.querySelector('#min_shared_bytes').value"), "4KB");
    browser.click("input[data-all]");
    browser.shoot("launch");
    browser.click("main form button[type=submit]");
    browser.see("h1", "Launch this scan?");
    assert!(browser.texts("tbody th").iter().any(|name| name == "paris/kb (bytes)"));
    browser.shoot("estimate");
    browser.check_but(&["400"]);
    browser.fill("#scan-name", "after the <move>");
    browser.click("main form[action='/scans/launch'] button");
    browser.wait("the scan has ended", |browser| browser.has(".state.complete"));
    browser.see_begin("h1", "Result of after the <move>");
    browser.shoot("scan-complete");
    // Lists show the name and are searched by it; the page of the scan changes it.
    browser.open("/scans?search=THE+%3Cmove");
    browser.see_in("tbody th", "after the <move>");
    browser.shoot("scans-searched");
    browser.open("/scans?search=merger");
    browser.see_in("main", "No scan has “merger”");
    let id = federation.operate(&["scan", "show", "after the <move>", "--format", "json"]).json()["id"].clone();
    browser.open(&format!("/scans/{}", id.as_str().unwrap()));
    browser.fill("#name", "merger");
    browser.click_text("Rename");
    browser.see_begin("h1", "Scan merger");
    browser.shoot("scan-renamed");
    assert!(federation.operate(&["scan", "list", "--search", "MERGER"]).expect(0).text().contains("merger"));
    federation.operate(&["scan", "rename", "merger", ""]).expect(0);
    browser.open(&format!("/scans/{}/result", id.as_str().unwrap()));
    // What is hostile is shown, and does nothing.
    let id = browser.path().split('/').nth(2).unwrap().to_owned();
    browser.open(&format!("/scans/{id}/identical"));
    browser.see_in("main", "\\u{202e}fdp.exe");
    assert!(!browser.has("main img"));
    browser.shoot("hostile");
    browser.check();
    // Kept for later, and taken away again.
    browser.open(&format!("/scans/new?again={id}"));
    browser.click("main form button[type=submit]");
    browser.fill("#profile-name", "every month!");
    browser.click("form[action='/profiles/save'] button");
    browser.wait("the error stands at the name", |browser| browser.has("#profile_name-problem"));
    assert_eq!(browser.script("return document.getElementById('profile-name').value"), "every month!");
    browser.shoot("launch-wrong-name");
    browser.check_but(&["400"]);
    browser.fill("#profile-name", "monthly");
    browser.click("form[action='/profiles/save'] button");
    browser.see_in(".notice", "monthly");
    browser.fill("input[name=every]", "now and then");
    browser.click_text("Schedule");
    browser.see_in("#every-problem", "a time such as");
    assert_eq!(browser.script("return document.querySelector('input[name=every]').value"), "now and then");
    browser.check_but(&["400"]);
    browser.fill("input[name=every]", "7days");
    browser.click_text("Schedule");
    browser.see_in(".notice", "launched now");
    browser.shoot("schedules");
    browser.click("form[action='/schedules/remove'] button");
    browser.see_in("main", "No schedule yet");
    browser.check();
    // Looked into for boilerplate: a while later there is an answer.
    browser.open("/templates");
    browser.shoot("templates");
    browser.click_text("Search");
    browser.see_in("main", "There is nothing to suggest");
    browser.check();
}
