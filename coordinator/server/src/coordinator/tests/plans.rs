//! Plans for results with verdicts.

use cognate_fingerprint::View;
use cognate_proto::options::ScanView;
use cognate_proto::v1::{Subject, SubjectKind, Verdict};

use super::triage::{cluster, decide, scanned_twice, subject, undo};
use super::two_views::{both, result, with_texts};
use super::*;
use crate::harness::indexes::*;
use cognate_result::plan::{Decision, Keep, Left, Totals};

/// The decision about the set that has this document, if the plan has that set.
fn planned(coordinator: &Coordinator, scan: u64, path: &str) -> Decision {
    let keep = Keep { rules: vec!["shortest-path".parse().unwrap()], min_copies: 1 };
    let mut found = None;
    let report = coordinator.services().results.report_with_verdicts(ScanId(scan), &Reader::default()).unwrap();
    assert!(report.has_verdicts());
    let each = |decision: Decision| {
        if decision.members.iter().any(|member| member.document.path == path) {
            found = Some(decision);
        }
        Ok::<(), Error>(())
    };
    report.plan(&keep, each).unwrap();
    found.unwrap()
}

fn gone(decision: &Decision) -> Vec<&str> {
    decision.gone().map(|member| member.document.path.as_str()).collect()
}

fn document(site: &str, path: &str) -> Subject {
    Subject {
        kind: SubjectKind::Document.into(),
        site: site.to_owned(),
        repository: "main".to_owned(),
        path: path.as_bytes().to_vec(),
        ..Subject::default()
    }
}

#[tokio::test]
async fn a_plan_obeys_what_was_decided_about_documents_sets_and_clusters() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = scanned_twice(&folder).await;
    let one = "drafts/one.txt";
    let of_cluster = subject(&cluster(
        &coordinator.services().results.browse(ScanId(1), &Reader::default()).unwrap(),
        "drafts/two.txt",
    ));
    let plan = |scan| planned(&coordinator, scan, one);
    assert_eq!((gone(&plan(1)), plan(1).left), (vec!["drafts/One copy.txt"], None));
    let id = plan(1).group;
    let of_set = Subject { kind: SubjectKind::Identical.into(), id, ..Subject::default() };
    // About a document.
    decide(&coordinator, 1, Verdict::Duplicate, vec![document("a", one)]);
    assert_eq!(gone(&plan(1)), [one]);
    decide(&coordinator, 1, Verdict::Keep, vec![document("a", "drafts/One copy.txt")]);
    assert_eq!(gone(&plan(1)), [one]);
    undo(&coordinator, 0);
    undo(&coordinator, 0);
    // About the set, and about the cluster that it is in.
    for about in [&of_set, &of_cluster] {
        for verdict in [Verdict::Intentional, Verdict::NotADuplicate, Verdict::Keep] {
            decide(&coordinator, 1, verdict, vec![about.clone()]);
            let plan = plan(1);
            assert_eq!((gone(&plan).len(), plan.left, plan.said.len()), (0, Some(Left::Verdict), 1), "{verdict:?}");
            undo(&coordinator, 0);
        }
        decide(&coordinator, 1, Verdict::Done, vec![about.clone()]);
        assert_eq!(gone(&plan(1)), ["drafts/One copy.txt"]);
        undo(&coordinator, 0);
    }
    // They contradict each other.
    decide(&coordinator, 1, Verdict::Intentional, vec![of_cluster]);
    decide(&coordinator, 1, Verdict::Duplicate, vec![of_set]);
    assert_eq!((plan(1).left, plan(1).said.len()), (Some(Left::Tie), 2));
    undo(&coordinator, 0);
    // In a later scan the cluster is another one, so its verdict has to be reviewed again.
    fill(&coordinator, "b", View::Raw, 2, &[held("archive/three.txt", &[1, 2, 3, 9])]);
    result(&coordinator, 2, spec_of(ScanView::Raw)).await;
    let later = plan(2);
    assert_eq!(later.left, Some(Left::Tie));
    assert!(later.said[0].to_string().contains("since then 1 member gone, 1 member added"), "{}", later.said[0]);
    assert_eq!(plan(1).left, Some(Left::Verdict), "the earlier scan shows what was decided about");
}

