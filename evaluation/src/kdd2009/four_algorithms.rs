//! `four-algorithms`: Mod, Min, Sketch and BSW side by side (the paper's Fig. 7 and 8).

use crate::error::Error;
use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Findings, Table};
use crate::kdd2009::PAPER;
use crate::kdd2009::edits::{Edit, Spread};
use crate::kdd2009::research::{Algorithm, Edited, documents, edit};
use crate::setting::Setting;
use crate::statistics::{deviation, mean, per_cent};

const RUNS: [(&str, Edit, Spread); 4] = [
    ("RC_a, random", Edit::InsertA, Spread::Random),
    ("RC_w, random", Edit::RemoveWord, Spread::Random),
    ("RC_a, uniform", Edit::InsertA, Spread::Uniform),
    ("RC_w, uniform", Edit::RemoveWord, Spread::Uniform),
];

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    let mut findings = Findings::new("Four algorithms side by side", &format!("{PAPER}, section 4.3, Fig. 7 and 8."));
    let documents = documents(setting, &mut findings)?;
    let mut algorithms = Vec::new();
    for (kind, n) in [("mod", 500), ("min", 100), ("sketch", 100), ("bsw", 500)] {
        algorithms.push(Algorithm::new(kind, 20, n)?);
    }
    let mut runs = Vec::new();
    for (name, kind, spread) in RUNS {
        runs.push((name, edit(setting, &documents, &algorithms, &[20], (kind, spread))?));
    }
    tabulate(&algorithms, &runs, &mut findings);
    draw(&algorithms, &runs, &mut findings);
    compare(&algorithms, &runs, &mut findings);
    Ok(findings)
}

fn tabulate(algorithms: &[Algorithm], runs: &[(&str, Edited)], findings: &mut Findings) {
    let names: Vec<&str> = algorithms.iter().map(|algorithm| algorithm.name.as_str()).collect();
    let mut columns = vec!["collection", "edits", "exact"];
    columns.extend(&names);
    let mut table = Table::new("four-algorithms", "Mean similarity", &columns);
    for (name, edited) in runs {
        for (place, step) in edited.steps.iter().enumerate() {
            let mut row = vec![(*name).into(), (*step).into(), mean(&edited.truth[place][0]).into()];
            row.extend(edited.found[place].iter().map(|found| mean(found).into()));
            table.row(row);
        }
    }
    findings.tables.push(table);
    let mut errors = Table::new(
        "four-algorithms-errors",
        "50 edits: mean error against all windows, and its deviation from document to document",
        &["collection", "algorithm", "mean error", "deviation", "deviation of the shorter half"],
    );
    for (name, edited) in runs {
        for (number, algorithm) in algorithms.iter().enumerate() {
            let error = errors_at(edited, 50, number);
            errors.row([
                (*name).into(),
                algorithm.name.clone().into(),
                mean(&error).into(),
                deviation(&error).into(),
                deviation(&error[..error.len() / 2]).into(),
            ]);
        }
    }
    findings.tables.push(errors);
}

fn errors_at(edited: &Edited, edits: usize, algorithm: usize) -> Vec<f64> {
    let truth = edited.truth_at(edits, 0);
    edited.at(edits, algorithm).iter().zip(truth).map(|(found, truth)| found - truth).collect()
}

fn draw(algorithms: &[Algorithm], runs: &[(&str, Edited)], findings: &mut Findings) {
    let mut panels = Vec::new();
    for (letter, (name, edited)) in ["a", "b", "c", "d"].iter().zip(runs) {
        let x = Axis::linear("number of edits").between(0.0, 50.0);
        let mut panel =
            Panel::new(&format!("({letter}) {name}"), x, Axis::linear("mean similarity, %").between(80.0, 100.0));
        for (number, algorithm) in algorithms.iter().enumerate() {
            let points = edited.curve(number).into_iter().map(|(step, found)| (step, 100.0 * found));
            panel.add(&algorithm.name, Style::Line, points);
        }
        let exact = edited.true_curve(0).into_iter().map(|(step, found)| (step, 100.0 * found));
        panel.add("exact", Style::Dashed, exact);
        panels.push(panel);
    }
    findings.figures.push(Figure::new(
        "four-algorithms-mean",
        "Mean similarity, w = 20 (Fig. 7; c and d: uniform)",
        panels,
    ));
    let words = &runs[1].1;
    let mut panels = Vec::new();
    for (letter, edits) in [("a", 10), ("b", 50)] {
        let x = Axis::linear("document, by length").between(0.0, words.at(edits, 0).len() as f64);
        let y = Axis::linear("similarity, %").between(50.0, 100.0);
        let mut panel = Panel::new(&format!("({letter}) {edits} words removed"), x, y);
        for (number, algorithm) in algorithms.iter().enumerate() {
            let points = words.at(edits, number).iter().enumerate().map(|(at, found)| (at as f64, 100.0 * found));
            panel.add(&algorithm.name, Style::Curve, points);
        }
        panels.push(panel);
    }
    findings.figures.push(Figure::new("four-algorithms-documents", "Each document, RC_w (Fig. 8)", panels));
}

fn compare(algorithms: &[Algorithm], runs: &[(&str, Edited)], findings: &mut Findings) {
    let [insert, remove, insert_uniform, remove_uniform] = runs else { return };
    let runs = Runs {
        algorithms,
        insert: &insert.1,
        remove: &remove.1,
        insert_uniform: &insert_uniform.1,
        remove_uniform: &remove_uniform.1,
    };
    runs.compare_few_edits(findings);
    runs.compare_many_edits(findings);
    runs.compare_errors(findings);
    runs.compare_removals(findings);
    runs.compare_uniform(findings);
    runs.compare_documents(findings);
}

