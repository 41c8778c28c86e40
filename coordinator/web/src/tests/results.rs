//! The pages of a result, in the order in which a person visits them.

use cognate_fingerprint::View;
use cognate_proto::v1::ScanStatus;

use super::*;
use cognate_proto::options::ScanView;
use cognate_server::harness::indexes::{LIMITS, ended, fill, held, spec_of, wait};

pub(super) const SCAN: &str = "/scans/0000000000000001";
/// A name that would run as script if it were not escaped.
pub(super) const HOSTILE: &str = "<img src=x onerror=alert(1)>\u{202e}\n'\"&.txt";

/// A result of two sites: a cluster across them with a copy, and a pair; some names are hostile.
pub(super) async fn with_result(browser: &Browser) {
    let coordinator = &browser.harness.coordinator;
    let of_a = [
        held("drafts/one.txt", &[1, 2, 3, 4]),
        held(HOSTILE, &[1, 2, 3, 4]),
        held("letters/a.txt", &[20, 21, 22]),
        held("letters/b.txt", &[20, 21, 23]),
        held("own.txt", &[30]),
    ];
    fill(coordinator, "a", View::Raw, 1, &of_a);
    fill(coordinator, "b", View::Raw, 1, &[held("archive/three.txt", &[1, 2, 3, 7])]);
    coordinator.services().scans.launch_as(ScanId(1), spec_of(ScanView::Raw), "", "anna", &LIMITS).unwrap();
    let state = wait(coordinator, ScanId(1), ended).await;
    assert_eq!(state.status(), ScanStatus::Complete, "{}", state.failure);
}

/// The addresses of clusters on a page.
pub(super) fn clusters(body: &str) -> Vec<String> {
    let parts = body.split("<a href=\"").skip(1).filter_map(|part| part.split('"').next());
    parts.filter(|address| address.contains("/clusters/raw/")).map(|address| address.replace("&amp;", "&")).collect()
}

