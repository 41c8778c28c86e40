//! Comparison of two documents.

use super::results::{HOSTILE, SCAN, with_result};
use super::*;

fn address(a: &str, b: &str) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).append_pair("a", a).append_pair("b", b).finish();
    format!("{SCAN}/explain?{query}")
}

#[tokio::test]
async fn two_documents_are_laid_side_by_side_and_no_name_of_theirs_acts() {
    let mut browser = Browser::start().await;
    with_result(&browser).await;
    browser.sign_in(&person("vera", Role::Viewer)).await;
    assert!(browser.get(&format!("{SCAN}/explain")).await.body.contains("Name two documents"));
    let hostile = format!("a/main/{HOSTILE}");
    for (a, b, expected) in [
        ("a/main/drafts/one.txt", "b/main/archive/three.txt", "class=\"band\""),
        ("a/main/drafts/one.txt", "b/main: archive/three.txt", "75.0 %"),
        // The repository is `main` if none is named, as on the command line.
        ("a/drafts/one.txt", "b: archive/three.txt", "75.0 %"),
        ("a/main/letters/a.txt", "a/main/own.txt", "not in the same cluster"),
        (&hostile, "a/main/drafts/one.txt", "They are identical"),
    ] {
        let answer = browser.get(&address(a, b)).await;
        assert_eq!(answer.status, StatusCode::OK, "{a} {b}: {}", answer.body);
        assert!(answer.body.contains(expected), "{a} {b} does not say {expected}: {}", answer.body);
        // A field contains the typed text, as it is.
        let shown: String = answer.body.lines().filter(|line| !line.contains("<input id=\"f-")).collect();
        for act in ["<img src=x", " style=", "\u{202e}"] {
            assert!(!shown.contains(act), "{a} {b} has {act}: {shown}");
        }
    }
    for (a, b) in [("a/main/none", "b/main/archive/three.txt"), ("a", "b"), ("a/main/drafts/one.txt", "-")] {
        let answer = browser.get(&address(a, b)).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{a} {b}: {}", answer.body);
    }
    // A cluster links here from its members.
    let list = browser.get(&format!("{SCAN}/clusters")).await.body;
    let cluster = super::results::clusters(&list).remove(0);
    assert!(browser.get(&cluster).await.body.contains("/explain?a="));
    browser.sign_in(&Membership { party: "others".into(), ..person("otto", Role::Analyst) }).await;
    let answer = browser.get(&address("a/main/drafts/one.txt", "b/main/archive/three.txt")).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND, "{}", answer.body);
}
