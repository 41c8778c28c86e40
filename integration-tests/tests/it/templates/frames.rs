//! Frames: what the pages of a site share down to a few bytes is found, named, suggested and left out, and no relation that has enough
//! outside of it is lost.

use cognate_integration_tests::dice::text;
use cognate_integration_tests::{Dice, Federation, Files, Sandbox};
use serde_json::{Value, json};

use super::{digest, mark, templates};

/// The frame of a site: a menu, and parts between which each page has its name.
struct Frame {
    menu: String,
    parts: Vec<String>,
}

impl Frame {
    fn new(dice: &mut Dice) -> Frame {
        Frame { menu: text(dice, 2500), parts: (0..14).map(|_| text(dice, 250)).collect() }
    }

    fn page(&self, name: &str, own: &str) -> Vec<u8> {
        let mut page = self.menu.clone();
        self.parts.iter().for_each(|part| page.push_str(&format!("{part}<a href=\"{name}\">{name}</a>\n")));
        page.push_str(own);
        page.into_bytes()
    }
}

const PAGES: usize = 14;
/// Pages whose text is at both sites.
const COMMON: usize = 5;

/// Pages of two sites, each with a frame of its own. Some have the same text, which is less than half of each page.
fn sites(dice: &mut Dice) -> [Files; 2] {
    let frames = [Frame::new(dice), Frame::new(dice)];
    let common: Vec<String> = (0..COMMON).map(|_| text(dice, 4000)).collect();
    frames.map(|frame| {
        let mut files = Files::new();
        for number in 0..PAGES {
            let own = common.get(number).cloned().unwrap_or_else(|| text(dice, 4000));
            files.insert(format!("page{number}.html"), frame.page(&format!("page{number}"), &own));
        }
        files
    })
}

fn federation(seed: u64) -> Federation {
    let mut federation = Federation::new(seed);
    let [a, b] = sites(&mut federation.dice);
    federation.add("a", &a);
    federation.add("b", &b);
    federation.sandbox.settle();
    federation.start_all();
    federation
}

fn clusters(report: &Value) -> &Vec<Value> {
    report["clusters"].as_array().unwrap()
}

/// Site and path of the members of a cluster.
fn names(cluster: &Value) -> Vec<(String, String)> {
    let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    let documents = cluster["documents"].as_array().unwrap().iter();
    documents.map(|row| (text(row, "site"), text(row, "path"))).collect()
}

fn suggestions(federation: &Federation) -> Vec<Value> {
    let words = ["template", "suggest", "latest", "--format", "json"];
    federation.operate(&words).expect(0).json().as_array().unwrap().clone()
}

/// Every cluster is one of the texts at both sites.
fn check_without_frames(report: &Value) {
    let found: Vec<_> = clusters(report).iter().map(names).collect();
    assert_eq!(found.len(), COMMON, "{found:?}");
    for cluster in clusters(report) {
        let names = names(cluster);
        assert!(names.len() == 2 && names[0].1 == names[1].1 && names[0].0 != names[1].0, "{names:?}");
        let link = &cluster["links"][0];
        assert!(link["a_in_b"].as_f64().unwrap() > 0.9 && link["shared_bytes"].as_u64().unwrap() > 3900, "{link}");
        assert_eq!((&cluster["rests_on_frame"], &link["outside_bytes"]), (&Value::Null, &Value::Null));
    }
    assert_eq!((&report["scan"]["fine"]["frame_clusters"], &report["scan"]["fine"]["frames"]), (&json!(0), &json!(0)));
}

