//! The findings: a table, a picture for each corpus, the pairs with the greatest errors, and the aims.

use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Cell, Findings, Table};
use crate::in_common::measure::{WAY_COUNT, ways};
use crate::in_common::{Corpus, Measured};
use crate::statistics::share;

/// The place of the product's default among the ways.
const DEFAULT: usize = WAY_COUNT - 1;
/// Pairs with the greatest errors that are listed of each corpus.
const WORST: usize = 6;
/// Pairs of each kind that a picture shows; they come in the order in which they were drawn.
const DRAWN: usize = 200;

/// The aims, in points, and the share of pairs.
const ERROR_MEDIAN_MAX: f64 = 4.0;
const ERROR_P90_MAX: f64 = 15.0;
const LESS_THAN_HALF_MAX: f64 = 0.02;
const EXCESS_P90_MAX: f64 = 2.0;

/// The errors of one way in one corpus, in points.
pub(super) struct Errors {
    pub(super) median: f64,
    pub(super) p90: f64,
    /// Pairs that truly share half or more.
    pub(super) half: usize,
    /// Those of them that are reported less than half.
    pub(super) reported_less: usize,
    /// Reported less truth among unrelated pairs, at the 90th percentile; none without such pairs.
    pub(super) excess_p90: Option<f64>,
    tags_per_100_bytes: f64,
    reported_median: f64,
}

impl Errors {
    pub(super) fn of(corpus: &Corpus, way: usize) -> Errors {
        let pairs = &corpus.related;
        let errors: Vec<f64> = pairs.iter().map(|pair| 100.0 * (pair.reported[way] - pair.truth).abs()).collect();
        let excess: Vec<f64> = corpus.unrelated.iter().map(|pair| 100.0 * (pair.reported[way] - pair.truth)).collect();
        let reported: Vec<f64> = pairs.iter().map(|pair| 100.0 * pair.reported[way]).collect();
        let half = || pairs.iter().filter(|pair| pair.truth >= 0.5);
        let tags: usize = pairs.iter().map(|pair| pair.tags[way]).sum();
        Errors {
            median: quantile(&errors, 0.5).unwrap_or(0.0),
            p90: quantile(&errors, 0.9).unwrap_or(0.0),
            half: half().count(),
            reported_less: half().filter(|pair| pair.reported[way] < 0.5).count(),
            excess_p90: quantile(&excess, 0.9),
            tags_per_100_bytes: 100.0 * share(tags, pairs.iter().map(|pair| pair.both_bytes).sum()),
            reported_median: quantile(&reported, 0.5).unwrap_or(0.0),
        }
    }
}

/// The value that a share of all values is at most; none if there are no values.
pub(super) fn quantile(values: &[f64], at: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = crate::statistics::truncated(at * sorted.len().saturating_sub(1) as f64);
    sorted.get(place).copied()
}

pub(super) fn findings(corpora: &[Corpus]) -> Findings {
    let mut findings =
        Findings::new("Reported shares against the truth", "The aims are of this project; no paper has these figures.");
    findings.against_aims = true;
    let names: Vec<&str> = corpora.iter().map(|corpus| corpus.name.as_str()).collect();
    findings.fact("folders", names.join(", "));
    findings.fact("documents", "2 to 400 KB, of one path in both folders, of different bytes");
    findings.fact("truth", "bytes of the first document in windows of 32 bytes that occur in the second");
    findings.tables.push(summary(corpora));
    for (number, corpus) in (1..).zip(corpora) {
        aims(&mut findings, corpus);
        findings.figures.push(figure(number, corpus));
    }
    findings.tables.push(worst(corpora));
    findings.remark(
        "An error is the difference between the reported and the true share of the first document, in points. A pair is measured by the code of a comparison, without a threshold. The pairs have one path, so they are candidates; renamed documents are not measured.",
    );
    findings.remark(
        "Unrelated pairs are the first document of one pair and the second one of another pair with the same suffix and another name. Frames and licences that they share are true shares.",
    );
    findings.remark(format!("A picture shows the first {DRAWN} pairs of each kind."));
    findings.remark(
        "Documents are compared by their bytes, and office files, PDF and mail by their text, as a comparison does by default. \
         The contracts are made from the seed (--office-set): one template, drafted and signed.",
    );
    findings
}

