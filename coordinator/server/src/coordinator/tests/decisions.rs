//! What is decided about each document over two views, against the definition: random small trees with copies, at two and three sites. And the
//! numbers of one scan that mean the same, wherever they stand.

use std::collections::{BTreeMap, BTreeSet};

use cognate_fingerprint::View;
use cognate_proto::options::ScanView;

use super::two_views::result;
use super::*;
use crate::harness::indexes::*;
use cognate_result::report::{DocumentFilter, DocumentSection};

const PATHS: [&str; 8] = ["a/1", "a/2", "a/3", "b/1", "b/2", "c", "d/x", "e"];
const SITES: [&str; 3] = ["a", "b", "c"];

/// Random trees, unless the environment variable [`TREES_VARIABLE`] has another number.
const TREES: u64 = 120;
const TREES_VARIABLE: &str = "COGNATE_RANDOM_TREES";

/// The chunks of a document under each view.
type Views = [Option<Vec<u8>>; 2];
/// The documents of each site by their paths.
type Trees = Vec<BTreeMap<&'static str, Views>>;

/// Numbers that look random, from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// A part of one of a few texts, so that copies, versions and parts come up.
    fn chunks(&mut self) -> Vec<u8> {
        let (text, first, count) = (self.below(6) * 16, self.below(5), 1 + self.below(6));
        (first..first + count).map(|chunk| u8::try_from(text + chunk).unwrap()).collect()
    }

    fn trees(&mut self) -> Trees {
        let sites = 2 + usize::try_from(self.below(2)).unwrap();
        let document = |dice: &mut Dice| match dice.below(3) {
            0 => [Some(dice.chunks()), None],
            _ => [Some(dice.chunks()), Some(dice.chunks())],
        };
        let tree = |dice: &mut Dice| {
            let paths = PATHS.into_iter().filter(|_| dice.below(2) == 0).collect::<Vec<_>>();
            paths.into_iter().map(|path| (path, document(dice))).collect()
        };
        (0..sites).map(|_| tree(self)).collect()
    }
}

/// True if two documents are the same under a view, or linked by the thresholds.
fn are_related(a: &Views, b: &Views) -> bool {
    a.iter().zip(b).any(|views| {
        let (Some(a), Some(b)) = views else { return false };
        let [a, b] = [a, b].map(|chunks| chunks.iter().collect::<BTreeSet<_>>());
        2 * a.intersection(&b).count() >= a.len().min(b.len())
    })
}

async fn scanned(folder: &tempfile::TempDir, trees: &Trees) -> Report {
    let coordinator = open(folder);
    for (site, tree) in SITES.iter().zip(trees) {
        for (layer, view) in [View::Raw, View::Text].into_iter().enumerate() {
            let documents = tree.iter().map(|(path, views)| match &views[layer] {
                Some(chunks) => held(path, chunks),
                None => none(path, cognate_proto::batch::DocumentState::NoText),
            });
            fill(&coordinator, site, view, 1, &documents.collect::<Vec<_>>());
        }
    }
    let repositories = SITES.iter().take(trees.len()).map(|site| (site.parse().unwrap(), RepositoryName::main()));
    result(&coordinator, 1, ScanOptions { repositories: repositories.collect(), ..spec_of(ScanView::Both) }).await
}

fn listed(report: &Report, filter: &DocumentFilter) -> Vec<DocumentSection> {
    let mut all = Vec::new();
    report
        .documents_where::<Error>(filter, |document| {
            all.push(document);
            Ok(())
        })
        .unwrap();
    all
}

fn place(site: &str) -> usize {
    SITES.iter().position(|name| *name == site).unwrap()
}

/// Compares a report with the definition. Whether an absence is decided depends on what was measured; where it is said is the same everywhere.
fn check(report: &Report, trees: &Trees) {
    let documents = listed(report, &DocumentFilter::default());
    let is_at = |document: &DocumentSection, site: usize| {
        let own = &trees[place(&document.site)][document.path.as_str()];
        trees[site].values().any(|other| are_related(own, other))
    };
    for document in &documents {
        let own = place(&document.site);
        let others = (0..trees.len()).filter(|site| *site != own);
        let elsewhere = others.clone().any(|site| is_at(document, site));
        assert_eq!(document.elsewhere.as_deref() == Some("yes"), elsewhere, "{document:?} in {trees:?}");
        assert_eq!(document.partner.is_some(), elsewhere, "{document:?} in {trees:?}");
        assert_eq!(document.undecided.is_some(), document.elsewhere.as_deref() == Some("not decided"), "{document:?}");
        for other in others {
            let filter = DocumentFilter { against: Some(SITES[other].to_owned()), ..DocumentFilter::default() };
            let against = listed(report, &filter);
            let found = against.iter().find(|one| (&one.site, &one.path) == (&document.site, &document.path)).unwrap();
            let is_alone = ["unique", "undecided"].contains(&found.status.as_str());
            assert_eq!(is_alone, !is_at(document, other), "{found:?} against {other} in {trees:?}");
        }
    }
    check_sums(report, &documents, trees);
}

