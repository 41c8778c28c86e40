//! What is not there, what failed, and who is not signed in any more: each says so, and what can be done.

use cognate_integration_tests::Browser;

use super::{offices, scanned};

#[test]
fn what_is_nowhere_is_a_page_that_says_so_on_every_route_with_an_id() {
    let federation = offices(1161);
    let id = scanned(&federation);
    let Some(browser) = Browser::signed_in(&federation) else { return };
    let mut paths = Vec::new();
    for unknown in ["0123456789abcdef", "nonsense", "%3Cb%3E"] {
        for part in [
            "",
            "/result",
            "/clusters",
            "/clusters/raw/0123456789abcdef",
            "/identical",
            "/identical/0123456789abcdef",
            "/folders",
            "/documents",
            "/plan",
            "/plan/paris/json?keep=newest",
            "/verdicts",
            "/export/json",
            "/audit/html",
            "/live",
        ] {
            paths.push(format!("/scans/{unknown}{part}"));
        }
    }
    for part in [
        "clusters/raw/0123456789abcdef",
        "clusters/raw/nonsense",
        "clusters/nonsense/0123456789abcdef",
        "identical/0123456789abcdef",
        "identical/nonsense",
        "export/exe",
        "audit/exe",
        "plan/nowhere/json?keep=newest",
        "plan/paris/exe?keep=newest",
        "nonsense",
    ] {
        paths.push(format!("/scans/{id}/{part}"));
    }
    paths.extend(["/templates/suggested/0123456789abcdef", "/nonsense"].map(str::to_owned));
    for path in &paths {
        browser.open(path);
        browser.see("h1", "Not found");
        assert!(browser.has("form.who") && browser.has("main a[href='/']"), "{path}");
    }
    browser.shoot("not-found");
    browser.check_but(&["404"]);
}

#[test]
fn a_session_that_ended_leads_to_signing_in_and_back() {
    let mut federation = offices(1162);
    let id = scanned(&federation);
    let Some(mut browser) = Browser::signed_in(&federation) else { return };
    browser.open(&format!("/scans/{id}/clusters?least=80"));
    browser.see_begin("h1", "Clusters");
    // A coordinator that starts again knows no session.
    federation.stop_coordinator();
    federation.start_coordinator();
    // A key that decides leads to the door, and nothing is decided.
    browser.press("j");
    browser.press("1");
    browser.see("h1", "Sign in");
    browser.open(&format!("/scans/{id}/clusters?least=80"));
    browser.see("h1", "Sign in");
    browser.shoot("sign-in-again");
    browser.sign_in(&federation.login(&federation.operator()));
    assert_eq!(browser.path(), format!("/scans/{id}/clusters?least=80"));
    browser.see_begin("h1", "Clusters 2");
    assert!(!browser.has(".mark .state"));
    browser.check();
}

#[test]
fn a_scan_that_failed_says_why_and_what_to_do_and_a_partial_one_what_is_missing() {
    let mut federation = offices(1163);
    federation.kill("tokyo");
    federation.scan(&["--sync-deadline", "1s", "--require-complete"]).expect(1);
    let Some(browser) = Browser::signed_in(&federation) else { return };
    browser.open("/scans");
    browser.see("h1", "Scans");
    browser.click("tbody th a");
    browser.wait("it failed", |browser| browser.has(".state.failed"));
    let told = browser.text("main");
    for words in ["It failed", "tokyo/kb", "launch the scan again"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    browser.shoot("scan-failed");
    browser.check();
    // There is no result of it, and its pages say so.
    let scan = browser.path();
    browser.open(&format!("{scan}/result"));
    browser.see("h1", "Not possible in the present state");
    let told = browser.text("main");
    assert!(told.contains("it failed") && told.contains("tokyo/kb"), "{told}");
    assert!(browser.has(&format!("main a[href='{scan}']")), "{told}");
    browser.shoot("no-result");
    browser.check_but(&["409"]);
    federation.scan(&["--sync-deadline", "5s"]).expect(3);
    browser.open("/scans");
    browser.click("tbody th a[href$='/result']");
    browser.wait("the result is stamped", |browser| browser.has(".stamp"));
    assert_eq!(browser.text(".stamp"), "PARTIAL");
    browser.see_in(".problem", "tokyo/kb");
    browser.shoot("result-partial");
    browser.check();
}
