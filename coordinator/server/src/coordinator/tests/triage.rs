//! Reviewing a result, and setting verdicts.

use cognate_fingerprint::View;
use cognate_proto::options::ScanView;
use cognate_proto::v1::{SetVerdictsRequest, Subject, SubjectKind, Verdict, VerdictState};

use super::two_views::{both, result, with_texts};
use super::*;
use crate::harness::indexes::*;
use cognate_desk::verdict::VerdictRequest;
use cognate_result::browse::{Browse, ClusterFilter, ClusterQuery, ClusterRow, DocumentQuery, SetFilter, Sort, Window};

/// Two clusters across the sites, one within a, a set of copies, and documents that only one site has.
fn of_a() -> Vec<Held> {
    vec![
        held("drafts/one.txt", &[1, 2, 3, 4]),
        held("drafts/One copy.txt", &[1, 2, 3, 4]),
        held("drafts/two.txt", &[1, 2, 3, 5, 6]),
        held("letters/a.txt", &[20, 21, 22]),
        held("letters/b.txt", &[20, 21, 23]),
        held("own.txt", &[30]),
    ]
}

fn of_b() -> Vec<Held> {
    vec![
        held("archive/three.txt", &[1, 2, 3, 7]),
        held("big.txt", &[40, 41, 42, 43, 44, 45, 46, 47]),
        held("part.txt", &[40, 41, 42, 43]),
    ]
}

pub(super) async fn scanned_twice(folder: &tempfile::TempDir) -> Arc<Coordinator> {
    let coordinator = open(folder);
    fill(&coordinator, "a", View::Raw, 1, &of_a());
    fill(&coordinator, "b", View::Raw, 1, &of_b());
    result(&coordinator, 1, spec_of(ScanView::Raw)).await;
    coordinator
}

fn clusters(browse: &Browse, query: &str) -> Vec<String> {
    let filter: ClusterFilter = query.parse().unwrap();
    let page = browse.clusters(&filter, Sort::default(), Window::default()).unwrap();
    assert_eq!(page.total, page.rows.len() as u64, "{query}");
    page.rows.into_iter().map(|row| row.path).collect()
}

pub(super) fn cluster(browse: &Browse, path: &str) -> ClusterRow {
    let all = browse.clusters(&ClusterFilter::default(), Sort::default(), Window::default()).unwrap();
    all.rows.into_iter().find(|row| row.path == path).unwrap()
}

#[tokio::test]
async fn clusters_are_found_by_all_that_is_said_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = scanned_twice(&folder).await;
    let browse = coordinator.services().results.browse(ScanId(1), &Reader::default()).unwrap();
    let (drafts, letters, parts) = ("drafts/two.txt", "letters/a.txt", "big.txt");
    // The order of the brute force: by bytes, descending, then by id.
    let all = clusters(&browse, "");
    assert_eq!(all[0], drafts);
    assert_eq!(all.len(), 3);
    let check = |query: &str, expected: &[&str]| {
        let mut found = clusters(&browse, query);
        found.sort();
        let mut expected: Vec<_> = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(found, expected, "{query}");
    };
    check("site=a", &[drafts, letters]);
    check("site=a&site=b", &[drafts]);
    check("across=1", &[drafts]);
    check("relation=pair", &[letters, parts]);
    check("relation=group", &[drafts]);
    check("view=text", &[]);
    check("members=3", &[drafts]);
    check("members_max=2", &[letters, parts]);
    check("contains=100", &[parts]);
    check("size=1KB&size_max=1.2KB", &[parts]);
    check("path=ONE+COPY", &[drafts]);
    check("path=*/b.txt", &[letters]);
    check("path=own.txt", &[]);
    check("from=1970-01-01&to=1970-01-01", &[drafts, letters, parts]);
    check("from=1970-01-02", &[]);
    check("verdict=open", &[drafts, letters, parts]);
    check("verdict=any", &[]);
    assert!(browse.clusters(&"site=c".parse().unwrap(), Sort::default(), Window::default()).is_err());
    // The rows agree with the report.
    let row = cluster(&browse, drafts);
    assert_eq!((row.members, row.documents, row.sites.join(",")), (3, 4, "a,b".to_owned()));
    // A copy of 400, and twice the 300 that the others share with the member that they are joined to.
    assert_eq!((row.shared_bytes, row.redundant_bytes, row.total_bytes), (300, 1000, 1300));
    browse
        .report()
        .clusters::<Error>(|cluster| {
            let found = browse.cluster_called("raw", &cluster.id)?.unwrap();
            assert_eq!((&found.members_digest, found.total_bytes), (&cluster.members_digest, cluster.total_bytes));
            assert_eq!(found.min_resemblance, cluster.min_resemblance);
            let strongest = cluster.links.iter().filter_map(|link| link.resemblance).max();
            assert_eq!(found.max_resemblance, strongest);
            Ok(())
        })
        .unwrap();
}

