//! `broder-web`: greedy clustering of a collection at 50 % resemblance (Broder 1997, introduction and 4.4).
//!
//! Each document joins the cluster whose first member resembles it most, if that is at least the threshold; else it begins a
//! cluster. A table from fingerprints to clusters finds the clusters that are worth a comparison.

mod representatives;

use std::collections::BTreeMap;

use cognate_fingerprint::{Method, Signature};

use self::representatives::Representative;

use crate::corpus::{Selection, load};
use crate::document::{Document, total_bytes};
use crate::error::Error;
use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Findings, Table};
use crate::machine::Stopwatch;
use crate::methods::{common, method, sign, signer};
use crate::rng::Rng;
use crate::setting::Setting;
use crate::statistics::{per_cent, share};
use crate::threads::each;

const THRESHOLD: f64 = 0.5;
/// The number of clusters that a document is compared with: those with most fingerprints in common.
const COMPARED_MAX: usize = 8;

/// The result of clustering.
struct Clustered {
    /// Documents by cluster, in the order in which they came.
    clusters: Vec<Vec<usize>>,
    comparisons: usize,
}

/// The numbers that the paper reports.
struct Counts {
    clusters: usize,
    documents: usize,
    identical_clusters: usize,
    identical_documents: usize,
}

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    let selection = Selection {
        bytes_min: 300,
        bytes_max: 4 << 20,
        documents_max: setting.either(5000, usize::MAX),
        total_bytes_max: setting.either(60 << 20, 2 << 30),
        text: true,
    };
    let documents = load(setting, &selection, 3000, 5000)?;
    if documents.len() < 20 {
        return Err(setting.corpus_lacks(format!("{} texts", documents.len()), "some hundred"));
    }
    let method = method("shingle", "w=10,option=b,sample=min,s=200")?;
    setting.step("sketching", 0, 3)?;
    let watch = Stopwatch::start();
    let sketches = each(documents.len(), |number| sign(&mut signer(&method), &documents[number].bytes))?;
    let sketching = watch.seconds();
    setting.step("clustering", 1, 3)?;
    let watch = Stopwatch::start();
    let order: Vec<usize> = (0..documents.len()).collect();
    let clustered = greedy(&method, &sketches, &order);
    let clustering = watch.seconds();
    let mut findings =
        Findings::new("Greedy clustering at 50 % resemblance", "Broder 1997, introduction and section 4.4.");
    findings.fact("corpus", setting.corpus_name());
    findings.fact("documents", format!("{}, what a reader sees of them", documents.len()));
    findings.fact("bytes of text", total_bytes(&documents));
    findings.fact("sketch", "the 200 smallest of all shingles of 10 words, option B");
    findings.fact("sketching, s", format!("{sketching:.2}"));
    findings.fact("clustering, s", format!("{clustering:.2}"));
    let counts = count(&documents, &clustered.clusters);
    report(&documents, &clustered, &counts, &mut findings);
    setting.step("clustering in other orders", 2, 3)?;
    orders(setting, &method, &sketches, &documents, &counts, &mut findings);
    chains(&method, &sketches, &clustered, &mut findings);
    representatives::compare(setting, &documents, &method, &sketches, &mut findings)?;
    Ok(findings)
}

/// Clusters documents in an order.
fn greedy(method: &Method, sketches: &[Signature], order: &[usize]) -> Clustered {
    let (clusters, comparisons) = representatives::greedy(method, sketches, order, Representative::First);
    Clustered { clusters, comparisons }
}

fn count(documents: &[Document], clusters: &[Vec<usize>]) -> Counts {
    let several: Vec<&Vec<usize>> = clusters.iter().filter(|cluster| cluster.len() > 1).collect();
    let all_equal =
        |cluster: &&&Vec<usize>| cluster.iter().all(|member| documents[*member].bytes == documents[cluster[0]].bytes);
    let identical: Vec<&&Vec<usize>> = several.iter().filter(all_equal).collect();
    Counts {
        clusters: several.len(),
        documents: several.iter().map(|cluster| cluster.len()).sum(),
        identical_clusters: identical.len(),
        identical_documents: identical.iter().map(|cluster| cluster.len()).sum(),
    }
}

