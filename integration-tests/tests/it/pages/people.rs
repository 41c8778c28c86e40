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
    browser.see_begin(".notice code", "echo cog1_");
    browser.shoot("people");
    browser.open("/sites");
    browser.fill("#name", "paris");
    browser.click_text("Invite");
    browser.see_begin(".notice code", "echo cog1_");
    browser.open("/audit");
    let actions = browser.texts("tbody td:nth-child(3)");
    assert_eq!(actions[..2], ["invited", "invited"]);
    assert!(actions.contains(&"signed in".to_owned()), "{actions:?}");
    browser.shoot("audit");
    browser.check();
    browser.click_text("Sign out");
    // A viewer is offered nothing else, and is signed out as soon as access is revoked.
    browser.sign_in(&federation.login(&ben));
    assert!(!browser.has("a[href='/people']") && !browser.has("a[href='/scans/new']"));
    browser.open("/audit");
    browser.see("h1", "Not allowed");
    federation.operate(&["operator", "revoke", "ben"]).expect(0);
    browser.open("/scans");
    browser.see("h1", "Sign in");
    browser.check_but(&["403"]);
}

#[test]
fn a_site_is_shut_out_invited_again_and_forgotten_from_the_pages() {
    let federation = Federation::of(1104, 2, 20);
    federation.scan(&[]).expect(0);
    let Some(browser) = Browser::signed_in(&federation) else { return };
    browser.open("/sites");
    browser.click("#b details:has(form[action='/sites/invite']) summary");
    browser.click("#b form[action='/sites/invite'] button");
    browser.wait("there is an invitation", |browser| browser.has(".notice code"));
    browser.see_begin(".notice code", "echo cog1_");
    browser.click("#b details:has(form[action='/sites/revoke']) summary");
    browser.click("#b form[action='/sites/revoke'] button");
    browser.wait("it is shut out", |browser| browser.has("#b .state.revoked"));
    // A launch says that it is shut out, not that there is none.
    let repositories = federation.repositories();
    let refused = federation.operate(&["scan", "launch", "--yes", "--repositories", &repositories]).refusal(1);
    assert!(refused.contains("site `b` is revoked: `cognate site invite` lets it enrol again"), "{refused}");
    assert_eq!(federation.operate(&["scan", "list", "--format", "json"]).json().as_array().unwrap().len(), 1);
    // All that it sent, and the result, go with it; only who has typed its name does that.
    browser.click("#b details:has(form[action='/sites/forget']) summary");
    browser.fill("#again-b", "a");
    browser.shoot("sites-forget");
    browser.click("#b form[action='/sites/forget'] button");
    browser.see_in("#again-problem", "nothing was erased");
    assert_eq!(browser.script("return document.querySelector('#again-b').value"), "a");
    browser.check_but(&["400"]);
    browser.fill("#again-b", "b");
    browser.click("#b form[action='/sites/forget'] button");
    browser.wait("it is forgotten", |browser| browser.has(".notice") && !browser.has("#b"));
    browser.see_in(".notice", "1 result");
    browser.open("/scans");
    browser.see("h1", "Scans");
    assert!(!browser.has("tbody a[href$='/result']"));
    browser.check();
}