#[tokio::test]
async fn lists_are_walked_through_in_their_order_page_by_page() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = scanned_twice(&folder).await;
    let browse = coordinator.services().results.browse(ScanId(1), &Reader::default()).unwrap();
    let filter = ClusterFilter::default();
    for name in Sort::columns().flat_map(|name| [name.to_owned(), format!("-{name}")]) {
        let sort: Sort = name.parse().unwrap();
        let whole: Vec<i64> =
            browse.clusters(&filter, sort, Window::default()).unwrap().rows.iter().map(|row| row.number).collect();
        let paged: Vec<i64> = (0..3)
            .flat_map(|page| browse.clusters(&filter, sort, Window { page, rows: 1 }).unwrap().rows)
            .map(|row| row.number)
            .collect();
        assert_eq!(whole, paged, "{name}");
        for (place, number) in whole.iter().enumerate() {
            let (before, after) = browse.neighbours(&filter, sort, *number).unwrap();
            let neighbour = |place: Option<usize>| place.and_then(|place| whole.get(place).copied());
            assert_eq!(before.map(|row| row.number), neighbour(place.checked_sub(1)), "{name}");
            assert_eq!(after.map(|row| row.number), neighbour(Some(place + 1)), "{name}");
        }
    }
}

#[tokio::test]
async fn a_cluster_shows_how_its_members_lie_to_one_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = scanned_twice(&folder).await;
    let browse = coordinator.services().results.browse(ScanId(1), &Reader::default()).unwrap();
    let row = cluster(&browse, "drafts/two.txt");
    let page = browse.cluster(row.number, &ClusterQuery::default()).unwrap().unwrap();
    assert!(page.pivot_is_representative);
    assert_eq!(page.members.total, 3);
    let first = &page.members.rows[0];
    assert_eq!((first.copies, first.documents.len(), first.documents[0].path.as_str()), (2, 2, "drafts/One copy.txt"));
    let to_pivot = first.to_pivot.as_ref().unwrap();
    assert_eq!((to_pivot.shared_bytes, to_pivot.in_pivot.unwrap().0, to_pivot.pivot_in.unwrap().0), (300, 7500, 6000));
    // With another pivot the shares are reversed.
    let pivot = Some(first.digest.clone());
    let turned = browse.cluster(row.number, &ClusterQuery { pivot, ..ClusterQuery::default() }).unwrap().unwrap();
    let two = turned.members.rows.iter().find(|row| row.documents[0].path == "drafts/two.txt").unwrap();
    assert_eq!(two.to_pivot.as_ref().unwrap().in_pivot.unwrap().0, 6000);
    assert!(!turned.pivot_is_representative);
    // Above 50 % resemblance two are still together, above 70 % none.
    assert_eq!((page.parts.len(), page.alone), (1, 0));
    let above = |threshold| {
        let query = ClusterQuery { threshold, ..ClusterQuery::default() };
        let page = browse.cluster(row.number, &query).unwrap().unwrap();
        (page.parts, page.alone, page.links_kept)
    };
    assert_eq!(above(5500), (vec![vec![0, 2]], 1, 1));
    assert_eq!(above(7000), (vec![], 3, 0));
    assert!(browse.cluster(99, &ClusterQuery::default()).unwrap().is_none());
}

