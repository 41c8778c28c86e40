//! Tags and people of clusters: by keys alone, in the list, in filters with short addresses, and taken back.

use cognate_integration_tests::Browser;
use cognate_integration_tests::browser::ENTER;

use super::{offices, scanned, tab};

#[test]
fn a_cluster_gets_tags_and_a_person_by_keys_and_the_list_is_filtered_by_them() {
    let federation = offices(1161);
    scanned(&federation);
    let Some(browser) = Browser::signed_in(&federation) else { return };
    browser.click_text("Scans");
    browser.see("h1", "Scans");
    browser.click("table[data-rows] tbody tr a");
    browser.see_begin("h1", "Result of ");
    tab(&browser, "Clusters", "Clusters 3");
    // The keys go to the fields, and Enter saves.
    browser.press("t");
    assert_eq!(browser.script("return document.activeElement.name"), "tag");
    browser.press(&format!("legal hold, to show{ENTER}"));
    browser.see_in("[role=status]", "1 cluster labelled: +legal hold +to show");
    let tags = |browser: &Browser| browser.texts("ol.rows li.here .tag");
    assert_eq!(tags(&browser), ["legal hold", "to show"]);
    browser.press("a");
    browser.press(&format!("Ben Ito{ENTER}"));
    browser.see_in("[role=status]", "for Ben Ito");
    browser.see_in("ol.rows li.here .row-facts", "for Ben Ito");
    browser.shoot("labels");
    // A tag is removed by its button, and a label that is none says so.
    browser.click("form.labels button[value='to show']");
    browser.see_in("[role=status]", "-to show");
    assert_eq!(tags(&browser), ["legal hold"]);
    browser.press("t");
    browser.press(&format!("a;b{ENTER}"));
    browser.see_in("[role=status]", "No label was changed");
    // The filter leaves no empty field in the address.
    browser.click_text("More");
    browser.fill("input[name=tag]", "legal hold");
    browser.click_text("Filter");
    browser.see("h1", "Clusters 1 of this filter");
    let path = browser.path();
    assert!(path.contains("tag=legal+hold") && !path.contains("=&") && !path.ends_with('='), "{path}");
    assert!(browser.texts(".downloads a").contains(&"workbook".to_owned()));
    let (name, csv) = browser.download(".downloads a[href*='/csv?']");
    assert!(name.ends_with("-part.csv") && String::from_utf8_lossy(&csv).contains("legal hold"), "{name}");
    // All of a filter at once; taken back, it is as before.
    browser.open(&path.replace("tag=legal+hold", "assignee=none"));
    browser.see("h1", "Clusters 2 of this filter");
    browser.click("details.bulk summary");
    browser.shoot("labels-of-many");
    browser.fill("form[action$='/verdicts'] input[aria-label='Person for all']", "Anna");
    browser.click_text("Label all 2");
    browser.see("h1", "Clusters 0 of this filter");
    browser.press("u");
    browser.see("h1", "Clusters 2 of this filter");
    // The record of decisions has what was done, and the review what is left to whom.
    browser.click_text("Review");
    browser.see_in("#people", "Ben Ito");
    browser.click_text("All decisions, with who and when");
    browser.see_in("main", "+legal hold +to show");
    browser.shoot("labels-decisions");
    browser.check();
}
