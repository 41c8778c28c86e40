//! Verdicts of people of two parties about the same contents.

use cognate_fingerprint::{Key, View};
use cognate_proto::v1::{SetVerdictsRequest, Verdict};

use super::triage::{cluster, subject};
use super::two_views::result;
use super::*;
use crate::harness::indexes::{fill_of, held};
use cognate_desk::verdict::VerdictRequest;
use cognate_result::browse::{ClusterFilter, Sort, Window};

/// A scan of each of two parties, and the third of both. All have the same two contents, which form a cluster.
async fn three_scans(folder: &tempfile::TempDir) -> Arc<Coordinator> {
    let coordinator = open(folder);
    let documents = [held("edited", &[1, 2, 3, 4, 5, 7]), held("original", &[1, 2, 3, 4, 5, 6])];
    let key = Key::parse("07".repeat(32).as_bytes()).unwrap();
    for (party, site) in [("one", "a"), ("two", "b")] {
        fill_of((&party.parse().unwrap(), &key), &coordinator, site, View::Raw, 1, &documents);
    }
    for (id, sites) in [(1, &["a"][..]), (2, &["b"]), (3, &["a", "b"])] {
        let repositories = sites.iter().map(|site| (site.parse().unwrap(), RepositoryName::main())).collect();
        result(&coordinator, id, ScanOptions { repositories, ..spec(true) }).await;
    }
    coordinator
}

fn of(party: &str) -> Reader {
    Reader { party: Some(party.to_owned()) }
}

/// What a reader sees of the one cluster of a scan: verdict and note. Page, filter and list agree.
fn seen(coordinator: &Coordinator, scan: u64, reader: &Reader) -> Option<(&'static str, String)> {
    let (services, mut listed) = (coordinator.services(), Vec::new());
    let browse = services.results.browse(ScanId(scan), reader).unwrap();
    let store = &services.records.store;
    let row = cluster(&browse, "edited");
    let mark = browse.mark_of_cluster(store, &row).unwrap().map(|mark| (mark.verdict, mark.note));
    let keep = |state: cognate_proto::v1::VerdictState| {
        listed.push((cognate_storage::verdict::word(state.verdict()), state.note));
        Ok::<_, Error>(())
    };
    browse.verdict_states(store, keep).unwrap();
    assert_eq!(listed, Vec::from_iter(mark.clone()));
    let open: ClusterFilter = "verdict=open".parse().unwrap();
    let open = browse.clusters(&open, Sort::default(), Window::default()).unwrap().total;
    assert_eq!(open, u64::from(mark.is_none()));
    let report = services.results.report_with_verdicts(ScanId(scan), reader).unwrap();
    assert!(report.has_verdicts());
    mark
}

fn decide(coordinator: &Coordinator, scan: u64, verdict: Verdict, reader: &Reader) -> u64 {
    let services = coordinator.services();
    let row = cluster(&services.results.browse(ScanId(scan), reader).unwrap(), "edited");
    let request = SetVerdictsRequest {
        scan,
        verdict: verdict.into(),
        note: format!("of scan {scan}"),
        subjects: vec![subject(&row)],
        ..SetVerdictsRequest::default()
    };
    services.verdicts.decide(&VerdictRequest::from_wire(request).unwrap(), "anna", reader).unwrap().0
}

#[tokio::test]
async fn a_verdict_counts_where_its_author_may_read_and_is_shown_to_those_who_may_read_where_it_was_made() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = three_scans(&folder).await;
    let (one, two, all) = (of("one"), of("two"), Reader::default());
    let noted = |word, scan: u64| Some((word, format!("of scan {scan}")));
    decide(&coordinator, 1, Verdict::Duplicate, &one);
    assert_eq!(seen(&coordinator, 1, &one), noted("duplicate", 1));
    assert_eq!(seen(&coordinator, 1, &all), noted("duplicate", 1), "who may read all sees what each decided");
    assert_eq!(seen(&coordinator, 2, &two), None);
    assert_eq!(seen(&coordinator, 2, &all), None);
    assert_eq!(seen(&coordinator, 3, &all), None);
    decide(&coordinator, 2, Verdict::Keep, &two);
    assert_eq!(seen(&coordinator, 1, &one), noted("duplicate", 1));
    assert_eq!(seen(&coordinator, 2, &two), noted("keep", 2));
    let of_both = decide(&coordinator, 3, Verdict::Intentional, &all);
    assert_eq!([1, 2, 3].map(|scan| seen(&coordinator, scan, &all)), [(); 3].map(|()| noted("intentional", 3)));
    assert_eq!(seen(&coordinator, 1, &one), noted("duplicate", 1), "it was made where others are");
    assert_eq!(seen(&coordinator, 2, &two), noted("keep", 2));
    let (action, parts) = coordinator.services().verdicts.undoable(of_both, "anna").unwrap();
    coordinator.services().verdicts.undo(action, &parts, "anna").unwrap();
    assert_eq!(seen(&coordinator, 3, &all), None);
    assert_eq!(seen(&coordinator, 1, &all), noted("duplicate", 1));
    // Someone without bounds who decides about one party's scan works with its people.
    decide(&coordinator, 1, Verdict::Done, &all);
    assert_eq!(seen(&coordinator, 1, &one), noted("done", 1));
    assert_eq!(seen(&coordinator, 2, &two), noted("keep", 2));
    close(coordinator).await;
}

#[tokio::test]
async fn nobody_drops_the_decisions_of_another_party_by_deciding_often() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = three_scans(&folder).await;
    decide(&coordinator, 1, Verdict::Duplicate, &of("one"));
    for _ in 0..40 {
        decide(&coordinator, 2, Verdict::Keep, &of("two"));
    }
    assert_eq!(seen(&coordinator, 1, &of("one")).map(|mark| mark.0), Some("duplicate"));
    close(coordinator).await;
}
