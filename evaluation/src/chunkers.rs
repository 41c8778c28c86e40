//! `chunkers`: TTTD against the basic sliding window, fixed lengths and `FastCDC`.
//!
//! Forman et al. (2005) say in 2.3 that TTTD finds more than the basic sliding window at the same mean, show no figure,
//! and refer to another report. This experiment measures the share of the bytes that two documents truly share (`SharedRuns`)
//! which are in chunks that both have, the size of the metadata, and the probability that a shared run holds a complete
//! shared chunk.

mod cut;

use std::collections::HashSet;

use cognate_fingerprint::{EXACT_WINDOW_BYTES, SharedRuns, WindowIndex};

use crate::chunkers::cut::Chunker;
use crate::corpus::{Selection, load};
use crate::document::{Document, total_bytes};
use crate::error::Error;
use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Findings, Table};
use crate::relatives::closest_pairs;
use crate::rng::Rng;
use crate::setting::Setting;
use crate::statistics::{per_cent, share, truncated};

/// The bytes of a tag and a length, for each chunk of a document.
const METADATA_BYTES: usize = 20;
/// The wanted means. The crate `fastcdc` begins at 256.
const MEANS: [usize; 6] = [100, 200, 500, 1000, 2000, 5000];
/// The mean at which chunkers are compared by length of document and by length of run.
const MEAN: usize = 1000;
/// Classes of documents by their size in bytes.
const LENGTHS: [(usize, &str); 5] = [
    (4 << 10, "< 4 KiB"),
    (16 << 10, "4-16 KiB"),
    (64 << 10, "16-64 KiB"),
    (256 << 10, "64-256 KiB"),
    (usize::MAX, "> 256 KiB"),
];
/// Lengths of planted runs, in means.
const RUNS: [f64; 13] = [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0];

/// Two documents, and the bytes of the first that the second has too.
struct Pair<'a> {
    a: &'a [u8],
    b: &'a [u8],
    truth: SharedRuns,
}

/// The results of a chunker over some pairs.
#[derive(Clone, Copy, Default)]
struct Sum {
    pairs: usize,
    bytes: usize,
    chunks: usize,
    shared: usize,
    found: usize,
}

impl Sum {
    fn add(&mut self, other: &Sum) {
        self.pairs += other.pairs;
        self.bytes += other.bytes;
        self.chunks += other.chunks;
        self.shared += other.shared;
        self.found += other.found;
    }

    fn recall(&self) -> f64 {
        share(self.found, self.shared)
    }

    fn metadata(&self) -> f64 {
        share(self.chunks * METADATA_BYTES, self.bytes)
    }

    fn mean(&self) -> f64 {
        share(self.bytes, self.chunks)
    }
}

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    let selection = Selection {
        bytes_min: 512,
        bytes_max: 4 << 20,
        documents_max: setting.either(3000, usize::MAX),
        total_bytes_max: setting.either(40 << 20, usize::MAX),
        text: false,
    };
    let documents = load(setting, &selection, 1000, 12_000)?;
    let pairs = truths(setting, &documents)?;
    let mut findings = Findings::new(
        "Ways to cut: what is found of what is shared",
        "Forman, Eshghi, Chiocchetti 2005, sections 2.2 and 2.3: TTTD against the basic sliding window; fixed lengths and \
         FastCDC beside them.",
    );
    findings.fact("corpus", setting.corpus_name());
    findings.fact("documents", documents.len());
    findings.fact("bytes", total_bytes(&documents));
    findings.fact("pairs of relatives", pairs.len());
    findings.fact(
        "shared bytes",
        format!(
            "{} (in runs of {EXACT_WINDOW_BYTES} bytes or more)",
            pairs.iter().map(|pair| pair.truth.bytes()).sum::<usize>()
        ),
    );
    findings.fact("metadata", format!("{METADATA_BYTES} bytes a chunk"));

    let by_mean = by_mean(setting, &pairs, &mut findings)?;
    let by_length = by_length(setting, &pairs, &mut findings)?;
    let found = planted(setting, &documents, &mut findings)?;
    findings.figures.push(Figure::new(
        "chunkers",
        "Recall of truly shared bytes, its price, and the probability that a shared run is found",
        vec![by_mean, by_length, found.0, found.1],
    ));
    findings.remark(format!(
        "Recall: of the bytes in runs of {EXACT_WINDOW_BYTES} bytes or more that the relative has, those in chunks that it has. \
         Fixed lengths find only what precedes the first edit."
    ));
    findings.remark(
        "The basic sliding window makes many very short chunks, which cost as much metadata as long ones, and some very long ones, which the first edit loses.",
    );
    Ok(findings)
}

