//! Scans over text, and over bytes and text: documents that match under both views, under one, or under neither.

use std::collections::BTreeMap;

use cognate_fingerprint::View;
use cognate_proto::batch::DocumentState;
use cognate_proto::options::ScanView;

use super::*;
use crate::harness::indexes::*;
use cognate_result::report::{DocumentFilter, DocumentSection, IdenticalSet, SiteSection};

/// Two sites with office documents, an archive, pictures and unreadable files, under bytes and under text.
pub(super) fn with_texts(folder: &tempfile::TempDir) -> Arc<Coordinator> {
    let coordinator = open(folder);
    let bytes_of_a = [
        held("locked.docx", &[40, 41]),
        held("pic.png", &[50, 51]),
        held("report-copy.docx", &[1, 2, 3]),
        held("report.docx", &[1, 2, 3]),
        held("twin-1.txt", &[60, 61]),
        held("twin-2.txt", &[60, 61]),
        held("x.zip", &[70, 71, 72, 73]),
    ];
    fill(&coordinator, "a", View::Raw, 1, &bytes_of_a);
    fill(&coordinator, "a", View::Text, 1, &text_of_a());
    let bytes_of_b = [
        none("gone.txt", DocumentState::PermissionDenied),
        held("other.txt", &[80, 81, 82, 83, 84]),
        held("pic.png", &[50, 51]),
        held("report.pdf", &[90, 91, 92, 93]),
    ];
    fill(&coordinator, "b", View::Raw, 1, &bytes_of_b);
    let text_of_b = [
        none("gone.txt", DocumentState::PermissionDenied),
        held("other.txt", &[110, 111, 112, 113, 115]),
        none("pic.png", DocumentState::NoText),
        held("report.pdf", &[100, 101]),
    ];
    fill(&coordinator, "b", View::Text, 1, &text_of_b);
    coordinator
}

fn text_of_a() -> [Held; 9] {
    [
        none("locked.docx", DocumentState::Encrypted),
        none("pic.png", DocumentState::NoText),
        held("report-copy.docx", &[100, 101]),
        held("report.docx", &[100, 101]),
        held("twin-1.txt", &[120, 121]),
        held("twin-2.txt", &[120, 121]),
        none("x.zip", DocumentState::Container),
        held("x.zip!/inner.txt", &[110, 111, 112, 113, 114]),
        none("x.zip!/logo.png", DocumentState::NoText),
    ]
}

pub(super) fn both() -> ScanOptions {
    spec_of(ScanView::Both)
}

pub(super) async fn result(coordinator: &Coordinator, id: u64, spec: ScanOptions) -> Report {
    coordinator.services().scans.launch_as(ScanId(id), spec, "", "anna", &LIMITS).unwrap();
    let state = wait(coordinator, ScanId(id), ended).await;
    assert_eq!(state.status(), ScanStatus::Complete, "{}", state.failure);
    // Cleaning up follows the publication of the result.
    let tidied = async {
        while coordinator.services().scans.lock().contains_key(&ScanId(id)) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), tidied).await.expect("it is done soon");
    Report::open(&coordinator.services().scans.analyser.result_path(ScanId(id))).unwrap()
}

fn documents(report: &Report) -> Vec<DocumentSection> {
    let mut all = Vec::new();
    report
        .documents::<Error>(|document| {
            all.push(document);
            Ok(())
        })
        .unwrap();
    all
}

/// The status of every document, as `site/path`.
fn statuses(report: &Report) -> BTreeMap<String, String> {
    let place = |document: DocumentSection| (format!("{}/{}", document.site, document.path), document.status);
    documents(report).into_iter().map(place).collect()
}