fn report(documents: &[Document], clustered: &Clustered, counts: &Counts, findings: &mut Findings) {
    let mut table = Table::new("broder-web", "Clusters of two documents or more", &["", "the paper", "here"]);
    let mut row = |name: &str, paper: &str, ours: usize| table.row([name.into(), paper.into(), ours.into()]);
    row("documents in all", "30 million", documents.len());
    row("clusters", "3.6 million", counts.clusters);
    row("documents in them", "12.3 million", counts.documents);
    row("clusters of identical documents alone", "2.1 million", counts.identical_clusters);
    row("documents in them", "5.3 million", counts.identical_documents);
    row("mixed clusters", "1.5 million", counts.clusters - counts.identical_clusters);
    row("documents in them", "7 million", counts.documents - counts.identical_documents);
    row("comparisons of sketches", "", clustered.comparisons);
    findings.tables.push(table);
    let in_clusters = share(counts.documents, documents.len());
    let identical = share(counts.identical_clusters, counts.clusters);
    let size = share(counts.documents, counts.clusters);
    findings.compare(
        "documents in clusters",
        "41 %",
        "none: a matter of the collection",
        per_cent(in_clusters),
        Agreement::Other,
        "a matter of the collection: theirs is the Web of 1996; this one has several versions of a document",
    );
    findings.compare(
        "clusters of identical documents alone",
        "58 % of the clusters, 43 % of their documents",
        "none: a matter of the collection",
        format!("{} and {}", per_cent(identical), per_cent(share(counts.identical_documents, counts.documents))),
        Agreement::Other,
        "identical here: the same text, whatever the bytes around it",
    );
    findings.compare(
        "documents a cluster",
        "3.4",
        "none: a matter of the collection",
        format!("{size:.1}"),
        Agreement::Other,
        "again the collection",
    );
    let quadratic = documents.len() * documents.len() / 2;
    findings.compare(
        "4.4: a fingerprint belongs to few clusters, so the time is O(r·s)",
        "linear in the documents",
        "at most ten comparisons a document",
        format!(
            "{:.1} comparisons a document, not {}",
            share(clustered.comparisons, documents.len()),
            quadratic / documents.len().max(1)
        ),
        Agreement::of(clustered.comparisons <= 10 * documents.len()),
        "only the eight clusters with most common fingerprints are compared",
    );
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    clustered.clusters.iter().for_each(|cluster| *sizes.entry(cluster.len()).or_insert(0) += 1);
    let mut panel = Panel::new("clusters by size", Axis::log("documents in a cluster"), Axis::log("clusters"));
    panel.add("clusters", Style::Dots, sizes.iter().map(|(size, count)| (*size as f64, *count as f64)));
    findings.figures.push(Figure::new("broder-web", "How large clusters are", vec![panel]));
}

/// Measures the influence of the order of the documents.
fn orders(
    setting: &Setting<'_>,
    method: &Method,
    sketches: &[Signature],
    documents: &[Document],
    counts: &Counts,
    findings: &mut Findings,
) {
    let shuffled = |round: u64| {
        let mut rng = Rng::of(setting.seed, round);
        let mut order: Vec<(u64, usize)> = (0..sketches.len()).map(|number| (rng.next(), number)).collect();
        order.sort_unstable();
        count(
            documents,
            &greedy(method, sketches, &order.into_iter().map(|(_, number)| number).collect::<Vec<_>>()).clusters,
        )
    };
    let others: Vec<usize> = (1..=3).map(|round| shuffled(round).clusters).collect();
    let spread = others.iter().map(|other| other.abs_diff(counts.clusters)).max().unwrap_or(0);
    findings.compare(
        "greedy clusters depend on the order of the documents",
        "not discussed",
        "none: the paper claims nothing",
        format!("{} clusters in order of paths; {others:?} in three random orders", counts.clusters),
        Agreement::Other,
        format!(
            "{} at most: connected components, the default of a scan, do not depend on it",
            per_cent(share(spread, counts.clusters))
        ),
    );
}

/// Counts the members of a cluster that resemble its first member but not each other.
fn chains(method: &Method, sketches: &[Signature], clustered: &Clustered, findings: &mut Findings) {
    let (mut pairs, mut below) = (0, 0);
    for cluster in clustered.clusters.iter().filter(|cluster| (3..=60).contains(&cluster.len())) {
        for (place, a) in cluster.iter().enumerate().skip(1) {
            for b in &cluster[place + 1..] {
                // Cheap first: with half of the smallest in common the estimate is about a third.
                let (a, b) = (&sketches[*a], &sketches[*b]);
                pairs += 1;
                let is_far = common(&a.features, &b.features) < 60
                    || method.likeness(a, b).resemblance.is_none_or(|found| found.ratio() < THRESHOLD);
                below += usize::from(is_far);
            }
        }
    }
    findings.compare(
        "2: resemblance is not transitive",
        "stated",
        "at least one pair of members resembles its first member and not each other",
        format!("{below} of {pairs} pairs of members (less the first) resemble each other by less than 50 %"),
        if pairs == 0 { Agreement::Other } else { Agreement::of(below > 0) },
        "members resemble the first one; families of a report are made in the same way, at 80 %",
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Generator;

    #[test]
    fn versions_and_copies_join_the_first_and_others_begin_clusters_of_their_own() {
        let mut generator = Generator::new(3);
        let (base, other) = (generator.paragraph(800), generator.paragraph(800));
        let version = format!("{base} {}", generator.paragraph(100));
        let texts = [&base, &other, &version, &base];
        let documents: Vec<Document> =
            texts.map(|text| Document { path: String::new(), bytes: text.clone().into_bytes() }).into();
        let method = method("shingle", "w=10,option=b,sample=min,s=200").unwrap();
        let sketches: Vec<Signature> =
            documents.iter().map(|document| sign(&mut signer(&method), &document.bytes).unwrap()).collect();
        let found = greedy(&method, &sketches, &[0, 1, 2, 3]);
        assert_eq!(found.clusters, [vec![0, 2, 3], vec![1]]);
        let counts = count(&documents, &found.clusters);
        assert_eq!((counts.clusters, counts.documents, counts.identical_clusters), (1, 3, 0));
    }
}