#[tokio::test]
async fn documents_and_sets_are_listed_by_what_became_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = scanned_twice(&folder).await;
    let browse = coordinator.services().results.browse(ScanId(1), &Reader::default()).unwrap();
    let list = |query: &DocumentQuery| -> Vec<String> {
        let page = browse.documents(query, Window::default()).unwrap();
        assert_eq!(page.total, page.rows.len() as u64);
        page.rows.into_iter().map(|row| row.place.path).collect()
    };
    let status = |status: &str| DocumentQuery { status: Some(status.to_owned()), ..DocumentQuery::default() };
    assert_eq!(list(&DocumentQuery::default()).len(), 9);
    assert_eq!(list(&status("unique")), ["own.txt"]);
    assert_eq!(list(&status("identical")), ["drafts/One copy.txt", "drafts/one.txt"]);
    let at_b = DocumentQuery { site: Some("b".to_owned()), largest_first: true, ..DocumentQuery::default() };
    assert_eq!(list(&at_b)[0], "big.txt");
    let by_path = DocumentQuery { path: Some("draft".to_owned()), size_min: Some(500), ..DocumentQuery::default() };
    assert_eq!(list(&by_path), ["drafts/two.txt"]);
    assert!(browse.documents(&status("odd"), Window::default()).is_err());
    let page = browse.documents(&DocumentQuery::default(), Window { page: 4, rows: 2 }).unwrap();
    assert_eq!((page.total, page.rows.len(), page.rows[0].place.path.as_str()), (9, 1, "part.txt"));
    assert!(page.rows[0].cluster.is_some());
    let sets = browse.sets(&SetFilter::default(), Window::default()).unwrap();
    assert_eq!((sets.total, sets.rows[0].documents, sets.rows[0].redundant_bytes), (1, 2, 400));
    assert_eq!(browse.set_documents(&sets.rows[0], Window::default()).unwrap().len(), 2);
    assert_eq!(browse.sets(&SetFilter::parse("across=1").unwrap(), Window::default()).unwrap().total, 0);
}