/// The identical sets: tier and documents.
fn sets(report: &Report) -> Vec<(&'static str, Vec<String>)> {
    let mut all = Vec::new();
    report
        .identical::<Error>(|IdenticalSet { tier, documents, .. }| {
            all.push((tier, documents.iter().map(|one| format!("{}/{}", one.site, one.path)).collect()));
            Ok(())
        })
        .unwrap();
    all
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// Compares the counts of a site with its documents.
fn check_sums(report: &Report) -> Vec<SiteSection> {
    let sites = report.sites().unwrap();
    let listed = documents(report);
    for site in &sites {
        let own = listed.iter().filter(|document| document.site == site.site).count() as u64;
        assert_eq!((site.status.values().sum::<u64>(), own), (site.documents, site.documents), "{site:?}");
    }
    let mut places: Vec<_> = listed.iter().map(|one| (&one.site, &one.path)).collect();
    places.dedup();
    assert_eq!(places.len(), listed.len(), "each is listed once");
    sites
}

#[tokio::test]
async fn a_document_with_equal_text_is_identical_and_is_listed_once() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_texts(&folder);
    let report = result(&coordinator, 1, both()).await;
    let expected = [
        ("a/locked.docx", "undecided"),
        ("a/pic.png", "identical"),
        ("a/report-copy.docx", "identical"),
        ("a/report.docx", "identical"),
        ("a/twin-1.txt", "identical"),
        ("a/twin-2.txt", "identical"),
        ("a/x.zip", "unique"),
        ("a/x.zip!/inner.txt", "near"),
        ("a/x.zip!/logo.png", "excluded(no text)"),
        ("b/other.txt", "near"),
        ("b/pic.png", "identical"),
        ("b/report.pdf", "identical"),
    ];
    let expected = expected.map(|(place, status)| (place.to_owned(), status.to_owned()));
    assert_eq!(statuses(&report), BTreeMap::from(expected));
    // Sets of bytes first; the text of the twins adds nothing to their bytes.
    let same_text = strings(&["a/report-copy.docx", "a/report.docx", "b/report.pdf"]);
    let found = sets(&report);
    assert_eq!(
        found.iter().map(|(tier, _)| *tier).collect::<Vec<_>>(),
        ["same bytes", "same bytes", "same bytes", "same text"]
    );
    assert_eq!(found[3].1, same_text);
    let sites = check_sums(&report);
    let a = &sites[0];
    assert_eq!((a.documents, a.bytes, a.text_bytes), (9, 1800, Some(1300)));
    assert_eq!((a.members, a.no_text, a.unreadable), (Some(2), Some(2), 1));
    assert_eq!(a.unextractable, BTreeMap::from([("encrypted".to_owned(), 1)]));
    // A document that cannot be read at all is listed once.
    assert_eq!((sites[1].unreadable, sites[1].documents), (1, 3));
    // The partner is named under the view that decides.
    let pdf = documents(&report).into_iter().find(|one| one.path == "report.pdf").unwrap();
    let partner = pdf.partner.unwrap();
    assert_eq!((partner.relation.as_str(), partner.view.as_deref()), ("identical", Some("text")));
    assert_eq!((pdf.size_bytes, pdf.text_bytes), (400, Some(200)));
    let inner = documents(&report).into_iter().find(|one| one.path == "x.zip!/inner.txt").unwrap();
    assert_eq!((inner.content, inner.text_content.is_some(), inner.size_bytes), (None, true, 500));
}

#[tokio::test]
async fn what_two_views_find_is_what_each_finds_alone() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_texts(&folder);
    let both = result(&coordinator, 1, both()).await;
    let views =
        [result(&coordinator, 2, spec_of(ScanView::Raw)).await, result(&coordinator, 3, spec_of(ScanView::Text)).await];
    for (layer, alone) in views.iter().enumerate() {
        let clusters = |report: &Report, view: usize| {
            let mut ids = Vec::new();
            report
                .clusters_of::<Error>(view, |cluster| {
                    ids.push((cluster.id, cluster.members_digest, cluster.total_bytes, cluster.links.len()));
                    Ok(())
                })
                .unwrap();
            ids
        };
        assert_eq!(clusters(&both, layer), clusters(alone, 0));
        // What is in common under one view is in common.
        let [of_both, of_one] = [&both, alone].map(|report| report.overlap().unwrap()[0].clone());
        assert!(
            of_both.documents_a >= of_one.documents_a && of_both.shared_bytes_a <= of_both.bytes_total_a,
            "{of_both:?}"
        );
    }
    let mut histograms =
        [both.histogram().unwrap(), both.text_histogram().unwrap()].map(|one| one.map(|all| all.links));
    assert_eq!(std::mem::take(&mut histograms[1]), Some(1));
    assert_eq!(histograms[0], None);
}

