//! `sketch-functions`: `Sketch_n` with n hash functions that are computed one by one, as the paper has it, against ours (the
//! paper's Fig. 7, 8 and 11).
//!
//! The paper reports less similarity under `Sketch` than under `Mod` and `Min`, and blames nothing. Two causes are tried: the
//! hash functions, and the comparison. By the paper's section 2 the similarity of two sketches is the share of places that
//! agree; by its "overall process" the signatures of all four algorithms are compared "in the same fashion", by common entries.
//! Under the second, k of n places that agree are k of 2n − k entries, and a similarity of r is reported as r / (2 − r).

use crate::corpus::{Selection, load};
use crate::document::Document;
use crate::error::Error;
use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Findings, Table};
use crate::kdd2009::PAPER;
use crate::kdd2009::edits::{Edit, Spread, words};
use crate::kdd2009::families::{Family, as_sets, by_place};
use crate::kdd2009::research::{Algorithm, documents, transposed, version};
use crate::kdd2009::runtime::text_of;
use crate::machine::ProcessorWatch;
use crate::methods::{common, resemblance, sign, signer};
use crate::setting::Setting;
use crate::statistics::{deviation, mean, per_cent};
use crate::threads::each;
use crate::truth::jaccard;

const WIDTH: usize = 20;
const N: usize = 100;
const RUNS: [(&str, Edit); 2] = [("RC_a", Edit::InsertA), ("RC_w", Edit::RemoveWord)];
const FAMILIES: [Family; 2] = [Family::Jenkins, Family::Words];

/// The numbers of edits: twelve of the paper's 50, since each costs a hundred functions over all windows.
const STEPS: [usize; 12] = [1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50];

/// The columns of a comparison, in their order.
const COLUMNS: [&str; 9] = [
    "Mod_500",
    "Min_100",
    "BSW_500",
    "Sketch_100, ours",
    "Sketch_100, Jenkins",
    "Sketch_100, 64 bits",
    "Sketch_100, ours, as sets",
    "Sketch_100, Jenkins, as sets",
    "Min_100, as sets",
];
const MOD: usize = 0;
const MIN: usize = 1;
const BSW: usize = 2;
const OURS: usize = 3;
const JENKINS: usize = 4;
const WORDS: usize = 5;
const OURS_AS_SETS: usize = 6;
const JENKINS_AS_SETS: usize = 7;

/// A collection with more and more edits.
struct Run {
    name: &'static str,
    steps: Vec<usize>,
    /// The reported similarity; by step, by column, by document.
    found: Vec<Vec<Vec<f64>>>,
    /// The similarity of all windows; by step, by document.
    truth: Vec<Vec<f64>>,
}

impl Run {
    fn place(&self, edits: usize) -> usize {
        self.steps.iter().position(|step| *step == edits).unwrap_or(self.steps.len() - 1)
    }

    fn at(&self, edits: usize, column: usize) -> &[f64] {
        &self.found[self.place(edits)][column]
    }

    /// The differences from the similarity of all windows, document by document.
    fn errors(&self, edits: usize, column: usize) -> Vec<f64> {
        self.at(edits, column).iter().zip(&self.truth[self.place(edits)]).map(|(found, truth)| found - truth).collect()
    }

    /// The mean over the shorter half of the documents.
    fn of_shorter_half(&self, edits: usize, column: usize) -> f64 {
        let found = self.at(edits, column);
        mean(&found[..found.len() / 2])
    }
}

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    let mut findings =
        Findings::new("Sketch with n hash functions", &format!("{PAPER}, sections 4.3 and 6, Fig. 7, 8 and 11."));
    let documents = documents(setting, &mut findings)?;
    for family in FAMILIES {
        findings.fact(family.name(), "n of them, one by one for every window");
    }
    findings.fact("ours", "n functions of one value of the window, computed where they can win");
    let mut runs = Vec::new();
    for (name, kind) in RUNS {
        runs.push(edit(setting, &documents, name, kind)?);
    }
    tabulate(&runs, &mut findings);
    draw(&runs, &mut findings);
    compare_functions(&runs, &mut findings);
    compare_sets(&runs, &mut findings);
    compare_documents(&runs[1], &mut findings);
    runtime(setting, &mut findings)?;
    findings.remark(
        "As sets: k of n places that agree are k of 2n − k entries. For Mod and BSW, whose signatures are sets, that is the estimate; for Min nearly so; for Sketch it is r / (2 − r).",
    );
    findings.remark("The paper's program is not at hand: this shows what suffices for its figures, not what it did.");
    Ok(findings)
}

