//! A plan: rules are typed, what they come to is looked at, and taken away for each site.

use cognate_integration_tests::Browser;
use serde_json::Value;

use super::{offices, scanned, tab};

#[test]
fn rules_are_typed_their_plan_looked_at_and_taken_away_as_the_command_line_makes_it() {
    let federation = offices(1141);
    let id = scanned(&federation);
    let Some(browser) = Browser::signed_in(&federation) else { return };
    browser.open(&format!("/scans/{id}/result"));
    tab(&browser, "Plan", "Plan: which copies stay");
    browser.fill("#f-keep", "nonsense");
    browser.click_text("Show the plan");
    browser.wait("it is no rule", |browser| browser.has("#keep-problem"));
    assert_eq!(browser.text("#f-keep"), "nonsense");
    browser.check_but(&["400"]);
    // Six sets; of one, two copies lie at the same site.
    browser.fill("#f-keep", "reference:paris/kb\nnewest");
    browser.click_text("Show the plan");
    browser.wait("there is a plan", |browser| browser.has("a[download]"));
    browser.see_begin(".figures dd", "8\ndocuments");
    assert!(browser.texts("tbody tr").iter().any(|row| row.contains("Copy of minutes 1") && row.contains("could go")));
    browser.shoot("plan");
    let plan = federation.sandbox.path("plan");
    let rules = ["--keep", "reference:paris/kb", "--keep", "newest", "-o", plan.to_str().unwrap()];
    federation.operate(&[&["plan", "make", &id], &rules[..]].concat()).expect(0);
    for extension in ["json", "csv", "sh"] {
        let (name, bytes) = browser.download(&format!("a[href*='/plan/tokyo/{extension}?']"));
        assert_eq!(name, format!("cognate-plan-{id}-tokyo.{extension}"));
        let written = std::fs::read(plan.join(format!("tokyo.{extension}"))).unwrap();
        assert!(bytes == written, "{extension}: {}", String::from_utf8_lossy(&bytes));
        if extension == "json" {
            let told: Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(told["sets"].as_array().unwrap().len(), 6, "{told}");
        }
    }
    browser.check();
    // Rules that decide nothing: all stay, and it is said.
    browser.fill("#f-keep", "path:nowhere/*");
    browser.click_text("Show the plan");
    browser.see_in("main", "all documents stay");
    browser.shoot("plan-ties");
    browser.check();
}
