//! Keys alone: a triage from the overview to the last cluster, and the pages that are not lists.

use cognate_integration_tests::Browser;
use cognate_integration_tests::browser::{ENTER, TAB};

use super::{offices, scanned};

/// More stops than any page has.
const STOPS_MAX: usize = 200;

/// Goes from stop to stop until the focus is on a link or button with this text, or a field with this id.
#[track_caller]
fn tab_to(browser: &Browser, wanted: &str) {
    for _ in 0..STOPS_MAX {
        browser.press(TAB);
        let at = browser.script(
            "const at = document.activeElement; \
             return [at.id, at.textContent.trim().replace(/\\s+/g, ' '), getComputedStyle(at).outlineStyle]",
        );
        if at[0] == wanted || at[1] == wanted {
            assert_ne!(at[2], "none", "`{wanted}` does not show that it has the focus, on {}", browser.path());
            return;
        }
    }
    panic!("no stop of {} is `{wanted}`", browser.path());
}

/// Goes to a link or button, and presses it.
#[track_caller]
fn press(browser: &Browser, wanted: &str) {
    tab_to(browser, wanted);
    browser.press(ENTER);
}

#[test]
fn a_result_is_gone_through_from_the_overview_to_the_last_cluster_by_keys_alone() {
    let federation = offices(1151);
    scanned(&federation);
    let Some(browser) = Browser::signed_in(&federation) else { return };
    browser.see("h1", "Overview");
    press(&browser, "Scans");
    browser.see("h1", "Scans");
    browser.press("j");
    browser.press(ENTER);
    browser.see_begin("h1", "Result of ");
    press(&browser, "Clusters");
    browser.see("h1", "Clusters 3");
    // Filtered to what is open, with the keys of a list: the field, the first letter of the choice, the button.
    browser.press("/");
    tab_to(&browser, "f-verdict");
    browser.press("o");
    press(&browser, "Filter");
    browser.see("h1", "Clusters 3 of this filter");
    // Three clusters, three verdicts, and one of them again.
    browser.press("1");
    browser.see("ol.rows > li:first-child .mark", "duplicate");
    browser.press("2");
    browser.see("ol.rows > li:nth-child(2) .mark", "not-a-duplicate");
    browser.press("u");
    browser.wait("it is taken back", |browser| browser.texts(".mark .verdict") == ["duplicate"]);
    browser.press("2");
    browser
        .wait("it is decided again", |browser| browser.texts(".mark .verdict").contains(&"not-a-duplicate".to_owned()));
    browser.press("3");
    browser.see("h1", "Clusters 0 of this filter");
    // The keys are listed, and the list is left by a key.
    browser.press("?");
    browser.see_in("dialog[open]", "takes back your last decision");
    press(&browser, "Close");
    press(&browser, "Review");
    browser.see_begin("p.lead", "3 of 3 clusters are decided");
    press(&browser, "All decisions, with who and when");
    browser.see("h1", "Verdicts");
    let mut verdicts = browser.texts("tbody .verdict");
    verdicts.sort();
    assert!(verdicts.windows(3).any(|three| three == ["duplicate", "intentional", "not-a-duplicate"]), "{verdicts:?}");
    browser.check();
}

#[test]
fn folders_a_plan_and_the_place_for_files_are_reached_and_used_by_keys() {
    let federation = offices(1152);
    let id = scanned(&federation);
    let Some(browser) = Browser::signed_in(&federation) else { return };
    // The tree of folders: from the result into a folder, and up again.
    browser.open(&format!("/scans/{id}/result"));
    browser.see_begin("h1", "Result of ");
    press(&browser, "paris/kb");
    browser.wait("the folders are shown", |browser| browser.path().contains("/tree/paris/kb"));
    let folder = browser.text("tbody a");
    press(&browser, &folder);
    browser.wait("the folder is open", |browser| browser.path().contains("folder="));
    press(&browser, "paris/kb");
    browser.wait("it is closed again", |browser| !browser.path().contains("folder="));
    // A plan: the rules are typed and shown.
    press(&browser, "Plan");
    browser.see("h1", "Plan: which copies stay");
    tab_to(&browser, "f-keep");
    browser.press("newest");
    press(&browser, "Show the plan");
    browser.wait("there is a plan", |browser| browser.has(".figures dd"));
    // Files: the field is a stop of the overview and of the page of finds. What opens then is the system's.
    for page in ["/", "/find"] {
        browser.open(page);
        browser.wait("files can be chosen", |browser| browser.has(".drop:not([hidden]) #files"));
        tab_to(&browser, "files");
    }
    let file = federation.sandbox.path("minutes.txt");
    std::fs::write(&file, "nobody has it").unwrap();
    browser.press(file.to_str().unwrap());
    browser.wait("there is an answer", |browser| browser.has("section[aria-label=\"What could not have been found\"]"));
    browser.check();
}

#[test]
fn a_file_that_is_dropped_on_the_overview_is_looked_for() {
    let federation = offices(1153);
    scanned(&federation);
    let file = federation.sandbox.path("handbook.txt");
    std::fs::copy(federation.sandbox.path("paris-kb").join("plans/handbook.txt"), &file).unwrap();
    let Some(browser) = Browser::signed_in(&federation) else { return };
    browser.see("h1", "Overview");
    browser.press_on("#files", file.to_str().unwrap());
    browser.see("h1", "Find");
    browser.see_in("main", "handbook.txt");
    browser.see_in("main", "identical");
    browser.check();
}