#[tokio::test]
async fn a_result_of_two_views_shows_both_and_each_document_once() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_texts(&folder);
    let report = result(&coordinator, 1, both()).await;
    let browse = coordinator.services().results.browse(ScanId(1), &Reader::default()).unwrap();
    let documents = browse.documents(&DocumentQuery::default(), Window::default()).unwrap();
    let mut listed = 0;
    report
        .documents::<Error>(|document| {
            let row = &documents.rows[listed];
            assert_eq!(
                (&row.place.path, &row.status, &row.place.site),
                (&document.path, &document.status, &document.site)
            );
            listed += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(documents.total, listed as u64);
    let summary = browse.summary().unwrap();
    assert_eq!(summary.status.values().sum::<u64>(), summary.documents);
    let mut tiers: Vec<String> = browse
        .sets(&SetFilter::default(), Window::default())
        .unwrap()
        .rows
        .into_iter()
        .map(|row| row.tier.to_string())
        .collect();
    tiers.dedup();
    assert_eq!(tiers, ["same bytes", "same text"]);
}

pub(super) fn subject(row: &ClusterRow) -> Subject {
    Subject { kind: SubjectKind::Cluster.into(), view: row.view.clone(), id: row.id.clone(), ..Subject::default() }
}

pub(super) fn decide(coordinator: &Coordinator, scan: u64, verdict: Verdict, subjects: Vec<Subject>) -> u64 {
    let request = SetVerdictsRequest { scan, verdict: verdict.into(), subjects, ..SetVerdictsRequest::default() };
    coordinator
        .services()
        .verdicts
        .decide(&VerdictRequest::from_wire(request).unwrap(), "anna", &Reader::default())
        .unwrap()
        .0
}

pub(super) fn undo(coordinator: &Coordinator, action: u64) -> u64 {
    let (action, parts) = coordinator.services().verdicts.undoable(action, "anna").unwrap();
    coordinator.services().verdicts.undo(action, &parts, "anna").unwrap()
}

/// The current decisions of a scan. A result that has been open since earlier ones has the same as one that is opened now.
fn states(coordinator: &Coordinator, scan: u64) -> Vec<VerdictState> {
    let services = coordinator.services();
    let all = |browse: &Browse| {
        let mut all: Vec<VerdictState> = Vec::new();
        let add = |state| {
            all.push(state);
            Ok::<_, Error>(())
        };
        browse.verdict_states(&services.records.store, add).unwrap();
        all
    };
    let open = all(&services.results.browse(ScanId(scan), &Reader::default()).unwrap());
    let mut again = Browse::open(&services.scans.analyser.result_path(ScanId(scan))).unwrap();
    again.mark(&services.records.store, &Reader::default()).unwrap();
    assert_eq!(open, all(&again), "decisions that were joined one by one");
    open
}

/// Of each, the verdict and the reason why it no longer holds.
fn verdicts(coordinator: &Coordinator, scan: u64) -> Vec<(Verdict, String)> {
    states(coordinator, scan).into_iter().map(|state| (state.verdict(), state.changed)).collect()
}

#[tokio::test]
async fn a_verdict_holds_in_later_scans_until_members_come_or_go_and_says_which() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = scanned_twice(&folder).await;
    let rows = {
        let browse = coordinator.services().results.browse(ScanId(1), &Reader::default()).unwrap();
        [cluster(&browse, "drafts/two.txt"), cluster(&browse, "letters/a.txt"), cluster(&browse, "big.txt")]
    };
    decide(&coordinator, 1, Verdict::Duplicate, vec![subject(&rows[0])]);
    decide(&coordinator, 1, Verdict::Keep, vec![subject(&rows[1]), subject(&rows[2])]);
    let expected = |texts: [&str; 3]| {
        let verdicts = [Verdict::Duplicate, Verdict::Keep, Verdict::Keep];
        let mut all: Vec<_> = verdicts.into_iter().zip(texts.map(str::to_owned)).collect();
        all.sort();
        all
    };
    let sorted = |scan| {
        let mut all = verdicts(&coordinator, scan);
        all.sort();
        all
    };
    assert_eq!(sorted(1), expected(["", "", ""]));
    assert_eq!(
        clusters(&coordinator.services().results.browse(ScanId(1), &Reader::default()).unwrap(), "verdict=open"),
        Vec::<String>::new()
    );
    // Nothing has changed, so nothing is open again.
    result(&coordinator, 2, spec_of(ScanView::Raw)).await;
    assert_eq!(sorted(2), expected(["", "", ""]));
    // One draft is added, and one letter is rewritten, whichever of the two gave the cluster its id; the third is
    // unchanged.
    let mut documents = of_a();
    documents.push(held("drafts/zero.txt", &[1, 2, 3, 9]));
    documents[4] = held("letters/b.txt", &[20, 21, 24]);
    fill(&coordinator, "a", View::Raw, 2, &documents);
    result(&coordinator, 3, spec_of(ScanView::Raw)).await;
    assert_eq!(sorted(3), expected(["1 member added", "1 member gone, 1 member added", ""]));
    documents[3] = held("letters/a.txt", &[20, 21, 25]);
    documents[4] = held("letters/b.txt", &[20, 21, 23]);
    fill(&coordinator, "a", View::Raw, 3, &documents);
    result(&coordinator, 4, spec_of(ScanView::Raw)).await;
    assert_eq!(sorted(4), expected(["1 member added", "1 member gone, 1 member added", ""]));
    let browse = coordinator.services().results.browse(ScanId(4), &Reader::default()).unwrap();
    assert_eq!(clusters(&browse, "verdict=changed").len(), 2);
    assert_eq!(clusters(&browse, "verdict=keep"), ["big.txt"]);
    // In the earlier scan the verdicts still hold.
    assert_eq!(sorted(1), expected(["", "", ""]));
    drop(browse);
    // The filter for changes since a scan finds these.
    let filter: ClusterFilter = "since=0000000000000001&change=either".parse().unwrap();
    let browse = coordinator.services().results.browse_for(ScanId(4), &filter, &Reader::default()).unwrap();
    assert_eq!(browse.clusters(&filter, Sort::default(), Window::default()).unwrap().total, 2);
}

