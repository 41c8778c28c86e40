//! From a launch to what was decided and taken away: the way of somebody who looks through a result.

use cognate_integration_tests::Browser;
use cognate_integration_tests::browser::{END, ENTER};
use rustix::process::Signal;

use super::{offices, scanned, tab};

#[test]
fn an_analyst_launches_watches_filters_opens_decides_takes_back_and_takes_away() {
    let mut federation = offices(1111);
    let Some(browser) = Browser::signed_in(&federation) else { return };
    browser.click_text("Launch a scan");
    browser.see("h1", "Launch a scan");
    browser.click("input[data-all]");
    browser.click_text("Show what it would cost");
    browser.see("h1", "Launch this scan?");
    // A site that says nothing for a while: the scan is watched, and the page goes on by itself.
    federation.site_mut("tokyo").worker().signal(Signal::STOP);
    browser.click_text("Launch it");
    browser.wait("the scan is under way", |browser| browser.has("[data-live] .state.syncing"));
    browser.shoot("scan-under-way");
    federation.site_mut("tokyo").worker().signal(Signal::CONT);
    browser.wait("the scan has ended", |browser| browser.has(".state.complete"));
    tab(&browser, "Result", "Result of scan");
    assert!(browser.texts(".figures dd").iter().any(|figure| figure.starts_with("3\n")));
    browser.shoot("result");
    browser.check();
    // Filtered, by the key that leads to the field.
    tab(&browser, "Clusters", "Clusters 3");
    browser.press("/");
    assert_eq!(browser.script("return document.activeElement.id"), "f-path");
    browser.fill("#f-path", "plans/");
    browser.choose("#f-least", "80");
    browser.click_text("Filter");
    browser.see("h1", "Clusters 2 of this filter");
    browser.shoot("clusters-filtered");
    // On paper the rows stay, and what only a screen can do goes.
    let printed = browser.printed("clusters-filtered");
    assert!(printed.contains("roadmap.txt") && !printed.contains("Decide about all"), "{printed}");
    // Into the largest one: a bar for each member, and all that they have in common.
    browser.press("j");
    browser.press(ENTER);
    browser.wait("the cluster is shown", |browser| browser.has(".map svg"));
    assert!(browser.text("h1").ends_with("and 2 more"), "{}", browser.text("h1"));
    assert_eq!(browser.texts(".map tr").len(), 3);
    assert!(browser.has(".map rect.m5") && browser.has(".map rect.m0"));
    browser.shoot("cluster");
    // The slider drops what is weaker; another pivot is what the others are compared with.
    browser.press_on("#threshold", END);
    browser.see_at("threshold=100");
    browser.see_in("main", "no members are connected");
    browser.click_text("Pivot");
    browser.see_at("pivot=");
    browser.wait("another one is the pivot", |browser| browser.has("tr.pivot em"));
    browser.check();
    // Decided by a key, and on to the next one of the list.
    browser.press("1");
    browser.wait("the next one is shown", |browser| browser.text("h1").ends_with("roadmap.txt and 1 more"));
    browser.see_in(".notice", "Decided about 1: duplicate");
    browser.press("2");
    browser.see_begin("h1", "Clusters");
    assert_eq!(browser.texts("td.mark"), ["duplicate", "not-a-duplicate"]);
    // The list shows it, and can be asked for it.
    browser.choose("#f-verdict", "duplicate");
    browser.click_text("Filter");
    browser.see("h1", "Clusters 1 of this filter");
    browser.press("u");
    browser.wait("it is taken back", |browser| browser.has(".notice"));
    browser.see_in(".notice", "Taken back");
    // In the list, one row after the other without a page between.
    browser.open(&format!("{}/clusters?verdict=open", scan(&browser)));
    browser.see("h1", "Clusters 2 of this filter");
    browser.press("j");
    browser.press("3");
    browser.wait("the row says so", |browser| browser.has("td.mark .verdict.intentional"));
    browser.press("5");
    browser.wait("the next row says so", |browser| browser.has("td.mark .verdict.done"));
    browser.shoot("clusters-decided");
    browser.open(&format!("{}/clusters?verdict=open", scan(&browser)));
    browser.see("h1", "Clusters 0 of this filter");
    tab(&browser, "Verdicts", "Verdicts");
    assert_eq!(browser.texts("tbody .verdict"), ["done", "intentional", "not-a-duplicate", "duplicate"]);
    browser.shoot("verdicts");
    browser.check();
}

#[test]
fn two_members_of_a_cluster_are_laid_side_by_side() {
    let federation = offices(1113);
    let id = scanned(&federation);
    let Some(browser) = Browser::signed_in(&federation) else { return };
    browser.open(&format!("/scans/{id}/clusters?least=80"));
    browser.see_begin("h1", "Clusters 2");
    browser.click("tbody th a");
    browser.wait("the cluster is shown", |browser| browser.has(".map svg"));
    browser.click_text("Explain");
    browser.see("h1", "Two documents side by side");
    assert!(browser.has("polygon.band") && browser.has("rect.m4") && browser.has("rect.m0"));
    let [first, second] =
        ["#f-a", "#f-b"].map(|field| browser.script(&format!("return document.querySelector('{field}').value")));
    assert_ne!(first, second);
    browser.shoot("explain");
    browser.check();
    // What the command line tells is what is shown.
    let words = ["explain", &id, first.as_str().unwrap(), second.as_str().unwrap(), "--format", "json"];
    let told = federation.operate(&words).expect(0).json();
    let runs = told["views"][0]["shared"].as_array().unwrap().len();
    browser.click("section details summary");
    browser.see_in("details table", "At byte of A");
    assert_eq!(browser.texts("details table tbody tr").len(), runs);
    browser.click_text("Swap A and B");
    browser.wait("they have changed places", |browser| {
        browser.script("return document.querySelector('#f-a').value") == second
    });
    browser.check();
    browser.click_text("The cluster");
    browser.wait("the cluster is shown", |browser| browser.has(".map svg"));
    // A name that is nowhere.
    browser.open(&format!("/scans/{id}/explain?a=paris/kb/none&b=tokyo/kb/none"));
    browser.see("h1", "Not found");
    browser.see_in("main", "no document");
    browser.check_but(&["404"]);
}

/// The address of the scan that is shown.
fn scan(browser: &Browser) -> String {
    browser.path().split('/').take(3).collect::<Vec<_>>().join("/")
}

#[test]
fn what_is_downloaded_is_what_the_command_line_writes() {
    let federation = offices(1112);
    let id = scanned(&federation);
    let Some(browser) = Browser::signed_in(&federation) else { return };
    browser.open(&format!("/scans/{id}/result"));
    browser.see_begin("h1", "Result of scan");
    for extension in ["html", "csv", "json", "ndjson"] {
        let (name, bytes) = browser.download(&format!("a[href$='/export/{extension}']"));
        assert_eq!(name, format!("cognate-{id}.{extension}"));
        let written = federation.operate(&["report", &id, "--format", extension]).expect(0).stdout;
        assert!(bytes == written, "{extension}: {} bytes are downloaded, {} written", bytes.len(), written.len());
    }
    let (name, bytes) = browser.download("a[href$='/export/xlsx']");
    assert!(name.ends_with(".xlsx") && bytes.starts_with(b"PK"), "{name}");
    // The signed report is whole.
    let (name, bytes) = browser.download("a[href$='/audit/html']");
    let file = federation.sandbox.path(&name);
    std::fs::write(&file, bytes).unwrap();
    federation.sandbox.cognate(["report", "verify", file.to_str().unwrap()]).expect(0);
    browser.check();
}