/// The pairs with the runs that they truly share.
fn truths<'a>(setting: &Setting<'_>, documents: &'a [Document]) -> Result<Vec<Pair<'a>>, Error> {
    let close = closest_pairs(documents);
    let mut pairs = Vec::with_capacity(close.len());
    for (number, &(a, b)) in close.iter().enumerate() {
        if number % 16 == 0 {
            setting.step("finding what is truly shared", number, close.len())?;
        }
        let (a, b) = (&documents[a].bytes, &documents[b].bytes);
        pairs.push(Pair { a, b, truth: WindowIndex::of(b, EXACT_WINDOW_BYTES).shared_runs(a) });
    }
    if pairs.is_empty() {
        return Err(setting.corpus_lacks(
            format!("{} documents and no two that share much", documents.len()),
            "versions of documents",
        ));
    }
    Ok(pairs)
}

fn measure(chunker: &Chunker, pair: &Pair<'_>) -> Sum {
    let in_b: HashSet<&[u8]> = chunker.chunks(pair.b).map(|(start, end)| &pair.b[start..end]).collect();
    let mut sum = Sum { pairs: 1, bytes: pair.a.len(), shared: pair.truth.bytes(), ..Sum::default() };
    for (start, end) in chunker.chunks(pair.a) {
        sum.chunks += 1;
        if in_b.contains(&pair.a[start..end]) {
            sum.found += pair.truth.within(start, end);
        }
    }
    sum
}

fn by_mean(setting: &Setting<'_>, pairs: &[Pair<'_>], findings: &mut Findings) -> Result<Panel, Error> {
    let mut panel = Panel::new(
        "(a) recall against metadata",
        Axis::log("metadata, % of the content"),
        Axis::linear("recall of shared bytes, %").between(0.0, 100.0),
    );
    let mut table = Table::new(
        "chunkers-means",
        "Recall and metadata at six means",
        &["chunker", "wanted mean", "mean", "chunks", "metadata share", "recall"],
    );
    let mut curves: Vec<(&str, Vec<Sum>)> = Vec::new();
    for (number, kind) in cut::KINDS.iter().enumerate() {
        let mut curve = Vec::new();
        for mean in MEANS {
            setting.step("cutting", number * MEANS.len() + curve.len(), cut::KINDS.len() * MEANS.len())?;
            let Some(chunker) = Chunker::new(kind, mean) else { continue };
            let mut sum = Sum::default();
            pairs.iter().for_each(|pair| sum.add(&measure(&chunker, pair)));
            table.row([
                (*kind).into(),
                mean.into(),
                sum.mean().into(),
                sum.chunks.into(),
                sum.metadata().into(),
                sum.recall().into(),
            ]);
            curve.push(sum);
        }
        panel.add(kind, Style::Line, curve.iter().map(|sum| (100.0 * sum.metadata(), 100.0 * sum.recall())));
        curves.push((kind, curve));
    }
    compare_curves(&curves, findings);
    findings.tables.push(table);
    Ok(panel)
}

/// The recall of a curve at a share of metadata, interpolated between its points on a logarithmic axis.
fn recall_at(curve: &[Sum], metadata: f64) -> Option<f64> {
    curve.windows(2).find_map(|ends| {
        let [more, less] = ends else { return None };
        let (from, to) = (less.metadata().ln(), more.metadata().ln());
        let along = (metadata.ln() - from) / (to - from);
        (0.0..=1.0).contains(&along).then(|| less.recall() + along * (more.recall() - less.recall()))
    })
}