#[tokio::test]
async fn where_two_clusters_become_one_it_has_the_verdict_under_its_own_id_and_else_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = scanned_twice(&folder).await;
    let rows = {
        let browse = coordinator.services().results.browse(ScanId(1), &Reader::default()).unwrap();
        [cluster(&browse, "drafts/two.txt"), cluster(&browse, "letters/a.txt")]
    };
    let actions = [
        decide(&coordinator, 1, Verdict::Duplicate, vec![subject(&rows[0])]),
        decide(&coordinator, 1, Verdict::Keep, vec![subject(&rows[1])]),
    ];
    let mut documents = of_a();
    documents.push(held("drafts/both.txt", &[1, 2, 3, 4, 20, 21, 22]));
    fill(&coordinator, "a", View::Raw, 2, &documents);
    result(&coordinator, 2, spec_of(ScanView::Raw)).await;
    let shown = states(&coordinator, 2);
    assert_eq!(shown.len(), 1, "{shown:?}");
    let own = usize::from(shown[0].verdict() == Verdict::Keep);
    assert_eq!(shown[0].subject.as_ref().unwrap().id, rows[own].id);
    let other = [Verdict::Keep, Verdict::Duplicate][own];
    undo(&coordinator, actions[own]);
    assert_eq!(verdicts(&coordinator, 2).into_iter().map(|(verdict, _)| verdict).collect::<Vec<_>>(), [other]);
    decide(&coordinator, 1, shown[0].verdict(), vec![subject(&rows[own])]);
    assert_eq!(states(&coordinator, 2)[0].verdict(), shown[0].verdict());
}

#[tokio::test]
async fn a_report_with_verdicts_has_the_digest_of_one_without() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = scanned_twice(&folder).await;
    let row = cluster(&coordinator.services().results.browse(ScanId(1), &Reader::default()).unwrap(), "drafts/two.txt");
    decide(&coordinator, 1, Verdict::Duplicate, vec![subject(&row)]);
    let mut report = Report::open(&coordinator.services().scans.analyser.result_path(ScanId(1))).unwrap();
    let before = report.digest().unwrap();
    let mut states = Vec::new();
    let browse = coordinator.services().results.browse(ScanId(1), &Reader::default()).unwrap();
    let keep = |state| {
        states.push(state);
        Ok::<_, Error>(())
    };
    browse.verdict_states(&coordinator.services().records.store, keep).unwrap();
    report.set_verdicts(states);
    let mut listed = Vec::new();
    let keep = |cluster: cognate_result::report::ClusterSection| {
        listed.extend(cluster.verdict.map(|verdict| verdict.verdict));
        Ok::<(), Error>(())
    };
    report.clusters(keep).unwrap();
    assert_eq!(listed, ["duplicate"]);
    assert_eq!(report.digest().unwrap(), before);
    // Its rows are written while the digest is taken.
    let mut json = Vec::new();
    cognate_export::Format::Json.write(&report, 0, &mut json).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["clusters"][0]["verdict"]["verdict"], "duplicate");
    assert_eq!(json["scan"]["digest"], before);
    assert_eq!(cognate_result::report::json_digest(&json), before);
    let with = |fields: serde_json::Value| serde_json::json!({"scan": {}, "clusters": [fields.clone()], "identical": [fields]});
    let digest = |fields| cognate_result::report::json_digest(&with(fields));
    assert_eq!(
        digest(serde_json::json!({"id": "1", "verdict": {"verdict": "keep"}})),
        digest(serde_json::json!({"id": "1"}))
    );
    assert_ne!(digest(serde_json::json!({"id": "1", "other": 1})), digest(serde_json::json!({"id": "1"})));
}