/// The runs by kind and distribution of edits.
struct Runs<'a> {
    algorithms: &'a [Algorithm],
    insert: &'a Edited,
    remove: &'a Edited,
    insert_uniform: &'a Edited,
    remove_uniform: &'a Edited,
}

/// The difference between the greatest and the least similarity.
fn spread(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max) - values.iter().copied().fold(1.0, f64::min)
}

impl Runs<'_> {
    /// The mean similarity that each algorithm reports after `edits` edits.
    fn at(&self, edited: &Edited, edits: usize) -> Vec<f64> {
        (0..self.algorithms.len()).map(|number| mean(edited.at(edits, number))).collect()
    }

    fn describe(&self, values: &[f64]) -> String {
        let all = self.algorithms.iter().zip(values);
        all.map(|(algorithm, value)| format!("{} {}", algorithm.name, per_cent(*value))).collect::<Vec<_>>().join(", ")
    }

    fn compare_few_edits(&self, findings: &mut Findings) {
        let five = self.at(self.insert, 5);
        findings.compare(
            "Fig. 7(a): below 10 edits all four agree",
            "nearly the same",
            "at 5 edits at most 2 points apart",
            format!("at 5: {}", self.describe(&five)),
            Agreement::of(spread(&five) < 0.02),
            "little has changed that could be missed",
        );
    }

    fn compare_many_edits(&self, findings: &mut Findings) {
        let fifty = self.at(self.insert, 50);
        let exact = mean(self.insert.truth_at(50, 0));
        let high = fifty[0].min(fifty[1]);
        findings.compare("Fig. 7(a): with more edits, Mod and Min report higher similarity than Sketch and BSW", "Mod, Min above Sketch, BSW", "at 50 edits both are above both", format!("at 50: {}; exact {}", self.describe(&fifty), per_cent(exact)), Agreement::of(high > fifty[2] && high > fifty[3]), "Mod, Min and Sketch are unbiased (Broder 1997 and 1998) and differ by chance; the paper's lower Sketch fits a comparison as sets (sketch-functions). BSW is lower: an edit at a boundary changes two chunks");
    }

    fn compare_errors(&self, findings: &mut Findings) {
        let bias: Vec<f64> =
            (0..self.algorithms.len()).map(|number| mean(&errors_at(self.insert, 50, number))).collect();
        findings.compare(
            "\"higher (more accurate)\"",
            "Mod and Min are more accurate",
            "at 50 edits the errors of both are smaller than those of Sketch and BSW",
            format!(
                "mean error at 50: {}",
                self.algorithms
                    .iter()
                    .zip(&bias)
                    .map(|(algorithm, bias)| format!("{} {:+.1} %", algorithm.name, 100.0 * bias))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            Agreement::of(bias[0].abs().max(bias[1].abs()) < bias[2].abs().min(bias[3].abs())),
            "against the similarity of all windows, which the paper did not have",
        );
    }

    fn compare_removals(&self, findings: &mut Findings) {
        let exact = mean(self.insert.truth_at(50, 0));
        let removed = self.at(self.remove, 50);
        findings.compare(
            "Fig. 7(b): removed words lower similarity a little more, trends the same",
            "slightly lower",
            "lower than after as many insertions, by at most 2 points",
            format!("at 50: {}; exact {}", self.describe(&removed), per_cent(mean(self.remove.truth_at(50, 0)))),
            Agreement::of((0.0..=0.02).contains(&(exact - mean(self.remove.truth_at(50, 0))))),
            "an insertion adds windows, a removal takes some away: less difference than in the paper",
        );
    }

    fn compare_uniform(&self, findings: &mut Findings) {
        let (exact, fifty) = (mean(self.insert.truth_at(50, 0)), self.at(self.insert, 50));
        let uniform = [mean(self.insert_uniform.truth_at(50, 0)), mean(self.remove_uniform.truth_at(50, 0))];
        findings.compare(
            "uniformly spread edits lower similarity more than random ones (not shown)",
            "stronger impact, similar trends",
            "exact similarity lower by at least half a point, both kinds of edits",
            format!(
                "exact at 50: random {:.2} % and {:.2} %, uniform {:.2} % and {:.2} %; BSW {} against {}",
                100.0 * exact,
                100.0 * mean(self.remove.truth_at(50, 0)),
                100.0 * uniform[0],
                100.0 * uniform[1],
                per_cent(fifty[3]),
                per_cent(mean(self.insert_uniform.at(50, 3)))
            ),
            Agreement::of(exact - uniform[0] >= 0.005 && mean(self.remove.truth_at(50, 0)) - uniform[1] >= 0.005),
            "even edits never hit a window twice, and random ones hardly do at w = 20: the paper's direction, and less",
        );
    }

    fn compare_documents(&self, findings: &mut Findings) {
        let ten = self.at(self.remove, 10);
        let half = |edits: usize, number: usize| {
            let found = self.remove.at(edits, number);
            mean(&found[..found.len() / 2])
        };
        findings.compare("Fig. 8: alike at 10 removals; at 50 Sketch and BSW fall in short documents", "(a) alike, (b) apart for short documents", "at 10 at most 3 points apart; at 50 in the shorter half Sketch and BSW each 2 points or more below Mod and Min", format!(
                "at 10: {}; at 50, shorter half: {}",
                self.describe(&ten),
                self.describe(&(0..self.algorithms.len()).map(|number| half(50, number)).collect::<Vec<_>>())
            ), Agreement::of(spread(&ten) <= 0.03 && [2, 3].iter().all(|low| [0, 1].iter().all(|high| half(50, *low) + 0.02 <= half(50, *high)))), "so it is for BSW; Sketch is only noisier here");
    }
}