fn edit(setting: &Setting<'_>, documents: &[Document], name: &'static str, kind: Edit) -> Result<Run, Error> {
    let algorithms =
        [Algorithm::new("mod", WIDTH, 500)?, Algorithm::new("min", WIDTH, N)?, Algorithm::new("bsw", WIDTH, 500)?];
    let sketch = Algorithm::new("sketch", WIDTH, N)?;
    let mut originals = Vec::new();
    for algorithm in algorithms.iter().chain([&sketch]) {
        originals.push(algorithm.sign_all(documents)?);
    }
    let mut smallest = Vec::new();
    for family in FAMILIES {
        smallest.push(each(documents.len(), |number| Ok(family.smallest(&documents[number].bytes, WIDTH, N)))?);
    }
    let steps = STEPS.to_vec();
    let (mut found, mut truth) = (Vec::new(), Vec::new());
    for (done, &step) in steps.iter().enumerate() {
        setting.step(&format!("{name}: editing and comparing"), done, steps.len())?;
        let by_document = each(documents.len(), |number| {
            let original = &documents[number].bytes;
            let version = version(setting, (number, original, &words(original)), step, (kind, Spread::Random));
            let mut row = Vec::with_capacity(COLUMNS.len());
            let mut min_as_sets = 0.0;
            for (place, algorithm) in algorithms.iter().enumerate() {
                let signature = sign(&mut signer(&algorithm.method), &version)?;
                row.push(resemblance(&algorithm.method, &originals[place][number], &signature));
                if place == MIN {
                    let (a, b) = (&originals[place][number].features, &signature.features);
                    let in_both = common(a, b);
                    min_as_sets = in_both as f64 / (a.len() + b.len() - in_both).max(1) as f64;
                }
            }
            let signature = sign(&mut signer(&sketch.method), &version)?;
            let ours = resemblance(&sketch.method, &originals[algorithms.len()][number], &signature);
            let [jenkins, words] = [0, 1].map(|family: usize| {
                by_place(&smallest[family][number], &FAMILIES[family].smallest(&version, WIDTH, N))
            });
            row.extend([ours, jenkins, words, as_sets(ours), as_sets(jenkins), min_as_sets]);
            Ok((row, jaccard(original, &version, WIDTH)))
        })?;
        let (rows, exact): (Vec<_>, Vec<_>) = by_document.into_iter().unzip();
        found.push(transposed(&rows, COLUMNS.len()));
        truth.push(exact);
    }
    Ok(Run { name, steps, found, truth })
}

fn tabulate(runs: &[Run], findings: &mut Findings) {
    let mut columns = vec!["collection", "edits", "exact"];
    columns.extend(COLUMNS);
    let mut table = Table::new("sketch-functions-mean", "Mean similarity", &columns);
    let mut errors = Table::new(
        "sketch-functions-errors",
        "50 edits: mean error against all windows, its standard error, and the deviation from document to document",
        &["collection", "algorithm", "mean error", "standard error", "deviation"],
    );
    for run in runs {
        for (place, step) in run.steps.iter().enumerate() {
            let mut row = vec![run.name.into(), (*step).into(), mean(&run.truth[place]).into()];
            row.extend(run.found[place].iter().map(|found| mean(found).into()));
            table.row(row);
        }
        for (column, name) in COLUMNS.iter().enumerate() {
            let error = run.errors(50, column);
            errors.row([
                run.name.into(),
                (*name).into(),
                mean(&error).into(),
                standard_error(&error).into(),
                deviation(&error).into(),
            ]);
        }
    }
    findings.tables.extend([errors, table]);
}

/// The standard error of the mean.
fn standard_error(values: &[f64]) -> f64 {
    deviation(values) / (values.len().max(1) as f64).sqrt()
}

