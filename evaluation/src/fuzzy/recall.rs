//! The recall of fingerprints against cosine similarity: the paper's Figure 8, left.

use cognate_fingerprint::Signature;

use crate::document::Document;
use crate::error::Error;
use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Findings, Table};
use crate::fuzzy::fingerprints::{VARIANTS, collisions, fingerprints};
use crate::fuzzy::vectors::SIMILAR;
use crate::methods::{common, method};
use crate::statistics::{per_cent, share};

/// Measures the recall by similarity. Returns the fingerprints under the paper's parameters.
pub(super) fn recall(
    documents: &[Document],
    pairs: &[(usize, usize, f64)],
    findings: &mut Findings,
) -> Result<Vec<Signature>, Error> {
    let texts: Vec<&[u8]> = documents.iter().map(|document| document.bytes.as_slice()).collect();
    let mut table = Table::new(
        "fuzzy-recall",
        "Which share of the pairs above a cosine similarity have a fingerprint in common",
        &["parameters", "similarity above", "pairs", "with a fingerprint in common", "recall", "met by chance"],
    );
    let mut panel = Panel::new(
        "recall at similarity",
        Axis::linear("cosine similarity").between(0.3, 1.0),
        Axis::linear("recall, %").between(0.0, 100.0),
    );
    let mut described = Vec::new();
    let mut of_paper = Vec::new();
    for (place, (name, param)) in VARIANTS.into_iter().enumerate() {
        let signatures = fingerprints(&method("fuzzy", param)?, &texts)?;
        let chance = collisions(&signatures);
        let met: Vec<(f64, bool)> = pairs
            .iter()
            .map(|&(a, b, found)| (found, common(&signatures[a].features, &signatures[b].features) > 0))
            .collect();
        let mut curve = Vec::new();
        for step in 6..20 {
            let least = f64::from(step) / 20.0;
            let above: Vec<&(f64, bool)> = met.iter().filter(|(found, _)| *found >= least).collect();
            let hits = above.iter().filter(|(_, hit)| *hit).count();
            if above.is_empty() {
                continue;
            }
            let recall = share(hits, above.len());
            table.row([name.into(), least.into(), above.len().into(), hits.into(), recall.into(), chance.into()]);
            curve.push((least, 100.0 * recall));
        }
        let at = |least: f64| curve.iter().find(|point| point.0 >= least - 1e-9).map_or(0.0, |point| point.1 / 100.0);
        described.push((name, at(SIMILAR), at(0.95), chance));
        panel.add(name, Style::Line, curve);
        if place == 0 {
            of_paper = signatures;
        }
    }
    panel.add("similar (the paper's shaded area)", Style::Dashed, [(SIMILAR, 0.0), (SIMILAR, 100.0)]);
    findings.tables.push(table);
    findings.figures.push(Figure::new("fuzzy-recall", "Recall against cosine similarity (Fig. 8, left)", vec![panel]));
    let (_, similar, very, chance) = described[0];
    let others: Vec<String> = described[1..]
        .iter()
        .map(|(name, similar, very, _)| format!("{name}: {} and {}", per_cent(*similar), per_cent(*very)))
        .collect();
    findings.compare(
        "Fig. 8, left: recall is high above 80 %",
        "high above 80 %",
        format!("{} of the pairs above 0.8, {} of those above 0.95; {}", per_cent(similar), per_cent(very), others.join("; ")),
        if similar >= 0.75 { Agreement::Yes } else if very >= 0.75 || similar > 3.0 * chance { Agreement::Partly } else { Agreement::No },
        "the paper gives neither intervals nor hash: ours are in docs/fingerprint.md, and decide between recall and the size \
         of the collision set, as the variants show",
    );
    let falls = described[0].1 <= described[0].2;
    findings.compare(
        "recall grows with similarity",
        "so do both curves",
        format!(
            "{} above 0.8, {} above 0.95, {} of any two documents",
            per_cent(similar),
            per_cent(very),
            per_cent(chance)
        ),
        Agreement::of(falls),
        "a pair of the same words falls into the same intervals",
    );
    Ok(of_paper)
}
