//! Forms that cannot be used come back as they were filled in, with the reason at the field that it is about.

use super::results::{SCAN, with_result};
use super::*;

/// Checks that a page has a message at a field, and still what was typed.
fn check(answer: &Answer, status: StatusCode, field: &str, typed: &str, message: &str) {
    assert_eq!(answer.status, status, "{}", answer.body);
    let body = &answer.body;
    let invalid = body.split("aria-invalid=\"true\"").count() - 1;
    assert_eq!(invalid, 1, "one field is wrong: {body}");
    assert!(body.contains(&format!("aria-describedby=\"{field}-problem\"")), "{body}");
    let (_, note) = body.split_once(&format!("id=\"{field}-problem\" role=\"alert\">")).expect("a message");
    let note = note.split_once("</p>").unwrap().0;
    assert!(note.contains(message), "{note}");
    assert!(body.contains(typed), "`{typed}` was typed: {body}");
}

#[tokio::test]
async fn forms_of_a_result_keep_what_was_typed_and_say_what_is_wrong_with_which_field() {
    let mut browser = Browser::start().await;
    with_result(&browser).await;
    browser.sign_in(&person("anna", Role::Analyst)).await;
    let bad = StatusCode::BAD_REQUEST;
    // Filters.
    let answer = browser.get(&format!("{SCAN}/clusters?size=4+miles&path=letters")).await;
    check(&answer, bad, "size", "value=\"4 miles\"", "a size such as");
    assert!(answer.body.contains("value=\"letters\"") && answer.body.contains("<details open>"), "{}", answer.body);
    let answer = browser.get(&format!("{SCAN}/clusters?relation=cousin")).await;
    check(&answer, bad, "relation", "<option>pair</option>", "one of pair");
    // A name of a filter.
    let csrf = answer.csrf();
    let long = "x".repeat(200);
    let fields = [("csrf", csrf.as_str()), ("to", ""), ("query", "path=letters"), ("name", &long)];
    let answer = browser.post(&format!("{SCAN}/filters"), &fields).await;
    check(&answer, bad, "name", &long, "");
    assert!(answer.body.contains("value=\"letters\""), "the filter is still in force");
    // Samples.
    let fields = [("csrf", csrf.as_str()), ("pairs", "some"), ("filter", "least=80")];
    let answer = browser.post(&format!("{SCAN}/samples"), &fields).await;
    check(&answer, bad, "pairs", "value=\"some\"", "not a number");
    let fields = [("csrf", csrf.as_str()), ("pairs", "2"), ("filter", "least=much")];
    let answer = browser.post(&format!("{SCAN}/samples"), &fields).await;
    check(&answer, bad, "filter", "value=\"least=much\"", "from 0 to 100");
    // Two documents.
    let answer = browser.get(&format!("{SCAN}/explain?a=a/kb/nowhere&b=a/kb/own.txt")).await;
    check(&answer, StatusCode::NOT_FOUND, "a", "value=\"a/kb/nowhere\"", "has no document");
    assert!(answer.body.contains("value=\"a/kb/own.txt\""), "{}", answer.body);
    // A plan.
    let answer = browser.get(&format!("{SCAN}/plan?keep=newest&copies=0")).await;
    check(&answer, bad, "copies", "value=\"0\"", "at least one copy");
    let answer = browser.get(&format!("{SCAN}/plan?keep=prettiest&copies=2")).await;
    check(&answer, bad, "keep", ">prettiest</textarea>", "");
    // Templates.
    let fields = [("csrf", csrf.as_str()), ("cluster", "ffffffff"), ("share", "0.7"), ("note", "a letterhead")];
    let answer = browser.post("/templates/mark", &fields).await;
    assert!(answer.status.is_client_error(), "{}", answer.status);
    check(&answer, answer.status, "cluster", "value=\"ffffffff\"", "");
    assert!(answer.body.contains("value=\"a letterhead\""), "{}", answer.body);
    let scan = SCAN.trim_start_matches("/scans/");
    let fields = [("csrf", csrf.as_str()), ("scan", scan), ("min_documents", "few"), ("until_quiet", "1")];
    let answer = browser.post("/templates/suggest", &fields).await;
    check(&answer, bad, "min_documents", "value=\"few\"", "not a number");
    assert!(answer.body.contains("name=\"until_quiet\" checked"), "{}", answer.body);
}

#[tokio::test]
async fn a_site_whose_name_is_typed_wrong_is_not_forgotten_and_its_form_stays_open() {
    let mut browser = Browser::start().await;
    with_result(&browser).await;
    browser.sign_in(&person("root", Role::Administrator)).await;
    browser.harness.credential(&site("a"));
    browser.harness.credential(&site("b"));
    let csrf = browser.get("/sites").await.csrf();
    let answer = browser.post("/sites/forget", &[("csrf", &csrf), ("name", "a"), ("again", "aa")]).await;
    check(&answer, StatusCode::BAD_REQUEST, "again", "value=\"aa\"", "nothing was erased");
    let open = answer.body.split("<details class=\"confirm\" open>").count() - 1;
    assert_eq!(open, 1, "the form of that site alone: {}", answer.body);
}