fn summary(corpora: &[Corpus]) -> Table {
    let mut table = Table::new(
        "in-common-errors",
        "Reported against true shares",
        &[
            "corpus",
            "pairs",
            "truly in common, median %",
            "measured by",
            "reported, median %",
            "error, median points",
            "error, p90 points",
            "truly half or more",
            "of these reported less",
            "unrelated pairs",
            "reported above truth, unrelated, p90 points",
            "tags for 100 bytes",
        ],
    );
    for corpus in corpora {
        let truth: Vec<f64> = corpus.related.iter().map(|pair| 100.0 * pair.truth).collect();
        for (place, way) in ways(corpus.by_text).iter().enumerate() {
            let errors = Errors::of(corpus, place);
            table.row([
                Cell::from(corpus.name.as_str()),
                corpus.related.len().into(),
                quantile(&truth, 0.5).into(),
                way.name.into(),
                errors.reported_median.into(),
                errors.median.into(),
                errors.p90.into(),
                errors.half.into(),
                errors.reported_less.into(),
                corpus.unrelated.len().into(),
                errors.excess_p90.into(),
                errors.tags_per_100_bytes.into(),
            ]);
        }
    }
    table
}

fn aims(findings: &mut Findings, corpus: &Corpus) {
    let (errors, before) = (Errors::of(corpus, DEFAULT), Errors::of(corpus, 0));
    let coarse = |figure: String| format!("{figure} by whole chunks");
    let name = &corpus.name;
    findings.compare(
        &format!("{name}: median error"),
        "at most 4 points",
        "",
        format!("{:.1}", errors.median),
        Agreement::of(errors.median <= ERROR_MEDIAN_MAX),
        coarse(format!("{:.1}", before.median)),
    );
    findings.compare(
        &format!("{name}: error at the 90th percentile"),
        "at most 15 points",
        "",
        format!("{:.1}", errors.p90),
        Agreement::of(errors.p90 <= ERROR_P90_MAX),
        coarse(format!("{:.1}", before.p90)),
    );
    findings.compare(
        &format!("{name}: truly half or more, reported less"),
        "at most 2 % of the pairs",
        "",
        format!("{} of {}", errors.reported_less, errors.half),
        match errors.half {
            0 => Agreement::Other,
            half => Agreement::of(share(errors.reported_less, half) <= LESS_THAN_HALF_MAX),
        },
        coarse(before.reported_less.to_string()),
    );
    findings.compare(
        &format!("{name}: unrelated pairs above the truth at the 90th percentile"),
        "at most 2 points",
        "",
        errors.excess_p90.map_or_else(|| "no pairs".to_owned(), |excess| format!("{excess:.1}")),
        errors.excess_p90.map_or(Agreement::Other, |excess| Agreement::of(excess <= EXCESS_P90_MAX)),
        before.excess_p90.map_or_else(String::new, |excess| coarse(format!("{excess:.1}"))),
    );
}

fn figure(number: usize, corpus: &Corpus) -> Figure {
    let axis = |label: &str| Axis::linear(label).between(0.0, 100.0);
    let panels = ways(corpus.by_text).iter().enumerate().map(|(place, way)| {
        let mut panel = Panel::new(way.name, axis("truly in common, %"), axis("reported, %"));
        panel.add("reported is true", Style::Dashed, [(0.0, 0.0), (100.0, 100.0)]);
        let point = |pair: &Measured| (100.0 * pair.truth, 100.0 * pair.reported[place]);
        panel.add("pairs of one path", Style::Dots, corpus.related.iter().take(DRAWN).map(point));
        panel.add("unrelated pairs", Style::Dots, corpus.unrelated.iter().take(DRAWN).map(point));
        panel
    });
    Figure::new(&format!("in-common-{number}"), &format!("Reported and true shares: {}", corpus.name), panels.collect())
}

fn worst(corpora: &[Corpus]) -> Table {
    let mut table = Table::new(
        "in-common-worst",
        "The pairs with the greatest errors, with fine chunks",
        &["corpus", "path", "bytes", "truly in common, %", "reported, %", "by whole chunks, %"],
    );
    for corpus in corpora {
        let error = |pair: &&Measured| (pair.reported[DEFAULT] - pair.truth).abs();
        let mut pairs: Vec<&Measured> = corpus.related.iter().collect();
        pairs.sort_by(|a, b| error(b).total_cmp(&error(a)).then_with(|| a.path.cmp(&b.path)));
        for pair in pairs.into_iter().take(WORST) {
            table.row([
                Cell::from(corpus.name.as_str()),
                pair.path.as_str().into(),
                pair.size_bytes.into(),
                (100.0 * pair.truth).into(),
                (100.0 * pair.reported[DEFAULT]).into(),
                (100.0 * pair.reported[0]).into(),
            ]);
        }
    }
    table
}
