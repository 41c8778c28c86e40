//! The recall of fingerprints against cosine similarity: the paper's Figure 8, left, for every number of classes.

use cognate_fingerprint::Signature;

use crate::document::Document;
use crate::error::Error;
use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Cell, Findings, Table};
use crate::fuzzy::fingerprints::{CLASSES, DEFAULT, INTERVALS, collisions, fingerprints};
use crate::fuzzy::vectors::{SIMILAR, cosines, counted};
use crate::machine::ProcessorWatch;
use crate::methods::{common, method};
use crate::statistics::{per_cent, share};

/// The greatest share of all pairs that may be candidates, so that ten times fewer are compared than there are.
const CANDIDATES_MAX: f64 = 0.1;

/// A set of documents, measured.
pub(super) struct Measured<'a> {
    pub(super) name: &'a str,
    /// The fingerprints under the product's parameters.
    pub(super) signatures: Vec<Signature>,
    /// The processor time of finding all cosine similarities, in seconds.
    pub(super) scanning_seconds: f64,
    /// The recall of pairs by least similarity, under the product's parameters.
    curve: Vec<(f64, f64)>,
    /// The share of all pairs that are candidates, under the product's parameters.
    candidates: f64,
}

impl Measured<'_> {
    fn recall_above(&self, least: f64) -> f64 {
        self.curve.iter().find(|point| point.0 >= least - 1e-9).map_or(0.0, |point| point.1)
    }
}

/// Measures the recall by similarity in each set, under the product's parameters and under all others.
pub(super) fn recall<'a>(
    sets: &'a [(String, Vec<Document>)],
    step: &dyn Fn(&str) -> Result<(), Error>,
    findings: &mut Findings,
) -> Result<Vec<Measured<'a>>, Error> {
    let mut curves = Table::new(
        "fuzzy-recall",
        "Which share of the pairs above a cosine similarity have a fingerprint in common, by default",
        &["set", "similarity above", "pairs", "with a fingerprint in common", "recall"],
    );
    let mut grid = Table::new(
        "fuzzy-parameters",
        "Recall above 0.8, and the share of all pairs that are candidates, by k and by the intervals",
        &[
            "set",
            "k",
            "r",
            "step",
            "pairs above 0.8",
            "recall",
            "candidates, share of all pairs",
            "verified, share of candidates",
        ],
    );
    let (mut panels, mut measured) = (Vec::new(), Vec::new());
    for (name, documents) in sets {
        step(&format!("{name}: finding all cosine similarities"))?;
        let texts: Vec<&[u8]> = documents.iter().map(|document| document.bytes.as_slice()).collect();
        let counted = counted(&texts)?;
        let watch = ProcessorWatch::of_all_threads();
        let pairs = cosines(&counted, 0.3)?;
        let scanning_seconds = watch.seconds();
        step(&format!("{name}: comparing fingerprints"))?;
        let signatures = fingerprints(&method("fuzzy", DEFAULT)?, &texts)?;
        let one = Measured {
            name,
            scanning_seconds,
            curve: curve_of(name, &signatures, &pairs, &mut curves),
            candidates: collisions(&signatures),
            signatures,
        };
        let mut panel = Panel::new(
            name,
            Axis::linear("share of all pairs that are candidates, %").between(0.0, 30.0),
            Axis::linear("recall above 0.8, %").between(0.0, 100.0),
        );
        for (r, interval) in INTERVALS {
            let mut points = Vec::new();
            for k in CLASSES {
                step(&format!("{name}: k = {k}, r = {r}, step = {interval}"))?;
                let signatures = fingerprints(&method("fuzzy", &format!("k={k},r={r},step={interval}"))?, &texts)?;
                let (all, hits) = met(&signatures, &pairs, SIMILAR);
                let candidates = collisions(&signatures);
                let every = documents.len() * documents.len().saturating_sub(1) / 2;
                let verified = hits as f64 / (candidates * every as f64).max(1.0);
                grid.row([
                    name.as_str().into(),
                    Cell::Count(k.into()),
                    Cell::Count(r.into()),
                    Cell::Count(interval.into()),
                    all.into(),
                    share(hits, all).into(),
                    candidates.into(),
                    verified.into(),
                ]);
                points.push((100.0 * candidates, 100.0 * share(hits, all)));
            }
            panel.add(&format!("r = {r}, step {interval}, k from 30 to 10"), Style::Line, points.into_iter().rev());
        }
        panel.add("default", Style::Dots, [(100.0 * one.candidates, 100.0 * one.recall_above(SIMILAR))]);
        panels.push(panel);
        measured.push(one);
    }
    findings.tables.extend([grid, curves]);
    findings.figures.push(Figure::new(
        "fuzzy-recall",
        "Recall against the price, for k from 10 to 30 (Fig. 8, left)",
        panels,
    ));
    compare(&measured, findings);
    Ok(measured)
}

/// The pairs of at least this similarity, and those of them with a fingerprint in common.
fn met(signatures: &[Signature], pairs: &[(usize, usize, f64)], least: f64) -> (usize, usize) {
    let above = pairs.iter().filter(|pair| pair.2 >= least);
    above.fold((0, 0), |(all, hits), &(a, b, _)| {
        (all + 1, hits + usize::from(common(&signatures[a].features, &signatures[b].features) > 0))
    })
}

fn curve_of(name: &str, signatures: &[Signature], pairs: &[(usize, usize, f64)], table: &mut Table) -> Vec<(f64, f64)> {
    let mut curve = Vec::new();
    for step in 6..20 {
        let least = f64::from(step) / 20.0;
        let (all, hits) = met(signatures, pairs, least);
        if all > 0 {
            table.row([name.into(), least.into(), all.into(), hits.into(), share(hits, all).into()]);
            curve.push((least, share(hits, all)));
        }
    }
    curve
}

fn compare(measured: &[Measured<'_>], findings: &mut Findings) {
    let describe = |of: &dyn Fn(&Measured<'_>) -> String| {
        measured.iter().map(|one| format!("{}: {}", one.name, of(one))).collect::<Vec<_>>().join("; ")
    };
    findings.compare(
        "Fig. 8, left: recall is high above 80 %",
        "high above 80 %",
        "by default at least 75 % of the pairs above 0.8 in every set",
        describe(&|one| per_cent(one.recall_above(SIMILAR))),
        Agreement::of(measured.iter().all(|one| one.recall_above(SIMILAR) >= 0.75)),
        "the cosine by which scans and finds verify: counts of words without stop words",
    );
    findings.compare(
        "recall grows with similarity",
        "so do both curves",
        "by default recall above 0.95 is greater than above 0.8, and that than above 0.5, in every set",
        describe(&|one| [0.5, SIMILAR, 0.95].map(|least| per_cent(one.recall_above(least))).join(", ")),
        Agreement::of(measured.iter().all(|one| {
            one.recall_above(0.95) >= one.recall_above(SIMILAR) && one.recall_above(SIMILAR) > one.recall_above(0.5)
        })),
        "a pair of the same words falls into the same intervals",
    );
    findings.compare(
        "Fig. 8, right: the collision set is a small part of the collection",
        "a line close to the x-axis",
        "by default at most 10 % of all pairs are candidates in every set",
        describe(&|one| per_cent(one.candidates)),
        Agreement::of(measured.iter().all(|one| one.candidates <= CANDIDATES_MAX)),
        "a candidate costs a comparison of word counts",
    );
}
