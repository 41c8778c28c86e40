//! The speed-up of a query by fingerprints: the paper's Figure 8, right.

use cognate_fingerprint::Signature;

use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Findings, Table};
use crate::fuzzy::fingerprints::collisions;
use crate::machine::Stopwatch;
use crate::rng::Rng;
use crate::setting::Setting;
use crate::statistics::per_cent;

/// Measures the documents that a query is compared with, by the size of the collection. `scanning` is the time of finding all
/// cosine similarities, in seconds.
pub(super) fn speed_up(setting: &Setting<'_>, signatures: &[Signature], scanning: f64, findings: &mut Findings) {
    let mut table =
        Table::new("fuzzy-speed", "Documents that a query meets", &["collection", "met by a query, mean", "speed-up"]);
    let mut order: Vec<(u64, usize)> = Vec::new();
    let mut rng = Rng::of(setting.seed, 7);
    (0..signatures.len()).for_each(|number| order.push((rng.next(), number)));
    order.sort_unstable();
    let (mut met, mut factor) = (Vec::new(), 0.0);
    for tenth in 1..=10 {
        let size = signatures.len() * tenth / 10;
        let part: Vec<Signature> = order[..size].iter().map(|(_, number)| signatures[*number].clone()).collect();
        let mean = collisions(&part) * (size as f64 - 1.0);
        factor = size as f64 / (mean + 1.0);
        table.row([size.into(), mean.into(), factor.into()]);
        met.push((size as f64, mean + 1.0));
    }
    let watch = Stopwatch::start();
    let share_met = collisions(signatures);
    let colliding = watch.seconds();
    findings.tables.push(table);
    let mut panel = Panel::new(
        "documents compared for a query",
        Axis::linear("documents in the collection"),
        Axis::linear("documents compared"),
    );
    panel.add("all: a sequential scan", Style::Dashed, met.iter().map(|(size, _)| (*size, *size)));
    panel.add("those with a fingerprint in common", Style::Line, met);
    findings.figures.push(Figure::new("fuzzy-speed", "Retrieval speed-up (Fig. 8, right)", vec![panel]));
    findings.compare(
        "Fig. 8, right: the collision set is a small part of the collection",
        "a line close to the x-axis",
        format!("{} of the collection: {factor:.0} times fewer comparisons", per_cent(share_met)),
        Agreement::of(factor >= 10.0),
        "collection divided by collision set, the query itself included",
    );
    findings.compare(
        "3.1: grouping by fingerprint is at least ten times as fast as by similarity",
        "an order of magnitude",
        format!(
            "{:.1} ms to find all collisions, {:.0} ms to find all cosine similarities",
            1e3 * colliding,
            1e3 * scanning
        ),
        Agreement::of(scanning > 10.0 * colliding),
        "the same documents, all pairs; fingerprinting itself not counted, as vectors are not either",
    );
}
