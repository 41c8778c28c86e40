//! Files that are dropped on the page of finds, as its script sends them.

use cognate_fingerprint::{Key, Method, View};
use cognate_server::harness::indexes::{fill, held};

use super::*;

/// A line about a document under a method, as the module in the browser writes it.
fn line(path: &str, method: &Method, content: &str) -> String {
    let (view, id) = (method.view(), method.id(&Key::none()));
    format!(
        "{{\"path\":\"{path}\",\"size_bytes\":5,\"method\":\"tttd\",\"view\":\"{view}\",\"chunk_bytes\":{},\"method_id\":\"{id}\",\
         \"content\":\"{content}\",\"chunks\":[[0,5,\"{content}\"]]}}",
        method.chunk_bytes()
    )
}

#[tokio::test]
async fn bytes_and_text_of_files_are_one_table_and_all_that_was_not_found_is_told() {
    let mut browser = Browser::start().await;
    browser.sign_in(&person("anna", Role::Analyst)).await;
    let [raw, text] = [Method::tttd(View::Raw, 1000).unwrap(), Method::tttd(View::Text, 200).unwrap()];
    let none = "f".repeat(32);
    let lines = [line("a <b>.docx", &raw, &none), line("a <b>.docx", &text, &none)].join("\n");
    let unread = "{\"path\":\"old <i>.7z\",\"unread\":\"its text: a format that is not supported\"}";
    let csrf = browser.get("/find").await.csrf();
    let sent = [("fingerprints", lines.as_str()), ("unread", unread), ("dropped", "1"), ("csrf", &csrf)];
    let answer = browser.post("/find", &sent).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let (_, found) = answer.body.split_once("id=\"answer\"").unwrap();
    for told in
        ["Nothing was found", "a format that is not supported", "chunks of the bytes", "chunks of the text, mean 200"]
    {
        assert!(found.contains(told), "{told}: {found}");
    }
    assert!(!found.contains("<b>.docx") && !found.contains("<i>.7z"), "{found}");
    // A watch is about one of them, which is told at the field, and everything else is kept.
    let mut keeping = sent.to_vec();
    keeping.extend([("name", "leak"), ("note", "asked by legal")]);
    let answer = browser.post("/watches/add", &keeping).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.body);
    for kept in ["by-problem", "asked by legal", "value=\"leak\"", "a watch or a case is about"] {
        assert!(answer.body.contains(kept), "{kept}: {}", answer.body);
    }
    keeping.push(("by", "text"));
    let answer = browser.post("/watches/add", &keeping).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.body);
    // Files of which nothing could be fingerprinted are an answer as well.
    let sent = [("unread", unread), ("dropped", "1"), ("csrf", csrf.as_str())];
    let answer = browser.post("/find", &sent).await;
    assert!(
        answer.status == StatusCode::OK && answer.body.contains("a format that is not supported"),
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn the_page_offers_what_a_browser_can_do_without_a_key() {
    let mut browser = Browser::start().await;
    browser.sign_in(&person("anna", Role::Analyst)).await;
    let page = browser.get("/find").await.body;
    assert!(page.contains("There is nothing to search yet") && !page.contains("data-find"), "{page}");
    fill(&browser.harness.coordinator, "a", View::Raw, 1, &[held("one.txt", &[1, 2])]);
    let page = browser.get("/find").await.body;
    // The harness fingerprints without a key.
    assert!(page.contains("data-find") && page.contains("the bytes of each file"), "{page}");
}

#[tokio::test]
async fn the_module_is_served_and_one_script_alone_may_run_it() {
    let mut browser = Browser::start().await;
    let policy = |answer: &Answer| answer.header(header::CONTENT_SECURITY_POLICY).to_owned();
    let script = browser.get("/static/fingerprint.js").await;
    assert!(policy(&script).contains("'wasm-unsafe-eval'") && policy(&script).starts_with("default-src 'none'"));
    for path in ["/static/script.js", "/static/find.js", "/sign-in"] {
        assert!(!policy(&browser.get(path).await).contains("wasm"), "{path}");
    }
    let request = Request::builder().uri("/static/fingerprint.wasm").body(Body::empty()).unwrap();
    let answer = browser.router.call(request).await.unwrap();
    assert_eq!(answer.headers()[header::CONTENT_TYPE], "application/wasm");
    let bytes = to_bytes(answer.into_body(), 8 << 20).await.unwrap();
    assert!(bytes.starts_with(b"\0asm\x01\0\0\0") && bytes.len() > 1 << 20, "{}", bytes.len());
}