fn draw(runs: &[Run], findings: &mut Findings) {
    let mut panels = Vec::new();
    for (letter, run) in ["a", "b"].iter().zip(runs) {
        let x = Axis::linear("number of edits").between(0.0, 50.0);
        let y = Axis::linear("mean similarity, %").between(80.0, 100.0);
        let mut panel = Panel::new(&format!("({letter}) {}", run.name), x, y);
        for column in [MOD, MIN, BSW, JENKINS, WORDS, JENKINS_AS_SETS] {
            let means = run.found.iter().map(|found| 100.0 * mean(&found[column]));
            panel.add(COLUMNS[column], Style::Curve, run.steps.iter().map(|step| *step as f64).zip(means));
        }
        let exact = run.truth.iter().map(|truth| 100.0 * mean(truth));
        panel.add("exact", Style::Dashed, run.steps.iter().map(|step| *step as f64).zip(exact));
        panels.push(panel);
    }
    findings.figures.push(Figure::new("sketch-functions-mean", "Mean similarity, w = 20 (Fig. 7)", panels));
    let words = &runs[1];
    let mut panels = Vec::new();
    for (letter, edits) in [("a", 10), ("b", 50)] {
        let x = Axis::linear("document, by length").between(0.0, words.at(edits, 0).len() as f64);
        let y = Axis::linear("similarity, %").between(50.0, 100.0);
        let mut panel = Panel::new(&format!("({letter}) {edits} words removed"), x, y);
        for column in [MOD, MIN, BSW, JENKINS, JENKINS_AS_SETS] {
            let points = words.at(edits, column).iter().enumerate().map(|(at, found)| (at as f64, 100.0 * found));
            panel.add(COLUMNS[column], Style::Curve, points);
        }
        panels.push(panel);
    }
    findings.figures.push(Figure::new("sketch-functions-documents", "Each document, RC_w (Fig. 8)", panels));
}

