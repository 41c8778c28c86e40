//! Signing in, looking around by mouse and by keys, and signing out.

use cognate_integration_tests::browser::ENTER;
use cognate_integration_tests::{Browser, Federation};

#[test]
fn somebody_signs_in_looks_around_and_signs_out() {
    let federation = Federation::of(1101, 2, 60);
    federation.scan(&[]).expect(0);
    let Some(mut browser) = Browser::signed_in(&federation) else { return };
    assert_eq!(browser.path(), "/");
    browser.see("h1", "Overview");
    browser.shoot("overview");
    for (label, heading) in [("Scans", "Scans"), ("Sites", "Sites and repositories")] {
        browser.click_text(label);
        browser.see("h1", heading);
        browser.shoot(&label.to_lowercase());
    }
    browser.check();
    // By keys: the first row, and into it.
    browser.open("/scans");
    browser.press("j");
    browser.press(ENTER);
    browser.wait("its result is shown", |browser| browser.text("h1").starts_with("Result of "));
    browser.click_text("Run");
    browser.wait("the scan is shown", |browser| browser.text("h1").starts_with("Scan "));
    browser.shoot("scan");
    browser.check();
    // What is nowhere is said to be nowhere.
    browser.open("/scans/0123456789abcdef");
    browser.see("h1", "Not found");
    browser.check_but(&["404"]);
    browser.click_text("Sign out");
    browser.see("h1", "Sign in");
    browser.shoot("sign-in");
    browser.open("/scans?page=1");
    browser.see("h1", "Sign in");
    // The next address leads to where one was.
    let address = federation.login(&federation.operator());
    browser.sign_in(&address);
    assert_eq!(browser.path(), "/scans?page=1");
    browser.check();
    browser.open(&address[address.find("/sign-in").unwrap()..]);
    browser.see_in("main", "cannot be used to sign in");
}