#[test]
fn pages_that_only_a_frame_links_are_named_and_gone_once_it_is_marked_and_their_texts_are_found() {
    let federation = federation(911);
    let before = federation.check(federation.scan(&[]), &[]);
    let fine = &before["scan"]["fine"];
    assert_eq!((clusters(&before).len(), &fine["frame_clusters"]), (2, &json!(2)), "the pages of each site");
    for cluster in clusters(&before) {
        assert_eq!((names(cluster).len(), &cluster["rests_on_frame"]), (PAGES, &json!(true)));
        for link in cluster["links"].as_array().unwrap() {
            let (shared, outside) = (link["shared_bytes"].as_u64().unwrap(), link["outside_bytes"].as_u64().unwrap());
            assert!(shared > 5000 && outside < 300 && link["rests_on_frame"] == true, "{link}");
        }
    }
    let scan = before["scan"]["id"].as_str().unwrap();
    let report = |format: &str| federation.operate(&["report", scan, "--format", format]).expect(0).text().to_owned();
    assert!(report("text").contains("2 of 2 clusters rest on a frame"), "{}", report("text"));
    assert!(report("html").contains("rest on a frame") && report("csv").contains("rests_on_frame"));
    let suggested = suggestions(&federation);
    let of_frames: Vec<&Value> = suggested.iter().filter(|one| one["round"] == 0).collect();
    assert_eq!(of_frames.len(), 2, "a frame of each site");
    for frame in &of_frames {
        assert_eq!((&frame["documents"], &frame["clusters_gone"]), (&json!(PAGES), &json!(1)), "{frame}");
        let (bytes, all) = (frame["bytes"].as_u64().unwrap(), frame["document_bytes"].as_u64().unwrap());
        assert!(bytes > 5000 && bytes < 7500 && all > 14 * 5500 && all < 14 * 7000, "{bytes} and {all}");
        let example = frame["examples"][0].as_str().unwrap();
        assert!(example.contains("/kb/page") && !frame["rows"].as_array().unwrap().is_empty(), "{example}");
    }
    assert!(templates(&federation).is_empty(), "nothing is marked silently");

    federation.operate(&["template", "suggest", "latest", "--accept", "--yes"]).expect(0);
    let after = federation.scan(&[]).report();
    check_without_frames(&after);
    assert_eq!(after["scan"]["templates_digest"].as_str().unwrap().len(), 64);
    assert!(after["scan"]["fine"]["template_rows"].as_u64().unwrap() > 500);
    let [a, b] = [0, 1].map(|side| after["sites"][side]["bytes"].as_f64().unwrap());
    let overlap = &after["overlap"][0];
    // The texts at both sites, and of the frames of the sites nothing.
    let shared = ["a", "b"].map(|side| overlap[format!("shared_bytes_{side}")].as_f64().unwrap());
    assert!(shared[0] < 0.16 * a && shared[1] < 0.16 * b, "{overlap}");
    assert!(suggestions(&federation).is_empty(), "nothing rests on a frame any more");
    // A scan of the same documents gives the same, whatever the first one left.
    assert_eq!(digest(&federation.scan(&[]).report()), digest(&after));

    for template in templates(&federation) {
        federation.operate(&["template", "unmark", template["id"].as_str().unwrap()]).expect(0);
    }
    assert_eq!(digest(&federation.scan(&[]).report()), digest(&before));
}

#[test]
fn the_frame_of_a_cluster_is_marked_by_the_name_of_the_cluster() {
    let federation = federation(912);
    let before = federation.scan(&[]).report();
    for cluster in clusters(&before) {
        let id = cluster["id"].as_str().unwrap();
        let scan = before["scan"]["id"].as_str().unwrap();
        let marked = mark(&federation, &[scan, &id[..12], "--frame", "--note", "the menu of one site"]);
        assert_eq!((&marked["cluster"], &marked["note"]), (&json!(id), &json!("the menu of one site")));
        assert_eq!(marked, mark(&federation, &["latest", id, "--frame"]), "marked twice, it is one");
    }
    assert_eq!(templates(&federation).len(), 2);
    let after = federation.scan(&[]).report();
    check_without_frames(&after);
    let id = clusters(&after)[0]["id"].as_str().unwrap();
    federation.operate(&["template", "mark", "latest", id, "--frame"]).refusal(1);
    federation.operate(&["template", "mark", "latest", id, "--frame", "--share", "0.5"]).expect(2);
}

#[test]
fn versions_and_near_duplicates_rest_on_no_frame_however_many_they_are() {
    let sandbox = Sandbox::new();
    let mut dice = Dice::new(913);
    let original = text(&mut dice, 9000);
    let mut files = Files::new();
    for version in 0..30 {
        // Each has nine tenths of the first one, and a part that no other has.
        let own = text(&mut dice, 900);
        files.insert(format!("version{version}.txt"), format!("{original}{own}").into_bytes());
    }
    let tree = sandbox.tree("a", &files);
    let report = sandbox.report(&[("a", tree.as_path())], &[]);
    assert_eq!((clusters(&report).len(), names(&clusters(&report)[0]).len()), (1, 30));
    assert_eq!((&clusters(&report)[0]["rests_on_frame"], &report["scan"]["fine"]["frames"]), (&Value::Null, &json!(0)));
}

#[test]
fn greedy_clusters_leave_out_documents_that_only_a_frame_links() {
    let sandbox = Sandbox::new();
    let mut dice = Dice::new(909);
    let head = text(&mut dice, 4000);
    let mut files = [Files::new(), Files::new()];
    for kind in 0..16 {
        let letter = format!("{head}{}", text(&mut dice, 3000 + 97 * kind));
        // A quarter of the letters have a longer version at the other site.
        if kind < 4 {
            let longer = format!("{letter}{}", text(&mut dice, 600));
            files[1 - kind % 2].insert(format!("{kind} longer"), longer.into_bytes());
        }
        files[kind % 2].insert(format!("{kind}"), letter.into_bytes());
    }
    let [a, b] = [("a", &files[0]), ("b", &files[1])].map(|(name, files)| sandbox.tree(name, files));
    let report = sandbox.report(&[("a", &a), ("b", &b)], &["--cluster", "greedy"]);
    let clusters = report["clusters"].as_array().unwrap();
    assert!(clusters.iter().any(|cluster| cluster["rests_on_frame"] == json!(true)), "{clusters:#?}");
    let clustered: usize = clusters.iter().map(|cluster| cluster["documents"].as_array().unwrap().len()).sum();
    assert!(clustered < 20, "some document is in no cluster, and has a link all the same");
}
