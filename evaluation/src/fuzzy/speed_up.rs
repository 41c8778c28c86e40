//! The speed-up of a query by fingerprints: the paper's Figure 8, right.

use cognate_fingerprint::Signature;

use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Findings, Table};
use crate::fuzzy::fingerprints::collisions;
use crate::fuzzy::recall::Measured;
use crate::machine::ProcessorWatch;
use crate::rng::Rng;
use crate::setting::Setting;

/// Passes over all collisions that are timed.
const PASSES: usize = 9;

/// Measures the documents that a query is compared with, by the size of the collection.
pub(super) fn speed_up(setting: &Setting<'_>, measured: &Measured<'_>, findings: &mut Findings) {
    let Measured { name, ref signatures, scanning_seconds, .. } = *measured;
    let mut table = Table::new(
        &format!("fuzzy-speed-{name}"),
        &format!("Documents that a query meets: {name}"),
        &["collection", "met by a query, mean", "speed-up"],
    );
    let mut order: Vec<(u64, usize)> = Vec::new();
    let mut rng = Rng::of(setting.seed, 7);
    (0..signatures.len()).for_each(|number| order.push((rng.next(), number)));
    order.sort_unstable();
    let mut met = Vec::new();
    for tenth in 1..=10 {
        let size = signatures.len() * tenth / 10;
        let part: Vec<Signature> = order[..size].iter().map(|(_, number)| signatures[*number].clone()).collect();
        let mean = collisions(&part) * (size as f64 - 1.0);
        table.row([size.into(), mean.into(), (size as f64 / (mean + 1.0)).into()]);
        met.push((size as f64, mean + 1.0));
    }
    // Other programs at most add to a pass: the least of several is nearest to what it takes.
    let passes = (0..PASSES).map(|_| {
        let watch = ProcessorWatch::of_all_threads();
        let _ = collisions(signatures);
        watch.seconds()
    });
    let colliding = passes.fold(f64::INFINITY, f64::min);
    findings.tables.push(table);
    let mut panel = Panel::new(
        "documents compared for a query",
        Axis::linear("documents in the collection"),
        Axis::linear("documents compared"),
    );
    panel.add("all: a sequential scan", Style::Dashed, met.iter().map(|(size, _)| (*size, *size)));
    panel.add("those with a fingerprint in common", Style::Line, met);
    findings.figures.push(Figure::new(
        &format!("fuzzy-speed-{name}"),
        &format!("Retrieval speed-up: {name} (Fig. 8, right)"),
        vec![panel],
    ));
    findings.compare(
        &format!("3.1: grouping by fingerprint is ten times as fast: {name}"),
        "an order of magnitude",
        "more than ten times as fast",
        format!(
            "{:.1} ms to find all collisions, {:.0} ms to find all cosine similarities",
            1e3 * colliding,
            1e3 * scanning_seconds
        ),
        Agreement::of(scanning_seconds > 10.0 * colliding),
        "all pairs, processor time, without making fingerprints and vectors",
    );
}