#[tokio::test]
async fn a_scan_of_text_counts_what_has_none_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_texts(&folder);
    let report = result(&coordinator, 1, spec_of(ScanView::Text)).await;
    let statuses = statuses(&report);
    assert_eq!(statuses["a/x.zip"], "excluded(container)");
    assert_eq!(statuses["a/pic.png"], "excluded(no text)");
    assert!(!statuses.contains_key("a/locked.docx"), "nothing of it could be read");
    let sites = check_sums(&report);
    assert_eq!((sites[0].documents, sites[0].bytes, sites[0].text_bytes), (8, 1300, Some(1300)));
    assert_eq!(sites[0].excluded, BTreeMap::from([("container".to_owned(), 1), ("no text".to_owned(), 2)]));
    assert!(sets(&report).iter().all(|(tier, _)| *tier == "same text"));
    let scan = report.scan().unwrap();
    assert_eq!((scan.view.as_str(), scan.layers.is_none(), scan.passages), ("text", true, None));
    let mut reasons = Vec::new();
    report
        .unread::<Error>(|row| {
            reasons.push((row.path, row.reason));
            Ok(())
        })
        .unwrap();
    let expected = [("locked.docx", "unextractable: encrypted"), ("gone.txt", "permission denied")];
    assert_eq!(reasons, expected.map(|(path, why)| (path.to_owned(), why.to_owned())));
}

#[tokio::test]
async fn a_crash_between_the_views_goes_on_with_the_second() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_texts(&folder);
    let whole = result(&coordinator, 1, both()).await.digest().unwrap();
    let published = coordinator.services().records.store.scan(ScanId(1)).unwrap().unwrap();
    // As if the process had ended after the first view was analysed: its files are there, those of the second are not.
    let mut layers = published.layers.clone();
    layers[1].binding.clear();
    let number = published.number + 1;
    let row =
        ScanRow { step: ScanStep::Analysed.into(), number, layers, digest: String::new(), finished: 0, ..published };
    let scans = coordinator.services().scans.analyser.folder.clone();
    std::fs::create_dir_all(scans.join(ScanId(2).to_string())).unwrap();
    for file in ["links-0", "analysis-0", "contents-0"] {
        let place = |id: u64| scans.join(ScanId(id).to_string()).join(file);
        std::fs::copy(place(1), place(2)).unwrap();
    }
    coordinator.services().scans.analyser.record(ScanId(2), &row).unwrap();
    // A second analysis of the first view would start from this.
    let modified = || std::fs::metadata(scans.join(ScanId(2).to_string()).join("links-0")).unwrap().modified().unwrap();
    let before = modified();
    close(coordinator).await;
    let coordinator = open(&folder);
    coordinator.carry_on(&LIMITS).unwrap();
    let state = wait(&coordinator, ScanId(2), ended).await;
    assert_eq!((state.status(), &state.digest), (ScanStatus::Complete, &whole));
    assert_eq!(modified(), before);
}

#[tokio::test]
async fn a_scan_of_two_views_begins_with_what_a_scan_of_one_found_and_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_texts(&folder);
    result(&coordinator, 1, spec_of(ScanView::Text)).await;
    let first = result(&coordinator, 2, both()).await.digest().unwrap();
    let left = |id: u64, file: &str| {
        coordinator.services().scans.analyser.folder.join(ScanId(id).to_string()).join(file).is_file()
    };
    assert!(!left(1, "links-0") && left(2, "links-0") && left(2, "links-1"), "the latest of a kind keeps its files");
    assert_eq!(result(&coordinator, 3, both()).await.digest().unwrap(), first);
    assert!(!left(2, "links-0") && !left(2, "links-1") && left(3, "links-1"));
}