#[tokio::test]
async fn a_decision_can_be_taken_back_and_what_was_decided_before_holds_again() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = scanned_twice(&folder).await;
    let row = cluster(&coordinator.services().results.browse(ScanId(1), &Reader::default()).unwrap(), "drafts/two.txt");
    let first = decide(&coordinator, 1, Verdict::Duplicate, vec![subject(&row)]);
    let second = decide(&coordinator, 1, Verdict::Done, vec![subject(&row)]);
    let verdict = |coordinator: &Coordinator| {
        let browse = coordinator.services().results.browse(ScanId(1), &Reader::default()).unwrap();
        browse.mark_of_cluster(&coordinator.services().records.store, &row).unwrap().map(|mark| mark.verdict)
    };
    assert_eq!(verdict(&coordinator), Some("done"));
    // Without a number, the last action of the person is undone.
    assert_eq!(undo(&coordinator, 0), 1);
    assert_eq!(verdict(&coordinator), Some("duplicate"));
    // Repeated with its number, it has no further effect.
    undo(&coordinator, second);
    assert_eq!(verdict(&coordinator), Some("duplicate"));
    // An earlier action can be undone while a later one holds.
    decide(&coordinator, 1, Verdict::Keep, vec![subject(&row)]);
    undo(&coordinator, first);
    assert_eq!(verdict(&coordinator), Some("keep"));
    undo(&coordinator, 0);
    assert_eq!(verdict(&coordinator), None);
    assert!(coordinator.services().verdicts.undoable(0, "anna").is_err(), "nothing is left");
    assert!(coordinator.services().verdicts.undoable(0, "bert").is_err(), "he decided nothing");
    // The history has all actions, latest first, and after a restart as well.
    let history = coordinator.services().verdicts.verdict_history().unwrap();
    let listed: Vec<_> = history.iter().map(|action| (action.verdict(), action.undone_by.as_str())).collect();
    assert_eq!(listed, [(Verdict::Keep, "anna"), (Verdict::Done, "anna"), (Verdict::Duplicate, "anna")]);
    close(coordinator).await;
    std::fs::remove_dir_all(folder.path().join("store")).unwrap();
    let coordinator = open(&folder);
    assert_eq!(coordinator.services().verdicts.verdict_history().unwrap(), history, "the journal is the record");
}

#[tokio::test]
async fn a_filter_decides_about_what_it_showed_and_about_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = scanned_twice(&folder).await;
    let request = |filter: &str, expected: Option<u64>| {
        VerdictRequest::from_wire(SetVerdictsRequest {
            scan: 1,
            verdict: Verdict::Intentional.into(),
            filter: filter.to_owned(),
            expected,
            ..SetVerdictsRequest::default()
        })
    };
    let (action, subjects) = coordinator
        .services()
        .verdicts
        .decide(&request("relation=pair", Some(2)).unwrap(), "anna", &Reader::default())
        .unwrap();
    assert_eq!(subjects, 2);
    let error = coordinator
        .services()
        .verdicts
        .decide(&request("relation=pair&verdict=open", Some(2)).unwrap(), "anna", &Reader::default())
        .unwrap_err();
    assert!(error.to_string().contains("no"), "{error}");
    let error = coordinator
        .services()
        .verdicts
        .decide(&request("all", Some(2)).unwrap(), "anna", &Reader::default())
        .unwrap_err();
    assert!(error.to_string().contains("3 clusters"), "{error}");
    assert_eq!(coordinator.services().verdicts.verdict_history().unwrap()[0].filter, "relation=pair");
    assert_eq!(
        clusters(&coordinator.services().results.browse(ScanId(1), &Reader::default()).unwrap(), "verdict=intentional")
            .len(),
        2
    );
    assert_eq!(undo(&coordinator, action), 2);
    assert_eq!(
        clusters(&coordinator.services().results.browse(ScanId(1), &Reader::default()).unwrap(), "verdict=open").len(),
        3
    );
    // Invalid requests are refused.
    assert!(request("verdict=maybe", None).is_err());
    assert!(request("", None).is_err());
    let unspecified = SetVerdictsRequest { scan: 1, filter: "all".to_owned(), ..SetVerdictsRequest::default() };
    assert!(VerdictRequest::from_wire(unspecified).is_err());
}

