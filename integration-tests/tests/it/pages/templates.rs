//! Boilerplate: it is looked for, suggested, marked, and taken back.

use cognate_integration_tests::{Browser, Federation, Files};

use super::{prose, scanned};

#[test]
fn what_many_unlike_documents_carry_is_suggested_marked_and_taken_back() {
    let mut federation = Federation::new(1131);
    let head = prose(&mut federation.dice, 20_000);
    for site in ["paris", "tokyo"] {
        let letters = (0..5).map(|number| {
            let own = prose(&mut federation.dice, 25_000);
            (format!("letters/{number}.txt"), format!("{head}{own}").into_bytes())
        });
        let files: Files = letters.collect();
        federation.add(site, &files);
    }
    federation.sandbox.settle();
    federation.start_all();
    scanned(&federation);
    let Some(browser) = Browser::signed_in(&federation) else { return };
    browser.click_text("Templates");
    browser.see("h1", "Templates");
    browser.click_text("Search");
    browser.wait("something is suggested", |browser| browser.has("form[action='/templates/accept']"));
    browser.shoot("suggested");
    browser.click_text("Mark");
    browser.wait("it is marked", |browser| browser.has(".notice"));
    browser.see_in(".notice", "are ignored");
    browser.click("main a[href='/templates']");
    browser.wait("it is in the list", |browser| browser.has("form[action='/templates/unmark']"));
    browser.shoot("templates-marked");
    browser.check();
    // The next scan goes without it: nothing holds the letters together any more.
    let report = federation.scan(&["--no-sync"]).report();
    assert_eq!(report["clusters"].as_array().unwrap().len(), 0, "{report}");
    browser.click_text("Take back");
    browser.see_in("main", "No template is marked");
    browser.check();
}
