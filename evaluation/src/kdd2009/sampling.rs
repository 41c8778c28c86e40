//! `sampling`: the influence of the size of a sample (the paper's Fig. 5 and 6).

use crate::document::Document;
use crate::error::Error;
use crate::figure::{Axis, Figure, Panel, Style};
use crate::findings::{Agreement, Findings, Table};
use crate::kdd2009::PAPER;
use crate::kdd2009::edits::{Edit, Spread};
use crate::kdd2009::research::{Algorithm, Edited, documents, edit};
use crate::setting::Setting;
use crate::statistics::{deviation, mean, per_cent, share};

/// The algorithms, each with the parameters of a small and of a large sample.
const KINDS: [(&str, usize, usize); 4] =
    [("sketch", 10, 100), ("bsw", 1000, 100), ("min", 10, 100), ("mod", 1000, 100)];

pub(crate) fn run(setting: &Setting<'_>) -> Result<Findings, Error> {
    let mut findings = Findings::new("What the size of a sample does", &format!("{PAPER}, section 4.2, Fig. 5 and 6."));
    let documents = documents(setting, &mut findings)?;
    let mut algorithms = Vec::new();
    for (kind, few, many) in KINDS {
        algorithms.push(Algorithm::new(kind, 20, few)?);
        algorithms.push(Algorithm::new(kind, 20, many)?);
    }
    let edited = edit(setting, &documents, &algorithms, &[20], (Edit::InsertA, Spread::Random))?;
    let mut table = Table::new(
        "sampling",
        "50 inserted \"a\": what is reported of the documents, against all their windows",
        &[
            "algorithm",
            "mean",
            "deviation",
            "mean error",
            "error deviation",
            "of the shorter half",
            "of the longer half",
            "reported as identical",
        ],
    );
    let truth = edited.truth_at(50, 0);
    let mut errors = Vec::new();
    for (number, algorithm) in algorithms.iter().enumerate() {
        let found = edited.at(50, number);
        let error: Vec<f64> = found.iter().zip(truth).map(|(found, truth)| found - truth).collect();
        let (short, long) = error.split_at(error.len() / 2);
        let identical = share(found.iter().filter(|found| **found >= 1.0).count(), found.len());
        table.row([
            algorithm.name.clone().into(),
            mean(found).into(),
            deviation(found).into(),
            mean(&error).into(),
            deviation(&error).into(),
            deviation(short).into(),
            deviation(long).into(),
            identical.into(),
        ]);
        errors.push((mean(&error), deviation(&error), deviation(short), deviation(long), identical));
    }
    findings.tables.push(table);
    draw(&documents, &algorithms, &edited, &mut findings);
    compare(&algorithms, &edited, &errors, &mut findings);
    Ok(findings)
}

fn draw(documents: &[Document], algorithms: &[Algorithm], edited: &Edited, findings: &mut Findings) {
    let steps = || Axis::linear("number of \"a\" inserted").between(0.0, 50.0);
    let mut averages = Vec::new();
    for (first, title) in [(0, "(a) Sketch"), (2, "(b) BSW"), (4, "(c) Min"), (6, "(d) Mod")] {
        let mut panel = Panel::new(title, steps(), Axis::linear("mean similarity, %").between(80.0, 100.0));
        for number in [first, first + 1] {
            let points = edited.curve(number).into_iter().map(|(step, found)| (step, 100.0 * found));
            panel.add(&algorithms[number].name, Style::Line, points);
        }
        let exact = edited.true_curve(0).into_iter().map(|(step, found)| (step, 100.0 * found));
        panel.add("exact", Style::Dashed, exact);
        averages.push(panel);
    }
    findings.figures.push(Figure::new("sampling-mean", "Sample size and mean similarity in RC_a (Fig. 5)", averages));
    let mut single = Vec::new();
    for (first, title) in [(0, "(a) Sketch"), (2, "(b) BSW"), (4, "(c) Min"), (6, "(d) Mod")] {
        let x = Axis::linear("document, by length").between(0.0, documents.len() as f64);
        let mut panel = Panel::new(title, x, Axis::linear("similarity, %").between(30.0, 100.0));
        for number in [first + 1, first] {
            let points = edited.at(50, number).iter().enumerate().map(|(at, found)| (at as f64, 100.0 * found));
            panel.add(&algorithms[number].name, Style::Curve, points);
        }
        single.push(panel);
    }
    findings.figures.push(Figure::new("sampling-documents", "Each document after 50 insertions (Fig. 6)", single));
}

fn compare(algorithms: &[Algorithm], edited: &Edited, errors: &[(f64, f64, f64, f64, f64)], findings: &mut Findings) {
    let apart = |first: usize| {
        let pairs = edited.curve(first).into_iter().zip(edited.curve(first + 1));
        pairs.map(|(few, many)| (few.1 - many.1).abs()).fold(0.0, f64::max)
    };
    findings.compare(
        "Fig. 5: on average the size of the sample matters little",
        "not much impact, Sketch and BSW",
        "the curves of both algorithms at most 3 points apart",
        format!("curves at most {} (Sketch) and {} (BSW) apart", per_cent(apart(0)), per_cent(apart(2))),
        Agreement::of(apart(0).max(apart(2)) <= 0.03),
        "the mean of a hundred documents evens out what each misses",
    );
    for (first, paper) in
        [(0, "much more consistent with 100"), (2, "the same trend"), (4, "similar trends"), (6, "similar trends")]
    {
        let (few, many) = (&errors[first], &errors[first + 1]);
        findings.compare(
            &format!("Fig. 6: {} is erratic, {} is not", algorithms[first].name, algorithms[first + 1].name),
            paper,
            "the smaller sample has more than 1.5 times the error",
            format!("error of one document {} against {}", per_cent(few.1), per_cent(many.1)),
            Agreement::of(few.1 > 1.5 * many.1),
            "standard deviation from the exact similarity; a sample ten times as large should have a third of it",
        );
    }
    findings.compare(
        "Fig. 6: Sketch_10 often misses all differences",
        "in many cases 100 %",
        "more than 20 % of the documents",
        format!("{} of the documents; Sketch_100: {}", per_cent(errors[0].4), per_cent(errors[1].4)),
        Agreement::of(errors[0].4 > 0.2),
        "ten places agree by chance where nearly all windows are in common",
    );
    let worse = [0, 2, 4, 6].iter().filter(|&&first| errors[first].2 > errors[first].3).count();
    findings.compare(
        "short documents suffer most",
        "especially pronounced",
        "the shorter half has the larger error under all four",
        format!(
            "error of the shorter and the longer half: {}",
            [0, 2, 4, 6]
                .map(|first| format!(
                    "{} {} and {}",
                    algorithms[first].name,
                    per_cent(errors[first].2),
                    per_cent(errors[first].3)
                ))
                .join("; ")
        ),
        Agreement::of(worse == 4),
        "fewer windows, of which more were edited; for BSW and Mod also fewer samples",
    );
}
