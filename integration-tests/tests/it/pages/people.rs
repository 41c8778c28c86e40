//! People and sites are invited and shut out from the pages.

use cognate_integration_tests::{Browser, Federation};

#[test]
fn people_are_invited_on_the_pages_and_shut_out_at_once() {
    let federation = Federation::new(1103);
    let ben = federation.person("ben", "viewer", &[]);
    let Some(mut browser) = Browser::signed_in(&federation) else { return };
    browser.open("/people");
    browser.fill("#name", "carla");
    browser.click_text("Invite");
    assert!(browser.text(".notice code").starts_with("cognate operator enroll cog1_"));
    browser.shoot("people");
    browser.open("/sites");
    browser.fill("#name", "paris");
    browser.click_text("Invite");
    assert!(browser.text(".notice code").starts_with("cognate worker enroll cog1_"));
    browser.open("/audit");
    let actions = browser.texts("tbody td:nth-child(3)");
    assert_eq!(actions[..2], ["invited", "invited"]);
    assert!(actions.contains(&"signed in".to_owned()), "{actions:?}");
    browser.shoot("audit");
    browser.check();
    browser.click_text("Sign out");
    // Who may only see is offered nothing else, and is out as soon as somebody says so.
    browser.sign_in(&federation.login(&ben));
    assert!(!browser.has("a[href='/people']") && !browser.has("a[href='/scans/new']"));
    browser.open("/audit");
    browser.see("h1", "Not allowed");
    federation.operate(&["operator", "revoke", "ben"]).expect(0);
    browser.open("/scans");
    browser.see("h1", "Sign in");
    browser.check_but(&["403"]);
}
