//! Verdicts in a federation: decided by command, shown in reports, not part of the digest of a report, and still in force after
//! a crash and in the next scan.

use cognate_integration_tests::{Federation, Files};
use serde_json::Value;

fn federation(own_seed: u64) -> Federation {
    let mut federation = Federation::new(own_seed);
    let texts: Vec<Vec<u8>> = (0..3).map(|_| federation.dice.bytes(60_000)).collect();
    let mut a = Files::new();
    let mut b = Files::new();
    for (number, text) in texts.iter().enumerate() {
        let edit = federation.dice.bytes(3000);
        a.insert(format!("plans/{number}.txt"), text.clone());
        b.insert(format!("copies/{number}.txt"), [&text[..], &edit].concat());
    }
    a.insert("same.bin".to_owned(), texts[0][..5000].to_vec());
    b.insert("same.bin".to_owned(), texts[0][..5000].to_vec());
    federation.add("a", &a);
    federation.add("b", &b);
    federation.sandbox.settle();
    federation.start_all();
    federation
}

/// The verdicts for the latest scan: subject, decision, and the reason why one is not in force.
fn verdicts(federation: &Federation) -> Vec<Value> {
    let list = federation.operate(&["verdict", "list", "latest", "--format", "json"]).expect(0).json();
    list.as_array().unwrap().clone()
}

fn report(federation: &Federation) -> Value {
    federation.operate(&["report", "latest", "--format", "json"]).expect(0).json()
}