/// The figures of the columns after some edits, in words.
fn described(run: &Run, edits: usize, columns: &[usize]) -> String {
    let one = |column: &usize| format!("{} {}", COLUMNS[*column], per_cent(mean(run.at(edits, *column))));
    columns.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// True if `low` is below both Mod and Min by more than three standard errors of the difference, in every collection.
fn is_clearly_below(runs: &[Run], low: usize) -> bool {
    runs.iter().all(|run| {
        [MOD, MIN].iter().all(|high| {
            let pairs = run.at(50, *high).iter().zip(run.at(50, low));
            let differences: Vec<f64> = pairs.map(|(high, low)| high - low).collect();
            mean(&differences) > 3.0 * standard_error(&differences)
        })
    })
}

fn compare_functions(runs: &[Run], findings: &mut Findings) {
    let describe = |columns: &[usize]| {
        runs.iter().map(|run| format!("{}: {}", run.name, described(run, 50, columns))).collect::<Vec<_>>().join("; ")
    };
    findings.compare(
        "Fig. 7: Mod and Min above Sketch, by places that agree",
        "Mod, Min above Sketch",
        "at 50 edits both are above it by more than three standard errors of the difference, in RC_a and RC_w",
        describe(&[MOD, MIN, JENKINS]),
        Agreement::of(is_clearly_below(runs, JENKINS)),
        "agreeing places are an unbiased estimate under these functions too",
    );
    let biased = |column: usize| {
        runs.iter().all(|run| {
            let errors = run.errors(50, column);
            mean(&errors) < -3.0 * standard_error(&errors)
        })
    };
    let error = |column: usize| {
        runs.iter()
            .map(|run| {
                let errors = run.errors(50, column);
                format!("{:+.2} ± {:.2} %", 100.0 * mean(&errors), 100.0 * standard_error(&errors))
            })
            .collect::<Vec<_>>()
            .join(" and ")
    };
    findings.compare(
        "the hash functions are the cause (our guess)",
        "none named",
        "under either family Sketch is below the exact similarity by more than three standard errors, in RC_a and RC_w",
        format!("mean error at 50 edits: Jenkins' {}, 64 bits {}, ours {}", error(JENKINS), error(WORDS), error(OURS)),
        Agreement::of(biased(JENKINS) || biased(WORDS)),
        "n functions one by one, of 32 or 64 bits, are unbiased as well",
    );
}

fn compare_sets(runs: &[Run], findings: &mut Findings) {
    let describe = |columns: &[usize]| {
        runs.iter().map(|run| format!("{}: {}", run.name, described(run, 50, columns))).collect::<Vec<_>>().join("; ")
    };
    findings.compare(
        "Fig. 7: Mod and Min above Sketch, by common entries",
        "Mod, Min above Sketch; signatures compared \"in the same fashion\"",
        "at 50 edits both are above it by more than three standard errors of the difference, in RC_a and RC_w",
        describe(&[MOD, MIN, JENKINS_AS_SETS, OURS_AS_SETS, BSW]),
        Agreement::of(is_clearly_below(runs, JENKINS_AS_SETS)),
        "a place that disagrees is two entries that only one document has; r is reported as r / (2 − r)",
    );
    let five = [MOD, MIN, JENKINS_AS_SETS, BSW];
    let values: Vec<f64> = five.iter().map(|column| mean(runs[0].at(5, *column))).collect();
    let apart = values.iter().copied().fold(0.0, f64::max) - values.iter().copied().fold(1.0, f64::min);
    findings.compare(
        "Fig. 7(a): below 10 edits all four agree",
        "nearly the same",
        "at 5 edits at most 2 points apart",
        format!("at 5: {}", described(&runs[0], 5, &five)),
        Agreement::of(apart <= 0.02),
        "near 1 the two comparisons hardly differ",
    );
}

fn compare_documents(words: &Run, findings: &mut Findings) {
    for (name, sketch) in [("by places that agree", JENKINS), ("by common entries", JENKINS_AS_SETS)] {
        let columns = [MOD, MIN, sketch, BSW];
        let values: Vec<f64> = columns.iter().map(|column| mean(words.at(10, *column))).collect();
        let apart = values.iter().copied().fold(0.0, f64::max) - values.iter().copied().fold(1.0, f64::min);
        let half = |column: usize| words.of_shorter_half(50, column);
        let falls = [sketch, BSW].iter().all(|low| [MOD, MIN].iter().all(|high| half(*low) + 0.02 <= half(*high)));
        let halves = columns.map(|column| format!("{} {}", COLUMNS[column], per_cent(half(column)))).join(", ");
        findings.compare(
            &format!("Fig. 8: alike at 10 removals; at 50 Sketch and BSW fall in short documents ({name})"),
            "(a) alike, (b) apart for short documents",
            "at 10 at most 3 points apart; at 50 in the shorter half Sketch and BSW each 2 points or more below Mod and Min",
            format!("at 10: {}; at 50, shorter half: {halves}", described(words, 10, &columns)),
            Agreement::of(apart <= 0.03 && falls),
            "with Jenkins' functions, as in the paper",
        );
    }
}

/// The time of 500 KB under n functions computed one by one, against the window and against n.
fn runtime(setting: &Setting<'_>, findings: &mut Findings) -> Result<(), Error> {
    const WIDTHS: [usize; 3] = [20, 60, 100];
    const COUNTS: [usize; 3] = [10, 50, 100];
    let selection =
        Selection { bytes_min: 1000, bytes_max: 64 << 20, documents_max: 4000, total_bytes_max: 32 << 20, text: false };
    let text = text_of(&load(setting, &selection, 400, 4000)?);
    let rounds = setting.either(2, 10);
    let others =
        [("Mod_500", "mod", 500), ("Min_100", "min", N), ("BSW_500", "bsw", 500), ("Sketch_100, ours", "sketch", N)];
    let mut rows: Vec<(String, usize, usize, f64)> = Vec::new();
    for family in FAMILIES {
        for n in COUNTS {
            rows.extend(WIDTHS.map(|width| (format!("Sketch_{n}, {}", family.name()), n, width, f64::INFINITY)));
        }
    }
    for (name, _, n) in others {
        rows.extend(WIDTHS.map(|width| (name.to_owned(), n, width, f64::INFINITY)));
    }
    for round in 0..rounds {
        setting.step("timing", round, rounds)?;
        let mut row = rows.iter_mut();
        for family in FAMILIES {
            for n in COUNTS {
                for width in WIDTHS {
                    let watch = ProcessorWatch::start();
                    std::hint::black_box(family.smallest(&text, width, n));
                    let least = &mut row.next().expect("a row for each").3;
                    *least = least.min(1000.0 * watch.seconds());
                }
            }
        }
        for (_, kind, n) in others {
            for width in WIDTHS {
                let algorithm = Algorithm::new(kind, width, n)?;
                let mut signer = signer(&algorithm.method);
                sign(&mut signer, &text)?;
                let watch = ProcessorWatch::start();
                std::hint::black_box(sign(&mut signer, &text)?);
                let least = &mut row.next().expect("a row for each").3;
                *least = least.min(1000.0 * watch.seconds());
            }
        }
    }
    let mut table = Table::new(
        "sketch-functions-time",
        &format!("Milliseconds of processor time for 500 KB, the least of {rounds} runs"),
        &["algorithm", "n", "w", "milliseconds"],
    );
    let x = Axis::linear("window, bytes").between(15.0, 105.0);
    let mut panel = Panel::new("all algorithms", x, Axis::log("milliseconds of processor time"));
    for group in rows.chunk_by(|a, b| a.0 == b.0) {
        for (name, n, width, least) in group {
            table.row([name.clone().into(), (*n).into(), (*width).into(), (*least).into()]);
        }
        if !group[0].0.contains("64 bits") {
            panel.add(&group[0].0, Style::Line, group.iter().map(|(_, _, width, least)| (*width as f64, *least)));
        }
    }
    findings.figures.push(Figure::new("sketch-functions-time", "Processing time of 500 KB (Fig. 11)", vec![panel]));
    let time = |name: &str, width: usize| {
        rows.iter().find(|row| row.0 == name && row.2 == width).map_or(f64::NAN, |row| row.3)
    };
    compare_times(&time, findings);
    findings.tables.push(table);
    Ok(())
}

fn compare_times(time: &dyn Fn(&str, usize) -> f64, findings: &mut Findings) {
    let sketch = |n: usize| format!("Sketch_{n}, {}", Family::Jenkins.name());
    let (ten, hundred, wide) = (time(&sketch(10), 20), time(&sketch(100), 20), time(&sketch(100), 100));
    findings.compare(
        "Fig. 11: Sketch grows with n",
        "n hash functions, \"significantly impacts its speed\"",
        "100 take more than 1.5 times the time of 10",
        format!("w = 20, Jenkins' functions: {ten:.1} ms and {hundred:.1} ms"),
        Agreement::of(hundred > 1.5 * ten),
        "each function reads the window, eight side by side",
    );
    findings.compare(
        "Fig. 11: Sketch grows with w",
        "a larger window has a significant overhead",
        "w = 100 takes more than 1.3 times the time of w = 20",
        format!("Sketch_100, Jenkins' functions: {hundred:.1} and {wide:.1} ms"),
        Agreement::of(wide > 1.3 * hundred),
        "a window of 100 bytes is nine rounds of the function, one of 20 is two",
    );
    let slowest = ["Mod_500", "Min_100", "BSW_500"].map(|name| time(name, 20)).into_iter().fold(0.0, f64::max);
    findings.compare(
        "Fig. 11: Mod, Min and BSW cost less than Sketch",
        "lower",
        "at w = 20 each takes less time than Sketch_10",
        format!(
            "{slowest:.2} ms at most, Sketch_10 {ten:.1} ms, Sketch_100 {hundred:.1} ms; Sketch_100 as ours {:.2} ms",
            time("Sketch_100, ours", 20)
        ),
        Agreement::of(slowest < ten),
        "one function against n; ours costs about one",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(columns: [f64; 9]) -> Run {
        let found = columns.iter().map(|value| vec![*value, *value + 0.001, *value - 0.001, *value]).collect();
        Run { name: "r", steps: vec![50], found: vec![found], truth: vec![vec![0.9; 4]] }
    }

    #[test]
    fn below_means_below_both_in_every_collection_and_not_by_chance() {
        let low = |sketch: f64| run_of([0.9, 0.9, 0.8, 0.9, sketch, 0.9, 0.9, 0.9, 0.9]);
        assert!(is_clearly_below(&[low(0.85), low(0.85)], JENKINS));
        assert!(!is_clearly_below(&[low(0.85), low(0.9)], JENKINS));
        let mut scattered = low(0.89);
        scattered.found[0][JENKINS] = vec![0.95, 0.8, 0.95, 0.86];
        assert!(!is_clearly_below(&[scattered], JENKINS));
    }

    #[test]
    fn errors_and_halves_are_by_document() {
        let run = run_of([0.9, 0.8, 0.8, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9]);
        assert!((mean(&run.errors(50, MIN)) + 0.1).abs() < 1e-9);
        assert!((run.of_shorter_half(50, MOD) - 0.9005).abs() < 1e-9);
        assert!((standard_error(&[0.0, 2.0, 0.0, 2.0]) - 0.5).abs() < 1e-12);
    }
}
