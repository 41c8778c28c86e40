//! A site that sends other chunks under the digest of a content that other sites have.

use std::collections::BTreeMap;

use cognate_fingerprint::View;

use super::two_views::result;
use super::*;
use crate::harness::indexes::{Held, falsified, fill, held};

/// A content, an edited version of it, and something else of the same size.
const ORIGINAL: [u8; 6] = [1, 2, 3, 4, 5, 6];
const EDITED: [u8; 6] = [1, 2, 3, 4, 5, 7];
const OTHER: [u8; 6] = [31, 32, 33, 34, 35, 36];

fn original_and_edited() -> [Held; 2] {
    [held("edited", &EDITED), held("original", &ORIGINAL)]
}

async fn compared(coordinator: &Coordinator, id: u64, sites: &[&str]) -> Report {
    let repositories = sites.iter().map(|site| (site.parse().unwrap(), RepositoryName::main())).collect();
    result(coordinator, id, ScanOptions { repositories, ..spec(true) }).await
}

/// Of each document its status, and the bytes that it shares with its partner.
type Documents = BTreeMap<String, (String, Option<u64>)>;
/// Of each site the contents about which others differ.
type Contradicted = BTreeMap<String, Option<u64>>;

fn seen(report: &Report) -> (Documents, Contradicted) {
    let mut documents = BTreeMap::new();
    report
        .documents::<Error>(|row| {
            documents
                .insert(format!("{}/{}", row.site, row.path), (row.status, row.partner.map(|one| one.shared_bytes)));
            Ok(())
        })
        .unwrap();
    let sites = report.sites().unwrap().into_iter().map(|site| (site.site, site.contradicted_contents));
    (documents, sites.collect())
}

#[tokio::test]
async fn other_chunks_under_the_digest_of_a_content_change_nothing_for_its_documents_and_most_sites_decide_who_is_named()
 {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = open(&folder);
    fill(&coordinator, "b", View::Raw, 1, &original_and_edited());
    fill(&coordinator, "c", View::Raw, 1, &[held("copy", &ORIGINAL)]);
    // The name that sorts first, so that its chunks would be the ones that count.
    fill(&coordinator, "a", View::Raw, 1, &[falsified("false", &ORIGINAL, &OTHER), held("other", &OTHER)]);
    let (without, nobody) = seen(&compared(&coordinator, 1, &["b", "c"]).await);
    assert_eq!(without["b/original"].0, "identical");
    assert_eq!(without["b/edited"], ("near".to_owned(), Some(500)));
    assert!(nobody.values().all(Option::is_none), "{nobody:?}");
    let report = compared(&coordinator, 2, &["a", "b", "c"]).await;
    let (with, named) = seen(&report);
    for (place, facts) in &without {
        assert_eq!(&with[place], facts, "{place}");
    }
    assert_ne!(with["a/false"].0, "identical");
    assert_eq!(named, BTreeMap::from([("a".into(), Some(1)), ("b".into(), None), ("c".into(), None)]));
    close(coordinator).await;
}

#[tokio::test]
async fn where_two_sites_differ_about_a_content_both_are_named_and_each_is_compared_by_its_own_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = open(&folder);
    fill(&coordinator, "a", View::Raw, 1, &[falsified("false", &ORIGINAL, &OTHER)]);
    fill(&coordinator, "b", View::Raw, 1, &original_and_edited());
    let (documents, named) = seen(&compared(&coordinator, 1, &["a", "b"]).await);
    assert_eq!(documents["b/original"].0, "near");
    assert_eq!(documents["a/false"].0, "unique");
    assert_eq!(named, BTreeMap::from([("a".into(), Some(1)), ("b".into(), Some(1))]));
    close(coordinator).await;
}

#[tokio::test]
async fn a_scan_begins_with_nothing_of_an_earlier_one_that_followed_from_other_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let coordinator = open(&folder);
    let honest = [held("copy", &EDITED)];
    fill(&coordinator, "a", View::Raw, 1, &honest);
    fill(&coordinator, "b", View::Raw, 1, &[held("original", &ORIGINAL)]);
    let (before, _) = seen(&compared(&coordinator, 1, &["a", "b"]).await);
    assert_eq!(before["b/original"], ("near".to_owned(), Some(500)));
    fill(&coordinator, "a", View::Raw, 2, &[falsified("copy", &EDITED, &OTHER)]);
    let (after, _) = seen(&compared(&coordinator, 2, &["a", "b"]).await);
    assert_eq!(after["b/original"].0, "unique");
    fill(&coordinator, "a", View::Raw, 3, &honest);
    let (again, _) = seen(&compared(&coordinator, 3, &["a", "b"]).await);
    assert_eq!(again, before);
    close(coordinator).await;
}