#[tokio::test]
async fn the_same_message_in_other_bytes_and_other_words_is_a_set_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = open(&folder);
    // The third is a copy of the first in text: those two are a set already, and with the second they are another.
    let of_a = [message("1.eml", &[1, 2], 7), message("3.eml", &[1, 2], 7), message("alone.eml", &[8], 9)];
    let of_b = [message("2.msg", &[3, 4], 7), message("copy.eml", &[5, 6], 8), message("copy2.eml", &[5, 6], 8)];
    fill(&coordinator, "a", View::Text, 1, &of_a);
    fill(&coordinator, "b", View::Text, 1, &of_b);
    let unmatched = result(&coordinator, 1, spec_of(ScanView::Text)).await;
    assert_eq!(statuses(&unmatched)["b/2.msg"], "unique");
    assert_eq!(documents(&unmatched)[0].message_id_hash, Some("07".repeat(16)));
    let matching = ScanOptions { match_message_ids: true, ..spec_of(ScanView::Text) };
    let report = result(&coordinator, 2, matching).await;
    assert_eq!(statuses(&report)["b/2.msg"], "identical");
    let found = sets(&report);
    let of_messages: Vec<_> = found.iter().filter(|(tier, _)| *tier == "same message").collect();
    assert_eq!(of_messages, [&("same message", strings(&["a/1.eml", "a/3.eml", "b/2.msg"]))]);
    check_sums(&report);
    // The same with one site, and in the report to that site.
    let against = |site: &str, other: &str| {
        let filter = DocumentFilter {
            site: Some(site.to_owned()),
            against: Some(other.to_owned()),
            statuses: vec!["identical".to_owned()],
        };
        let mut paths = Vec::new();
        report
            .documents_where::<Error>(&filter, |document| {
                paths.push(document.path);
                Ok(())
            })
            .unwrap();
        paths
    };
    assert_eq!(against("b", "a"), ["2.msg"]);
    let mut rows = Vec::new();
    report
        .share_of("b", "home", "", |row| {
            rows.push(row);
            Ok::<_, Error>(())
        })
        .unwrap();
    assert!(rows.iter().any(|row| row["tier"] == "same message" && row["documents"].as_array().unwrap().len() == 3));
}

#[tokio::test]
async fn passages_are_documents_and_their_document_is_what_holds_them() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = open(&folder);
    let of_a = [
        none("essay.docx", DocumentState::Container),
        held("essay.docx!/#1", &[1, 2]),
        held("essay.docx!/#2", &[3, 4, 5]),
        none("x.zip", DocumentState::Container),
        none("x.zip!/y.docx", DocumentState::Container),
        held("x.zip!/y.docx!/#1", &[9]),
    ];
    fill(&coordinator, "a", View::Passages, 1, &of_a);
    let of_b = [none("other.pdf", DocumentState::Container), held("other.pdf!/#7", &[3, 4, 5])];
    fill(&coordinator, "b", View::Passages, 1, &of_b);
    let report = result(&coordinator, 1, spec_of(ScanView::Passages)).await;
    let scan = report.scan().unwrap();
    assert_eq!((scan.view.as_str(), scan.passages), ("text", Some(true)));
    assert_eq!(sets(&report), [("same text", strings(&["a/essay.docx!/#2", "b/other.pdf!/#7"]))]);
    let sites = check_sums(&report);
    assert_eq!((sites[0].passages, sites[0].members, sites[0].documents), (Some(3), Some(1), 6));
    // A document with passages counts as their folder: the folders show how many passages each two documents share.
    let mut pairs = Vec::new();
    report
        .folders::<Error>(|pair| {
            pairs.push((pair.a.path, pair.b.path, pair.documents_a));
            Ok(())
        })
        .unwrap();
    assert_eq!(pairs, [("essay.docx!".to_owned(), "other.pdf!".to_owned(), 1)]);
}

#[tokio::test]
async fn patterns_and_sizes_are_said_of_files_and_what_they_hold_goes_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = with_texts(&folder);
    let selecting = |include: &str, size_max_bytes: Option<u64>| ScanOptions {
        include: vec![include.to_owned()],
        size_max_bytes,
        ..both()
    };
    let archives = result(&coordinator, 1, selecting("*.zip", None)).await;
    let of_archive = ["a/x.zip", "a/x.zip!/inner.txt", "a/x.zip!/logo.png"];
    assert_eq!(statuses(&archives).into_keys().collect::<Vec<_>>(), of_archive);
    // The archive is too large, although its members are not.
    let small = result(&coordinator, 2, selecting("*", Some(300))).await;
    assert!(statuses(&small).keys().all(|place| !place.starts_with("a/x.zip")), "{:?}", statuses(&small));
    assert_eq!(statuses(&small)["a/report.docx"], "identical");
}