#[tokio::test]
async fn a_verdict_about_a_document_or_a_set_holds_while_its_content_or_its_places_do() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = scanned_twice(&folder).await;
    let document = |path: &str| Subject {
        kind: SubjectKind::Document.into(),
        site: "a".to_owned(),
        repository: "main".to_owned(),
        path: path.as_bytes().to_vec(),
        ..Subject::default()
    };
    let set = coordinator
        .services()
        .results
        .browse(ScanId(1), &Reader::default())
        .unwrap()
        .sets(&SetFilter::default(), Window::default())
        .unwrap()
        .rows
        .remove(0);
    let of_set = Subject { kind: SubjectKind::Identical.into(), id: set.id.clone(), ..Subject::default() };
    decide(&coordinator, 1, Verdict::Keep, vec![document("drafts/one.txt"), of_set]);
    assert_eq!(verdicts(&coordinator, 1), [(Verdict::Keep, String::new()), (Verdict::Keep, String::new())]);
    for wrong in [document("nowhere.txt"), Subject { site: "c".to_owned(), ..document("drafts/one.txt") }] {
        let request = SetVerdictsRequest {
            scan: 1,
            verdict: Verdict::Keep.into(),
            subjects: vec![wrong],
            ..SetVerdictsRequest::default()
        };
        assert!(
            coordinator
                .services()
                .verdicts
                .decide(&VerdictRequest::from_wire(request).unwrap(), "anna", &Reader::default())
                .is_err()
        );
    }
    // The document is rewritten; another copy of its earlier content appears elsewhere.
    let mut documents = of_a();
    documents[0] = held("drafts/one.txt", &[1, 2, 3, 8]);
    documents.push(held("letters/x.txt", &[1, 2, 3, 4]));
    fill(&coordinator, "a", View::Raw, 2, &documents);
    result(&coordinator, 2, spec_of(ScanView::Raw)).await;
    let browse = coordinator.services().results.browse(ScanId(2), &Reader::default()).unwrap();
    let digest = browse.document_at("a", "main", b"drafts/one.txt").unwrap().unwrap().remove(0).1;
    let place = ("a", "main", &b"drafts/one.txt"[..]);
    let mark = browse
        .mark_of_document(&coordinator.services().records.store, place, ("raw", &cognate_result::report::hex(&digest)))
        .unwrap();
    assert_eq!(mark.unwrap().changed.as_deref(), Some("its content has changed"));
    let set = browse.set_called(&set.id).unwrap().unwrap();
    let mark = browse.mark_of_set(&coordinator.services().records.store, &set).unwrap().unwrap();
    assert_eq!(mark.changed.as_deref(), Some("its documents are at other places"));
    drop(browse);
    // Forgetting a site removes the verdicts about its documents; of clusters, only the ids remain.
    coordinator.services().removal.forget_site(&"a".parse().unwrap(), "anna").unwrap();
    let left =
        coordinator.services().records.store.verdicts().map(|row| row.unwrap().1.entries[0].decided.site.clone());
    assert_eq!(left.collect::<Vec<_>>(), [""]);
}