/// The ids of the clusters.
fn clusters(report: &Value) -> Vec<String> {
    report["clusters"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_verdict_is_in_reports_survives_a_crash_and_later_scans_and_can_be_undone() {
    let mut federation = federation(951);
    let before = federation.scan(&[]).report();
    let ids = clusters(&before);
    assert_eq!(ids.len(), 3, "{before}");
    let set = before["identical"][0]["id"].as_str().unwrap().to_owned();
    let set_words = ["verdict", "set", "latest", "duplicate", &ids[0][..12], "--set", &set, "--note", "old"];
    federation.operate(&set_words).expect(0);
    let of_document = ["verdict", "set", "latest", "keep", "--document", "a/kb:plans/1.txt"];
    federation.operate(&of_document).expect(0);
    federation.operate(&["verdict", "set", "latest", "done", "--filter", "verdict=open", "--expected", "2"]).expect(0);
    assert_eq!(verdicts(&federation).len(), 5);
    // Nothing is decided about other than was seen.
    let refused = federation.operate(&["verdict", "set", "latest", "done", "--all", "--expected", "2"]).refusal(1);
    assert!(refused.contains("3 clusters"), "{refused}");
    federation.operate(&["verdict", "set", "latest", "done"]).refusal(2);
    federation.operate(&["verdict", "set", "latest", "done", "ffffffffffff"]).refusal(1);
    // The report shows it, and its digest is unchanged.
    let shown = report(&federation);
    assert_eq!(shown["scan"]["digest"], before["scan"]["digest"]);
    let of =
        |id: &str| shown["clusters"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap()["verdict"].clone();
    assert_eq!((of(&ids[0])["verdict"].as_str(), of(&ids[0])["note"].as_str()), (Some("duplicate"), Some("old")));
    assert_eq!(of(&ids[1])["verdict"], "done");
    assert_eq!(shown["identical"][0]["verdict"]["verdict"], "duplicate");
    let file = federation.sandbox.path("report.json");
    std::fs::write(&file, shown.to_string()).unwrap();
    federation.sandbox.cognate(["report", "verify", file.to_str().unwrap()]).expect(0);
    let csv = federation.operate(&["report", "latest", "--format", "csv"]).expect(0);
    assert!(csv.text().lines().next().unwrap().contains(",verdict,verdict_changed,joined_bytes"), "{}", csv.text());
    // The coordinator is killed; the next scan finds one document changed, which was decided about.
    federation.kill_coordinator();
    federation.start_coordinator();
    federation.wait_attached("a");
    federation.wait_attached("b");
    let path = federation.site("a").folder().join("plans/1.txt");
    let mut text = std::fs::read(&path).unwrap();
    text.truncate(50_000);
    std::fs::write(&path, text).unwrap();
    federation.sandbox.settle();
    federation.scan(&[]).expect(0);
    let all = verdicts(&federation);
    let changed: Vec<&str> = all.iter().filter_map(|row| row["changed"].as_str()).collect();
    assert_eq!(changed, ["1 member gone, 1 member added"], "{all:?}");
    assert_eq!(
        report(&federation)["clusters"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| row["verdict"]["changed"].is_string())
            .count(),
        1
    );
    // The last one is taken back, as one.
    let undone = federation.operate(&["verdict", "undo"]).expect(0);
    assert!(undone.text().contains("2 taken back"), "{}", undone.text());
    let history = federation.operate(&["verdict", "list", "--history", "--format", "json"]).expect(0).json();
    let events: Vec<(&str, bool)> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["verdict"].as_str().unwrap(), row["undone"].is_string()))
        .collect();
    assert_eq!(events, [("done", true), ("keep", false), ("duplicate", false)]);
}

/// A report of some clusters, as JSON and as what it lists elsewhere.
fn limited(federation: &Federation, flags: &[&str]) -> Value {
    let all = [&["report", "latest", "--format", "json"], flags].concat();
    federation.operate(&all).expect(0).json()
}

#[test]
fn labels_choose_what_is_reported_and_survive_a_crash_and_later_scans() {
    let mut federation = federation(957);
    let before = federation.scan(&[]).report();
    let ids = clusters(&before);
    let label = |words: &[&str]| federation.operate(&[&["verdict", "label", "latest"], words].concat());
    label(&[&ids[0][..12], &ids[1][..12], "--tag", "to show", "--tag", "legal hold"]).expect(0);
    label(&[&ids[1][..12], "--untag", "to show", "--assign", "Ben Ito"]).expect(0);
    let by_filter =
        label(&["--filter", "tag=legal hold&assignee=none", "--assign", "anna", "--expected", "1"]).expect(0);
    assert!(by_filter.text().contains("1 labelled"), "{}", by_filter.text());
    label(&[&ids[0][..12]]).refusal(2);
    label(&[&ids[0][..12], "--tag", "a,b"]).refusal(2);
    // A label is no verdict: every cluster is still open.
    let open = federation.operate(&["verdict", "set", "latest", "done", "--filter", "verdict=open", "--expected", "3"]);
    open.expect(0);
    federation.operate(&["verdict", "undo"]).expect(0);
    let check = |federation: &Federation| {
        let shown = report(federation);
        let of = |id: &str| shown["clusters"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap().clone();
        assert_eq!(
            (of(&ids[0])["assignee"].as_str(), of(&ids[0])["tags"][1].as_str()),
            (Some("anna"), Some("to show"))
        );
        assert_eq!((of(&ids[1])["assignee"].as_str(), of(&ids[1])["tags"][1].as_str()), (Some("Ben Ito"), None));
        assert!(of(&ids[2]).get("tags").is_none() && of(&ids[2]).get("verdict").is_none());
        let mut states = verdicts(federation);
        states.retain(|state| state["kind"] == "cluster");
        assert_eq!(states.len(), 2, "{states:?}");
        assert!(states.iter().all(|state| state["verdict"].is_null()), "{states:?}");
        for (flags, expected) in [
            (&["--tag", "legal hold"][..], &ids[..2]),
            (&["--tag", "legal hold", "--tag", "to show"], &ids[..1]),
            (&["--assignee", "Ben Ito"], &ids[1..2]),
            (&["--verdict", "open", "--assignee", "anna"], &ids[..1]),
            (&["--tag", "no such"], &[]),
        ] {
            let part = limited(federation, flags);
            assert_eq!(clusters(&part), expected, "{flags:?}");
            assert!(part["scan"]["chosen"].is_string() && part["folders"].as_array().unwrap().is_empty(), "{part}");
        }
        shown
    };
    let shown = check(&federation);
    assert_eq!(shown["scan"]["digest"], before["scan"]["digest"]);
    let file = federation.sandbox.path("report.json");
    std::fs::write(&file, shown.to_string()).unwrap();
    federation.sandbox.cognate(["report", "verify", file.to_str().unwrap()]).expect(0);
    // By verdict there are identical sets too.
    let set = before["identical"][0]["id"].as_str().unwrap();
    federation.operate(&["verdict", "set", "latest", "keep", "--set", set]).expect(0);
    let kept = limited(&federation, &["--verdict", "keep"]);
    assert_eq!((clusters(&kept).len(), kept["identical"].as_array().unwrap().len()), (0, 1), "{kept}");
    // Every format has the same part, and says so.
    let part = ["report", "latest", "--tag", "to show"];
    let text = federation.operate(&part).expect(0);
    let named = "The rest is about some clusters alone: tag to show.";
    assert!(text.text().contains(named) && text.text().contains("legal hold, to show; for anna"), "{}", text.text());
    // Sets of identical documents stay if one of these is in a chosen cluster.
    let chosen = limited(&federation, &["--tag", "to show"]);
    let places = |rows: &Value| -> Vec<String> {
        let rows = rows["documents"].as_array().unwrap().iter();
        rows.map(|row| format!("{}/{}", row["site"], row["path"])).collect()
    };
    let members = places(&before["clusters"][0]);
    let sets = before["identical"].as_array().unwrap().iter();
    let sets: Vec<&Value> = sets.filter(|set| places(set).iter().any(|place| members.contains(place))).collect();
    let id = |set: &&Value| set["id"].as_str().unwrap().to_owned();
    let stay: Vec<String> = chosen["identical"].as_array().unwrap().iter().map(|set| id(&set)).collect();
    assert_eq!(stay, sets.iter().map(id).collect::<Vec<_>>());
    let rows = members.len() + sets.iter().map(|set| places(set).len()).sum::<usize>();
    let csv = federation.operate(&[&part[..], &["--format", "csv"]].concat()).expect(0);
    assert_eq!(csv.text().lines().count(), 1 + rows, "{}", csv.text());
    assert!(csv.text().lines().next().unwrap().ends_with(",tags,assignee"), "{}", csv.text());
    let load = federation.operate(&[&part[..], &["--format", "loadfile"]].concat()).expect(0);
    assert!(load.text().matches("legal hold; to show,anna").count() >= 2, "{}", load.text());
    let page = federation.operate(&[&part[..], &["--format", "html"]].concat()).expect(0);
    assert!(page.text().contains("the clusters with tag to show") && page.text().contains("for anna"));
    let list =
        federation.operate(&["report", "latest", "--documents", "--tag", "to show", "--format", "json"]).expect(0);
    let listed = list.json();
    let listed = listed.as_array().or_else(|| listed["documents"].as_array()).unwrap();
    let mut all: Vec<String> = members.iter().cloned().chain(sets.iter().flat_map(|set| places(set))).collect();
    all.sort();
    all.dedup();
    assert_eq!(listed.len(), all.len(), "{}", list.text());
    federation.operate(&["report", "latest", "--verdict", "maybe"]).refusal(2);
    // Killed, and scanned again with a change: the labels stay at their clusters.
    federation.kill_coordinator();
    federation.start_coordinator();
    federation.wait_attached("a");
    federation.wait_attached("b");
    check(&federation);
    std::fs::write(federation.site("a").folder().join("new.txt"), b"new").unwrap();
    federation.sandbox.settle();
    federation.scan(&[]).expect(0);
    check(&federation);
    let history = federation.operate(&["verdict", "list", "--history", "--format", "json"]).expect(0).json();
    let changes: Vec<&Value> =
        history.as_array().unwrap().iter().map(|row| &row["label"]).filter(|label| label.is_object()).collect();
    assert_eq!((changes.len(), changes[2]["add"][0].as_str()), (3, Some("to show")), "{history}");
    assert!(history.as_array().unwrap().iter().all(|row| row["by"].is_string() && row["time"].is_string()));
    // The last but two is taken back: nobody is assigned.
    let assigned = history.as_array().unwrap().iter().find(|row| row["label"]["assignee"] == "anna").unwrap();
    federation.operate(&["verdict", "undo", &assigned["action"].to_string()]).expect(0);
    assert!(clusters(&limited(&federation, &["--assignee", "anna"])).is_empty());
}

#[test]
fn a_plan_follows_verdicts_and_names_them() {
    let mut federation = Federation::new(953);
    let texts: Vec<Vec<u8>> = (0..3).map(|_| federation.dice.bytes(20_000)).collect();
    for site in ["a", "b"] {
        let files = texts.iter().enumerate().map(|(number, text)| (format!("{site}{number}.bin"), text.clone()));
        federation.add(site, &files.collect::<Files>());
    }
    federation.sandbox.settle();
    federation.start_all();
    let before = federation.scan(&[]).report();
    let set_with = |path: &str| {
        let sets = before["identical"].as_array().unwrap().iter();
        let mut with = sets.filter(|set| set["documents"].as_array().unwrap().iter().any(|one| one["path"] == path));
        with.next().unwrap()["id"].as_str().unwrap().to_owned()
    };
    federation.operate(&["verdict", "set", "latest", "intentional", "--set", &set_with("a0.bin")]).expect(0);
    federation.operate(&["verdict", "set", "latest", "keep", "--document", "b/kb:b1.bin"]).expect(0);
    federation.operate(&["verdict", "set", "latest", "duplicate", "--document", "b/kb:b2.bin"]).expect(0);
    let folder = federation.sandbox.path("plan");
    let words = ["plan", "make", "latest", "--keep", "prefer:a", "-o", folder.to_str().unwrap()];
    let shown = federation.operate(&words).expect(0);
    for said in [
        "left out by verdicts: 1 (1 intentional, 0 not a duplicate, 0 keep), with 2 documents",
        "keep  b/kb: b1.bin  (verdict: keep)",
        "go    b/kb: b2.bin  (verdict: duplicate)",
        "intentional (identical ",
    ] {
        assert!(shown.text().contains(said), "{said}: {}", shown.text());
    }
    let plan = |site: &str| -> Value {
        serde_json::from_slice(&std::fs::read(folder.join(format!("{site}.json"))).unwrap()).unwrap()
    };
    let (a, b) = (plan("a"), plan("b"));
    assert_eq!(a["verdicts_known"], true);
    assert_eq!(
        (&a["sets"][0]["go"][0]["path"], &a["sets"][0]["kept"][0]["verdict"]["verdict"]),
        (&"a1.bin".into(), &"keep".into())
    );
    assert_eq!(
        (&b["sets"][0]["go"][0]["path"], &b["sets"][0]["go"][0]["verdict"]["verdict"]),
        (&"b2.bin".into(), &"duplicate".into())
    );
    for plan in [&a, &b] {
        assert_eq!((plan["sets"].as_array().unwrap().len(), &plan["totals"]["left_out"]), (1, &1.into()));
        let left_out = &plan["left_out"][0];
        assert_eq!((&left_out["digest"], &left_out["documents"]), (&set_with("a0.bin").into(), &1.into()));
        assert_eq!(
            (&left_out["verdicts"][0]["verdict"], &left_out["verdicts"][0]["about"]),
            (&"intentional".into(), &"identical".into())
        );
    }
}