fn compare_curves(curves: &[(&str, Vec<Sum>)], findings: &mut Findings) {
    let curve = |name: &str| curves.iter().find(|(kind, _)| *kind == name).map_or(&[][..], |(_, curve)| curve);
    let (tttd, basic, fast) = (curve(cut::TTTD), curve(cut::BASIC), curve(cut::FASTCDC));
    let at = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2];
    let against = |other: &[Sum]| -> Vec<(f64, f64, f64)> {
        at.iter().filter_map(|&cost| Some((cost, recall_at(tttd, cost)?, recall_at(other, cost)?))).collect()
    };
    let describe = |points: &[(f64, f64, f64)]| {
        let describe = |(cost, ours, theirs): &(f64, f64, f64)| {
            format!("{} of metadata: {} and {}", per_cent(*cost), per_cent(*ours), per_cent(*theirs))
        };
        points.iter().map(describe).collect::<Vec<_>>().join("; ")
    };
    let better = |points: &[(f64, f64, f64)]| {
        let wins = points.iter().filter(|(_, ours, theirs)| ours >= theirs).count();
        if wins == points.len() && wins > 0 { Agreement::Yes } else { Agreement::No }
    };
    let basic = against(basic);
    findings.compare(
        "2.3: TTTD finds more than the basic sliding window at the same mean",
        "said, not shown",
        "TTTD finds as much or more at every price",
        describe(&basic),
        better(&basic),
        "a least length saves metadata of crumbs, a greatest one loses no long chunks",
    );
    let fast = against(fast);
    findings.compare(
        "FastCDC (2016, 2020), which the paper could not know",
        "none",
        "none: the paper claims nothing",
        describe(&fast),
        Agreement::Other,
        "TTTD first, FastCDC second; which is ahead depends on the mean",
    );
    let metadata =
        |mean: usize| MEANS.iter().position(|known| *known == mean).and_then(|at| tttd.get(at)).map(Sum::metadata);
    if let (Some(coarse), Some(fine)) = (metadata(1000), metadata(100)) {
        findings.compare(
            "4: metadata are 1-3 % of the content",
            "1-3 %",
            "1 to 3 % at the default mean of 1000",
            format!("{} at a mean of 1000, {} at 100", per_cent(coarse), per_cent(fine)),
            Agreement::of((0.01..=0.03).contains(&coarse)),
            "20 bytes a chunk; at a mean of 100 no 128-bit hash can keep to it",
        );
    }
}

fn by_length(setting: &Setting<'_>, pairs: &[Pair<'_>], findings: &mut Findings) -> Result<Panel, Error> {
    let mut panel = Panel::new(
        "(b) recall by length of document, mean 1000",
        Axis::log("length, bytes"),
        Axis::linear("recall of shared bytes, %").between(0.0, 100.0),
    );
    let mut table = Table::new(
        "chunkers-lengths",
        "Recall by length of document, at a mean of 1000",
        &["chunker", "documents of", "pairs", "bytes", "mean", "metadata share", "recall"],
    );
    for kind in cut::KINDS {
        setting.step("cutting by length", 0, 1)?;
        let Some(chunker) = Chunker::new(kind, MEAN) else { continue };
        let mut sums = [Sum::default(); LENGTHS.len()];
        for pair in pairs {
            let place = LENGTHS.iter().position(|(most, _)| pair.a.len() < *most).unwrap_or(LENGTHS.len() - 1);
            sums[place].add(&measure(&chunker, pair));
        }
        let mut curve = Vec::new();
        for ((_, name), sum) in LENGTHS.iter().zip(&sums).filter(|(_, sum)| sum.shared > 0) {
            let length = share(sum.bytes, sum.pairs);
            table.row([
                kind.into(),
                (*name).into(),
                sum.pairs.into(),
                sum.bytes.into(),
                sum.mean().into(),
                sum.metadata().into(),
                sum.recall().into(),
            ]);
            curve.push((length, 100.0 * sum.recall()));
        }
        panel.add(kind, Style::Line, curve);
    }
    findings.tables.push(table);
    Ok(panel)
}

