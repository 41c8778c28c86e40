//! Sites are invited again and forgotten.

use super::*;

#[tokio::test]
async fn a_site_is_forgotten_by_who_types_its_name_and_may() {
    let mut browser = Browser::start().await;
    for name in ["paris", "tokyo"] {
        browser.harness.credential(&site(name));
    }
    browser.sign_in(&person("root", Role::Administrator)).await;
    let page = browser.get("/sites").await;
    let csrf = page.csrf();
    assert!(page.body.contains("Forget it…") && page.body.contains("Invite it again…"), "{}", page.body);
    for again in ["", "tokyo", "Paris"] {
        let answer = browser.post("/sites/forget", &[("name", "paris"), ("again", again), ("csrf", &csrf)]).await;
        assert!(answer.status == StatusCode::BAD_REQUEST && answer.body.contains("nothing was erased"), "{again}");
    }
    let answer = browser.post("/sites/forget", &[("name", "paris"), ("again", "paris"), ("csrf", &csrf)]).await;
    assert_eq!((answer.status, answer.location()), (StatusCode::SEE_OTHER, "/sites"), "{}", answer.body);
    let page = browser.get("/sites").await.body;
    assert!(page.contains("paris is forgotten") && !page.contains("id=\"paris\"") && page.contains("id=\"tokyo\""));
    assert!(browser.audit().await.contains(&"root forgot site paris".to_owned()));
    let unknown = browser.post("/sites/forget", &[("name", "rome"), ("again", "rome"), ("csrf", &csrf)]).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND, "{}", unknown.body);
    // Invited again, it has its earlier name and party.
    browser.post("/sites/invite", &[("name", "tokyo"), ("party", "home"), ("csrf", &csrf)]).await;
    assert!(browser.get("/sites").await.body.contains("echo cog1_"));
    browser.sign_in(&person("anna", Role::Analyst)).await;
    let csrf = browser.get("/").await.csrf();
    let answer = browser.post("/sites/forget", &[("name", "tokyo"), ("again", "tokyo"), ("csrf", &csrf)]).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
}