#[tokio::test]
async fn what_was_decided_about_a_text_holds_for_the_bytes_that_hold_it() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_texts(&folder);
    let report = result(&coordinator, 1, both()).await;
    let copies = "report-copy.docx";
    assert_eq!(gone(&planned(&coordinator, 1, copies)), [copies]);
    let mut texts = Vec::new();
    let each = |set: cognate_result::report::IdenticalSet| {
        if set.tier == "same text" && set.documents.iter().any(|document| document.path == copies) {
            texts.push(set.id);
        }
        Ok::<(), Error>(())
    };
    report.identical(each).unwrap();
    let subjects = texts.into_iter().map(|id| Subject {
        kind: SubjectKind::Identical.into(),
        view: "same text".to_owned(),
        id,
        ..Subject::default()
    });
    decide(&coordinator, 1, Verdict::Intentional, subjects.collect());
    let plan = planned(&coordinator, 1, copies);
    assert_eq!((plan.left, plan.said[0].view.as_deref()), (Some(Left::Verdict), Some("same text")));
}

/// The plan of a page and the plan of the files, by the same rules.
fn both_plans(coordinator: &Coordinator, scan: u64, keep: &Keep) -> [(Totals, Vec<String>); 2] {
    let shown = |decision: &Decision| {
        let mut members: Vec<String> =
            decision.members.iter().map(|member| format!("{} {:?}", member.document.path, member.kept)).collect();
        members.sort();
        let said: Vec<String> = decision.said.iter().map(ToString::to_string).collect();
        format!("{} {:?} {members:?} {said:?}", decision.group, decision.left)
    };
    let services = coordinator.services();
    let report = services.results.report_with_verdicts(ScanId(scan), &Reader::default()).unwrap();
    let (mut totals, mut lines) = (Totals::default(), Vec::new());
    let each = |decision: Decision| {
        totals.add(&decision, keep);
        if decision.left != Some(Left::Few) {
            lines.push(shown(&decision));
        }
        Ok::<(), Error>(())
    };
    report.plan(keep, each).unwrap();
    let browse = services.results.browse(ScanId(scan), &Reader::default()).unwrap();
    let store = &services.records.store;
    let page = browse.plan(store, keep, 1000).unwrap();
    // With nothing to show, the sums come from the packed sets alone.
    let sums = browse.plan(store, keep, 0).unwrap();
    assert_eq!((sums.totals, &sums.sites), (page.totals, &page.sites));
    let mut of_page: Vec<String> = [&page.ties, &page.shown, &page.left_out].into_iter().flatten().map(shown).collect();
    lines.sort();
    of_page.sort();
    [(totals, lines), (page.totals, of_page)]
}

#[tokio::test]
async fn the_page_of_a_plan_says_what_its_files_say_whatever_was_decided() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_texts(&folder);
    let report = result(&coordinator, 1, both()).await;
    let mut subjects = vec![document("a", "report-copy.docx")];
    let browse = coordinator.services().results.browse(ScanId(1), &Reader::default()).unwrap();
    let clusters = browse.cluster_numbers(&"".parse().unwrap()).unwrap();
    subjects.extend(
        clusters.into_iter().filter_map(|number| browse.cluster_numbered(number).unwrap()).map(|row| subject(&row)),
    );
    drop(browse);
    let each = |set: cognate_result::report::IdenticalSet| {
        let view = set.tier.to_owned();
        subjects.push(Subject { kind: SubjectKind::Identical.into(), view, id: set.id, ..Subject::default() });
        Ok::<(), Error>(())
    };
    report.identical(each).unwrap();
    let compare = |what: &str| {
        for (rules, min_copies) in [
            (&["shortest-path"][..], 1),
            (&["newest", "not-a-copy"], 1),
            (&["reference:a", "oldest"], 2),
            (&["path:*.docx", "longest-path"], 1),
            (&["prefer:b"], 1),
        ] {
            let keep = Keep { rules: rules.iter().map(|rule| rule.parse().unwrap()).collect(), min_copies };
            let [files, page] = both_plans(&coordinator, 1, &keep);
            assert_eq!(files, page, "{what}, {rules:?}");
            assert!(min_copies > 1 || !files.1.is_empty(), "{what}, {rules:?}");
        }
    };
    compare("nothing is decided");
    let verdicts = [Verdict::Duplicate, Verdict::Keep, Verdict::Intentional, Verdict::NotADuplicate, Verdict::Done];
    for (place, subject) in subjects.iter().enumerate() {
        for verdict in verdicts {
            decide(&coordinator, 1, verdict, vec![subject.clone()]);
            compare(&format!("{verdict:?} about {subject:?}"));
            // Next to one about another subject.
            let other = subjects[(place + 1) % subjects.len()].clone();
            decide(&coordinator, 1, Verdict::Intentional, vec![other]);
            compare(&format!("{verdict:?} about {subject:?} and intentional about the next"));
            undo(&coordinator, 0);
            undo(&coordinator, 0);
        }
    }
}
