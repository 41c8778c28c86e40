//! From a launch to what was decided and taken away: the way of somebody who looks through a result.

use cognate_integration_tests::Browser;
use cognate_integration_tests::browser::END;
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
    // Once it has ended, its result is shown.
    browser.wait("the result is shown", |browser| browser.text("h1").starts_with("Result of paris/kb and tokyo/kb"));
    assert!(
        browser.texts("#answer p").iter().any(|line| line.contains("of tokyo") && line.contains(" is also at paris"))
    );
    assert!(browser.texts(".figures dd").iter().any(|figure| figure.starts_with("3\n")));
    browser.shoot("result");
    browser.check();
    // Filtered, by the key that leads to the field.
    tab(&browser, "Clusters", "Clusters 3");
    browser.press("/");
    assert_eq!(browser.script("return document.activeElement.id"), "f-path");
    browser.fill("#f-path", "plans/");
    browser.click_text("More");
    browser.choose("#f-least", "80");
    browser.click_text("Filter");
    browser.see("h1", "Clusters 2 of this filter");
    browser.shoot("clusters-filtered");
    // On paper the rows stay, and what only a screen can do goes.
    let printed = browser.printed("clusters-filtered");
    assert!(printed.contains("roadmap.txt") && !printed.contains("Decide about all"), "{printed}");
    // The largest one is open next to the list: a bar for each member by its name, and all that they have in common.
    assert!(browser.text(".detail h2").ends_with("and 2 more"), "{}", browser.text(".detail h2"));
    let names = browser.texts(".map-row .map-name");
    assert!(names.len() == 3 && names.iter().all(|name| name.contains("budget")), "{names:?}");
    assert!(browser.has(".map rect.m5") && browser.has(".map rect.m0"));
    assert!(browser.texts(".detail td .badge").iter().any(|text| text == "representative"), "none is marked");
    // In a window of its own it is the same page.
    browser.open(browser.script("return document.querySelector('ol.rows a').getAttribute('href')").as_str().unwrap());
    browser.wait("the cluster is shown", |browser| browser.has(".desk.on-cluster .map svg"));
    browser.shoot("cluster");
    // The slider drops what is weaker; another pivot is what the others are compared with.
    browser.script("document.querySelector('details.links-of').open = true");
    browser.press_on("#threshold", END);
    browser.see_at("threshold=100");
    browser.see_in("main", "no members are connected");
    browser.script("[...document.querySelectorAll('.closer a')].find((a) => a.href.includes('pivot=')).click()");
    browser.see_at("pivot=");
    browser.wait("another one is the pivot", |browser| browser.has("tr.pivot em"));
    browser.check();
    // Decided by a key, and on to the next one of the list; the verdicts never leave the window.
    assert!(browser.in_view(".verdict-bar"));
    browser.press("1");
    browser.wait("the next one is shown", |browser| {
        browser.text(".detail h1, .detail h2").ends_with("roadmap.txt and 1 more")
    });
    browser.wait("the first row says so", |browser| browser.has("li:first-child .mark .verdict.duplicate"));
    // A pair is two documents side by side, by their names, without a slider.
    assert!(browser.has(".pair polygon.band") && !browser.has("[data-slider]") && browser.in_view(".verdict-bar"));
    assert_eq!(browser.texts(".bar-name").len(), 2);
    browser.shoot("pair");
    browser.press("2");
    browser.wait("the second row says so", |browser| browser.has("li:last-child .mark .verdict.not-a-duplicate"));
    // Nothing is hidden below the last row, and `?` says which keys there are.
    browser.press("?");
    browser.see_in("dialog[open]", "takes back your last decision");
    browser.click_text("Close");
    // The list shows it, and can be asked for it.
    browser.open(&format!("{}/clusters?path=plans/&least=80", scan(&browser)));
    assert_eq!(browser.texts(".row-facts .mark"), ["duplicate", "not-a-duplicate"]);
    browser.choose("#f-verdict", "duplicate");
    browser.click_text("Filter");
    browser.see("h1", "Clusters 1 of this filter");
    browser.press("u");
    browser.wait("it is taken back", |browser| browser.has(".notice"));
    browser.see_in(".notice", "Taken back");
    // In the list, one row after the other without a page between.
    browser.open(&format!("{}/clusters?verdict=open", scan(&browser)));
    browser.see("h1", "Clusters 2 of this filter");
    browser.press("4");
    browser.wait("the row says so", |browser| browser.has(".mark .verdict.keep"));
    browser.press("u");
    browser.wait("it is taken back", |browser| !browser.has(".row-facts .verdict"));
    browser.press("3");
    browser.wait("the row says so", |browser| browser.has(".row-facts .verdict.intentional"));
    // After the last row, the list goes on with what is still open.
    browser.press("5");
    browser.see("h1", "Clusters 0 of this filter");
    tab(&browser, "Review", "Review");
    browser.click_text("All decisions, with who and when");
    browser.see("h1", "Verdicts");
    assert_eq!(browser.texts("tbody .verdict"), ["done", "intentional", "keep", "not-a-duplicate", "duplicate"]);
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
    browser.click_text("Side by side");
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
    browser.click("details.passages summary");
    browser.see_in("details table", "At byte of A");
    assert_eq!(browser.texts("details table tbody tr").len(), runs);
    browser.click_text("Swap A and B");
    browser.wait("they have changed places", |browser| {
        browser.script("return document.querySelector('#f-a').value") == second
    });
    browser.check();
    browser.click_text("The cluster");
    browser.wait("the cluster is shown", |browser| browser.has(".desk.on-cluster"));
    // A name that is nowhere.
    browser.open(&format!("/scans/{id}/explain?a=paris/kb/none&b=tokyo/kb/none"));
    browser.see_in("#a-problem", "no document");
    assert_eq!(browser.script("return document.querySelector('#f-b').value"), "tokyo/kb/none");
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
    browser.see_begin("h1", "Result of ");
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