/// The sums of a report are those of its documents.
fn check_sums(report: &Report, documents: &[DocumentSection], trees: &Trees) {
    let count = |is: &dyn Fn(&&DocumentSection) -> bool| documents.iter().filter(is).count() as u64;
    let (only_here, sites) = (report.only_here().unwrap(), report.sites().unwrap());
    for (site, row) in SITES.iter().zip(&sites) {
        let elsewhere = |word: &str| count(&|one| one.site == *site && one.elsewhere.as_deref() == Some(word));
        let mine = || only_here.iter().filter(|row| row.site == *site);
        assert_eq!(mine().map(|row| row.documents).sum::<u64>(), elsewhere("no"), "{site} in {trees:?}");
        assert_eq!(mine().map(|row| row.undecided_documents).sum::<u64>(), elsewhere("not decided"), "{site}");
        assert_eq!(row.status.values().sum::<u64>(), row.documents, "{row:?}");
        for status in ["identical", "undecided", "unique"] {
            let of_site = count(&|one| one.site == *site && one.status == status);
            assert_eq!(row.status.get(status).copied().unwrap_or(0), of_site, "{status} at {site}");
        }
    }
    let overlap = report.overlap().unwrap();
    for row in &overlap {
        for (of, at, found, total, shared, all) in [
            (&row.a, &row.b, row.documents_a, row.documents_total_a, row.shared_bytes_a, row.bytes_total_a),
            (&row.b, &row.a, row.documents_b, row.documents_total_b, row.shared_bytes_b, row.bytes_total_b),
        ] {
            let [of, at] = [of, at].map(|site| place(site));
            let own = trees[of].values();
            let expected = own.clone().filter(|own| trees[at].values().any(|other| are_related(own, other))).count();
            assert_eq!((found, total), (expected as u64, trees[of].len() as u64), "{row:?} in {trees:?}");
            assert!(shared <= all, "{row:?}");
        }
    }
    if let [a, b] = report.changes().unwrap().as_slice() {
        for (row, site) in [(a, "a"), (b, "b")] {
            let of_site = count(&|one| one.site == site);
            assert_eq!(row.counts().iter().sum::<u64>(), of_site, "{row:?} in {trees:?}");
            // Two documents at one place that are nothing to each other nor to others changed.
            let is_alone = |one: &&DocumentSection| one.elsewhere.as_deref() != Some("yes");
            let rewritten = |one: &&DocumentSection| {
                let twin = documents.iter().find(|two| two.site != one.site && two.path == one.path);
                is_alone(one) && twin.is_some_and(|twin| is_alone(&twin))
            };
            let alone = count(&|one| one.site == site && is_alone(one) && !rewritten(one));
            assert_eq!(row.only + row.not_decided, alone, "{row:?} in {trees:?}");
        }
    }
}

#[tokio::test]
async fn what_is_elsewhere_follows_the_definition_over_all_views() {
    let count = std::env::var(TREES_VARIABLE).map_or(TREES, |count| count.parse().unwrap());
    for seed in 0..count {
        let trees = Dice(seed).trees();
        let folder = tempfile::tempdir().unwrap();
        check(&scanned(&folder, &trees).await, &trees);
    }
}

#[tokio::test]
async fn a_copy_at_its_own_site_does_not_hide_the_same_text_elsewhere() {
    let contract = [Some(vec![1, 2, 3]), Some(vec![40, 41])];
    let printed = [Some(vec![9, 10]), Some(vec![40, 41])];
    let trees: Trees = vec![
        BTreeMap::from([("a/1", contract.clone()), ("a/2", contract)]),
        BTreeMap::from([("c", printed), ("e", [Some(vec![99]), None])]),
    ];
    let folder = tempfile::tempdir().unwrap();
    let report = scanned(&folder, &trees).await;
    check(&report, &trees);
    for document in listed(&report, &DocumentFilter::default()).iter().filter(|document| document.site == "a") {
        let partner = document.partner.as_ref().unwrap();
        assert_eq!((document.status.as_str(), document.elsewhere.as_deref()), ("identical", Some("yes")));
        assert_eq!((partner.path.as_str(), partner.relation.as_str()), ("c", "identical"));
    }
    let [a, b] = report.changes().unwrap().try_into().unwrap();
    assert_eq!((a.counts(), b.moved), ([0, 0, 2, 0, 0, 0], 1));
}
