//! What decisions are about, by name; and what became of documents, folder by folder.

use super::results::{SCAN, clusters, with_result};
use super::*;

#[tokio::test]
async fn decisions_name_what_they_are_about_and_are_filtered_and_taken_away_as_csv() {
    let mut browser = Browser::start().await;
    with_result(&browser).await;
    browser.sign_in(&person("anna", Role::Analyst)).await;
    let page = browser.get(&format!("{SCAN}/clusters?path=letters")).await;
    let csrf = page.csrf();
    let cluster = clusters(&page.body).remove(0);
    let name = cluster.split("/clusters/").nth(1).unwrap().split('?').next().unwrap();
    browser.post(&format!("{SCAN}/verdicts"), &[("csrf", &csrf), ("cluster", name), ("verdict", "keep")]).await;
    let page = browser.get(&cluster).await.body;
    let document = page.split("name=\"document\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    browser.post(&format!("{SCAN}/verdicts"), &[("csrf", &csrf), ("document", document), ("verdict", "done")]).await;
    let all = browser.get(&format!("{SCAN}/verdicts")).await.body;
    for named in ["letters/a.txt", "a</bdi>/<bdi class=\"name\">main", "and 1 more", "/clusters/raw/"] {
        assert!(all.contains(named), "{named}: {all}");
    }
    assert_eq!(all.matches("letters/").count(), 2, "the cluster and the document: {all}");
    let kept = browser.get(&format!("{SCAN}/verdicts?by=anna&verdict=keep&of=scan")).await.body;
    assert_eq!(kept.matches("letters/").count(), 1, "{kept}");
    assert!(browser.get(&format!("{SCAN}/verdicts?by=ben")).await.body.contains("No verdict yet"));
    let csv = browser.get(&format!("{SCAN}/verdicts/csv?verdict=keep")).await.body;
    let rows: Vec<&str> = csv.lines().collect();
    assert!(rows.len() == 2 && rows[0].starts_with("action,time,by,verdict,subjects,kind,place,path"), "{csv}");
    assert!(rows[1].contains(",anna,keep,1,cluster,a/main,letters/"), "{csv}");
    // So does the audit log, on its page and as CSV.
    browser.sign_in(&person("root", Role::Administrator)).await;
    let page = browser.get("/audit?by=anna").await.body;
    assert!(
        page.contains("letters/") && page.contains("and 1 more at a of scan") && page.contains("/audit/csv?by=anna"),
        "{page}"
    );
    let csv = browser.get("/audit/csv?by=anna").await.body;
    let kept = csv.lines().find(|line| line.contains(",decided,keep about a/main: letters/"));
    assert!(kept.is_some_and(|line| line.contains(",anna,")) && csv.starts_with("time,by,action,subject,"), "{csv}");
    assert_eq!(csv.lines().filter(|line| line.contains("root")).count(), 0, "{csv}");
}

#[tokio::test]
async fn a_result_begins_with_its_answer_and_opens_folder_by_folder() {
    let mut browser = Browser::start().await;
    with_result(&browser).await;
    browser.sign_in(&person("vera", Role::Viewer)).await;
    let page = browser.get(&format!("{SCAN}/result")).await.body;
    assert!(page.contains("<h1>Result of <bdi class=\"name\">a/main and b/main</bdi>"), "{page}");
    for sentence in [" of b (", ") is also at a.", "Of the 5 documents of a/main, 0 are the same at b/main"] {
        assert!(page.contains(sentence), "{sentence}: {page}");
    }
    let html = browser.get(&format!("{SCAN}/export/html")).await.body;
    assert!(html.contains("<p class=\"answer\">Of the 5 documents of a/main"), "{html}");
    let tree = format!("{SCAN}/tree/a/main");
    assert!(page.contains(&format!("href=\"{tree}\"")), "{page}");
    let page = browser.get(&tree).await.body;
    let letters = format!("{tree}?folder=6c6574746572732f");
    assert!(page.contains(&letters) && page.contains("own.txt"), "{page}");
    let row = page.split("letters/").nth(1).unwrap().split("</tr>").next().unwrap();
    let counts: Vec<&str> = row.split("class=\"num\">").skip(1).filter_map(|cell| cell.split('<').next()).collect();
    assert_eq!(counts, ["0", "0", "0", "0", "0", "2"], "only there: {page}");
    let page = browser.get(&letters).await.body;
    assert!(page.contains("a.txt") && page.contains("b.txt") && !page.contains("own.txt"), "{page}");
    let drafts = browser.get(&format!("{tree}?folder=6472616674732f")).await.body;
    assert!(drafts.contains("there at <bdi class=\"name\">archive/three.txt"), "{drafts}");
    for path in ["tree/a/none", "tree/c/main", "tree/a/main?folder=zz"] {
        assert_eq!(browser.get(&format!("{SCAN}/{path}")).await.status, StatusCode::NOT_FOUND, "{path}");
    }
}
