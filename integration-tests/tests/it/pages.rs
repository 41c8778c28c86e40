//! The pages in a real browser: signing in and out, what each page shows, and that nothing comes from elsewhere.

use cognate_integration_tests::{Browser, Federation, Files};

/// A name that would be a program, an address and another file, if pages let it.
const HOSTILE: &str = "<img src=http://elsewhere.invalid/x onerror=alert(1)>&quot;\u{202e}fdp.exe";

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
    browser.press("\u{e007}");
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
    assert!(browser.text("main").contains("signs nobody in"), "{}", browser.text("main"));
}

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
    let Some(mut browser) = Browser::signed_in(&federation) else { return };
    // Nothing chosen: the form comes back, and says so.
    browser.open("/scans/new");
    browser.fill("#min_shared_bytes", "4KB");
    browser.click("main form button[type=submit]");
    assert!(browser.text(".problem").contains("at least one"), "{}", browser.text(".problem"));
    assert_eq!(browser.script("return document.querySelector('#min_shared_bytes').value"), "4KB");
    browser.click("input[data-all]");
    browser.shoot("launch");
    browser.click("main form button[type=submit]");
    browser.see("h1", "Launch this scan?");
    assert!(browser.texts("tbody th").iter().any(|name| name == "paris/kb"));
    browser.shoot("estimate");
    browser.check_but(&["400"]);
    browser.click("main form[action='/scans/launch'] button");
    browser.wait("the scan has ended", |browser| browser.has(".state.complete"));
    browser.shoot("scan-complete");
    // What is hostile is shown, and does nothing.
    let id = browser.path().rsplit('/').next().unwrap().to_owned();
    browser.open(&format!("/scans/{id}/identical"));
    assert!(browser.text("main").contains("\\u{202e}fdp.exe"), "{}", browser.text("main"));
    assert!(!browser.has("main img"));
    browser.shoot("hostile");
    browser.check();
    // Kept for later, and taken away again.
    browser.open(&format!("/scans/new?again={id}"));
    browser.click("main form button[type=submit]");
    browser.fill("#profile-name", "monthly");
    browser.click("form[action='/profiles/save'] button");
    assert!(browser.text(".notice").contains("monthly"));
    browser.fill("input[name=every]", "7days");
    browser.click_text("Schedule");
    assert!(browser.text(".notice").contains("launched now"));
    browser.shoot("schedules");
    browser.click("form[action='/schedules/remove'] button");
    assert!(browser.text("main").contains("No schedule yet"));
    browser.check();
    // Looked into for boilerplate: a while later there is an answer.
    browser.open("/templates");
    browser.shoot("templates");
    browser.click_text("Look");
    browser.wait("it was looked for", |browser| browser.text("main").contains("Nothing is worth marking"));
    browser.check();
}

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
