//! Finds, watches and cases.

use super::*;

/// A document that no site has, as `cognate fingerprint` writes it.
const LINE: &str = r#"{"path":"<b>x</b>.txt","size_bytes":5,"method":"tttd","view":"raw","chunk_bytes":1000,"method_id":"000102030405060708090a0b0c0d0e0f","content":"ffffffffffffffffffffffffffffffff","chunks":[[0,5,"00000000000000000000000000000001"]]}"#;

#[tokio::test]
async fn a_find_takes_fingerprints_and_shows_names_safely() {
    let mut browser = Browser::start().await;
    browser.sign_in(&person("anna", Role::Analyst)).await;
    let csrf = browser.get("/find").await.csrf();
    let answer = browser.post("/find", &[("fingerprints", LINE), ("csrf", &csrf)]).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert!(answer.body.contains("Nothing was found") && !answer.body.contains("<b>x"), "{}", answer.body);
    assert!(answer.body.contains("chunks of the bytes, mean 1,000"), "{}", answer.body);
    for (fingerprints, says) in
        [("x", "line 1"), (&*LINE.replace("\"size_bytes\":5", "\"size_bytes\":6"), "size_bytes"), ("", "fingerprints")]
    {
        let answer = browser.post("/find", &[("fingerprints", fingerprints), ("csrf", &csrf)]).await;
        assert!(answer.status == StatusCode::BAD_REQUEST && answer.body.contains(says), "{}", answer.body);
    }
    let answer = browser.post("/find", &[("fingerprints", LINE), ("sites", "nowhere"), ("csrf", &csrf)]).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{}", answer.body);
    let mut viewer = Browser::start().await;
    viewer.sign_in(&person("vera", Role::Viewer)).await;
    assert_eq!(viewer.get("/find").await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_find_by_hashes_takes_a_list_and_says_whose_site_could_not_be_asked() {
    let list = format!("{}  <b>x</b>\n", "ab".repeat(16));
    let mut browser = Browser::start().await;
    browser.sign_in(&person("anna", Role::Analyst)).await;
    let csrf = browser.get("/find/hashes").await.csrf();
    let answer = browser.post("/find/hashes", &[("list", &*list), ("csrf", &csrf)]).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert!(answer.body.contains("0 of 1 hashes") && !answer.body.contains("<b>x"), "{}", answer.body);
    for (list, says) in [("hello", "line 1"), ("", "list")] {
        let answer = browser.post("/find/hashes", &[("list", list), ("csrf", &csrf)]).await;
        assert!(answer.status == StatusCode::BAD_REQUEST && answer.body.contains(says), "{}", answer.body);
    }
    let answer = browser.post("/find/hashes", &[("list", &*list), ("sites", "nowhere"), ("csrf", &csrf)]).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{}", answer.body);
    let mut viewer = Browser::start().await;
    viewer.sign_in(&person("vera", Role::Viewer)).await;
    assert_eq!(viewer.get("/find/hashes").await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_query_is_saved_as_a_watch_shown_with_its_matches_and_removed() {
    let mut browser = Browser::start().await;
    browser.sign_in(&person("anna", Role::Analyst)).await;
    assert!(browser.get("/watches").await.body.contains("There is no watch"));
    let csrf = browser.get("/find").await.csrf();
    let add = |name, note, webhook| {
        vec![("fingerprints", LINE), ("name", name), ("note", note), ("webhook", webhook), ("csrf", csrf.as_str())]
    };
    let answer = browser.post("/watches/add", &add("leak", "<i>legal</i>", "")).await;
    assert_eq!((answer.status, answer.location()), (StatusCode::SEE_OTHER, "/watches"), "{}", answer.body);
    let page = browser.get("/watches").await.body;
    assert!(page.contains("0 documents match now") && page.contains("href=\"/watches/leak\""), "{page}");
    assert!(page.contains("&lt;i&gt;legal") && page.contains("&lt;b&gt;x") && !page.contains("<b>x"), "{page}");
    let page = browser.get("/watches/leak").await.body;
    assert!(page.contains("Nothing was found") && page.contains("everywhere"), "{page}");
    assert_eq!(browser.get("/watches/other").await.status, StatusCode::NOT_FOUND);
    for (name, webhook) in [("", ""), ("a/b", ""), ("odd", "ftp://x")] {
        let answer = browser.post("/watches/add", &add(name, "", webhook)).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{name} {webhook}: {}", answer.body);
    }
    assert_eq!(browser.audit().await[0], "anna set up watch leak");
    browser.post("/watches/remove", &[("name", "leak"), ("csrf", &csrf)]).await;
    assert!(browser.get("/watches").await.body.contains("is removed"));
    let again = browser.post("/watches/remove", &[("name", "leak"), ("csrf", &csrf)]).await;
    assert_eq!(again.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_case_is_opened_asked_again_and_exported_with_every_answer() {
    let mut browser = Browser::start().await;
    browser.sign_in(&person("anna", Role::Analyst)).await;
    let csrf = browser.get("/find").await.csrf();
    let fields = [("fingerprints", LINE), ("name", "leak-7"), ("note", "asked by <legal>"), ("csrf", csrf.as_str())];
    let answer = browser.post("/cases/open", &fields).await;
    assert_eq!((answer.status, answer.location()), (StatusCode::SEE_OTHER, "/cases/leak-7"), "{}", answer.body);
    let page = browser.get("/cases/leak-7").await.body;
    for expected in ["The case is open", "asked by &lt;legal&gt;", "Answer number 1", "Nothing was found"] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    let answer = browser.post("/cases/leak-7/check", &[("csrf", &csrf)]).await;
    assert_eq!(answer.location(), "/cases/leak-7", "{}", answer.body);
    assert!(browser.get("/cases/leak-7").await.body.contains("Answer number 2"));
    assert!(browser.get("/cases/leak-7?check=1").await.body.contains("Answer number 1"));
    for path in ["/cases/leak-7?check=0", "/cases/leak-7?check=3", "/cases/none", "/cases/none/export"] {
        assert_eq!(browser.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    assert!(browser.get("/cases").await.body.contains("href=\"/cases/leak-7\""));
    let export = browser.get("/cases/leak-7/export").await;
    assert_eq!(export.header(header::CONTENT_DISPOSITION), "attachment; filename=\"cognate-case-leak-7.json\"");
    let record: serde_json::Value = serde_json::from_str(&export.body).unwrap();
    assert_eq!((&record["schema"], record["checks"].as_array().unwrap().len()), (&"cognate.case/1".into(), 2));
    // A person bound to a party does not see it, and cannot open one with the same name.
    browser.sign_in(&Membership { party: "others".into(), ..person("otto", Role::Analyst) }).await;
    let csrf = browser.get("/find").await.csrf();
    assert!(browser.get("/cases").await.body.contains("No case is open"));
    assert_eq!(browser.get("/cases/leak-7").await.status, StatusCode::NOT_FOUND);
    assert_eq!(browser.post("/cases/leak-7/check", &[("csrf", &csrf)]).await.status, StatusCode::NOT_FOUND);
    browser.sign_in(&person("vera", Role::Viewer)).await;
    for path in ["/cases", "/cases/leak-7", "/watches", "/watches/leak"] {
        assert_eq!(browser.get(path).await.status, StatusCode::FORBIDDEN, "{path}");
    }
}