/// The probability that a run planted into two documents holds a complete chunk that both have, and the share of its bytes
/// that is found.
fn planted(setting: &Setting<'_>, documents: &[Document], findings: &mut Findings) -> Result<(Panel, Panel), Error> {
    let text: Vec<u8> = documents.iter().flat_map(|document| document.bytes.iter().copied()).take(32 << 20).collect();
    let axis = || Axis::linear("length of the shared run, in mean chunks").between(0.0, 8.0);
    let mut probable =
        Panel::new("(c) a whole chunk of the run is found", axis(), Axis::linear("probability, %").between(0.0, 100.0));
    let mut covered =
        Panel::new("(d) bytes of the run that are found", axis(), Axis::linear("share, %").between(0.0, 100.0));
    let mut table = Table::new(
        "chunkers-runs",
        "Planted runs, by their length in mean chunks",
        &["chunker", "mean", "length in means", "bytes", "runs", "found", "bytes found"],
    );
    let trials = setting.either(300, 2000);
    for kind in cut::KINDS {
        let Some(chunker) = Chunker::new(kind, MEAN) else { continue };
        let mean = share(text.len(), chunker.chunks(&text).count());
        let (mut hit, mut part) = (Vec::new(), Vec::new());
        for (number, times) in RUNS.iter().enumerate() {
            setting.step(&format!("planting runs for {kind}"), number, RUNS.len())?;
            let length = truncated((times * mean).round());
            let mut rng = Rng::of(setting.seed, 100 + number as u64);
            let (mut found, mut bytes) = (0, 0);
            for _ in 0..trials {
                let in_common = planted_once(&chunker, &text, length, &mut rng);
                found += usize::from(in_common > 0);
                bytes += in_common;
            }
            let (found_share, bytes_share) = (share(found, trials), share(bytes, trials * length));
            table.row([
                kind.into(),
                mean.into(),
                (*times).into(),
                length.into(),
                trials.into(),
                found_share.into(),
                bytes_share.into(),
            ]);
            hit.push((*times, 100.0 * found_share));
            part.push((*times, 100.0 * bytes_share));
        }
        probable.add(kind, Style::Line, hit);
        covered.add(kind, Style::Line, part);
    }
    compare_runs(&probable, findings);
    findings.tables.push(table);
    Ok((probable, covered))
}

/// Compares the lengths from which on TTTD finds a run more often than the basic sliding window.
fn compare_runs(probable: &Panel, findings: &mut Findings) {
    let curve = |name: &str| {
        let series = probable.series.iter().find(|series| series.name == name);
        series.map_or(&[][..], |series| &series.points[..])
    };
    let (tttd, basic) = (curve(cut::TTTD), curve(cut::BASIC));
    let is_behind = |(ours, theirs): (&(f64, f64), &(f64, f64))| ours.1 < theirs.1;
    let last_behind = tttd.iter().zip(basic).rposition(is_behind);
    let from = last_behind.map_or(0.0, |place| tttd.get(place + 1).map_or(f64::INFINITY, |point| point.0));
    let describe = |times: f64| {
        let at = |curve: &[(f64, f64)]| curve.iter().find(|point| point.0 >= times).map_or(0.0, |point| point.1);
        let all = probable.series.iter().map(|series| format!("{} {:.0} %", series.name, at(&series.points)));
        format!("runs of {times} means: {}", all.collect::<Vec<_>>().join(", "))
    };
    findings.compare(
        "2.3: at the same mean, TTTD has the higher probability that a shared run holds a whole chunk",
        "said, not shown",
        "TTTD is not behind at any length of the run",
        format!("from {from} means on; {}; {}; {}", describe(1.0), describe(2.0), describe(4.0)),
        Agreement::of(last_behind.is_none()),
        "below that the crumbs of the basic sliding window are found more often, at the metadata of a chunk each; TTTD at a smaller mean is better for short runs",
    );
}

