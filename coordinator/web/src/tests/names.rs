//! The names of scans.

use super::results::{SCAN, with_result};
use super::*;

#[tokio::test]
async fn a_scan_is_named_on_its_page_found_by_its_name_and_keeps_it() {
    let mut browser = Browser::start().await;
    with_result(&browser).await;
    browser.sign_in(&person("anna", Role::Analyst)).await;
    let csrf = browser.get(SCAN).await.csrf();
    let rename = format!("{SCAN}/rename");
    let answer = browser.post(&rename, &[("name", "  <b>after</b> the move "), ("csrf", &csrf)]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
    for path in [SCAN, &format!("{SCAN}/result"), "/scans", "/scans?search=THE+MOVE", "/scans?search=a%2Fmain"] {
        let body = browser.get(path).await.body;
        assert!(body.contains("&lt;b&gt;after") || body.contains("&#60;b&#62;after"), "{path}: {body}");
        assert!(!body.contains("<b>after"), "{path}");
    }
    let other = browser.get("/scans?search=merger").await.body;
    assert!(other.contains("No scan has") && !other.contains(SCAN), "{other}");
    // What is wrong stands at the field, which keeps what was typed; the scan keeps its name.
    let long = "x".repeat(101);
    for name in ["two\nlines", "0000000000000001", "latest", &long] {
        let answer = browser.post(&rename, &[("name", name), ("csrf", &csrf)]).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{name}: {}", answer.body);
        assert!(answer.body.contains("aria-describedby=\"name-problem\"") && answer.body.contains(name), "{name}");
    }
    assert!(browser.get("/scans").await.body.contains("the move"));
    let answer = browser.post(&rename, &[("name", ""), ("csrf", &csrf)]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert!(!browser.get("/scans").await.body.contains("the move"));
    let audit = browser.audit().await;
    let named = audit.iter().filter(|line| *line == "anna named scan 0000000000000001").count();
    assert_eq!(named, 2, "{audit:?}");
    let mut viewer = Browser::start().await;
    with_result(&viewer).await;
    viewer.sign_in(&person("vera", Role::Viewer)).await;
    let csrf = viewer.get(SCAN).await.csrf();
    assert_eq!(viewer.post(&rename, &[("name", "mine"), ("csrf", &csrf)]).await.status, StatusCode::FORBIDDEN);
}