#[tokio::test]
async fn every_page_of_a_result_shows_what_it_is_for_and_lets_no_name_act() {
    let mut browser = Browser::start().await;
    with_result(&browser).await;
    browser.sign_in(&person("anna", Role::Analyst)).await;
    let list = browser.get(&format!("{SCAN}/clusters")).await;
    let cluster = clusters(&list.body).remove(0);
    let sets = browser.get(&format!("{SCAN}/identical")).await.body;
    let set = sets.split("<a href=\"").find(|part| part.starts_with(&format!("{SCAN}/identical/"))).unwrap();
    let set = set.split('"').next().unwrap().to_owned();
    for (path, expected) in [
        (format!("{SCAN}/result"), "class=\"s-identical\""),
        (format!("{SCAN}/result"), "Reported shares of two documents are within "),
        (format!("{SCAN}/result?log=1"), "Linear scale"),
        (format!("{SCAN}/clusters"), "<small>2</small></h1>"),
        (format!("{SCAN}/clusters"), "archive/three.txt"),
        (format!("{SCAN}/clusters?across=1&sort=-members"), "of this filter"),
        (format!("{SCAN}/clusters?path=nowhere"), "Show all"),
        (cluster.clone(), "<strong>A</strong> <bdi class=\"name\""),
        (cluster.clone(), "Your copy of B"),
        (format!("{SCAN}/identical"), "same bytes"),
        (set, "drafts/one.txt"),
        (format!("{SCAN}/folders"), "pairs"),
        (format!("{SCAN}/documents?status=unique"), "own.txt"),
        (format!("{SCAN}/documents?sort=size&path=*.txt"), "drafts/one.txt"),
        (format!("{SCAN}/verdicts"), "No verdict yet"),
        (format!("{SCAN}/plan"), "reference:a/"),
        (format!("{SCAN}/plan?keep=reference:b%0Anewest"), "that the rules do not decide"),
        (format!("{SCAN}/plan?keep=shortest-path"), "could go"),
        (format!("{SCAN}/plan/a/json?keep=newest&keep=oldest"), "\"schema\": \"cognate.plan/1\""),
        (SCAN.to_owned(), "/result\">Result</a>"),
    ] {
        let answer = browser.get(&path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
        assert!(answer.body.contains(expected), "{path} does not say {expected}: {}", answer.body);
        for act in ["<img src=x", " style=", "<style", "\u{202e}"] {
            assert!(!answer.body.contains(act), "{path} has {act}");
        }
    }
    assert!(list.body.contains("&lt;img src=x onerror=alert(1)&gt;"), "{}", list.body);
    for path in ["clusters/raw/00", "clusters/odd/x", "identical/00", "nothing"] {
        assert_eq!(browser.get(&format!("{SCAN}/{path}")).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    for query in ["clusters?least=x", "clusters?sort=odd", "clusters?site=c", "clusters?path=[", "documents?status=odd"]
    {
        let answer = browser.get(&format!("{SCAN}/{query}")).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{query}: {}", answer.body);
    }
    assert_eq!(browser.get("/scans/00000000000000ff/result").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_analyst_decides_goes_on_to_the_next_and_takes_back() {
    let mut browser = Browser::start().await;
    with_result(&browser).await;
    browser.sign_in(&person("anna", Role::Analyst)).await;
    let open = format!("{SCAN}/clusters?verdict=open");
    let list = browser.get(&open).await;
    let csrf = list.csrf();
    let found = clusters(&list.body);
    assert_eq!(found.len(), 2);
    // A cluster links to the next one of the list that it was reached from.
    let page = browser.get(&found[0]).await.body;
    assert!(
        page.contains(&format!("rel=\"next\" data-key=\"n\" href=\"{}\"", found[1].replace('&', "&#38;"))),
        "{page}"
    );
    let name = found[0].split("/clusters/").nth(1).unwrap().split('?').next().unwrap().to_owned();
    let decide = [("csrf", csrf.as_str()), ("cluster", &name), ("verdict", "duplicate"), ("note", "<b>same</b>")];
    let answer = browser.post(&format!("{SCAN}/verdicts"), &[&decide[..], &[("to", &found[1])]].concat()).await;
    assert_eq!((answer.status, answer.location()), (StatusCode::SEE_OTHER, found[1].as_str()), "{}", answer.body);
    assert!(browser.get(&found[1]).await.body.contains("Decided about 1: duplicate"));
    assert_eq!(clusters(&browser.get(&open).await.body), &found[1..]);
    let page = browser.get(&found[0]).await.body;
    assert!(page.contains("verdict duplicate") && page.contains("&lt;b&gt;same"), "{page}");
    // A script receives the number of the action, and continues by itself.
    let quiet = [&decide[..], &[("quiet", "1")]].concat();
    let answer = browser.post(&format!("{SCAN}/verdicts"), &quiet).await;
    assert!(answer.status == StatusCode::OK && answer.body.parse::<u64>().is_ok(), "{}", answer.body);
    // All clusters of a filter at once, if their number is still the one shown.
    let all = |expected| {
        vec![("csrf", csrf.as_str()), ("by_filter", "1"), ("filter", ""), ("expected", expected), ("verdict", "done")]
    };
    assert_eq!(browser.post(&format!("{SCAN}/verdicts"), &all("3")).await.status, StatusCode::CONFLICT);
    assert_eq!(browser.post(&format!("{SCAN}/verdicts"), &all("2")).await.status, StatusCode::SEE_OTHER);
    assert_eq!(clusters(&browser.get(&open).await.body).len(), 0);
    let undo = [("csrf", csrf.as_str()), ("to", open.as_str())];
    let answer = browser.post(&format!("{SCAN}/verdicts/undo"), &undo).await;
    assert_eq!((answer.status, answer.location()), (StatusCode::SEE_OTHER, open.as_str()));
    assert_eq!(clusters(&browser.get(&open).await.body), &found[1..]);
    // A document of a cluster, and an empty selection.
    let page = browser.get(&found[0]).await.body;
    let document = page.split("name=\"document\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let keep = [("csrf", csrf.as_str()), ("document", &document), ("verdict", "keep"), ("to", "https://elsewhere/")];
    let answer = browser.post(&format!("{SCAN}/verdicts"), &keep).await;
    assert_eq!(answer.location(), format!("{SCAN}/clusters"), "no form leads away");
    assert!(browser.get(&found[0]).await.body.contains("verdict keep"));
    browser.post(&format!("{SCAN}/verdicts"), &[("csrf", &csrf), ("verdict", "keep")]).await;
    let history = browser.get(&format!("{SCAN}/verdicts")).await.body;
    assert!(history.contains("Nothing was selected") && history.contains("taken back"), "{history}");
    let named = |event: &String| {
        event.starts_with("anna decided keep about a/main: ") && event.ends_with(" of scan 0000000000000001")
    };
    assert!(browser.audit().await.iter().any(named), "the audit log names the document: {:?}", browser.audit().await);
    for wrong in [("cluster", "raw"), ("document", "a/main"), ("document", "a/main/zz"), ("cluster", "raw/0123")] {
        let answer = browser.post(&format!("{SCAN}/verdicts"), &[("csrf", &csrf), ("verdict", "keep"), wrong]).await;
        assert!(answer.status.is_client_error(), "{wrong:?}: {}", answer.status);
    }
}

#[tokio::test]
async fn a_filter_is_saved_under_a_name_for_all_and_forgotten() {
    let mut browser = Browser::start().await;
    with_result(&browser).await;
    browser.sign_in(&person("anna", Role::Analyst)).await;
    let list = format!("{SCAN}/clusters?across=1&sort=-members");
    let csrf = browser.get(&list).await.csrf();
    let save = |name, query| vec![("csrf", csrf.as_str()), ("name", name), ("query", query), ("to", list.as_str())];
    let answer = browser.post(&format!("{SCAN}/filters"), &save("<b>mine</b>", "across=1&sort=-members")).await;
    assert_eq!(answer.location(), list);
    let page = browser.get(&format!("{SCAN}/clusters")).await.body;
    assert!(page.contains("&lt;b&gt;mine") && page.contains("?across=1&#38;sort=-members\""), "{page}");
    let long = "x".repeat(61);
    for (name, query) in [("", "across=1"), ("x", "least=odd"), (&long, "")] {
        let answer = browser.post(&format!("{SCAN}/filters"), &save(name, query)).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{name} {query}");
    }
    let removed = browser.post(&format!("{SCAN}/filters/remove"), &save("<b>mine</b>", "")).await;
    assert_eq!(removed.status, StatusCode::SEE_OTHER);
    assert!(!browser.get(&format!("{SCAN}/clusters")).await.body.contains("mine"));
    assert_eq!(browser.audit().await[0], "anna removed filter <b>mine</b>");
    browser.sign_in(&person("vera", Role::Viewer)).await;
    let csrf = browser.get(&list).await.csrf();
    let fields = [("csrf", csrf.as_str()), ("name", "x"), ("query", "")];
    assert_eq!(browser.post(&format!("{SCAN}/filters"), &fields).await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn who_only_looks_decides_nothing_and_who_is_bound_elsewhere_sees_nothing() {
    let mut browser = Browser::start().await;
    with_result(&browser).await;
    browser.sign_in(&person("vera", Role::Viewer)).await;
    let page = browser.get(&format!("{SCAN}/clusters")).await;
    assert!(page.status == StatusCode::OK && !page.body.contains("data-verdict="), "{}", page.body);
    let fields = [("csrf", page.csrf()), ("verdict", "done".to_owned()), ("by_filter", "1".to_owned())];
    let fields = fields.each_ref().map(|(name, value)| (*name, value.as_str()));
    assert_eq!(browser.post(&format!("{SCAN}/verdicts"), &fields).await.status, StatusCode::FORBIDDEN);
    let bound = Membership { party: "others".into(), ..person("otto", Role::Analyst) };
    browser.sign_in(&bound).await;
    for path in ["result", "clusters", "identical", "folders", "documents", "verdicts"] {
        let answer = browser.get(&format!("{SCAN}/{path}")).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}: {}", answer.body);
    }
}

#[tokio::test]
async fn a_review_shows_how_far_it_is_and_a_blind_sample_gives_the_precision_everywhere() {
    let mut browser = Browser::start().await;
    with_result(&browser).await;
    browser.sign_in(&person("anna", Role::Analyst)).await;
    let review = format!("{SCAN}/review");
    let page = browser.get(&review).await;
    let csrf = page.csrf();
    assert!(page.body.contains("0 of 2 clusters are decided, 2 are left"), "{}", page.body);
    let name = clusters(&browser.get(&format!("{SCAN}/clusters")).await.body).remove(0);
    let name = name.split("/clusters/").nth(1).unwrap().split('?').next().unwrap().to_owned();
    browser.post(&format!("{SCAN}/verdicts"), &[("csrf", &csrf), ("cluster", &name), ("verdict", "keep")]).await;
    let page = browser.get(&review).await.body;
    assert!(page.contains("1 of 2 clusters are decided, 1 are left") && page.contains(">anna</bdi>"), "{page}");
    // A filter is given to a person, who sees what is left of it.
    let saved = [("csrf", csrf.as_str()), ("name", "across"), ("query", "across=1")];
    browser.post(&format!("{SCAN}/filters"), &saved).await;
    let assigned = [("csrf", csrf.as_str()), ("name", "across"), ("assignee", "ben")];
    assert_eq!(browser.post(&format!("{SCAN}/filters/assign"), &assigned).await.location(), review);
    let page = browser.get(&review).await.body;
    assert!(page.contains("Assigned to ben.") && page.contains("value=\"ben\""), "{page}");
    // Two pairs are drawn, and looked at without figures and verdicts.
    let drawn = browser.post(&format!("{SCAN}/samples"), &[("csrf", &csrf), ("pairs", "2")]).await;
    let sample = drawn.location().to_owned();
    assert!(sample.starts_with(&format!("{SCAN}/samples/")), "{}", drawn.body);
    for (answered, answer) in ["match", "no-match"].into_iter().enumerate() {
        let page = browser.get(&sample).await.body;
        assert!(page.contains(&format!("{answered} of 2 pairs have an answer")), "{page}");
        for figure in ["verdict keep", "Of A in B", "alike"] {
            assert!(!page.contains(figure), "a blind page shows {figure}: {page}");
        }
        let pair = page.split("name=\"pair\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        browser.post(&sample, &[("csrf", &csrf), ("pair", &pair), ("verdict", answer)]).await;
    }
    assert!(browser.get(&sample).await.body.contains("All pairs have an answer"));
    // Clopper and Pearson, of 1 in 2.
    let said = "1 of 2 pairs are true matches, 50.0 %; with 95 % confidence it is between 1.2 % and 98.7 %";
    for path in [&review, &format!("{SCAN}/result"), &format!("{SCAN}/export/html"), &format!("{SCAN}/audit/html")] {
        let body = browser.get(path).await.body;
        assert!(body.contains(said), "{path}: {body}");
    }
    let json = browser.get(&format!("{SCAN}/export/json")).await.body;
    assert!(json.contains("\"precision\":5000") || json.contains("\"precision\":0.5"), "{json}");
    // What is no sample, and who may only look.
    for path in ["samples/99", "samples/x"] {
        assert_eq!(browser.get(&format!("{SCAN}/{path}")).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    for pairs in ["0", "1001", "x"] {
        let answer = browser.post(&format!("{SCAN}/samples"), &[("csrf", &csrf), ("pairs", pairs)]).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{pairs}");
    }
    browser.sign_in(&person("vera", Role::Viewer)).await;
    let csrf = browser.get(&review).await.csrf();
    let answer = browser.post(&format!("{SCAN}/samples"), &[("csrf", csrf.as_str()), ("pairs", "2")]).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_rule_shows_what_it_would_do_names_ties_decides_and_is_taken_back_as_one() {
    let mut browser = Browser::start().await;
    with_result(&browser).await;
    browser.sign_in(&person("anna", Role::Analyst)).await;
    let rule = format!("{SCAN}/review/rule");
    let csrf = browser.get(&format!("{SCAN}/review")).await.csrf();
    // A field that was left empty is not in the address.
    let empty = browser.get(&format!("{rule}?rule=prefer&place=&filter=across%3D1&verdict=")).await;
    assert_eq!(empty.status, StatusCode::SEE_OTHER, "{}", empty.body);
    // An error is told at the form, which keeps what was typed.
    let page = browser.get(&format!("{rule}?rule=prefer&filter=across%3D1")).await;
    assert!(page.status == StatusCode::OK && page.body.contains("name 1 to 32 places"), "{}", page.body);
    assert!(page.body.contains("value=\"across=1\"") && page.body.contains("aria-invalid"), "{}", page.body);
    // All documents have one time: the newest of them is not known.
    let page = browser.get(&format!("{rule}?rule=newest")).await.body;
    assert!(page.contains("0 of 2 clusters") && page.contains("2 ties"), "{page}");
    let page = browser.get(&format!("{rule}?rule=below&verdict=intentional&place=a%2Fmain%2Fletters")).await.body;
    assert!(page.contains("1 of 2 clusters") && page.contains("letters/a.txt"), "{page}");
    let preferred = format!("{rule}?rule=prefer&place=b%2Fmain");
    let page = browser.get(&preferred).await.body;
    assert!(page.contains("1 of 2 clusters") && page.contains("1 ties") && page.contains("3 documents"), "{page}");
    let form = |expected| [("csrf", csrf.as_str()), ("rule", "prefer"), ("place", "b/main"), ("expected", expected)];
    assert_eq!(browser.post(&rule, &form("2")).await.status, StatusCode::CONFLICT);
    assert_eq!(browser.post(&rule, &form("1")).await.status, StatusCode::SEE_OTHER);
    let page = browser.get(&format!("{SCAN}/clusters?verdict=done")).await.body;
    let cluster = clusters(&page).remove(0);
    let page = browser.get(&cluster).await.body;
    assert!(page.contains("verdict keep") && page.contains("verdict duplicate"), "{page}");
    browser.post(&format!("{SCAN}/verdicts/undo"), &[("csrf", &csrf)]).await;
    let page = browser.get(&cluster).await.body;
    assert!(!page.contains("verdict keep") && !page.contains("state verdict duplicate"), "{page}");
}