/// Plants a run into two documents of other text. Returns the bytes of the run in chunks that both documents have at the same
/// place of it.
fn planted_once(chunker: &Chunker, text: &[u8], length: usize, rng: &mut Rng) -> usize {
    let run = slice(text, length, rng);
    let mut chunks_of_run = || -> HashSet<(usize, usize)> {
        let before_bytes = rng.below(16_384);
        let before = slice(text, before_bytes, rng);
        let document = [before, run, slice(text, 16_384, rng)].concat();
        let inside = before.len()..before.len() + run.len();
        let chunks = chunker.chunks(&document).filter(|(start, end)| inside.contains(start) && *end <= inside.end);
        chunks.map(|(start, end)| (start - before.len(), end - before.len())).collect()
    };
    let (first, second) = (chunks_of_run(), chunks_of_run());
    first.intersection(&second).map(|(start, end)| end - start).sum()
}

/// A random slice of `length` bytes.
fn slice<'t>(text: &'t [u8], length: usize, rng: &mut Rng) -> &'t [u8] {
    let length = length.min(text.len());
    let start = rng.below(text.len() - length + 1);
    &text[start..start + length]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Generator;

    #[test]
    fn an_insertion_costs_fixed_lengths_all_that_follows_and_others_a_chunk_or_two() {
        let a = Generator::new(1).paragraph(10_000).into_bytes();
        let b = [&a[..1000], b"x", &a[1000..]].concat();
        let pair = Pair { a: &a, b: &b, truth: WindowIndex::of(&b, EXACT_WINDOW_BYTES).shared_runs(&a) };
        assert!(pair.truth.bytes() == a.len());
        let recall = |kind| measure(&Chunker::new(kind, 1000).unwrap(), &pair).recall();
        assert!(recall(cut::FIXED) < 0.05);
        for kind in [cut::TTTD, cut::BASIC, cut::FASTCDC] {
            assert!((0.8..1.0).contains(&recall(kind)), "{kind} {}", recall(kind));
        }
    }

    #[test]
    fn a_run_shorter_than_any_chunk_is_never_found_and_a_very_long_one_always() {
        let text = Generator::new(2).paragraph(40_000).into_bytes();
        let chunker = Chunker::new(cut::TTTD, 1000).unwrap();
        let found =
            |length| (0..50).filter(|&seed| planted_once(&chunker, &text, length, &mut Rng::new(seed)) > 0).count();
        assert_eq!(found(400), 0);
        assert_eq!(found(12_000), 50);
    }

    #[test]
    fn recall_between_two_points_is_on_the_line_between_them() {
        let point = |chunks, found| Sum { pairs: 1, bytes: 2000, chunks, shared: 100, found };
        // 10 % of metadata and 80, 1 % and 40; the middle of the logarithms is 3.16 %.
        let curve = [point(10, 80), point(1, 40)];
        let middle = recall_at(&curve, 0.1_f64.sqrt() * 0.1).unwrap();
        assert!((middle - 0.6).abs() < 1e-9, "{middle}");
        assert_eq!(recall_at(&curve, 0.5), None);
    }

    #[test]
    fn sums_add_up_and_shares_of_nothing_are_zero() {
        let one = Sum { pairs: 1, bytes: 2000, chunks: 4, shared: 100, found: 50 };
        let mut sum = Sum::default();
        assert_eq!((sum.recall(), sum.metadata(), sum.mean()), (0.0, 0.0, 0.0));
        (0..3).for_each(|_| sum.add(&one));
        assert_eq!((sum.pairs, sum.bytes, sum.chunks, sum.shared, sum.found), (3, 6000, 12, 300, 150));
        assert_eq!((sum.recall(), sum.metadata(), sum.mean()), (0.5, 0.04, 500.0));
    }

    #[test]
    fn a_slice_is_as_long_as_asked_or_as_the_text() {
        let mut rng = Rng::new(4);
        for (length, expected) in [(0, 0), (3, 3), (6, 6), (7, 6)] {
            assert_eq!(slice(b"abcdef", length, &mut rng).len(), expected);
        }
    }
}
